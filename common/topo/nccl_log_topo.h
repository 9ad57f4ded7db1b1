/* nccl_log_topo.h: of a host's topology what rings are judged by: how two of its GPUs are joined. */
#ifndef HANGAR_NCCL_LOG_TOPO_H
#define HANGAR_NCCL_LOG_TOPO_H

#include "nccl_log.h"

/* From near to far, as in NCCL (topo.h): NVLink, NVLink over a GPU, chip to chip, PCIe switches,
 * host bridge, another NUMA node. */
enum nccl_near { NEAR_UNKNOWN, NEAR_LOC, NEAR_NVL, NEAR_NVB, NEAR_C2C, NEAR_PIX, NEAR_PXB,
		 NEAR_PHB, NEAR_SYS };

#define NCCL_TOPO_GPUS 64 /* of one host; a file with more is refused */

struct nccl_topo_gpu {
	uint64_t bus;      /* as the log prints it: 0000:00:06.0 is 0x60 */
	int numa;          /* -1 unknown */
	int cpu;           /* number of its <cpu> in the file */
	int switches[8];   /* numbers of the <pci> around it, outermost first */
	int n_switches;
	bool nvswitch;     /* NVLinks to a switch */
	uint64_t peers[32]; /* NVLinks to GPUs */
	int n_peers;
};

/* The XML file that NCCL_TOPO_DUMP_FILE writes and NCCL_TOPO_FILE reads. */
struct nccl_topo {
	struct nccl_topo_gpu gpus[NCCL_TOPO_GPUS];
	int n;
};

/* Read a file: 0, or a negative errno with OUTCOME_USAGE: not there, not XML, no GPU in it, more
 * than is plausible. Entities are refused, so is nesting deeper than 32. */
int nccl_topo_read_file(struct nccl_topo *topo, const char *path, struct error *err);
int nccl_topo_read(struct nccl_topo *topo, const char *xml, size_t len, const char *name,
		   struct error *err);

/* How the GPUs of two members of one host are joined: by the file where topo isn't NULL, else by
 * the log's graph lines. *bw (may be NULL) is GB/s where the log says it, else 0. */
enum nccl_near nccl_topo_near(const struct nccl_log *log, const struct nccl_topo *topo,
			      const struct nccl_member *a, const struct nccl_member *b, double *bw);

/* A member's NUMA node, -1 unknown. */
int nccl_topo_numa(const struct nccl_log *log, const struct nccl_topo *topo,
		   const struct nccl_member *member);

/* "NVL", "PIX", ... "?" */
const char *nccl_near_name(enum nccl_near near);

#endif
