/* mpi_test_run.c: sweeps on the mpi backend: culprits, slow runs, sizes of buffers. */
/* ranks: 3 */
#include "point_rig.h"

#include "measure/run.h"

static struct run run;

/* A sweep of this many points: its outcome and culprits. */
static void sweep(enum outcome outcome, const char *culprits, int points)
{
	run = (struct run){ .bench = &bench };
	UNIT_ALL(run_sweep(&run) == 0, run.outcome == outcome, !strcmp(run.culprits, culprits),
		 run.points == points, run.done == points, run_finish(&run) == 0,
		 run.outcome == outcome);
}

/* Wrong on rank 2 in one size, on rank 0 in the next, on 2 again: each is named once. */
static int corrupt_by_size(void *state, const struct call *call, struct chain *chain)
{
	int rc = chain_emit(chain, call), rank = call->count == 512 ? 0 : 2;

	if (call->count >= 256 && job.rank == rank)
		*(char *)call->recv ^= 1;
	return rc;
}

UNIT_TEST(test_culprits, "guilty ranks of a run")
{
	const struct call_filter corrupter = { .issue = corrupt_by_size };

	SET_UP(&all_reduce, "-b", "512", "-e", "4K", "-n", "2", "-w", "1");
	bench.chain.filter = &corrupter;
	sweep(OUTCOME_WRONG_DATA, "2,0", 8);

	SET_UP(&all_reduce, "-b", "512", "-e", "4K", "-n", "2", "-w", "1", "-N", "2");
	sweep(OUTCOME_OK, "", 16);
}

/* Only rank 0 knows the bandwidth; all end alike. */
UNIT_TEST(test_slow, "too slow")
{
	struct run_facts facts = { .program = "test", .options = &options, .backend = "mpi" };
	static struct rank_facts ranks[RANKS];
	struct report report = { .n = 0 };

	facts.ranks = ranks;
	facts.mpi_library = facts.hangar_version = "";
	for (int too_slow = 0; too_slow < 2; too_slow++) {
		int keep = dup(STDOUT_FILENO), null = open("/dev/null", O_WRONLY);

		SET_UP(&all_reduce, "-b", "8", "-e", "1K", "-n", "2", "-w", "1");
		options.min_bw = too_slow ? 1e9 : 1e-9;
		fflush(stdout);
		if (job.rank == 0)
			dup2(null, STDOUT_FILENO);
		run = (struct run){ .bench = &bench };
		if (job.rank == 0) {
			CU_ASSERT_EQUAL_FATAL(report_open(&report, &options, &all_reduce, &facts,
							  &rig_err),
					      0);
			run.report = &report;
		}
		UNIT_ALL(run_sweep(&run) == 0, run_finish(&run) == 0,
			 run.outcome == (too_slow ? OUTCOME_SLOW : OUTCOME_OK));
		if (job.rank == 0)
			report_release(&report);
		fflush(stdout);
		dup2(keep, STDOUT_FILENO);
		close(keep);
		close(null);
	}
}

static char remarks[4096];

static int keep_remark(struct sink *sink, const char *line)
{
	strncat(remarks, line, sizeof(remarks) - strlen(remarks) - 2);
	strcat(remarks, "\n");
	return 0;
}

static double reached; /* result of the predictions, percent */

static double tell_reached(void *ctx, char *text, size_t len)
{
	snprintf(text, len, "the share");
	return reached;
}

static void predict_nothing(void *ctx, struct row *row)
{
}

/* --min-percent: a missing or invalid share proves nothing. */
UNIT_TEST(test_min_percent, "below the predictions")
{
	static const struct sink_ops ops = { .comment = keep_remark };
	static const struct predictor hooks = { .row = predict_nothing, .reached = tell_reached };
	static const struct {
		bool predicted;
		double reached;
		enum outcome outcome;
		const char *remark;
	} cases[] = {
		{ true, 50, OUTCOME_OK, "the share\n" },
		{ true, 49.96, OUTCOME_SLOW,
		  "the share\n--min-percent 50: the median row reached 50.0 %: exit 13\n" },
		{ true, NAN, OUTCOME_UNSUPPORTED,
		  "the share\n--min-percent 50: unknown, for the reason above: exit "
		  "77\n" },
		{ false, 0, OUTCOME_UNSUPPORTED,
		  "--min-percent 50: unknown, as there is no prediction: exit 77\n" },
	};

	UNIT_ROWS(c, cases) {
		struct sink sink = { .ops = &ops, .err = &rig_err };
		struct report report = { .sinks = { &sink }, .n = 1 };

		SET_UP(&all_reduce, "-b", "8", "-e", "8", "-n", "2", "-w", "1");
		options.min_percent = 50;
		reached = c->reached;
		remarks[0] = '\0';
		run = (struct run){ .bench = &bench, .report = job.rank == 0 ? &report : NULL };
		bench.predictor = job.rank == 0 && c->predicted ? &hooks : NULL;
		UNIT_ALL(run_finish(&run) == 0, run.outcome == c->outcome,
			 !strcmp(remarks, job.rank == 0 ? c->remark : ""));
	}
	bench.predictor = NULL;
}

static int ends;
static bool interrupted;

static int end_full(struct sink *sink, const struct run_summary *summary)
{
	ends++;
	interrupted = summary->interrupted;
	return error_set(sink->err, OUTCOME_INTERNAL, -ENOSPC, "the disk is full (expected)");
}

/* A sink that cannot be written at the end of a good sweep: all ranks end alike, and none waits. A
 * signal has the closing lines written once. */
UNIT_TEST(test_end, "the end of a sweep")
{
	static const struct sink_ops ops = { .comment = keep_remark, .end = end_full };
	struct sink sink = { .ops = &ops, .err = &rig_err };
	struct report report = { .sinks = { &sink }, .n = 1 };

	SET_UP(&all_reduce, "-b", "8", "-e", "8", "-n", "2", "-w", "1");
	remarks[0] = '\0';
	run = (struct run){ .bench = &bench, .report = job.rank == 0 ? &report : NULL };
	UNIT_ALL(run_sweep(&run) == 0, run_finish(&run) == 0, run.outcome == OUTCOME_INTERNAL);
	if (job.rank != 0)
		return;
	run_interrupted(&run);
	UNIT_ALL(ends == 1, !interrupted, remarks[0] == '\0');
	report.ended = false;
	run_interrupted(&run);
	UNIT_ALL(ends == 2, interrupted, !strncmp(remarks, "Interrupted: this is what", 25));
}

UNIT_TEST(test_largest, "the largest buffer")
{
	SET_UP(&all_reduce, "-b", "8", "-e", "1G", "-u", "3");
	CU_ASSERT_EQUAL(run_largest(&bench), ((size_t)1 << 30) + 12);
	SET_UP(&all_gather, "-b", "8", "-e", "1000000", "-f", "10");
	CU_ASSERT_EQUAL(run_largest(&bench), 799968); /* 800000 cut to 3 shares of whole 16 bytes */
	SET_UP(&all_reduce, "-b", "18446744073709551612", "-e", "18446744073709551612", "-u", "3");
	CU_ASSERT_EQUAL(run_largest(&bench), SIZE_MAX);
	SET_UP(&alltoall, "-b", "8", "-e", "16");
	CU_ASSERT_EQUAL(run_largest(&bench), 0);
}

UNIT_MAIN(rig_main())
