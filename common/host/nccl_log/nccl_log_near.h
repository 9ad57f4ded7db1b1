/* nccl_log_near.h: the links between GPUs of a host, by NCCL's topology file or the log's graph
 * lines. Internal to nccl_log. */
#pragma once

#include "nccl_log/nccl_log.h"
#include "topo/topo.h"

/* From near to far, as in NCCL (topo.h): NVLink, NVLink over a GPU, chip to chip, PCIe switches,
 * host bridge, another NUMA node. */
enum nccl_near {
	NEAR_UNKNOWN,
	NEAR_LOC,
	NEAR_NVL,
	NEAR_NVB,
	NEAR_C2C,
	NEAR_PIX,
	NEAR_PXB,
	NEAR_PHB,
	NEAR_SYS
};

/* Returns the link between the GPUs of two members of one host: by the file (topo_read_xml) where
 * topo isn't NULL, else by the log's graph lines. *bw (may be NULL) is GB/s where the log has it,
 * else 0. */
enum nccl_near nccl_topo_near(const struct nccl_log *log, const struct topo_system *topo,
			      const struct nccl_member *a, const struct nccl_member *b, double *bw);

/* A member's NUMA node, -1 unknown. */
int nccl_topo_numa(const struct nccl_log *log, const struct topo_system *topo,
		   const struct nccl_member *member);

/* "NVL", "PIX", ... "?" */
extern const char *const nccl_near_names[];
