/* test_groups.c: ranks in groups with a communicator each are compared within their group. */
#include "calls_played.h"

/* Ranks of `groups` groups in turn, as NCCL_TESTS_SPLIT='MOD groups' makes them, behind ten calls. */
static void in_groups(int nranks, int groups)
{
	calls_set_up(nranks);
	for (int i = 0; i < nranks; i++) {
		struct rank_view *v = &evidence.ranks[i].view;

		v->init_id = 7 + (uint64_t)(i % groups);
		v->init_nranks = (nranks - i % groups + groups - 1) / groups;
		v->init_rank = i / groups;
		v->comm_state = RECORD_COMM_READY;
		play(i, 30, step_count, false);
		strcpy(v->what, "the end");
	}
}

UNIT_TEST(test_missing, "a call is missing in one")
{
	for (int culprit = 0; culprit < 8; culprit++) {
		char name[16];

		in_groups(8, 2);
		for (int i = culprit % 2; i < 8; i += 2) {
			play(i, i == culprit ? OP - 1 : OP, step_count, i != culprit);
			strcpy(evidence.ranks[i].view.what, "timed calls");
		}
		strcpy(evidence.ranks[culprit].syscall, "futex");
		evidence.ranks[culprit].state = 'S';
		snprintf(name, sizeof(name), "%d", culprit);
		expect(OUTCOME_HANG, "host-blocked", name, OP, OP, OP);
		UNIT_ALL(!strcmp(confidence_name(found.confidence), "proved"),
			 said("3 of 4 ranks made call 20 "),
			 said(culprit % 2 ? "There are 2 groups with a communicator each; this is "
					    "of ranks 1,3,5,7."
					  : "There are 2 groups with a communicator each; this is "
					    "of ranks 0,2,4,6."));
	}
}

/* One against one: the other group has no vote. */
UNIT_TEST(test_tie, "a tie in one")
{
	in_groups(4, 2);
	play(1, OP, step_count, true);
	play(3, OP, step_count, true);
	evidence.ranks[1].calls[OP - 1].count++;
	finish();
	finds("* mismatch * inconclusive");
	CU_ASSERT(said("Rank 3 made call 20 of communicator 0 as "));
}

/* Ranks 1 and 5, first and third of their group, lack the call in which rank 3 waits. */
UNIT_TEST(test_partners, "partners")
{
	in_groups(6, 2);
	for (int i = 1; i < 6; i += 2) {
		play(i, OP, odd_count, false);
		strcpy(evidence.ranks[i].view.what, "timed calls");
	}
	evidence.ranks[3].calls[OP - 1].kind = CALL_RECV;
	evidence.ranks[3].calls[OP - 1].peer = 2;
	evidence.ranks[3].view.completed = OP - 1;
	for (int i = 1; i < 6; i += 4) {
		evidence.ranks[i].ncalls = OP - 1;
		evidence.ranks[i].view.issued = evidence.ranks[i].view.completed = OP - 1;
	}
	strcpy(evidence.ranks[5].syscall, "read");
	evidence.ranks[5].state = 'S';
	finish();
	UNIT_ALL(found.outcome == OUTCOME_HANG, !strcmp(found.ranks, "1,5"),
		 said("1 of 3 ranks made call 20 "));
}

/* Calls of another group are its own affair; and the hung rank is not always in the first. */
UNIT_TEST(test_groups_differ, "groups differ")
{
	in_groups(6, 3);
	for (int i = 0; i < 6; i++) {
		play(i, 30, i % 3 ? step_count : odd_count, false);
		evidence.ranks[i].view.process = PROCESS_EXITED;
		evidence.ranks[i].view.outcome = evidence.ranks[i].view.status = OUTCOME_OK;
	}
	finish();
	UNIT_ALL(found.outcome == OUTCOME_OK, !strcmp(found.ranks, "-"), found.nnotes == 0);
}

/* Not groups: a rank with an id of its own that asked for all. */
UNIT_TEST(test_no_groups, "no groups")
{
	in_groups(4, 1);
	evidence.ranks[2].view.init_id = 99;
	finish();
	finds("* init-mismatch 2 *");
}

/* A rank of the second group died, one of the first is blocked behind it; and one died that is in none. */
UNIT_TEST(test_death, "a death")
{
	for (int inside = 0; inside < 2; inside++) {
		in_groups(6, 2);
		for (int i = 0; i < 6; i += 2)
			play(i, i == 2 ? OP - 1 : OP, step_count, i != 2);
		evidence.ranks[5].view.process = PROCESS_KILLED;
		evidence.ranks[5].view.status = 9;
		if (!inside) {
			evidence.ranks[5].view.init_id = 0;
			evidence.ranks[1].view.init_nranks = evidence.ranks[3].view.init_nranks = 2;
		}
		finish();
		finds("died rank-killed 5 *");
	}
}

/* Nothing is known of a rank: it is not taken for one of another group. */
UNIT_TEST(test_absent, "a rank is absent")
{
	in_groups(4, 2);
	evidence.ranks[3].present = false;
	evidence.ranks[3].view = (struct rank_view){ 0 };
	finish();
	CU_ASSERT(said("Nothing is known of rank 3 (1 of 4 ranks)."));
}
