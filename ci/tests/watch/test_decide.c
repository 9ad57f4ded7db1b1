/* test_decide.c: what the leader of one host decides: rows of what happens at which millisecond, and what
 * the run comes to. A row whose name begins with E replays a mend: HISTORY.md. */
#include "rig/unit.h"

#include "process/watch.h"
#include "watch/decide_rig.h"

#define ALL_WORLDS 20000

static const struct row everyday[] = {
	{ "all end well", "00", .answer = "U",
	  .events = { { 0, 0, WAITS, 5000 },
		      { 90, 0, LEAVES },
		      { 100, 0, FINISHES, OUTCOME_OK },
		      { 300, 1, FINISHES, OUTCOME_OK } },
	  .until = 2000, .expect = { 300, 320, OUTCOME_OK, "-", 0, -1 } },
	{ "one ends, the other goes on", "00", .answer = "U",
	  .events = { { 100, 0, FINISHES, OUTCOME_OK } }, .until = 3000 },
	{ "usage, agreed", "00", .answer = "U",
	  .events = { { 100, 0, FINISHES, OUTCOME_USAGE }, { 120, 1, FINISHES, OUTCOME_USAGE } },
	  .until = 2000, .expect = { 120, 140, OUTCOME_USAGE, "-", 0, -1 } },
	{ "a death", "000", .answer = "1", .events = { { 500, 1, DIES } }, .until = 2000,
	  .expect = { 600, 660, OUTCOME_DIED, "1", 1, 1, 100, 140 } },
	{ "two deaths are one verdict", "0000", .events = { { 500, 3, DIES }, { 540, 1, DIES } },
	  .until = 2000, .expect = { 600, 660, OUTCOME_DIED, "1,3" } },
	{ "a hang is told half a second after the last step", "00", .answer = "1",
	  .events = { { 0, 0, WAITS, 100 } }, .until = 2000,
	  .expect = { 600, 660, OUTCOME_HANG, "1", 1, 1, 600, 660, "0" } },
	{ "a long deadline is kept", "00", .answer = "1", .events = { { 0, 0, WAITS, 2000 } },
	  .until = 5000, .expect = { 2100, 2160, OUTCOME_HANG, "1" } },
	{ "no deadline, no hang", "00", .answer = "1", .events = { { 0, 0, WAITS, 0 } },
	  .until = 9000 },
	{ "--no-watch", "00", .no_deadlines = true, .answer = "1",
	  .events = { { 0, 0, WAITS, 100 } }, .until = 3000 },
	{ "--no-watch: a death counts", "00", .no_deadlines = true, .answer = "1",
	  .events = { { 0, 0, WAITS, 100 }, { 2000, 1, DIES } }, .until = 3000,
	  .expect = { 2100, 2140, OUTCOME_DIED, "1" } },
	{ "stopped and continued", "00", .answer = "1",
	  .events = { { 0, 1, STOPS }, { 0, 0, WAITS, 5000 }, { 2000, 0, LEAVES } },
	  .until = 3000 },
	{ "stopped in its exit handlers", "00", .answer = "1",
	  .events = { { 0, 1, PHASE, PHASE_DONE },
		      { 0, 1, WAITS, 60000 },
		      { 50, 0, FINISHES, 0 },
		      { 100, 1, STOPS } },
	  .until = 20000, .expect = { 10200, 10400, OUTCOME_HANG, "1" } },
	{ "stopped, while the others wait long for set-up", "000", .answer = "1",
	  .events = { { 0, 0, WAITS, 60000 }, { 0, 2, WAITS, 60000 }, { 100, 1, STOPS } },
	  .until = 20000, .expect = { 10100, 10400, OUTCOME_HANG, "1" } },
	{ "its exit handlers take their time", "00", .answer = "1",
	  .events = { { 0, 1, PHASE, PHASE_DONE }, { 0, 1, WAITS, 60000 }, { 50, 0, FINISHES, 0 } },
	  .until = 50000 },
};

UNIT_TEST(test_everyday, "every day")
{
	ROWS_PLAY(everyday);
}

static const struct row pauses[] = {
	{ "E1a: a pause does not excuse what begins later", "00", .answer = "1",
	  .events = { { 50, 0, PAUSES, 850 },
		      { 0, 1, WAITS, 300 },
		      { 1000, 1, LEAVES },
		      { 1200, 1, WAITS, 100 } },
	  .until = 4000, .expect = { 1800, 1860, OUTCOME_HANG } },
	{ "E1a: a wait across a pause", "0", .answer = "0",
	  .events = { { 0, 0, WAITS, 300 }, { 10, 0, PAUSES, 700 } }, .until = 4000,
	  .expect = { 960, 1400, OUTCOME_HANG } },
	{ "E1b: who was only late is back while it settles", "00", .answer = "1",
	  .events = { { 0, 1, WAITS, 50 }, { 560, 1, LEAVES }, { 900, 1, WAITS, 50 } },
	  .until = 4000, .expect = { 1500, 1560, OUTCOME_HANG, "1", 1, 1 } },
	{ "E2: some rank moves", "00", .answer = "1",
	  .events = { { 0, 0, WAITS, 100 }, { 0, 1, BEATS, 400, 2000 } }, .until = 4000,
	  .expect = { 2600, 2660, OUTCOME_HANG } },
	{ "E2: the host starves one", "00",
	  .events = { { 0, 1, CALLED, 1 },
		      { 0, 1, CALLING },
		      { 0, 0, WAITS, 100 },
		      { 0, 1, STARVES },
		      { 1500, 1, SLEEPS } },
	  .until = 4000, .expect = { 1600, 1760, OUTCOME_HANG } },
	{ "E8: on a crowded host some rank is always starved", "000", .answer = "-",
	  .events = { { 0, 0, WAITS, 100 },
		      { 0, 1, STARVES },
		      { 0, 1, CALLED, 2 },
		      { 0, 1, CALLING },
		      { 0, 2, CALLED, 3 } },
	  .until = 9000, .expect = { 5500, 5700, OUTCOME_HANG, "-", 1, 1 } },
};

UNIT_TEST(test_pauses, "what is no rank's delay")
{
	ROWS_PLAY(pauses);
}

static const struct row debuggers[] = {
	{ "one looks at the named rank for a second", "000", .answer = "1",
	  .events = { { 0, BOTH(0, 2), WAITS, 100 },
		      { 50, 1, TRACED, 1 },
		      { 1100, 1, TRACED, 0 },
		      { 1120, BOTH(0, 2), LEAVES } },
	  .until = 4000, .expect = { .looks_min = 1, .looks_max = 3 } },
	{ "it stays", "000", .answer = "1",
	  .events = { { 0, BOTH(0, 2), WAITS, 100 }, { 50, 1, TRACED, 1 } }, .until = 13000,
	  .expect = { 10600, 11500, OUTCOME_HANG, "1", 3, 60 } },
	{ "it is there, and the named rank hangs all the same", "000", .answer = "1",
	  .events = { { 0, BOTH(0, 2), WAITS, 100 }, { 50, 1, TRACED, 1 }, { 1100, 1, TRACED, 0 } },
	  .until = 13000, .expect = { 1100, 1600, OUTCOME_HANG, "1", 2, 4 } },
	{ "at another rank", "000", .answer = "1",
	  .events = { { 0, BOTH(0, 2), WAITS, 100 }, { 50, 2, TRACED, 1 } }, .until = 4000,
	  .expect = { 600, 660, OUTCOME_HANG, "1" } },
	{ "on another host", "0011", .answer = "3",
	  .events = { { 0, TRIO(0, 1, 2), WAITS, 100 }, { 50, 3, TRACED, 1 } }, .until = 13000,
	  .expect = { 10600, 11500, OUTCOME_HANG, "3", 3, 60 } },
	{ "no rank is named", "000", .answer = "-",
	  .events = { { 0, BOTH(0, 2), WAITS, 100 }, { 50, 1, TRACED, 1 } }, .until = 13000,
	  .expect = { 10600, 11500, OUTCOME_HANG, "-", 3, 60 } },
};

UNIT_TEST(test_debuggers, "a debugger")
{
	ROWS_PLAY(debuggers);
}

static const struct row errors[] = {
	{ "E4: a death behind an error", "000", .answer = "2",
	  .events = { { 0, 1, FINISHES, OUTCOME_ERROR }, { 500, 2, DIES } }, .until = 2000,
	  .expect = { 600, 660, OUTCOME_DIED, "2" } },
	{ "E4, E8: an error alone", "000", .events = { { 0, 1, FINISHES, OUTCOME_ERROR } },
	  .until = 2000,
	  .expect = { 600, 660, OUTCOME_ERROR, "1", .detect_from = 600, .detect_to = 660 } },
	{ "E20: the time counts from the error", "00",
	  .events = { { 0, 0, FINISHES, OUTCOME_OK }, { 300, 1, FINISHES, OUTCOME_ERROR } },
	  .until = 2000, .expect = { 300, 360, OUTCOME_ERROR, "1" } },
	{ "E20: and no other end", "000",
	  .events = { { 0, 0, FINISHES, OUTCOME_OK }, { 300, 1, FINISHES, OUTCOME_ERROR } },
	  .until = 2000,
	  .expect = { 900, 960, OUTCOME_ERROR, "1", .detect_from = 600, .detect_to = 660 } },
	{ "E34: some rank becomes overdue meanwhile", "000", .answer = "2",
	  .events = { { 0, 0, WAITS, 100 }, { 250, 1, FINISHES, OUTCOME_ERROR }, { 700, 2, DIES } },
	  .until = 2000, .expect = { 800, 860, OUTCOME_DIED, "2" } },
	{ "E34: some rank was overdue before", "000", .answer = "1",
	  .events = { { 0, 0, WAITS, 100 }, { 560, 1, FINISHES, OUTCOME_ERROR } }, .until = 2000,
	  .expect = { 600, 660, OUTCOME_ERROR, "1" } },
	{ "E5: the closer look takes its time", "00", .answer = "1", .answer_ms = 30,
	  .events = { { 0, 0, WAITS, 100 } }, .until = 2000,
	  .expect = { 630, 690, OUTCOME_HANG, "1", 1, 1, 630, 690 } },
};

UNIT_TEST(test_errors, "an error, and a death")
{
	ROWS_PLAY(errors);
}

/* Ranks 0 to 2 wait 10 s for calls of `mb` MB that they have enqueued, ranks 0 and 1 at 50 ms. */
#define ALL_WAIT(mb)                                                                               \
	{ 0, BOTH(0, 1), SET, 1 }, { 0, ALL, WAITS, 10000 },                                       \
	{                                                                                          \
		50, BOTH(0, 1), ENQUEUED, mb                                                       \
	}

static const struct row settings[] = {
	{ "E35: enqueued first calls have half a second", "000", 750, .extensions = true,
	  .answer = "2", .events = { ALL_WAIT(0), { 0, 2, SET, 2 }, { 300, 2, ENQUEUED, 0 } },
	  .until = 3000, .expect = { 900, 960, OUTCOME_HANG, "2" } },
	{ "E35: and what large ones take", "000", 750, .extensions = true, .answer = "2",
	  .events = { ALL_WAIT(50), { 0, 2, SET, 2 }, { 50, 2, ENQUEUED, 0 } }, .until = 4000,
	  .expect = { 2020, 2080, OUTCOME_HANG, "2" } },
	{ "E35: settings are alike", "000", 750, .extensions = true, .answer = "2",
	  .events = { ALL_WAIT(0), { 0, 2, SET, 1 }, { 50, 2, ENQUEUED, 0 } }, .until = 3000 },
	{ "E35: three seconds while one is inside of its call", "000", 750, .extensions = true,
	  .answer = "2", .events = { ALL_WAIT(0), { 0, 2, SET, 2 }, { 50, 2, ENQUEUED, -1 } },
	  .until = 5000, .expect = { 3100, 3160, OUTCOME_HANG, "2" } },
	{ "E35: one is not there yet", "000", 750, .extensions = true, .answer = "2",
	  .events = { ALL_WAIT(0), { 0, 2, SET, 2 } }, .until = 5000 },
	{ "E35: ten at init", "00", 750, .extensions = true, .answer = "1",
	  .events = { { 0, 0, SET, 1 }, { 0, 1, SET, 2 }, { 0, ALL, ENTERS, 2, 5 } },
	  .until = 12000, .expect = { 9860, 9920, OUTCOME_HANG, "1" } },
	{ "E35: calls have completed with them", "000", 750, .extensions = true, .answer = "2",
	  .events = { { 0, 2, CALLED, 1 }, ALL_WAIT(0), { 0, 2, SET, 2 }, { 50, 2, ENQUEUED, 0 } },
	  .until = 3000 },
	{ "E35: -T is taken at its word", "000", 0, .answer = "2",
	  .events = { ALL_WAIT(0), { 0, 2, SET, 2 }, { 50, 2, ENQUEUED, 0 } }, .until = 3000 },
	{ "E35: of several hosts none knows", "001", 750, .extensions = true, .answer = "2",
	  .events = { ALL_WAIT(0), { 0, BOTH(1, 2), SET, 2 }, { 50, 2, ENQUEUED, 0 } },
	  .until = 3000 },
};

UNIT_TEST(test_settings, "settings that differ")
{
	ROWS_PLAY(settings);
}

static const struct row extensions[] = {
	{ "E10a: slow is not hung", "00", .extensions = true, .answer = "U",
	  .events = { { 0, 1, WAITS, 100 }, { 1200, 1, LEAVES } }, .until = 1700,
	  .expect = { .looks_min = 2, .looks_max = 3 } },
	{ "E10b: five times as long, and looked at now and then", "00", .extensions = true,
	  .answer = "U", .events = { { 0, 1, WAITS, 100 } }, .until = ALL_WORLDS,
	  .expect = { 3600, 4100, OUTCOME_HANG, "-", 4, 7 } },
	{ "E45: a connection without an answer may be one by chance", "00", .extensions = true,
	  .answer = "P", .events = { { 0, 1, WAITS, 100 }, { 1200, 1, LEAVES } }, .until = 1700,
	  .expect = { .looks_min = 2, .looks_max = 3 } },
	{ "E10c: a death does not wait", "00", .extensions = true, .answer = "U",
	  .events = { { 0, 1, WAITS, 500 }, { 1200, 0, DIES } }, .until = 4000,
	  .expect = { 1300, 1360, OUTCOME_DIED, "0", 1, 4 } },
	{ "E10e: -T is taken at its word", "00", .answer = "U", .events = { { 0, 1, WAITS, 100 } },
	  .until = 4000, .expect = { 600, 660, OUTCOME_HANG, "-", 1, 1 } },
	{ "E21: then an extension of its own, once", "000", .extensions = true, .answer = "1",
	  .events = { { 0, ALL, CALLED, 2 },
		      { 0, 0, CALLING },
		      { 0, 0, WAITS, 100 },
		      { 0, 1, CALLING },
		      { 0, 1, STARVES },
		      { 3100, 1, SLEEPS } },
	  .until = ALL_WORLDS, .expect = { 3300, 3890, OUTCOME_HANG, "1", 5, 20, .gap_max = 400 } },
	{ "E23: a host that starved some rank gives no second extension", "00", .extensions = true,
	  .answer = "U", .events = { { 0, 1, WAITS, 100 }, { 0, 0, STARVES }, { 380, 0, SLEEPS } },
	  .until = ALL_WORLDS, .expect = { 3600, 4220, OUTCOME_HANG, "-", 2, 9 } },
	{ "E30: a moment of starvation does not begin it anew", "00", .extensions = true,
	  .answer = "U",
	  .events = { { 0, 1, WAITS, 100 }, { 640, 0, STARVES }, { 1860, 0, SLEEPS } },
	  .until = ALL_WORLDS, .expect = { 3100, 4960, OUTCOME_HANG, "-", 2, 9 } },
	{ "E32: a second look while some rank is starved waits for no error", "00",
	  .extensions = true, .answer = "U",
	  .events = { { 0, 1, WAITS, 100 }, { 820, 0, STARVES }, { 920, 0, SLEEPS } },
	  .until = 1150, .expect = { .looks_min = 2, .looks_max = 2 } },
	{ "a second wait has an extension of its own", "00", .extensions = true, .answer = "U",
	  .events = { { 0, 1, WAITS, 100 }, { 3000, 1, LEAVES }, { 3000, 1, WAITS, 100 } },
	  .until = 6000, .expect = { .looks_min = 3, .looks_max = 12 } },
};

UNIT_TEST(test_extensions, "a hang that nothing explains")
{
	ROWS_PLAY(extensions);
}

/* All have made two calls; rank 0 waits in its third; rank 1 is starved inside of its own. */
#define CROWD                                                                                      \
	{ 0, ALL, CALLED, 2 }, { 0, BOTH(0, 1), CALLING }, { 0, 0, WAITS, 100 },                   \
	{                                                                                          \
		0, 1, STARVES                                                                      \
	}

static const struct row crowds[] = {
	{ "E16a: one lacks the call, and could run", "000", .answer = "2", .events = { CROWD },
	  .until = 9000, .expect = { 600, 680, OUTCOME_HANG, "2", 1, 1 } },
	{ "E16b: all wait for the starved one", "000", .answer = "1",
	  .events = { CROWD, { 0, 2, CALLED, 3 } }, .until = 2000 },
	{ "E16c: the starved one is named", "000", .answer = "1",
	  .events = { CROWD, { 2000, 1, SLEEPS } }, .until = 9000,
	  .expect = { 2100, 2790, OUTCOME_HANG, "1", 4, 9, .gap_max = 400 } },
	{ "E16d: the excuse ends", "000", .answer = "1", .events = { CROWD }, .until = 9000,
	  .expect = { 5400, 5900, OUTCOME_HANG, "1", 4, 30 } },
	{ "E16d: so it does where no rank is named", "000", .answer = "-", .events = { CROWD },
	  .until = 9000, .expect = { 5400, 5900, OUTCOME_HANG, "-", 4, 30 } },
	{ "E16e: one that sets up is not free to call", "000", .answer = "2",
	  .events = { CROWD, { 0, 2, PHASE, PHASE_SETUP } }, .until = 2000 },
	{ "E16e: nor one that has called nothing", "000", .answer = "2",
	  .events = { CROWD, { 0, 2, CALLED, 0 } }, .until = 2000 },
	{ "E16e: nor one inside of a call", "000", .answer = "2",
	  .events = { CROWD, { 0, 2, CALLED, 1 }, { 0, 2, CALLING } }, .until = 2000 },
	{ "E16e: nor one that is starved", "000", .answer = "2",
	  .events = { CROWD, { 0, 2, STARVES } }, .until = 2000 },
	{ "E19: one that is queued half of the time has its 0.4 s", "000", .answer = "2",
	  .events = { CROWD, { 0, 2, SHARES } }, .until = 9000,
	  .expect = { 1000, 1180, OUTCOME_HANG, "2", 1, 1 } },
};

UNIT_TEST(test_crowds, "a busy host")
{
	ROWS_PLAY(crowds);
}

#define END_OF(rank, calls, hash)                                                                  \
	{ 0, rank, CALLED, calls }, { 0, rank, HASHED, hash },                                     \
	{                                                                                          \
		100, rank, FINISHES, OUTCOME_OK                                                    \
	}

static const struct row all_ended[] = {
	{ "E14: other numbers of calls", "00", .answer = "U",
	  .events = { END_OF(0, 25, 7), END_OF(1, 26, 7) }, .until = 2000,
	  .expect = { 100, 120, OUTCOME_OK, NULL, 1, 1 } },
	{ "E14: other calls", "00", .answer = "U", .events = { END_OF(0, 25, 7), END_OF(1, 25, 8) },
	  .until = 2000, .expect = { 100, 120, OUTCOME_DIVERGED, NULL, 1, 1 } },
	{ "E14: wrong data and other calls", "00", .answer = "U",
	  .events = { { 0, 0, CALLED, 3 },
		      { 100, 0, FINISHES, OUTCOME_WRONG_DATA },
		      { 100, 1, FINISHES, OUTCOME_OK } },
	  .until = 2000, .expect = { 100, 120, OUTCOME_WRONG_DATA, NULL, 1, 1 } },
	{ "E15: the same calls", "00", .answer = "U", .events = { END_OF(ALL, 25, 7) },
	  .until = 2000, .expect = { 100, 120, OUTCOME_OK, NULL, 0, -1 } },
	{ "E13: beside a process without a rank", "000", .answer = "U",
	  .events = { END_OF(BOTH(0, 1), 25, 7), { 0, 2, SPARE }, END_OF(2, 0, 9) }, .until = 2000,
	  .expect = { 100, 120, OUTCOME_OK, NULL, 0, -1 } },
	{ "E37: who made them was seen, and has left the rings", "000", .answer = "U",
	  .parted = "1", .events = { END_OF(0, 25, 7), END_OF(1, 25, 8), END_OF(2, 25, 7) },
	  .until = 2000, .expect = { 100, 120, OUTCOME_DIVERGED, "1", 1, 1 } },
	{ "E37: something worse came of it", "000", .answer = "2", .parted = "1",
	  .events = { { 0, 0, HASHED, 8 }, { 100, 2, DIES } }, .until = 2000,
	  .expect = { 200, 240, OUTCOME_DIED, "2" } },
	{ "E37: as many other calls on two hosts", "01", .answer = "U",
	  .events = { END_OF(0, 25, 7), END_OF(1, 25, 8) }, .until = 2000,
	  .expect = { 100, 140, OUTCOME_DIVERGED, "-", 1, 1 } },
	{ "E14: on two hosts", "01", .answer = "U",
	  .events = { END_OF(0, 25, 7), END_OF(1, 26, 7) }, .until = 2000,
	  .expect = { 100, 140, OUTCOME_OK, NULL, 1, 1 } },
	{ "E18: communicators that were made otherwise", "000", .answer = "U",
	  .events = { { 0, BOTH(0, 1), ENTERS, 3, 1 }, { 0, 2, ENTERS, 2, 1 }, END_OF(ALL, 1, 1) },
	  .until = 2000, .expect = { 100, 120, OUTCOME_OK, NULL, 1, 1 } },
	{ "E18: and those that fit", "000", .answer = "U",
	  .events = { { 0, BOTH(0, 1), ENTERS, 2, 1 }, { 0, 2, ENTERS, 1, 2 }, END_OF(ALL, 1, 1) },
	  .until = 2000, .expect = { 100, 120, OUTCOME_OK, NULL, 0, -1 } },
};

UNIT_TEST(test_end, "the end")
{
	ROWS_PLAY(all_ended);
}
