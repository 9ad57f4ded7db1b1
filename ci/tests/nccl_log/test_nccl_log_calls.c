/* test_nccl_log_calls.c: ranks' calls side by side, as COLL lines tell them. */
#include "nccl_log/nccl_log.h"

#include "nccl_log_lines.h"

/* One letter is one call of a rank: the letter gives count and root, upper case is AllReduce, lower
 * case Broadcast. */
static void job(struct lines *lines, const char *const *calls, int n)
{
	lines_open(lines, n, 8);
	for (int r = 0; r < n; r++)
		lines_start(lines, r);
	for (int r = 0; r < n; r++)
		for (const char *c = calls[r]; *c; c++)
			lines_call(lines, r, *c >= 'a' ? "Broadcast" : "AllReduce", *c, 0);
}

/* What nccl_log_calls_compare says, short: index, fewest-most, majority's letter or -, how many odd
 * ones, and of the first one: member and how (x other, l left out, e extra, . ended). */
static const char *brief(const struct nccl_log_calls *calls, char *buf, size_t len)
{
	int n = snprintf(buf, len, "%d %d-%d %c %d", calls->index, calls->fewest, calls->most,
			 calls->majority ? (char)calls->majority->count : '-', calls->n_odd);

	if (calls->n_odd)
		snprintf(buf + n, len - (size_t)n, " %d%c", calls->odd[0].member,
			 "xle."[calls->odd[0].how]);
	return buf;
}

static void test_compare(void)
{
	static const struct {
		const char *calls[4];
		enum nccl_log_calls_verdict verdict;
		const char *brief;
	} cases[] = {
		{ { "", "", "", "" }, NCCL_CALLS_NONE, "-1 0-0 - 0" },
		{ { "ABc", "ABc", "ABc", "ABc" }, NCCL_CALLS_SAME, "-1 3-3 - 0" },
		{ { "ABCD", "ABCD", "AB", "ABCD" }, NCCL_CALLS_FEWER, "2 2-4 C 1 2." },
		{ { "A", "A", "A", "" }, NCCL_CALLS_FEWER, "0 0-1 A 1 3." },
		{ { "ABCD", "ABCD", "AbCD", "ABCD" }, NCCL_CALLS_DIFFER, "1 4-4 B 1 2x" },
		{ { "ABCDE", "ABCDE", "ABCDE", "ACDE" }, NCCL_CALLS_DIFFER, "1 4-5 B 1 3l" },
		{ { "AXBCD", "ABCD", "ABCD", "ABCD" }, NCCL_CALLS_DIFFER, "1 4-5 B 1 0e" },
		{ { "AB", "AB", "AC", "AC" }, NCCL_CALLS_DIFFER, "1 2-2 - 4 0x" },
		/* A rank that ended is no reason to overlook another that differs later. */
		{ { "ABCD", "A", "ABXD", "ABCD" }, NCCL_CALLS_DIFFER, "2 1-4 C 2 1." },
	};
	struct nccl_log_calls calls;
	struct lines lines;
	struct nccl_log log;
	char text[64];

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		job(&lines, cases[i].calls, 4);
		lines_read(&lines, &log);
		CU_ASSERT_EQUAL_FATAL(nccl_log_calls_compare(&log.comms[0], &calls), 0);
		CU_ASSERT_EQUAL(calls.verdict, cases[i].verdict);
		CU_ASSERT_STRING_EQUAL(brief(&calls, text, sizeof(text)), cases[i].brief);
		nccl_log_calls_release(&calls);
		nccl_log_release(&log);
	}
}

static void test_printed(void)
{
	static const char *const sequences[] = { "AB", "AB", "Ab" };
	struct lines lines;
	struct nccl_log log;
	char *text;

	job(&lines, sequences, 3);
	lines_read(&lines, &log);
	text = printed(nccl_log_print_calls, &log);
	CU_ASSERT_STRING_EQUAL(text, "communicator 0 (0xabc): 3 ranks, lines of 3 here\n"
				     "  ranks differ, first at call 2 (2 to 2 calls)\n"
				     "    most ranks: AllReduce count=66 dtype=f32 op=sum root=0\n"
				     "    rank 2: Broadcast count=98 dtype=f32 op=sum root=0\n");
	free(text);
	nccl_log_release(&log);
}

static void test_send_recv(void)
{
	struct nccl_unmatched *pairs;
	struct nccl_log_calls calls;
	struct lines lines;
	struct nccl_log log;
	int n;

	lines_open(&lines, 3, 8);
	for (int r = 0; r < 3; r++)
		lines_start(&lines, r);
	lines_call(&lines, 0, "Send", 4, 1);
	lines_call(&lines, 1, "Recv", 4, 0);
	lines_call(&lines, 1, "Send", 4, 2);
	lines_call(&lines, 1, "Send", 4, 2);
	lines_call(&lines, 2, "Recv", 4, 1);
	lines_call(&lines, 2, "Send", 4, 77);
	lines_read(&lines, &log);
	CU_ASSERT_EQUAL_FATAL(nccl_log_calls_unmatched(&log.comms[0], &pairs, &n), 0);
	CU_ASSERT_EQUAL_FATAL(n, 1);
	CU_ASSERT_TRUE(pairs[0].from == 1 && pairs[0].to == 2);
	CU_ASSERT_TRUE(pairs[0].sends == 2 && pairs[0].recvs == 1);
	free(pairs);
	CU_ASSERT_EQUAL_FATAL(nccl_log_calls_compare(&log.comms[0], &calls), 0);
	CU_ASSERT_EQUAL(calls.verdict, NCCL_CALLS_NONE);
	nccl_log_calls_release(&calls);
	nccl_log_release(&log);
}

/* Without Init lines: the n-th communicator of each process is taken for one, ranks come from the
 * prefix. Several groups in one place can't be told apart. */
static void test_no_init(void)
{
	struct nccl_log_calls calls;
	struct lines lines;
	struct nccl_log log;

	lines_open(&lines, 4, 8);
	lines.prefix = "[1,%d]<stdout>:";
	for (int r = 0; r < 4; r++) {
		lines_call(&lines, r, "AllReduce", 7, 0);
		if (r != 2)
			lines_call(&lines, r, "AllReduce", 8, 0);
		lines_say(&lines, r,
			  "AllGather: opCount 0 sendbuff 0x1 recvbuff 0x1 count 1 datatype 7 op 0 "
			  "root 0 comm 0x%x [nranks=2] stream 0x1",
			  0x8000 + r);
	}
	lines_read(&lines, &log);
	CU_ASSERT_EQUAL_FATAL(log.n_comms, 2);
	CU_ASSERT_EQUAL(log.comms[0].nranks, 4);
	CU_ASSERT_EQUAL_FATAL(nccl_log_calls_compare(&log.comms[0], &calls), 0);
	CU_ASSERT_EQUAL(calls.verdict, NCCL_CALLS_FEWER);
	CU_ASSERT_EQUAL_FATAL(calls.n_odd, 1);
	CU_ASSERT_EQUAL(log.comms[0].members[calls.odd[0].member]->rank, 2);
	nccl_log_calls_release(&calls);
	CU_ASSERT_EQUAL_FATAL(nccl_log_calls_compare(&log.comms[1], &calls), 0);
	CU_ASSERT_EQUAL(calls.verdict, NCCL_CALLS_UNKNOWN);
	nccl_log_calls_release(&calls);
	nccl_log_release(&log);
}

int main(void)
{
	static const struct unit_case cases[] = {
		{ "calls compared", test_compare },
		{ "as text", test_printed },
		{ "Send and Recv", test_send_recv },
		{ "without Init lines", test_no_init },
	};

	return unit_main("nccl_log_calls", cases, sizeof(cases) / sizeof(cases[0]));
}
