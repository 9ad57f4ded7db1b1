/* test_rendezvous.c: who lacks at communicator init, and whether those who came fit together. */

#include "rig/unit.h"

#include "base/call_value.h"
#include "watch/rendezvous.h"
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
		CU_ASSERT_EQUAL(rendezvous_missing(&c->view), c->lacks);
}

/* Of each rank "id:nranks"; id 0 has not called. */
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
		const struct rank_view *all[4];

		for (size_t r = 0; r < c->n; r++) {
			views[r].init_id = c->ranks[r].id;
			views[r].init_nranks = c->ranks[r].nranks;
			all[r] = &views[r];
		}
		CU_ASSERT_EQUAL(rendezvous_incomplete(all, c->n), c->left);
	}
}

/* Of each rank whether it came, with how many ranks, by which id. */
static struct rank_view came(uint64_t id, int nranks)
{
	return (struct rank_view){ .phase = PHASE_SETUP,
				   .comm_state = id ? RECORD_COMM_INIT : RECORD_COMM_NONE,
				   .init_id = id,
				   .init_nranks = nranks };
}

UNIT_TEST(test_rendezvous_of, "how they meet")
{
	struct rank_view views[5] = {
		came(7, 4), came(7, 4), came(7, 4), came(0, 0), { .rank = -1, .phase = PHASE_SPARE }
	};

	CU_ASSERT_EQUAL(rendezvous_of(views, 4, 4), RENDEZVOUS_MISSING);
	CU_ASSERT_EQUAL(rendezvous_of(views, 3, 4), RENDEZVOUS_OPEN);	 /* not all are known */
	CU_ASSERT_EQUAL(rendezvous_of(views, 5, 4), RENDEZVOUS_MISSING); /* with a surplus rank */
	views[3].descheduled = 1;
	CU_ASSERT_EQUAL(rendezvous_of(views, 4, 4), RENDEZVOUS_OPEN);
	views[3] = came(7, 4);
	CU_ASSERT_EQUAL(rendezvous_of(views, 4, 4), RENDEZVOUS_COMPLETE);
	CU_ASSERT_EQUAL(rendezvous_of(views, 5, 4), RENDEZVOUS_COMPLETE);
	views[3] = came(8, 4);
	CU_ASSERT_EQUAL(rendezvous_of(views, 5, 4), RENDEZVOUS_MISMATCH);
	/* two groups, of which one has not begun */
	views[0] = views[1] = came(7, 2);
	views[2] = views[3] = came(0, 0);
	CU_ASSERT_EQUAL(rendezvous_of(views, 4, 4), RENDEZVOUS_OPEN);
	views[2] = came(8, 2);
	CU_ASSERT_EQUAL(rendezvous_of(views, 4, 4), RENDEZVOUS_MISSING);
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
			struct gathering g = { 0 };
			size_t n = strlen(c->ranks);

			for (size_t r = 0; r < n; r++)
				views[r] = stands(c->ranks[r], comm, (int)r, c->nranks);
			CU_ASSERT_TRUE_FATAL(rendezvous_in_first_call(&views[0]));
			for (size_t r = 0; r < n; r++)
				rendezvous_gather(&g, &views[0], &views[r]);
			UNIT_ALL(rendezvous_abandoned(&g, &views[0]) == c->abandoned,
				 (rendezvous_first_call(views, n, (int)n) == RENDEZVOUS_ABSENT) ==
					 (c->abandoned && comm == 0));
			views[0].last.seq = 3; /* it has made two before */
			CU_ASSERT_FALSE(rendezvous_in_first_call(&views[0]));
		}
}
