/* test_decide_init.c: ranks that do not come to communicator init, or not alike, are told long before
 * init's deadline; a long init is not. Rows as in test_decide.c. */
#include "rig/unit.h"

#include "process/watch.h"
#include "watch/decide_rig.h"

#define SET_UP                                                                                     \
	{                                                                                          \
		0, ALL, PHASE, PHASE_SETUP                                                         \
	}
#define TWO_OF_3                                                                                   \
	SET_UP,                                                                                    \
	{                                                                                          \
		0, BOTH(0, 1), ENTERS, 3, 1                                                        \
	}
#define THREE_OF_4                                                                                 \
	SET_UP,                                                                                    \
	{                                                                                          \
		0, TRIO(0, 1, 2), ENTERS, 4, 1                                                     \
	}

static const struct row one_host[] = {
	{ "E17a: one does not come", "000", 500, .answer = "2", .events = { TWO_OF_3 },
	  .until = 9000, .expect = { 600, 700, OUTCOME_HANG, "2", .overdue = "01" } },
	{ "E17b: one asks for other ranks", "000", 500, .answer = "2",
	  .events = { TWO_OF_3, { 0, 2, ENTERS, 2, 1 } }, .until = 9000,
	  .expect = { 600, 700, OUTCOME_HANG, "2", .overdue = "012" } },
	{ "E17b: one has another id", "000", 500, .answer = "2",
	  .events = { TWO_OF_3, { 0, 2, ENTERS, 3, 2 } }, .until = 9000,
	  .expect = { 600, 700, OUTCOME_HANG, "2" } },
	{ "E17c: all are there, and init takes its time", "000", 500, .answer = "2",
	  .events = { TWO_OF_3, { 0, 2, ENTERS, 3, 1 } }, .until = 9000 },
	{ "E17c: so do two groups", "000", 500, .answer = "2",
	  .events = { SET_UP, { 0, BOTH(0, 1), ENTERS, 2, 1 }, { 0, 2, ENTERS, 1, 2 } },
	  .until = 9000 },
	{ "E17d: one comes late, but moves", "000", 500, .answer = "2",
	  .events = { TWO_OF_3, { 0, 2, BEATS, 200, 1200 }, { 1200, 2, ENTERS, 3, 1 } },
	  .until = 5000 },
	{ "E17d: one came otherwise just now", "000", 500, .answer = "2",
	  .events = { TWO_OF_3, { 0, 2, BEATS, 100, 700 }, { 700, 2, ENTERS, 2, 1 } },
	  .until = 5000, .expect = { 1300, 1360, OUTCOME_HANG, "2" } },
	{ "E17e: no cause in it: asked once", "000", 500, .answer = "U", .events = { TWO_OF_3 },
	  .until = 9000, .expect = { .looks_min = 1, .looks_max = 1 } },
	{ "E17e: init's own deadline stands", "000", 500, .answer = "U", .events = { TWO_OF_3 },
	  .until = 12000, .expect = { 10080, 10160, OUTCOME_HANG, "-", 2, 2 } },
	{ "E17f: -T", "000", 0, .answer = "2", .events = { TWO_OF_3 }, .until = 9000 },
	{ "E17g: who is missing is starved", "000", 500, .answer = "2",
	  .events = { TWO_OF_3, { 0, 2, STARVES } }, .until = 5000 },
	{ "E17g: or stopped, which is another matter", "000", 500, .answer = "2",
	  .events = { TWO_OF_3, { 0, 2, STARVES }, { 100, 2, STOPS } }, .until = 5000,
	  .expect = { 600, 700, OUTCOME_HANG, "2" } },
	{ "E22: behind an init that did not fit", "000", 500, .answer = "2",
	  .events = { TWO_OF_3, { 0, 2, ENTERS, 2, 1 }, { 20, ALL, READY } }, .until = 9000,
	  .expect = { 620, 720, OUTCOME_HANG, "2", .overdue = "012" } },
	{ "E22: behind one that did", "000", 500, .answer = "2",
	  .events = { TWO_OF_3, { 0, 2, ENTERS, 3, 1 }, { 20, ALL, READY } }, .until = 9000 },
	{ "E25: another group has not begun", "0000", 500, .answer = "2",
	  .events = { SET_UP, { 0, BOTH(0, 1), ENTERS, 2, 1 } }, .until = 5000 },
	{ "E25: one does not come, beside a surplus process", "0000", 500, .answer = "2",
	  .events = { TWO_OF_3, { 0, 3, SPARE } }, .until = 9000,
	  .expect = { 600, 700, OUTCOME_HANG, "2" } },
	{ "E27: the whole job was stopped", "000", 750, .answer = "2",
	  .events = { TWO_OF_3, { 300, 0, PAUSES, 2300 }, { 2640, 2, ENTERS, 3, 1 } },
	  .until = 5000 },
};

/* All are through init at 20; ranks 0 and 1 make the first call, rank 2 is where it could. */
#define THROUGH3                                                                                   \
	TWO_OF_3, { 0, 2, ENTERS, 3, 1 }, { 20, ALL, READY },                                      \
	{                                                                                          \
		20, BOTH(0, 1), CALLING                                                            \
	}

static const struct row first_calls[] = {
	{ "E36a: one does not come to the first call", "000", 750, .answer = "2",
	  .events = { THROUGH3 }, .until = 9000,
	  .expect = { 560, 740, OUTCOME_HANG, "2", .overdue = "01" } },
	{ "E36a: one was there, and is through", "000", 750, .answer = "2",
	  .events = { THROUGH3, { 40, 0, CALLED, 1 }, { 40, 0, LEAVES }, { 40, 0, WAITS, 10000 } },
	  .until = 9000, .expect = { 560, 740, OUTCOME_HANG, "2", .overdue = "1" } },
	{ "E36a: two do not come", "0000", 750, .answer = "2,3",
	  .events = { SET_UP,
		      { 0, ALL, ENTERS, 4, 1 },
		      { 20, ALL, READY },
		      { 20, BOTH(0, 1), CALLING } },
	  .until = 9000, .expect = { 560, 740, OUTCOME_HANG, "2,3", .overdue = "01" } },
	{ "E36a: one does not come to the second", "000", 750, .answer = "2",
	  .events = { THROUGH3, { 40, ALL, CALLED, 1 }, { 40, BOTH(0, 1), CALLING } },
	  .until = 9000, .expect = { 560, 740, OUTCOME_HANG, "2", .overdue = "01" } },
	{ "E36a: one makes one more", "000", 750, .answer = "1",
	  .events = { THROUGH3, { 40, BOTH(0, 2), CALLED, 1 }, { 40, 1, CALLING } }, .until = 9000,
	  .expect = { 560, 740, OUTCOME_HANG, "1", .overdue = "1" } },
	{ "E36b: the third has a deadline of its own", "000", 750, .answer = "2",
	  .events = { THROUGH3, { 40, ALL, CALLED, 2 }, { 40, BOTH(0, 1), CALLING } },
	  .until = 9000 },
	{ "E36b: all are in it, and it takes its time", "000", 750, .answer = "2",
	  .events = { THROUGH3, { 20, 2, CALLING } }, .until = 9000 },
	{ "E36b: one comes a little later", "000", 750, .answer = "2",
	  .events = { THROUGH3, { 400, 2, CALLING } }, .until = 9000 },
	{ "E36c: one still makes steps", "000", 750, .answer = "2",
	  .events = { THROUGH3, { 20, 2, BEATS, 200, 3000 }, { 3000, 2, CALLING } },
	  .until = 9000 },
	{ "E36c: one is at work that it announced", "000", 750, .answer = "2",
	  .events = { THROUGH3, { 20, 2, WORKS, 60000 } }, .until = 9000 },
	{ "E36c: one is starved", "000", 750, .answer = "2",
	  .events = { THROUGH3, { 20, 2, STARVES } }, .until = 9000 },
	{ "E36c: one is inside another call", "000", 750, .answer = "2",
	  .events = { THROUGH3, { 20, 2, CALLING, 1 } }, .until = 9000 },
	{ "E36c: one is not through init yet", "000", 750, .answer = "2",
	  .events = { THROUGH3, { 20, 2, ENTERS, 3, 1 } }, .until = 9000 },
	{ "E36d: one is stopped", "000", 750, .answer = "2",
	  .events = { THROUGH3, { 20, 2, STOPS } }, .until = 9000,
	  .expect = { 560, 740, OUTCOME_HANG, "2" } },
	{ "E36e: no cause in it: asked once", "000", 750, .answer = "U", .events = { THROUGH3 },
	  .until = 9000, .expect = { .looks_min = 1, .looks_max = 1 } },
	{ "E36e: the call's own deadline stands", "000", 750, .answer = "U", .events = { THROUGH3 },
	  .until = 12000, .expect = { 10100, 10180, OUTCOME_HANG, "-", 2, 2 } },
	{ "E36f: -T", "000", 0, .answer = "2", .events = { THROUGH3 }, .until = 9000 },
	{ "E36g: the whole job was stopped", "000", 750, .answer = "2",
	  .events = { THROUGH3, { 300, 0, PAUSES, 2300 }, { 2460, 2, CALLING } }, .until = 5000 },
};

UNIT_TEST(test_first_calls, "first calls")
{
	ROWS_PLAY(first_calls);
}

UNIT_TEST(test_one_host, "one host")
{
	ROWS_PLAY(one_host);
}

static const struct row two_hosts[] = {
	{ "E24a: rank 3 does not come", "0011", 750, .answer = "3", .events = { THREE_OF_4 },
	  .until = 9000, .expect = { 850, 960, OUTCOME_HANG, "3", .overdue = "012" } },
	{ "E24a: rank 0 does not come", "0011", 750, .answer = "0",
	  .events = { SET_UP, { 0, TRIO(1, 2, 3), ENTERS, 4, 1 } }, .until = 9000,
	  .expect = { 850, 960, OUTCOME_HANG, "0", .overdue = "123" } },
	{ "E24b: no rank of host 1 comes", "0011", 750, .answer = "2",
	  .events = { SET_UP, { 0, BOTH(0, 1), ENTERS, 4, 1 } }, .until = 9000,
	  .expect = { 850, 960, OUTCOME_HANG, .overdue = "01" } },
	{ "E24b: no rank of the root's host comes", "0011", 750, .answer = "2",
	  .events = { SET_UP, { 0, BOTH(2, 3), ENTERS, 4, 1 } }, .until = 9000,
	  .expect = { 850, 960, OUTCOME_HANG, .overdue = "23" } },
	{ "E24c: each host by itself looks whole", "0011", 750, .answer = "2",
	  .events = { SET_UP, { 0, BOTH(0, 1), ENTERS, 4, 1 }, { 0, BOTH(2, 3), ENTERS, 4, 2 } },
	  .until = 9000, .expect = { 850, 960, OUTCOME_HANG, .overdue = "0123" } },
	{ "E24c: one asks for other ranks", "0011", 750, .answer = "2",
	  .events = { SET_UP,
		      { 0, BOTH(0, 1), ENTERS, 4, 1 },
		      { 0, 2, ENTERS, 3, 1 },
		      { 0, 3, ENTERS, 4, 1 } },
	  .until = 9000, .expect = { 850, 960, OUTCOME_HANG, .overdue = "0123" } },
	{ "E24c: behind init", "0011", 750, .answer = "3",
	  .events = { THREE_OF_4, { 0, 3, ENTERS, 3, 1 }, { 20, ALL, READY } }, .until = 9000,
	  .expect = { 850, 1000, OUTCOME_HANG, .overdue = "0123" } },
	{ "E24d: all come, are counted once, and init takes its time", "0011", 500, .answer = "3",
	  .events = { THREE_OF_4, { 0, 3, ENTERS, 4, 1 } }, .until = 9000,
	  .expect = { .censuses_max = 1 } },
	{ "E24d: then a hang is told", "0011", 500, .answer = "3",
	  .events = { THREE_OF_4,
		      { 0, 3, ENTERS, 4, 1 },
		      { 2000, 3, LEAVES },
		      { 2000, 3, WAITS, 100 } },
	  .until = 9000,
	  .expect = { 2600, 2700, OUTCOME_HANG, .overdue = "3", .censuses_max = 1 } },
	{ "E24d: two groups over the hosts", "0011", 500, .answer = "3",
	  .events = { SET_UP, { 0, BOTH(0, 2), ENTERS, 2, 1 }, { 0, BOTH(1, 3), ENTERS, 2, 2 } },
	  .until = 9000, .expect = { .censuses_max = 1 } },
	{ "E24e: one comes late, but moves", "0011", 500, .answer = "3",
	  .events = { THREE_OF_4, { 0, 3, BEATS, 200, 1200 }, { 1200, 3, ENTERS, 4, 1 } },
	  .until = 5000 },
	{ "E17g: who is missing made a step, and was stopped", "0011", 750, .answer = "3",
	  .events = { THREE_OF_4, { 0, 3, BEATS, 100, 700 }, { 740, 3, STOPS } }, .until = 9000,
	  .expect = { 1150, 1400, OUTCOME_HANG, "3", 2, 3 } },
	{ "E24f: no cause in it: asked once", "0011", 500, .answer = "U", .events = { THREE_OF_4 },
	  .until = 9000, .expect = { .looks_min = 1, .looks_max = 1, .overdue = "012" } },
	{ "E24g: -T", "0011", 0, .answer = "3", .events = { THREE_OF_4 }, .until = 9000 },
	{ "E24h: not from half of the views", "0011", 750, .answer = "3",
	  .events = { THREE_OF_4, { 0, 1, IS_MUTE } }, .until = 5000 },
	{ "E26: surplus processes", "000111", 500, .answer = "4",
	  .events = { SET_UP, { 0, BOTH(0, 3), SPARE }, { 0, TRIO(1, 2, 5), ENTERS, 4, 1 } },
	  .until = 9000, .expect = { 600, 760, OUTCOME_HANG, .overdue = "125" } },
	{ "E26: all came, beside them", "000111", 500, .answer = "4",
	  .events = { SET_UP,
		      { 0, BOTH(0, 3), SPARE },
		      { 0, SOME(1 << 1 | 1 << 2 | 1 << 4 | 1 << 5), ENTERS, 4, 1 } },
	  .until = 9000, .expect = { .censuses_max = 1 } },
	{ "E27: the whole job was stopped", "0011", 750, .answer = "3",
	  .events = { THREE_OF_4, { 300, BOTH(0, 1), PAUSES, 2300 }, { 2640, 3, ENTERS, 4, 1 } },
	  .until = 5000 },
	{ "E28d: who is missing is starved for long", "0011", 500, .answer = "3",
	  .events = { THREE_OF_4, { 0, 3, STARVES } }, .until = 5000,
	  .expect = { .censuses_max = 13 } },
};

#define THROUGH4                                                                                   \
	THREE_OF_4, { 0, 3, ENTERS, 4, 1 }, { 20, ALL, READY },                                    \
	{                                                                                          \
		20, BOTH(1, 2), CALLING                                                            \
	}

static const struct row first_calls_of_two[] = {
	{ "E36h: rank 3 does not come", "0011", 750, .answer = "3",
	  .events = { THROUGH4, { 20, 0, CALLING } }, .until = 9000,
	  .expect = { 560, 900, OUTCOME_HANG, "3", .overdue = "012" } },
	{ "E36h: rank 0 does not come", "0011", 750, .answer = "0",
	  .events = { THROUGH4, { 20, 3, CALLING } }, .until = 9000,
	  .expect = { 560, 900, OUTCOME_HANG, "0", .overdue = "123" } },
	{ "E36h: init took its time, and only the other host waits", "0011", 750, .answer = "0,1",
	  .events = { THREE_OF_4,
		      { 0, 3, ENTERS, 4, 1 },
		      { 3000, ALL, READY },
		      { 3000, BOTH(2, 3), CALLING } },
	  .until = 9000,
	  .expect = { 3560, 3900, OUTCOME_HANG, "0,1", .overdue = "23", .censuses_max = 4 } },
	{ "E36i: all are in it, are counted once, and it takes its time", "0011", 750,
	  .answer = "3", .events = { THROUGH4, { 20, BOTH(0, 3), CALLING } }, .until = 9000,
	  .expect = { .censuses_max = 1 } },
	{ "E36i: one still makes steps", "0011", 750, .answer = "3",
	  .events = { THROUGH4,
		      { 20, 0, CALLING },
		      { 20, 3, BEATS, 200, 3000 },
		      { 3000, 3, CALLING } },
	  .until = 9000 },
	{ "E36j: no cause in it: asked once", "0011", 750, .answer = "U",
	  .events = { THROUGH4, { 20, 3, CALLING } }, .until = 9000,
	  .expect = { .looks_min = 1, .looks_max = 1 } },
	{ "E36j: nor in what a host saw by itself", "0011", 750, .extensions = true, .answer = "U",
	  .events = { SET_UP,
		      { 0, BOTH(0, 1), ENTERS, 2, 1 },
		      { 0, BOTH(2, 3), ENTERS, 2, 2 },
		      { 20, BOTH(2, 3), READY },
		      { 20, 2, CALLING } },
	  .until = 9000, .expect = { .looks_min = 1, .looks_max = 1, .overdue = "2" } },
};

UNIT_TEST(test_first_calls_of_two, "first calls of two hosts")
{
	ROWS_PLAY(first_calls_of_two);
}

UNIT_TEST(test_two_hosts, "two hosts")
{
	ROWS_PLAY(two_hosts);
}
