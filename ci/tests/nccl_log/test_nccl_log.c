/* test_nccl_log.c: what the NCCL log reader takes from real and made logs. */
#include "nccl_check/nccl_check.h"

#include "nccl_log_lines.h"

static void read_real(struct nccl_log *log)
{
	struct error err = { .rank = -1 };

	nccl_log_init(log);
	CU_ASSERT_EQUAL_FATAL(nccl_log_read_file(log, "ci/tests/data/nccl_log_h200x4.log", -1,
						 &err),
			      0);
	nccl_log_finish(log);
}

UNIT_TEST(test_real_facts, "a real log: facts")
{
	struct nccl_log log;
	const struct nccl_comm *comm;

	read_real(&log);
	UNIT_ALL(!strcmp(log.version, "2.28.9+cuda13.0"), !strcmp(log.network, "Socket"));
	/* Some of its lines follow the application's text without a newline ("-1vm:936:936"). */
	UNIT_ALL(log.n_hosts == 1, !strcmp(log.hosts[0], "vm"), log.unplaced == 0,
		 log.n_warnings == 0);
	CU_ASSERT_EQUAL_FATAL(log.n_comms, 1);
	comm = &log.comms[0];
	UNIT_ALL(!strcmp(comm->id, "0xdf6d03630b7eecba"), comm->nranks == 4, comm->nnodes == 1,
		 comm->coll_channels == 24, comm->nvls_channels == 0, comm->gdr == 1);
	CU_ASSERT_EQUAL_FATAL(comm->n_says, 5);
	CU_ASSERT_STRING_EQUAL(comm->says[3], "Connected all rings, use ring PXN 0 GDR 1");
	CU_ASSERT_STRING_EQUAL(comm->says[comm->n_says - 1],
			       "AllReduce: 1048576 Bytes -> Algo RING proto LL "
			       "channel{Lo..Hi}={0..23}");
	nccl_log_release(&log);
}

UNIT_TEST(test_real_ranks, "a real log: ranks")
{
	static const uint64_t buses[] = { 0x60, 0x70, 0x80, 0x90 };
	struct nccl_log log;
	const struct nccl_comm *comm;

	read_real(&log);
	comm = &log.comms[0];
	CU_ASSERT_EQUAL_FATAL(comm->n_members, 4);
	for (int r = 0; r < 4; r++) {
		const struct nccl_member *member = nccl_comm_member(comm, r);

		CU_ASSERT_PTR_NOT_NULL_FATAL(member);
		UNIT_ALL(member->bus == buses[r], member->dev == r, member->pid == 936,
			 member->state == NCCL_STATE_DESTROYED);
		CU_ASSERT_DOUBLE_EQUAL(member->init, 0.94, 0.011);
	}
	CU_ASSERT_PTR_NULL(nccl_comm_member(comm, 4));
	nccl_log_release(&log);
}

UNIT_TEST(test_real_drawing, "a real log: rings as text")
{
	struct nccl_log log;
	char *text;

	read_real(&log);
	text = UNIT_PRINTED(out, nccl_log_print_rings(out, &log));
	CU_ASSERT_STRING_EQUAL(text, "communicator 0\n  channels 00,23: 0 -P2P/direct pointer-> 1 "
				     "-P2P/direct pointer-> 2 -P2P/direct pointer-> 3 "
				     "-P2P/direct pointer-> 0\n");
	free(text);
	nccl_log_release(&log);
}

static void check_job(const struct nccl_log *log)
{
	const struct nccl_comm *comm = &log->comms[0];

	CU_ASSERT_EQUAL_FATAL(log->n_comms, 1);
	UNIT_ALL(log->n_hosts == 2, comm->nranks == 16, comm->nnodes == 2, comm->n_members == 16);
	CU_ASSERT_EQUAL_FATAL(comm->n_rings, 2);
	CU_ASSERT_EQUAL_FATAL(comm->rings[1].n, 16);
	UNIT_ALL(comm->rings[1].closed, !comm->rings[1].differs);
	for (int i = 0; i < 16; i++)
		CU_ASSERT_EQUAL(comm->rings[1].order[i], i);
	UNIT_ALL(comm->n_links == 32, !strcmp(nccl_comm_transport(comm, 0, 0, 1), "P2P/CUMEM"),
		 !strcmp(nccl_comm_transport(comm, 1, 7, 8), "NET/IB/0/GDRDMA"),
		 !strcmp(nccl_comm_transport(comm, 1, 15, 0), "NET/IB/0/GDRDMA"),
		 nccl_comm_transport(comm, 1, 1, 0) == NULL,
		 nccl_comm_transport(comm, 2, 0, 1) == NULL);
}

UNIT_TEST(test_prefixes, "what launchers put before lines")
{
	static const char *const prefixes[] = {
		"",
		"[1,%d]<stdout>:",
		"[1,%d]<stderr>: ",
		"%d: ",
		" %d: ",
		"rank%d | ",
		"[rank%d]: ",
		"[2026-11-21 03:00:00.123] ",
		"2026-11-21T03:00:00Z node7 ",
		"\x1b[32m[%d]\x1b[0m \x1b[1m",
		"pod/worker-%d container ",
		"(RayWorker pid=77) ",
	};
	struct lines lines;
	struct nccl_log log;

	for (size_t i = 0; i < LENGTH(prefixes); i++) {
		lines_job(&lines, prefixes[i]);
		lines_read(&lines, &log);
		check_job(&log);
		nccl_log_release(&log);
	}
}

/* Ranks' lines in turn, as a shared stream has them, one pair without its newline, CRLF. */
UNIT_TEST(test_interleaved, "ranks' lines mixed in one stream")
{
	struct lines lines;
	struct nccl_log log;
	char *mixed, *at, *copy, *save, *rank_lines[16][16];
	int n[16] = { 0 }, rank;

	lines_job(&lines, "");
	fclose(lines.out);
	copy = strdup(lines.text);
	mixed = at = malloc(2 * lines.size);
	for (char *line = strtok_r(copy, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
		rank = (int)strtol(strchr(line, ':') + 1, NULL, 10) - 1000;
		CU_ASSERT_TRUE_FATAL(rank >= 0 && rank < 16 && n[rank] < 16);
		rank_lines[rank][n[rank]++] = line;
	}
	for (int i = 0; i < 16; i++)
		for (int r = 15; r >= 0; r--)
			if (i < n[r])
				at += sprintf(at, "%s%s", rank_lines[r][i],
					      i == 3 && r == 5 ? "" : "\r\n");
	lines_read_text(&log, mixed, (size_t)(at - mixed));
	check_job(&log);
	nccl_log_release(&log);
	free(mixed);
	free(copy);
	free(lines.text);
}

UNIT_TEST(test_two_hosts_drawn, "a ring over two hosts as text")
{
	struct lines lines;
	struct nccl_log log;
	char *text;

	lines_job(&lines, "");
	lines_read(&lines, &log);
	text = UNIT_PRINTED(out, nccl_log_print_rings(out, &log));
	CU_ASSERT_PTR_NOT_NULL(strstr(text, "  channels 00,01:\n    host-A: 0 -P2P/CUMEM-> 1 "));
	CU_ASSERT_PTR_NOT_NULL(strstr(text, "7 -NET/IB/0/GDRDMA-> \n    host-B: 8 -P2P/CUMEM-> "));
	CU_ASSERT_PTR_NOT_NULL(strstr(text, "15 -NET/IB/0/GDRDMA-> 0\n"));
	free(text);
	nccl_log_release(&log);
}

static const struct nccl_ring *read_ring(struct nccl_log *log, const char *channel, int ring_lines)
{
	struct lines lines;

	lines_started(&lines, 13, 13);
	lines_say(&lines, 0, "%s", channel);
	for (int r = 0; r < ring_lines; r++)
		lines_say(&lines, r, "Ring 00 : %d -> %d -> %d", (r + 12) % 13, r, (r + 1) % 13);
	lines_read(&lines, log);
	CU_ASSERT_EQUAL_FATAL(log->comms[0].n_rings, 1);
	return &log->comms[0].rings[0];
}

UNIT_TEST(test_cut_channel, "Channel lines that NCCL cuts")
{
	static const struct {
		const char *line;
		int ring_lines, n;
		bool closed;
	} cases[] = {
		{ "Channel 00/01 :  0  1  2  3  4  5  6  7  8  9 10 11 12", 0, 13, true },
		{ "Channel 00/01 :    0   1   2   3   4   5   6   7   8   9  10  11  12", 0, 13,
		  true },
		{ "Channel 00/01 :  0  1  2 ...", 0, 3, false },
		{ "Channel 00/01 :  0  1  2 ...", 13, 13, true },
		{ "Channel 00/01 :  0  1  2 ...", 6, 7, false },
		/* "1..." may be 12 or 1. */
		{ "Channel 00/01 :  0  1  2  1...", 13, 13, true },
		{ "Channel 00/01 :  0  1  2  1...", 0, 3, false },
		{ "Channel 00/01 :  0  1  2", 0, 3, false },
	};
	struct nccl_log log;

	UNIT_ROWS(c, cases) {
		const struct nccl_ring *ring = read_ring(&log, c->line, c->ring_lines);

		UNIT_ALL(ring->n == c->n, ring->closed == c->closed, !ring->differs);
		nccl_log_release(&log);
	}
	CU_ASSERT_TRUE(read_ring(&log, "Channel 00/01 : 0 2 1 ...", 13)->differs);
	nccl_log_release(&log);
}

UNIT_TEST(test_split, "split communicators")
{
	struct lines lines;
	struct nccl_log log;

	lines_started(&lines, 4, 4);
	for (int r = 0; r < 4; r++)
		lines_say(&lines, r,
			  "ncclCommSplit comm 0x%x rank %d nranks 2 cudaDev %d nvmlDev %d busId %x "
			  "parent 0x%x splitCount 1 color %d key 0- Init START",
			  0x9000 + r, r / 2, r, r, 0x1000 * (r + 1), 0x5000 + r, r % 2);
	for (int r = 0; r < 4; r++)
		lines_say(&lines, r, "Ring 00 : %d -> %d -> %d", 1 - r / 2, r / 2, 1 - r / 2);
	lines_read(&lines, &log);
	CU_ASSERT_EQUAL_FATAL(log.n_comms, 3);
	UNIT_ALL(!strcmp(log.comms[1].id, "split 1 of communicator 0, color 0"),
		 !strcmp(log.comms[2].id, "split 1 of communicator 0, color 1"),
		 log.comms[2].n_members == 2, log.comms[2].members[1]->pid == 1003,
		 log.comms[0].n_rings == 0,
		 log.comms[2].n_rings == 1 && log.comms[2].rings[0].closed);
	nccl_log_release(&log);
}

UNIT_TEST(test_warnings, "warnings once, with count and ranks")
{
	static const char text[] =
		"\n[2026-11-21 03:00:00] host-A:1003:2003 [3] misc/socket.cc:71 NCCL WARN Accept "
		"failed\n"
		"[2026-11-21 03:00:01] host-A:1001:9 [1] misc/socket.cc:71 NCCL WARN Accept "
		"failed\n"
		"[1,3]<stdout>:host-A:1003:2003 [3] misc/socket.cc:71 NCCL WARN Accept failed\n"
		"host-A:1001:2001 [1] NCCL INFO misc/socket.cc:571 -> 6\n";
	struct lines lines;
	struct nccl_log log;

	lines_started(&lines, 4, 4);
	fputs(text, lines.out);
	lines_read(&lines, &log);
	CU_ASSERT_EQUAL_FATAL(log.n_warnings, 2);
	UNIT_ALL(!strcmp(log.warnings[0].where, "misc/socket.cc:71"),
		 !strcmp(log.warnings[0].text, "Accept failed"), log.warnings[0].count == 3);
	CU_ASSERT_EQUAL_FATAL(log.warnings[0].n_ranks, 2);
	UNIT_ALL(log.warnings[0].ranks[0] == 1, log.warnings[0].ranks[1] == 3,
		 !log.warnings[0].trace, log.warnings[1].trace,
		 !strcmp(log.warnings[1].where, "misc/socket.cc:571"),
		 !strcmp(log.warnings[1].text, "-> 6"));
	nccl_log_release(&log);
}

UNIT_TEST(test_head, "cause, PXN, GDR and ring of 16 ranks stand in the first 25 lines")
{
	struct lines lines;
	struct nccl_log log;
	char *text, *end;

	lines_job(&lines, "");
	for (int r = 0; r < 16; r++) {
		lines_say(&lines, r, "Connected all rings, use ring PXN 1 GDR 1");
		for (int i = 0; i < 4; i++)
			lines_say(&lines, r, "NCCL_SETTING_%d_%d set by environment to %d", r, i,
				  i);
		lines_say(&lines, r, "%d Bytes -> Algo RING proto LL channel{Lo..Hi}={0..1}", r);
	}
	fputs("\n[2026-11-21 03:00:00] host-B:1011:9 [3] net_ib.cc:7 NCCL WARN NET/IB : Got "
	      "completion from "
	      "peer 192.0.2.7<4> with status=12 opcode=0 len=0 vendor err 129 (Recv)\n"
	      "host-B:1011:9 [3] NCCL INFO net.cc:8 -> 6\n",
	      lines.out);
	lines_read(&lines, &log);
	text = end = UNIT_PRINTED(out, nccl_log_print(out, &log, NULL));
	for (int i = 0; i < 25 && strchr(end, '\n'); i++)
		end = strchr(end, '\n') + 1;
	*end = '\0';
	UNIT_ALL(strstr(text, "failure: rank 11 on host-B (GPU 3)") != NULL,
		 strstr(text, "status 12), peer 192.0.2.7<4> (net_ib.cc:7, 2026-11-21 03:00:00)") !=
			 NULL,
		 strstr(text, "PXN 1 GDR 1") != NULL,
		 strstr(text, "15 -NET/IB/0/GDRDMA-> 0\n") != NULL,
		 strstr(text, "is this ring rational? rational\n") != NULL);
	free(text);
	nccl_log_release(&log);
}
