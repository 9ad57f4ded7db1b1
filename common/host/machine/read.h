/* read.h: the reader of this host and rank: /proc, /sys, environment, NVML. It decides nothing. */
#pragma once

#include "machine/reading.h"
#include "machine/nvml.h"

/* The readers, a bit each. */
enum {
	READ_CPU = 1 << 0,	/* ticks of all CPUs, how many there are, their frequency; memory */
	READ_TCP = 1 << 1,	/* /proc/net: segments sent, sent again, timeouts */
	READ_TRAFFIC = 1 << 2,	/* interfaces and RDMA ports: bytes, errors, drops */
	READ_SETTINGS = 1 << 3, /* NCCL_* and CUDA_* of the environment */
	READ_GPUS = 1 << 4, /* the job's, or all: PCIe links, bridges, IOMMU, CPUs beside them */
	READ_NVML = 1 << 5, /* of the job's GPUs, or of all: clocks, errors, links, processes */
	READ_NICS = 1 << 6, /* interfaces and RDMA ports: speed, MTU, PCIe links */
	READ_XIDS = 1 << 7, /* of READ_GPUS', what the kernel's log says */
	READ_NCCL = 1 << 8, /* the version of the library that is found */
	READ_CONTAINER = 1 << 9, /* what a container may lack; starts a process */
	READ_LIMITS = 1 << 10,	 /* name, address, interface, memory, files; name servers */
};

/* A rank of the job, as it reads itself. */
struct observed_rank {
	int rank, node, pid;
	char bus[32];	 /* of its GPU, "" for none */
	char cpus[512];	 /* that it may run on, "": not known */
	int64_t cpu_ns;	 /* all its threads ran; -1: not known */
	int64_t wait_ns; /* its main thread wanted to run and had no CPU; -1: not known */
};

struct read_request {
	unsigned readers;
	const char *root;		   /* before /proc and /sys; "" outside of tests */
	char *const *environment;	   /* as environ; NULL: none */
	const struct nvml *nvml;	   /* as nvml_open left it; NULL: not asked */
	const struct observed_rank *ranks; /* of the job; NULL: all GPUs, for their health */
	int nranks;
	int node; /* this host's number in ranks */
};

/* Adds the values that these readers see now, the time, and the host's name. Unreadable values are
 * left out; nothing fails. A stuck driver may take for ever. */
void read_host(const struct read_request *request, struct reading *reading);

/* Reads this process: its CPUs, its main thread's time. The caller sets rank, node and bus. */
void read_rank(const char *root, struct observed_rank *rank);

/* A rank as a part of its host, "rank 3" (observation.h). */
void reading_rank(struct reading *host, const struct observed_rank *rank);

/* Writes this host's values as a line to `fd`: those of now, or the changes within `seconds`. */
void reading_tell(int fd, const struct read_request *request, double seconds);

/* The link of two GPUs of this host as nvidia-smi topo -m names it ("NV18", "PIX", "SYS"; "" where
 * NVML does not tell). `refused` is the reason for which they can't reach each other's memory, a
 * constant; NULL: they can, or it is not known. */
struct gpu_pair {
	char link[16];
	const char *refused;
};
void gpu_pair_read(const struct nvml *nvml, const char *bus_a, const char *bus_b,
		   struct gpu_pair *pair);

typedef void reader_fn(const struct read_request *request, struct reading *reading);
reader_fn read_cpu, read_memory, read_tcp, read_nics, read_pci, read_nvml, read_driver, read_xids,
	read_container, read_limits;

struct sockaddr_storage;
/* The interface that NCCL takes, up and with an address, where NCCL_SOCKET_IFNAME is `wanted` (NULL:
 * not set), and its address. Returns false where none is so. */
bool choose_interface(const char *wanted, struct sockaddr_storage *address, char *name, size_t len,
		      bool *loopback);

/* Lanes and generations of the slowest link between a device, named by its folder below /sys, and
 * the CPU, as states of a part: width, max_width, gen, max_gen. */
void read_link(const char *root, const char *folder, const char *part, struct reading *reading);
