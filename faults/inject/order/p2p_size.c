/* p2p_size.c: the rank sends or receives another amount than its partner. */
#include "inject/calls/change.h"

static bool applies(const struct planned_call *planned)
{
	return call_is_pair(planned->call.kind) && planned->call.count > 1;
}

/* Measured: 2 ranks over P2P and SHM, 4 over sockets and MPI, 1 MiB, NCCL 2.28.9, H200. */
static const struct fault_way ways[] = {
	{ "hang", BY_P2P | BY_SHM, 0, 0, 0, "factor=double" },
	{ "hang", BY_P2P, 0, 0, 0, "factor=half" },
	{ "corrupt", BY_SHM | BY_NET, 0, 0, 0, "factor=half" },
	{ "corrupt", BY_NET, 0, 0, 0, "factor=double" },
	{ .outcome = NULL },
};

static int fire(const struct fault_act *act)
{
	struct call call = *act->call;

	call.count = change_count(act->spec, call.count);
	return change_emit(act, &call);
}

const struct fault fault_p2p_size = {
	.name = "p2p-size",
	.help = "makes one send or receive with another count than its partner",
	.source = "MPI-BugBench, parameter matching; pipeline stages that disagree about a shape",
	.args = "factor=half|double by=NUMBER outcome=hang|corrupt|silent",
	.schedule = "p2p",
	.applies = applies,
	.ways = ways,
	.mpi = "hang|error|wrong-data|diverged|died",
	.nccl = "hang|error|wrong-data|diverged",
	.fire = fire,
};
