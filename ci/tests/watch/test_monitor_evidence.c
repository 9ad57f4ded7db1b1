/* test_monitor_evidence.c: a diagnoser's knowledge reaches the root's, also after the verdict. */
/* quiet: asserts that something happens within a fraction of a second */
#include "rig/unit.h"

#include "nodes.h"
#include "answer/answer.h"

/* A diagnoser that prints what it is told and has a word, and a text, for each of its ranks. */
static void words_testify(void *ctx, const struct rank_view *views,
			  const struct record_memory *const *memories, size_t n,
			  struct monitor *monitor)
{
	for (size_t i = 0; i < n; i++) {
		char word[64];

		snprintf(word, sizeof(word), "word of %d with %d", views[i].rank,
			 (int)memories[i]->header.rank);
		monitor_send_evidence(monitor, views[i].rank, EVIDENCE_TAIL, word, strlen(word));
		monitor_send_evidence(monitor, 77, EVIDENCE_TAIL, "of no rank here",
				      15); /* is not passed on */
	}
}

static void words_keep(void *ctx, const struct rank_view *views,
		       const struct record_memory *const *memories, size_t n, const char *folder,
		       struct monitor *monitor)
{
	for (size_t i = 0; i < n; i++)
		monitor_send_evidence(monitor, views[i].rank, EVIDENCE_STACK, "text", 4);
	monitor_send_evidence(monitor, views[0].rank, EVIDENCE_COUNTERS, "seven", 5);
	printf("kept in '%s'\n", folder);
	fflush(stdout);
}

static void words_hear(void *ctx, int32_t rank, enum evidence_kind kind, const void *data,
		       size_t bytes)
{
	static const char *const names[] = { "word", "text", "count" };

	printf("heard %s %d: %.*s\n", names[kind], rank, (int)bytes, (const char *)data);
}

static enum diagnosis_result words_sharpen(void *ctx, const struct rank_view *views,
					   const struct record_memory *const *memories, size_t n,
					   struct answer *verdict)
{
	snprintf(verdict->evidence, sizeof(verdict->evidence), "folder");
	printf("sharpened");
	for (size_t i = 0; i < n; i++)
		printf(" %d%s", views[i].rank, memories[i] ? "" : " without memory");
	printf("\n");
	return verdict->class != CLASS_UNEXPLAINED ? DIAGNOSIS_NAMED : DIAGNOSIS_UNEXPLAINED;
}

static void words_save(void *ctx, struct answer *answer)
{
	printf("saved\n");
}

/* Other nodes' evidence is there before the verdict, the slow part after it; each keeps its own. */
UNIT_TEST(test_evidence_crosses, "evidence crosses")
{
	static const char *const order[] = { "heard word 2: word of 2 with 2\n",
					     "heard word 3: word of 3 with 3\n",
					     "sharpened 0 1 2 without memory 3 without memory\n",
					     "# verdict: ",
					     "heard text 2: text\n",
					     "heard text 3: text\n",
					     "heard count 2: seven\n",
					     "saved\n" };
	const char *at;

	seats_open(4);
	seats_config.client = (struct monitor_client){ .collect = words_testify,
						       .on_evidence = words_hear,
						       .save_local = words_keep,
						       .refine = words_sharpen,
						       .save = words_save };
	two_nodes();
	watch_enter(&seats[3].watch, "timed calls", 0.1);
	CU_ASSERT(seats_end(0, 3, OUTCOME_HANG));
	at = seat_said(0);
	for (size_t i = 0; i < LENGTH(order) && at; i++) {
		at = strstr(at, order[i]);
		CU_ASSERT_PTR_NOT_NULL(at);
	}
	CU_ASSERT_PTR_NULL(strstr(seat_said(0), "of no rank here"));
	CU_ASSERT_STRING_EQUAL(seat_said(2), "kept in 'folder'\n");
	seats_close();
}

/* Looks, and finds no cause. */
static enum diagnosis_result puzzled_sharpen(void *ctx, const struct rank_view *views,
					     const struct record_memory *const *memories, size_t n,
					     struct answer *verdict)
{
	printf("looked\n");
	fflush(stdout);
	return verdict->class != CLASS_UNEXPLAINED ? DIAGNOSIS_NAMED : DIAGNOSIS_UNEXPLAINED;
}

static void puzzled_place(void *ctx, struct answer *verdict, const char *side)
{
	snprintf(verdict->evidence, sizeof(verdict->evidence), "placed");
}

/* How often it says so at most: each look is later than the one before. */
static int looks(const char *said)
{
	int n = 0;

	while ((said = strstr(said, "looked\n")) != NULL) {
		said++;
		n++;
	}
	return n;
}

/* On two hosts: the root doubts the other one's wait; a death there is told at once. */
UNIT_TEST(test_far_death_in_doubt, "a far death in doubt")
{
	double begin;

	seats_open(4);
	seats_config.client = (struct monitor_client){ .refine = puzzled_sharpen,
						       .reserve_folder = puzzled_place };
	seats_config.decide.extensions = true;
	two_nodes();
	watch_enter(&seats[3].watch, "timed calls", 1.5);
	SOON(looks(seat_said(0)) == 1);
	clock_sleep(0.1);
	begin = clock_seconds();
	rank_ends(2, SIGKILL);
	CU_ASSERT(seats_end(0, 3, OUTCOME_DIED));
	CU_ASSERT(unit_in_time(clock_seconds() - begin,
			       0.6)); /* the next look is 0.75 s and more away */
	CU_ASSERT_PTR_NULL(strstr(seat_said(0), "outcome=hang"));
	seats_close();
}
