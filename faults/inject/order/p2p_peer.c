/* p2p_peer.c: the rank sends to, or receives from, another rank than it should. */
#include "inject/calls/change.h"

static bool applies(const struct planned_call *planned)
{
	return planned->nranks > 2;
}

/* The next rank that is neither itself nor the right one. */
static int fire(const struct fault_act *act)
{
	struct call call = *act->call;
	int n = act->comms->spans[call.comm].n;
	int self = comm_set_rank(act->comms, call.comm, act->rank);

	do
		call.peer = (call.peer + 1) % n;
	while (call.peer == self);
	return change_emit(act, &call);
}

const struct fault fault_p2p_peer = {
	.name = "p2p-peer",
	.help = "makes one send or receive with a wrong partner",
	.source = "MPI-BugBench, parameter matching; a pipeline stage wired to the wrong neighbour",
	.needs = { .ranks = 3 },
	.schedule = "p2p",
	.kinds = KIND_PAIR,
	.applies = applies,
	.mpi = "hang|error|wrong-data|diverged|died",
	.nccl = "hang|error|wrong-data|diverged",
	.fire = fire,
};
