/* test_diagnose_lines.c: what a diagnosis says in sentences: who is meant, and how many of them. */
#include "calls_played.h"
#include "unit.h"

#include <string.h>

#include "rank_list.h"

/* Is this, from its beginning, a line of what was found? */
static bool said(const char *text)
{
	for (size_t i = 0; i < found.nlines; i++)
		if (strncmp(found.lines[i], text, strlen(text)) == 0)
			return true;
	for (size_t i = 0; i < found.nlines; i++)
		printf("  not '%s' but: %s\n", text, found.lines[i]);
	return false;
}

static void test_rank_list_words(void)
{
	static const struct {
		const char *set; /* '1': in it */
		size_t room;
		const char *words;
	} table[] = {
		{ "0000", 64, "no rank" },
		{ "", 64, "no rank" },
		{ "0100", 64, "rank 1" },
		{ "1000", 64, "rank 0" },
		{ "0110", 64, "ranks 1,2" },
		{ "1110", 64, "ranks 0-2" },
		{ "1011011111", 64, "ranks 0,2,3,5-9" },
		{ "1010101010101010101010101", 32, "ranks 0,2,4,6,8,10,12,14,16,..." },
	};

	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		bool in[32] = { false };
		char buf[64];

		for (size_t k = 0; table[i].set[k]; k++)
			in[k] = table[i].set[k] == '1';
		CU_ASSERT_STRING_EQUAL(rank_list_words(in, (int)strlen(table[i].set), buf,
						       table[i].room),
				       table[i].words);
		CU_ASSERT(strlen(buf) < table[i].room);
	}
}

static void test_absent(void)
{
	for (int absent = 1; absent <= 3; absent++) {
		set_up(5);
		for (int i = 0; i < 5; i++)
			play(i, i == 1 ? OP - 1 : OP, odd_count, i != 1);
		for (int i = 0; i < absent; i++)
			evidence.ranks[4 - i].present = false;
		finish();
		CU_ASSERT(said(absent == 1   ? "Of rank 4 nothing is known: 1 of 5."
			       : absent == 2 ? "Of ranks 3,4 nothing is known: 2 of 5."
					     : "Of ranks 2-4 nothing is known: 3 of 5."));
	}
}

int main(void)
{
	static const struct unit_case cases[] = {
		{ "ranks as words", test_rank_list_words },
		{ "of whom nothing is known", test_absent },
	};

	return unit_main("diagnose_lines", cases, sizeof(cases) / sizeof(cases[0]));
}
