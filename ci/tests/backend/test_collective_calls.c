/* test_collective_calls.c: the calls of every collective against its oracle. Ranks run one after
 * the other on a backend that only records calls. The records of all ranks are then executed step
 * by step. Elements are uint32_t: rank * 100000 + index; the reduction is their sum. */
#include "collective_place.h"

#include "bench/perf_main.h"
#include "rig/unit.h"

enum step_kind { STEP_CALL, STEP_COPY, STEP_BEGIN, STEP_END };

struct step {
	enum step_kind kind;
	struct call call;
	size_t *counts; /* alltoallv's, 4 x nranks */
	void *dst;
	const void *src;
	size_t bytes;
};

struct recorder {
	struct backend be;
	int nranks, nsteps;
	struct step steps[64];
};

static struct step *next_step(struct backend *be, enum step_kind kind)
{
	struct recorder *recorder = (struct recorder *)be;
	struct step *step = &recorder->steps[recorder->nsteps++];

	CU_ASSERT_FATAL(recorder->nsteps <= 64);
	*step = (struct step){ .kind = kind };
	return step;
}

static int note_issue(struct backend *be, const struct call *call, uint64_t ticket)
{
	struct step *step = next_step(be, STEP_CALL);
	size_t n = (size_t)((struct recorder *)be)->nranks;

	step->call = *call;
	if (call->kind == CALL_ALLTOALLV) {
		step->counts = malloc(4 * n * sizeof(size_t));
		memcpy(step->counts, call->send_counts, n * sizeof(size_t));
		memcpy(step->counts + n, call->send_at, n * sizeof(size_t));
		memcpy(step->counts + 2 * n, call->recv_counts, n * sizeof(size_t));
		memcpy(step->counts + 3 * n, call->recv_at, n * sizeof(size_t));
	}
	return 0;
}

static int note_copy(struct backend *be, void *dst, const void *src, size_t bytes)
{
	struct step *step = next_step(be, STEP_COPY);

	step->dst = dst;
	step->src = src;
	step->bytes = bytes;
	return 0;
}

static int note_begin(struct backend *be)
{
	next_step(be, STEP_BEGIN);
	return 0;
}

static int note_end(struct backend *be)
{
	next_step(be, STEP_END);
	return 0;
}

static const struct backend_ops note_ops = {
	.issue = note_issue, .copy = note_copy, .group_begin = note_begin, .group_end = note_end
};

struct world {
	const struct collective *c;
	bool in_place;
	int n;
	struct recorder *ranks;
	uint32_t *buffers[MAX_RANKS], *send[MAX_RANKS], *recv[MAX_RANKS];
	struct geometry geometry[MAX_RANKS];
	struct shape shape[MAX_RANKS];
};

static uint32_t value(int rank, size_t index)
{
	return (uint32_t)rank * 100000u + (uint32_t)index;
}

static const uint32_t untouched = 0xA5A5A5A5u;

static void world_fill(struct world *w, int rank)
{
	struct shape *shape = &w->shape[rank];
	size_t room = shape->send + shape->recv;

	w->c->shape(&w->geometry[rank], shape);
	room = shape->send + shape->recv;
	w->buffers[rank] = malloc(room * sizeof(uint32_t));
	for (size_t i = 0; i < room; i++)
		w->buffers[rank][i] = untouched;
	w->send[rank] = w->buffers[rank] + (w->in_place ? shape->inplace_send : 0);
	w->recv[rank] = w->buffers[rank] + (w->in_place ? shape->inplace_recv : shape->send);
	for (size_t i = 0; i < shape->send; i++)
		w->send[rank][i] = value(rank, i);
}

static void world_run(struct world *w, int rank)
{
	struct recorder *recorder = &w->ranks[rank];
	struct chain chain = { .backend = &recorder->be };
	struct invocation invocation = {
		.geometry = &w->geometry[rank],
		.shape = &w->shape[rank],
		.send = w->send[rank],
		.recv = w->recv[rank],
		.dtype = DT_UINT32,
		.op = w->c->reduces ? OP_SUM : OP_NONE,
		.comm = 0,
		.offset = 4096,
	};

	recorder->be.ops = &note_ops;
	recorder->nranks = w->n;
	CU_ASSERT_EQUAL(collective_run(w->c, &chain, &invocation), 0);
	for (int i = 0; i < recorder->nsteps; i++) {
		const struct step *step = &recorder->steps[i];

		CU_ASSERT(step->kind != STEP_CALL || step->call.offset == 4096);
		CU_ASSERT(step->kind != STEP_CALL || step->call.op == invocation.op);
		CU_ASSERT(step->kind != STEP_CALL || step->call.dtype == DT_UINT32);
	}
}

/* Writes rank `to`'s result of one step to `recv`; `old`: all ranks' send buffers before it. */
static void deliver(struct world *w, int to, int at, uint32_t *const *old)
{
	const struct call *call = &w->ranks[to].steps[at].call;
	uint32_t *recv = call->recv;
	size_t count = call->count;

	for (int from = 0; from < w->n; from++) {
		const struct step *theirs = &w->ranks[from].steps[at];
		const size_t *mine = w->ranks[to].steps[at].counts;
		size_t n = (size_t)w->n;

		CU_ASSERT_FATAL(theirs->kind == STEP_CALL && theirs->call.kind == call->kind);
		CU_ASSERT_EQUAL(theirs->call.peer, call->peer);
		CU_ASSERT(call->kind == CALL_ALLTOALLV || theirs->call.count == count);
		for (size_t i = 0; i < count && call->kind != CALL_ALLTOALLV; i++) {
			bool root_only = call->kind == CALL_REDUCE || call->kind == CALL_GATHER;
			size_t share = (size_t)to * count, slot = (size_t)from * count;

			if (root_only && to != call->peer)
				continue;
			if (call->kind == CALL_ALL_REDUCE || call->kind == CALL_REDUCE)
				recv[i] = (from ? recv[i] : 0) + old[from][i];
			else if (call->kind == CALL_REDUCE_SCATTER)
				recv[i] = (from ? recv[i] : 0) + old[from][share + i];
			else if (call->kind == CALL_ALL_GATHER || call->kind == CALL_GATHER)
				recv[slot + i] = old[from][i];
			else if (call->kind == CALL_ALLTOALL)
				recv[slot + i] = old[from][share + i];
			else if (call->kind == CALL_BROADCAST && from == call->peer)
				recv[i] = old[from][i];
			else if (call->kind == CALL_SCATTER && from == call->peer)
				recv[i] = old[from][share + i];
		}
		if (call->kind != CALL_ALLTOALLV)
			continue;
		CU_ASSERT_EQUAL(theirs->counts[to], mine[2 * n + (size_t)from]);
		memcpy(recv + mine[3 * n + (size_t)from],
		       old[from] + theirs->counts[n + (size_t)to],
		       theirs->counts[to] * sizeof(uint32_t));
	}
}

/* Delivers the sends of step `at` to the receives of the next step. */
static void exchange(struct world *w, int at, uint32_t *const *old)
{
	for (int from = 0; from < w->n; from++) {
		const struct call *send = &w->ranks[from].steps[at].call;
		const struct step *step = &w->ranks[send->peer].steps[at + 1];

		CU_ASSERT_FATAL(step->kind == STEP_CALL && step->call.kind == CALL_RECV);
		UNIT_ALL(step->call.peer == from, step->call.count == send->count,
			 send->recv == NULL, step->call.send == NULL,
			 w->ranks[from].steps[at - 1].kind == STEP_BEGIN,
			 w->ranks[from].steps[at + 2].kind == STEP_END);
		memcpy(step->call.recv, old[from], send->count * sizeof(uint32_t));
	}
}

static void world_step(struct world *w, int at)
{
	uint32_t *old[MAX_RANKS];
	enum step_kind kind = w->ranks[0].steps[at].kind;
	enum call_kind call = w->ranks[0].steps[at].call.kind;

	if (kind == STEP_BEGIN || kind == STEP_END || (kind == STEP_CALL && call == CALL_RECV))
		return;
	for (int rank = 0; rank < w->n; rank++) {
		const struct step *step = &w->ranks[rank].steps[at];
		size_t room = w->shape[rank].send + w->shape[rank].recv;
		const uint32_t *first = step->call.send;

		if (kind == STEP_COPY) {
			memcpy(step->dst, step->src, step->bytes);
			continue;
		}
		/* Everything from the send address to the end of the buffer. */
		old[rank] = malloc(room * sizeof(uint32_t));
		memcpy(old[rank], first,
		       (size_t)(w->buffers[rank] + room - first) * sizeof(uint32_t));
	}
	if (kind == STEP_COPY)
		return;
	if (call == CALL_SEND)
		exchange(w, at, old);
	for (int rank = 0; call != CALL_SEND && rank < w->n; rank++)
		deliver(w, rank, at, old);
	for (int rank = 0; rank < w->n; rank++)
		free(old[rank]);
}

/* A KEEP element holds the fill, or in place this rank's send data. */
static uint32_t kept_value(const struct world *w, int rank, size_t at)
{
	const struct shape *shape = &w->shape[rank];
	size_t own = at + shape->inplace_recv - shape->inplace_send;

	return w->in_place && own < shape->send ? value(rank, own) : untouched;
}

static uint32_t expected_value(const struct world *w, int rank, const struct segment *segment,
			       size_t i)
{
	uint32_t sum = 0;

	if (segment->kind == SEGMENT_KEEP)
		return kept_value(w, rank, segment->at + i);
	if (segment->kind == SEGMENT_COPY)
		return value(segment->from, segment->from_at + i);
	for (int from = 0; from < w->n; from++)
		sum += value(from, segment->from_at + i);
	return sum;
}

static size_t world_wrong(const struct world *w, int rank)
{
	struct segment segments[MAX_RANKS];
	int n = w->c->segments(&w->geometry[rank], &w->shape[rank], segments);
	size_t wrong = 0;

	for (int s = 0; s < n; s++)
		for (size_t i = 0; i < segments[s].count; i++)
			wrong += w->recv[rank][segments[s].at + i] !=
				 expected_value(w, rank, &segments[s], i);
	return wrong;
}

static void simulate(const struct collective *c, int n, int root, bool in_place)
{
	struct world w = { .c = c, .in_place = in_place, .n = n };

	w.ranks = calloc((size_t)n, sizeof(*w.ranks));
	for (int rank = 0; rank < n; rank++) {
		w.geometry[rank] = rank_place(c, rank, n, root, 777);
		world_fill(&w, rank);
	}
	for (int rank = 0; rank < n; rank++) {
		world_run(&w, rank);
		CU_ASSERT_EQUAL(w.ranks[rank].nsteps, w.ranks[0].nsteps);
		/* as nccl-tests issues it: a call, or one group of one send and one receive */
		if (c == &sendrecv || c->irregular || !c->run)
			CU_ASSERT_EQUAL(w.ranks[rank].nsteps, c == &sendrecv ? 4 : 1);
	}
	for (int at = 0; at < w.ranks[0].nsteps; at++)
		world_step(&w, at);
	for (int rank = 0; rank < n; rank++) {
		CU_ASSERT_EQUAL(world_wrong(&w, rank), 0);
		for (int i = 0; i < w.ranks[rank].nsteps; i++)
			free(w.ranks[rank].steps[i].counts);
		free(w.buffers[rank]);
	}
	free(w.ranks);
}

UNIT_TEST(test_calls_meet_the_oracle, "calls do what the oracle says")
{
	for (int i = 0; collectives[i]; i++) {
		const struct collective *c = collectives[i];

		for (int n = 1; n <= MAX_RANKS; n++) {
			if (c->power_of_two && (n & (n - 1)))
				continue;
			for (int root = 0; root < (c->rooted ? n : 1); root++) {
				simulate(c, n, root, false);
				if (c->in_place)
					simulate(c, n, root, true);
			}
		}
	}
}

/* A failed issue inside a group still closes the group, and its error is returned. */
static int fail_issue(struct backend *be, const struct call *call, uint64_t ticket)
{
	next_step(be, STEP_CALL);
	return -71;
}

UNIT_TEST(test_failed_issue_closes_group, "a failed call closes its group")
{
	const struct backend_ops ops = {
		.issue = fail_issue,
		.copy = note_copy,
		.group_begin = note_begin,
		.group_end = note_end,
	};
	struct recorder recorder = { .be = { .ops = &ops }, .nranks = 4 };
	struct chain chain = { .backend = &recorder.be };
	struct geometry geometry = rank_place(&sendrecv, 0, 4, 0, 1024);
	struct shape shape;
	uint32_t memory[512];
	struct invocation invocation = {
		.geometry = &geometry,
		.shape = &shape,
		.send = memory,
		.recv = memory + 256,
		.op = OP_NONE,
	};

	sendrecv.shape(&geometry, &shape);
	UNIT_ALL(sendrecv.run(&chain, &invocation) == -71, recorder.nsteps == 3,
		 recorder.steps[2].kind == STEP_END);
}
