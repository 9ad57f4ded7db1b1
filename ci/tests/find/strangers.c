/* strangers.c: generated programs, played. */
#include "find/strangers.h"

#include <assert.h>

#include "base/error.h"

/* ---- programs ---- */

static struct stranger *made;
static unsigned state;
static int group;

static int roll(int n)
{
	state = state * 1103515245u + 12345u;
	return (int)((state >> 16) % (unsigned)n);
}

static struct op *add(int rank, struct op op)
{
	assert(made->nops[rank] < OPS_MAX);
	op.group = op.grouped ? group : 0;
	op.dtype = DT_FLOAT;
	made->ops[rank][made->nops[rank]] = op;
	return &made->ops[rank][made->nops[rank]++];
}

static int place_in(int comm, int rank)
{
	for (int i = 0; i < made->nmembers[comm]; i++)
		if (made->members[comm][i] == rank)
			return i;
	return -1;
}

static int new_comm(void)
{
	assert(made->ncomms < COMMS_MAX);
	return made->ncomms++;
}

static void join(int comm, int rank)
{
	made->members[comm][made->nmembers[comm]++] = rank;
}

static void wait_all(int rank)
{
	add(rank, (struct op){ .kind = OP_WAIT });
}

/* A collective of all members, from the same line. */
static void all_call(int comm, int kind, int count, int site)
{
	for (int i = 0; i < made->nmembers[comm]; i++)
		add(made->members[comm][i], (struct op){ .kind = (uint8_t)kind,
							 .comm = (uint8_t)comm,
							 .count = count,
							 .site = (uint8_t)site,
							 .peer = kind == CALL_BROADCAST ? 0 : -1 });
}

static void all_wait(void)
{
	for (int i = 0; i < made->nranks; i++)
		wait_all(i);
}

static void pair_call(int rank, int kind, int comm, int peer, int count, int site, bool grouped)
{
	add(rank, (struct op){ .kind = (uint8_t)kind,
			       .comm = (uint8_t)comm,
			       .peer = (int8_t)place_in(comm, peer),
			       .count = count,
			       .site = (uint8_t)site,
			       .grouped = grouped });
}

#define send_to(rank, comm, peer, count, site)                                                     \
	pair_call(rank, CALL_SEND, comm, peer, count, site, false)
#define recv_from(rank, comm, peer, count, site)                                                   \
	pair_call(rank, CALL_RECV, comm, peer, count, site, false)

/* The figures of a program, drawn once. */
struct draw {
	int steps, parts, count, every;
	bool waits, varies;
};

static void forward(const struct draw *d, int i, int m)
{
	int n = made->nranks, count = d->count + (d->varies && made->alternates ? 8 * (m % 2) : 0);

	if (i > 0)
		recv_from(i, 0, i - 1, count, 1);
	if (i > 0 && d->waits)
		wait_all(i);
	if (i < n - 1)
		send_to(i, 0, i + 1, count, 2);
}

static void backward(const struct draw *d, int i, int m)
{
	int n = made->nranks, count = d->count + (d->varies && made->alternates ? 8 * (m % 2) : 0);

	if (i < n - 1)
		recv_from(i, 0, i + 1, count, 3);
	if (i < n - 1 && d->waits)
		wait_all(i);
	if (i > 0)
		send_to(i, 0, i - 1, count, 4);
}

static void end_step(const struct draw *d, int k)
{
	all_call(0, CALL_ALL_REDUCE, 1, 5);
	if (k % d->every == d->every - 1)
		all_call(0, CALL_BROADCAST, 77, 6);
	all_wait();
}

static void make_gpipe(const struct draw *d, int k)
{
	for (int i = 0; i < made->nranks; i++) {
		for (int m = 0; m < d->parts; m++)
			forward(d, i, m);
		for (int m = 0; m < d->parts; m++)
			backward(d, i, m);
	}
	end_step(d, k);
}

/* One forward step's output goes while one backward step's comes, and the other way round: in groups. */
static void make_1f1b(const struct draw *d, int k)
{
	int n = made->nranks;

	for (int i = 0; i < n; i++) {
		int warm = n - 1 - i < d->parts ? n - 1 - i : d->parts;

		for (int m = 0; m < warm; m++)
			forward(d, i, m);
		if (warm < d->parts && i > 0)
			recv_from(i, 0, i - 1, d->count, 1);
		for (int m = warm; m < d->parts; m++) {
			group++;
			if (i < n - 1) {
				pair_call(i, CALL_SEND, 0, i + 1, d->count, 2, true);
				pair_call(i, CALL_RECV, 0, i + 1, d->count, 3, true);
			}
			if (d->waits)
				wait_all(i);
			group++;
			if (i > 0)
				pair_call(i, CALL_SEND, 0, i - 1, d->count, 4, true);
			if (i > 0 && m + 1 < d->parts)
				pair_call(i, CALL_RECV, 0, i - 1, d->count, 1, true);
		}
		for (int m = d->parts - warm; m < d->parts; m++)
			backward(d, i, m);
	}
	end_step(d, k);
}

/* The same with a communicator for each two neighbours, as torch makes them. */
static void make_pair_comms(const struct draw *d, int k)
{
	int n = made->nranks;

	if (k == 0)
		for (int i = 0; i + 1 < n; i++) {
			int c = new_comm();

			join(c, i);
			join(c, i + 1);
		}
	for (int i = 0; i < n; i++)
		for (int m = 0; m < 2 * d->parts; m++) {
			int turn = m < d->parts ? 1 : -1, from = i - turn, to = i + turn;

			if (from >= 0 && from < n)
				recv_from(i, 1 + (from < i ? from : i), from, d->count, 1);
			if (to >= 0 && to < n)
				send_to(i, 1 + (to < i ? to : i), to, d->count, 2);
		}
	end_step(d, k);
}

/* An exchange with the neighbour, in a group with the others'. */
static void exchange(int i, int comm, int peer, int count)
{
	pair_call(i, CALL_SEND, comm, peer, count, 11, true);
	pair_call(i, CALL_RECV, comm, peer, count, 12, true);
}

static void make_halo(const struct draw *d, int k)
{
	for (int part = 0; part < d->parts; part++)
		for (int i = 0; i < made->nranks; i++) {
			group++;
			if (i > 0)
				exchange(i, 0, i - 1, d->count);
			if (i < made->nranks - 1)
				exchange(i, 0, i + 1, d->count);
			if (d->waits)
				wait_all(i);
		}
	all_call(0, CALL_ALL_REDUCE, 2, 5);
	if (k % d->every == 0)
		all_call(0, CALL_REDUCE_SCATTER, 64, 7);
	all_wait();
}

static void make_halo_2d(const struct draw *d, int k)
{
	int wide = made->nranks % 2 == 0 ? made->nranks / 2 : made->nranks;

	for (int i = 0; i < made->nranks; i++) {
		int x = i % wide;

		group++;
		if (x > 0)
			exchange(i, 0, i - 1, d->count);
		if (x < wide - 1)
			exchange(i, 0, i + 1, d->count);
		if (i >= wide)
			exchange(i, 0, i - wide, 2 * d->count);
		if (i + wide < made->nranks)
			exchange(i, 0, i + wide, 2 * d->count);
		wait_all(i);
	}
	if (k % d->every == d->every - 1)
		all_call(0, CALL_ALL_REDUCE, 1, 5);
}

static void make_ring_attention(const struct draw *d, int k)
{
	int n = made->nranks;

	for (int part = 0; part < d->parts; part++)
		for (int i = 0; i < n; i++) {
			group++;
			pair_call(i, CALL_SEND, 0, (i + 1) % n, d->count, 1, true);
			pair_call(i, CALL_RECV, 0, (i + n - 1) % n, d->count, 2, true);
		}
	end_step(d, k);
}

static void make_actors(const struct draw *d, int k)
{
	int n = made->nranks;

	for (int i = 1; i < n; i++) {
		send_to(i, 0, 0, d->count + i, 1);
		recv_from(0, 0, i, d->count + i, 2);
	}
	if (k % d->every == d->every - 1)
		for (int i = 1; i < n; i++) {
			send_to(0, 0, i, 500, 3);
			recv_from(i, 0, 0, 500, 4);
		}
	if (d->waits)
		all_wait();
	if (k % 4 == 3)
		all_call(0, CALL_ALL_REDUCE, 1, 5);
	all_wait();
}

static void make_server(const struct draw *d, int k)
{
	int n = made->nranks;

	for (int i = 1; i < n; i++) {
		for (int part = 0; part < d->parts; part++) {
			send_to(i, 0, 0, d->count + part, 1);
			recv_from(0, 0, i, d->count + part, 2);
		}
		if (d->waits)
			wait_all(0);
		send_to(0, 0, i, d->count, 3);
		recv_from(i, 0, 0, d->count, 4);
		wait_all(i);
	}
	wait_all(0);
	if (k % d->every == 0) {
		all_call(0, CALL_BROADCAST, 9, 6);
		all_wait();
	}
}

/* Experts: each two exchange an amount of their own. */
static void make_experts(const struct draw *d, int k)
{
	int n = made->nranks;

	all_call(0, CALL_ALL_REDUCE, 16, 5);
	for (int part = 0; part < 2; part++)
		for (int i = 0; i < n; i++) {
			group++;
			for (int j = 0; j < n; j++) {
				int out = d->count + 3 * i + 5 * j + (d->varies ? k % 3 : 0);
				int in = d->count + 3 * j + 5 * i + (d->varies ? k % 3 : 0);

				if (j == i)
					continue;
				pair_call(i, CALL_SEND, 0, j, out, 1, true);
				pair_call(i, CALL_RECV, 0, j, in, 2, true);
			}
			if (d->waits)
				wait_all(i);
		}
	end_step(d, k);
}

/* Rank 0 evaluates now and then, from lines of its own; gradients in buckets. */
static void make_evaluation(const struct draw *d, int k)
{
	for (int part = 0; part < d->parts; part++)
		all_call(0, CALL_ALL_REDUCE, d->count + (d->varies ? 16 * part : 0), 1);
	if (k % d->every == d->every - 1)
		for (int i = 0; i < made->nranks; i++)
			add(i, (struct op){ .kind = CALL_BROADCAST,
					    .count = 5,
					    .peer = 0,
					    .site = (uint8_t)(i == 0 ? 21 : 22) });
	end_step(d, k);
}

static void make_accumulation(const struct draw *d, int k)
{
	all_call(0, CALL_ALL_GATHER, d->count, 1);
	if (k % d->every == d->every - 1)
		for (int part = 0; part < d->parts; part++)
			all_call(0, CALL_REDUCE_SCATTER, d->count, 2);
	all_call(0, CALL_ALL_REDUCE, 1, 5);
	all_wait();
}

/* Tensor parallel pairs, a pipeline of these, data parallel across. */
static void make_3d(const struct draw *d, int k)
{
	int n = made->nranks, half = n / 2;

	if (k == 0)
		for (int i = 0; i < n; i++) {
			if (i % 2 == 0)
				new_comm();
			join(1 + i / 2, i);
		}
	for (int m = 0; m < d->parts; m++)
		for (int i = 0; i < n; i++) {
			if (i >= 2)
				recv_from(i, 0, i - 2, d->count, 1);
			add(i, (struct op){ .kind = CALL_ALL_REDUCE,
					    .comm = (uint8_t)(1 + i / 2),
					    .count = d->count,
					    .site = 8,
					    .peer = -1 });
			if (i < 2 * (half - 1))
				send_to(i, 0, i + 2, d->count, 2);
			if (d->waits)
				wait_all(i);
		}
	end_step(d, k);
}

static void make_tree(const struct draw *d, int k)
{
	for (int part = 0; part < d->parts; part++)
		for (int i = 0; i < made->nranks; i++) {
			if (i > 0)
				recv_from(i, 0, (i - 1) / 2, d->count + part, 1);
			for (int to = 2 * i + 1; to <= 2 * i + 2 && to < made->nranks; to++)
				send_to(i, 0, to, d->count + part, 2);
		}
	all_call(0, CALL_ALL_REDUCE, 1, 5);
	all_wait();
}

/* Rank 0 hands tasks to whichever worker is free: another order each time. */
static void make_tasks(const struct draw *d, int k)
{
	int n = made->nranks;

	for (int part = 0; part < n; part++) {
		int worker = 1 + roll(n - 1);

		send_to(0, 0, worker, d->count, 1);
		recv_from(worker, 0, 0, d->count, 2);
		send_to(worker, 0, 0, d->count + 2, 3);
		recv_from(0, 0, worker, d->count + 2, 4);
		if (d->waits)
			wait_all(0);
	}
	if (k % d->every == 0)
		all_call(0, CALL_ALL_REDUCE, 1, 5);
	all_wait();
}

/* Rank 0 alone saves now and then, and all meet behind it. */
static void make_checkpoint(const struct draw *d, int k)
{
	for (int part = 0; part < d->parts; part++) {
		all_call(0, CALL_ALL_GATHER, d->count, 1);
		all_call(0, CALL_REDUCE_SCATTER, d->count, 2);
	}
	if (k % d->every == d->every - 1)
		all_call(0, CALL_ALL_REDUCE, 1, 9);
	all_call(0, CALL_ALL_REDUCE, 1, 5);
	all_wait();
}

static const struct {
	const char *name;
	void (*make)(const struct draw *d, int step);
	int least, most;
	bool even;
} kinds[] = {
	{ "gpipe", make_gpipe, 2, 8, false },
	{ "1f1b", make_1f1b, 2, 8, false },
	{ "pair communicators", make_pair_comms, 2, 8, false },
	{ "halo", make_halo, 2, 8, false },
	{ "halo 2d", make_halo_2d, 3, 8, false },
	{ "ring attention", make_ring_attention, 2, 8, false },
	{ "actors", make_actors, 2, 6, false },
	{ "parameter server", make_server, 2, 6, false },
	{ "experts", make_experts, 2, 4, false },
	{ "evaluation", make_evaluation, 2, 8, false },
	{ "accumulation", make_accumulation, 2, 8, false },
	{ "3d", make_3d, 4, 8, true },
	{ "tree", make_tree, 3, 8, false },
	{ "tasks", make_tasks, 3, 5, false },
	{ "checkpoint", make_checkpoint, 2, 8, false },
};

void stranger_make(struct stranger *s, unsigned seed)
{
	size_t kind = seed % LENGTH(kinds);
	struct draw d;

	memset(s, 0, sizeof(*s));
	made = s;
	state = seed * 2654435761u + 1;
	group = 0;
	s->seed = seed;
	s->name = kinds[kind].name;
	s->alternates = kinds[kind].make == make_gpipe;
	s->nranks = kinds[kind].least + roll(kinds[kind].most - kinds[kind].least + 1);
	s->nranks += kinds[kind].even && s->nranks % 2 ? -1 : 0;
	s->ncomms = 1;
	for (int i = 0; i < s->nranks; i++)
		join(0, i);
	d = (struct draw){ .steps = 4 + roll(8),
			   .parts = 1 + roll(4),
			   .count = 32 << roll(4),
			   .every = 2 + roll(3),
			   .waits = roll(2),
			   .varies = roll(2) };
	for (int k = 0; k < d.steps; k++) {
		int most = 0;

		for (int i = 0; i < s->nranks; i++)
			most = s->nops[i] > most ? s->nops[i] : most;
		if (k > 2 && most + most / k > OPS_MAX - 8)
			break;
		kinds[kind].make(&d, k);
	}
	s->sites = roll(3) > 0;
	s->deed = DEED_NONE;
}

static void insert_op(struct stranger *s, const struct op *op)
{
	struct op *at = s->ops[s->rank] + s->at;

	memmove(at + 1, at, (size_t)(s->nops[s->rank]++ - s->at) * sizeof(*at));
	*at = *op;
}

static void remove_ops(struct stranger *s, int n)
{
	struct op *at = s->ops[s->rank] + s->at;

	s->nops[s->rank] -= n;
	memmove(at, at + n, (size_t)(s->nops[s->rank] - s->at) * sizeof(*at));
}

bool stranger_plant(struct stranger *s)
{
	struct op *op, again,
		other = { .kind = CALL_ALL_GATHER, .count = 999, .peer = -1, .site = 30 };
	int n;

	made = s;
	s->deed = (enum deed)roll(DEEDS);
	s->rank = roll(s->nranks);
	s->lax = roll(4) == 0;
	/* the first two steps are left well, as they are in most jobs */
	s->at = s->nops[s->rank] / 3 + roll(s->nops[s->rank] - s->nops[s->rank] / 3);
	op = &s->ops[s->rank][s->at];
	if (op->kind == OP_WAIT)
		return false;
	n = s->nmembers[op->comm];
	other.dtype = op->dtype;
	switch (s->deed) {
	case DEED_SKIP:
		remove_ops(s, 1);
		return true;
	case DEED_TWICE:
		again = *op;
		insert_op(s, &again);
		return true;
	case DEED_OTHER:
		insert_op(s, &other);
		return true;
	case DEED_PEER:
		if (n < 3 || !call_is_pair(op->kind))
			return false;
		op->peer = (int8_t)((op->peer + 1) % n);
		op->peer = (int8_t)(op->peer == place_in(op->comm, s->rank) ? (op->peer + 1) % n
									    : op->peer);
		return true;
	case DEED_COUNT:
		op->count += 7;
		return true;
	case DEED_DTYPE:
		op->dtype = DT_HALF;
		return true;
	default:
		return s->at < s->nops[s->rank];
	}
}

const char *deed_name(enum deed deed)
{
	static const char *const names[] = { "skip", "twice", "other", "peer",	"count", "dtype",
					     "exit", "idle",  "busy",  "block", "none" };

	return names[deed];
}

/* ---- play ---- */

struct made_call {
	struct op op;
	bool over;
};

static struct folk {
	struct made_call calls[OPS_MAX + 4];
	int ncalls, next;
	bool stuck, ended;
} folk[FOLK_MAX];

/* The first call of the rank on the communicator that is not over. */
static int head_of(int rank, int comm)
{
	for (int i = 0; i < folk[rank].ncalls; i++)
		if (folk[rank].calls[i].op.comm == comm && !folk[rank].calls[i].over)
			return i;
	return -1;
}

/* The call that stands at the head, or is in the group that does. */
static bool has_started(int rank, int i)
{
	int head = head_of(rank, folk[rank].calls[i].op.comm);

	return head == i || (head >= 0 && folk[rank].calls[i].op.grouped &&
			     folk[rank].calls[head].op.group == folk[rank].calls[i].op.group);
}

/* The rank's call on the communicator of this kind (a pair's: and with this partner) with this number among such. */
static int nth_call(int rank, int comm, bool pair, int kind, int peer, int n)
{
	for (int i = 0; i < folk[rank].ncalls; i++) {
		const struct op *op = &folk[rank].calls[i].op;

		if (op->comm != comm || call_is_pair(op->kind) != pair ||
		    (pair && (op->kind != kind || op->peer != peer)))
			continue;
		if (n-- == 0)
			return i;
	}
	return -1;
}

static int number_of(int rank, int i)
{
	const struct op *op = &folk[rank].calls[i].op;
	int n = 0;

	for (int k = 0; k < i; k++) {
		const struct op *before = &folk[rank].calls[k].op;

		n += before->comm == op->comm &&
		     call_is_pair(before->kind) == call_is_pair(op->kind) &&
		     (!call_is_pair(op->kind) ||
		      (before->kind == op->kind && before->peer == op->peer));
	}
	return n;
}

static bool fits(const struct stranger *s, const struct op *a, const struct op *b)
{
	if (!call_is_pair(a->kind) && (a->kind != b->kind || a->peer != b->peer))
		return false;
	return s->lax || (a->count == b->count && a->dtype == b->dtype);
}

/* Ends the call if all that it needs has started. */
static bool end_call(const struct stranger *s, int rank, int i)
{
	struct made_call *c = &folk[rank].calls[i];
	const struct op op = c->op;
	int n = number_of(rank, i), at[FOLK_MAX], peers = s->nmembers[op.comm];

	if (c->over || !has_started(rank, i))
		return false;
	for (int k = 0; k < peers; k++) {
		int other = s->members[op.comm][k];

		at[k] = other == rank ? i : -1;
		if (call_is_pair(op.kind) && k == op.peer)
			at[k] = nth_call(other, op.comm, true,
					 op.kind == CALL_SEND ? CALL_RECV : CALL_SEND,
					 place_in(op.comm, rank), n);
		else if (!call_is_pair(op.kind))
			at[k] = nth_call(other, op.comm, false, 0, 0, n);
		if (at[k] < 0 && call_is_pair(op.kind) && k != op.peer)
			continue;
		if (at[k] < 0 || !has_started(other, at[k]) ||
		    !fits(s, &op, &folk[other].calls[at[k]].op))
			return false;
	}
	for (int k = 0; k < peers; k++)
		if (at[k] >= 0)
			folk[s->members[op.comm][k]].calls[at[k]].over = true;
	return true;
}

static void run_devices(const struct stranger *s)
{
	bool any = true;

	while (any) {
		any = false;
		for (int r = 0; r < s->nranks; r++)
			for (int c = 0; c < s->ncomms; c++) {
				int i = head_of(r, c);

				for (; i >= 0 && i < folk[r].ncalls; i++)
					any |= folk[r].calls[i].op.comm == c && end_call(s, r, i);
			}
	}
}

static bool is_done(int rank)
{
	for (int i = 0; i < folk[rank].ncalls; i++)
		if (!folk[rank].calls[i].over)
			return false;
	return true;
}

/* One step of the rank's host; false: it cannot take any. */
static bool take_step(const struct stranger *s, int rank)
{
	struct folk *f = &folk[rank];
	bool last = f->next >= s->nops[rank];
	const struct op *op = &s->ops[rank][last ? 0 : f->next];

	if (f->stuck || f->ended)
		return false;
	if (last || op->kind == OP_WAIT) {
		f->ended = last && is_done(rank);
		f->next += !last && is_done(rank);
		return is_done(rank);
	}
	if (rank == s->rank && f->next == s->at && s->deed >= DEED_EXIT && s->deed < DEEDS) {
		f->ended = s->deed == DEED_EXIT;
		f->stuck = !f->ended;
		return true;
	}
	f->calls[f->ncalls++] = (struct made_call){ .op = *op };
	f->next++;
	/* a group is called as a whole */
	while (op->grouped && f->next < s->nops[rank] && s->ops[rank][f->next].grouped &&
	       s->ops[rank][f->next].group == op->group)
		f->calls[f->ncalls++] = (struct made_call){ .op = s->ops[rank][f->next++] };
	return true;
}

bool stranger_play(const struct stranger *s, int steps)
{
	bool left = false;
	int idle = 0;

	made = (struct stranger *)(uintptr_t)s;
	memset(folk, 0, sizeof(folk));
	state = s->seed * 40503u + 7;
	while (idle < 4 * s->nranks && steps != 0) {
		int from = roll(s->nranks);
		bool moved = false;

		for (int i = 0; i < s->nranks && !moved; i++)
			moved = take_step(s, (from + i) % s->nranks);
		idle = moved ? 0 : idle + 1;
		steps -= moved;
		run_devices(s);
	}
	for (int i = 0; i < s->nranks; i++)
		left |= !folk[i].ended && !is_done(i);
	return left;
}

bool stranger_is_late(const struct stranger *s, int rank)
{
	bool pending = false;

	if (folk[rank].ended || (folk[rank].next < s->nops[rank] &&
				 s->ops[rank][folk[rank].next].kind == OP_WAIT && !is_done(rank)))
		return false;
	for (int i = 0; i < s->nranks; i++)
		pending |= i != rank && !is_done(i);
	return pending;
}

/* ---- evidence ---- */

static void show_recorder(const struct stranger *s, int rank, struct evidence_rank *r)
{
	r->recorder = aligned_alloc(64, sizeof(*r->recorder));
	memset(r->recorder, 0, sizeof(*r->recorder));
	r->recorder->rank = rank;
	r->recorder->nranks = s->nranks;
	r->recorder->preloaded = 1;
	for (int c = 0; c < s->ncomms; c++) {
		struct record_init *init = &r->recorder->inits[c];

		if (place_in(c, rank) < 0)
			continue;
		init->rank = place_in(c, rank);
		init->nranks = s->nmembers[c];
		init->id = (uint64_t)(100 + c);
		init->state = RECORD_COMM_READY;
	}
	r->view.comm_state = RECORD_COMM_READY;
	r->view.init_id = 100;
	r->view.init_nranks = s->nranks;
	r->view.init_rank = rank;
	if (!s->sites)
		return;
	r->nsites = 32;
	r->sites = calloc(r->nsites, sizeof(*r->sites));
	for (size_t i = 1; i < r->nsites; i++) {
		r->sites[i].hash = 7919 * i;
		snprintf(r->sites[i].text, sizeof(r->sites[i].text), "job/train.py:%zu (step)", i);
	}
}

static void show_calls(const struct stranger *s, int rank, struct evidence_rank *r)
{
	uint64_t seq[COMMS_MAX] = { 0 };
	struct folk *f = &folk[rank];

	free(r->calls);
	r->calls = calloc((size_t)f->ncalls + 1, sizeof(*r->calls));
	for (int i = 0; i < f->ncalls; i++) {
		const struct op *op = &f->calls[i].op;
		struct record c = make_call((uint64_t)i + 1, (uint64_t)op->count);

		c.comm = op->comm;
		c.seq = ++seq[op->comm];
		c.kind = op->kind;
		c.dtype = op->dtype;
		c.op = op->kind == CALL_ALL_REDUCE || op->kind == CALL_REDUCE_SCATTER ? OP_SUM
										      : OP_NONE;
		c.peer = op->peer;
		c.stream = op->comm;
		c.flags = op->grouped ? 0 : RECORD_ALONE;
		c.site = s->sites ? op->site : 0;
		c.state = f->calls[i].over ? RECORD_COMPLETED : RECORD_RETURNED;
		if (s->sites) {
			r->sites[op->site].calls++;
			r->sites[op->site].comm = op->comm;
		}
		r->calls[i] = c;
		if (r->view.completed == (uint64_t)i && f->calls[i].over)
			r->view.completed++;
	}
	r->ncalls = r->view.issued = (uint64_t)f->ncalls;
}

void stranger_show(const struct stranger *s)
{
	calls_set_up(s->nranks);
	strcpy(evidence.backend, "nccl");
	made = (struct stranger *)(uintptr_t)s;
	for (int i = 0; i < s->nranks; i++) {
		struct evidence_rank *r = &evidence.ranks[i];
		struct folk *f = &folk[i];
		bool pending;

		show_recorder(s, i, r);
		r->view.completed = 0;
		show_calls(s, i, r);
		pending = r->view.completed < r->view.issued;
		r->state = 'S';
		r->view.device_wait = pending ? RECORD_DEVICE_AWAITED : RECORD_DEVICE_LEFT;
		r->view.waiting = r->view.overdue = pending;
		strcpy(r->view.what, pending ? "a call" : "");
		strcpy(r->syscall, "clock_nanosleep");
		if (f->ended) {
			r->view.phase = PHASE_DONE;
			r->view.process = PROCESS_EXITED;
			r->view.outcome = OUTCOME_OK;
			r->view.waiting = r->view.overdue = 0;
		} else if (f->stuck) {
			r->state = s->deed == DEED_BUSY ? 'R' : 'S';
			r->cpu_share = s->deed == DEED_BUSY;
			strcpy(r->syscall, s->deed == DEED_BLOCK  ? "read"
					   : s->deed == DEED_BUSY ? ""
								  : "clock_nanosleep");
		} else if (pending) { /* it polls its device */
			r->state = 'R';
			r->cpu_share = 1;
			r->syscall[0] = '\0';
		}
	}
}
