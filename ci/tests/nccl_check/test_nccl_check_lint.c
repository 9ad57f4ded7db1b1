/* test_nccl_check_lint.c: is this ring rational? */
#include "nccl_check/nccl_check.h"
#include "nccl_log/nccl_log_lines.h"

#include "topo/topo.h"

/* The verdict on communicator 0 and, joined by "; ", why. */
struct said {
	enum nccl_verdict verdict;
	int kinds[NCCL_NOTE + 1];
	char text[2048];
};

static struct lines lines;
static struct said said;

static void check_rings(const struct nccl_log *log, const struct topo_system *topo)
{
	struct nccl_lint lint;

	nccl_log_lint(log, &log->comms[0], topo, &lint);
	said = (struct said){ .verdict = lint.verdict };
	for (int i = 0; i < lint.n_findings; i++) {
		said.kinds[lint.findings[i].kind]++;
		strncat(said.text, lint.findings[i].reason, 400);
	}
	nccl_lint_release(&lint);
}

/* The lines so far, read and judged; some of the reasons holds these words. */
static void expect(const struct topo_system *topo, enum nccl_verdict verdict, const char *reason)
{
	struct nccl_log log;
	bool right;

	lines_read(&lines, &log);
	check_rings(&log, topo);
	nccl_log_release(&log);
	right = said.verdict == verdict && strstr(said.text, reason) != NULL;
	if (!right)
		fprintf(stderr, "%s: %s\n", nccl_verdict_names[said.verdict], said.text);
	CU_ASSERT_TRUE(right);
}

/* A started job of n ranks on one host, with rings on two channels. */
static void job(int n, int per_host, const int *a, const int *b)
{
	lines_started(&lines, n, per_host);
	lines_ring(&lines, 0, a, true);
	lines_ring(&lines, 1, b, true);
	lines_links(&lines, 0, a, "NET/IB/0/GDRDMA");
	lines_links(&lines, 1, b, "NET/IB/0/GDRDMA");
}

static const int straight[] = { 0, 1, 2, 3 };

/* Every GPU's paths, all of one kind. */
static void paths(const char *type, int cpus)
{
	for (int r = 0; r < lines.nranks; r++) {
		char text[256] = "";

		for (int o = 0; o < lines.nranks; o++)
			snprintf(text + strlen(text), sizeof(text) - strlen(text),
				 " GPU/0-%x (2/20.0/%s)", 0x1000 * (o + 1), o == r ? "LOC" : type);
		lines_say(&lines, r, "GPU/0-%x :%s CPU/0-0 (1/20.0/%s) CPU/0-1 (2/10.0/%s)",
			  0x1000 * (r + 1), text + 1, cpus == 1 || r < 2 ? "PHB" : "SYS",
			  cpus == 1 || r < 2 ? "SYS" : "PHB");
	}
}

UNIT_TEST(test_rational, "rational")
{
	lines_job(&lines, "");
	expect(NULL, NCCL_RATIONAL, "");
	CU_ASSERT(said.kinds[NCCL_FOUND] + said.kinds[NCCL_MISSING] + said.kinds[NCCL_NOTE] == 0);
	job(4, 4, straight, straight);
	expect(NULL, NCCL_RATIONAL, "");
}

UNIT_TEST(test_crossing, "a ring that comes back to a host")
{
	static const int across[] = { 0, 2, 1, 3 };

	job(4, 2, straight, across);
	expect(NULL, NCCL_IRRATIONAL,
	       "leaves host host-B and comes back more than once: again with 1 -> 3");
	UNIT_ALL(strstr(said.text, "host-A and comes back") != NULL, said.kinds[NCCL_FOUND] == 2);
}

UNIT_TEST(test_transports, "slower transports than needed")
{
	static const struct {
		const char *transport, *path;
		enum nccl_verdict verdict;
		const char *reason;
	} cases[] = {
		{ "P2P/IPC/read", NULL, NCCL_RATIONAL, "" },
		{ "SHM/direct/direct", NULL, NCCL_IRRATIONAL,
		  "1 -> 2 uses SHM/direct/direct while 0 -> 1 on the same host uses P2P" },
		{ "SHM/direct/direct", "NVL", NCCL_IRRATIONAL,
		  "1 -> 2 uses SHM/direct/direct although their GPUs are NVL apart" },
		{ "SHM/direct/direct", "PIX", NCCL_IRRATIONAL,
		  "although their GPUs are PIX apart" },
		{ "SHM/direct/direct", "SYS", NCCL_RATIONAL,
		  "1 -> 2 uses SHM/direct/direct: their GPUs are SYS apart" },
		{ "P2P/indirect/3[3]", NULL, NCCL_IRRATIONAL,
		  "1 -> 2 uses P2P/indirect/3[3] while" },
		{ "NET/Socket/0", NULL, NCCL_IRRATIONAL, "1 -> 2 uses NET/Socket/0 inside host" },
		{ "NET/Socket/0", "SYS", NCCL_IRRATIONAL, "1 -> 2 uses NET/Socket/0 inside host" },
	};

	UNIT_ROWS(c, cases) {
		lines_started(&lines, 4, 4);
		if (c->path)
			paths(c->path, 1);
		lines_ring(&lines, 0, straight, true);
		for (int r = 0; r < 4; r++)
			lines_link(&lines, 0, r, (r + 1) % 4, r == 1 ? c->transport : "P2P/CUMEM");
		expect(NULL, c->verdict, c->reason);
	}
}

UNIT_TEST(test_host_id, "NCCL_HOSTID")
{
	lines_open(&lines, 2, 2);
	for (int r = 0; r < 2; r++) {
		lines_start(&lines, r);
		lines_say(&lines, r,
			  "comm 0x%x rank %d nRanks 2 nNodes 2 localRanks 1 localRank 0 MNNVL 0",
			  0x5000 + r, r);
	}
	lines_ring(&lines, 0, straight, true);
	lines_link(&lines, 0, 0, 1, "NET/Socket/0");
	lines_link(&lines, 0, 1, 0, "NET/Socket/0");
	expect(NULL, NCCL_IRRATIONAL,
	       "inside host host-A: NCCL counts 2 nodes on 1 host (NCCL_HOSTID");
}

UNIT_TEST(test_rdma, "GPUDirect RDMA on some pairs only")
{
	lines_started(&lines, 4, 2);
	lines_ring(&lines, 0, straight, true);
	for (int r = 0; r < 4; r++)
		lines_link(&lines, 0, r, (r + 1) % 4,
			   r % 2 == 0 ? "P2P/CUMEM"
			   : r == 1   ? "NET/IB/0/GDRDMA"
				      : "NET/IB/0");
	expect(NULL, NCCL_IRRATIONAL,
	       "3 -> 0 uses NET/IB/0 without GPUDirect RDMA, which 1 -> 2 has");
	CU_ASSERT_EQUAL(said.kinds[NCCL_FOUND], 1);
}

UNIT_TEST(test_orders, "orders that differ")
{
	static const int other[] = { 0, 2, 1, 3 };

	job(4, 4, straight, other);
	expect(NULL, NCCL_CANNOT_SAY,
	       "1 of 2 channels have another order than channel 00, and no topology");
	job(4, 4, straight, other);
	paths("NVL", 1);
	expect(NULL, NCCL_IRRATIONAL, "another order than channel 00 without need");
	job(4, 4, straight, other);
	paths("NVL", 1);
	lines_say(&lines, 0, "GPU/0-1000 :GPU/0-4000 (3/10.0/NVB)");
	expect(NULL, NCCL_RATIONAL, "");
	CU_ASSERT_EQUAL(said.kinds[NCCL_NOTE], 1);
}

UNIT_TEST(test_numa, "NUMA ping-pong")
{
	static const int pingpong[] = { 0, 2, 1, 3 };

	job(4, 4, pingpong, pingpong);
	paths("SYS", 2);
	expect(NULL, NCCL_IRRATIONAL,
	       "changes NUMA node 4 times on host host-A, 2 would do: last with 3 -> 0");
	job(4, 4, straight, straight);
	paths("SYS", 2);
	expect(NULL, NCCL_RATIONAL, "");
	job(4, 4, pingpong, pingpong);
	paths("NVL", 2);
	expect(NULL, NCCL_RATIONAL, "");
}

UNIT_TEST(test_missing, "missing lines")
{
	lines_started(&lines, 4, 4);
	expect(NULL, NCCL_CANNOT_SAY,
	       "no ring order (Channel NN/MM) line: its init had not come to it");

	lines_open(&lines, 4, 4);
	lines_start(&lines, 0);
	lines_say(&lines, 0, "Channel 00/01 : 0 1 2 3");
	lines_link(&lines, 0, 0, 1, "P2P/CUMEM");
	expect(NULL, NCCL_CANNOT_SAY, "no line says over what 1 -> 2 goes, nor 2 more steps");
	CU_ASSERT_EQUAL(said.kinds[NCCL_MISSING], 1);

	lines_open(&lines, 4, 2);
	lines_start(&lines, 0);
	lines_say(&lines, 0, "Channel 00/01 : 0 1 ...");
	expect(NULL, NCCL_CANNOT_SAY, "1 of 1 rings are not complete");
	CU_ASSERT_PTR_NOT_NULL(strstr(said.text, "no line of "));
}

#define GPU(bus, dev, links)                                                                       \
	"<pci busid=\"0000:0" bus ":00.0\" class=\"0x030200\"><gpu dev=\"" dev "\" rank=\"" dev    \
	"\">" links "</gpu></pci>"
#define SWITCH "<nvlink target=\"fffffff:ff:ff.0\" count=\"18\" tclass=\"0x068000\"/>"

static const char two_nodes[] =
	"<system version=\"1\"><cpu arch=\"x86_64\" numaid=\"0\"><pci busid=\"0000:0a:00.0\">" GPU(
		"1", "0", "")
		GPU("2", "1", "") "</pci></cpu><cpu arch=\"x86_64\" numaid=\"1\">" GPU("3", "2", "")
			GPU("4", "3", "") "</cpu></system>";

UNIT_TEST(test_file_judges, "topology file: verdicts")
{
	static const char nvswitch[] =
		"<system><cpu arch=\"x86_64\" numaid=\"0\">" GPU("1", "0", SWITCH)
			GPU("2", "1",
			    SWITCH) "</cpu><cpu arch=\"x86_64\" numaid=\"1\">" GPU("3", "2", SWITCH)
				GPU("4", "3", SWITCH) "</cpu></system>";
	static const int pingpong[] = { 0, 2, 1, 3 };
	static const char *const apart[] = { "although their GPUs are PIX apart", "are SYS apart",
					     "are PHB apart" };
	struct error err = { .rank = -1 };
	struct topo_system topo;

	CU_ASSERT_EQUAL_FATAL(topo_parse_xml(&topo, two_nodes, strlen(two_nodes), "topology", &err),
			      0);
	for (int slow = 0; slow < 3; slow++) {
		lines_started(&lines, 4, 4);
		lines_ring(&lines, 0, straight, true);
		for (int r = 0; r < 4; r++)
			lines_link(&lines, 0, r, (r + 1) % 4,
				   r == slow ? "SHM/direct" : "P2P/CUMEM");
		expect(&topo, slow ? NCCL_RATIONAL : NCCL_IRRATIONAL, apart[slow]);
	}
	job(4, 4, pingpong, pingpong);
	expect(&topo, NCCL_IRRATIONAL, "changes NUMA node 4 times on host host-A, 2 would do");
	CU_ASSERT_EQUAL_FATAL(topo_parse_xml(&topo, nvswitch, strlen(nvswitch), "topology", &err),
			      0);
	job(4, 4, pingpong, pingpong);
	expect(&topo, NCCL_RATIONAL, "");
	job(4, 4, straight, pingpong);
	expect(&topo, NCCL_IRRATIONAL,
	       "1 of 2 channels have another order than channel 00 without need");
}
