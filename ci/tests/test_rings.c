/* test_rings.c: rings out of NCCL logs, and out of what only looks like one. */
#include "unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "rings.h"

static char dir[64];
static struct rings rings;

static void put(const char *name, const char *text)
{
	char path[128];
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	f = fopen(path, "w");
	CU_ASSERT_PTR_NOT_NULL_FATAL(f);
	fputs(text, f);
	fclose(f);
}

static void read_one(const char *text)
{
	char path[128];

	strcpy(dir, "/tmp/test_rings.XXXXXX");
	CU_ASSERT_PTR_NOT_NULL_FATAL(mkdtemp(dir));
	put("nccl-host-1.log", text);
	rings_read(&rings, dir);
	snprintf(path, sizeof(path), "%s/nccl-host-1.log", dir);
	unlink(path);
	CU_ASSERT_EQUAL(rmdir(dir), 0);
}

static void test_lines(void)
{
	static const struct {
		const char *text, *ranks;
		int channel, of;
	} table[] = {
		{ "vm:1:2 [0] NCCL INFO Channel 00/02 : 0 1 2 3\n", "0 1 2 3", 0, 2 },
		{ "vm:1:2 [0] NCCL INFO Channel 01/16 :    0   8  15\n", "0 8 15", 1, 16 },
		{ "Channel 03/24 : 7 6", "7 6", 3, 24 }, /* cut off at its end */
		{ "Channel 00/0 : 0[0] -> 1[1] via P2P/CUMEM\n", NULL, 0, 0 },
		{ "Channel 00 : 0[0] -> 1[1] via P2P/CUMEM\n", NULL, 0, 0 },
		{ "Channel 00/02 :\n", NULL, 0, 0 },
		{ "Channel 00/02 : 0 1 x\n", NULL, 0, 0 },
		{ "Channel -1/02 : 0 1\n", NULL, 0, 0 },
		{ "Channel \n", NULL, 0, 0 },
		{ "", NULL, 0, 0 },
	};

	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		read_one(table[i].text);
		CU_ASSERT_EQUAL(rings.nlogs, 1);
		CU_ASSERT_EQUAL_FATAL(rings.n, table[i].ranks ? 1 : 0);
		if (!table[i].ranks)
			continue;
		CU_ASSERT_STRING_EQUAL(rings.ring[0].ranks, table[i].ranks);
		CU_ASSERT_EQUAL(rings.ring[0].channel, table[i].channel);
		CU_ASSERT_EQUAL(rings.ring[0].of, table[i].of);
	}
}

static void test_many(void)
{
	static char text[200000];
	size_t at = 0;

	for (int i = 0; i < 200; i++) /* every line twice, and more than there is room for */
		at += (size_t)sprintf(text + at, "Channel %02d/200 : 0 1\nChannel %02d/200 : 0 1\n",
				      i, i);
	read_one(text);
	CU_ASSERT_EQUAL(rings.n, RINGS_MAX);
	CU_ASSERT_EQUAL(rings.ring[1].channel, 1);
	at = (size_t)sprintf(text,
			     "Channel 00/01 :"); /* a ring of many ranks is cut, and says so */
	for (int i = 0; i < 2000; i++)
		at += (size_t)sprintf(text + at, " %d", i);
	read_one(text);
	CU_ASSERT_EQUAL_FATAL(rings.n, 1);
	CU_ASSERT(strlen(rings.ring[0].ranks) < RING_TEXT);
	CU_ASSERT_STRING_EQUAL(rings.ring[0].ranks + strlen(rings.ring[0].ranks) - 4, " ...");
	memset(text, '7', 100000);
	memcpy(text, "Channel 00/01 : ", 16);
	text[100000] = '\0';
	read_one(text); /* one number longer than any line */
	CU_ASSERT(rings.n <= 1);
	rings_read(&rings, "/nowhere/at/all");
	CU_ASSERT_EQUAL(rings.n, 0);
	CU_ASSERT_EQUAL(rings.nlogs, 0);
}

static const struct unit_case cases[] = {
	{ "lines that are rings, and that are not", test_lines },
	{ "too many, too long", test_many },
};

int main(void)
{
	return unit_main("rings", cases, sizeof(cases) / sizeof(cases[0]));
}
