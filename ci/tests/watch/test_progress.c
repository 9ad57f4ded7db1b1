/* test_progress.c: moving ranks, and ranks that the host keeps from moving. */
#include <unistd.h>

#include "base/clock.h"
#include "watch/progress.h"
#include "rig/spinners.h"
#include "rig/unit.h"

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
		bool ready, starved;
	} cases[] = {
		{ 0, 100 * MS, 100 * MS, true, true },
		{ 1 * MS, 99 * MS, 100 * MS, false, true },
		{ 2 * MS, 98 * MS, 100 * MS, true, false }, /* a fiftieth is something */
		/* half of the time it did not even want to */
		{ 0, 50 * MS, 100 * MS, true, false },
		/* ready and never run: its wait is accounted when it ends */
		{ 0, 0, 100 * MS, true, true },
		/* asleep: it waits for something else */
		{ 0, 0, 100 * MS, false, false },
		{ 100 * MS, 0, 100 * MS, true, false },	    /* spins */
		{ 13 * MS, 87 * MS, 100 * MS, true, false } /* one of eight on a core */
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		CU_ASSERT_EQUAL(progress_is_starved(cases[i].ran, cases[i].waited, cases[i].window,
						    cases[i].ready),
				cases[i].starved);
}

/* Not 0.4 s for itself, or nothing of the last window. */
static void test_is_kept(void)
{
	static const struct {
		struct progress progress;
		bool kept;
	} cases[] = {
		{ { 0 }, true }, /* nobody has looked yet */
		{ { .watched_ns = 400 * MS, .queued_ns = 0 }, false },
		{ { .watched_ns = 400 * MS, .queued_ns = 1 * MS }, true },
		{ { .watched_ns = 4000 * MS, .queued_ns = 3600 * MS }, false },
		{ { .watched_ns = 4000 * MS, .queued_ns = 3601 * MS }, true },
		{ { .watched_ns = 4000 * MS, .starved = true }, true },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		CU_ASSERT_EQUAL(progress_is_kept(&cases[i].progress), cases[i].kept);
}

static bool starved(struct progress *p, pid_t pid, uint64_t now)
{
	progress_sample(p, pid, now);
	return p->starved;
}

/* This process runs, and a sleeping one does not want to: neither is starved. */
static void test_real(void)
{
	struct progress self = { 0 }, idle = { 0 };
	uint64_t begin = clock_ns();

	CU_ASSERT(!starved(&self, getpid(), begin));
	CU_ASSERT(!starved(&idle, 1, begin));
	while (clock_ns() - begin < 150 * MS)
		;
	CU_ASSERT(!starved(&self, getpid(), clock_ns()));
	CU_ASSERT(!starved(&idle, 1, clock_ns()));
	CU_ASSERT(self.sampled_ns > begin); /* a second reading was taken */
	CU_ASSERT(self.watched_ns >= 150 * MS && idle.watched_ns >= 100 * MS);
	CU_ASSERT(!starved(&self, -1, clock_ns() + 1000 * MS)); /* no such process */
}

/* Whoever runs only when nobody else wants to, beside one who always wants to. */
static void test_starved(void)
{
	pid_t greedy = spinner(SCHED_OTHER, 3), meek = spinner(SCHED_IDLE, 3);
	struct progress p = { 0 };
	bool seen = false;

	CU_ASSERT_FATAL(greedy > 0 && meek > 0);
	for (int i = 0; i < 120 && !seen; i++) {
		clock_nap(0.02);
		seen = starved(&p, meek, clock_ns());
	}
	CU_ASSERT(seen);
	CU_ASSERT(progress_is_kept(&p));
	CU_ASSERT(p.queued_ns <= p.watched_ns);
	progress_forget(&p); /* what was does not count: another window must pass */
	CU_ASSERT(!p.starved && p.watched_ns == 0 && p.queued_ns == 0);
	CU_ASSERT(!starved(&p, meek, clock_ns()));
	spinner_end(meek);
	spinner_end(greedy);
}

int main(void)
{
	static const struct unit_case cases[] = {
		{ "heartbeat", test_note },
		{ "starved or not", test_is_starved },
		{ "kept or not", test_is_kept },
		{ "real processes", test_real },
		{ "a starved process", test_starved },
	};

	return unit_main("progress", cases, sizeof(cases) / sizeof(cases[0]));
}
