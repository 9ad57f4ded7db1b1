/* model_names.c: names of collectives, algorithms and protocols, bus factors, and the odds of
 * failures. */
#include "topo/model.h"

const char *const model_coll_names[MODEL_COLLS] = {
	[MODEL_ALL_REDUCE] = "all_reduce",
	[MODEL_ALL_GATHER] = "all_gather",
	[MODEL_REDUCE_SCATTER] = "reduce_scatter",
	[MODEL_BROADCAST] = "broadcast",
	[MODEL_REDUCE] = "reduce",
	[MODEL_ALLTOALL] = "alltoall",
	[MODEL_ALLTOALLV] = "alltoallv",
	[MODEL_GATHER] = "gather",
	[MODEL_SCATTER] = "scatter",
	[MODEL_SENDRECV] = "sendrecv",
	[MODEL_HYPERCUBE] = "hypercube",
};

const char *const model_algo_names[MODEL_ALGOS] = {
	[MODEL_TREE] = "Tree",
	[MODEL_RING] = "Ring",
	[MODEL_COLLNET_DIRECT] = "CollNetDirect",
	[MODEL_COLLNET_CHAIN] = "CollNetChain",
	[MODEL_NVLS] = "NVLS",
	[MODEL_NVLS_TREE] = "NVLSTree",
	[MODEL_PAT] = "PAT",
	[MODEL_P2P] = "P2P",
};

const char *const model_proto_names[MODEL_PROTOS] = { "LL", "LL128", "Simple" };

int model_find(const char *const *names, int n, const char *name)
{
	for (int i = 0; i < n; i++)
		if (strcasecmp(names[i], name) == 0)
			return i;
	return -1;
}

/* As nccl-tests reports it (NCCL.md, "Bus bandwidth"). */
double model_bus_factor(enum model_coll coll, int nranks)
{
	double n = nranks;

	switch (coll) {
	case MODEL_ALL_REDUCE:
		return 2 * (n - 1) / n;
	case MODEL_BROADCAST:
	case MODEL_REDUCE:
	case MODEL_SENDRECV:
		return 1;
	default:
		return (n - 1) / n;
	}
}

struct model_failures model_failures(double rate, double nodes, double hours, double cost_s)
{
	struct model_failures out = { .mtbf_s = 365.25 * 86400 / (rate * nodes) };
	double x = cost_s / (2 * out.mtbf_s);

	out.probability = -expm1(-hours * 3600 / out.mtbf_s);
	out.young_s = sqrt(2 * cost_s * out.mtbf_s);
	/* Daly 2006, eq. 37: for a cost below twice the MTBF, else the MTBF itself. */
	out.daly_s = x < 1 ? sqrt(2 * cost_s * out.mtbf_s) * (1 + sqrt(x) / 3 + x / 9) - cost_s
			   : out.mtbf_s;
	return out;
}
