/* test_report.c: the sinks of the options, fed together, and the closing figures. */
#include "rig/unit.h"

#include <fcntl.h>
#include <sys/stat.h>

#include "report/report.h"

static char folder[UNIT_TEMP];
static struct options options;
static struct run_facts facts;
static struct rank_facts rank;
static struct report report;
static struct error err;
static char *command[] = { (char *)"./x_perf", NULL };
static int saved_stdout = -1;

static const struct collective collective = { .name = "x", .in_place = true };

static const char *in_folder(const char *name)
{
	static char paths[4][UNIT_PATH];
	static int turn;
	char *path = paths[turn++ % 4];

	snprintf(path, sizeof(paths[0]), "%s/%s", folder, name);
	return path;
}

/* Standard output goes to a file until tear_down: the table is written there. */
static void sink_set_up(void)
{
	int fd;

	err = (struct error){ .rank = -1 };
	options = (struct options){ .min_bytes = 8,
				    .max_bytes = 8,
				    .step_factor = 2,
				    .backend = "mpi",
				    .warmup = -1,
				    .agg_iters = 1,
				    .check = 1,
				    .dtype_first = DT_FLOAT,
				    .dtype_last = DT_FLOAT };
	facts = (struct run_facts){ .program = "x_perf",
				    .argc = 1,
				    .argv = command,
				    .options = &options,
				    .backend = "mpi",
				    .mpi_library = "MPI",
				    .hangar_version = "0",
				    .nranks = 1,
				    .nnodes = 1,
				    .ranks = &rank };
	fflush(stdout);
	saved_stdout = dup(STDOUT_FILENO);
	fd = open(in_folder("stdout"), O_CREAT | O_TRUNC | O_WRONLY | O_CLOEXEC, 0600);
	CU_ASSERT_FATAL(fd >= 0 && saved_stdout >= 0);
	dup2(fd, STDOUT_FILENO);
	close(fd);
}

static void back_to_stdout(void)
{
	fflush(stdout);
	if (saved_stdout >= 0)
		dup2(saved_stdout, STDOUT_FILENO);
	close(saved_stdout);
	saved_stdout = -1;
}

static void tear_down(void)
{
	report_release(&report);
	back_to_stdout();
}

static int lines_of(const char *path)
{
	int n = 0;

	for (const char *at = unit_text(path); (at = strchr(at, '\n')); at++)
		n++;
	return n;
}

static struct row row_of(const char *placement, double busbw)
{
	return (struct row){ .schema = ROW_SCHEMA,
			     .collective = "x",
			     .backend = "mpi",
			     .nranks = 1,
			     .nnodes = 1,
			     .size = 8,
			     .count = 2,
			     .type = "float",
			     .redop = "sum",
			     .root = -1,
			     .placement = placement,
			     .mode = "stream",
			     .time_us = 4,
			     .busbw_gbs = busbw,
			     .samples = 8,
			     .stop = "ci" };
}

static int feed(void)
{
	struct row out = row_of("out-of-place", 2), in = row_of("in-place", 5);
	int rc = report_row(&report, &out, NULL);

	rc = rc ? rc : report_row(&report, &in, &out);
	return rc ? rc : report_comment(&report, "a %s with %d words", "remark", 4);
}

UNIT_TEST(test_table_alone, "the table alone")
{
	struct run_summary summary = { .outcome = OUTCOME_OK, .checked = true };

	sink_set_up();
	CU_ASSERT_EQUAL_FATAL(report_open(&report, &options, &collective, &facts, &err), 0);
	UNIT_ALL(report.n == 1, feed() == 0);
	report.wrong_checks = 3;
	UNIT_ALL(report_end(&report, &summary) == 0, report.rows == 2,
		 fabs(summary.avg_busbw_gbs - 3.5) <= 1e-12, summary.wrong_checks == 3);
	tear_down();
	CU_ASSERT_PTR_NOT_NULL(strstr(unit_text(in_folder("stdout")), "# a remark with 4 words\n"));
	CU_ASSERT_PTR_NOT_NULL(strstr(unit_text(in_folder("stdout")), "Out of bounds values : 3"));
	CU_ASSERT_PTR_NOT_NULL(
		strstr(unit_text(in_folder("stdout")), "Avg bus bandwidth    : 3.5"));
}

/* A line of the table is a point: it waits for the in-place row, if the collective has one. */
UNIT_TEST(test_points, "points")
{
	const struct row out = row_of("out-of-place", 2), in = row_of("in-place", 5);
	const struct collective single = { .name = "x" };
	int before;

	for (int pair = 0; pair < 2; pair++) {
		sink_set_up();
		CU_ASSERT_EQUAL_FATAL(report_open(&report, &options, pair ? &collective : &single,
						  &facts, &err),
				      0);
		before = lines_of(in_folder("stdout"));
		UNIT_ALL(report_row(&report, &out, NULL) == 0,
			 lines_of(in_folder("stdout")) == before + !pair);
		if (pair)
			UNIT_ALL(report_row(&report, &in, &out) == 0,
				 lines_of(in_folder("stdout")) == before + 1);
		tear_down();
	}
}

/* A run without a row: only sizes that are too small. */
UNIT_TEST(test_no_rows, "no rows")
{
	struct run_summary summary = { .outcome = OUTCOME_OK };

	sink_set_up();
	CU_ASSERT_EQUAL_FATAL(report_open(&report, &options, &collective, &facts, &err), 0);
	UNIT_ALL(report_end(&report, &summary) == 0, summary.avg_busbw_gbs == 0);
	tear_down();
}

UNIT_TEST(test_everything, "all sinks")
{
	struct run_summary summary = { .outcome = OUTCOME_OK, .checked = true };
	char out[UNIT_PATH], csv[UNIT_PATH], json[UNIT_PATH], nccl[UNIT_PATH], table[UNIT_PATH],
		metrics[UNIT_PATH];

	sink_set_up();
	snprintf(out, sizeof(out), "%s", in_folder("run"));
	snprintf(csv, sizeof(csv), "%s", in_folder("a.csv"));
	snprintf(json, sizeof(json), "%s", in_folder("a.jsonl"));
	snprintf(nccl, sizeof(nccl), "%s", in_folder("a.json"));
	snprintf(metrics, sizeof(metrics), "%s", in_folder("a.prom"));
	options.out = out;
	options.csv = csv;
	options.json = json;
	options.nccl_json = nccl;
	options.metrics = metrics;
	CU_ASSERT_EQUAL_FATAL(report_open(&report, &options, &collective, &facts, &err), 0);
	UNIT_ALL(report.n == 8, report.n <= REPORT_SINKS, feed() == 0,
		 report_end(&report, &summary) == 0);
	tear_down();
	/* the same on standard output and in the folder */
	snprintf(table, sizeof(table), "%s", in_folder("run/table.txt"));
	UNIT_ALL(lines_of(table) == lines_of(in_folder("stdout")), lines_of(table) > 3,
		 lines_of(csv) == 3, lines_of(in_folder("run/rows.csv")) == 3);
	CU_ASSERT_EQUAL(lines_of(json), 5); /* header, two rows, comment, end */
	UNIT_ALL(lines_of(in_folder("run/rows.jsonl")) == 5, strlen(unit_text(nccl)) > 100,
		 strlen(unit_text(metrics)) > 100);
	unlink(metrics);

	/* a folder with a run is not touched */
	sink_set_up();
	options.out = out;
	UNIT_ALL(report_open(&report, &options, &collective, &facts, &err) < 0,
		 err.outcome == OUTCOME_USAGE, strstr(err.text, out) != NULL);
	tear_down();
	CU_ASSERT_EQUAL(lines_of(in_folder("run/rows.csv")), 3);
	unlink(in_folder("run/rows.csv"));
	unlink(in_folder("run/rows.jsonl"));
	sink_set_up();
	options.out = out;
	CU_ASSERT(report_open(&report, &options, &collective, &facts, &err) < 0); /* table.txt */
	CU_ASSERT_EQUAL(err.outcome, OUTCOME_USAGE);
	tear_down();
	for (int i = 0; i < 3; i++)
		unlink(in_folder(
			(const char *[]){ "run/rows.csv", "run/rows.jsonl", "run/table.txt" }[i]));
	rmdir(out);
	unlink(csv);
	unlink(json);
	unlink(nccl);
}

UNIT_TEST(test_refused, "places that are not there")
{
	char path[UNIT_PATH];

	for (int i = 0; i < 4; i++) {
		sink_set_up();
		snprintf(path, sizeof(path), "%s/no/such/place", folder);
		if (i == 0)
			options.out = path;
		else if (i == 1)
			options.csv = path;
		else if (i == 2)
			options.json = path;
		else
			options.nccl_json = path;
		UNIT_ALL(report_open(&report, &options, &collective, &facts, &err) < 0,
			 err.outcome == OUTCOME_USAGE, strstr(err.text, "/no/such/place") != NULL);
		tear_down();
	}
}

/* A full disk is reported by each sink. */
UNIT_TEST(test_full_disk, "a full disk")
{
	struct run_summary summary = { .outcome = OUTCOME_OK };
	int full, rc;

	sink_set_up();
	CU_ASSERT_EQUAL_FATAL(report_open(&report, &options, &collective, &facts, &err), 0);
	fflush(stdout);
	full = open("/dev/full", O_WRONLY | O_CLOEXEC);
	CU_ASSERT_FATAL(full >= 0);
	dup2(full, STDOUT_FILENO);
	close(full);
	rc = feed();
	rc = report_end(&report, &summary) < 0 ? -1 : rc;
	tear_down();
	clearerr(stdout);
	UNIT_ALL(rc < 0, err.outcome != OUTCOME_OK);
}

UNIT_MAIN(unit_main_folder(folder))
