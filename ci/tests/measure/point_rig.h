/* point_rig.h: a job, buffers, a watch and a filter that count, corrupt or delay calls, for points
 * on the mpi backend. Include it once per test program, of 3 ranks. */
#pragma once

#include "bench/perf_main.h"
#include "base/clock.h"
#include "options/options.h"
#include "measure/point.h"
#include "rig/unit.h"

enum { RANKS = 3, ALL = -1, NO_RANK = -2 };

static struct error err;
static struct job job;
static struct backend *be;
static struct options options;
static struct bench bench;
static struct measured measured;

/* ---- counts of the chain and the observer ---- */

static struct {
	enum phase phase;
	int calls[PHASE_DONE + 1], depth, deepest, endless, works;
	double timed_deadline; /* of the last wait for timed calls */
	int misplaced;	       /* timed batches in another phase */
	int untouched_calls;   /* timed calls on untouched memory */
	int far;	       /* calls on slots beyond the limit for the pools */
} seen;

/* A failure: call number `nth` (from 1, of those in `phase`) on `rank`. */
static struct failure {
	int rank;
	enum phase phase;
	int nth;
	bool drop;	    /* the call is dropped; else a bit of the result is changed */
	size_t bytes;	    /* only in points of this size, 0: all */
	double delay;	    /* seconds by which every call of `phase` is longer */
	double delay_after; /* the same on this rank only: no rank waits for it */
} failure;

static inline void see_phase(void *ctx, enum phase phase)
{
	seen.phase = phase;
}

static inline void see_enter(void *ctx, const char *what, double seconds)
{
	if (++seen.depth > seen.deepest)
		seen.deepest = seen.depth;
	seen.endless += seconds <= 0;
	if (strncmp(what, "timed call", 10) != 0)
		return;
	seen.timed_deadline = seconds;
	seen.misplaced += seen.phase != PHASE_TIMED;
}

/* Preparing and comparing data: no rank is waited for. */
static inline void see_work(void *ctx, const char *what, double seconds)
{
	seen.works++;
	see_enter(ctx, what, seconds);
}

static inline void see_leave(void *ctx)
{
	seen.depth--;
}

static const struct watch watch = {
	.phase = see_phase, .enter = see_enter, .work = see_work, .leave = see_leave
};

static inline bool corrupt_call(const struct call *call)
{
	size_t bytes = call->count * dtype_size(call->dtype);

	return (failure.rank == ALL || failure.rank == job.rank) && seen.phase == failure.phase &&
	       (failure.nth == 0 || seen.calls[seen.phase] == failure.nth) &&
	       (failure.bytes == 0 || failure.bytes == bytes);
}

/* Returns true if this element of a pool is written for the first time. */
static inline bool untouched(const char *at)
{
	const struct buffers *b = &bench.buffers;

	if (at >= b->recv && at < b->recv + b->bytes)
		return at >= b->recv + b->touched;
	return at < b->send || at >= b->send + b->bytes ||
	       (b->filled && at >= b->send + b->filled); /* not filled: overwritten by a spare
							  * slot */
}

/* All-reduce only: a call's bytes are its slot's. */
static inline bool beyond(const struct call *call)
{
	const struct buffers *b = &bench.buffers;
	size_t bytes = call->count * dtype_size(call->dtype);
	size_t stride = (bytes + BUFFERS_ALIGN - 1) / BUFFERS_ALIGN * BUFFERS_ALIGN;
	const char *at = call->recv,
		   *pool = at >= b->recv && at < b->recv + b->bytes ? b->recv : b->send;

	return bench.collective == &all_reduce &&
	       (size_t)(at + bytes - pool) > (timing_most_calls(&options) + 17) * stride;
}

static inline int see_call(void *state, const struct call *call, struct chain *chain)
{
	size_t last = (call->count - 1) * dtype_size(call->dtype);
	int rc = 0;

	seen.calls[seen.phase]++;
	seen.far += beyond(call);
	if (seen.phase == PHASE_TIMED)
		seen.untouched_calls +=
			(call->send && untouched((const char *)call->send + last)) ||
			(call->recv && untouched((char *)call->recv + last));
	if (failure.delay > 0 && seen.phase == failure.phase)
		clock_sleep(failure.delay);
	if (!corrupt_call(call)) {
		rc = chain_emit(chain, call);
		if (failure.delay_after > 0 && seen.phase == failure.phase)
			clock_sleep(failure.delay_after);
		return rc;
	}
	if (!failure.drop)
		rc = chain_emit(chain, call);
	if (!failure.drop && call->recv)
		*(char *)call->recv ^= 1;
	return rc;
}

static const struct call_filter filter = { .issue = see_call };

static inline void set_up(const struct collective *c, int argc, const char *const *argv)
{
	const struct option_target target = collective_target(c);
	const char *all[32] = { "test" };

	for (int i = 0; i < argc; i++)
		all[i + 1] = argv[i];
	err = (struct error){ .rank = job.rank };
	memset(&seen, 0, sizeof(seen));
	failure = (struct failure){ .rank = NO_RANK };
	if (options_parse(&options, &target, argc + 1, (char **)(void *)all, &err) < 0) {
		printf(" %s", err.text);
		CU_FAIL_FATAL("options");
	}
	bench.collective = c;
	bench.options = &options;
	bench.watch = &watch;
	bench.err = &err;
	bench.job = &job;
	bench.backend = be;
	bench.chain = (struct chain){ .backend = be, .watch = &watch, .filter = &filter };
	be->err = &err;
}

#define SET_UP(collective, ...)                                                                    \
	set_up(collective, (int)(sizeof((const char *[]){ __VA_ARGS__ }) / sizeof(char *)),        \
	       (const char *[]){ __VA_ARGS__ })

static inline int measure(size_t bytes, bool in_place)
{
	struct point point = { .dtype = DT_FLOAT,
			       .op = bench.collective->reduces ? OP_SUM : OP_NONE,
			       .root = bench.collective->rooted ? 0 : -1,
			       .bytes = bytes };

	return point_measure(&bench, &point, in_place, &measured);
}

/* Checks the invariants after any point, and releases it. */
static inline void done(void)
{
	CU_ASSERT_EQUAL(seen.depth, 0);
	CU_ASSERT_EQUAL(seen.deepest, 1); /* waits do not nest */
	CU_ASSERT(seen.works >= 1);	  /* buffers are prepared */
	UNIT_ALL(seen.endless == 0, seen.untouched_calls == 0, seen.far == 0, seen.misplaced == 0);
	point_release(&measured);
}

static inline int open_all(void)
{
	const struct backend_config config = { .cta_policy = -1 };

	struct comm_set comms;

	if (job_init(&job, &watch, &err, 0) < 0 || job_select(&job, 0) < 0 || job.nranks != RANKS ||
	    comm_set_make(&comms, COMMS_WORLD, RANKS) < 0 ||
	    backend_mpi.open(&job, NULL, &err, &config, &be) < 0 ||
	    chain_init(&(struct chain){ .backend = be }, &comms) < 0)
		return -1;
	return buffers_init(&bench.buffers, be, 8, BUFFERS_POOL, SIZE_MAX);
}

static inline int point_main(void)
{
	int rc;

	if (open_all() < 0)
		return 1;
	rc = unit_main();
	buffers_release(&bench.buffers);
	be->ops->comm_close(be);
	be->ops->close(be);
	job_release(&job);
	return rc;
}
