/* test_evidence_probe.c: what live processes do: state, system call, share of a processor. */
/* alone: asserts that something happens within a fraction of a second */
#include "rig/evidence_saved.h"

#include "base/clock.h"

/* Returns for how long the second half took, in seconds. */
static double probe_in_two_halves(const pid_t *pids)
{
	struct evidence_probe probe = { 0 };
	double begin;

	for (int i = 0; i < RANKS; i++)
		evidence_probe_add(&probe, pids[i]);
	usleep(120000);
	saved.ranks[2].remote = true;
	saved.ranks[2].state = 'x';
	begin = clock_seconds();
	evidence_probe(saved.ranks, RANKS, &probe);
	begin = clock_seconds() - begin;
	UNIT_ALL(saved.ranks[0].cpu_share >= 0 &&
			 saved.ranks[0].cpu_share<0.2, saved.ranks[1].cpu_share> 0.1,
		 saved.ranks[2].state == 'x');
	CU_ASSERT_EQUAL(probe.begin_ns, 0);
	return begin;
}

UNIT_TEST(test_probe, "probing live processes")
{
	static const struct {
		char state;
		double least, most;
	} expected[RANKS] = { { 'S', 0, 0.2 }, { 'R', 0.1, 1.2 }, { 'T', 0, 0.2 } };
	pid_t pids[RANKS];
	double shortest = 1;

	saved_set_up();
	for (int i = 0; i < RANKS; i++) {
		pids[i] = fork();
		if (pids[i] == 0) {
			if (i == 0)
				pause();
			if (i == 2)
				raise(SIGSTOP);
			for (;;)
				;
		}
		saved.ranks[i].view.pid = pids[i];
		saved.ranks[i].view.host[0] = '\0';
	}
	usleep(100000);
	evidence_probe(saved.ranks, RANKS, &(struct evidence_probe){ 0 });
	for (int i = 0; i < RANKS; i++) {
		CU_ASSERT_EQUAL(saved.ranks[i].state, expected[i].state);
		CU_ASSERT(saved.ranks[i].cpu_share >= expected[i].least);
		CU_ASSERT(saved.ranks[i].cpu_share <= expected[i].most);
	}
	for (int i = 0; i < 5 && shortest >= 0.1; i++)
		shortest = fmin(shortest, probe_in_two_halves(pids));
	unit_in_time(shortest, 0.1); /* which a first half of its own would last */
	for (int i = 0; i < RANKS; i++) {
		kill(pids[i], SIGKILL);
		waitpid(pids[i], NULL, 0);
	}
	printf(" in '%s' ", saved.ranks[0].syscall);
	CU_ASSERT(!saved.ranks[0].syscall[0] || strcmp(saved.ranks[0].syscall, "pause") == 0);
	CU_ASSERT_STRING_EQUAL(saved.ranks[1].syscall, "");
	saved_tear_down();
}
