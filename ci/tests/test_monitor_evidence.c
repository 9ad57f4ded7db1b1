/* test_monitor_evidence.c: what a judge on one node knows reaches the root's, before the verdict and after. */
#include "unit.h"

#include "nodes.h"
#include "verdict.h"

/* A judge that prints what it is told and has a word, and a text, for each of its ranks. */
static void words_testify(void *ctx, const struct rank_view *views,
			  const struct record_memory *const *memories, size_t n,
			  const struct monitor_pen *pen)
{
	(void)ctx;
	for (size_t i = 0; i < n; i++) {
		char word[64];

		snprintf(word, sizeof(word), "word of %d with %d", views[i].rank,
			 (int)memories[i]->header.rank);
		pen->write(pen->to, views[i].rank, word, strlen(word));
		pen->write(pen->to, 77, "of no rank here", 15); /* is not passed on */
	}
}

static void words_keep(void *ctx, const struct rank_view *views,
		       const struct record_memory *const *memories, size_t n, const char *folder,
		       const struct monitor_pen *pen)
{
	(void)ctx;
	(void)memories;
	for (size_t i = 0; i < n; i++)
		pen->write(pen->to, views[i].rank, "text", 4);
	printf("kept in '%s'\n", folder);
	fflush(stdout);
}

static void words_hear(void *ctx, int32_t rank, bool text, const void *data, size_t bytes)
{
	(void)ctx;
	printf("heard %s %d: %.*s\n", text ? "text" : "word", rank, (int)bytes, (const char *)data);
}

static void words_sharpen(void *ctx, const struct rank_view *views,
			  const struct record_memory *const *memories, size_t n,
			  struct verdict *verdict)
{
	(void)ctx;
	snprintf(verdict->evidence, sizeof(verdict->evidence), "folder");
	printf("sharpened");
	for (size_t i = 0; i < n; i++)
		printf(" %d%s", views[i].rank, memories[i] ? "" : " without memory");
	printf("\n");
}

static void words_save(void *ctx)
{
	(void)ctx;
	printf("saved\n");
}

/* What other nodes know is there before the verdict, what is slow after it; each keeps its own. */
static void test_evidence_crosses(void)
{
	static const char *const order[] = { "heard word 2: word of 2 with 2\n",
					     "heard word 3: word of 3 with 3\n",
					     "sharpened 0 1 2 without memory 3 without memory\n",
					     "# verdict: ",
					     "heard text 2: text\n",
					     "heard text 3: text\n",
					     "saved\n" };
	const char *at;

	seats_open(4);
	seats_config.judge = (struct monitor_judge){ .testify = words_testify,
						     .hear = words_hear,
						     .keep = words_keep,
						     .sharpen = words_sharpen,
						     .save = words_save };
	two_nodes();
	watch_enter(&seats[3].watch, "timed calls", 0.1);
	CU_ASSERT(seats_end(0, 3, OUTCOME_HANG));
	at = seat_said(0);
	for (size_t i = 0; i < sizeof(order) / sizeof(order[0]) && at; i++) {
		at = strstr(at, order[i]);
		CU_ASSERT_PTR_NOT_NULL(at);
	}
	CU_ASSERT_PTR_NULL(strstr(seat_said(0), "of no rank here"));
	CU_ASSERT_STRING_EQUAL(seat_said(2), "kept in 'folder'\n");
	seats_close();
}

int main(void)
{
	static const struct unit_case cases[] = {
		{ "evidence crosses", test_evidence_crosses },
	};

	return unit_main("monitor_evidence", cases, sizeof(cases) / sizeof(cases[0]));
}
