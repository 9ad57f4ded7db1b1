/* test_settings.c: weights of settings, a rank's settings, and differences between ranks. */
#include "rig/unit.h"

#include "settings/settings_read.h"

UNIT_TEST(test_weights, "which settings matter")
{
	static const char *const names[][8] = {
		[SETTING_FREE] = { "NCCL_DEBUG_FILE", "NCCL_GRAPH_DUMP_FILE", "NCCL_SOCKET_IFNAME",
				   "NCCL_HOSTID", "CUDA_VISIBLE_DEVICES", "UCX_TLS",
				   "TORCH_NCCL_DEBUG_INFO_TEMP_FILE" },
		[SETTING_MAY] = { "NCCL_IB_HCA", "NCCL_ALGORITHM", "CUDA",
				  "TORCH_NCCL_BLOCKING_WAIT" },
		[SETTING_MATTERS] = { "NCCL_IB_TC", "NCCL_GRAPH_FILE", "NCCL_P2P_READ_ENABLE",
				      "TORCH_DISTRIBUTED_DEBUG" },
		[SETTING_BREAKS] = { "NCCL_ALGO", "libnccl", "NCCL_MAX_NCHANNELS" },
	};

	for (int weight = SETTING_FREE; weight <= SETTING_BREAKS; weight++)
		for (int i = 0; names[weight][i]; i++)
			CU_ASSERT_EQUAL((int)setting_weight(names[weight][i]), weight);
}

/* Texts, also as evidence may contain them. */
static const struct {
	const char *texts[6], *words;
	int rank;      /* rank of the majority */
	bool odd_hash; /* the hashes of the first and the last rank differ */
} compared[] = {
	{ { "NCCL_ALGO=Tree\n", "NCCL_ALGO=Tree\n" }, "", 0, false },
	{ { "A=1\n", "A=1\n", "A=1\n", "NCCL_ALGO=Tree\nA=1\n" },
	  "NCCL_ALGO: rank 3: Tree; ranks 0-2: unset",
	  0,
	  true },
	{ { "NCCL_PROTO=LL\n", "NCCL_PROTO=Simple\n" },
	  "NCCL_PROTO: rank 0: LL; rank 1: Simple",
	  -1,
	  true },
	{ { "NCCL_NET=IB\n", "NCCL_NET=Socket\n", "", "" },
	  "NCCL_NET: rank 0: IB; rank 1: Socket; ranks 2,3: unset",
	  -1,
	  true },
	{ { "NCCL_FOO=1\n", "NCCL_CROSS_NIC=1\nNCCL_PROTO=LL\n", "NCCL_FOO=1\n" }, /* by weight */
	  "NCCL_PROTO: rank 1: LL; ranks 0,2: unset. NCCL_CROSS_NIC: rank 1: 1; ranks 0,2: unset. "
	  "NCCL_FOO (may matter): rank 1: unset; ranks 0,2: 1",
	  0,
	  false },
	{ { "NCCL_CROSS_NIC=1\n", "", "" },
	  "NCCL_CROSS_NIC: rank 0: 1; ranks 1,2: unset",
	  1,
	  false },
	/* unknown: not compared */
	{ { "?", "", "NCCL_ALGO=Tree\n", "?", "" },
	  "NCCL_ALGO: rank 2: Tree; ranks 1,4: unset",
	  1,
	  false },
	/* malformed texts: no end, no value, no name, unprintable */
	{ { "NCCL_ALGO=Tree", "NCCL_ALGO", "NCCL_ALGO=Tree" },
	  "NCCL_ALGO: rank 1: ?; ranks 0,2: Tree",
	  0,
	  false },
	{ { "\n\n=1\n\x01=2\n", "NCCL_ALGO=\x02\n", "" },
	  "NCCL_ALGO: rank 1: ?; ranks 0,2: unset",
	  0,
	  false },
};

UNIT_TEST(test_compare, "who has what")
{
	struct setting_difference found[SETTINGS_DIFFERENCES];
	struct settings ends[2];
	const char *texts[6];
	char words[600];

	UNIT_ROWS(row, compared) {
		size_t differences;
		int n = 0;

		for (; row->texts[n]; n++)
			texts[n] = row->texts[n][0] == '?' ? NULL : row->texts[n];
		differences = settings_compare(texts, n, SETTING_MAY, found);
		settings_words(found, differences, words, sizeof(words));
		CU_ASSERT_STRING_EQUAL(words, row->words);
		if (differences > 0)
			CU_ASSERT_EQUAL(found[0].rank, row->rank);
		snprintf(ends[0].text, SETTINGS_BYTES, "%s", row->texts[0]);
		snprintf(ends[1].text, SETTINGS_BYTES, "%s", row->texts[n - 1]);
		CU_ASSERT_EQUAL(settings_hash(&ends[0]) != settings_hash(&ends[1]), row->odd_hash);
	}
}

/* The environment precedes the files, each file the next; comments and FREE ones are skipped. */
UNIT_TEST(test_read, "environment and files")
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
	CU_ASSERT(!strcmp(s.text, "NCCL_ALGO=\nNCCL_BUFFSIZE=1=2\nNCCL_PROTO=LL\nNCCL_XYZ=2\n"));
	unlink(path);
}

/* Long values and many settings still differ. */
UNIT_TEST(test_room, "long values, many values")
{
	struct setting_difference found[SETTINGS_DIFFERENCES];
	struct settings two[2];
	const char *texts[] = { two[0].text, two[1].text };
	char name[32], value[200];

	for (int many = 0; many <= 1; many++) {
		memset(two, 0, sizeof(two));
		for (int i = 0; i < 200; i++) {
			snprintf(name, sizeof(name), "NCCL_X%d", i / 2);
			snprintf(value, sizeof(value), "%0120d", i == 199 || !many ? i % 2 : 0);
			if (many || i < 2)
				settings_put(&two[i % 2], name, value);
		}
		CU_ASSERT(strnlen(two[0].text, SETTINGS_BYTES) < SETTINGS_BYTES);
		CU_ASSERT_EQUAL(settings_compare(texts, 2, SETTING_MAY, found), 1);
		CU_ASSERT_STRING_EQUAL(found[0].name, many ? "further-settings" : "NCCL_X0");
	}
}
