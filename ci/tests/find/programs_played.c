/* programs_played.c: plays programs of sends, receives and collectives. */
#include "find/programs_played.h"

static struct player players[PLAYERS_MAX];

void add_step(struct program *p, int rank, enum step_kind kind, int peer, int count)
{
	assert(p->nsteps[rank] < STEPS_MAX);
	p->steps[rank][p->nsteps[rank]++] = (struct step){ kind, peer, count };
}

void add_wait(struct program *p, int rank)
{
	add_step(p, rank, STEP_WAIT, -1, 0);
}

int count_calls(const struct program *p, int rank)
{
	int n = 0;

	for (int i = 0; i < p->nsteps[rank]; i++)
		n += p->steps[rank][i].kind != STEP_WAIT;
	return n;
}

/* The rank's nth (from 0) call of this kind with `peer`, NULL: it has not made so many. */
static struct call_played *nth_played(int rank, enum step_kind kind, int peer, int n)
{
	struct player *p = &players[rank];

	for (int i = 0; i < p->ncalls; i++)
		if (p->calls[i].step.kind == kind && p->calls[i].step.peer == peer && n-- == 0)
			return &p->calls[i];
	return NULL;
}

static void meet_pairs(int from, int to)
{
	struct call_played *sent, *received;

	for (int n = 0;; n++) {
		sent = nth_played(from, STEP_SEND, to, n);
		received = nth_played(to, STEP_RECV, from, n);
		if (!sent || !received)
			return;
		if (sent->step.count == received->step.count)
			sent->met = received->met = true;
	}
}

static void meet_collectives(int nranks)
{
	struct call_played *all[PLAYERS_MAX];

	for (int n = 0;; n++) {
		for (int i = 0; i < nranks; i++) {
			all[i] = nth_played(i, STEP_COLLECTIVE, -1, n);
			if (!all[i])
				return;
		}
		for (int i = 0; i < nranks; i++)
			all[i]->met = true;
	}
}

static int calls_met(const struct player *p)
{
	int n = 0;

	while (n < p->ncalls && p->calls[n].met)
		n++;
	return n;
}

static void go_wrong(struct player *p, enum fault_played fault)
{
	if (fault == FAULT_SKIP)
		p->next++;
	else if (fault == FAULT_EARLY)
		p->ended = true;
	else
		p->stuck = true;
}

/* One step of one rank; false: it cannot take any. */
static bool take_step(const struct program *program, int rank, const struct fault_at *t)
{
	struct player *p = &players[rank];
	bool now = rank == t->rank && !p->fired && t->fault != FAULT_NONE && p->ncalls == t->at;
	bool last = p->next >= program->nsteps[rank];
	const struct step *step = &program->steps[rank][last ? 0 : p->next];

	if (p->stuck || p->ended)
		return false;
	if (last || step->kind == STEP_WAIT) {
		if (calls_met(p) < p->ncalls)
			return false;
		p->ended = last;
		p->next += !last;
		return true;
	}
	p->fired |= now;
	if (now && t->fault != FAULT_EXTRA) {
		go_wrong(p, t->fault);
		return true;
	}
	p->calls[p->ncalls++] = (struct call_played){ .step = *step };
	p->next += !now; /* an extra call: the same step once more */
	return true;
}

bool play_program(const struct program *program, const struct fault_at *t)
{
	bool moved = true, left = false;

	memset(players, 0, sizeof(players));
	while (moved) {
		moved = false;
		for (int i = 0; i < program->nranks; i++)
			moved |= take_step(program, i, t);
		for (int i = 0; i < program->nranks; i++)
			for (int k = 0; k < program->nranks; k++)
				meet_pairs(i, k);
		meet_collectives(program->nranks);
	}
	for (int i = 0; i < program->nranks; i++)
		left |= !players[i].ended;
	return left;
}

static struct record record_played(const struct call_played *call, int number)
{
	struct record r = make_call((uint64_t)number, (uint64_t)call->step.count);

	if (call->step.kind == STEP_COLLECTIVE)
		return r;
	r.kind = call->step.kind == STEP_SEND ? CALL_SEND : CALL_RECV;
	r.peer = call->step.peer;
	r.op = -1;
	return r;
}

void show_played(const struct program *program, const struct fault_at *t)
{
	calls_set_up(program->nranks);
	for (int i = 0; i < program->nranks; i++) {
		struct evidence_rank *r = &evidence.ranks[i];
		const struct player *p = &players[i];

		for (int k = 0; k < p->ncalls; k++)
			r->calls[k] = record_played(&p->calls[k], k + 1);
		r->ncalls = r->view.issued = (uint64_t)p->ncalls;
		r->view.completed = (uint64_t)calls_met(p);
		strcpy(r->view.what, p->ended ? "the slowest rank's figures" : "a scheduled call");
		r->state = 'S';
		if (!p->stuck || t->fault == FAULT_BUSY) {
			r->state = 'R';
			r->cpu_share = 1;
		} else {
			strcpy(r->syscall, t->fault == FAULT_IDLE ? "clock_nanosleep" : "read");
		}
	}
}

void show_ended(const struct program *program, const struct fault_at *t, enum outcome outcome)
{
	show_played(program, t);
	for (int i = 0; i < program->nranks; i++) {
		struct rank_view *v = &evidence.ranks[i].view;

		v->overdue = v->waiting = 0;
		v->phase = PHASE_DONE;
		v->process = PROCESS_EXITED;
		v->outcome = (int)outcome;
		v->status = (int)outcome; /* an outcome is its exit code */
	}
}
