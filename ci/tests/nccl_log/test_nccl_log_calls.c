/* test_nccl_log_calls.c: ranks' calls as COLL lines have them. */
#include "nccl_log/nccl_log.h"

#include "nccl_log_lines.h"

/* A call has its arguments, and the file and line that says it. */
UNIT_TEST(test_call, "a call")
{
	const struct nccl_member *member;
	const struct nccl_call *call;
	struct lines lines;
	struct nccl_log log;

	lines_started(&lines, 4, 8);
	lines_call(&lines, 2, "AllReduce", 7, 0);
	lines_say(&lines, 2,
		  "Broadcast: opCount 1d sendbuff 0x7f00 recvbuff (nil) count 66 datatype 9 op 2 "
		  "root 3 comm 0x%x [nranks=4] stream 0x1",
		  0x5000 + 2);
	lines_read(&lines, &log);
	member = nccl_comm_member(&log.comms[0], 2);
	CU_ASSERT_EQUAL_FATAL(member->n_calls, 2);
	call = &member->calls[1];
	CU_ASSERT_STRING_EQUAL(call->function, "Broadcast");
	UNIT_ALL(call->op_count == 0x1d, call->count == 66, call->dtype == 9, call->op == 2,
		 call->root == 3, call->line == member->calls[0].line + 1, call->file != NULL,
		 member->begins == 0, log.calls == 2);
	nccl_log_release(&log);
}

UNIT_TEST(test_send_recv, "Send and Recv")
{
	struct lines lines;
	struct nccl_log log;

	lines_started(&lines, 3, 8);
	lines_call(&lines, 0, "Send", 4, 1);
	lines_call(&lines, 1, "Recv", 4, 0);
	lines_call(&lines, 2, "Send", 4, 77);
	lines_read(&lines, &log);
	UNIT_ALL(log.calls == 3, log.comms[0].members[1]->n_calls == 0,
		 log.comms[0].members[1]->made == 1);
	nccl_log_release(&log);
}

/* Without Init lines: the n-th communicator of each process is taken for one, ranks come from the
 * prefix. */
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
	UNIT_ALL(log.comms[0].nranks == 4, log.comms[0].guessed,
		 nccl_comm_member(&log.comms[0], 2)->n_calls == 1,
		 nccl_comm_member(&log.comms[0], 3)->n_calls == 2, log.comms[1].n_members == 4);
	nccl_log_release(&log);
}
