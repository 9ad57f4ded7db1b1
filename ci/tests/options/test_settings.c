/* test_settings.c: which settings matter, what a rank has of them, and in what ranks differ. */
#include "rig/unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "options/settings_read.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

static void test_weights(void)
{
	static const struct {
		const char *name;
		enum setting_weight weight;
	} cases[] = {
		{ "NCCL_ALGO", SETTING_BREAKS },
		{ "libnccl", SETTING_BREAKS },
		{ "NCCL_MAX_NCHANNELS", SETTING_BREAKS },
		{ "NCCL_IB_TC", SETTING_MATTERS },
		{ "NCCL_IB_HCA", SETTING_MAY },
		{ "NCCL_ALGORITHM", SETTING_MAY },
		{ "CUDA", SETTING_MAY },
		{ "NCCL_DEBUG_FILE", SETTING_FREE },
		{ "NCCL_GRAPH_DUMP_FILE", SETTING_FREE },
		{ "NCCL_GRAPH_FILE", SETTING_MATTERS },
		{ "NCCL_SOCKET_IFNAME", SETTING_FREE },
		{ "CUDA_VISIBLE_DEVICES", SETTING_FREE },
		{ "UCX_TLS", SETTING_FREE },
		{ "NCCL_HOSTID", SETTING_FREE },
	};

	for (size_t i = 0; i < COUNT(cases); i++)
		CU_ASSERT_EQUAL(setting_weight(cases[i].name), cases[i].weight);
}

/* Texts as they may come out of evidence, too. */
static const struct {
	const char *texts[5], *words;
	int rank;      /* of most */
	bool odd_hash; /* rank 0's and the last one's differ in what breaks calls */
} compared[] = {
	{ { "NCCL_ALGO=Tree\n", "NCCL_ALGO=Tree\n" }, "", 0, false },
	{ { "A=1\n", "A=1\n", "A=1\n", "NCCL_ALGO=Tree\nA=1\n" },
	  "NCCL_ALGO: rank 3: Tree; ranks 0-2: unset",
	  0,
	  true },
	{ { "NCCL_PROTO=LL\n", "", "" }, "NCCL_PROTO: rank 0: LL; ranks 1,2: unset", 1, true },
	{ { "NCCL_PROTO=LL\n", "NCCL_PROTO=Simple\n" },
	  "NCCL_PROTO: rank 0: LL; rank 1: Simple",
	  -1,
	  true },
	{ { "NCCL_NET=IB\n", "NCCL_NET=Socket\n", "", "" },
	  "NCCL_NET: rank 0: IB; rank 1: Socket; ranks 2,3: unset",
	  -1,
	  true },
	/* what matters comes first, whatever its name */
	{ { "NCCL_FOO=1\n", "NCCL_PROTO=LL\nNCCL_ALGO=Ring\n", "NCCL_FOO=1\n" },
	  "NCCL_ALGO: rank 1: Ring; ranks 0,2: unset. NCCL_PROTO: rank 1: LL; ranks 0,2: "
	  "unset. NCCL_FOO (may matter): rank 1: unset; ranks 0,2: 1",
	  0,
	  false },
	{ { "NCCL_FOO=1\n", "", "" },
	  "NCCL_FOO (may matter): rank 0: 1; ranks 1,2: unset",
	  1,
	  false },
	{ { "NCCL_CROSS_NIC=1\n", "NCCL_PROTO=LL\n", "NCCL_PROTO=LL\n" },
	  "NCCL_PROTO: rank 0: unset; ranks 1,2: LL. NCCL_CROSS_NIC: rank 0: 1; ranks 1,2: "
	  "unset",
	  1,
	  true },
	{ { "NCCL_CROSS_NIC=1\n", "", "" },
	  "NCCL_CROSS_NIC: rank 0: 1; ranks 1,2: unset",
	  1,
	  false },
	/* unsound ones: no end, no value, no name, no print */
	{ { "NCCL_ALGO=Tree", "NCCL_ALGO", "NCCL_ALGO=Tree" },
	  "NCCL_ALGO: rank 1: ?; ranks 0,2: Tree",
	  0,
	  false },
	{ { "\n\n=1\n\x01=2\n", "NCCL_ALGO=\x02\n", "" },
	  "NCCL_ALGO: rank 1: ?; ranks 0,2: unset",
	  0,
	  false },
};

static void test_compare(void)
{
	struct setting_difference found[SETTINGS_DIFFERENCES];
	struct settings first = { .more = 0 }, last = { .more = 0 };
	char words[600];

	for (size_t i = 0; i < COUNT(compared); i++) {
		int n = 0;
		size_t differences;

		while (n < 5 && compared[i].texts[n])
			n++;
		differences = settings_compare(compared[i].texts, n, found);
		settings_words(found, differences, words, sizeof(words));
		CU_ASSERT_STRING_EQUAL(words, compared[i].words);
		CU_ASSERT_EQUAL(differences > 0, compared[i].words[0] != '\0');
		if (differences > 0)
			CU_ASSERT_EQUAL(found[0].rank, compared[i].rank);
		snprintf(first.text, sizeof(first.text), "%s", compared[i].texts[0]);
		snprintf(last.text, sizeof(last.text), "%s", compared[i].texts[n - 1]);
		CU_ASSERT_EQUAL(settings_hash(&first) != settings_hash(&last),
				compared[i].odd_hash);
	}
}

/* Ranks of whom nothing is known have no part in it: not in the majority, not in the words. */
static void test_unknown(void)
{
	const char *texts[] = { NULL, "", "NCCL_ALGO=Tree\n", NULL, "" };
	struct setting_difference found[SETTINGS_DIFFERENCES];

	CU_ASSERT_EQUAL(settings_compare(texts, 5, found), 1);
	CU_ASSERT_STRING_EQUAL(found[0].words, "rank 2: Tree; ranks 1,4: unset");
	CU_ASSERT_EQUAL(found[0].rank, 1);
	CU_ASSERT_STRING_EQUAL(found[0].theirs, "Tree");
	CU_ASSERT_STRING_EQUAL(found[0].most, "unset");
	CU_ASSERT_TRUE(settings_like(texts[1], texts[4], "NCCL_ALGO"));
	CU_ASSERT_FALSE(settings_like(texts[1], texts[2], "NCCL_ALGO"));
}

/* The environment counts before the files, and the first file before the next; comments, lines without a
 * value and what is free are passed over. */
static void test_read(void)
{
	static const char *const environment[] = { "PATH=/", "NCCL_PROTO=LL", "NCCL_DEBUG=INFO",
						   "NCCL_ALGO=", NULL };
	char path[] = "/tmp/test_settings.XXXXXX";
	const char *files[] = { path, "/nowhere", NULL };
	struct settings s = { .more = 0 };
	int fd = mkstemp(path);

	CU_ASSERT_FATAL(fd >= 0);
	dprintf(fd, "# NCCL_NET=IB\nNCCL_PROTO=Simple\nNCCL_NET\nNCCL_XYZ=2\nNCCL_XYZ=3\n"
		    "NCCL_ALGO=Ring\nNCCL_BUFFSIZE=1=2");
	close(fd);
	settings_read(&s, (char *const *)environment, files);
	CU_ASSERT_STRING_EQUAL(s.text,
			       "NCCL_ALGO=\nNCCL_BUFFSIZE=1=2\nNCCL_PROTO=LL\nNCCL_XYZ=2\n");
	unlink(path);
}

/* What is too long, or too much, still differs. */
static void test_room(void)
{
	struct settings two[2];
	const char *texts[] = { two[0].text, two[1].text };
	struct setting_difference found[SETTINGS_DIFFERENCES];
	char name[32], value[200];

	for (int many = 0; many <= 1; many++) {
		memset(two, 0, sizeof(two));
		for (int i = 0; i < 2; i++)
			for (int k = 0; k < (many ? 100 : 1); k++) {
				snprintf(name, sizeof(name), "NCCL_X%d", k);
				snprintf(value, sizeof(value), "%0120d", k == 99 || !many ? i : k);
				settings_put(&two[i], name, value);
			}
		CU_ASSERT(strnlen(two[0].text, SETTINGS_BYTES) < SETTINGS_BYTES);
		CU_ASSERT_EQUAL(settings_compare(texts, 2, found), 1);
		CU_ASSERT_STRING_EQUAL(found[0].name, many ? "further-settings" : "NCCL_X0");
	}
}

int main(void)
{
	static const struct unit_case cases[] = {
		{ "which settings matter", test_weights },
		{ "who has what", test_compare },
		{ "ranks that are not known", test_unknown },
		{ "environment and files", test_read },
		{ "long values, many values", test_room },
	};

	return unit_main("settings", cases, sizeof(cases) / sizeof(cases[0]));
}
