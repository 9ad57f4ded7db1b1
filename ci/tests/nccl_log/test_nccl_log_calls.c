/* test_nccl_log_calls.c: the communicators that COLL lines name. */
#include "nccl_log/nccl_log.h"

#include "nccl_log_lines.h"

/* Calls of a communicator with Init lines, of whatever kind, make no other one. */
UNIT_TEST(test_known, "calls of a known communicator")
{
	struct lines lines;
	struct nccl_log log;

	lines_started(&lines, 3, 8);
	lines_call(&lines, 0, "AllReduce", 4, 0);
	lines_call(&lines, 0, "Send", 4, 1);
	lines_call(&lines, 1, "Recv", 4, 0);
	lines_call(&lines, 2, "Send", 4, 77);
	lines_read(&lines, &log);
	UNIT_ALL(log.n_comms == 1, log.comms[0].n_members == 3, log.unplaced == 0);
	nccl_log_release(&log);
}

/* Without Init lines the n-th communicators are one; ranks come from the prefix. */
UNIT_TEST(test_no_init, "without Init lines")
{
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
	CU_ASSERT_STRING_EQUAL(log.comms[0].id, "guessed 0");
	UNIT_ALL(log.comms[0].nranks == 4, nccl_comm_member(&log.comms[0], 3) != NULL,
		 log.comms[1].nranks == 2, log.comms[1].n_members == 4);
	nccl_log_release(&log);
}

/* Memory of a log without end is kept for the communicators with the newest lines, and the log says so. */
UNIT_TEST(test_without_end, "30,000 communicators, one after the other")
{
	enum { COMMS = 30000 };
	struct lines lines;
	struct nccl_log log;

	lines_open(&lines, 2, 2);
	for (int i = 1; i <= COMMS; i++) {
		lines_say(&lines, 0,
			  "ncclCommInitRank comm 0x%x rank 0 nranks 2 cudaDev 0 nvmlDev 0 busId "
			  "1000 commId 0x%x - Init START",
			  i, i);
		lines_say(&lines, 0,
			  "AllReduce: opCount 0 sendbuff 0x1 recvbuff 0x1 count 1 datatype 7 op 0 "
			  "root "
			  "0 comm 0x%x [nranks=2] stream 0x1",
			  i);
	}
	lines_read(&lines, &log);
	UNIT_ALL(log.forgotten > 0, log.forgotten < COMMS / 2,
		 log.n_comms + log.forgotten == COMMS);
	CU_ASSERT_STRING_EQUAL(log.comms[log.n_comms - 1].id, "0x7530");
	CU_ASSERT_PTR_NOT_NULL(nccl_member_call(log.comms[log.n_comms - 1].members[0], 1));
	nccl_log_release(&log);
}
