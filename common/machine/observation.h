/* observation.h: what was seen of the machines of a run, before and after its sweep, as plain
 * data. */
#pragma once

#include "base/error.h"
#include "machine/reading.h"

/* Hosts are lists of reading.h. The rest are structs, since few write them and many read them: a
 * number that was not seen is -1 (NaN for a double), a text that was not seen is "". */

enum { OBSERVED_FINDINGS = 4 };

struct observed_rank {
	int rank, node, pid;
	char bus[32];	 /* of its GPU, "" for none */
	char cpus[512];	 /* that it may run on */
	int64_t cpu_ns;	 /* counter: all its threads ran */
	int64_t wait_ns; /* counter: its main thread wanted to run and had no CPU */
};

/* NCCL says this of itself in its logs. */
struct observed_nccl {
	int logs;      /* ranks whose log was read */
	char why[256]; /* why not all */
	char network[32];
	int gdr, nvls; /* 1, 0 */
	int coll_channels;
	int p2p, shm, net; /* connections inside hosts, by transport */
	int far, far_gdr;  /* between hosts; those with GPUDirect RDMA */
	int far_pxn;	   /* those through another GPU of their host */
	char shm_example[96], net_example[96], far_example[96];
	int nfindings; /* why its rings are not rational */
	struct observed_finding {
		char text[256];
	} findings[OBSERVED_FINDINGS];
};

/* The run: what was called, and what the topology says of it. */
struct observed_run {
	char backend[16], collective[32];
	int ranks, nodes;
	int shared_gpu;	     /* 1: ranks share GPUs, over sockets */
	char gpu[64];	     /* product name */
	int links;	     /* NVLinks that a GPU should have, by --topo or by its product name */
	int links_found;     /* fewest of a GPU in the topology that NCCL found */
	char hop[16];	     /* between GPUs of a host: "NVLink", "PCIe", "SHM", "none" */
	char transport[16];  /* between hosts: "IB", "RoCE", "TCP", ... */
	double nic_gbps;     /* a NIC of the topology asked for */
	double good_percent; /* of its prediction that a row must reach */
	double median_percent; /* of the rows from 1 MiB; unknown: none, or not judged */
	/* The worst row: its percentage, its size, what is predicted for it, and what NCCL took. */
	double worst_percent;
	int64_t worst_bytes;
	char worst_algo[16], worst_proto[16];
	int worst_channels;
	char used_algo[16], used_proto[16];
	int used_channels;
};

/* Ranks and hosts of one number are the same before and after. */
struct observation {
	struct observed_run run;
	struct observed_nccl nccl;
	int nhosts, nranks;
	struct reading *before, *after;			  /* nhosts each, by node */
	struct observed_rank *ranks_before, *ranks_after; /* nranks each, by rank */
};

/* Room for so many; everything unseen. */
void observation_init(struct observation *observation, int nhosts, int nranks);
void observation_release(struct observation *observation);

/* Everything unseen. */
void observed_rank_clear(struct observed_rank *rank);

/* As JSON, format 2. Writing: 0, or a negative errno. Reading: 0, or a negative errno with the
 * error set (OUTCOME_USAGE); what is not in the file was not seen; what is too long, not a
 * number, or more than there is room for, is refused. After a success the caller releases it. */
int observation_write(const struct observation *observation, const char *path);
int observation_read(struct observation *observation, const char *path, struct error *err);
