/* observation.h: what was seen of a run and its machines, before and after its sweep: lists of
 * reading.h, and their file. */
#pragma once

#include "base/error.h"
#include "machine/reading.h"

/* What was not seen is in no list.
 *
 * Part "run" of `run`, what was called, and what the topology says of it: backend, collective, ranks,
 * nodes; shared_gpu 1: ranks share GPUs, over sockets; gpu, the product's name; links, the NVLinks that
 * a GPU should have by --topo or by that name, links_found, the fewest of a GPU in the topology that
 * NCCL found; hop between GPUs of a host: "NVLink", "PCIe", "SHM", "none"; transport between hosts:
 * "IB", "RoCE", "TCP", ...; nic_mbps of a NIC of the topology asked for; good_ppm of its prediction
 * that a row must reach, median_ppm of the rows from 1 MiB; of the worst of them worst_ppm, worst_bytes,
 * what is predicted, worst_algo, worst_proto, worst_channels, and what NCCL took, used_...
 *
 * Part "NCCL", what it says of itself in its logs: logs, of so many ranks, why not all; network; gdr,
 * nvls, coll_channels; connections inside hosts: p2p, shm, net; between hosts: far, of these far_gdr
 * with GPUDirect RDMA, far_pxn through another GPU of their host; shm_example, net_example,
 * far_example; finding_0, ...: why its rings are not rational.
 *
 * A host's parts "rank 3" of both looks: pid, gpu ("GPU 0000:18:00.0", a part of that host), cpus that it may run
 * on; counters cpu_ns, all its threads ran, and wait_ns, its main thread wanted to run and had no CPU. */
struct observation {
	struct reading run;
	int nhosts;
	struct reading *before, *after; /* nhosts each, by node */
};

enum { OBSERVED_FINDINGS = 4 };

/* Room for so many hosts; everything unseen. */
void observation_init(struct observation *observation, int nhosts);
void observation_release(struct observation *observation);

/* As JSON, format 3. Writing: 0, or a negative errno. Reading: 0, or a negative errno with the
 * error set (OUTCOME_USAGE); what is too long, not a number, or more than there is room for, is
 * refused. After a success the caller releases it. */
int observation_write(const struct observation *observation, const char *path);
int observation_read(struct observation *observation, const char *path, struct error *err);
