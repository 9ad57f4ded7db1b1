/* nccl_log_lint.h: the inside of the check of rings, shared by its two files. */
#pragma once

#include "nccl_log/nccl_log_topo.h"

/* Faster first. */
enum transport { T_UNKNOWN, T_P2P, T_INDIRECT, T_SHM, T_NET };

/* The best transport between two ranks of a host, and who uses it. */
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

/* Note something, on a channel's ring (NULL: on none) and a pair; the same line for several channels
 * is kept once. */
__attribute__((format(printf, 6, 7))) void nccl_lint_add(struct linter *lint,
							 enum nccl_finding_kind kind,
							 const struct nccl_ring *ring, int from,
							 int to, const char *format, ...);

#define missing(lint, ...) nccl_lint_add((lint), NCCL_MISSING, NULL, -1, -1, __VA_ARGS__)
#define note(lint, ...)	   nccl_lint_add((lint), NCCL_NOTE, NULL, -1, -1, __VA_ARGS__)
#define found(lint, ring, from, to, ...)                                                           \
	nccl_lint_add((lint), NCCL_FOUND, (ring), (from), (to), __VA_ARGS__)

/* The number of a rank's host, -1 unknown. With one node all are where the known ones are. */
int nccl_lint_host(const struct linter *lint, int rank);

/* Returns how the GPUs of two ranks of a host are joined. *bw (may be NULL) as in
 * nccl_topo_near. */
enum nccl_near nccl_lint_near(const struct linter *lint, int a, int b, double *bw);

/* nccl_log_lint_topo.c: NUMA ping-pong on one ring; orders that differ across channels. */
void nccl_lint_numa(struct linter *lint, const struct nccl_ring *ring);
void nccl_lint_orders(struct linter *lint);
