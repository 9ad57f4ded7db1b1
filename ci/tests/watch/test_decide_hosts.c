/* test_decide_hosts.c: the root and the leaders of other hosts, who report, wait for it, and end by
 * themselves only without it. Rows as in test_decide.c. */
#include "rig/unit.h"

#include "base/proc_stat.h"
#include "watch/decide_rig.h"

/* ---- together ---- */

static const struct row together[] = {
	{ "all end well, one host before the other", "0011", .answer = "U",
	  .events = { { 100, 2, FINISHES, OUTCOME_OK },
		      { 120, 3, FINISHES, OUTCOME_OK },
		      { 900, 0, FINISHES, OUTCOME_OK },
		      { 920, 1, FINISHES, OUTCOME_OK } },
	  .until = 3000, .expect = { 920, 960, OUTCOME_OK, "-", 0, -1 } },
	{ "a death elsewhere", "0011", .answer = "3", .events = { { 500, 3, DIES } }, .until = 3000,
	  .expect = { 600, 680, OUTCOME_DIED, "3" } },
	{ "E7, E38: a mute host is no reason to blame a rank", "0011", .answer = "0",
	  .events = { { 0, 1, IS_MUTE }, { 0, 0, WAITS, 100 } }, .until = 13000,
	  .expect = { 10600, 10800, OUTCOME_HANG, "-", .hosts = "node1",
		      .class = CLASS_WATCHER_HELD } },
	{ "E12: a death there, while a wait is given time", "0011", .extensions = true,
	  .answer = "U", .events = { { 0, 3, WAITS, 1500 }, { 1720, 2, DIES } }, .until = 9000,
	  .expect = { 1820, 1900, OUTCOME_DIED, "2", 1, 3 } },
	{ "E20: the time of an error there", "0012",
	  .events = { { 100, 2, FINISHES, OUTCOME_OK }, { 300, 3, FINISHES, OUTCOME_ERROR } },
	  .until = 3000,
	  .expect = { 900, 960, OUTCOME_ERROR, "3", .detect_from = 580, .detect_to = 660 } },
	{ "E31a, E32: a hang there is told as fast as one here", "0011", .answer = "3",
	  .events = { { 0, 3, WAITS, 100 } }, .until = 3000,
	  .expect = { 600, 720, OUTCOME_HANG, "3", .overdue = "3" } },
	{ "E33c: an error there behind the hang, and a death here behind it", "0011", .answer = "1",
	  .events = { { 0, 3, WAITS, 100 }, { 540, 2, FINISHES, OUTCOME_ERROR }, { 850, 1, DIES } },
	  .until = 3000, .expect = { 940, 1060, OUTCOME_DIED, "1" } },
	{ "E33c: an error here, and a death behind it", "0011", .answer = "1",
	  .events = { { 0, 3, WAITS, 100 }, { 560, 0, FINISHES, OUTCOME_ERROR }, { 850, 1, DIES } },
	  .until = 3000, .expect = { 940, 1060, OUTCOME_DIED, "1" } },
	{ "E33d: who is named moves on another host", "0011", .answer = "0",
	  .events = { { 0, 3, WAITS, 100 }, { 0, 0, BEATS, 20, 1500 } }, .until = 9000,
	  .expect = { 1900, 3000, OUTCOME_HANG, "0", 2, 9 } },
	{ "E33d: so does some rank, where no rank is named", "0011", .answer = "-",
	  .events = { { 0, 3, WAITS, 100 }, { 0, 0, BEATS, 20, 1500 } }, .until = 9000,
	  .expect = { 1900, 3000, OUTCOME_HANG, "-", 2, 9 } },
};

UNIT_TEST(test_together, "together")
{
	ROWS_PLAY(together);
}

/* ---- a busy host ---- */

#define LATE_ON_1                                                                                  \
	{ 0, TRIO(0, 1, 2), CALLED, 3 }, { 0, 3, CALLED, 2 },                                      \
	{                                                                                          \
		600, TRIO(0, 1, 2), WAITS, 100                                                     \
	}

static const struct row busy[] = {
	{ "E28a: the named one starves on another host, for a while", "0001", .answer = "3",
	  .events = { LATE_ON_1, { 0, 3, STARVES }, { 3600, 3, SLEEPS } }, .until = 12000,
	  .expect = { 3680, 4500, OUTCOME_HANG, "3", 2, 30 } },
	{ "E28b: for ever", "0001", .answer = "3", .events = { LATE_ON_1, { 0, 3, STARVES } },
	  .until = 12000, .expect = { 5100, 7100, OUTCOME_HANG, "3", 2, 30 } },
	{ "E28c: it sleeps", "0001", .answer = "3", .events = { LATE_ON_1 }, .until = 12000,
	  .expect = { 1200, 1500, OUTCOME_HANG, "3" } },
	{ "E28c: another one is named", "0001", .answer = "2",
	  .events = { LATE_ON_1, { 0, 3, STARVES } }, .until = 12000,
	  .expect = { 1200, 1500, OUTCOME_HANG, "2" } },
	{ "E29: it was starved, and is stopped", "0001", .answer = "3",
	  .events = { LATE_ON_1, { 0, 3, STARVES }, { 1080, 3, STOPS } }, .until = 12000,
	  .expect = { 1200, 1300, OUTCOME_HANG, "3" } },
	{ "E31b: the named one starves here, and only the other host waits", "0001", .answer = "2",
	  .events = { { 0, 2, STARVES }, { 600, 3, WAITS, 100 } }, .until = 12000,
	  .expect = { 5100, 7100, OUTCOME_HANG, "2", 2, 30 } },
	{ "E33a: time is not given twice", "0012", .answer = "1",
	  .events = { { 0, 1, STARVES }, { 600, 0, WAITS, 100 } }, .until = 14000,
	  .expect = { 5100, 7100, OUTCOME_HANG, "1", 1, 30 } },
	{ "E33b: each wait has its own", "0012", .answer = "1",
	  .events = { { 0, 1, STARVES },
		      { 0, 2, WAITS_BY_TURNS, 2000, 12000 },
		      { 1000, 3, WAITS_BY_TURNS, 2000, 12000 } },
	  .until = 10000, .expect = { .looks_min = 2, .looks_max = 40 } },
};

UNIT_TEST(test_busy, "a busy host")
{
	ROWS_PLAY(busy);
}

/* ---- a leader elsewhere, and what the root says or does not ---- */

static const struct row alone[] = {
	{ "E1c: who hangs again is told again", "0011", .alone = 1, .answer = "U",
	  .events = { { 0, 2, WAITS, 50 },
		      { 560, 2, LEAVES },
		      { 1500, 2, WAITS, 50 },
		      { 2100, 2, LEAVES } },
	  .until = 6000, .expect = { .reports = 2 } },
	{ "while the root is heard of it is waited for", "0011", .alone = 1, .answer = "2",
	  .events = { { 0, 2, WAITS, 50 } }, .until = 30000, .expect = { .reports = 1 } },
	{ "E38: a root that is not heard of is blamed, and no rank", "0011", .alone = 1,
	  .answer = "2", .events = { { 0, 2, WAITS, 50 }, { 1000, 1, IS_CUT, 99000 } },
	  .until = 20000,
	  .expect = { 10980, 11040, OUTCOME_HANG, "-", .reports = 1, .hosts = "node0",
		      .class = CLASS_HOST_SILENT } },
	{ "E1c: one that is done waits for ever", "0011", .alone = 1,
	  .events = { { 0, BOTH(2, 3), FINISHES, OUTCOME_OK } }, .until = 9000 },
	{ "E1d: the root is lost: no success", "0011", .alone = 1,
	  .events = { { 500, 1, IS_LOST } }, .until = 6000,
	  .expect = { 1000, 1040, OUTCOME_DIED, "-", .hosts = "node0",
		      .class = CLASS_MONITOR_GONE } },
	{ "E1d: unless all are done", "0011", .alone = 1,
	  .events = { { 0, BOTH(2, 3), FINISHES, OUTCOME_OK }, { 500, 1, IS_LOST } }, .until = 6000,
	  .expect = { 1000, 1040, OUTCOME_OK } },
	{ "E46: all are done, but not well: the host that is gone is named", "0011", .alone = 1,
	  .events = { { 0, BOTH(2, 3), FINISHES, OUTCOME_ERROR }, { 500, 1, IS_LOST } },
	  .until = 6000,
	  .expect = { 1000, 1040, OUTCOME_DIED, "-", .reports = 1, .hosts = "node0",
		      .class = CLASS_MONITOR_GONE } },
	{ "E46: what all have found stands", "0011", .alone = 1,
	  .events = { { 0, BOTH(2, 3), FINISHES, OUTCOME_WRONG_DATA }, { 500, 1, IS_LOST } },
	  .until = 6000, .expect = { 1000, 1040, OUTCOME_WRONG_DATA, "-" } },
	{ "E6: the root takes its time to save", "0011", .alone = 1, .answer = "2",
	  .events = { { 0, 2, WAITS, 50 }, { 700, 1, COLLECTS }, { 720, 1, IS_CUT, 99000 } },
	  .until = 24000,
	  .expect = { 20680, 20780, OUTCOME_HANG, "-", .reports = 1, .hosts = "node0" } },
	{ "E12: what comes while time is given is news", "0011", .alone = 1, .answer = "2",
	  .events = { { 0, 2, WAITS, 50 }, { 700, 1, EXTENDS }, { 1000, 3, DIES } }, .until = 2500,
	  .expect = { .reports = 2 } },
	{ "E12: what came before is none", "0011", .alone = 1, .answer = "2",
	  .events = { { 0, 2, WAITS, 50 }, { 640, 3, DIES }, { 700, 1, EXTENDS } }, .until = 2500,
	  .expect = { .reports = 1 } },
};

UNIT_TEST(test_alone, "a leader elsewhere")
{
	ROWS_PLAY(alone);
}

/* ---- hosts that are not heard of ---- */

#define HANGS                                                                                      \
	{                                                                                          \
		600, BOTH(0, 2), WAITS, 100                                                        \
	}

static const struct row silent[] = {
	{ "E38: a host is cut off: no rank is to blame", "0011", .answer = "2",
	  .events = { HANGS, { 500, 1, IS_CUT, 99000 } }, .until = 20000,
	  .expect = { 10480, 10700, OUTCOME_HANG, "-", 1, 3, .detect_from = 9900,
		      .detect_to = 10200, .hosts = "node1", .class = CLASS_HOST_SILENT } },
	{ "E43: one that never came is looked for no longer than the others", "01", .absent = 1,
	  .extensions = true, .answer = "U", .events = { { 600, 0, WAITS, 100 } }, .until = 30000,
	  .expect = { 10000, 11500, OUTCOME_HANG, "-", 1, 9, .hosts = "?",
		      .class = CLASS_HOST_SILENT } },
	{ "E38: long before anybody waits, too", "0011", .answer = "2",
	  .events = { { 20, 1, IS_CUT, 99000 },
		      { 0, BOTH(0, 2), BEATS, 20, 15000 },
		      { 15000, 0, WAITS, 100 } },
	  .until = 20000, .expect = { 15500, 15800, OUTCOME_HANG, "-", 1, 3, .hosts = "node1" } },
	{ "E44: datagrams of both sizes come, and no rank waits", "0011", .answer = "2",
	  .events = { { 500, 1, IS_CUT, 19000, 9 } }, .until = 18000 },
	{ "E38: ranks that make steps are not cut off", "0011", .answer = "2",
	  .events = { { 500, 1, IS_CUT, 99000 }, { 0, 0, BEATS, 20, 19000 } }, .until = 19000,
	  .expect = { .looks_max = 1 } },
	{ "E38: a cut that heals", "0011", .answer = "2",
	  .events = { { 500, 1, IS_CUT, 9000 },
		      { 520, BOTH(0, 2), WAITS, 300 },
		      { 8900, BOTH(0, 2), LEAVES },
		      { 8900, BOTH(0, 2), BEATS, 20, 19000 } },
	  .until = 15000 },
	{ "E38: a hang behind a cut that heals", "0011", .answer = "2",
	  .events = { { 500, 1, IS_CUT, 6000 }, { 520, 0, WAITS, 300 } }, .until = 15000,
	  .expect = { 11980, 12300, OUTCOME_HANG, "2", .hosts = "" } },
	{ "E42: a cut heals, and the ranks' connections repeat later", "0011", .answer = "2",
	  .events = { { 500, 1, IS_CUT, 2500 },
		      { 520, BOTH(0, 2), WAITS, 300 },
		      { 4200, BOTH(0, 2), LEAVES } },
	  .until = 9000 },
	{ "E42: a hang, and a host that is not heard of now and then", "0011", .answer = "2",
	  .events = { { 500, 1, IS_CUT, 1200 },
		      { 520, 0, WAITS, 300 },
		      { 1700, 1, IS_CUT, 2400 },
		      { 2900, 1, IS_CUT, 3600 },
		      { 4100, 1, IS_CUT, 4800 },
		      { 5300, 1, IS_CUT, 6000 } },
	  .until = 9000, .expect = { 2400, 3700, OUTCOME_HANG, "2", .hosts = "" } },
	{ "E47: a hang is reported while hosts are only just heard of again", "011", .answer = "0",
	  .events = { { 500, 1, IS_CUT, 1200 }, { 1000, BOTH(1, 2), WAITS, 300 } }, .until = 9000,
	  .expect = { 2400, 2700, OUTCOME_HANG, "0", .hosts = "" } },
	{ "E48: the job is stopped while answers are on their way", "0011", .answer = "2",
	  .events = { { 20, 0, WAITS, 300 }, { 640, 0, PAUSES, 15000 }, { 640, 1, PAUSES, 15100 } },
	  .until = 20000, .expect = { 15100, 15400, OUTCOME_HANG, "2", .hosts = "" } },
	{ "E38: its kernel answers", "0011", .answer = "2",
	  .events = { HANGS, { 500, 1, IS_CUT, 99000, 1 } }, .until = 20000,
	  .expect = { 10480, 10700, OUTCOME_HANG, "-", 1, 3, .hosts = "node1",
		      .class = CLASS_WATCHER_HELD } },
	{ "E40: its kernel answers, and its datagrams come", "0011", .answer = "2",
	  .events = { HANGS, { 500, 1, IS_CUT, 99000, 8 } }, .until = 20000,
	  .expect = { 10480, 10700, OUTCOME_HANG, "-", 1, 3, .hosts = "node1",
		      .class = CLASS_HOST_SILENT } },
	{ "E38: one direction", "0011", .answer = "2",
	  .events = { HANGS, { 500, 1, IS_CUT, 99000, 2 } }, .until = 20000,
	  .expect = { 10480, 10700, OUTCOME_HANG, "-", 1, 3, .hosts = "node1",
		      .class = CLASS_PARTITION } },
	{ "E40: datagrams say which direction", "0011", .answer = "2",
	  .events = { HANGS, { 500, 1, IS_CUT, 99000, 7 } }, .until = 20000,
	  .expect = { 10480, 10700, OUTCOME_HANG, "-", 1, 3, .hosts = "node1",
		      .pair = "node0>node1", .class = CLASS_PARTITION } },
	{ "E38: one of two", "0012", .answer = "2", .events = { HANGS, { 500, 2, IS_CUT, 99000 } },
	  .until = 20000, .expect = { 10480, 10700, OUTCOME_HANG, "-", 1, 3, .hosts = "node2" } },
	{ "E38: two of two", "0012", .answer = "2",
	  .events = { HANGS, { 500, BOTH(1, 2), IS_CUT, 99000 } }, .until = 20000,
	  .expect = { 10480, 10700, OUTCOME_HANG, "-", 1, 3, .hosts = "node1,node2" } },
	{ "E38: its leader is gone", "0011", .answer = "2", .events = { { 500, 1, VANISHES } },
	  .until = 3000,
	  .expect = { 1100, 1200, OUTCOME_DIED, "-", .hosts = "node1",
		      .class = CLASS_MONITOR_GONE } },
	{ "E46: nor does it come again when the launcher ends the run", "0011", .answer = "2",
	  .events = { { 500, 1, VANISHES }, { 600, 0, ENDS } }, .until = 3000,
	  .expect = { 600, 640, OUTCOME_DIED, "-", .hosts = "node1",
		      .class = CLASS_MONITOR_GONE } },
	{ "E46: which a signal ended", "0011", .answer = "2",
	  .events = { { 500, 1, VANISHES, 0, 1 }, { 520, 0, ENDS } }, .until = 3000 },
	{ "E41: it comes again", "0011", .answer = "2",
	  .events = { { 500, 1, VANISHES }, { 940, 1, VANISHES, 1 } }, .until = 9000 },
	{ "E41: and some rank hangs meanwhile", "0011", .answer = "2",
	  .events = { { 20, 0, WAITS, 100 }, { 500, 1, VANISHES }, { 940, 1, VANISHES, 1 } },
	  .until = 9000, .expect = { 600, 1100, OUTCOME_HANG, "2", .hosts = "" } },
	{ "E41: it comes again, and nothing is heard of it then", "0011", .answer = "2",
	  .events = { HANGS,
		      { 500, 1, IS_CUT, 99000 },
		      { 500, 1, VANISHES },
		      { 940, 1, VANISHES, 1 } },
	  .until = 20000,
	  .expect = { 10480, 10700, OUTCOME_HANG, "-", 1, 3, .hosts = "node1",
		      .class = CLASS_HOST_SILENT } },
	{ "E38: a death that was seen explains more", "0011", .answer = "1",
	  .events = { { 100, 1, VANISHES }, { 540, 1, DIES } }, .until = 3000,
	  .expect = { 600, 900, OUTCOME_DIED, "1", .hosts = "node1", .class = CLASS_DIED } },
	{ "E38: this leader did not run itself", "0011", .answer = "2",
	  .events = { { 0, 0, BEATS, 20, 400 },
		      { 500, 0, PAUSES, 15000 },
		      { 500, 1, PAUSES, 15400 },
		      { 15500, BOTH(0, 2), BEATS, 20, 22000 } },
	  .until = 22000 },
	{ "E38: without deadlines", "0011", .no_deadlines = true, .answer = "2",
	  .events = { HANGS, { 500, 1, IS_CUT, 99000 } }, .until = 20000 },
};

static const struct row watchers[] = {
	{ "E39: a supervisor is gone, and its rank with it", "000", .answer = "1",
	  .events = { { 500, 1, WATCHER, HOLD_GONE }, { 500, 1, DIES } }, .until = 3000,
	  .expect = { 600, 700, OUTCOME_DIED, "-", .hosts = "node0",
		      .class = CLASS_MONITOR_GONE } },
	{ "E39: a supervisor is stopped, and ranks go on", "000", .answer = "1",
	  .events = { { 500, 1, WATCHER, HOLD_STOPPED }, { 0, 0, BEATS, 20, 19000 } },
	  .until = 19000 },
	{ "E39: until they end", "000", .answer = "1",
	  .events = { { 500, 1, WATCHER, HOLD_STOPPED }, { 0, 0, BEATS, 20, 12000 } },
	  .until = 19000,
	  .expect = { 12500, 12800, OUTCOME_HANG, "-", .hosts = "node0",
		      .class = CLASS_WATCHER_HELD } },
	{ "E39: for a while", "000", .answer = "1",
	  .events = { { 500, 1, WATCHER, HOLD_FROZEN }, { 9000, 1, WATCHER, HOLD_NONE } },
	  .until = 19000 },
	{ "E39: the launcher is gone", "000", .answer = "1",
	  .events = { { 500, 0, LAUNCHER, HOLD_GONE }, { 0, 0, BEATS, 20, 3000 } }, .until = 3000,
	  .expect = { 600, 700, OUTCOME_DIED, "-", .hosts = "node0",
		      .class = CLASS_LAUNCHER_GONE } },
	{ "E39: the launcher is stopped", "000", .answer = "1",
	  .events = { { 500, 0, LAUNCHER, HOLD_STOPPED }, { 0, 0, BEATS, 20, 15000 } },
	  .until = 15000,
	  .expect = { 10500, 10800, OUTCOME_HANG, "-", .hosts = "node0",
		      .class = CLASS_WATCHER_HELD } },
	{ "E39: nor is a rank named for a hang meanwhile", "000", .answer = "-",
	  .events = { { 0, 0, LAUNCHER, HOLD_STOPPED }, HANGS }, .until = 9000,
	  .expect = { 1000, 3000, OUTCOME_HANG, "-", .hosts = "node0",
		      .class = CLASS_WATCHER_HELD } },
	{ "E39: one is named", "000", .answer = "1",
	  .events = { { 0, 0, LAUNCHER, HOLD_STOPPED }, HANGS }, .until = 9000,
	  .expect = { 1000, 3000, OUTCOME_HANG, "1", .hosts = "" } },
	{ "E39: another host's supervisor", "0011", .answer = "2",
	  .events = { { 500, 3, WATCHER, HOLD_GONE }, { 500, 3, DIES } }, .until = 3000,
	  .expect = { 600, 900, OUTCOME_DIED, "-", .hosts = "node1",
		      .class = CLASS_MONITOR_GONE } },
};

UNIT_TEST(test_watchers, "watchers that do not run")
{
	ROWS_PLAY(watchers);
}

UNIT_TEST(test_silent, "hosts that are not heard of")
{
	ROWS_PLAY(silent);
}
