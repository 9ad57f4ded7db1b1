/* test_report.c: the sinks of the options, fed together, and the closing figures. */
#include "sink_rows.h"

#include "report/report.h"

static struct report report;
static int saved_stdout = -1;

static const struct collective collective = { .name = "x", .in_place = true };

/* Standard output goes to a file until tear_down: the table is written there. */
static void set_up(void)
{
	int fd;

	sink_set_up();
	fflush(stdout);
	saved_stdout = dup(STDOUT_FILENO);
	fd = open(sink_path("stdout"), O_CREAT | O_TRUNC | O_WRONLY | O_CLOEXEC, 0600);
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

static int open_report(const struct collective *of)
{
	return report_open(&report, &sink_options, of, &facts, &sink_err);
}

static int lines_of(const char *path)
{
	int n = 0;

	for (const char *at = unit_text(path); (at = strchr(at, '\n')); at++)
		n++;
	return n;
}

static int feed(void)
{
	struct row out = sink_row(8, false), in = sink_row(8, true);
	int rc = report_row(&report, &out, NULL);

	rc = rc ? rc : report_row(&report, &in, &out);
	return rc ? rc : report_comment(&report, "a %s with %d words", "remark", 4);
}

UNIT_TEST(test_table_alone, "the table alone")
{
	struct run_summary summary = { .outcome = OUTCOME_OK, .checked = true };

	set_up();
	CU_ASSERT_EQUAL_FATAL(open_report(&collective), 0);
	UNIT_ALL(report.n == 1, feed() == 0);
	report.wrong_checks = 3;
	UNIT_ALL(report_end(&report, &summary) == 0, report.rows == 2,
		 fabs(summary.avg_busbw_gbs - 2.5) <= 1e-12, summary.wrong_checks == 3);
	tear_down();
	CU_ASSERT_PTR_NOT_NULL(strstr(unit_text(sink_path("stdout")), "# a remark with 4 words\n"));
	CU_ASSERT_PTR_NOT_NULL(strstr(unit_text(sink_path("stdout")), "Out of bounds values : 3"));
	CU_ASSERT_PTR_NOT_NULL(
		strstr(unit_text(sink_path("stdout")), "Avg bus bandwidth    : 2.5"));
}

/* A line of the table is a point: it waits for the in-place row, if the collective has one. */
UNIT_TEST(test_points, "points")
{
	const struct row out = sink_row(8, false), in = sink_row(8, true);
	const struct collective single = { .name = "x" };
	int before;

	for (int pair = 0; pair < 2; pair++) {
		set_up();
		CU_ASSERT_EQUAL_FATAL(open_report(pair ? &collective : &single), 0);
		before = lines_of(sink_path("stdout"));
		UNIT_ALL(report_row(&report, &out, NULL) == 0,
			 lines_of(sink_path("stdout")) == before + !pair);
		if (pair)
			UNIT_ALL(report_row(&report, &in, &out) == 0,
				 lines_of(sink_path("stdout")) == before + 1);
		tear_down();
	}
}

/* A run without a row: only sizes that are too small. */
UNIT_TEST(test_no_rows, "no rows")
{
	struct run_summary summary = { .outcome = OUTCOME_OK };

	set_up();
	CU_ASSERT_EQUAL_FATAL(open_report(&collective), 0);
	UNIT_ALL(report_end(&report, &summary) == 0, summary.avg_busbw_gbs == 0);
	tear_down();
}

UNIT_TEST(test_everything, "all sinks")
{
	struct run_summary summary = { .outcome = OUTCOME_OK, .checked = true };
	char out[UNIT_PATH], csv[UNIT_PATH], json[UNIT_PATH], nccl[UNIT_PATH], table[UNIT_PATH],
		metrics[UNIT_PATH];

	set_up();
	snprintf(out, sizeof(out), "%s", sink_path("run"));
	snprintf(csv, sizeof(csv), "%s", sink_path("a.csv"));
	snprintf(json, sizeof(json), "%s", sink_path("a.jsonl"));
	snprintf(nccl, sizeof(nccl), "%s", sink_path("a.json"));
	snprintf(metrics, sizeof(metrics), "%s", sink_path("a.prom"));
	sink_options.out = out;
	sink_options.csv = csv;
	sink_options.json = json;
	sink_options.nccl_json = nccl;
	sink_options.metrics = metrics;
	CU_ASSERT_EQUAL_FATAL(open_report(&collective), 0);
	UNIT_ALL(report.n == 8, report.n <= REPORT_SINKS, feed() == 0,
		 report_end(&report, &summary) == 0);
	tear_down();
	/* the same on standard output and in the folder */
	snprintf(table, sizeof(table), "%s", sink_path("run/table.txt"));
	UNIT_ALL(lines_of(table) == lines_of(sink_path("stdout")), lines_of(table) > 3,
		 lines_of(csv) == 3, lines_of(sink_path("run/rows.csv")) == 3);
	CU_ASSERT_EQUAL(lines_of(json), 5); /* header, two rows, comment, end */
	UNIT_ALL(lines_of(sink_path("run/rows.jsonl")) == 5, strlen(unit_text(nccl)) > 100,
		 strlen(unit_text(metrics)) > 100);

	/* a folder with a run is not touched */
	set_up();
	sink_options.out = out;
	UNIT_ALL(open_report(&collective) < 0, sink_err.outcome == OUTCOME_USAGE,
		 strstr(sink_err.text, out) != NULL);
	tear_down();
	CU_ASSERT_EQUAL(lines_of(sink_path("run/rows.csv")), 3);
	unlink(sink_path("run/rows.csv"));
	unlink(sink_path("run/rows.jsonl"));
	set_up();
	sink_options.out = out;
	CU_ASSERT(open_report(&collective) < 0); /* table.txt */
	CU_ASSERT_EQUAL(sink_err.outcome, OUTCOME_USAGE);
	tear_down();
}

UNIT_TEST(test_refused, "places that are not there")
{
	char path[UNIT_PATH];

	for (int i = 0; i < 4; i++) {
		set_up();
		snprintf(path, sizeof(path), "%s/no/such/place", i ? sink_folder : "/dev/null");
		if (i == 0)
			sink_options.out = path;
		else if (i == 1)
			sink_options.csv = path;
		else if (i == 2)
			sink_options.json = path;
		else
			sink_options.nccl_json = path;
		UNIT_ALL(open_report(&collective) < 0, sink_err.outcome == OUTCOME_USAGE,
			 strstr(sink_err.text, "/no/such/place") != NULL);
		tear_down();
	}
}

UNIT_TEST(test_full_disk, "a full disk")
{
	struct run_summary summary = { .outcome = OUTCOME_OK };
	int full, rc;

	set_up();
	CU_ASSERT_EQUAL_FATAL(open_report(&collective), 0);
	fflush(stdout);
	full = open("/dev/full", O_WRONLY | O_CLOEXEC);
	CU_ASSERT_FATAL(full >= 0);
	dup2(full, STDOUT_FILENO);
	close(full);
	rc = feed();
	rc = report_end(&report, &summary) < 0 ? -1 : rc;
	tear_down();
	clearerr(stdout);
	UNIT_ALL(rc < 0, sink_err.outcome != OUTCOME_OK);
}

UNIT_MAIN(unit_main_folder(sink_folder))
