/* test_meeting.c: who lacks at communicator init, and whether those who came fit together. */
#include "unit.h"

#include "meeting.h"
#include "watch.h"

static void test_lacks(void)
{
	static const struct {
		struct rank_view view;
		bool lacks;
	} cases[] = {
		{ { .phase = PHASE_INIT, .comm_state = RECORD_COMM_NONE }, true },
		{ { .phase = PHASE_START, .comm_state = RECORD_COMM_NONE }, true },
		{ { .phase = PHASE_INIT, .process = PROCESS_STOPPED }, true },
		{ { .phase = PHASE_INIT, .comm_state = RECORD_COMM_INIT }, false },
		{ { .phase = PHASE_INIT, .comm_state = RECORD_COMM_FAILED }, false },
		{ { .phase = PHASE_ASIDE, .comm_state = RECORD_COMM_NONE }, false },
		{ { .phase = PHASE_DONE, .comm_state = RECORD_COMM_NONE }, false },
		{ { .phase = PHASE_INIT, .process = PROCESS_KILLED }, false },
		{ { .phase = PHASE_INIT, .process = PROCESS_EXITED }, false },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		CU_ASSERT_EQUAL(meeting_lacks(&cases[i].view), cases[i].lacks);
}

/* Of each rank "id:nranks"; id 0 has not called. */
static void test_complete(void)
{
	static const struct {
		size_t n;
		struct {
			uint64_t id;
			int nranks;
		} ranks[4];
		bool complete;
	} cases[] = {
		{ 0, { { 0 } }, true },
		{ 4, { { 7, 4 }, { 7, 4 }, { 7, 4 }, { 7, 4 } }, true },
		{ 4, { { 7, 2 }, { 8, 2 }, { 7, 2 }, { 8, 2 } }, true },  /* two groups */
		{ 4, { { 7, 3 }, { 7, 3 }, { 0, 0 }, { 7, 3 } }, true },  /* one aside */
		{ 4, { { 7, 4 }, { 7, 4 }, { 8, 4 }, { 7, 4 } }, false }, /* another id */
		{ 4, { { 7, 4 }, { 7, 3 }, { 7, 4 }, { 7, 4 } }, false }, /* another number */
		{ 4, { { 7, 3 }, { 7, 3 }, { 7, 3 }, { 7, 3 } }, false }, /* one too many */
		{ 4, { { 7, 4 }, { 7, 4 }, { 0, 0 }, { 7, 4 } }, false }, /* one too few */
		{ 4, { { 7, 1 }, { 8, 1 }, { 9, 1 }, { 7, 1 } }, false }, /* twice the same */
		{ 1, { { 7, -1 } }, false },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct rank_view views[4] = { 0 };
		const struct rank_view *all[4];

		for (size_t r = 0; r < cases[i].n; r++) {
			views[r].init_id = cases[i].ranks[r].id;
			views[r].init_nranks = cases[i].ranks[r].nranks;
			all[r] = &views[r];
		}
		CU_ASSERT_EQUAL(meeting_complete(all, cases[i].n), cases[i].complete);
	}
}

int main(void)
{
	static const struct unit_case cases[] = {
		{ "who lacks", test_lacks },
		{ "groups that fit", test_complete },
	};

	return unit_main("meeting", cases, sizeof(cases) / sizeof(cases[0]));
}
