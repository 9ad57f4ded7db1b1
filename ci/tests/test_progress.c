/* test_progress.c: moving ranks, and ranks that the host keeps from moving. */
#include <stdio.h>
#include <unistd.h>

#include "clock.h"
#include "progress.h"
#include "unit.h"

#define MS 1000000ull

static void test_note(void)
{
	struct progress p = { 0 };

	progress_note(&p, 0, 100);
	CU_ASSERT_EQUAL(p.moved_ns, 100); /* first seen */
	progress_note(&p, 0, 200);
	CU_ASSERT_EQUAL(p.moved_ns, 100);
	progress_note(&p, 5, 300);
	CU_ASSERT_EQUAL(p.moved_ns, 300);
	progress_note(&p, 5, 400);
	CU_ASSERT_EQUAL(p.moved_ns, 300);
}

static void test_is_starved(void)
{
	static const struct {
		uint64_t ran, waited, window;
		bool starved;
	} cases[] = {
		{ 0, 100 * MS, 100 * MS, true },
		{ 1 * MS, 99 * MS, 100 * MS, true },
		{ 2 * MS, 98 * MS, 100 * MS, false }, /* a fiftieth is something */
		{ 0, 50 * MS, 100 * MS, false },      /* half of the time it did not even want to */
		{ 0, 0, 100 * MS, false },            /* asleep: it waits for something else */
		{ 100 * MS, 0, 100 * MS, false },     /* spins */
		{ 13 * MS, 87 * MS, 100 * MS, false } /* one of eight on a core */
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		CU_ASSERT_EQUAL(progress_is_starved(cases[i].ran, cases[i].waited,
						    cases[i].window),
				cases[i].starved);
}

/* This process runs, and a sleeping one does not want to: neither is starved. */
static void test_real(void)
{
	struct progress self = { 0 }, idle = { 0 };
	uint64_t begin = clock_ns();

	CU_ASSERT(!progress_starved(&self, getpid(), begin));
	CU_ASSERT(!progress_starved(&idle, 1, begin));
	while (clock_ns() - begin < 150 * MS)
		;
	CU_ASSERT(!progress_starved(&self, getpid(), clock_ns()));
	CU_ASSERT(!progress_starved(&idle, 1, clock_ns()));
	CU_ASSERT(self.sampled_ns > begin); /* a second reading was taken */
	CU_ASSERT(!progress_starved(&self, -1, clock_ns() + 1000 * MS)); /* no such process */
}

int main(void)
{
	static const struct unit_case cases[] = {
		{ "heartbeat", test_note },
		{ "starved or not", test_is_starved },
		{ "real processes", test_real },
	};

	return unit_main("progress", cases, sizeof(cases) / sizeof(cases[0]));
}
