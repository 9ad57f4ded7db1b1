/* test_nccl_log_hostile.c: logs that are wrong, torn or made to hurt. */
#include "nccl_log/nccl_log.h"

#include "nccl_log_lines.h"

/* Nothing may be taken from these but what is plausible in them. */
UNIT_TEST(test_hostile_lines, "hostile numbers")
{
	static const char *const hostile[] = {
		"Ring 1000000000 : 0 -> 1 -> 2",
		"Ring -1 : 0 -> 1 -> 2",
		"Ring 00 : -5 -> -6 -> -7",
		"Ring 00 : 0 -> 2147483647 -> 1",
		"Ring 00 : 0 -> 99999999999999999999 -> 1",
		"Channel 1000000000/02 : 0 1 2",
		"Channel 00/02 : -1 -2 -3",
		"Channel 00/02 :",
		"Channel 00/0 : -3[0] -> 0[0] via P2P/CUMEM",
		"Channel 00/0 : 0[0] -> 1[1] by foot",
		"Trees [0] -7/-1/-1->0->-1",
		"Tree 0 : 0 -> -1 -> 0/0/0",
		"ncclCommInitRank comm 0x1 rank 0 nranks 2147483648 cudaDev 0 busId 1 commId 0x1 - "
		"Init START",
		"ncclCommInitRank comm 0x1 rank -1 nranks 4 cudaDev 0 busId 1 commId 0x1 - Init "
		"START",
		"ncclCommInitRank comm 0x1 rank 4 nranks 4 cudaDev 0 busId 1 commId 0x1 - Init "
		"START",
		"AllReduce: opCount 0 sendbuff 0x1 recvbuff 0x1 count 1 datatype 7 op 0 root 0 "
		"comm 0x1 [nranks=-1]",
		": opCount 0 sendbuff 0x1 recvbuff 0x1 count 1 datatype 7 op 0 root 0 comm 0x1 "
		"[nranks=1]",
	};
	struct lines lines;
	struct nccl_log log;

	lines_open(&lines, 4, 4);
	for (size_t i = 0; i < LENGTH(hostile); i++)
		lines_say(&lines, 0, "%s", hostile[i]);
	lines_read(&lines, &log);
	CU_ASSERT_EQUAL(log.nccl_lines, (int64_t)LENGTH(hostile));
	for (int i = 0; i < log.n_comms; i++)
		CU_ASSERT_TRUE(log.comms[i].n_rings == 0 && log.comms[i].n_links == 0 &&
			       log.comms[i].nranks == 0);
	nccl_log_release(&log);
}

UNIT_TEST(test_hostile_bytes, "NULs, no prefixes, a line of 1 MiB")
{
	static const char head[] = "a:1:1 [0] NCCL INFO NCCL version 2.0\nv\0m:1:2 [0] NC\0CL INFO "
				   "Using network X\n:::[] NCCL INFO x\n:1:1 [0] NCCL INFO y\n"
				   "h:1: [0] NCCL INFO z\nh:1:1 [ NCCL WARN \n NCCL WARN \n";
	size_t len = sizeof(head) - 1 + (1 << 20) + 1;
	char *text = malloc(len);
	struct nccl_log log;

	/* NULs inside, prefixes that are none, then a line of 1 MiB. "h:1: " may be a wrapper's: since 2.30 NCCL's own begins with [0]. */
	memcpy(text, head, sizeof(head) - 1);
	memset(text + sizeof(head) - 1, 'x', 1 << 20);
	memcpy(text + sizeof(head) - 1 + 100, "b:1:1 [0] NCCL INFO Using network ", 34);
	text[len - 1] = '\n';
	lines_read_text(&log, text, len);
	UNIT_ALL(!strcmp(log.version, "2.0"), log.nccl_lines == 5, log.n_comms == 0);
	nccl_log_release(&log);
	free(text);
}

/* A ring that runs into itself ends. */
UNIT_TEST(test_circles, "rings in circles")
{
	struct lines lines;
	struct nccl_log log;

	lines_open(&lines, 4, 4);
	for (int r = 0; r < 4; r++) {
		lines_start(&lines, r);
		lines_say(&lines, r, "Ring 00 : 0 -> %d -> %d", r, r == 3 ? 1 : r + 1);
	}
	lines_read(&lines, &log);
	UNIT_ALL(!log.comms[0].rings[0].closed, log.comms[0].rings[0].differs);
	nccl_log_release(&log);
}
