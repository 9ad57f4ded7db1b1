/* test_nccl_log_calls.c: ranks' calls side by side, as COLL lines tell them. */
#include "nccl_log/nccl_log.h"

#include "nccl_log_lines.h"

/* One letter is one call of a rank: A to Z AllReduce, whose count is the letter; a to z Broadcast of
 * the same count; 0 to 9 as B, of that datatype. A dot is a call whose line the log does not have. */
static void call_of(struct lines *lines, int rank, int at, char letter)
{
	bool type = letter <= '9', small = letter >= 'a';

	if (letter == '.' || letter == '-')
		return;
	lines_say(lines, rank,
		  "%s: opCount %x sendbuff 0x7f00 recvbuff (nil) count %d datatype %d op 0 root 0 "
		  "comm 0x%x [nranks=%d] stream 0x1",
		  small ? "Broadcast" : "AllReduce", at,
		  type	  ? 'B'
		  : small ? letter - 32
			  : letter,
		  type ? letter - '0' : 7, 0x5000 + rank, lines->nranks);
}

/* Each rank's log is a file, whose calls begin in line 3. */
static void read_rank(struct nccl_log *log, int nranks, int rank, const char *calls)
{
	struct error err = { .rank = -1 };
	struct lines lines;
	char name[32];
	FILE *in;

	lines_open(&lines, nranks, 8);
	lines_start(&lines, rank);
	for (int i = 0; calls[i] && calls[i] != ' '; i++)
		call_of(&lines, rank, i, calls[i]);
	fclose(lines.out);
	snprintf(name, sizeof(name), "rank%d.log", rank);
	in = fmemopen(lines.text, lines.size, "r");
	CU_ASSERT_PTR_NOT_NULL_FATAL(in);
	CU_ASSERT_EQUAL(nccl_log_read_stream(log, in, name, -1, &err), 0);
	fclose(in);
	free(lines.text);
}

static const struct {
	const char *calls, *text; /* -: none */
} comparisons[] = {
	{ "- - - -", "no collective calls (subsystem COLL)\n" },
	{ "ABc ABc ABc ABc", "the same calls on all ranks here (4 ranks made 3)\n" },
	{ "ABCD ABCD AB ABCD",
	  "the same calls, but not as many: some ranks end before call 3 (4 ranks made 2 "
	  "to 4)\n"
	  "    rank2.log ends after opCount 1; the others issued 2 AllReduce count 67 "
	  "(rank 2)\n" },
	{ "A A A -",
	  "the same calls, but not as many: some ranks end before call 1 (4 ranks made 0 "
	  "to 1)\n"
	  "    rank3.log has no collective call; the others issued 0 AllReduce count 65 "
	  "(rank 3)\n" },
	{ "ABCD ABCD AbCD ABCD",
	  "ranks differ, first at call 2 (4 ranks made 4)\n"
	  "    rank2.log:4: Broadcast count 66 opCount 1; all others: AllReduce (rank "
	  "2)\n" },
	{ "ABCDE ABCDE ABCDE ACDE",
	  "ranks differ, first at call 2 (4 ranks made 4 to 5)\n"
	  "    rank3.log:4: AllReduce count 67 opCount 1; all others: AllReduce count 66 "
	  "(rank 3 left that out)\n" },
	{ "AXBCD ABCD ABCD ABCD",
	  "ranks differ, first at call 2 (4 ranks made 4 to 5)\n"
	  "    rank0.log:4: AllReduce count 88 opCount 1; all others: AllReduce count 66 "
	  "(rank 0 makes one call more here)\n" },
	{ "ABCDE ACBDE ABCDE ABCDE",
	  "ranks differ, first at call 2 (4 ranks made 5)\n"
	  "    rank1.log:4: AllReduce count 67 opCount 1; all others: AllReduce count 66 "
	  "(rank 1 makes that one next)\n" },
	{ "AB AB AC AC",
	  "ranks differ, first at call 2 (4 ranks made 2)\n"
	  "    no majority: rank0.log:4: AllReduce count 66 dtype f32 op sum root 0 opCount 1 "
	  "(2 of 4: rank 0,1)\n"
	  "    no majority: rank2.log:4: AllReduce count 67 dtype f32 op sum root 0 opCount 1 "
	  "(2 of 4: rank 2,3)\n" },
	{ "AB AC A9 AB",
	  "ranks differ, first at call 2 (4 ranks made 2)\n"
	  "    no majority: rank0.log:4: AllReduce count 66 dtype f32 op sum root 0 opCount 1 "
	  "(2 of 4: rank 0,3)\n"
	  "    no majority: rank1.log:4: AllReduce count 67 dtype f32 op sum root 0 opCount 1 "
	  "(1 of 4: rank 1)\n"
	  "    no majority: rank2.log:4: AllReduce count 66 dtype bf16 op sum root 0 opCount 1 "
	  "(1 of 4: rank 2)\n" },
	/* A rank that ended is no reason to overlook another that differs later. */
	{ "ABCD A ABXD ABCD",
	  "ranks differ, first at call 3 (4 ranks made 1 to 4)\n"
	  "    rank1.log ends after opCount 0; the others issued 2 AllReduce count 67 "
	  "(rank 1)\n"
	  "    rank2.log:5: AllReduce count 88 opCount 2; 2 others: count 67 (rank 2)\n" },
	/* A log without its head. */
	{ "ABCDEF ABCDEF ..CDXF ABCDEF",
	  "these can't be told apart: Init lines, or the heads of logs, are missing\n" },
};

UNIT_TEST(test_compare, "calls compared")
{
	static const char title[] = "communicator 0 (0xabc): 4 ranks, lines of 4 here\n  ";

	UNIT_ROWS(row, comparisons) {
		struct nccl_log log;
		int rank = 0;
		char *text;

		nccl_log_init(&log);
		for (const char *at = row->calls; *at; at += strspn(at, " ")) {
			read_rank(&log, 4, rank++, at);
			at += strcspn(at, " ");
		}
		nccl_log_finish(&log);
		text = printed(nccl_log_print_calls, &log);
		CU_ASSERT_EQUAL(strncmp(text, title, strlen(title)), 0);
		CU_ASSERT_STRING_EQUAL(text + strlen(title), row->text);
		free(text);
		nccl_log_release(&log);
	}
}

UNIT_TEST(test_send_recv, "Send and Recv")
{
	struct nccl_log_calls calls;
	struct lines lines;
	struct nccl_log log;

	lines_started(&lines, 3, 8);
	lines_call(&lines, 0, "Send", 4, 1);
	lines_call(&lines, 1, "Recv", 4, 0);
	lines_call(&lines, 2, "Send", 4, 77);
	lines_read(&lines, &log);
	UNIT_ALL(log.calls == 3, log.comms[0].members[1]->n_calls == 0);
	nccl_log_calls_compare(&log.comms[0], &calls);
	CU_ASSERT_EQUAL(calls.verdict, NCCL_CALLS_NONE);
	nccl_log_calls_release(&calls);
	nccl_log_release(&log);
}

/* Without Init lines: the n-th communicator of each process is taken for one, ranks come from the
 * prefix. Several groups in one place can't be told apart. */
UNIT_TEST(test_no_init, "without Init lines")
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
	nccl_log_calls_compare(&log.comms[0], &calls);
	CU_ASSERT_EQUAL(calls.verdict, NCCL_CALLS_FEWER);
	CU_ASSERT_EQUAL_FATAL(calls.n_odd, 1);
	CU_ASSERT_EQUAL(calls.odd[0].member->rank, 2);
	nccl_log_calls_release(&calls);
	nccl_log_calls_compare(&log.comms[1], &calls);
	CU_ASSERT_EQUAL(calls.verdict, NCCL_CALLS_UNKNOWN);
	nccl_log_calls_release(&calls);
	nccl_log_release(&log);
}
