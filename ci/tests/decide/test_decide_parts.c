/* test_decide_parts.c: the parts of decide() by themselves: steps, starvation, how long more time is. */

#include "base/clock.h"
#include "base/proc_stat.h"
#include "rig/spinners.h"
#include "rig/unit.h"
#include "decide/decide_extension.h"
#include "decide/decide_steps.h"
#include "decide/decide_times.h"

#define SECOND 1000000000ull

UNIT_TEST(test_benefit, "five times as long")
{
	struct extension extension = { 0 };
	const uint64_t begin = 1000 * SECOND;

	/* 5 s more, looked at after half a second */
	UNIT_ALL(extension_grant(&extension, 1, 0, begin), extension.until_ns == begin + SECOND / 2,
		 extension.end_ns == begin + 5 * SECOND, extension.since_ns == begin);
	/* the end stays where it is, and the beginning */
	UNIT_ALL(extension_grant(&extension, 4.5, 0, begin + 7 * SECOND / 2),
		 extension.since_ns == begin, extension.until_ns == begin + 5 * SECOND,
		 !extension_grant(&extension, 6, 0, begin + 5 * SECOND));
	/* of a first call's ten seconds no fifty are made */
	extension = (struct extension){ 0 };
	UNIT_ALL(extension_grant(&extension, 10, 0, begin),
		 extension.end_ns == begin + 10 * SECOND);
}

UNIT_TEST(test_short_waits, "short waits")
{
	struct extension extension = { 0 };

	CU_ASSERT_TRUE(
		extension_grant(&extension, 0.1, 0, SECOND)); /* not looked at 20 times a second */
	CU_ASSERT_EQUAL(extension.until_ns, SECOND + SECOND / 4);
	CU_ASSERT_FALSE(extension_grant(&extension, 0.6, 0, SECOND + SECOND / 2));
	extension = (struct extension){ 0 };
	CU_ASSERT_FALSE(
		extension_grant(&extension, 0, 0, SECOND)); /* no rank waits: nothing to grant */
	CU_ASSERT_EQUAL(extension.since_ns, 0);
}

/* An excused wait stays so until then, however short, and is looked at often. */
UNIT_TEST(test_excuse, "an excuse")
{
	struct extension extension = { 0 };

	UNIT_ALL(extension_grant(&extension, 0, 6 * SECOND, SECOND), extension.end_ns == 6 * SECOND,
		 extension.until_ns == SECOND + SECOND / 4);
	CU_ASSERT_TRUE(
		extension_grant(&extension, 0, 5 * SECOND, 6 * SECOND - 1)); /* sooner: not cut */
	CU_ASSERT_EQUAL(extension.until_ns, 6 * SECOND);
	CU_ASSERT_FALSE(extension_grant(&extension, 0, 5 * SECOND, 6 * SECOND));
	/* then nothing explains it: that has a benefit of its own, once */
	UNIT_ALL(extension_grant(&extension, 2, 0, 7 * SECOND), extension.end_ns == 17 * SECOND,
		 extension.until_ns == 8 * SECOND, extension_grant(&extension, 11, 0, 16 * SECOND),
		 extension.end_ns == 17 * SECOND);
}

static struct rank_state seen;
static struct decide_state state = { .ranks = &seen, .nranks = 1 };
static struct decide_rank one;
static struct decide_input in = { .ranks = &one, .nranks = 1, .job_ranks = 1, .job_hosts = 1 };

static void see(uint64_t heartbeat, uint64_t now)
{
	one.view.heartbeat = heartbeat;
	in.now = now;
	seen.view = one.view;
	steps_look(&state, &in, now);
}

UNIT_TEST(test_steps, "steps")
{
	one = (struct decide_rank){ 0 };
	seen = (struct rank_state){ 0 };
	see(0, 100);
	CU_ASSERT_EQUAL(seen.track.progressed_ns, 100); /* first seen */
	see(0, 200);
	CU_ASSERT_EQUAL(seen.track.progressed_ns, 100);
	see(5, 300);
	UNIT_ALL(seen.track.progressed_ns == 300, seen.view.progressed == 1);
	see(5, 300 + decide_times.progress_ns);
	UNIT_ALL(seen.track.progressed_ns == 300, seen.view.progressed == 0);
}

/* One that waits is looked at every 20 ms for 2 s: stopped, or continued for 10 ms in each `period`. Without an account
 * its supervisor's word counts. */
UNIT_TEST(test_held, "held all the time or now and then")
{
	static const struct {
		uint64_t from, period; /* of the stop; 0: it is never continued */
		bool accounts, stopped;
	} cases[] = {
		{ 0, 0, true, true },	  { 0, 0, false, true },    { 0, 100, true, false },
		{ 0, 100, false, false }, { 1700, 0, true, false }, { 1700, 0, false, false },
		{ 1500, 0, true, true },  { 0, 300, true, false },
	};

	UNIT_ROWS(c, cases) {
		one = (struct decide_rank){ .view.waiting = 1, .view.waited = 1 };
		seen = (struct rank_state){ 0 };
		for (uint64_t ms = 20; ms < 2000; ms += 20) {
			bool held = ms >= c->from && (!c->period || ms % c->period >= 20);

			one.view.process = held ? PROCESS_STOPPED : PROCESS_ALIVE;
			in.now = ms * MS;
			one.account.known = c->accounts && decide_wants_account(&state, &in, 0);
			one.account.used.ran_ns += !held;
			see(0, ms * MS);
		}
		CU_ASSERT_EQUAL(view_stopped(&seen.view), c->stopped);
	}
}

UNIT_TEST(test_is_starved, "starved or not")
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

	UNIT_ROWS(c, cases)
		CU_ASSERT_EQUAL(steps_starved(c->ran, c->waited, c->window, c->ready), c->starved);
}

/* Not 0.4 s for itself, or nothing of the last window. */
UNIT_TEST(test_descheduled, "descheduled or not")
{
	static const struct {
		struct rank_track track;
		bool descheduled;
	} cases[] = {
		{ { 0 }, true }, /* no rank has looked yet */
		{ { .watched_ns = 400 * MS, .queued_watched_ns = 0 }, false },
		{ { .watched_ns = 400 * MS, .queued_watched_ns = 1 * MS }, true },
		{ { .watched_ns = 4000 * MS, .queued_watched_ns = 3600 * MS }, false },
		{ { .watched_ns = 4000 * MS, .queued_watched_ns = 3601 * MS }, true },
		{ { .watched_ns = 4000 * MS, .starved = true }, true },
	};

	UNIT_ROWS(c, cases) {
		seen = (struct rank_state){ .track = c->track };
		CU_ASSERT_EQUAL(steps_descheduled(&seen), c->descheduled);
	}
}

/* Reads the process' account where decide() wants it, as the monitor does. */
static void watch_process(pid_t pid, uint64_t now)
{
	struct proc_stat stat;

	in.now = now;
	one.view.waited = 1;
	one.account.known =
		decide_wants_account(&state, &in, 0) && proc_account_read(&one.account.used, pid);
	one.account.ready = proc_stat_read(&stat, pid, 0) && stat.state == 'R';
	seen.view = one.view;
	steps_look(&state, &in, now);
}

/* This process runs, and a sleeping one does not want to: neither is starved. */
UNIT_TEST(test_real, "real processes")
{
	const pid_t pids[] = { getpid(), 1 };

	for (int i = 0; i < 2; i++) {
		uint64_t begin = clock_ns();

		one = (struct decide_rank){ 0 };
		seen = (struct rank_state){ 0 };
		watch_process(pids[i], begin);
		while (clock_ns() - begin < 150 * MS)
			;
		watch_process(pids[i], clock_ns());
		CU_ASSERT(!seen.track.starved);
		CU_ASSERT(seen.track.sampled_ns > begin); /* a second reading was taken */
		CU_ASSERT(seen.track.watched_ns >= 150 * MS);
		watch_process(-1, clock_ns() + 1000 * MS); /* no such process */
		CU_ASSERT(!seen.track.starved);
	}
}

/* A process that runs only when no other wants to, beside one who always wants to. */
UNIT_TEST(test_starved, "a starved process")
{
	pid_t greedy = spinner(SCHED_OTHER, 3), meek = spinner(SCHED_IDLE, 3);

	one = (struct decide_rank){ 0 };
	seen = (struct rank_state){ 0 };
	CU_ASSERT_FATAL(greedy > 0 && meek > 0);
	for (int i = 0; i < 120 && !seen.track.starved; i++) {
		clock_sleep(0.02);
		watch_process(meek, clock_ns());
	}
	UNIT_ALL(seen.track.starved && seen.view.starved, steps_descheduled(&seen),
		 seen.track.queued_watched_ns <= seen.track.watched_ns);
	one.view.waited = 0; /* what was does not count: another window must pass */
	in.now = clock_ns();
	seen.view = one.view;
	steps_look(&state, &in, in.now);
	UNIT_ALL(!seen.track.starved && seen.track.watched_ns == 0,
		 seen.track.queued_watched_ns == 0);
	watch_process(meek, clock_ns());
	CU_ASSERT(!seen.track.starved);
	spinner_end(meek);
	spinner_end(greedy);
}
