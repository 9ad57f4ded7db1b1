/* test_traffic.c: alltoallv's generated pattern, and matrix files: valid, wrong, hostile. */
#include "measure/irregular.h"
#include "backend/traffic.h"

#include "rig/unit.h"

static char folder[UNIT_TEMP], path[UNIT_PATH];

static struct options plain(void)
{
	return (struct options){
		.min_bytes = 1 << 20, .max_bytes = 1 << 20, .spread = 1, .matrix_scale = 1
	};
}

struct pattern_case {
	int nranks;
	double spread;
	size_t bytes, elsize;
	size_t want[4]; /* elements from rank 0 to 0, 1, 2, 3 */
};

/* By hand: bytes cut to 16 x nranks; to rank j (1 - s) total / n + s j total / (n (n-1) / 2). */
static const struct pattern_case pattern_cases[] = {
	{ 4, 1, 6144, 1, { 0, 1024, 2048, 3072 } },
	{ 4, 1, 6144, 4, { 0, 256, 512, 768 } },
	{ 4, 0, 6144, 4, { 384, 384, 384, 384 } },
	{ 4, 0.5, 6144, 1, { 768, 1280, 1792, 2304 } },
	{ 4, 1, 6144 + 63, 1, { 0, 1024, 2048, 3072 } },
	{ 4, 1, 64, 1, { 0, 0, 16, 32 } }, /* 10.7, 21.3, 32 */
	{ 4, 0, 64, 8, { 2, 2, 2, 2 } },
	{ 4, 0, 63, 1, { 0, 0, 0, 0 } },
	{ 3, 1, 4800, 8, { 0, 200, 400, 0 } },
	{ 3, 0, 4801, 8, { 200, 200, 200, 0 } },
	{ 2, 1, 1024, 4, { 0, 256, 0, 0 } },
	{ 2, 0, 1024, 4, { 128, 128, 0, 0 } },
	{ 1, 1, 1000, 4, { 248, 0, 0, 0 } },
	{ 4, 1, (size_t)6 << 40, 1, { 0, (size_t)1 << 40, (size_t)2 << 40, (size_t)3 << 40 } },
};

UNIT_TEST(test_pattern, "generated pattern")
{
	size_t i;
	int from, to;

	for (i = 0; i < LENGTH(pattern_cases); i++) {
		const struct pattern_case *c = &pattern_cases[i];
		struct options options = plain();
		struct error err = { .rank = -1 };
		struct traffic traffic;

		options.spread = c->spread;
		CU_ASSERT_EQUAL(traffic_init(&traffic, &options, c->nranks, &err), 0);
		CU_ASSERT_PTR_NULL(traffic.matrix);
		/* Only the distance counts: every rank's row is rank 0's, rotated. */
		for (from = 0; from < c->nranks; from++) {
			for (to = 0; to < c->nranks; to++)
				CU_ASSERT_EQUAL(traffic_count(&traffic, from, to, c->bytes,
							      c->elsize),
						c->want[(to - from + c->nranks) % c->nranks]);
		}
		traffic_release(&traffic);
	}
}

/* With any spread all ranks send and receive the same, never more than requested. */
UNIT_TEST(test_totals, "equal totals")
{
	struct options options = plain();
	struct error err = { .rank = -1 };
	struct traffic traffic;
	int step, a, b;

	for (step = 0; step <= 10; step++) {
		size_t first = 0;

		options.spread = step / 10.0;
		CU_ASSERT_EQUAL(traffic_init(&traffic, &options, 7, &err), 0);
		for (a = 0; a < 7; a++) {
			size_t sent = 0, received = 0;

			for (b = 0; b < 7; b++) {
				sent += traffic_count(&traffic, a, b, 1000003, 2);
				received += traffic_count(&traffic, b, a, 1000003, 2);
			}
			first = a ? first : sent;
			UNIT_ALL(sent == first, received == first, 2 * sent <= 1000003,
				 2 * sent > 1000003 - 16 * 7 * 2);
		}
		traffic_release(&traffic);
	}
}

static void write_file(const void *text, size_t len)
{
	CU_ASSERT_EQUAL(unit_put(NULL, path, text, len), 0);
}

UNIT_TEST(test_matrix, "matrix file")
{
	static const char text[] =
		"100 200 150 1e9\r\n\n  50\t100 75.5 7\n300 150 200 7 \n\n1 2 3 4";
	static const size_t want[3][3] = { { 96, 192, 144 }, { 48, 96, 64 }, { 288, 144, 192 } };
	struct options options = plain();
	struct error err = { .rank = -1 };
	struct traffic traffic;
	int i, j;

	write_file(text, strlen(text));
	options.matrix_file = path;
	CU_ASSERT_EQUAL(traffic_init(&traffic, &options, 3, &err), 0);
	for (i = 0; i < 3; i++) {
		for (j = 0; j < 3; j++) {
			CU_ASSERT_EQUAL(traffic_count(&traffic, i, j, 1 << 20, 1), want[i][j]);
			CU_ASSERT_EQUAL(traffic_count(&traffic, i, j, 7, 8), want[i][j] / 8);
		}
	}
	traffic_release(&traffic);
	CU_ASSERT_PTR_NULL(traffic.matrix);
	traffic_release(&traffic);

	options.matrix_scale = 2.5;
	CU_ASSERT_EQUAL(traffic_init(&traffic, &options, 2, &err), 0);
	CU_ASSERT_EQUAL(traffic_count(&traffic, 0, 0, 1 << 20, 1), 240); /* 250 cut */
	CU_ASSERT_EQUAL(traffic_count(&traffic, 1, 0, 1 << 20, 1), 112); /* 125 cut */
	traffic_release(&traffic);
	CU_ASSERT_EQUAL(err.outcome, OUTCOME_OK);
}

struct wrong_case {
	const char *text, *want;
};

static const struct wrong_case wrong_cases[] = {
	{ "", "is empty" },
	{ " \n\t\n\n", "is empty" },
	{ "1 2\n3\n", "row 2 has 1 columns, but row 1 has 2" },
	{ "1\n2 3\n", "row 2 has 2 columns, but row 1 has 1" },
	{ "1 2\n\n3 4 5", "row 2 has 3 columns, but row 1 has 2" },
	{ "1 2\n", "has 1 rows and 2 columns, but must be square" },
	{ "1 2\n3 4\n5 6\n", "has 3 rows and 2 columns" },
	{ "1\n", "has 1 rows and columns, but there are 2 ranks" },
	{ "1 2\n3 -4\n", "row 2, column 2: -4 is negative" },
	{ "1 nan\n3 4\n", "row 1, column 2: 'nan' is not a number" },
	{ "1 2\ninf 4\n", "row 2, column 1: 'inf' is not a number" },
	{ "1 2\n3 0x10\n", "row 2, column 2: '0x10' is not a number" },
	{ "1 2\n3 4,\n", "row 2, column 2: '4,' is not a number" },
	{ "1 2\n3 4K\n", "row 2, column 2: '4K' is not a number" },
	{ "1 2\n3 e\n", "row 2, column 2: 'e' is not a number" },
	{ "1 2\n3 1-2\n", "'1-2' is not a number" },
	{ "1,2\n3,4\n", "row 1, column 1: '1,2' is not a number" },
	{ "# 2 ranks\n1 2\n3 4\n", "row 1, column 1: '#' is not a number" },
	{ "1 2\n3 1e999\n", "row 2, column 2: 1e999, scaled by 1, is more than 2^53" },
	{ "1 2\n3 1e300\n", "is more than 2^53" },
	{ "1 2\n3 9007199254740993e1\n", "is more than 2^53" },
	{ "1 2 3\n4 5 6\n7 8 x\n", "row 3, column 3: 'x' is not a number" },
	{ "1048576 16\n0 0\n",
	  "-e 1048576: must be at least 1048592, the largest row or column sum" },
	{ "1048576 0\n16 0\n", "-e 1048576: must be at least 1048592" },
	{ "\xef\xbb\xbf"
	  "1 2\n3 4\n",
	  "row 1, column 1:" },
	{ "1 2\n3 00000000000000000000000000000000000000000000000000000000000000000000000000004\n",
	  "row 2, column 2:" },
};

/* Expects a refusal of the file `name` with `want` in the text. */
static void refused(const char *name, int nranks, const char *want)
{
	struct options options = plain();
	struct error err = { .rank = -1 };
	struct traffic traffic;

	options.matrix_file = name;
	UNIT_ALL(traffic_init(&traffic, &options, nranks, &err) < 0, err.outcome == OUTCOME_USAGE,
		 traffic.matrix == NULL, strstr(err.text, want) != NULL);
	if (!strstr(err.text, want))
		fprintf(stderr, "\n  is  '%s'\n  not '%s'\n", err.text, want);
}

UNIT_TEST(test_wrong_matrix, "matrix files that are wrong")
{
	size_t i;

	for (i = 0; i < LENGTH(wrong_cases); i++) {
		write_file(wrong_cases[i].text, strlen(wrong_cases[i].text));
		refused(path, 2, wrong_cases[i].want);
	}
}

UNIT_TEST(test_binary_and_huge, "binary and huge files")
{
	size_t len = 4 << 20, i;
	char *bytes = malloc(len);
	unsigned int state = 1;

	CU_ASSERT_PTR_NOT_NULL_FATAL(bytes);
	write_file("1 2\n3 4\0\0", 9);
	refused(path, 2, "row 2, column 2: '4?\?' is not a number");
	for (i = 0; i < len; i++)
		bytes[i] = (char)(rand_r(&state) >> 7);
	write_file(bytes, len);
	refused(path, 2, "is not a number");
	memset(bytes, '7', len);
	write_file(bytes, len);
	refused(path, 2, "row 1, column 1:");
	for (i = 0; i < len; i += 2)
		memcpy(bytes + i, "1 ", 2);
	write_file(bytes, len);
	refused(path, 2, "has 1 rows and 2097152 columns");
	for (i = 0; i < len; i += 2)
		memcpy(bytes + i, "1\n", 2);
	write_file(bytes, len);
	refused(path, 2, "has 2097152 rows and 1 columns");
	memset(bytes, '\n', len);
	write_file(bytes, len);
	refused(path, 2, "is empty");
	free(bytes);
}

UNIT_TEST(test_no_file, "no file at all")
{
	char pipe_path[UNIT_PATH];

	unlink(path);
	refused(path, 2, "can't be opened: No such file");
	refused(folder, 2, "is no regular file");
	refused("/dev/zero", 2, "is no regular file");
	snprintf(pipe_path, sizeof(pipe_path), "%s/pipe", folder);
	CU_ASSERT_EQUAL_FATAL(mkfifo(pipe_path, 0600), 0);
	refused(pipe_path, 2, "is no regular file");
	unlink(pipe_path);
}

UNIT_TEST(test_sizes_of_matrix, "sizes that a matrix needs")
{
	struct options options = plain();
	struct error err = { .rank = -1 };
	struct traffic traffic;

	write_file("1048560 16\n16 0\n", 16);
	options.matrix_file = path;
	CU_ASSERT_EQUAL(traffic_init(&traffic, &options, 2, &err), 0);
	traffic_release(&traffic);
	options.min_bytes = 8;
	UNIT_ALL(traffic_init(&traffic, &options, 2, &err) < 0, err.outcome == OUTCOME_USAGE,
		 strstr(err.text, "-b 8 -e 1048576: must be equal") != NULL);
}

/* Rank 2 sends 0 + 256 + 16 bytes and receives 64 + 0 + 16; 16 of both stay. */
UNIT_TEST(test_summary, "summary of a rank")
{
	struct options options = plain();
	struct error err = { .rank = -1 };
	struct traffic traffic;
	struct geometry g = {
		.nranks = 3, .elsize = 4, .bytes = 1 << 20, .align = 16, .traffic = &traffic
	};
	char line[256];

	write_file("0 47 64\n128 0 0\n0 256 16\n", 24);
	options.matrix_file = path;
	CU_ASSERT_EQUAL_FATAL(traffic_init(&traffic, &options, 3, &err), 0);
	irregular_summary(&g, 2, 0.1, line, sizeof(line));
	CU_ASSERT_STRING_EQUAL(line, "rank 2: sends 272 B, receives 80 B, time 0.10 us, "
				     "algbw 2.72 GB/s, busbw 2.56 GB/s");
	irregular_summary(&g, 1, 0, line, sizeof(line));
	CU_ASSERT_STRING_EQUAL(line, "rank 1: sends 128 B, receives 288 B, time 0.00 us, "
				     "algbw 0.00 GB/s, busbw 0.00 GB/s");
	traffic_release(&traffic);
}

int main(void)
{
	int rc;

	if (unit_folder(folder) < 0)
		return 1;
	snprintf(path, sizeof(path), "%s/matrix", folder);
	rc = unit_main();
	unlink(path);
	rmdir(folder);
	return rc;
}
