/* test_postmortem.c: what the screen, verdict.json and postmortem.md say beside the diagnosis: the
 * errors that ranks reported, hostile ones too; where the picture is. */
#include "rig/evidence_saved.h"

#include <jansson.h>

#include "find/find.h"
#include "answer/postmortem.h"

static struct answer diagnosis;

static const char *contents(const char *name)
{
	char path[UNIT_PATH];

	snprintf(path, sizeof(path), "%s/%s", saved_dir, name);
	return unit_text(path);
}

/* The text that hang_diagnose prints. */
static const char *screen(const struct evidence *e)
{
	static char text[1 << 16];
	FILE *f = fmemopen(text, sizeof(text), "w");

	CU_ASSERT_PTR_NOT_NULL_FATAL(f);
	answer_print_whole(f, &diagnosis, e, "DIR/postmortem.md");
	fclose(f);
	return text;
}

static json_t *verdict(void)
{
	json_t *top = json_loads(contents("verdict.json"), 0, NULL);

	CU_ASSERT_PTR_NOT_NULL_FATAL(top);
	return top;
}

static void report(const struct evidence *e)
{
	find_answer(e, NULL, &diagnosis);
	CU_ASSERT_FATAL(answer_save(&diagnosis, e, saved_dir, &saved_err) >= 0);
}

/* Cause, fix and prevention are folded, and nothing is lost of them. */
UNIT_TEST(test_folded, "folded")
{
	static const char sentence[] = "Put no collective behind a condition that ranks can "
				       "evaluate differently: all-reduce it first, and "
				       "aWordThatIsLongerThanAnyLineOf88CharactersCouldEverBecomeAn"
				       "dSoIsCutWhereItIsFullWithoutAnyRegardForIt "
				       "at last.";
	char text[1 << 12] = "", *line, *rest = text;
	FILE *f = fmemopen(text, sizeof(text), "w");
	size_t cuts = 0;

	CU_ASSERT_PTR_NOT_NULL_FATAL(f);
	report_folded(f, "prevention", sentence);
	fclose(f);
	while ((line = strsep(&rest, "\n")) && *line && (cuts == 0 || line[0] == ' ')) {
		cuts++;
		UNIT_ALL(strlen(line) <= 100, line[12] != ' ');
	}
	UNIT_ALL(cuts == 4, !strncmp(text + 12, "Put no collective behind", 24));
}

/* The error as its rank told it, and as a report may show it. */
static void expect_error(const struct evidence *e, const char *plain, const char *markdown)
{
	char line[400];
	json_t *top, *entry;

	report(e);
	snprintf(line, sizeof(line), "\nreported    rank 1: %s\n", plain);
	CU_ASSERT_PTR_NOT_NULL(strstr(screen(e), line));
	snprintf(line, sizeof(line), "\n- Rank 1 reported: %s\n", markdown);
	CU_ASSERT_PTR_NOT_NULL(strstr(contents("postmortem.md"), line));
	top = verdict();
	CU_ASSERT_EQUAL_FATAL(json_array_size(json_object_get(top, "reported")), 1);
	entry = json_array_get(json_object_get(top, "reported"), 0);
	CU_ASSERT_EQUAL(json_integer_value(json_object_get(entry, "rank")), 1);
	CU_ASSERT_STRING_EQUAL(json_string_value(json_object_get(entry, "text")), plain);
	json_decref(top);
}

/* Live, and from saved evidence. */
UNIT_TEST(test_errors, "errors that ranks reported")
{
	static const struct {
		const char *told, *plain, *markdown;
	} rows[] = {
		{ "MPI_Wait failed: MPI_ERR_TRUNCATE: message truncated",
		  "MPI_Wait failed: MPI_ERR_TRUNCATE: message truncated",
		  "MPI_Wait failed: MPI_ERR_TRUNCATE: message truncated" },
		{ "a\n# Root cause\r\n\t\"b\"\x1b[2J\x7f\xff\xc2\x9b",
		  "a?# Root cause???\"b\"?[2J????", "a?# Root cause???\"b\"?[2J????" },
		{ "<b>|`x`*", "<b>|`x`*", "?b???x??" },
	};

	UNIT_ROWS(row, rows) {
		saved_set_up();
		strcpy(saved.ranks[1].view.error, row->told);
		expect_error(&saved, row->plain, row->markdown);
		CU_ASSERT_EQUAL(evidence_save(&saved, saved_dir, &saved_err), 0);
		CU_ASSERT_EQUAL_FATAL(saved_load(), 0);
		expect_error(&loaded, row->plain, row->markdown);
		saved_tear_down();
	}
}

/* As long as its field, and not ended. */
UNIT_TEST(test_endless, "an error without end")
{
	char text[sizeof(saved.ranks->view.error) + 1] = "";

	saved_set_up();
	memset(saved.ranks[1].view.error, 'e', sizeof(saved.ranks[1].view.error));
	memset(text, 'e', sizeof(text) - 1);
	expect_error(&saved, text, text);
	saved_tear_down();
}

/* No rank reported anything; then more did than are shown, the culprits before all others. */
UNIT_TEST(test_how_many, "how many are shown")
{
	enum { MANY = 20 };
	json_t *top;

	saved_set_up();
	report(&saved);
	CU_ASSERT_PTR_NULL(strstr(screen(&saved), "reported"));
	CU_ASSERT_PTR_NULL(strstr(contents("postmortem.md"), "reported"));
	top = verdict();
	CU_ASSERT(json_is_array(json_object_get(top, "reported")));
	CU_ASSERT_EQUAL(json_array_size(json_object_get(top, "reported")), 0);
	json_decref(top);
	saved.ranks = realloc(saved.ranks, MANY * sizeof(*saved.ranks));
	memset(saved.ranks + RANKS, 0, (MANY - RANKS) * sizeof(*saved.ranks));
	saved.nranks = MANY;
	for (int i = 0; i < MANY; i++) {
		saved.ranks[i].present = true;
		snprintf(saved.ranks[i].view.error, 32, "error of %d", i);
	}
	strcpy(diagnosis.ranks, "18");
	UNIT_ALL(answer_save(&diagnosis, &saved, saved_dir, &saved_err) >= 0,
		 strstr(screen(&saved), "\nreported    rank 18: error of 18\n"
					"reported    rank 0: error of 0\n") != NULL,
		 strstr(screen(&saved), "\nreported    rank 14: error of 14\n"
					"reported    4 more ranks reported errors\n") != NULL,
		 strstr(contents("postmortem.md"), "\n- Rank 14 reported: error of 14\n"
						   "- 4 more ranks reported errors.\n") != NULL);
	top = verdict();
	CU_ASSERT_EQUAL(json_array_size(json_object_get(top, "reported")), 16);
	json_decref(top);
	saved_tear_down();
}

/* No picture is pointed to where there is nothing to draw: no calls, or none whose times can be.
 * The calls of one rank are enough for one. */
UNIT_TEST(test_no_picture, "no picture without calls")
{
	saved_set_up();
	for (int i = 0; i < RANKS; i++)
		saved.ranks[i].view.seen_ns =
			saved.ranks[i].calls[saved.ranks[i].ncalls - 1].returned_ns;
	report(&saved);
	CU_ASSERT_PTR_NOT_NULL(strstr(contents("postmortem.md"), "timeline.png"));
	for (int i = 0; i < RANKS; i++) {
		CU_ASSERT_EQUAL(answer_save(&diagnosis, &saved, saved_dir, &saved_err), 1);
		for (size_t k = 0; k < saved.ranks[i].ncalls; k++)
			saved.ranks[i].calls[k].enqueued_ns = 0;
		if (i == 0)
			saved.ranks[i].ncalls = 0;
	}
	CU_ASSERT_EQUAL(answer_save(&diagnosis, &saved, saved_dir, &saved_err), 0);
	CU_ASSERT_PTR_NULL(strstr(contents("timeline.csv"), "\ncall,"));
	CU_ASSERT_PTR_NULL(strstr(contents("postmortem.md"), "timeline.png"));
	CU_ASSERT_PTR_NULL(strstr(contents("postmortem.md"), "plots/plot"));
	CU_ASSERT_PTR_NOT_NULL(strstr(contents("postmortem.md"), "### Timeline\n\nNo call"));
	CU_ASSERT(answer_save(&diagnosis, &saved, "/nowhere/at/all", &saved_err) < 0);
	saved_tear_down();
}
