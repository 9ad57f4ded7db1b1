/* test_inject.c: when faults fire, and what becomes of the calls (ranks: test_inject_place.c). */
#include "inject_rig.h"

#include "base/clock.h"

/* ---- when, and what becomes of the call: eight calls asked for ---- */

static const struct {
	const char *specs[3];
	int rank;
	const char *made;
	uint32_t fired;
} cases_made[] = {
	{ { NULL }, 3, " 1 2 3 4 5 6 7 8", 0 },
	{ { "skip-call" }, 3, " 1 2 3 5 6 7 8", 1 },
	{ { "skip-call" }, 2, " 1 2 3 4 5 6 7 8", 0 },
	{ { "skip-call" }, 0, " 1 2 3 4 5 6 7 8", 0 },
	{ { "skip-call:0" }, 0, " 1 2 3 5 6 7 8", 1 },
	{ { "skip-call:0" }, 3, " 1 2 3 4 5 6 7 8", 0 },
	{ { "skip-call:1,2" }, 1, " 1 2 3 5 6 7 8", 1 },
	{ { "skip-call:1,2" }, 2, " 1 2 3 5 6 7 8", 1 },
	{ { "skip-call:1,2" }, 3, " 1 2 3 4 5 6 7 8", 0 },
	{ { "skip-call@1" }, 3, " 2 3 4 5 6 7 8", 1 },
	{ { "skip-call@8" }, 3, " 1 2 3 4 5 6 7", 1 },
	{ { "skip-call@9" }, 3, " 1 2 3 4 5 6 7 8", 0 },
	{ { "extra-call@2" }, 3, " 1 2 2 3 4 5 6 7 8", 1 },
	{ { "extra-call@2" }, 1, " 1 2 3 4 5 6 7 8", 0 },
	{ { "conditional-call@2" }, 3, " 1 1 2 3 4 5 6 7 8", 1 },
	{ { "early-exit@3" }, 3, " 1 2", 6 },
	{ { "early-exit@1" }, 3, "", 8 },
	{ { "early-exit@3" }, 2, " 1 2 3 4 5 6 7 8", 0 },
	{ { "late-rank@3,delay=0" }, 3, " 1 2 3 4 5 6 7 8", 1 },
	{ { "late-rank@3,delay=0,when=after" }, 3, " 1 2 3 4 5 6 7 8", 1 },
	{ { "slow-rank@3,by=0us" }, 3, " 1 2 3 4 5 6 7 8", 6 },
	{ { "slow-rank@3,by=0us" }, 2, " 1 2 3 4 5 6 7 8", 0 },
	{ { "slow-rank@3,by=0%,every=2" }, 3, " 1 2 3 4 5 6 7 8", 3 },
	{ { "slow-rank@1,by=0%,p=0" }, 3, " 1 2 3 4 5 6 7 8", 0 },
	{ { "pause-rotating@1,by=0us,every=4" }, 3, " 1 2 3 4 5 6 7 8", 2 },
	{ { "pause-rotating@1,by=0us,every=8" }, 0, " 1 2 3 4 5 6 7 8", 1 },
	{ { "pause-rotating:1@1,by=0us,every=8" }, 0, " 1 2 3 4 5 6 7 8", 0 },
	{ { "host-contend@2,seconds=0" }, 3, " 1 2 3 4 5 6 7 8", 1 },
	{ { "skip-call@2", "skip-call@5" }, 3, " 1 3 4 6 7 8", 2 },
	{ { "skip-call@2", "extra-call@5" }, 3, " 1 3 4 5 5 6 7 8", 2 },
	{ { "skip-call:1@2", "extra-call:2@5" }, 2, " 1 2 3 4 5 5 6 7 8", 1 },
	/* The same call: swallowed is swallowed, and what did not happen has no after. */
	{ { "skip-call@2", "late-rank@2,delay=0" }, 3, " 1 3 4 5 6 7 8", 2 },
	{ { "skip-call@2", "late-rank@2,delay=0,when=after" }, 3, " 1 3 4 5 6 7 8", 1 },
	/* The call that a held call waits for is made otherwise, or not. */
	{ { "swap-calls@3", "skip-call@4" }, 3, " 1 2 3 5 6 7 8", 2 },
	{ { "swap-calls@3", "size-mismatch@4,factor=double" }, 3, " 1 2 8 3 5 6 7 8", 2 },
	{ { "extra-call@2", "extra-call@2" }, 3, " 1 2 2 2 3 4 5 6 7 8", 2 },
};

UNIT_TEST(test_made, "calls made")
{
	for (size_t i = 0; i < LENGTH(cases_made); i++) {
		struct rig rig;
		char made[128];
		int n = 0;

		while (cases_made[i].specs[n])
			n++;
		CU_ASSERT_EQUAL(rig_open(&rig, cases_made[i].specs, n, cases_made[i].rank, 4), 0);
		rig_calls(&rig, 8);
		made_text(&rig.note, made, sizeof(made));
		UNIT_ALL(!strcmp(made, cases_made[i].made), rig.record.fired == cases_made[i].fired,
			 (rig.record.fired_ns > 0) == (cases_made[i].fired > 0),
			 rig.injector.calls == 8);
		if (strcmp(made, cases_made[i].made) != 0)
			fprintf(stderr, "\ncase %zu:%s\n", i, made);
	}
}

/* Calls 1 and 2 with one of another communicator after each: which of them are made. */
static void check_between(struct rig *rig, const char *spec, const char *want)
{
	char made[64];

	CU_ASSERT_EQUAL(rig_open(rig, &spec, 1, 3, 4), 0);
	rig_call(rig, 1, 0);
	rig_call(rig, 10, 1);
	rig_call(rig, 2, 0);
	rig_call(rig, 11, 1);
	made_text(&rig->note, made, sizeof(made));
	CU_ASSERT_STRING_EQUAL(made, want);
}

/* Calls of other communicators count, and a rank that has left makes none of them. */
UNIT_TEST(test_other_communicators, "other communicators")
{
	struct rig rig;

	rig_step_calls = 2;
	rig_alternates = true;
	check_between(&rig, "skip-call@2", " 1 2 11");
	CU_ASSERT_EQUAL(rig.injector.calls, 4);
	check_between(&rig, "early-exit@3", " 1 10");
	check_between(&rig, "order-swap@1", " 10 1 2 11");
	check_between(&rig, "swap-calls@1", " 10 2 1 11");
	check_between(&rig, "swap-calls@2", " 1 2 11 10");
	rig_step_calls = 1;
	rig_alternates = false;
}

/* The call is made in the end, and the record was written before the sleep. */
UNIT_TEST(test_late, "late")
{
	static const char *const specs[] = { "late-rank@2,delay=0.15",
					     "late-rank@2,delay=0.15,when=after", "late-rank@2" };
	static const double least[] = { 0.15, 0.15, 0.2 };

	for (size_t i = 0; i < LENGTH(specs); i++) {
		struct rig rig;
		double start, took;

		CU_ASSERT_EQUAL(rig_open(&rig, &specs[i], 1, 3, 4), 0);
		rig_call(&rig, 1, 0);
		CU_ASSERT_EQUAL(rig.record.fired, 0);
		start = clock_seconds();
		rig_call(&rig, 2, 0);
		took = clock_seconds() - start;
		UNIT_ALL(took >= least[i] && took < least[i] + 5,
			 (double)rig.record.fired_ns * 1e-9 >= start,
			 (double)rig.record.fired_ns * 1e-9 <= start + took - least[i] + 1e-6,
			 rig.note.n == 2);
	}
}

/* A time is spent once a step; a share of what passed since the call before, without what the fault took there. */
UNIT_TEST(test_slow, "slow")
{
	static const struct {
		const char *spec;
		int calls;
		double least[4];
	} rows[] = { { "slow-rank@1,by=40ms", 1, { 0.04, 0.04, 0.04, 0.04 } },
		     { "slow-rank@1,by=40ms,how=sleep", 2, { 0.04, 0, 0.04, 0 } },
		     { "slow-rank@3,by=200%", 2, { 0, 0, 0.04, 0.04 } },
		     { "slow-rank@2,by=200%", 1, { 0, 0.04, 0.04, 0.04 } } };

	UNIT_ROWS(row, rows) {
		struct rig rig;

		rig_step_calls = row->calls;
		CU_ASSERT_EQUAL(rig_open(&rig, &row->spec, 1, 3, 4), 0);
		for (size_t n = 0; n < 4; n++) {
			double start;

			clock_sleep(0.02);
			start = clock_seconds();
			rig_call(&rig, n + 1, 0);
			start = clock_seconds() - start;
			CU_ASSERT_TRUE(start >= row->least[n] && start < row->least[n] + 5);
			CU_ASSERT_TRUE(row->least[n] > 0 || start < 0.03);
		}
	}
	rig_step_calls = 1;
}

/* A random fault fires in its share of the steps, and in the same ones again. */
UNIT_TEST(test_random, "slow at random")
{
	struct slowdown slow;
	int fired = 0, again = 0, apart = 0;

	slowdown_init(&slow, SLOW_RANK);
	slow.p = 0.3;
	for (uint64_t step = 0; step < 10000; step++) {
		bool due = slowdown_due(&slow, step, 1, 1, 4);

		fired += due;
		again += due == slowdown_due(&slow, step, 1, 1, 4);
		apart += due != slowdown_due(&slow, step, 1, 2, 4);
	}
	UNIT_ALL(fired > 2700, fired<3300, again == 10000, apart> 3000);
}

UNIT_TEST(test_first_time_stays, "the first time stays")
{
	const char *spec = "early-exit@2";
	struct rig rig;
	uint64_t first;

	CU_ASSERT_EQUAL(rig_open(&rig, &spec, 1, 3, 4), 0);
	rig_calls(&rig, 2);
	first = rig.record.fired_ns;
	CU_ASSERT_TRUE(first > 0);
	rig_call(&rig, 3, 0);
	UNIT_ALL(rig.record.fired_ns == first, rig.record.fired == 2);
}

/* A graph is not launched: that fires at the first call that it holds. */
UNIT_TEST(test_launch, "a graph is not launched")
{
	const char *spec = "graph-replay:3@13";
	struct rig rig;

	rig_step_calls = 2;
	rig_options.mode = MODE_GRAPH;
	CU_ASSERT_EQUAL(rig_open(&rig, &spec, 1, 3, 4), 0);
	rig_calls(&rig, 14);
	UNIT_ALL(rig.record.fired == 0, rig.filter.launch(&rig.injector) == LAUNCH_NOTHING,
		 rig.record.seq == 13, rig.record.fired == 1,
		 rig.filter.launch(&rig.injector) == LAUNCH_IT);
	spec = "graph-replay:3@14"; /* the step's second */
	CU_ASSERT_EQUAL(rig_open(&rig, &spec, 1, 3, 4), -EINVAL);
	rig_options.mode = MODE_STREAM;
	rig_step_calls = 1;
}

/* The faults of this rank that have not fired. */
UNIT_TEST(test_unfired, "faults that did not fire")
{
	static const char *const specs[] = { "late-rank:0@1,delay=0.001", "skip-call:1,3@2",
					     "late-rank:3@4,delay=0.001" };
	struct rig rig;

	CU_ASSERT_EQUAL(rig_open(&rig, specs, 3, 3, 4), 0);
	CU_ASSERT_EQUAL(inject_unfired(&rig.injector, &rig.record), 1);
	rig_calls(&rig, 2);
	CU_ASSERT_EQUAL(inject_unfired(&rig.injector, &rig.record), 2);
	rig_call(&rig, 3, 0);
	CU_ASSERT_EQUAL(inject_unfired(&rig.injector, &rig.record), 2);
	rig_call(&rig, 4, 0);
	CU_ASSERT_EQUAL(inject_unfired(&rig.injector, &rig.record), -1);
	CU_ASSERT_EQUAL(rig_open(&rig, specs, 3, 2, 4), 0); /* no fault names rank 2 */
	CU_ASSERT_EQUAL(inject_unfired(&rig.injector, &rig.record), -1);
	CU_ASSERT_EQUAL(inject_unfired(&rig.injector, NULL), -1);
}

/* The call that no other rank makes: of another kind, in place, one byte, asking for an answer. */
UNIT_TEST(test_conditional, "a call that no other rank makes")
{
	static const struct {
		enum call_kind asked, extra;
		int peer;
	} kinds[] = {
		{ CALL_ALL_REDUCE, CALL_REDUCE, 3 },	 { CALL_ALL_GATHER, CALL_ALL_REDUCE, -1 },
		{ CALL_BROADCAST, CALL_ALL_REDUCE, -1 }, { CALL_SEND, CALL_ALL_REDUCE, -1 },
		{ CALL_RECV, CALL_ALL_REDUCE, -1 },
	};
	const char *spec = "conditional-call@1";

	UNIT_ROWS(row, kinds) {
		struct call call = { .kind = row->asked,
				     .send = send_buffer,
				     .recv = recv_buffer,
				     .count = 9,
				     .dtype = DT_DOUBLE };
		struct rig rig;

		if (row->asked == CALL_SEND)
			call.recv = NULL;
		if (row->asked == CALL_RECV)
			call.send = NULL;
		UNIT_ALL(rig_open(&rig, &spec, 1, 3, 4) == 0, chain_call(&rig.chain, &call) == 0);
		CU_ASSERT_EQUAL_FATAL(rig.note.n, 2);
		UNIT_ALL(rig.note.made[0].kind == row->extra, rig.note.made[0].peer == row->peer,
			 rig.note.made[0].count == 1, rig.note.made[0].dtype == DT_UINT8,
			 rig.note.made[0].recv == (call.recv ? call.recv : call.send),
			 rig.note.made[0].send == rig.note.made[0].recv,
			 rig.note.made[1].kind == row->asked, rig.note.made[1].count == 9);
	}
}

/* An error of the backend is passed on; a fault that can't act is an internal failure. */
UNIT_TEST(test_errors, "errors")
{
	const char *specs[] = { "extra-call@2", "conditional-call@1", "late-rank@1,when=after" };
	struct call bare = { .kind = CALL_ALL_GATHER };
	struct rig rig;

	CU_ASSERT_EQUAL(rig_open(&rig, &specs[0], 1, 3, 4), 0);
	rig.note.rc = -EIO;
	UNIT_ALL(rig_call(&rig, 1, 0) == -EIO, rig.note.err.code == 0, rig_call(&rig, 2, 0) == -EIO,
		 rig.note.n == 2);

	UNIT_ALL(rig_open(&rig, &specs[1], 1, 3, 4) == 0, chain_call(&rig.chain, &bare) == -EINVAL,
		 rig.note.err.outcome == OUTCOME_INTERNAL,
		 strstr(rig.note.err.text, "conditional-call") != NULL, rig.note.n == 0);

	/* A call that failed has no after. */
	CU_ASSERT_EQUAL(rig_open(&rig, &specs[2], 1, 3, 4), 0);
	rig.note.rc = -EIO;
	UNIT_ALL(rig_call(&rig, 1, 0) == -EIO, rig.record.fired == 0);
}

static const struct {
	const char *spec;
	int rank;
	const char *comms, *made;
	uint32_t fired;
} inits[] = {
	{ "skip-call@2", 3, "I4:7 ", " 1 3 4", 1 },
	{ "init-nranks", 3, "I5:7 ", " 1 2 3 4", 1 },
	{ "init-nranks:2", 2, "I3:7 ", " 1 2 3 4", 1 },
	{ "init-nranks:0", 0, "I3:7 ", " 1 2 3 4", 1 },
	{ "init-nranks:0", 1, "I4:7 ", " 1 2 3 4", 0 },
	{ "init-nranks:0,by=more", 0, "I5:7 ", " 1 2 3 4", 1 },
	{ "init-nranks:3,by=less", 3, "I3:7 ", " 1 2 3 4", 1 },
	{ "init-id", 3, "N I4:99 ", " 1 2 3 4", 1 },
	{ "init-id", 2, "I4:7 ", " 1 2 3 4", 0 },
	{ "late-rank@init,delay=0", 3, "I4:7 ", " 1 2 3 4", 1 },
	{ "late-rank@init,delay=0,when=after", 3, "I4:7 ", " 1 2 3 4", 1 },
	{ "late-rank@first,delay=0", 3, "I4:7 ", " 1 2 3 4", 1 },
	{ "abort-one@3", 3, "I4:7 A A ", " 1 2", 2 },
	{ "abort-one@first", 3, "I4:7 A A A A ", "", 4 },
};

UNIT_TEST(test_at_init, "at communicator init")
{
	UNIT_ROWS(row, inits) {
		struct comm_request request = { .rank = row->rank, .nranks = 4, .id = { 7 } };
		struct rig rig;
		char made[64];

		CU_ASSERT_EQUAL(rig_open(&rig, &row->spec, 1, row->rank, 4), 0);
		CU_ASSERT_EQUAL(rig.filter.init(rig.filter.state, &request, &rig.chain), 0);
		rig_calls(&rig, 4);
		made_text(&rig.note, made, sizeof(made));
		UNIT_ALL(!strcmp(rig.note.comms, row->comms), !strcmp(made, row->made),
			 rig.record.fired == row->fired);
		if (strcmp(rig.note.comms, row->comms) != 0)
			fprintf(stderr, "\n%s: %s\n", row->spec, rig.note.comms);
	}
}

/* ---- a device whose memory is counted ---- */

static struct {
	struct backend be;
	struct error err;
	size_t free_bytes, smallest_failed;
	int allocs;
} device;

static int device_alloc(struct backend *be, size_t bytes, size_t used, void **ptr)
{
	CU_ASSERT_EQUAL(used, bytes);
	*ptr = &device;
	device.allocs++;
	if (bytes > device.free_bytes) {
		if (bytes < device.smallest_failed)
			device.smallest_failed = bytes;
		return error_set(be->err, OUTCOME_USAGE, -ENOMEM, "%zu do not fit", bytes);
	}
	device.free_bytes -= bytes;
	return 0;
}

/* The device is filled up to the last piece: the failed allocation is the rank's first error. */
UNIT_TEST(test_gpu_oom, "a full GPU")
{
	static const struct backend_ops ops = { .alloc = device_alloc };
	static const size_t sizes[] = { (size_t)141 << 30, 3 << 20, 0, ((size_t)5 << 30) + 12345 };
	const struct call large = { .count = (size_t)1 << 24, .dtype = DT_FLOAT, .peer = -1 };
	const char *spec = "gpu-oom:0@2";

	for (size_t i = 0; i < LENGTH(sizes); i++) {
		struct rig rig;

		CU_ASSERT_EQUAL(rig_open(&rig, &spec, 1, 0, 4), 0);
		rig_call(&rig, 1, 0);
		memset(&device, 0, sizeof(device));
		device.be = (struct backend){ .ops = &ops, .err = &device.err };
		device.free_bytes = sizes[i];
		device.smallest_failed = SIZE_MAX;
		rig.chain.backend = &device.be;
		UNIT_ALL(chain_call(&rig.chain, &large) == -ENOMEM, device.free_bytes < 2 << 20,
			 device.smallest_failed == (2 << 20), device.allocs < 64,
			 device.err.outcome == OUTCOME_ERROR, device.err.code == -ENOMEM,
			 !strcmp(device.err.text, "out of device memory: 67108864 do not fit"),
			 device.be.err == &device.err, device.be.config.alloc == ALLOC_NCCL,
			 rig.record.fired == 1);
	}
}

/* Without a limit the rank lives, and that is no fault that fired as it should. */
UNIT_TEST(test_oom_unlimited, "a cgroup without limit")
{
	const char *spec = "oom-rank:0@1";
	struct rig rig;

	CU_ASSERT_EQUAL(rig_open(&rig, &spec, 1, 0, 4), 0);
	rig.injector.machine.cgroup = "/nowhere";
	UNIT_ALL(rig_call(&rig, 1, 0) < 0, rig.note.err.outcome == OUTCOME_INTERNAL,
		 strstr(rig.note.err.text, "oom-rank could not act") != NULL);
}

/* Init that fails has no after, and its error is the backend's. */
UNIT_TEST(test_init_fails, "init that fails")
{
	const char *spec = "late-rank@init,delay=0,when=after";
	struct comm_request request = { .rank = 3, .nranks = 4 };
	struct rig rig;

	CU_ASSERT_EQUAL(rig_open(&rig, &spec, 1, 3, 4), 0);
	rig.note.rc = -EIO;
	UNIT_ALL(rig.filter.init(rig.filter.state, &request, &rig.chain) == -EIO,
		 rig.record.fired == 0, rig.note.err.code == 0);
}

/* Only the call in question is waited for, and the fault fires once it has been made. */
UNIT_TEST(test_inflight, "in flight")
{
	const char *spec = "late-rank@2,delay=0,when=inflight";
	struct rig rig;

	CU_ASSERT_EQUAL(rig_open(&rig, &spec, 1, 3, 4), 0);
	rig_call(&rig, 1, 0);
	CU_ASSERT_EQUAL(rig.note.started, 0);
	rig_call(&rig, 2, 0);
	UNIT_ALL(rig.note.started == 1, rig.record.fired == 1);
	rig_call(&rig, 3, 0);
	UNIT_ALL(rig.note.started == 1, rig.note.n == 3, rig_open(&rig, &spec, 1, 2, 4) == 0);
	rig_calls(&rig, 3);
	CU_ASSERT_EQUAL(rig.note.started, 0);
}
