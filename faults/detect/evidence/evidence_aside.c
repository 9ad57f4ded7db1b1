/* evidence_aside.c: a rank's evidence that has another run's number, or is older than what others did with the rank, is set
 * aside. */
#include "evidence/evidence.h"

#include "base/call_value.h"
#include "base/stats.h"
#include "process/watch.h"

/* Forgets the rank's evidence, but for the communicators that it made where the file is of this run. */
static void set_aside(struct evidence *e, int i, bool same_run)
{
	struct evidence_rank *r = &e->ranks[i];
	struct record_header *recorder = NULL;
	char *stack = r->stack;

	if (same_run && r->recorder) {
		recorder = must(aligned_alloc(64, sizeof(*recorder)));
		memcpy(recorder, r->recorder, sizeof(*recorder));
		memset(recorder->comms, 0, sizeof(recorder->comms));
		memset(recorder->pairs, 0, sizeof(recorder->pairs));
	}
	evidence_rank_release(r);
	*r = (struct evidence_rank){ .recorder = recorder,
				     .stack = stack,
				     .unread = true,
				     .cpu_share = -1,
				     .view = { .rank = i, .outcome = -1, .node = -1 } };
}

/* ---- numbers of runs ---- */

/* Files of one run and host have one number; where it is odd those of all hosts do. */
static bool share_number(const struct evidence_rank *a, const struct evidence_rank *b)
{
	return (a->run & b->run & 1) || strcmp(a->view.host, b->view.host) == 0;
}

/* The number that files like that of rank `first` should have: run.json's where one has it, else that of most, which is 0
 * of an older build's. UINT64_MAX: neither. `runs`: room for all ranks. */
static uint64_t expected_run(const struct evidence *e, int first, uint64_t *runs)
{
	uint64_t own = strtoull(e->token, NULL, 16);
	struct vote vote;
	size_t n = 0;

	for (int i = 0; i < e->nranks; i++) {
		uint64_t run = e->ranks[i].run;

		if (!e->ranks[i].recorder || !share_number(&e->ranks[first], &e->ranks[i]))
			continue;
		if (run != 0 && run == own)
			return own;
		runs[n++] = run;
	}
	vote = vote_words(runs, n);
	return vote.votes * 2 > n ? vote.most : UINT64_MAX;
}

/* Marks those that have another run's number among files like that of rank `first`. */
static void find_others(const struct evidence *e, int first, uint64_t *runs, bool *looked,
			bool *other)
{
	uint64_t expected = expected_run(e, first, runs);

	for (int i = 0; i < e->nranks; i++) {
		const struct evidence_rank *r = &e->ranks[i];

		if (!r->recorder || !share_number(&e->ranks[first], r))
			continue;
		looked[i] = true;
		other[i] = expected != UINT64_MAX && r->run != expected;
	}
}

static void set_others_aside(struct evidence *e)
{
	size_t n = (size_t)e->nranks + 1;
	uint64_t *runs = must(calloc(n, sizeof(*runs)));
	bool *looked = must(calloc(2 * n, sizeof(*looked))), *other = looked + n;

	for (int i = 0; i < e->nranks; i++)
		if (!looked[i] && e->ranks[i].run != 0)
			find_others(e, i, runs, looked, other);
	for (int i = 0; i < e->nranks; i++) {
		if (!other[i])
			continue;
		set_aside(e, i, false);
		evidence_remark(e, "Rank %d's file is of another run, by its number, and not read.",
				i);
	}
	free(looked);
	free(runs);
}

/* Ranks that live and that can be seen: what they do goes on, so that evidence of them may be old. */
struct live {
	struct evidence *e;
	int *ranks; /* owned */
	size_t n;
};

static struct live find_live(struct evidence *e)
{
	struct live live = { .e = e, .ranks = must(calloc((size_t)e->nranks + 1, sizeof(int))) };

	for (int i = 0; i < e->nranks; i++) {
		const struct evidence_rank *r = &e->ranks[i];

		if (r->present && !r->view.lost && r->view.process <= PROCESS_STOPPED &&
		    r->view.phase != PHASE_SPARE)
			live.ranks[live.n++] = i;
	}
	return live;
}

/* ---- calls that others completed with it ---- */

/* No rank leaves such a call before all have come to it. */
static bool keeps_all(const struct record *r)
{
	return r->count > 0 && (r->kind == CALL_ALL_REDUCE || r->kind == CALL_ALL_GATHER ||
				r->kind == CALL_REDUCE_SCATTER || r->kind == CALL_ALLTOALL);
}

/* Collectives that the rank has made on the communicator; its recorder may be on disk, the view is not. */
static uint64_t made(const struct evidence_rank *r, const struct claim *claim)
{
	return r->view.comms[claim->comm].calls;
}

/* The communicator's number in the rank's records, RECORD_COMMS: none. */
static uint32_t number_of(const struct evidence_rank *r, uint64_t id)
{
	uint32_t c = 0;

	while (r->recorder && c < RECORD_COMMS && r->recorder->inits[c].id != id)
		c++;
	return r->recorder ? c : RECORD_COMMS;
}

/* The newest call that a rank which waits has completed with all, NULL: none; *n: its number among the collectives. */
static const struct record *newest_with_all(const struct evidence_rank *r,
					    const struct claim *claim, uint64_t *n)
{
	uint32_t comm = number_of(r, claim->id);

	*n = made(r, claim);
	for (size_t i = r->ncalls; i-- > 0 && *n > 0;) {
		const struct record *call = &r->calls[i];

		if (call->comm != comm || call_is_pair(call->kind))
			continue;
		if (keeps_all(call) && record_done(call, r->view.completed))
			return call;
		--*n;
	}
	return NULL;
}

/* Both know their calls on the communicator by number, and all that both know are alike. */
static bool is_alike(const struct evidence_rank *a, const struct evidence_rank *b, uint64_t id)
{
	uint32_t ca = number_of(a, id), cb = number_of(b, id);
	size_t i = 0, k = 0;

	if (ca == RECORD_COMMS || cb == RECORD_COMMS)
		return false;
	if ((a->wrapped || b->wrapped) &&
	    (record_set_has(&a->index.pairs, ca) || record_set_has(&b->index.pairs, cb)))
		return false;
	while (i < a->ncalls && k < b->ncalls) {
		const struct record *x = &a->calls[i], *y = &b->calls[k];

		if (x->comm != ca || y->comm != cb || x->seq != y->seq) {
			i += x->comm != ca || (y->comm == cb && x->seq < y->seq);
			k += y->comm != cb || (x->comm == ca && y->seq < x->seq);
			continue;
		}
		if (call_signature(x) != call_signature(y))
			return false;
		i++;
		k++;
	}
	return true;
}

/* Members of a communicator that live, and the one of them that completed most calls of all with others. */
struct together {
	const struct live *live;
	const struct claim *claims;
	size_t n;
	uint64_t least;		     /* collectives that any has made */
	const struct claim *witness; /* NULL: there is none */
	const struct record *call;   /* the newest that it completed with all, and its number */
	uint64_t nth;
};

static struct evidence_rank *rank_of(const struct together *t, const struct claim *claim)
{
	return &t->live->e->ranks[t->live->ranks[claim->rank]];
}

/* Records are looked at where numbers leave it open: they may be on disk. */
static void find_witness(struct together *t)
{
	t->least = UINT64_MAX;
	t->witness = NULL;
	t->nth = 0;
	for (size_t i = 0; i < t->n; i++) {
		const struct evidence_rank *r = rank_of(t, &t->claims[i]);

		if (r->present && made(r, &t->claims[i]) < t->least)
			t->least = made(r, &t->claims[i]);
	}
	for (size_t i = 0; i < t->n; i++) {
		const struct claim *c = &t->claims[i];
		const struct evidence_rank *r = rank_of(t, c);
		const struct record *call;
		uint64_t n, open = r->index.plain ? r->view.issued - r->view.completed : 0;

		if (!r->present || !r->view.overdue || made(r, c) <= t->least + open ||
		    r->index.last_ticket < r->view.issued)
			continue;
		call = newest_with_all(r, c, &n);
		if (!call || n <= t->least || n <= t->nth)
			continue;
		t->witness = c;
		t->call = call;
		t->nth = n;
	}
}

static size_t find_behind(const struct together *t, bool *behind)
{
	const struct evidence_rank *w = rank_of(t, t->witness);
	size_t found = 0;

	for (size_t i = 0; i < t->n; i++) {
		const struct claim *c = &t->claims[i];
		const struct evidence_rank *r = rank_of(t, c);

		behind[i] = r->present && made(r, c) < t->nth && is_alike(w, r, c->id);
		found += behind[i];
	}
	return found;
}

static void set_witness_aside(const struct together *t)
{
	int rank = t->live->ranks[t->witness->rank];
	uint64_t seq = t->call->seq;

	set_aside(t->live->e, rank, true);
	evidence_remark(t->live->e,
			"Rank %d's file says that call %lu was completed, which most others have "
			"not made: it is of another moment, and not read.",
			rank, seq);
}

static void set_behind_aside(const struct together *t, const bool *behind)
{
	uint64_t seq = t->call->seq;

	for (size_t i = 0; i < t->n; i++) {
		const struct claim *c = &t->claims[i];
		struct evidence_rank *r = rank_of(t, c);
		uint64_t last;

		if (!behind[i])
			continue;
		last = r->view.comms[c->comm].seq;
		set_aside(t->live->e, t->live->ranks[c->rank], true);
		evidence_remark(t->live->e,
				"Rank %d's file ends at call %lu of communicator %u, but rank %d "
				"completed call %lu with it: it is older, and not read.",
				t->live->ranks[c->rank], last, c->comm,
				t->live->ranks[t->witness->rank], seq);
	}
}

/* Where more than half of the members would have to be set aside it is the witness, and the next one is asked. */
static void look_together(struct together *t)
{
	bool *behind = must(calloc(t->n + 1, sizeof(*behind)));
	size_t n;

	do {
		find_witness(t);
		n = t->witness ? find_behind(t, behind) : 0;
		if (n * 2 > t->n)
			set_witness_aside(t);
		else if (n > 0)
			set_behind_aside(t, behind);
	} while (n > 0);
	free(behind);
}

static void set_aside_by_calls(const struct live *live)
{
	struct progress progress = { .nranks = (int)live->n,
				     .ranks = must(calloc(live->n + 1, sizeof(*progress.ranks))) };
	struct claim *claims;
	size_t n, end;

	for (size_t i = 0; i < live->n; i++) {
		const struct evidence_rank *r = &live->e->ranks[live->ranks[i]];

		progress.ranks[i].view = &r->view;
	}
	claims = progress_claims(&progress, -1, &n);
	for (size_t first = 0; first < n; first = end) {
		struct together t = { .live = live, .claims = claims + first };

		end = claims_end(claims, n, first);
		t.n = end - first;
		if (t.claims->id != 0)
			look_together(&t);
	}
	free(claims);
	free(progress.ranks);
}

void evidence_set_aside(struct evidence *e)
{
	struct live live;

	set_others_aside(e);
	live = find_live(e);
	set_aside_by_calls(&live);
	free(live.ranks);
}
