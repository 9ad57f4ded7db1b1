/* test_against.c: tables of nccl-tests as people paste them. */
#include "topo/against.h"

#include "rig/unit.h"

#define RANK(n, host)                                                                              \
	"#  Rank  " n " Group  0 Pid   1 on " host " device  0 [0x0f] NVIDIA H100 80GB HBM3\n"
#define NOW                                                                                        \
	"   1048576   262144     float     sum      -1    30.10   34.84   52.26      0    29.88  " \
	" 35.09   52.64      0\n"
#define OLD                                                                                        \
	"   1048576   262144   float     sum    30.10   34.84   52.26  1e-07    29.88   35.09   "  \
	"52.64  1e-07\n"
#define NONE                                                                                       \
	"   1048576   262144     float    none      -1    30.10   34.84   17.42      0    29.88  " \
	" 35.09   17.55    N/A\n"

UNIT_TEST(test_read, "tables")
{
	static const struct {
		const char *text;
		int nrows, nranks, nhosts, collective;
		double time_us, busbw;
	} rows[] = {
		{ RANK("0", "a") RANK("1", "a") RANK("2", "b") RANK("3", "b") NOW, 1, 4, 2, -1,
		  29.88, 52.64 },
		{ RANK("0", "a") RANK("1", "b") RANK("2", "a") RANK("3", "b") RANK("4", "ab") NOW,
		  1, 5, 3, -1, 29.88, 52.64 },
		{ "# Collective test starting: all_gather_perf\n" NONE NONE, 2, 0, 0,
		  MODEL_ALL_GATHER, 29.88, 17.55 },
		{ "$ mpirun ./alltoall_perf -b 8\n" OLD, 1, 0, 0, MODEL_ALLTOALL, 29.88, 52.64 },
		{ "[1,0]<stdout>: " NOW "0: " OLD, 2, 0, 0, -1, 29.88, 52.64 },
		{ "         0         0   float     sum      -1    30.10   0   0      0    29.88   "
		  "0   0      0\n",
		  0, 0, 0, -1, 0, 0 },
		{ "node1:77:77 [0] NCCL INFO Channel 00 : 0 1 2 3\n", 0, 0, 0, -1, 0, 0 },
		{ "", 0, 0, 0, -1, 0, 0 },
		{ "1 2 float\n1 2 float sum\n1 2 float sum -1\n1 2 float sum -1 x y z\n", 0, 0, 0,
		  -1, 0, 0 },
	};
	struct against t;

	UNIT_ROWS(row, rows) {
		UNIT_ALL(against_parse(&t, row->text) == row->nrows, t.nrows == row->nrows,
			 t.nranks == row->nranks, t.nhosts == row->nhosts,
			 t.collective == row->collective);
		if (row->nrows > 0)
			UNIT_ALL(t.bytes[0] == 1 << 20, fabs(t.time_us[0] - row->time_us) < 1e-9,
				 fabs(t.busbw[0] - row->busbw) < 1e-9);
	}
}

UNIT_TEST(test_fit, "nodes and GPUs of the table")
{
	static const struct {
		int nranks, nhosts, had_nodes, had_gpus, nodes, gpus;
	} rows[] = { { 16, 2, 1, 0, 2, 0 }, { 4, 1, 1, 0, 1, 4 }, { 8, 2, 1, 0, 2, 4 },
		     { 16, 2, 4, 0, 4, 0 }, { 4, 2, 1, 1, 1, 1 }, { 9, 2, 1, 0, 1, 0 },
		     { 32, 2, 1, 0, 1, 0 }, { 0, 0, 1, 0, 1, 0 } };
	const struct topo_system sys = { .ngpus = 8 };

	UNIT_ROWS(row, rows) {
		const struct against t = { .nranks = row->nranks, .nhosts = row->nhosts };
		struct topo_change change = { .gpus = row->had_gpus };
		int nodes = row->had_nodes;

		against_fit(&t, &sys, &change, &nodes);
		UNIT_ALL(nodes == row->nodes, change.gpus == row->gpus);
	}
}
