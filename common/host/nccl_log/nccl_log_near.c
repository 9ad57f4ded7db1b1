/* nccl_log_near.c: links and NUMA nodes of a host's GPUs. */

#include "nccl_log/nccl_log_near.h"
#include "nccl_log/nccl_log_raw.h"

const char *const nccl_near_names[] = {
	[NEAR_UNKNOWN] = "?", [NEAR_LOC] = "LOC", [NEAR_NVL] = "NVL",
	[NEAR_NVB] = "NVB",   [NEAR_C2C] = "C2C", [NEAR_PIX] = "PIX",
	[NEAR_PXB] = "PXB",   [NEAR_PHB] = "PHB", [NEAR_SYS] = "SYS",
};

/* A GPU's index in the file, -1 when it is not there. */
static int gpu_of(const struct topo_system *topo, uint64_t bus)
{
	for (int i = 0; i < topo->ngpus && bus; i++)
		if (topo->gpu[i].bus == bus)
			return i;
	return -1;
}

static enum nccl_near near_in_file(const struct topo_system *topo, int ia, int ib)
{
	const struct topo_gpu *a, *b;
	int common = 0;

	if (ia < 0 || ib < 0)
		return NEAR_UNKNOWN;
	if (ia == ib)
		return NEAR_LOC;
	a = &topo->gpu[ia];
	b = &topo->gpu[ib];
	if ((a->switch_links > 0 && b->switch_links > 0) || a->links[ib] > 0)
		return NEAR_NVL;
	while (common < a->nabove && common < b->nabove && a->above[common] == b->above[common])
		common++;
	if (common > 0)
		return common == a->nabove && common == b->nabove ? NEAR_PIX : NEAR_PXB;
	return a->cpu == b->cpu ? NEAR_PHB : NEAR_SYS;
}

static bool is_of(const struct nccl_log *log, const struct nccl_path *path,
		  const struct nccl_member *member)
{
	return path < log->paths + log->n_paths && path->host == member->host &&
	       path->gpu == member->bus;
}

enum nccl_near nccl_topo_near(const struct nccl_log *log, const struct topo_system *topo,
			      const struct nccl_member *a, const struct nccl_member *b, double *bw)
{
	const struct nccl_path *path;

	if (bw)
		*bw = 0;
	if (topo)
		return near_in_file(topo, gpu_of(topo, a->bus), gpu_of(topo, b->bus));
	path = nccl_log_path(log, a->host, a->bus);
	for (; path && is_of(log, path, a); path++) {
		if (strcmp(path->kind, "GPU") != 0 || path->to != b->bus)
			continue;
		if (bw)
			*bw = path->bw;
		for (enum nccl_near near = NEAR_LOC; near <= NEAR_SYS; near++)
			if (strcmp(path->type, nccl_near_names[near]) == 0)
				return near;
	}
	return NEAR_UNKNOWN;
}

int nccl_topo_numa(const struct nccl_log *log, const struct topo_system *topo,
		   const struct nccl_member *member)
{
	int gpu = topo ? gpu_of(topo, member->bus) : -1;
	const struct nccl_path *path;

	if (topo)
		return gpu >= 0 ? topo->numa[topo->gpu[gpu].cpu] : -1;
	path = nccl_log_path(log, member->host, member->bus);
	for (; path && is_of(log, path, member); path++) {
		/* The one CPU that is reached without crossing to another node. */
		if (strcmp(path->kind, "CPU") == 0 && strcmp(path->type, "SYS") != 0 &&
		    path->to < 1024)
			return (int)path->to;
	}
	return -1;
}
