/* host_topo.h: what a host is made of, for collectives over its memory: cores, caches, NUMA nodes,
 * where its ranks sit, how the MPI library moves data between them, and how fast its network says
 * it is. */
#ifndef HANGAR_HOST_TOPO_H
#define HANGAR_HOST_TOPO_H

#include <sched.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/error.h"

struct host_topo {
	int packages, numa, cores, pus; /* of the whole host */
	size_t l1, l2, l3;		/* bytes of one such cache; 0: none, or unknown */
	int l3_count;
	/* where ranks may run, all of them together */
	int ranks, rank_pus, rank_cores, rank_packages, rank_numa;
	bool full; /* read by hwloc; else cores are CPUs, packages and numa 0 (unknown) */
};

/* Ranks for each core they may run on; 1 where each has one to itself. */
double host_topo_share(const struct host_topo *topo);

/* Read the host, or `synthetic` (an hwloc description such as "package:2 core:4 pu:2") instead of
 * it, and count what the CPUs in `sets` (one set per rank) belong to. CPUs that the host does not
 * have are passed over. 0, or a negative errno with the error set: -EINVAL for a description that
 * makes no sense or ranks without any CPU. */
int host_topo_read(struct host_topo *topo, const char *synthetic, const cpu_set_t *sets, int nsets,
		   struct error *err);

/* One line: "1 package, 1 NUMA node, 2 cores, L3 1 x 32 MiB, 2 ranks on 2 cores". Returns text. */
char *host_topo_text(const struct host_topo *topo, char *text, size_t len);

/* How messages travel between ranks of one host. */
enum host_path {
	HOST_SINGLE_COPY, /* the receiver reads the sender's memory through the kernel (CMA) */
	HOST_TWO_COPIES,  /* into shared memory and out again */
	HOST_NO_PATH	  /* not through shared memory */
};

struct host_library {
	enum host_path path; /* of large messages */
	double eager;	     /* bytes up to which messages are copied twice whatever the path */
	bool yields;	     /* an idle rank gives its core away */
	bool known;	     /* asked of Open MPI; else what it does by default */
};

/* Ask the MPI library's tool interface (MPI_T). MPI is initialised. */
void host_library_read(struct host_library *library);

/* Line rate in GB/s of what the host's MPI traffic leaves through: the first InfiniBand port that
 * is active, else the interface of the default route, else the only one that is up; of the files
 * below `root` ("" outside of tests). `name` gets which one, or why there is none. 0: unknown. */
double host_network_gbs(const char *root, char *name, size_t len, bool *ethernet);

#endif
