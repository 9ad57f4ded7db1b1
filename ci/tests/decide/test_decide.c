/* test_decide.c: what leaders decide, by the rows of decide.txt: of one host, of ranks that do not come to communicator
 * init, or not alike, and of several hosts, who report, wait for the root, and end by themselves only without it. */
#include "rig/unit.h"

#include "decide/decide_rig.h"

UNIT_TEST(test_everyday, "every day")
{
	rows_play();
}

UNIT_TEST(test_pauses, "what is no rank's delay")
{
	rows_play();
}

UNIT_TEST(test_debuggers, "a debugger")
{
	rows_play();
}

UNIT_TEST(test_errors, "an error, and a death")
{
	rows_play();
}

UNIT_TEST(test_settings, "settings that differ")
{
	rows_play();
}

UNIT_TEST(test_extensions, "a hang that nothing explains")
{
	rows_play();
}

UNIT_TEST(test_crowds, "a busy host")
{
	rows_play();
}

UNIT_TEST(test_end, "the end")
{
	rows_play();
}

UNIT_TEST(test_first_calls, "first calls")
{
	rows_play();
}

UNIT_TEST(test_one_host, "one host")
{
	rows_play();
}

UNIT_TEST(test_first_calls_of_two, "first calls of two hosts")
{
	rows_play();
}

UNIT_TEST(test_two_hosts, "two hosts")
{
	rows_play();
}

UNIT_TEST(test_together, "together")
{
	rows_play();
}

UNIT_TEST(test_busy, "a busy host among several")
{
	rows_play();
}

UNIT_TEST(test_alone, "a leader elsewhere")
{
	rows_play();
}

UNIT_TEST(test_watchers, "watchers that do not run")
{
	rows_play();
}

UNIT_TEST(test_silent, "hosts that are not heard of")
{
	rows_play();
}
