/* test_arrivals.c: who lacks at communicator init, and whether those who came fit together. */

#include "rig/unit.h"

#include "base/call_value.h"
#include "run/progress.h"
#include "process/watch.h"

UNIT_TEST(test_lacks, "who lacks")
{
	static const struct {
		struct rank_view view;
		bool lacks;
	} cases[] = {
		{ { .phase = PHASE_SETUP, .comm_state = RECORD_COMM_NONE },
		  true }, /* where ranks are then */
		{ { .phase = PHASE_INIT, .comm_state = RECORD_COMM_NONE }, true },
		{ { .phase = PHASE_START, .comm_state = RECORD_COMM_NONE }, true },
		{ { .phase = PHASE_INIT, .process = PROCESS_STOPPED }, true },
		{ { .phase = PHASE_INIT, .comm_state = RECORD_COMM_INIT }, false },
		{ { .phase = PHASE_INIT, .comm_state = RECORD_COMM_FAILED }, false },
		{ { .phase = PHASE_SPARE, .comm_state = RECORD_COMM_NONE }, false },
		{ { .phase = PHASE_DONE, .comm_state = RECORD_COMM_NONE }, false },
		{ { .phase = PHASE_INIT, .process = PROCESS_KILLED }, false },
		{ { .phase = PHASE_INIT, .process = PROCESS_EXITED }, false },
	};

	UNIT_ROWS(c, cases)
		CU_ASSERT_EQUAL(progress_lacks_init(&c->view), c->lacks);
}

/* "id:nranks" of each rank; id 0 has not called. */
UNIT_TEST(test_incomplete, "groups that do not fit")
{
	static const struct {
		size_t n;
		struct {
			uint64_t id;
			int nranks;
		} ranks[4];
		size_t left;
	} cases[] = {
		{ 0, { { 0 } }, 0 },
		{ 4, { { 7, 4 }, { 7, 4 }, { 7, 4 }, { 7, 4 } }, 0 },
		{ 4, { { 7, 2 }, { 8, 2 }, { 7, 2 }, { 8, 2 } }, 0 }, /* two groups */
		{ 4, { { 7, 3 }, { 7, 3 }, { 0, 0 }, { 7, 3 } }, 0 }, /* one aside */
		{ 4, { { 7, 4 }, { 7, 4 }, { 8, 4 }, { 7, 4 } }, 4 }, /* another id */
		{ 4, { { 7, 4 }, { 7, 3 }, { 7, 4 }, { 7, 4 } }, 4 }, /* another number */
		{ 4, { { 7, 3 }, { 7, 3 }, { 7, 3 }, { 7, 3 } }, 4 }, /* one too many */
		{ 4, { { 7, 4 }, { 7, 4 }, { 0, 0 }, { 7, 4 } }, 3 }, /* one too few */
		{ 4, { { 7, 1 }, { 8, 1 }, { 9, 1 }, { 7, 1 } }, 2 }, /* twice the same */
		{ 1, { { 7, -1 } }, 1 },
	};

	UNIT_ROWS(c, cases) {
		struct rank_view views[4] = { 0 };
		const struct rank_view *unequal[4];
		struct progress p = progress_of(views, sizeof(*views), c->n);

		for (size_t r = 0; r < c->n; r++) {
			views[r].init_id = c->ranks[r].id;
			views[r].init_nranks = c->ranks[r].nranks;
		}
		CU_ASSERT_EQUAL(progress_init_unequal(&p, unequal), c->left);
		free(p.ranks);
	}
}

/* Each rank: did it come, with how many ranks, by which id. */
static struct rank_view came(uint64_t id, int nranks)
{
	return (struct rank_view){ .phase = PHASE_SETUP,
				   .comm_state = id ? RECORD_COMM_INIT : RECORD_COMM_NONE,
				   .init_id = id,
				   .init_nranks = nranks };
}

/* Tells if the rank waits for ranks that never come to its newest call. */
static enum progress_answer abandoned_by(const struct progress *p, const struct rank_view *waiting)
{
	struct awaited call = progress_awaited(p, waiting);
	struct missing missing;

	return progress_missing(&call, NULL, &missing);
}

static enum arrivals init_of(const struct rank_view *views, int n, int nranks)
{
	struct progress p = progress_of(views, sizeof(*views), (size_t)n);
	enum arrivals how = progress_init(&p, nranks);

	free(p.ranks);
	return how;
}

UNIT_TEST(test_init, "who came to init")
{
	struct rank_view views[5] = {
		came(7, 4), came(7, 4), came(7, 4), came(0, 0), { .rank = -1, .phase = PHASE_SPARE }
	};

	CU_ASSERT_EQUAL(init_of(views, 4, 4), ARRIVALS_MISSING);
	CU_ASSERT_EQUAL(init_of(views, 3, 4), ARRIVALS_OPEN);	 /* not all are known */
	CU_ASSERT_EQUAL(init_of(views, 5, 4), ARRIVALS_MISSING); /* with a surplus rank */
	views[3].descheduled = 1;
	CU_ASSERT_EQUAL(init_of(views, 4, 4), ARRIVALS_OPEN);
	views[3] = came(7, 4);
	CU_ASSERT_EQUAL(init_of(views, 4, 4), ARRIVALS_COMPLETE);
	CU_ASSERT_EQUAL(init_of(views, 5, 4), ARRIVALS_COMPLETE);
	views[3] = came(8, 4);
	CU_ASSERT_EQUAL(init_of(views, 5, 4), ARRIVALS_MISMATCH);
	/* two groups, of which one has not begun */
	views[0] = views[1] = came(7, 2);
	views[2] = views[3] = came(0, 0);
	CU_ASSERT_EQUAL(init_of(views, 4, 4), ARRIVALS_OPEN);
	views[2] = came(8, 2);
	CU_ASSERT_EQUAL(init_of(views, 4, 4), ARRIVALS_MISSING);
}

/* A rank by a letter, on communicator `comm`: I in its first call, P through it, A could make it; D its host
 * does not let it, W is at work that it announced, N is not through init, O in a call on another one, R through
 * it in the same step, V in sends and receives, E waits for its device; S
 * stopped in the call, s before it; a digit: it receives from that rank; a capital X is no member. */
static struct rank_view stands(char letter, uint32_t comm, int rank, int nranks)
{
	bool pair = letter >= '0' && letter <= '9', in = pair || strchr("IS", letter) != NULL;
	struct rank_view view = {
		.rank = rank,
		.process = letter == 'S' || letter == 's' ? PROCESS_STOPPED : PROCESS_ALIVE,
		.waiting = 1,
		.working = letter == 'W',
		.descheduled = letter == 'D',
		.issued = letter == 'A' ? 4 : 5,
		.completed = in || strchr("OREV", letter) ? 4 : 5,
		.device_wait = letter == 'E' ? RECORD_DEVICE_AWAITED : RECORD_DEVICE_UNKNOWN,
		.last = { .ticket = 5,
			  .seq = 1,
			  .comm = (uint16_t)(in ? comm : comm + 1),
			  .state = strchr("REV", letter) ? RECORD_RETURNED : RECORD_ISSUING,
			  .kind = pair || letter == 'V' ? CALL_RECV : CALL_ALL_GATHER,
			  .peer = pair ? letter - '0' : -1 },
	};

	if (letter == 'A' || letter == 's')
		view.completed = view.issued;
	view.comms[comm] =
		(struct view_comm){ .id = letter == 'X' ? 8 : 7,
				    .seq = in || letter == 'P',
				    .calls = !pair && (in || letter == 'P'),
				    .rank = rank,
				    .nranks = nranks,
				    .state = letter == 'N' ? RECORD_COMM_INIT : RECORD_COMM_READY };
	return view;
}

UNIT_TEST(test_first_call, "the first call")
{
	static const struct {
		const char *ranks; /* the first one waits */
		int nranks;
		bool abandoned;
	} cases[] = {
		{ "IIII", 4, false }, { "IIIA", 4, true },  { "IAPI", 4, true },
		{ "IAAI", 4, true },  { "IIAD", 4, false }, { "IIAW", 4, false },
		{ "IIAN", 4, false }, { "IIAO", 4, false }, { "IIRI", 4, true },
		{ "IIVI", 4, false }, { "IIEI", 4, false }, { "IISI", 4, true },
		{ "IIsI", 4, true },  { "IIAs", 4, true },  { "IPPP", 4, false },
		{ "IIA", 4, false }, /* one is not known */
		{ "IAXI", 3, true },  { "IXXI", 2, false }, { "IXDA", 3, false },
		{ "1A00", 4, true },  { "2A00", 4, false }, /* its partner came */
		{ "1P00", 4, true },
	};

	UNIT_ROWS(c, cases)
		for (uint32_t comm = 0; comm < 2; comm++) {
			struct rank_view views[4] = { 0 };
			struct progress p;
			int n = (int)strlen(c->ranks);
			bool abandoned;

			for (int r = 0; r < n; r++)
				views[r] = stands(c->ranks[r], comm, r, c->nranks);
			p = progress_of(views, sizeof(*views), (size_t)n);
			CU_ASSERT_TRUE_FATAL(progress_in_first_call(&views[0]));
			abandoned = abandoned_by(&p, &views[0]) == PROGRESS_YES;
			UNIT_ALL(abandoned == c->abandoned,
				 (progress_first_call(&p, n) == ARRIVALS_ABSENT) ==
					 (c->abandoned && comm == 0));
			views[0].last.seq = 3; /* it has made two before */
			CU_ASSERT_FALSE(progress_in_first_call(&views[0]));
			free(p.ranks);
		}
}

/* Ranks that came, that never come, that may: the first rank waits. */
UNIT_TEST(test_missing, "the members of a call")
{
	static const struct {
		const char *ranks;
		enum progress_answer abandoned;
	} cases[] = {
		{ "IIII", PROGRESS_NO },  { "IIAD", PROGRESS_NO },     { "IIAW", PROGRESS_NO },
		{ "IAAI", PROGRESS_YES }, { "IIA", PROGRESS_UNKNOWN }, { "IXAI", PROGRESS_UNKNOWN },
	};

	UNIT_ROWS(c, cases) {
		struct rank_view views[4] = { 0 };
		struct progress p;
		int n = (int)strlen(c->ranks);

		for (int r = 0; r < n; r++)
			views[r] = stands(c->ranks[r], 0, r, 4);
		p = progress_of(views, sizeof(*views), (size_t)n);
		CU_ASSERT_EQUAL(abandoned_by(&p, &views[0]), c->abandoned);
		free(p.ranks);
	}
}

/* A rank of a program that announces nothing: calls made, and the oldest that is open, 0: none. */
static struct rank_view made(uint64_t seq, uint64_t open)
{
	struct rank_view view = { .open_seq = open };

	view.comms[3] =
		(struct view_comm){ .id = 7, .seq = seq, .calls = seq, .state = RECORD_COMM_READY };
	view.oldest =
		(struct record){ .ticket = open, .seq = open, .comm = 3, .kind = CALL_ALL_REDUCE };
	return view;
}

/* The answer of the first rank about the second. */
static enum progress_answer waits(struct rank_view first, struct rank_view second)
{
	struct rank_view views[2] = { first, second };
	struct progress p = progress_of(views, sizeof(*views), 2);
	enum progress_answer answer = progress_waits_for(&p, 0, 1);

	free(p.ranks);
	return answer;
}

UNIT_TEST(test_waits_for, "which rank waits for which")
{
	struct rank_view waiting = made(5, 5), late = made(4, 0), other = made(4, 0);

	UNIT_ALL(waits(waiting, late) == PROGRESS_YES, waits(waiting, made(5, 5)) == PROGRESS_NO,
		 waits(late, waiting) == PROGRESS_NO);
	other.comms[3].id = 8; /* no member */
	CU_ASSERT_EQUAL(waits(waiting, other), PROGRESS_NO);
	other.comms[VIEW_COMMS - 1].id = 9; /* it may have more communicators than the view holds */
	CU_ASSERT_EQUAL(waits(waiting, other), PROGRESS_UNKNOWN);
	late.comms[3].calls = 3; /* a send among them: numbers differ by right */
	CU_ASSERT_EQUAL(waits(waiting, late), PROGRESS_UNKNOWN);
	waiting.oldest.comm = VIEW_COMMS; /* its communicator is not in the view */
	CU_ASSERT_EQUAL(waits(waiting, late), PROGRESS_UNKNOWN);
}
