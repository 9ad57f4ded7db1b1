/* test_run_alerts.c: the gauges that alerts rest on, and the files that they stand in. */
#include "preload/run_alerts.h"
#include "rig/unit.h"

#include <utime.h>

#define RANKS 3

static struct evidence evidence;
static struct answer late;
static struct pace_watch pace;
static char folder[UNIT_TEMP];

/* A rank each on a host of its own; rank 0 waits in call 7. */
static struct run_alerts scene(void)
{
	static struct evidence_rank ranks[RANKS];

	late = (struct answer){ .class = CLASS_OUTCOME };
	pace = (struct pace_watch){ .nnamed = 0 };
	evidence = (struct evidence){ .ranks = ranks, .nranks = RANKS };
	for (int i = 0; i < RANKS; i++) {
		ranks[i] = (struct evidence_rank){ .present = true, .view.rank = i };
		snprintf(ranks[i].view.host, sizeof(ranks[i].view.host), "n\"%d", i);
	}
	ranks[0].view.waiting = 1;
	ranks[0].view.oldest =
		(struct record){ .ticket = 9, .seq = 7, .kind = CALL_ALL_REDUCE, .peer = -1 };
	return (struct run_alerts){ .job = "j",
				    .key = "k",
				    .evidence = &evidence,
				    .late = &late,
				    .verdict.outcome = OUTCOME_OK };
}

/* The lines of series beside the date's. */
static const char *text_of(const struct run_alerts *a)
{
	static char text[4096];
	char line[512];
	FILE *f = tmpfile();

	text[0] = '\0';
	run_alerts_put(f, a, &pace, 5000000000);
	rewind(f);
	while (fgets(line, sizeof(line), f))
		if (line[0] != '#' && !strstr(line, "timestamp"))
			strcat(text, line);
	fclose(f);
	return text;
}

UNIT_TEST(test_verdicts, "a series for each rank that is named")
{
	static const struct {
		enum outcome outcome;
		enum answer_class class;
		enum confidence confidence;
		const char *ranks, *hosts, *doing;
		double withdrawn;
		const char *text;
	} rows[] = {
		{ OUTCOME_OK, CLASS_OUTCOME, 0, "-", "", "", 0, "" },
		{ OUTCOME_SLOW_RANK, CLASS_SLOW_RANK, 0, "1", "", "", 0, "" },
		{ OUTCOME_HANG, CLASS_MISSING, CONFIDENCE_PROVED, "1,2", "", "in a.py:3", 0,
		  "hangar_hang_seconds{job=\"j\",class=\"missing-call\",confidence=\"proved\",rank="
		  "\"1\",host=\"n?1\"} 4.500\n"
		  "hangar_hang_seconds{job=\"j\",class=\"missing-call\",confidence=\"proved\",rank="
		  "\"2\",host=\"n?2\"} 4.500\n" },
		{ OUTCOME_HANG, CLASS_HOST_SILENT, CONFIDENCE_MAJORITY, "-", "node7", "in a.py:3",
		  0,
		  "hangar_hang_seconds{job=\"j\",class=\"host-silent\",confidence=\"majority\","
		  "host=\"node7\"} 4.500\n" },
		{ OUTCOME_HANG, CLASS_UNEXPLAINED, CONFIDENCE_INCONCLUSIVE, "-", "", "in a.py:3", 2,
		  "hangar_withdrawn_seconds{job=\"j\",class=\"unexplained\",confidence="
		  "\"inconclusive\"} 2.000\n" },
		{ OUTCOME_DIED, CLASS_KILLED, CONFIDENCE_PROVED, "2", "", "in a.py:3", 0,
		  "hangar_died_seconds{job=\"j\",class=\"rank-killed\",confidence=\"proved\",rank="
		  "\"2\",host=\"n?2\"} 4.500\n" },
		{ OUTCOME_ERROR, CLASS_ERROR, CONFIDENCE_PROVED, "9", "", "in a.py:3", 0,
		  "hangar_failed_seconds{job=\"j\",class=\"error\",confidence=\"proved\"} "
		  "4.500\n" },
	};

	UNIT_ROWS(row, rows) {
		struct run_alerts a = scene();
		const char *text;

		a.verdict = (struct answer){ .outcome = row->outcome,
					     .class = row->class,
					     .confidence = row->confidence,
					     .evidence = "-",
					     .detect_ms = 1500,
					     .said_ns = 2000000000 };
		a.withdrawn = row->withdrawn;
		strcpy(a.verdict.ranks, row->ranks);
		strcpy(a.verdict.hosts, row->hosts);
		strcpy(a.verdict.doing, row->doing);
		text = text_of(&a);
		CU_ASSERT_EQUAL(strncmp(text, row->text, strlen(row->text)), 0);
		CU_ASSERT_EQUAL(strstr(text, "hangar_job_info") != NULL, row->text[0] != '\0');
		if (row->text[0])
			CU_ASSERT_PTR_NOT_NULL(strstr(text, "call=\"call 7, AllReduce"));
		if (row->text[0])
			CU_ASSERT_PTR_NOT_NULL(strstr(text, "line=\"in a.py:3\""));
	}
}

UNIT_TEST(test_late, "what is late, until there is a verdict or its ranks leave")
{
	static const struct {
		enum outcome verdict;
		double withdrawn;
		bool over, told;
	} rows[] = {
		{ OUTCOME_OK, 0, false, true },	   { OUTCOME_OK, 0, true, false },
		{ OUTCOME_HANG, 0, false, false }, { OUTCOME_HANG, 3, false, true },
		{ OUTCOME_DIED, 0, true, false },
	};

	UNIT_ROWS(row, rows) {
		struct run_alerts a = scene();

		late = (struct answer){ .class = CLASS_BUSY,
					.ranks = "1",
					.evidence = "-",
					.detect_ms = 1000,
					.said_ns = 5000000000 };
		a.verdict = (struct answer){ .outcome = row->verdict, .ranks = "-" };
		a.withdrawn = row->withdrawn;
		a.over = row->over;
		CU_ASSERT_EQUAL(
			strstr(text_of(&a),
			       "hangar_late_seconds{job=\"j\",class=\"host-busy\","
			       "confidence=\"inconclusive\",rank=\"1\",host=\"n?1\"} 1.000\n") !=
				NULL,
			row->told);
	}
}

UNIT_TEST(test_slow, "ranks that are slow, until they are no more")
{
	struct run_alerts a = scene();
	char hosts[1][64] = { "node1" };
	int host_of[RANKS] = { 1, 1, 0 };

	pace.hosts = hosts;
	pace.nhosts = 1;
	pace.host_of = host_of;
	pace.nranks = RANKS;
	pace.nnamed = 3;
	for (int i = 0; i < 3; i++)
		pace.named[i] = (struct pace_named){
			.finding = { .rank = i, .excess = .25, .seconds = 60, .device = i },
			.printed = i < 2,
			.ended = false
		};
	CU_ASSERT_STRING_EQUAL(text_of(&a),
			       "hangar_slow_seconds{job=\"j\",class=\"slow-rank\",confidence="
			       "\"proved\",rank=\"0\",host=\"node1\"} 15.000\n"
			       "hangar_slow_seconds{job=\"j\",class=\"slow-rank\",confidence="
			       "\"majority\",rank=\"1\",host=\"node1\"} 15.000\n");
	pace.named[0].ended = pace.named[1].ended = true;
	a.job = "";
	CU_ASSERT_STRING_EQUAL(text_of(&a), "");
	CU_ASSERT_STRING_EQUAL(run_alerts_job(&a), "k");
}

UNIT_TEST(test_sweep, "files that no watcher writes any more go, and no others")
{
	static const struct {
		const char *name;
		bool old, kept;
	} rows[] = {
		{ "hangar-job-a-n.prom", true, false },	  { "hangar-job-b-n.prom", false, true },
		{ "hangar-job-c.prom.n.7", true, false }, { "hangar-job-d.txt", true, true },
		{ "hangar-all_reduce.prom", true, true },
	};
	struct utimbuf then = { time(NULL) - ALERTS_KEPT_S - 10, time(NULL) - ALERTS_KEPT_S - 10 };
	char path[UNIT_PATH];

	UNIT_ROWS(row, rows) {
		CU_ASSERT_EQUAL(unit_put(folder, row->name, "x", 1), 0);
		snprintf(path, sizeof(path), "%s/%s", folder, row->name);
		if (row->old)
			utime(path, &then);
	}
	run_alerts_sweep("/no/where");
	run_alerts_sweep(folder);
	UNIT_ROWS(row, rows) {
		snprintf(path, sizeof(path), "%s/%s", folder, row->name);
		CU_ASSERT_EQUAL(access(path, F_OK) == 0, row->kept);
	}
}

UNIT_MAIN(unit_main_folder(folder))
