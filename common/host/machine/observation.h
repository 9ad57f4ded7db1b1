/* observation.h: a run and its machines, before and after its sweep, and their file. */
#pragma once

#include "base/error.h"
#include "machine/reading.h"

/* A value that was not seen is absent.
 *
 * Part "run" of `run` has the call, and the topology's figures: backend, collective, ranks, nodes;
 * shared_gpu 1: ranks share GPUs, over sockets; gpu, the product's name; links, the NVLinks that a
 * GPU should have by --topo or by that name, links_found, the fewest of a GPU in the topology that
 * NCCL found; hop between GPUs of a host: "NVLink", "PCIe", "SHM", "none"; transport between hosts:
 * "IB", "RoCE", "TCP", ...; nic_mbps of a NIC of the topology asked for; good_ppm of its prediction
 * that a row must reach, median_ppm of the rows from 1 MiB; worst_ppm and worst_bytes of the worst
 * of them, worst_algo, worst_proto and worst_channels as predicted, used_... as NCCL chose.
 *
 * Part "NCCL" has facts of NCCL's logs: logs, their number, why some are absent; network; gdr,
 * nvls, coll_channels; connections inside hosts: p2p, shm, net; between hosts: far, far_gdr of them
 * with GPUDirect RDMA, far_pxn through another GPU of their host; shm_example, net_example,
 * far_example; finding_0, ...: the reasons for which its rings are not rational.
 *
 * A host's parts "rank 3" of both looks: pid, gpu ("GPU 0000:18:00.0", a part of that host), cpus
 * that it may run on; counters cpu_ns, run time of all its threads, and wait_ns, the time for which
 * its main thread wanted a CPU and had none. */
struct observation {
	struct reading run;
	int nhosts;
	struct reading *before, *after; /* nhosts each, by node */
};

enum { OBSERVED_FINDINGS = 4 };

/* Room for so many hosts; everything unseen. */
void observation_init(struct observation *observation, int nhosts);
void observation_release(struct observation *observation);

/* As JSON, format 3. Writing returns 0, or a negative errno. Reading returns 0, or a negative errno
 * with the error set (OUTCOME_USAGE); values that are too long, too many or no numbers are refused.
 * The caller releases it after a success. */
int observation_write(const struct observation *observation, const char *path);
int observation_read(struct observation *observation, const char *path, struct error *err);
