/* observation.h: what was seen of the machines of a run, before and after its sweep, as plain
 * data. */
#ifndef HANGAR_OBSERVATION_H
#define HANGAR_OBSERVATION_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/error.h"

/* Observers fill it, causes read it, and observation.json is it. A number that was not seen is
 * -1 (NaN for a double), a text that was not seen is "". Counters count from some moment before
 * the run: only differences mean something. */

enum { OBSERVED_GPUS = 16, OBSERVED_NICS = 48, OBSERVED_SETTINGS = 64, OBSERVED_FINDINGS = 4 };

struct observed_gpu {
	char bus[32];		     /* "0000:18:00.0" */
	int links, links_active;     /* NVLinks that NVML knows, and those that are up */
	int width, max_width;	     /* PCIe lanes, now and at most, up to the CPU */
	int gen, max_gen;	     /* PCIe generation; falls while a GPU idles */
	char cpus[512];		     /* CPUs beside it, "0-15,32" */
	char iommu[16];		     /* its IOMMU domain: "identity", "DMA", ...; "none" */
	int bridges, bridges_unread; /* PCIe bridges above it; those whose ACS could not be read */
	int bridges_acs;	     /* those that send P2P traffic up to the CPU */
	char acs_bridge[32];	     /* one of these */
	int sm_mhz, sm_max_mhz;
	int64_t reasons;			/* why clocks are what they are: NVML's bits */
	int64_t power_ns, thermal_ns;		/* counters: clocks held down for power, for heat */
	int64_t ecc_corrected, ecc_uncorrected; /* counters, since the driver was loaded */
	int64_t link_replays, link_recoveries, link_crc; /* counters of its NVLinks together */
	int processes, processes_ours;			 /* on it; those of this job */
	int64_t foreign_bytes;				 /* that the others hold */
	int foreign_pid;				 /* one of them */
	int peers,
		peers_refused; /* the job's GPUs beside it; those that the driver refuses P2P to */
	char refusal[48];      /* why */
};

/* A network interface or a port of an RDMA device. */
struct observed_nic {
	char name[32];	    /* "eth0", "mlx5_0" */
	char link[16];	    /* "Ethernet", "InfiniBand" */
	char state[16];	    /* "up", "down" */
	int rdma, hardware; /* 0 or 1; hardware: not a bridge, tunnel or loopback */
	int mtu;
	int64_t mbps;
	int width, max_width, gen, max_gen;
};

struct observed_setting {
	char name[48], value[96];
};

struct observed_host {
	char name[64];
	int node;
	double at_s, took_s; /* when, by its clock; how long looking took, NVML's start included */
	int nvml;	     /* 1: there; 0: not */
	char nvml_why[96];   /* why not */
	int cpus;
	int64_t cpu_busy, cpu_total;	     /* counters: ticks of all CPUs */
	int64_t tcp_sent, tcp_retransmitted; /* counters: segments */
	int peermem;			     /* 1: a module for GPUDirect RDMA is loaded */
	int ngpus, nnics, nsettings;
	struct observed_gpu gpus[OBSERVED_GPUS];
	struct observed_nic nics[OBSERVED_NICS];
	/* NCCL_* and CUDA_* of the environment */
	struct observed_setting settings[OBSERVED_SETTINGS];
};

struct observed_rank {
	int rank, node, pid;
	char bus[32];	 /* of its GPU, "" for none */
	char cpus[512];	 /* that it may run on */
	int64_t cpu_ns;	 /* counter: all its threads ran */
	int64_t wait_ns; /* counter: its main thread wanted to run and had no CPU */
};

/* What NCCL says of itself, out of its logs. */
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

/* What was run, and what the topology says of it. */
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
	/* The worst row: its share, its size, what is predicted for it, and what NCCL took. */
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
	struct observed_host *before, *after;		  /* nhosts each */
	struct observed_rank *ranks_before, *ranks_after; /* nranks each, by rank */
};

/* Room for so many; everything unseen. 0 or -ENOMEM. */
int observation_init(struct observation *observation, int nhosts, int nranks);
void observation_release(struct observation *observation);

/* Everything unseen. */
void observed_host_clear(struct observed_host *host);
void observed_gpu_clear(struct observed_gpu *gpu);
void observed_nic_clear(struct observed_nic *nic);
void observed_rank_clear(struct observed_rank *rank);

/* As JSON, format 1. Writing: 0, or a negative errno. Reading: 0, or a negative errno with the
 * error set (OUTCOME_USAGE); what is not in the file was not seen; what is too long, not a
 * number, or more than there is room for, is refused. After a success the caller releases it. */
int observation_write(const struct observation *observation, const char *path);
int observation_read(struct observation *observation, const char *path, struct error *err);

#endif
