/* point_rig.c: a job, buffers, a watch and a filter to measure points with. */
#include "measure/point_rig.h"

struct error rig_err;
struct job job;
struct backend *be;
struct options options;
struct bench bench;
struct measured measured;
struct seen seen;
struct failure failure;

static void see_phase(void *ctx, enum phase phase)
{
	seen.phase = phase;
}

static void see_enter(void *ctx, const char *what, double seconds)
{
	if (++seen.depth > seen.deepest)
		seen.deepest = seen.depth;
	seen.endless += seconds <= 0;
	if (strncmp(what, "timed call", 10) != 0)
		return;
	seen.timed_deadline = seconds;
	seen.misplaced += seen.phase != PHASE_TIMED;
}

/* Prepares or compares data: no rank is waited for. */
static void see_work(void *ctx, const char *what, double seconds)
{
	seen.works++;
	see_enter(ctx, what, seconds);
}

static void see_leave(void *ctx)
{
	seen.depth--;
}

static const struct watch watch = {
	.phase = see_phase, .enter = see_enter, .work = see_work, .leave = see_leave
};

static bool is_failure(const struct call *call)
{
	size_t bytes = call->count * dtype_size(call->dtype);

	return (failure.rank == ALL || failure.rank == job.rank) && seen.phase == failure.phase &&
	       (failure.nth == 0 || seen.calls[seen.phase] == failure.nth) &&
	       (failure.bytes == 0 || failure.bytes == bytes);
}

/* Returns true if this element of a pool is written for the first time. */
static bool is_untouched(const char *at)
{
	const struct buffers *b = &bench.buffers;

	if (at >= b->recv && at < b->recv + b->bytes)
		return at >= b->recv + b->touched;
	return at < b->send || at >= b->send + b->bytes ||
	       (b->filled &&
		at >= b->send + b->filled); /* not filled: overwritten by a spare slot */
}

/* All-reduce only: a call's bytes are its slot's. */
static bool beyond(const struct call *call)
{
	const struct buffers *b = &bench.buffers;
	size_t bytes = call->count * dtype_size(call->dtype);
	size_t stride = (bytes + BUFFERS_ALIGN - 1) / BUFFERS_ALIGN * BUFFERS_ALIGN;
	const char *at = call->recv,
		   *pool = at >= b->recv && at < b->recv + b->bytes ? b->recv : b->send;

	return bench.collective == &all_reduce &&
	       (size_t)(at + bytes - pool) > (timing_most_calls(&options) + 17) * stride;
}

static int see_call(void *state, const struct call *call, struct chain *chain)
{
	size_t last = (call->count - 1) * dtype_size(call->dtype);
	int rc = 0;

	seen.calls[seen.phase]++;
	seen.far += beyond(call);
	if (seen.phase == PHASE_TIMED)
		seen.untouched_calls +=
			(call->send && is_untouched((const char *)call->send + last)) ||
			(call->recv && is_untouched((char *)call->recv + last));
	if (failure.delay > 0 && seen.phase == failure.phase)
		clock_sleep(failure.delay);
	if (!is_failure(call)) {
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

void rig_set_up(const struct collective *c, int argc, const char *const *argv)
{
	const struct option_target target = collective_target(c);
	const char *all[32] = { "test" };

	for (int i = 0; i < argc; i++)
		all[i + 1] = argv[i];
	rig_err = (struct error){ .rank = job.rank };
	memset(&seen, 0, sizeof(seen));
	failure = (struct failure){ .rank = NO_RANK };
	if (options_parse(&options, &target, argc + 1, (char **)(void *)all, &rig_err) < 0) {
		printf(" %s", rig_err.text);
		CU_FAIL_FATAL("options");
	}
	bench.collective = c;
	bench.options = &options;
	bench.watch = &watch;
	bench.err = &rig_err;
	bench.job = &job;
	bench.backend = be;
	bench.chain = (struct chain){ .backend = be, .watch = &watch, .filter = &filter };
	be->err = &rig_err;
}

int rig_measure(size_t bytes, bool in_place)
{
	struct point point = { .dtype = DT_FLOAT,
			       .op = bench.collective->reduces ? OP_SUM : OP_NONE,
			       .root = bench.collective->rooted ? 0 : -1,
			       .bytes = bytes };

	return point_measure(&bench, &point, in_place, &measured);
}

void rig_done(void)
{
	CU_ASSERT_EQUAL(seen.depth, 0);
	CU_ASSERT_EQUAL(seen.deepest, 1); /* waits do not nest */
	CU_ASSERT(seen.works >= 1);	  /* buffers are prepared */
	UNIT_ALL(seen.endless == 0, seen.untouched_calls == 0, seen.far == 0, seen.misplaced == 0);
	point_release(&measured);
}

static int open_all(void)
{
	const struct backend_config config = { .cta_policy = -1 };

	struct comm_set comms;

	if (rig_job_open(&job, &watch, &rig_err) < 0 || job.nranks != RANKS ||
	    comm_set_make(&comms, COMMS_WORLD, RANKS) < 0 ||
	    backend_mpi.open(&job, NULL, &rig_err, &config, &be) < 0 ||
	    chain_init(&(struct chain){ .backend = be }, &comms) < 0)
		return -1;
	return buffers_init(&bench.buffers, be, 8, BUFFERS_POOL, SIZE_MAX);
}

int rig_main(void)
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
