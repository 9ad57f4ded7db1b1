/* alltoallv_counts.c: the rank sends the others another amount than they expect. */

#include "inject/calls/change.h"

/* Measured: 2 ranks over P2P and SHM, 4 over sockets, NCCL 2.28.9, H200. */
static const struct fault_way ways[] = {
	{ "hang", BY_P2P | BY_SHM | BY_NET, 0, 0, 0, "factor=half" },
	{ "corrupt", BY_P2P, 0, 0, 0, "factor=double" },
	{ "corrupt", BY_MPI, 0, 0, 0, "factor=half" },
	{ .outcome = NULL },
};

static int fire(const struct fault_act *act)
{
	size_t n = (size_t)act->nranks, *counts = malloc(n * sizeof(*counts));
	struct call call = *act->call;
	int rc;

	if (!counts)
		return -ENOMEM;
	memcpy(counts, call.send_counts, n * sizeof(*counts));
	for (int i = 0; i < act->nranks; i++)
		if (i != act->rank)
			counts[i] = change_count(act->spec, counts[i]);
	call.send_counts = counts;
	rc = change_emit(act, &call);
	free(counts);
	return rc;
}

const struct fault fault_alltoallv_counts = {
	.name = "alltoallv-counts",
	.help = "makes one alltoallv in which it sends the other ranks more or less than they "
		"expect",
	.source = "MPI-BugBench, parameter matching; experts that disagree about their tokens",
	.args = "factor=half|double by=NUMBER outcome=hang|corrupt|silent",
	.kinds = KIND(ALLTOALLV),
	.ways = ways,
	.mpi = "hang|error|wrong-data|diverged|died",
	.nccl = "hang|error|wrong-data|diverged",
	.fire = fire,
};
