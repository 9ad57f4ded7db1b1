/* cause_samples.h: illnesses of two healthy hosts, as edits of their observation, and the cause that
 * must be found. Include it once per test program. */
#pragma once

#include "reconcile/causes.h"

/* Edits are "a/path=JSON" (parents and items must be there), or "-path" for what was not seen; NULL
 * ends them. "run/x" and "nccl/x" are states of the run's parts. */
struct sample {
	const char *cause, *edits[10];
	enum cause_state state;
	const char *words; /* in the text */
};

/* A setting of a host; parts of a host, and what begins their entries. */
#define SET(host, name, value)                                                                     \
	"hosts_before/" #host "/parts/environment/states/" name "=\"" value "\""
#define GPU0_ "/parts/GPU 0000:18:00.0"
#define GPU1_ "/parts/GPU 0000:2a:00.0"
#define MLX0_ "/parts/RDMA mlx5_0:1"
#define MLX1_ "/parts/RDMA mlx5_1:1"
#define ETH0_ "/parts/eth0"
#define LO_   "/parts/lo"
#define GPU0  GPU0_ "/"
#define GPU1  GPU1_ "/"
#define MLX0  MLX0_ "/"
#define MLX1  MLX1_ "/"
#define ETH0  ETH0_ "/"

#define YES(name, said, ...)                                                                       \
	{                                                                                          \
		name, { __VA_ARGS__ }, CAUSE_YES, said                                             \
	}
#define NO(name, ...)                                                                              \
	{                                                                                          \
		name, { __VA_ARGS__ }, CAUSE_NO, NULL                                              \
	}
#define UNSEEN(name, said, ...)                                                                    \
	{                                                                                          \
		name, { __VA_ARGS__ }, CAUSE_UNSEEN, said                                          \
	}

/* Two hosts of two H200 with 18 NVLinks, InfiniBand of 400 Gb/s, a sweep of 2 s. */
static const struct sample samples[] = {
	/* settings */
	YES("forced-settings", "NCCL_P2P_DISABLE=1 sends through host memory",
	    SET(1, "NCCL_P2P_DISABLE", "1")),
	NO("forced-settings", SET(0, "NCCL_P2P_DISABLE", "0")),
	YES("forced-settings", "NCCL_ALGO=Tree excludes the algorithm",
	    SET(0, "NCCL_ALGO", "Tree")),
	NO("forced-settings", SET(0, "NCCL_ALGO", "tree,ring")),
	NO("forced-settings", SET(0, "NCCL_ALGO", "^Tree,NVLS")),
	NO("forced-settings", SET(0, "NCCL_ALGO", "Tree"), "run/worst_algo=\"P2P\""),
	NO("forced-settings", SET(0, "NCCL_SHM_DISABLE", "1")),
	YES("forced-settings", "NCCL_SHM_DISABLE=1 leaves host memory out",
	    SET(0, "NCCL_SHM_DISABLE", "1"), SET(1, "NCCL_P2P_DISABLE", "1")),
	YES("forced-settings", "NCCL_ALGO=^ring", SET(0, "NCCL_ALGO", "^ring")),
	YES("forced-settings", "NCCL_PROTO=LL,LL128", SET(0, "NCCL_PROTO", "LL,LL128")),
	YES("forced-settings", "NCCL_MAX_NCHANNELS=15 allows fewer",
	    SET(0, "NCCL_MAX_NCHANNELS", "15")),
	NO("forced-settings", SET(0, "NCCL_MAX_NCHANNELS", "16")),
	YES("forced-settings", "NCCL_BUFFSIZE=1048576", SET(0, "NCCL_BUFFSIZE", "1048576")),
	YES("forced-settings", "NCCL_IB_DISABLE=1", SET(0, "NCCL_IB_DISABLE", "1")),
	NO("forced-settings", SET(0, "NCCL_NET", "Socket"), "run/shared_gpu=1"),
	NO("forced-settings", SET(0, "NCCL_P2P_LEVEL", "NVL")),
	YES("forced-settings", "refuses P2P", SET(0, "NCCL_P2P_LEVEL", "NVL"), "run/hop=\"PCIe\""),
	UNSEEN("forced-settings", "no host", "hosts_before=[]", "hosts_after=[]"),
	/* inside a host */
	YES("transport",
	    "4 connections inside hosts go "
	    "through host memory: 0 -> 1 via SHM/direct/direct",
	    "nccl/shm=4", "nccl/shm_example=\"0 -> 1 via SHM/direct/direct\""),
	YES("transport", "over the network: 2 -> 3", "nccl/net=2",
	    "nccl/net_example=\"2 -> 3 via NET/IB/0\""),
	NO("transport", "nccl/shm=4", "run/hop=\"SHM\""),
	UNSEEN("transport", "rerun with NCCL_DEBUG=INFO",
	       "nccl={\"logs\":0,\"why\":\"rerun with NCCL_DEBUG=INFO\"}"),
	YES("p2p", "GPU 0000:18:00.0 on node1: refused to 1 of 1 others: the chipset",
	    "hosts_after/1" GPU0 "states/peers_refused=1",
	    "hosts_after/1" GPU0 "states/refusal=\"the chipset does not support it\""),
	NO("p2p", "run/ranks=2", "hosts_after/1" GPU0 "states/peers_refused=1"),
	UNSEEN("p2p", "NVML", "-hosts_after/1" GPU0 "states/peers"),
	UNSEEN("p2p", "libnvidia-ml.so.1 is not here", "-hosts_after/1" GPU0 "states/peers",
	       "-hosts_before/1/parts/NVML",
	       "hosts_before/1/why=\"libnvidia-ml.so.1 is not here\""),
	YES("nvlinks", "NCCL found 17 NVLinks on a GPU that should have 18", "run/links_found=17"),
	YES("nvlinks", "GPU 0000:2a:00.0 on node0: 12 of 18", "-run/links_found",
	    "hosts_before/0" GPU1 "states/links_active=12"),
	YES("nvlinks", "12 of 18", "-run/links_found", "-run/links",
	    "hosts_before/0" GPU1 "states/links_active=12"),
	NO("nvlinks", "-run/links_found"),
	NO("nvlinks", "run/links_found=0", "run/hop=\"none\""),
	UNSEEN("nvlinks", "NVML", "-run/links_found", "-hosts_before/0" GPU0 "states/links"),
	YES("pcie", "PCIe x8 of x16, generation 5 of 5", "hosts_before/0" GPU0 "states/width=8",
	    "hosts_after/0" GPU0 "states/width=8"),
	YES("pcie", "generation 1 of 5", "hosts_before/0" GPU0 "states/gen=1",
	    "hosts_after/0" GPU0 "states/gen=1"),
	NO("pcie", "hosts_before/0" GPU0 "states/gen=1"), /* idle, before the sweep */
	NO("pcie", "hosts_before/0" GPU0 "states/width=8", "hosts_after/0" GPU0 "states/width=8",
	   "run/nodes=1"),
	YES("pcie", "RDMA mlx5_1:1 on node1: PCIe x16 of x16, generation 4 of 5",
	    "hosts_before/1" MLX1 "states/gen=4", "hosts_after/1" MLX1 "states/gen=4"),
	UNSEEN("pcie", "virtual machines", "-hosts_before/0" GPU0 "states/width",
	       "-hosts_after/0" GPU0 "states/width", "-hosts_before/0" GPU0 "states/gen",
	       "-hosts_after/0" GPU0 "states/gen"),
	YES("acs-iommu", "GPU 0000:2a:00.0 on node0: ACS of bridge 0000:17:02.0 above it",
	    "hosts_after/0" GPU1 "states/bridges_acs=1",
	    "hosts_after/0" GPU1 "states/acs_bridge=\"0000:17:02.0\""),
	YES("acs-iommu", "0000:2a:00.0 on node0: the IOMMU translates what it sends (DMA-FQ)",
	    "hosts_after/0" GPU1 "states/iommu=\"DMA-FQ\""),
	NO("acs-iommu", "hosts_after/0" GPU1 "states/iommu=\"DMA-FQ\"",
	   "run/nodes=1"), /* NVLink carries it */
	UNSEEN("acs-iommu", "root", "-hosts_after/0" GPU1 "states/bridges_acs"),
	UNSEEN("acs-iommu", "IOMMU", "-hosts_after/0" GPU1 "states/iommu"),
	/* what NCCL did */
	YES("choice", "Ring/LL where Ring/Simple is predicted", "run/used_proto=\"LL\""),
	NO("choice", "run/used_proto=\"LL\"", "-run/worst_proto"),
	UNSEEN("choice", "not known", "-run/used_algo"),
	YES("channels", "1 where 16 are predicted", "run/used_channels=1"),
	NO("channels", "run/used_channels=1", "run/used_algo=\"Tree\""), /* that is `choice` */
	YES("channels", "2 where 16 are predicted", "-run/used_algo", "nccl/coll_channels=2"),
	NO("channels", "-run/used_algo"),
	UNSEEN("channels", "not known", "-run/used_algo", "-nccl/coll_channels"),
	UNSEEN("channels", "not known", "-run/used_channels"),
	YES("nvls", "Ring is used where NVLS is predicted", "run/worst_algo=\"NVLS\""),
	YES("nvls", "multicast is not available", "run/worst_algo=\"NVLS\"", "-run/used_algo",
	    "nccl/nvls=0"),
	NO("nvls", "nccl/nvls=0"), /* nothing that was predicted */
	UNSEEN("nvls", "log", "run/worst_algo=\"NVLSTree\"", "-run/used_algo", "-nccl/nvls"),
	YES("rings", "the ring leaves host a", "nccl/finding_0=\"the ring leaves host a\""),
	UNSEEN("rings", "rerun", "nccl={\"why\":\"rerun\"}"),
	/* between hosts */
	YES("gdr",
	    "2 of 32 connections between hosts have none: 1 -> 2 via NET/IB/1; nvidia_peermem is "
	    "not "
	    "loaded",
	    "nccl/far_gdr=30", "nccl/far_example=\"1 -> 2 via NET/IB/1\"",
	    "hosts_before/0/parts/kernel/states/peermem=0"),
	YES("gdr", "GDR 0", "nccl/far=0", "nccl/gdr=0"),
	NO("gdr", "nccl/network=\"Socket\"", "nccl/far_gdr=0"),
	UNSEEN("gdr", "rerun", "nccl={\"why\":\"rerun\"}"),
	YES("pxn", "none of 32 connections", "run/collective=\"alltoall\""),
	NO("pxn", "run/collective=\"alltoall\"", "nccl/far_pxn=8"),
	UNSEEN("pxn", "rerun", "run/collective=\"alltoall\"", "nccl={\"why\":\"rerun\"}"),
	YES("wrong-network", "TCP is used while InfiniBand port mlx5_0 on node0 is active",
	    "nccl/network=\"Socket\""),
	YES("wrong-network", "eth0 on node0 at 25000 Mb/s is chosen (=eth0) while eth1 has 400000",
	    "nccl/network=\"Socket\"", "hosts_before/0" MLX1 "states/rdma=0",
	    "hosts_before/0" MLX1 "states/name=\"eth1\"",
	    "hosts_before/0" MLX0 "states/state=\"down\"", SET(0, "NCCL_SOCKET_IFNAME", "=eth0")),
	YES("wrong-network", "NCCL_IB_HCA=mlx5_1 leaves out mlx5_0 on node0",
	    SET(0, "NCCL_IB_HCA", "mlx5_1")),
	NO("wrong-network", SET(0, "NCCL_IB_HCA", "mlx5")),
	UNSEEN("wrong-network", "log", "-nccl/network", "-run/transport"),
	UNSEEN("wrong-network", "speed", "nccl/network=\"Socket\"", "-hosts_before/0" MLX0_,
	       "-hosts_before/0" MLX1_, "-hosts_before/0" ETH0_, "-hosts_before/0" LO_,
	       "-hosts_before/1" MLX0_, "-hosts_before/1" MLX1_, "-hosts_before/1" ETH0_,
	       "-hosts_before/1" LO_),
	YES("nic-speed", "mlx5_0 on node1 has 200000 Mb/s, and 400000 on node0",
	    "hosts_before/1" MLX0 "states/mbps=200000"),
	YES("nic-speed", "mlx5_0 on node1 is down, and up on node0",
	    "hosts_before/1" MLX0 "states/state=\"down\""),
	YES("nic-speed", "the topology asked for 800 Gb/s", "run/nic_mbps=800000"),
	NO("nic-speed", "hosts_before/1" ETH0 "states/mbps=1000"), /* Ethernet carries nothing */
	UNSEEN("nic-speed", "speed", "-hosts_before/0" MLX0_, "-hosts_before/0" MLX1_,
	       "-hosts_before/0" ETH0_, "-hosts_before/0" LO_, "-hosts_before/1" MLX0_,
	       "-hosts_before/1" MLX1_, "-hosts_before/1" ETH0_, "-hosts_before/1" LO_),
	YES("mtu", "eth0 has MTU 1500 on node0 and 9000 on node1",
	    "hosts_before/1" ETH0 "states/mtu=9000"),
	UNSEEN("mtu", "no interface", "-hosts_before/1" MLX0_, "-hosts_before/1" MLX1_,
	       "-hosts_before/1" ETH0_, "-hosts_before/1" LO_),
	/* 1000 segments sent, of which 10 or 9 again */
	YES("tcp-retransmits", "TCP on node0: 10 of 1000 segments sent again",
	    "nccl/network=\"Socket\"", "hosts_after/0/parts/TCP/counters/sent=2000",
	    "hosts_after/0/parts/TCP/counters/resent=14"),
	NO("tcp-retransmits", "nccl/network=\"Socket\"",
	   "hosts_after/0/parts/TCP/counters/sent=2000",
	   "hosts_after/0/parts/TCP/counters/resent=13"),
	NO("tcp-retransmits",
	   "hosts_after/0/parts/TCP/counters/resent=1000"), /* InfiniBand carries it */
	UNSEEN("tcp-retransmits", "/proc/net/snmp", "nccl/network=\"Socket\"",
	       "-hosts_after/0/parts/TCP/counters/sent"),
	UNSEEN("tcp-retransmits", "/proc/net/snmp", "nccl/network=\"Socket\"",
	       "hosts_after/0/parts/TCP/counters/resent=3"),
	/* GPUs; 40 ms of 2 s for power, 10 ms are too little */
	YES("clocks", "held down for power for 0.04 s of 2.00 s",
	    "hosts_after/0" GPU0 "counters/power_ns=5040000000"),
	NO("clocks", "hosts_after/0" GPU0 "counters/power_ns=5010000000"),
	YES("clocks", "GPU 0000:2a:00.0 on node1: clocks held down for heat for 1.00 s",
	    "hosts_after/1" GPU1 "counters/thermal_ns=1000000000"),
	YES("clocks", "heat (hardware), at 900 of 1980 MHz",
	    "hosts_after/0" GPU0 "states/clock_reasons=64",
	    "hosts_after/0" GPU0 "states/sm_mhz=900"),
	NO("clocks", "hosts_after/0" GPU0 "states/clock_reasons=1",
	   "hosts_after/0" GPU0 "states/sm_mhz=345"), /* idle */
	YES("clocks", "set to 1200 of 1980 MHz", "hosts_after/0" GPU0 "states/clock_reasons=2",
	    "hosts_after/0" GPU0 "states/sm_mhz=1200"),
	UNSEEN("clocks", "NVML", "-hosts_after/0" GPU0 "states/clock_reasons",
	       "-hosts_after/0" GPU0 "counters/power_ns",
	       "-hosts_after/0" GPU0 "counters/thermal_ns"),
	UNSEEN("clocks", "twice", "-hosts_after/0" GPU0_, "-hosts_after/0" GPU1_,
	       "-hosts_after/1" GPU0_, "-hosts_after/1" GPU1_),
	YES("errors", "GPU 0000:18:00.0 on node0: 2 corrected memory errors",
	    "hosts_after/0" GPU0 "counters/ecc_corrected=5"),
	YES("errors", "7 NVLink replays", "hosts_after/0" GPU0 "counters/link_replays=7",
	    "hosts_after/0" GPU0 "counters/link_crc=1"),
	/* as on healthy H200 */
	NO("errors", "hosts_after/0" GPU0 "counters/link_crc=114"),
	UNSEEN("errors", "NVML", "-hosts_after/0" GPU0 "counters/ecc_corrected",
	       "-hosts_after/0" GPU0 "counters/ecc_uncorrected",
	       "-hosts_after/0" GPU0 "counters/link_replays",
	       "-hosts_after/0" GPU0 "counters/link_recoveries",
	       "-hosts_after/0" GPU0 "counters/link_crc"),
	YES("other-processes",
	    "GPU 0000:18:00.0 on node0: 1 other process with 3.0 GiB, process 4711",
	    "hosts_before/0" GPU0 "states/processes=2",
	    "hosts_before/0" GPU0 "states/foreign_pid=4711",
	    "hosts_before/0" GPU0 "states/foreign_bytes=3221225472"),
	YES("other-processes", "3 processes, of which 1 are this job's",
	    "hosts_after/1" GPU1 "states/processes=3",
	    "hosts_after/1" GPU1 "states/processes_ours=0"),
	NO("other-processes", "hosts_before/0" GPU0 "states/processes_ours=0",
	   "hosts_after/0" GPU0 "states/processes_ours=0"), /* renumbered */
	UNSEEN("other-processes", "own processes", "hosts_before/0" GPU0 "states/processes=0",
	       "hosts_after/0" GPU0 "states/processes=0"),
	UNSEEN("other-processes", "NVML", "-hosts_before/0" GPU0 "states/processes",
	       "-hosts_after/0" GPU0 "states/processes"),
	/* the host */
	YES("affinity", "rank 1 on node0 may use CPUs 16-31, its GPU 0000:2a:00.0 is beside 0-15",
	    "hosts_before/0/parts/rank 1/states/cpus=\"16-31\""),
	YES("affinity", "2 ranks on node0 may use 1 of its 32 CPUs together",
	    "hosts_before/0/parts/rank 0/states/cpus=\"3\"",
	    "hosts_before/0/parts/rank 1/states/cpus=\"3\""),
	YES("affinity", "rank 2 on node1 has CPU 4 alone for itself and NCCL's network",
	    "hosts_before/1/parts/rank 2/states/cpus=\"4\""),
	NO("affinity", "hosts_before/1/parts/rank 2/states/cpus=\"4\"", "run/backend=\"mpi\""),
	UNSEEN("affinity", "not known", "-hosts_before/1/parts/rank 3/states/cpus"),
	UNSEEN("affinity", "not known", "hosts_before/1/parts/rank 3/states/cpus=\"0-3,...\""),
	YES("loaded-host", "rank 3 on node1: wanted a CPU and had none for 0.50 s of 2.00 s",
	    "hosts_after/1/parts/rank 3/counters/wait_ns=501000000"),
	/* all 6400 ticks busy: 32 CPUs, of which this host's ranks used 2 */
	YES("loaded-host", "others than this job used 30.0 of the 32 CPUs of node0",
	    "hosts_after/0/parts/CPU/counters/busy_ticks=7400"),
	NO("loaded-host", "hosts_after/0/parts/CPU/counters/busy_ticks=7400",
	   "hosts_after/0/parts/rank 0/counters/cpu_ns=32000000000",
	   "hosts_after/0/parts/rank 1/counters/cpu_ns=32000000000"),
	YES("loaded-host", "2 ranks on the 1 CPUs of node0",
	    "hosts_before/0/parts/CPU/states/cpus=1"),
	UNSEEN("loaded-host", "/proc", "-hosts_before/0/parts/rank 0/counters/wait_ns",
	       "-hosts_before/0/parts/rank 1/counters/wait_ns",
	       "-hosts_after/0/parts/CPU/counters/all_ticks"),
};
