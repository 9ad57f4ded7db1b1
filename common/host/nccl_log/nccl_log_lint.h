/* nccl_log_lint.h: the inside of the check of rings, shared by its two files; also the links
 * between GPUs of a host. Internal to nccl_log. */
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

/* Faster first. */
enum transport { T_UNKNOWN, T_P2P, T_INDIRECT, T_SHM, T_NET };

/* The best transport between two ranks of a host, and a user of it. */
struct best {
	enum transport transport;
	int from, to;
	bool has_member; /* of the communicator, on this host */
};

struct linter {
	const struct nccl_log *log;
	const struct nccl_comm *comm;
	const struct topo_system *topo;
	struct nccl_lint *out;
	struct best *best;	     /* by number of host */
	int hosts;		     /* of this communicator */
	const struct nccl_link *gdr; /* a pair that uses GPUDirect RDMA */
	int open, differing, no_transport, no_host;
};

/* Notes a finding, on a channel's ring (NULL: on none). The same line for several channels is kept
 * once. */
void nccl_lint_add(struct linter *lint, enum nccl_finding_kind kind, const struct nccl_ring *ring,
		   const char *format, ...) __attribute__((format(printf, 4, 5)));

#define missing(lint, ...)     nccl_lint_add((lint), NCCL_MISSING, NULL, __VA_ARGS__)
#define note(lint, ...)	       nccl_lint_add((lint), NCCL_NOTE, NULL, __VA_ARGS__)
#define found(lint, ring, ...) nccl_lint_add((lint), NCCL_FOUND, (ring), __VA_ARGS__)

/* The number of a rank's host, -1 unknown. With one node all are where the known ones are. */
int nccl_lint_host(const struct linter *lint, int rank);

/* Returns how the GPUs of two ranks of a host are joined. *bw (may be NULL) as in
 * nccl_topo_near. */
enum nccl_near nccl_lint_near(const struct linter *lint, int a, int b, double *bw);

/* nccl_log_lint_topo.c: NUMA ping-pong on one ring; orders that differ across channels. */
void nccl_lint_numa(struct linter *lint, const struct nccl_ring *ring);
void nccl_lint_orders(struct linter *lint);
