/* mpi_test_backend.c: every collective, type, operator of the mpi backend, by 1 to 4 ranks. */
/* ranks: 4 */
/* timeout: 375 */
#include "rig/unit.h"

#include "rig/job_rig.h"
#include "bench/perf_main.h"
#include "check/check.h"
#include "backend/job.h"
#include "backend/traffic.h"

enum { POOL = 1 << 20 };

static struct error err;
static struct job job;
static struct backend *be;
static char *pool[2];

static void set_up(void)
{
	const struct backend_config config = { .device = 0, .cta_policy = -1 };

	struct comm_set comms;

	comm_set_make(&comms, COMMS_WORLD, job.group_size);
	memset(&err, 0, sizeof(err));
	CU_ASSERT_EQUAL_FATAL(backend_mpi.open(&job, NULL, &err, &config, &be), 0);
	CU_ASSERT_EQUAL_FATAL(chain_init(&(struct chain){ .backend = be }, &comms), 0);
	for (int i = 0; i < 2; i++) {
		void *ptr;

		CU_ASSERT_EQUAL_FATAL(be->ops->alloc(be, POOL, POOL, &ptr), 0);
		CU_ASSERT_EQUAL((uintptr_t)ptr % 4096, 0);
		pool[i] = ptr;
	}
}

static void tear_down(void)
{
	for (int i = 0; i < 2; i++)
		be->ops->release(be, pool[i], POOL, POOL);
	be->ops->close(be);
	be = NULL;
}

/* The data of one check; buffers lie behind a guard in the two pools. */
struct trial {
	const struct collective *c;
	struct geometry geometry;
	struct shape shape;
	struct check_data data;
	bool in_place;
	char *send, *recv;
};

static const uint64_t base = 5; /* pool index of the first element */

static int trial_run(struct trial *t)
{
	struct chain chain = { .backend = be };
	struct invocation invocation = {
		.geometry = &t->geometry,
		.shape = &t->shape,
		.send = t->send,
		.recv = t->recv,
		.dtype = t->data.dtype,
		.op = t->data.op,
	};
	size_t elsize = t->geometry.elsize;

	t->recv = pool[1] + CHECK_GUARD + (t->in_place ? t->shape.inplace_recv * elsize : 0);
	t->send = t->in_place ? pool[1] + CHECK_GUARD + t->shape.inplace_send * elsize
			      : pool[0] + CHECK_GUARD;
	invocation.send = t->send;
	invocation.recv = t->recv;
	be->ops->poison(be, pool[1], t->shape.bytes + 2 * CHECK_GUARD);
	be->ops->fill(be, t->send, &t->data, job.group_rank, base, t->shape.send);
	return collective_run(t->c, &chain, &invocation);
}

/* Elements of a KEEP stretch that are neither poison nor, in place, this rank's own data. */
static uint64_t kept_wrong(const struct trial *t, const struct segment *segment)
{
	uint64_t wrong = 0;

	for (size_t i = segment->at; i < segment->at + segment->count; i++) {
		size_t own = i + t->shape.inplace_recv - t->shape.inplace_send;
		unsigned char expected[8];

		memset(expected, CHECK_POISON, sizeof(expected));
		if (t->in_place && own < t->shape.send)
			check_element(&t->data, job.group_rank, base + own, expected);
		wrong +=
			memcmp(t->recv + i * t->geometry.elsize, expected, t->geometry.elsize) != 0;
	}
	return wrong;
}

static uint64_t trial_wrong(const struct trial *t)
{
	struct segment segments[8];
	struct verify_result result;
	int n = t->c->segments(&t->geometry, &t->shape, segments);
	uint64_t wrong = 0;

	for (int i = 0; i < n; i++) {
		if (segments[i].kind == SEGMENT_KEEP) {
			wrong += kept_wrong(t, &segments[i]);
			continue;
		}
		be->ops->verify(be, t->recv, &segments[i], 1, &t->data, base, &result);
		wrong += result.wrong;
	}
	return wrong;
}

/* Changed bytes around the buffers, and changed send elements. */
static uint64_t trial_outside(const struct trial *t)
{
	size_t end = CHECK_GUARD + t->shape.bytes;
	uint64_t outside = 0;

	for (size_t i = 0; i < CHECK_GUARD; i++)
		outside += (unsigned char)pool[1][i] != CHECK_POISON ||
			   (unsigned char)pool[1][end + i] != CHECK_POISON;
	for (size_t i = 0; i < t->shape.send && !t->in_place; i++) {
		unsigned char expected[8];

		check_element(&t->data, job.group_rank, base + i, expected);
		outside +=
			memcmp(t->send + i * t->geometry.elsize, expected, t->geometry.elsize) != 0;
	}
	return outside;
}

/* Runs a trial of this collective; returns false, and names the trial, for any error. */
static bool trial(const struct collective *c, enum dtype dtype, enum redop op, int root,
		  size_t bytes, bool in_place)
{
	struct traffic traffic = { .nranks = job.group_size, .spread = 0.5 };
	struct trial t = {
		.c = c,
		.geometry = {
			.rank = job.group_rank, .nranks = job.group_size, .root = c->rooted ? root : -1,
			.elsize = dtype_size(dtype), .bytes = bytes, .align = 16, .traffic = &traffic,
		},
		.data = { .seed = 7, .dtype = dtype, .op = op, .nranks = job.group_size },
		.in_place = in_place,
	};
	uint64_t wrong, outside;
	int rc;

	c->shape(&t.geometry, &t.shape);
	rc = trial_run(&t);
	wrong = trial_wrong(&t);
	outside = trial_outside(&t);
	if (rc == 0 && wrong == 0 && outside == 0)
		return true;
	printf("\n%s %s %s root %d of %d, %zu bytes, %s: rc %d, %llu wrong, %llu outside: %s\n",
	       c->name, dtype_name(dtype), redop_name(op), root, job.group_size, bytes,
	       in_place ? "in place" : "out of place", rc, (unsigned long long)wrong,
	       (unsigned long long)outside, err.text);
	return false;
}

/* Sizes: odd, a few shares, above Open MPI's eager limit. */
static const size_t sizes[] = { 24, 1000, 70000 };

static int trials(const struct collective *c, enum dtype dtype, enum redop op)
{
	int failed = 0;

	for (size_t s = 0; s < LENGTH(sizes); s++)
		for (int root = 0; root < (c->rooted ? job.group_size : 1); root++)
			for (int in_place = 0; in_place <= c->in_place; in_place++)
				failed += !trial(c, dtype, op, root, sizes[s], in_place);
	return failed;
}

static void all_trials(void)
{
	int last_op;

	set_up();
	for (int i = 0; collectives[i]; i++) {
		const struct collective *c = collectives[i];

		if (c->power_of_two && (job.group_size & (job.group_size - 1)))
			continue;
		for (int dtype = 0; dtype < DT_COUNT; dtype++) {
			last_op = c->reduces ? OP_AVG : OP_NONE;
			for (int op = c->reduces ? OP_SUM : OP_NONE; op <= last_op; op++)
				CU_ASSERT_EQUAL(trials(c, dtype, op), 0);
		}
	}
	tear_down();
}

UNIT_TEST(test_four_ranks, "everything on four ranks")
{
	CU_ASSERT_EQUAL_FATAL(job.group_size, 4);
	all_trials();
}

/* Three and one, then two and two. */
UNIT_TEST(test_groups, "everything in groups of 3, 2 and 1")
{
	CU_ASSERT_EQUAL_FATAL(job_split(&job, job.rank == 3), 0);
	CU_ASSERT_EQUAL(job.group_size, job.rank == 3 ? 1 : 3);
	all_trials();
	CU_ASSERT_EQUAL_FATAL(job_split(&job, job.rank % 2), 0);
	CU_ASSERT_EQUAL(job.group_size, 2);
	all_trials();
	CU_ASSERT_EQUAL_FATAL(job_split(&job, 0), 0);
}

UNIT_TEST(test_supports, "supports")
{
	char why[80] = "";

	set_up();
	for (int dtype = 0; dtype < DT_COUNT; dtype++)
		for (int op = OP_NONE; op <= OP_AVG; op++)
			CU_ASSERT(be->ops->supports(be, dtype, op, why, sizeof(why)));
	UNIT_ALL(!be->ops->supports(be, DT_FLOAT, OP_MULSUM, why, sizeof(why)),
		 strstr(why, "nccl") != NULL, !(be->ops->flags & BACKEND_AVG_FIRST));
	tear_down();
}

static int issue_refused(struct call call, enum outcome outcome)
{
	int rc;

	memset(&err, 0, sizeof(err));
	rc = be->ops->issue(be, &call, 0);
	UNIT_ALL(err.outcome == outcome, strlen(err.text) > 0);
	return rc;
}

/* None of these reaches MPI, so ranks need not agree. */
UNIT_TEST(test_refused_calls, "calls that are refused")
{
	static const struct {
		enum call_kind kind;
		size_t count;
		int dtype, op, comm;
		enum outcome outcome;
		int rc;
	} cases[] = {
		{ CALL_ALL_REDUCE, 1, DT_FLOAT, OP_MULSUM, 0, OUTCOME_USAGE, -EINVAL },
		{ CALL_ALL_REDUCE, 1, DT_FLOAT, OP_NONE, 0, OUTCOME_USAGE, -EINVAL },
		{ CALL_ALL_REDUCE, 1, DT_FLOAT, OP_SUM, 1, OUTCOME_INTERNAL, -EINVAL },
		{ CALL_ALL_REDUCE, 1, DT_COUNT, OP_SUM, 0, OUTCOME_INTERNAL, -EINVAL },
		{ CALL_KIND_COUNT, 1, DT_FLOAT, OP_SUM, 0, OUTCOME_INTERNAL, -EINVAL },
		{ CALL_ALL_REDUCE, (size_t)INT_MAX + 1, DT_FLOAT, OP_SUM, 0, OUTCOME_USAGE,
		  -EOVERFLOW },
		/* 4 x 2^29 is one too many */
		{ CALL_ALL_GATHER, 1 << 29, DT_FLOAT, OP_SUM, 0, OUTCOME_USAGE, -EOVERFLOW },
		{ CALL_ALL_GATHER, SIZE_MAX / 2, DT_FLOAT, OP_SUM, 0, OUTCOME_USAGE, -EOVERFLOW },
	};

	set_up();
	UNIT_ROWS(c, cases) {
		const struct call call = { .kind = c->kind,
					   .count = c->count,
					   .dtype = (enum dtype)c->dtype,
					   .op = (enum redop)c->op,
					   .comm = c->comm,
					   .send = pool[0],
					   .recv = pool[1] };

		CU_ASSERT_EQUAL(issue_refused(call, c->outcome), c->rc);
	}
	tear_down();
}

UNIT_TEST(test_alltoallv_limit, "alltoallv displacements")
{
	size_t counts[4] = { 1, 1, 1, 1 }, at[4] = { 0, 1, 2, INT_MAX };
	struct call call = {
		.kind = CALL_ALLTOALLV,
		.dtype = DT_INT8,
		.op = OP_NONE,
		.send_counts = counts,
		.send_at = at,
		.recv_counts = counts,
		.recv_at = at,
	};

	set_up();
	CU_ASSERT_EQUAL(issue_refused(call, OUTCOME_USAGE), -EOVERFLOW);
	tear_down();
}

UNIT_TEST(test_memory, "memory")
{
	void *a, *b, *many[64];

	set_up();
	UNIT_ALL(be->ops->alloc(be, 0, 0, &a) == 0, a != NULL,
		 be->ops->alloc(be, 4097, 4097, &b) == 0, (uintptr_t)b % 4096 == 0);
	memset(b, 1, 4097);
	UNIT_ALL(be->ops->store(be, pool[0], "hangar", 7) == 0,
		 be->ops->fetch(be, b, pool[0], 7) == 0, !strcmp((char *)b, "hangar"));
	be->ops->release(be, a, 0, 0);
	be->ops->release(be, NULL, 0, 0);
	UNIT_ALL(be->ops->alloc(be, (size_t)1 << 60, (size_t)1 << 60, &a) == -ENOMEM, a == NULL,
		 err.outcome == OUTCOME_USAGE, strstr(err.text, "1152921504606846976") != NULL,
		 be->ops->alloc(be, SIZE_MAX, 1, &a) == -ENOMEM);
	/* 16 GiB a rank, of which 128 MiB would be written: enough memory */
	for (int i = 0; i < 64; i++)
		CU_ASSERT_EQUAL(be->ops->alloc(be, (size_t)256 << 20, 8, &many[i]), 0);
	for (int i = 0; i < 64; i++)
		be->ops->release(be, many[i], (size_t)256 << 20, 8);
	be->ops->release(be, b, 4097, 4097);
	tear_down();
	backend_mpi.close(NULL);
}

static struct call pair_call(enum call_kind kind, size_t count, int peer, void *ptr)
{
	return (struct call){
		.kind = kind,
		.dtype = DT_INT32,
		.op = OP_NONE,
		.count = count,
		.peer = peer,
		.send = kind == CALL_SEND ? ptr : NULL,
		.recv = kind == CALL_RECV ? ptr : NULL,
	};
}

/* 200 messages each way in a nested group, more than first allocated, stay in order. */
UNIT_TEST(test_group, "nested group")
{
	enum { MESSAGES = 200 };
	int *out, *in, wrong = 0;
	int next = (job.rank + 1) % 4, last = (job.rank + 3) % 4;

	set_up();
	out = (int *)pool[0];
	in = (int *)pool[1];
	CU_ASSERT_EQUAL(be->ops->group_begin(be), 0);
	for (int i = 0; i < MESSAGES; i++) {
		struct call send = pair_call(CALL_SEND, 1, next, &out[i]);
		struct call recv = pair_call(CALL_RECV, 1, last, &in[i]);

		out[i] = job.rank * 1000 + i;
		in[i] = -1;
		UNIT_ALL(be->ops->group_begin(be) == 0, be->ops->issue(be, &send, 0) == 0,
			 be->ops->issue(be, &recv, 0) == 0, be->ops->group_end(be) == 0);
	}
	UNIT_ALL(be->ops->group_end(be) == 0, be->ops->wait(be) == 0);
	for (int i = 0; i < MESSAGES; i++)
		wrong += in[i] != last * 1000 + i;
	UNIT_ALL(wrong == 0, be->ops->group_end(be) == -EINVAL, err.outcome == OUTCOME_INTERNAL);
	tear_down();
}

/* Outside a group sends and receives block. */
UNIT_TEST(test_blocking_pair, "blocking send and receive")
{
	struct call call = pair_call(job.rank ? CALL_RECV : CALL_SEND, 3, job.rank ? 0 : 1, NULL);
	const int numbers[3] = { 4, 5, 6 };

	set_up();
	memcpy(pool[0], numbers, sizeof(numbers));
	call.send = job.rank ? NULL : pool[0];
	call.recv = job.rank ? pool[1] : NULL;
	if (job.rank < 2)
		CU_ASSERT_EQUAL(be->ops->issue(be, &call, 0), 0);
	if (job.rank == 1)
		CU_ASSERT_EQUAL(memcmp(pool[1], numbers, sizeof(numbers)), 0);
	tear_down();
}

/* MPI's own error text is passed on: rank 1 expects less than rank 0 sends. */
UNIT_TEST(test_mpi_error, "MPI's errors")
{
	struct call call = pair_call(job.rank ? CALL_RECV : CALL_SEND, job.rank ? 1 : 3,
				     job.rank ? 0 : 1, NULL);
	int rc = 0;

	set_up();
	call.send = job.rank ? NULL : pool[0];
	call.recv = job.rank ? pool[1] : NULL;
	be->ops->group_begin(be);
	if (job.rank < 2)
		CU_ASSERT_EQUAL(be->ops->issue(be, &call, 0), 0);
	rc = be->ops->group_end(be);
	CU_ASSERT_EQUAL(rc, job.rank == 1 ? -EIO : 0);
	if (job.rank == 1)
		UNIT_ALL(err.outcome == OUTCOME_ERROR, strstr(err.text, "TRUNCATE") != NULL);
	tear_down();
}

UNIT_TEST(test_facts, "facts")
{
	struct backend_facts facts;

	set_up();
	be->ops->facts(be, &facts);
	UNIT_ALL(strstr(facts.library, "MPI") != NULL, strchr(facts.library, ',') == NULL,
		 strlen(facts.device) > 0 && !strchr(facts.device, '\n'), facts.device_index == -1,
		 facts.device_memory > 1 << 20);
	tear_down();
}

int main(void)
{
	int rc;

	if (rig_job_open(&job, NULL, &err) < 0)
		return 1;
	rc = unit_main();
	job_release(&job);
	return rc;
}
