/* mpi_test_point.c: points on the mpi backend: repetitions, deadlines, checks, and graphs. */
/* ranks: 3 */
/* alone: budgets and deadlines of a fraction of a second are asserted */
#include "point_rig.h"

#include "live/predict.h"
#include "profiler/nccl_profiler.h"

static int checks_made(void)
{
	return seen.calls[PHASE_SETUP] + seen.calls[PHASE_CHECK];
}

UNIT_TEST(test_fixed, "-n")
{
	static const char *const counts[] = { "1",  "2",  "19", "20", "21",
					      "39", "40", "41", "45", "100" };
	static const char *const modes[] = { "stream", "isolated" };

	for (size_t i = 0; i < LENGTH(counts); i++)
		for (int mode = 0; mode < 2; mode++)
			for (int check = 0; check < 2; check++) {
				int n = atoi(counts[i]);

				SET_UP(&all_reduce, "-n", counts[i], "--mode", modes[mode], "-c",
				       check ? "1" : "0", "-w", "1");
				UNIT_ALL(rig_measure(1024, check) == 0,
					 seen.calls[PHASE_TIMED] == n, checks_made() == check);
				if (job.rank == 0)
					CU_ASSERT_STRING_EQUAL(measured.row.stop, "count");
				if (job.rank == 0)
					CU_ASSERT_EQUAL(measured.row.samples, mode     ? n
									      : n < 40 ? 1
										       : n / 20);
				CU_ASSERT_EQUAL(measured.row.wrong, check ? 0 : -1);
				rig_done();
			}
}

/* The last batch is the longest: 29 calls, then 30. It meets no untouched page either. */
UNIT_TEST(test_longer_last_batch, "-n, not a multiple")
{
	SET_UP(&all_reduce, "-n", "59", "-c", "0", "-w", "1");
	UNIT_ALL(rig_measure(65536, false) == 0, seen.calls[PHASE_TIMED] == 59);
	rig_done();
}

UNIT_TEST(test_aggregated, "-n and -m")
{
	SET_UP(&all_reduce, "-n", "45", "-m", "3", "-w", "2");
	UNIT_ALL(rig_measure(1024, false) == 0, seen.calls[PHASE_TIMED] == 45 * 3,
		 seen.calls[PHASE_WARMUP] == 2 * 3, measured.row.wrong == 0);
	if (job.rank == 0) {
		CU_ASSERT_EQUAL(measured.row.samples, 2);
		CU_ASSERT_EQUAL(measured.row.calls % 3, 0); /* the time is that of one call */
	}
	rig_done();
}

/* -a over the ranks of a sample: each sleeps for a different time after its call. */
UNIT_TEST(test_average, "-a")
{
	static const char *const kinds[] = { "0", "1", "2", "3" };
	static const double delays[RANKS] = { 0.02, 0.01, 0.06 };

	for (int kind = 0; kind < 4; kind++) {
		double t[RANKS], want;

		SET_UP(&all_reduce, "-n", "1", "-c", "0", "-w", "0", "-a", kinds[kind]);
		failure = (struct failure){ .rank = NO_RANK,
					    .phase = PHASE_TIMED,
					    .delay_after = delays[job.rank] };
		CU_ASSERT_EQUAL(rig_measure(64, false), 0);
		if (job.rank == 0) {
			CU_ASSERT_PTR_NOT_NULL_FATAL(measured.row.per_rank);
			for (int r = 0; r < RANKS; r++) {
				t[r] = measured.row.per_rank[r].median;
				CU_ASSERT(t[r] >= delays[r] * 1e6);
			}
			want = kind == 0   ? t[0]
			       : kind == 1 ? (t[0] + t[1] + t[2]) / 3
			       : kind == 2 ? fmin(t[0], fmin(t[1], t[2]))
					   : fmax(t[0], fmax(t[1], t[2]));
			CU_ASSERT_DOUBLE_EQUAL(measured.row.time_us, want, 1e-3);
			CU_ASSERT_DOUBLE_EQUAL(measured.row.algbw_gbs, 64 / want / 1e3, 1e-12);
		}
		rig_done();
	}
}

UNIT_TEST(test_per_iteration, "-I")
{
	SET_UP(&all_reduce, "-n", "45", "-w", "1");
	options.per_iter = true; /* -I -K 5, which are for GPUs */
	options.per_iter_skip = 5;
	UNIT_ALL(rig_measure(1024, false) == 0, seen.calls[PHASE_TIMED] == 45);
	if (job.rank == 0)
		UNIT_ALL(measured.row.samples == 40, measured.row.calls == 1,
			 measured.row.min_us > 0, measured.row.skipped == 5,
			 measured.row.sample_times_us &&
				 measured.row.sample_times_us[45 * job.nranks - 1] > 0);
	rig_done();
}

/* nccl-tests' loop: the warm-up uses the first slot, the only filled one; no call is checked. */
UNIT_TEST(test_like_nccl_tests, "like nccl-tests")
{
	SET_UP(&all_reduce, "-n", "20", "-w", "3");
	options.like_nccl_tests = true; /* which is for GPUs */
	bench.buffers.filled = bench.buffers.touched = 0;
	UNIT_ALL(rig_measure(65536, false) == 0, seen.calls[PHASE_TIMED] == 20,
		 seen.untouched_calls == 19, seen.calls[PHASE_WARMUP] == 3, checks_made() == 1,
		 measured.row.wrong == 0);
	if (job.rank == 0)
		CU_ASSERT_EQUAL(measured.row.samples, 1);
	seen.untouched_calls = 0;
	rig_done();
}

UNIT_TEST(test_blocking, "-z")
{
	static const char *const kinds[] = { "1", "2", "3" };

	for (int i = 0; i < 3; i++) {
		SET_UP(&all_reduce, "-n", "20", "-z", kinds[i]);
		UNIT_ALL(rig_measure(1024, false) == 0, seen.calls[PHASE_TIMED] == 20);
		if (job.rank == 0)
			CU_ASSERT(measured.row.min_us > 0);
		rig_done();
	}
}

UNIT_TEST(test_warm_up, "-w")
{
	static const char *const counts[] = { "0", "1", "7", "300" };

	for (int i = 0; i < 4; i++) {
		SET_UP(&all_reduce, "-n", "2", "-w", counts[i], "-c", "0");
		UNIT_ALL(rig_measure(64, false) == 0, seen.calls[PHASE_WARMUP] == atoi(counts[i]),
			 measured.row.warmup_calls == atoi(counts[i]));
		rig_done();
	}
}

UNIT_TEST(test_adaptive, "until precise, or the budget is spent")
{
	double begin;

	SET_UP(&all_reduce, "--ci", "100", "--budget", "20");
	CU_ASSERT_EQUAL(rig_measure(1024, false), 0);
	if (job.rank == 0) {
		UNIT_ALL(!strcmp(measured.row.stop, "ci"), measured.row.samples >= 6,
			 measured.row.ci_percent <= 100,
			 measured.row.min_us > 0 && measured.row.max_us < 1e6,
			 measured.row.min_us <= measured.row.time_us,
			 measured.row.slowest_rank >= 0 &&
				 measured.row.slowest_rank<RANKS, measured.row.algbw_gbs> 0 &&
				 measured.row.busbw_gbs > 0);
		UNIT_ALL(measured.row.calls >= 1 && measured.row.calls <= 256,
			 measured.row.per_rank != NULL);
	}
	UNIT_ALL(seen.calls[PHASE_WARMUP] >= 2, checks_made() == 1);
	rig_done();
	/* the budget is the same for single calls and groups of 16 */
	for (int agg = 0; agg < 2; agg++) {
		SET_UP(&all_reduce, "--ci", "0.01", "--budget", "0.05", "-m", agg ? "16" : "1");
		begin = clock_seconds();
		CU_ASSERT_EQUAL(rig_measure(1024, false), 0);
		begin = clock_seconds() - begin;
		if (job.rank == 0) {
			UNIT_ALL(!strcmp(measured.row.stop, "budget"),
				 measured.sampling.spent >= 0.05, measured.sampling.spent < 0.25,
				 measured.sampling.spent < begin);
		}
		rig_done();
	}
}

/* -w 1: later deadlines follow from the one call. */
UNIT_TEST(test_deadline, "deadlines after little warm-up")
{
	for (int warm_up = 1; warm_up <= 2; warm_up++) {
		SET_UP(&all_reduce, "-n", "20", "-w", warm_up == 1 ? "1" : "2", "-c", "0");
		failure = (struct failure){ .rank = NO_RANK, .phase = PHASE_WARMUP, .delay = 0.1 };
		CU_ASSERT_EQUAL(rig_measure(1024, false), 0);
		CU_ASSERT(seen.timed_deadline >= 20); /* 10 x 0.1 s x 20 calls */
		rig_done();
	}
}

static void predict_second(void *ctx, struct row *row)
{
	CU_ASSERT_EQUAL(row->size, 1024);
	CU_ASSERT_EQUAL(row->time_us, 0); /* queried before any measurement */
	row->predicted_us = 1e6;
}

static void predict_nothing(void *ctx, struct row *row)
{
	CU_ASSERT(isnan(row->predicted_us));
}

/* Only rank 0 has predictions; all ranks use them for waits. */
UNIT_TEST(test_predicted_deadline, "deadlines from predictions")
{
	static const struct predictor second = { .row = predict_second };
	static const struct predictor nothing = { .row = predict_nothing };

	for (int known = 0; known < 2; known++) {
		SET_UP(&all_reduce, "-n", "20", "-w", "1", "-c", "0");
		bench.predicted = true;
		bench.predictor = job.rank > 0 ? NULL : known ? &second : &nothing;
		CU_ASSERT_EQUAL(rig_measure(1024, false), 0);
		/* 10 x 1 s x 20 calls */
		CU_ASSERT(known ? fabs(seen.timed_deadline - 200) <= 1e-9
				: seen.timed_deadline < 200);
		rig_done();
	}
	bench.predicted = false;
	bench.predictor = NULL;
}

UNIT_TEST(test_checks, "-c")
{
	static const char *const counts[] = { "0", "1", "5" };

	for (int i = 0; i < 3; i++)
		for (int in_place = 0; in_place < 2; in_place++) {
			SET_UP(&all_reduce, "-n", "4", "-c", counts[i]);
			UNIT_ALL(rig_measure(4096, in_place) == 0, checks_made() == atoi(counts[i]),
				 measured.row.wrong == (i == 0 ? -1 : 0),
				 measured.wrong_checks == 0);
			rig_done();
		}
}

/* Every collective, small and large: no false alarm. */
UNIT_TEST(test_right, "all collectives come out right")
{
	static const size_t sizes[] = { 1536, 3 * 16384, 3 << 20 };

	for (int c = 0; collectives[c]; c++) {
		const struct collective *collective = collectives[c];

		if (collective->power_of_two)
			continue;
		for (int i = 0; i < 3; i++)
			for (int in_place = 0; in_place <= collective->in_place; in_place++) {
				SET_UP(collective, "-n", "3", "-w", "1", "-u", "1");
				bench.traffic = (struct traffic){ .nranks = RANKS, .spread = 0.5 };
				UNIT_ALL(rig_measure(sizes[i], in_place) == 0,
					 measured.row.wrong == 0);
				rig_done();
			}
	}
}

/* On one rank the last timed call leaves one wrong bit, found for all without extra checks. */
UNIT_TEST(test_wrong_in_last_call, "wrong in the last timed call")
{
	static const char *const modes[] = { "stream", "isolated" };

	for (int mode = 0; mode < 2; mode++)
		for (int in_place = 0; in_place < 2; in_place++) {
			SET_UP(&all_reduce, "-n", "25", "--mode", modes[mode], "-c", "3");
			failure = (struct failure){ .rank = 1, .phase = PHASE_TIMED, .nth = 25 };
			UNIT_ALL(rig_measure(4096, in_place) == 0, measured.row.wrong == 1,
				 measured.wrong_checks == 1, measured.row.report.rank == 1,
				 measured.row.report.element == 0, checks_made() == 0);
			rig_done();
		}
}

/* A missing last call leaves the prepared content, not that of earlier calls. */
UNIT_TEST(test_dropped_last_call, "the last timed call is dropped")
{
	static const char *const counts[] = { "1", "4" };

	for (int i = 0; i < 2; i++)
		for (int in_place = 0; in_place < 2; in_place++) {
			SET_UP(&all_reduce, "-n", counts[i]);
			failure = (struct failure){ .rank = ALL,
						    .phase = PHASE_TIMED,
						    .nth = atoi(counts[i]),
						    .drop = true };
			UNIT_ALL(rig_measure(4096, in_place) == 0, measured.wrong_checks == RANKS,
				 measured.row.report.rank == 0);
			if (!in_place) {
				CU_ASSERT_EQUAL(measured.row.report.kind, WRONG_STALE);
				CU_ASSERT_EQUAL(measured.row.wrong, RANKS * 1024);
			}
			CU_ASSERT(measured.row.wrong > 0);
			rig_done();
		}
}

/* 100 MiB: two slots, a batch of three wraps around; the checked call uses the send pool. */
UNIT_TEST(test_dropped_in_short_rotation, "dropped, in a short rotation")
{
	SET_UP(&all_reduce, "-n", "3", "-w", "0");
	failure = (struct failure){ .rank = ALL, .phase = PHASE_TIMED, .nth = 3, .drop = true };
	UNIT_ALL(rig_measure((size_t)100 << 20, true) == 0,
		 timing_last_slot(&measured.timing).spare, measured.wrong_checks == RANKS);
	rig_done();
}

/* A wrong extra check; a timed call before the last is only checked with --check-every. */
UNIT_TEST(test_where_checks_are, "which calls are checked")
{
	SET_UP(&all_reduce, "-n", "4", "-c", "3");
	failure = (struct failure){ .rank = 2, .phase = PHASE_CHECK, .nth = 2 };
	UNIT_ALL(rig_measure(4096, false) == 0, measured.wrong_checks == 1,
		 measured.row.report.rank == 2, seen.calls[PHASE_CHECK] == 2,
		 seen.calls[PHASE_SETUP] == 0);
	rig_done();
	for (int every = 0; every < 2; every++) {
		SET_UP(&all_reduce, "-n", "6", "-c", "1", every ? "--check-every" : "-c1");
		failure = (struct failure){ .rank = 0, .phase = PHASE_TIMED, .nth = 3 };
		UNIT_ALL(rig_measure(4096, false) == 0, seen.calls[PHASE_TIMED] == 6,
			 measured.wrong_checks == every);
		rig_done();
	}
}

UNIT_TEST(test_too_small, "too small")
{
	SET_UP(&alltoall, "-n", "2");
	UNIT_ALL(rig_measure(8, false) == -ENODATA, rig_err.outcome == OUTCOME_OK,
		 seen.calls[PHASE_TIMED] == 0);
	point_release(&measured);
}

/* A refusal by the backend is returned on its rank, with its text. */
static int refuse(void *state, const struct call *call, struct chain *chain)
{
	return *(int *)state ? chain_emit(chain, call)
			     : error_set(chain->backend->err, OUTCOME_ERROR, -EIO, "no luck");
}

UNIT_TEST(test_refused_call, "a call is refused")
{
	int luck = 0;
	const struct call_filter refuser = { .state = &luck, .issue = refuse };

	SET_UP(&all_reduce, "-n", "2");
	bench.chain.filter = &refuser; /* on all ranks, or the others would wait */
	UNIT_ALL(rig_measure(1024, false) == -EIO, !strcmp(rig_err.text, "no luck"),
		 seen.depth == 0);
	point_release(&measured);
}

static struct backend_ops graph_ops;

static struct {
	bool capturing;
	int fail_end, graphs, launches;
	int played[8]; /* calls of each of the first launches */
	struct recorded {
		int n;
		struct call calls[2048];
	} * current;
} gpu;

static int graph_begin(struct backend *b)
{
	gpu.capturing = true;
	gpu.current = calloc(1, sizeof(*gpu.current));
	return gpu.current ? 0 : -ENOMEM;
}

static int graph_end(struct backend *b, void **graph)
{
	gpu.capturing = false;
	if (gpu.fail_end > 0 && --gpu.fail_end == 0) {
		free(gpu.current);
		return error_set(b->err, OUTCOME_ERROR, -EIO, "no graph");
	}
	gpu.graphs++;
	*graph = gpu.current;
	return 0;
}

static int graph_launch(struct backend *b, void *graph)
{
	const struct recorded *recorded = graph;

	if (gpu.launches < 8)
		gpu.played[gpu.launches] = recorded->n;
	gpu.launches++;
	for (int i = 0; i < recorded->n; i++)
		if (backend_mpi.issue(b, &recorded->calls[i], 0) < 0)
			return -EIO;
	return 0;
}

static void graph_free(struct backend *b, void *graph)
{
	gpu.graphs--;
	free(graph);
}

static int graph_issue(struct backend *b, const struct call *call, uint64_t ticket)
{
	if (!gpu.capturing)
		return backend_mpi.issue(b, call, ticket);
	gpu.current->calls[gpu.current->n++] = *call;
	return 0;
}

static const struct backend_graph graphs = {
	.begin = graph_begin, .end = graph_end, .launch = graph_launch, .release = graph_free
};

static void with_graphs(void)
{
	graph_ops = backend_mpi;
	graph_ops.issue = graph_issue;
	graph_ops.flags |= BACKEND_ASYNC | BACKEND_GRAPH;
	graph_ops.graph = &graphs;
	options.mode = MODE_GRAPH; /* -G 5, which is for GPUs */
	options.graph_launches = 5;
	be->ops = &graph_ops;
	memset(&gpu, 0, sizeof(gpu));
}

/* -n in one graph, launched -G times; the checked graph is another one, launched once. */
UNIT_TEST(test_graph, "graphs")
{
	SET_UP(&all_reduce, "-n", "12", "-w", "1");
	with_graphs();
	UNIT_ALL(rig_measure(4096, false) == 0, measured.row.wrong == 0, gpu.graphs == 0,
		 gpu.launches >= 2);
	rig_done();
	CU_ASSERT_EQUAL(gpu.graphs, 0);

	SET_UP(&all_reduce, "-n", "12", "-c", "0");
	with_graphs();
	CU_ASSERT_EQUAL(rig_measure(4096, false), 0);
	CU_ASSERT_EQUAL(gpu.launches, 1 + 5); /* the first one warms up */
	if (job.rank == 0)
		CU_ASSERT_EQUAL(measured.row.calls, 60);
	rig_done();
	be->ops = &backend_mpi;
}

/* -n beyond the capacity of one graph: equal graphs except the last, for any number; all calls are
 * timed once, each in a graph of hundreds. */
UNIT_TEST(test_long_graph, "graphs of very many calls")
{
	static const struct {
		const char *n;
		int graphs, calls[3];
	} cases[] = { { "1024", 1, { 1024 } },
		      { "1025", 2, { 512, 513 } },
		      { "1031", 2, { 515, 516 } }, /* a prime */
		      { "2050", 3, { 683, 683, 684 } } };

	UNIT_ROWS(c, cases)
		for (int check = 0; check < 2; check++) {
			int timed = 0;

			SET_UP(&all_reduce, "-n", c->n, "-w", "1", "-c", check ? "1" : "0");
			with_graphs();
			options.graph_launches = 1;
			UNIT_ALL(rig_measure(64, false) == 0,
				 measured.row.wrong == (check ? 0 : -1));
			if (job.rank == 0)
				CU_ASSERT_EQUAL(measured.row.samples, c->graphs);
			CU_ASSERT_EQUAL(gpu.launches, 1 + c->graphs + check);
			CU_ASSERT_EQUAL(gpu.played[0], c->calls[0]); /* warms up */
			for (int g = 0; g < c->graphs; g++) {
				CU_ASSERT_EQUAL(gpu.played[1 + g], c->calls[g]);
				timed += gpu.played[1 + g];
			}
			CU_ASSERT_EQUAL(timed, atoi(c->n));
			rig_done();
			CU_ASSERT_EQUAL(gpu.graphs, 0);
			be->ops = &backend_mpi;
		}
}

/* A failed capture leaves no graph to free: neither the first, nor that of the checked batch. */
UNIT_TEST(test_graph_failed, "graphs that fail")
{
	for (int nth = 1; nth <= 2; nth++) {
		SET_UP(&all_reduce, "-n", "12", "-w", "1");
		with_graphs();
		gpu.fail_end = nth;
		UNIT_ALL(rig_measure(4096, false) == -EIO, gpu.graphs == 0, seen.depth == 0);
		point_release(&measured);
		CU_ASSERT_EQUAL(gpu.graphs, 0);
		be->ops = &backend_mpi;
	}
}

extern const struct {
	const char *name;
	int (*init)(void **context, int *mask, const char *name, uint64_t hash, int nnodes,
		    int nranks, int rank, void *logger);
	int (*start)(void *context, void **handle, void *event);
} ncclProfiler_v4;

static struct {
	int mask, asked; /* calls during a request */
	bool fail;
} told;

/* The used fields of a collective's event of profiler_v4. */
static int tell_issue(struct backend *b, const struct call *call, uint64_t ticket)
{
	struct {
		uint8_t type, before[79], channels;
		const char *algo, *proto;
	} event = { .type = 2, .channels = 24, .algo = "RING", .proto = "LL" };
	void *handle;

	CU_ASSERT(!told.mask || seen.phase != PHASE_TIMED);
	told.asked += told.mask != 0;
	if (told.mask && told.fail)
		return error_set(&rig_err, OUTCOME_ERROR, -EIO, "an error while it tells");
	if (told.mask)
		ncclProfiler_v4.start(NULL, &handle, &event);
	return backend_mpi.issue(b, call, ticket);
}

/* Once per point, around one untimed iteration, whatever its result. */
UNIT_TEST(test_telling, "a library that tells what it uses")
{
	static const struct {
		const char *check, *together;
		bool called;
		int channels;
	} cases[] = { { "1", "1", true, 24 },
		      { "0", "1", true, 24 },
		      { "3", "1", true, 24 },
		      { "0", "4", true, -1 },
		      { "1", "1", false, -1 } };
	struct backend_ops ops = backend_mpi;
	void *context;

	ops.issue = tell_issue;
	ops.flags |= BACKEND_DEVICE;
	ncclProfiler_v4.init(&context, &told.mask, NULL, 1, 1, RANKS, job.rank, NULL);
	UNIT_ROWS(c, cases) {
		int together = atoi(c->together);

		SET_UP(&all_reduce, "-n", "20", "-w", "1", "-c", c->check, "-m", c->together);
		be->ops = &ops;
		told.asked = 0;
		if (!c->called) {
			failure =
				(struct failure){ .rank = ALL, .phase = PHASE_CHECK, .drop = true };
		}
		CU_ASSERT_EQUAL(rig_measure(4096, false), 0);
		UNIT_ALL(told.mask == 0, told.asked == (c->called ? together : 0),
			 !c->called || !strcmp(measured.row.used_algo, "Ring"),
			 !c->called || !strcmp(measured.row.used_proto, "LL"),
			 measured.row.used_channels == c->channels);
		rig_done();
		be->ops = &backend_mpi;
	}
	SET_UP(&all_reduce, "-n", "2", "-w", "1");
	be->ops = &ops;
	told.fail = true;
	UNIT_ALL(rig_measure(4096, false) == -EIO, told.mask == 0);
	point_release(&measured);
	be->ops = &backend_mpi;
	SET_UP(&all_reduce, "-n", "2", "-w", "1");
	UNIT_ALL(rig_measure(4096, false) == 0, !measured.row.used_algo, !measured.row.used_proto,
		 measured.row.used_channels == -1);
	rig_done();
}

static int quick_kernel(struct backend *backend, struct kernel_cost *cost)
{
	(void)backend;
	*cost = (struct kernel_cost){ 3, 8, 0 };
	return 0;
}

/* Calls of the run, which are watched, measure what a call takes the host. All ranks have the slowest one's. */
UNIT_TEST(test_calibrated, "what a call takes the host")
{
	struct backend_ops ops = backend_mpi;
	static struct predict predict;
	double ends[2];

	ops.flags |= BACKEND_DEVICE;
	ops.kernel_cost = quick_kernel;
	SET_UP(&all_reduce, "-n", "2", "-w", "1");
	be->ops = &ops;
	memset(seen.calls, 0, sizeof(seen.calls));
	UNIT_ALL(predict_calibrate(&predict, &bench) == 0, seen.calls[PHASE_WARMUP] == 140,
		 seen.depth == 0, predict.kernel.host_us == 3, predict.kernel.call_us > 0);
	ends[0] = predict.kernel.call_us;
	ends[1] = -predict.kernel.call_us;
	UNIT_ALL(job_max(&job, ends, 2) == 0, ends[0] == -ends[1]);
	be->ops = &backend_mpi;
	UNIT_ALL(rig_measure(4096, false) == 0, measured.row.wrong == 0);
	rig_done();
}

/* Rank 1's messages with rank 2 take .5 ms more. */
static int slow_pair(void *calls, const struct call *call, struct chain *chain)
{
	int rc = chain_emit(chain, call);

	++*(int *)calls;
	if (job.rank == 1 && call->peer == 2)
		clock_sleep(.5e-3);
	return rc;
}

/* Ranks 0 and 1 have other times for a first message, and exchange as many: the slowest rank's number. */
UNIT_TEST(test_quick_pairs, "as many messages of both ends of a pair")
{
	int calls = 0, rc;
	const struct call_filter slow = { .state = &calls, .issue = slow_pair };
	struct pair_matrix matrix;
	size_t bytes = bench.buffers.bytes;

	SET_UP(&all_reduce, "-n", "2", "-w", "1");
	bench.chain.filter = &slow;
	bench.buffers.bytes = 4096;
	rc = predict_measure_pairs(&bench, PAIRS_QUICK, &matrix);
	bench.buffers.bytes = bytes;
	/* in 2 pairs: 5 both ways, then 5 rounds of one there and back, begun by either */
	UNIT_ALL(rc == 0, calls == 2 * (5 * 2 + 2 * 5 * 2), seen.depth == 0);
	pair_matrix_release(&matrix);
}

UNIT_MAIN(rig_main())
