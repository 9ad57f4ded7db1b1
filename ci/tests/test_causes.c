/* test_causes.c: each cause on a recorded observation: two healthy hosts, and edits that give them
 * one illness. */
#include "unit.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "causes.h"

#define HEALTHY "ci/tests/data/observation_healthy.json"

/* Edits are "path=JSON" (parents and items must be there), or "-path" for what was not seen; NULL
 * ends them. */
struct sample {
	const char *cause;
	const char *edits[7];
	enum cause_state state;
	const char *words; /* in the text */
};

/* The settings of a host. */
#define SET(host, name, value)                                                                     \
	"hosts_before." #host ".settings=[{\"name\":\"" name "\",\"value\":\"" value "\"}]"

/* Two hosts of two H200 with 18 NVLinks, InfiniBand of 400 Gb/s, a sweep of 2 s. */
static const struct sample samples[] = {
	/* settings */
	{ "forced-settings",
	  { SET(1, "NCCL_P2P_DISABLE", "1") },
	  CAUSE_YES,
	  "NCCL_P2P_DISABLE=1 sends through host memory" },
	{ "forced-settings", { SET(0, "NCCL_P2P_DISABLE", "0") }, CAUSE_NO, NULL },
	{ "forced-settings",
	  { SET(0, "NCCL_ALGO", "Tree") },
	  CAUSE_YES,
	  "NCCL_ALGO=Tree excludes the algorithm" },
	{ "forced-settings", { SET(0, "NCCL_ALGO", "tree,ring") }, CAUSE_NO, NULL },
	{ "forced-settings", { SET(0, "NCCL_ALGO", "^Tree,NVLS") }, CAUSE_NO, NULL },
	{ "forced-settings",
	  { SET(0, "NCCL_ALGO", "Tree"), "run.worst_algo=\"P2P\"" },
	  CAUSE_NO,
	  NULL },
	{ "forced-settings", { SET(0, "NCCL_SHM_DISABLE", "1") }, CAUSE_NO, NULL },
	{ "forced-settings",
	  { SET(0, "NCCL_SHM_DISABLE", "1"), SET(1, "NCCL_P2P_DISABLE", "1") },
	  CAUSE_YES,
	  "NCCL_SHM_DISABLE=1 leaves host memory out" },
	{ "forced-settings", { SET(0, "NCCL_ALGO", "^ring") }, CAUSE_YES, "NCCL_ALGO=^ring" },
	{ "forced-settings",
	  { SET(0, "NCCL_PROTO", "LL,LL128") },
	  CAUSE_YES,
	  "NCCL_PROTO=LL,LL128" },
	{ "forced-settings",
	  { SET(0, "NCCL_MAX_NCHANNELS", "15") },
	  CAUSE_YES,
	  "NCCL_MAX_NCHANNELS=15 allows fewer" },
	{ "forced-settings", { SET(0, "NCCL_MAX_NCHANNELS", "16") }, CAUSE_NO, NULL },
	{ "forced-settings",
	  { SET(0, "NCCL_BUFFSIZE", "1048576") },
	  CAUSE_YES,
	  "NCCL_BUFFSIZE=1048576" },
	{ "forced-settings", { SET(0, "NCCL_IB_DISABLE", "1") }, CAUSE_YES, "NCCL_IB_DISABLE=1" },
	{ "forced-settings", { SET(0, "NCCL_NET", "Socket"), "run.shared_gpu=1" }, CAUSE_NO, NULL },
	{ "forced-settings", { SET(0, "NCCL_P2P_LEVEL", "NVL") }, CAUSE_NO, NULL },
	{ "forced-settings",
	  { SET(0, "NCCL_P2P_LEVEL", "NVL"), "run.hop=\"PCIe\"" },
	  CAUSE_YES,
	  "refuses P2P" },
	{ "forced-settings", { "hosts_before=[]", "hosts_after=[]" }, CAUSE_UNSEEN, "no host" },
	/* inside a host */
	{ "transport",
	  { "nccl.shm=4", "nccl.shm_example=\"0 -> 1 via SHM/direct/direct\"" },
	  CAUSE_YES,
	  "4 connections inside hosts go "
	  "through host memory: 0 -> 1 via SHM/direct/direct" },
	{ "transport",
	  { "nccl.net=2", "nccl.net_example=\"2 -> 3 via NET/IB/0\"" },
	  CAUSE_YES,
	  "over the network: 2 -> 3" },
	{ "transport", { "nccl.shm=4", "run.hop=\"SHM\"" }, CAUSE_NO, NULL },
	{ "transport",
	  { "nccl={\"logs\":0,\"why\":\"rerun with NCCL_DEBUG=INFO\"}" },
	  CAUSE_UNSEEN,
	  "rerun with NCCL_DEBUG=INFO" },
	{ "p2p",
	  { "hosts_before.1.gpus.0.peers_refused=1",
	    "hosts_before.1.gpus.0.refusal=\"the chipset does not support it\"" },
	  CAUSE_YES,
	  "GPU 0000:18:00.0 on node1: refused to 1 of 1 others: the chipset" },
	{ "p2p", { "-hosts_before.1.gpus.0.peers" }, CAUSE_UNSEEN, "NVML" },
	{ "p2p",
	  { "-hosts_before.1.gpus.0.peers", "hosts_before.1.nvml=0",
	    "hosts_before.1.nvml_why=\"libnvidia-ml.so.1 is not here\"" },
	  CAUSE_UNSEEN,
	  "libnvidia-ml.so.1 is not here" },
	{ "nvlinks",
	  { "run.links_found=17" },
	  CAUSE_YES,
	  "NCCL found 17 NVLinks on a GPU that should have 18" },
	{ "nvlinks",
	  { "-run.links_found", "hosts_before.0.gpus.1.links_active=12" },
	  CAUSE_YES,
	  "GPU 0000:2a:00.0 on node0: 12 of 18" },
	{ "nvlinks",
	  { "-run.links_found", "-run.links", "hosts_before.0.gpus.1.links_active=12" },
	  CAUSE_YES,
	  "12 of 18" },
	{ "nvlinks", { "-run.links_found" }, CAUSE_NO, NULL },
	{ "nvlinks", { "run.links_found=0", "run.hop=\"none\"" }, CAUSE_NO, NULL },
	{ "nvlinks", { "-run.links_found", "-hosts_before.0.gpus.0.links" }, CAUSE_UNSEEN, "NVML" },
	{ "pcie",
	  { "hosts_before.0.gpus.0.width=8", "hosts_after.0.gpus.0.width=8" },
	  CAUSE_YES,
	  "PCIe x8 of x16, generation 5 of 5" },
	{ "pcie",
	  { "hosts_before.0.gpus.0.gen=1", "hosts_after.0.gpus.0.gen=1" },
	  CAUSE_YES,
	  "generation 1 of 5" },
	{ "pcie", { "hosts_before.0.gpus.0.gen=1" }, CAUSE_NO, NULL }, /* idle, before the sweep */
	{ "pcie",
	  { "hosts_before.0.gpus.0.width=8", "hosts_after.0.gpus.0.width=8", "run.nodes=1" },
	  CAUSE_NO,
	  NULL },
	{ "pcie",
	  { "hosts_before.1.nics.1.gen=4", "hosts_after.1.nics.1.gen=4" },
	  CAUSE_YES,
	  "NIC mlx5_1 on node1" },
	{ "pcie",
	  { "-hosts_before.0.gpus.0.width", "-hosts_after.0.gpus.0.width",
	    "-hosts_before.0.gpus.0.gen", "-hosts_after.0.gpus.0.gen" },
	  CAUSE_UNSEEN,
	  "virtual machines" },
	{ "acs-iommu",
	  { "hosts_before.0.gpus.1.bridges_acs=1",
	    "hosts_before.0.gpus.1.acs_bridge=\"0000:17:02.0\"" },
	  CAUSE_YES,
	  "ACS of bridge 0000:17:02.0 above GPU 0000:2a:00.0" },
	{ "acs-iommu",
	  { "hosts_before.0.gpus.1.iommu=\"DMA-FQ\"" },
	  CAUSE_YES,
	  "IOMMU translates what GPU 0000:2a:00.0 on node0 sends (DMA-FQ)" },
	{ "acs-iommu",
	  { "hosts_before.0.gpus.1.iommu=\"DMA-FQ\"", "run.nodes=1" },
	  CAUSE_NO,
	  NULL }, /* NVLink carries it */
	{ "acs-iommu", { "hosts_before.0.gpus.1.bridges_unread=1" }, CAUSE_UNSEEN, "root" },
	{ "acs-iommu", { "-hosts_before.0.gpus.1.bridges" }, CAUSE_UNSEEN, "/sys" },
	/* what NCCL did */
	{ "choice",
	  { "run.used_proto=\"LL\"" },
	  CAUSE_YES,
	  "Ring/LL where Ring/Simple is predicted" },
	{ "choice", { "run.used_proto=\"LL\"", "-run.worst_proto" }, CAUSE_NO, NULL },
	{ "choice", { "-run.used_algo" }, CAUSE_UNSEEN, "not known" },
	{ "channels", { "run.used_channels=1" }, CAUSE_YES, "1 where 16 are predicted" },
	{ "channels",
	  { "run.used_channels=1", "run.used_algo=\"Tree\"" },
	  CAUSE_NO,
	  NULL }, /* that is `choice` */
	{ "channels",
	  { "-run.used_algo", "nccl.coll_channels=2" },
	  CAUSE_YES,
	  "2 where 16 are predicted" },
	{ "channels", { "-run.used_algo" }, CAUSE_NO, NULL },
	{ "channels", { "-run.used_algo", "-nccl.coll_channels" }, CAUSE_UNSEEN, "not known" },
	{ "channels", { "-run.used_channels" }, CAUSE_UNSEEN, "not known" },
	{ "nvls",
	  { "run.worst_algo=\"NVLS\"" },
	  CAUSE_YES,
	  "Ring is used where NVLS is predicted" },
	{ "nvls",
	  { "run.worst_algo=\"NVLS\"", "-run.used_algo", "nccl.nvls=0" },
	  CAUSE_YES,
	  "multicast is not available" },
	{ "nvls", { "nccl.nvls=0" }, CAUSE_NO, NULL }, /* nothing that was predicted */
	{ "nvls",
	  { "run.worst_algo=\"NVLSTree\"", "-run.used_algo", "-nccl.nvls" },
	  CAUSE_UNSEEN,
	  "log" },
	{ "rings",
	  { "nccl.findings=[{\"text\":\"the ring leaves host a\"}]" },
	  CAUSE_YES,
	  "the ring leaves host a" },
	{ "rings", { "nccl={\"why\":\"rerun\"}" }, CAUSE_UNSEEN, "rerun" },
	/* between hosts */
	{ "gdr",
	  { "nccl.far_gdr=30", "nccl.far_example=\"1 -> 2 via NET/IB/1\"",
	    "hosts_before.0.peermem=0" },
	  CAUSE_YES,
	  "2 of 32 connections between hosts have none: 1 -> 2 via NET/IB/1; nvidia_peermem is not "
	  "loaded" },
	{ "gdr", { "nccl.far=0", "nccl.gdr=0" }, CAUSE_YES, "GDR 0" },
	{ "gdr", { "nccl.network=\"Socket\"", "nccl.far_gdr=0" }, CAUSE_NO, NULL },
	{ "gdr", { "nccl={\"why\":\"rerun\"}" }, CAUSE_UNSEEN, "rerun" },
	{ "pxn", { "run.collective=\"alltoall\"" }, CAUSE_YES, "none of 32 connections" },
	{ "pxn", { "run.collective=\"alltoall\"", "nccl.far_pxn=8" }, CAUSE_NO, NULL },
	{ "pxn",
	  { "run.collective=\"alltoall\"", "nccl={\"why\":\"rerun\"}" },
	  CAUSE_UNSEEN,
	  "rerun" },
	{ "wrong-network",
	  { "nccl.network=\"Socket\"" },
	  CAUSE_YES,
	  "TCP is used while InfiniBand port mlx5_0 on node0 is active" },
	{ "wrong-network",
	  { "nccl.network=\"Socket\"", "hosts_before.0.nics.1.rdma=0",
	    "hosts_before.0.nics.1.name=\"eth1\"", "hosts_before.0.nics.0.state=\"down\"",
	    SET(0, "NCCL_SOCKET_IFNAME", "=eth0") },
	  CAUSE_YES,
	  "eth0 on node0 at 25000 Mb/s is chosen (=eth0) while eth1 has 400000" },
	{ "wrong-network",
	  { SET(0, "NCCL_IB_HCA", "mlx5_1") },
	  CAUSE_YES,
	  "NCCL_IB_HCA=mlx5_1 leaves out mlx5_0 on node0" },
	{ "wrong-network", { SET(0, "NCCL_IB_HCA", "mlx5") }, CAUSE_NO, NULL },
	{ "wrong-network", { "-nccl.network", "-run.transport" }, CAUSE_UNSEEN, "log" },
	{ "wrong-network",
	  { "nccl.network=\"Socket\"", "hosts_before.0.nics=[]", "hosts_before.1.nics=[]" },
	  CAUSE_UNSEEN,
	  "speed" },
	{ "nic-speed",
	  { "hosts_before.1.nics.0.mbps=200000" },
	  CAUSE_YES,
	  "mlx5_0 on node1 has 200000 Mb/s, and 400000 on node0" },
	{ "nic-speed",
	  { "hosts_before.1.nics.0.state=\"down\"" },
	  CAUSE_YES,
	  "mlx5_0 on node1 is down, and up on node0" },
	{ "nic-speed", { "run.nic_gbps=800.0" }, CAUSE_YES, "the topology asked for 800 Gb/s" },
	{ "nic-speed",
	  { "hosts_before.1.nics.2.mbps=1000" },
	  CAUSE_NO,
	  NULL }, /* Ethernet carries nothing */
	{ "nic-speed",
	  { "hosts_before.0.nics=[]", "hosts_before.1.nics=[]" },
	  CAUSE_UNSEEN,
	  "speed" },
	{ "mtu",
	  { "hosts_before.1.nics.2.mtu=9000" },
	  CAUSE_YES,
	  "eth0 has MTU 1500 on node0 and 9000 on node1" },
	{ "mtu", { "hosts_before.1.nics=[]" }, CAUSE_UNSEEN, "no interface" },
	/* 1000 segments sent, of which 10 or 9 again */
	{ "tcp-retransmits",
	  { "nccl.network=\"Socket\"", "hosts_after.0.tcp_sent=2000",
	    "hosts_after.0.tcp_retransmitted=14" },
	  CAUSE_YES,
	  "node0 sent 10 of 1000 TCP segments again" },
	{ "tcp-retransmits",
	  { "nccl.network=\"Socket\"", "hosts_after.0.tcp_sent=2000",
	    "hosts_after.0.tcp_retransmitted=13" },
	  CAUSE_NO,
	  NULL },
	{ "tcp-retransmits",
	  { "hosts_after.0.tcp_retransmitted=1000" },
	  CAUSE_NO,
	  NULL }, /* InfiniBand carries it */
	{ "tcp-retransmits",
	  { "nccl.network=\"Socket\"", "-hosts_after.0.tcp_sent" },
	  CAUSE_UNSEEN,
	  "/proc/net/snmp" },
	{ "tcp-retransmits",
	  { "nccl.network=\"Socket\"", "hosts_after.0.tcp_retransmitted=3" },
	  CAUSE_UNSEEN,
	  "/proc/net/snmp" },
	/* GPUs; 40 ms of 2 s for power, 10 ms are too little */
	{ "clocks",
	  { "hosts_after.0.gpus.0.power_ns=5040000000" },
	  CAUSE_YES,
	  "held down for power for 0.04 s of 2.00 s" },
	{ "clocks", { "hosts_after.0.gpus.0.power_ns=5010000000" }, CAUSE_NO, NULL },
	{ "clocks",
	  { "hosts_after.1.gpus.1.thermal_ns=1000000000" },
	  CAUSE_YES,
	  "GPU 0000:2a:00.0 on node1: held down for heat for 1.00 s" },
	{ "clocks",
	  { "hosts_after.0.gpus.0.reasons=64", "hosts_after.0.gpus.0.sm_mhz=900" },
	  CAUSE_YES,
	  "heat (hardware), at 900 of 1980 MHz" },
	{ "clocks",
	  { "hosts_after.0.gpus.0.reasons=1", "hosts_after.0.gpus.0.sm_mhz=345" },
	  CAUSE_NO,
	  NULL }, /* idle */
	{ "clocks",
	  { "hosts_after.0.gpus.0.reasons=2", "hosts_after.0.gpus.0.sm_mhz=1200" },
	  CAUSE_YES,
	  "set to 1200 of 1980 MHz" },
	{ "clocks",
	  { "-hosts_after.0.gpus.0.reasons", "-hosts_after.0.gpus.0.power_ns",
	    "-hosts_after.0.gpus.0.thermal_ns" },
	  CAUSE_UNSEEN,
	  "NVML" },
	{ "clocks", { "hosts_after.0.gpus=[]", "hosts_after.1.gpus=[]" }, CAUSE_UNSEEN, "twice" },
	{ "errors",
	  { "hosts_after.0.gpus.0.ecc_corrected=5" },
	  CAUSE_YES,
	  "2 corrected memory errors during the run" },
	{ "errors",
	  { "hosts_after.0.gpus.0.link_replays=7", "hosts_after.0.gpus.0.link_crc=1" },
	  CAUSE_YES,
	  "7 NVLink replays" },
	/* as on healthy H200 */
	{ "errors", { "hosts_after.0.gpus.0.link_crc=114" }, CAUSE_NO, "" },
	{ "errors",
	  { "-hosts_after.0.gpus.0.ecc_corrected", "-hosts_after.0.gpus.0.ecc_uncorrected",
	    "-hosts_after.0.gpus.0.link_replays", "-hosts_after.0.gpus.0.link_recoveries",
	    "-hosts_after.0.gpus.0.link_crc" },
	  CAUSE_UNSEEN,
	  "NVML" },
	{ "other-processes",
	  { "hosts_before.0.gpus.0.processes=2", "hosts_before.0.gpus.0.foreign_pid=4711",
	    "hosts_before.0.gpus.0.foreign_bytes=3221225472" },
	  CAUSE_YES,
	  "GPU 0000:18:00.0 on node0: 1 other process with 3.0 GiB, process 4711" },
	{ "other-processes",
	  { "hosts_after.1.gpus.1.processes=3", "hosts_after.1.gpus.1.processes_ours=0" },
	  CAUSE_YES,
	  "3 processes, of which 1 are this job's" },
	{ "other-processes",
	  { "hosts_before.0.gpus.0.processes_ours=0", "hosts_after.0.gpus.0.processes_ours=0" },
	  CAUSE_NO,
	  NULL }, /* renumbered */
	{ "other-processes",
	  { "hosts_before.0.gpus.0.processes=0", "hosts_after.0.gpus.0.processes=0" },
	  CAUSE_UNSEEN,
	  "own processes" },
	{ "other-processes",
	  { "-hosts_before.0.gpus.0.processes", "-hosts_after.0.gpus.0.processes" },
	  CAUSE_UNSEEN,
	  "NVML" },
	/* the host */
	{ "affinity",
	  { "ranks_before.1.cpus=\"16-31\"" },
	  CAUSE_YES,
	  "rank 1 on node0 may use CPUs 16-31, its GPU 0000:2a:00.0 is beside 0-15" },
	{ "affinity",
	  { "ranks_before.0.cpus=\"3\"", "ranks_before.1.cpus=\"3\"" },
	  CAUSE_YES,
	  "2 ranks on node0 may use 1 of its 32 CPUs together" },
	{ "affinity",
	  { "ranks_before.2.cpus=\"4\"" },
	  CAUSE_YES,
	  "rank 2 on node1 has CPU 4 alone for itself and NCCL's network" },
	{ "affinity", { "ranks_before.2.cpus=\"4\"", "run.backend=\"mpi\"" }, CAUSE_NO, NULL },
	{ "affinity", { "-ranks_before.3.cpus" }, CAUSE_UNSEEN, "not known" },
	{ "affinity", { "ranks_before.3.cpus=\"0-3,...\"" }, CAUSE_UNSEEN, "not known" },
	{ "loaded-host",
	  { "ranks_after.3.wait_ns=501000000" },
	  CAUSE_YES,
	  "rank 3 on node1 wanted a CPU and had none for 25 % of the sweep" },
	/* all 6400 ticks busy: 32 CPUs, of which this host's ranks used 2 */
	{ "loaded-host",
	  { "hosts_after.0.cpu_busy=7400" },
	  CAUSE_YES,
	  "others than this job used 30.0 of the 32 CPUs of node0" },
	{ "loaded-host",
	  { "hosts_after.0.cpu_busy=7400", "ranks_after.0.cpu_ns=32000000000",
	    "ranks_after.1.cpu_ns=32000000000" },
	  CAUSE_NO,
	  NULL },
	{ "loaded-host", { "hosts_before.0.cpus=1" }, CAUSE_YES, "2 ranks on the 1 CPUs of node0" },
	{ "loaded-host",
	  { "-ranks_before.0.wait_ns", "-ranks_before.1.wait_ns", "-hosts_after.0.cpu_total" },
	  CAUSE_UNSEEN,
	  "/proc" },
};

static char path[UNIT_TEMP];

/* The value that a path leads to, and in *key its last part: NULL when there is no such place. */
static json_t *parent_of(json_t *top, char *at, char **key)
{
	for (char *dot; top && (dot = strchr(at, '.')); at = dot + 1) {
		*dot = '\0';
		top = json_is_array(top) ? json_array_get(top, (size_t)atoi(at))
					 : json_object_get(top, at);
	}
	*key = at;
	return top;
}

static void edit(json_t *top, const char *how)
{
	char text[256], *equals, *key;
	json_t *parent;

	CU_ASSERT_TRUE_FATAL(strlen(how) < sizeof(text));
	strcpy(text, how + (*how == '-'));
	equals = strchr(text, '=');
	if (equals)
		*equals = '\0';
	parent = parent_of(top, text, &key);
	CU_ASSERT_TRUE_FATAL(json_is_object(parent));
	if (*how == '-')
		CU_ASSERT_EQUAL_FATAL(json_object_del(parent, key), 0)
	else
		CU_ASSERT_EQUAL_FATAL(json_object_set_new(parent, key,
							  json_loads(equals + 1, JSON_DECODE_ANY,
								     NULL)),
				      0)
}

/* The healthy hosts with these edits, written and read back. */
static void load(struct observation *o, const char *const *edits)
{
	json_t *top = json_load_file(HEALTHY, 0, NULL);
	struct error err = { .rank = -1 };

	CU_ASSERT_PTR_NOT_NULL_FATAL(top);
	for (; *edits; edits++)
		edit(top, *edits);
	CU_ASSERT_EQUAL_FATAL(json_dump_file(top, path, 0), 0);
	json_decref(top);
	CU_ASSERT_EQUAL(observation_read(o, path, &err), 0);
	if (err.code)
		CU_FAIL_FATAL("the edits make no observation");
}

static const struct cause *find(const char *name)
{
	for (size_t i = 0; i < cause_count; i++)
		if (strcmp(cause_table[i].name, name) == 0)
			return &cause_table[i];
	return NULL;
}

static void check(const struct sample *sample)
{
	const struct cause *cause = find(sample->cause);
	struct cause_finding finding;
	struct observation o;
	bool right;

	CU_ASSERT_PTR_NOT_NULL_FATAL(cause);
	load(&o, sample->edits);
	cause_check(cause, &o, &finding);
	right = finding.state == sample->state &&
		(sample->words ? strstr(finding.text, sample->words) != NULL : !finding.text[0]);
	if (!right)
		printf("\n    %s, %s: state %d, text '%s'\n", sample->cause, sample->edits[0],
		       finding.state, finding.text);
	CU_ASSERT_TRUE(right);
	observation_release(&o);
}

static void test_samples(void)
{
	for (size_t i = 0; i < sizeof(samples) / sizeof(samples[0]); i++)
		check(&samples[i]);
}

/* Every cause has a sample that it is found in, and one where it can't be seen. */
static void test_complete(void)
{
	for (size_t c = 0; c < cause_count; c++) {
		bool had[3] = { false };

		for (size_t i = 0; i < sizeof(samples) / sizeof(samples[0]); i++)
			if (strcmp(samples[i].cause, cause_table[c].name) == 0)
				had[samples[i].state] = true;
		if (!had[CAUSE_YES] || !had[CAUSE_UNSEEN])
			printf("\n    %s lacks a sample\n", cause_table[c].name);
		CU_ASSERT_TRUE(had[CAUSE_YES] && had[CAUSE_UNSEEN]);
		CU_ASSERT_PTR_NOT_NULL(cause_table[c].what);
		CU_ASSERT_PTR_NOT_NULL(cause_table[c].fix);
		CU_ASSERT_PTR_EQUAL(find(cause_table[c].name), &cause_table[c]); /* no name twice */
	}
}

/* ---- telling ------------------------------------------------------------------------------ */

static char told[8192];

static int keep_line(void *ctx, const char *text)
{
	int *lines = ctx;

	strcat(told, text);
	strcat(told, "\n");
	(*lines)++;
	return 0;
}

static int tell(const char *const *edits)
{
	struct observation o;
	int lines = 0;

	told[0] = '\0';
	load(&o, edits);
	CU_ASSERT_EQUAL(causes_tell(&o, keep_line, &lines), 0);
	observation_release(&o);
	return lines;
}

static void test_telling(void)
{
	static const char *const nothing[] = { NULL };
	static const char *const two[] = { "run.links_found=17", "run.used_channels=2", NULL };
	static const char *const blind[] = { "nccl={\"why\":\"rerun\"}", "-run.used_algo", NULL };
	static const char *const mpi[] = { "run.backend=\"mpi\"", "run.links_found=1", NULL };
	char all[64];

	CU_ASSERT_EQUAL(tell(nothing), 1);
	snprintf(all, sizeof(all), "no cause found: %zu of %zu were ruled out: ", cause_count,
		 cause_count);
	CU_ASSERT_EQUAL(strncmp(told, all, strlen(all)), 0);
	for (size_t i = 0; i < cause_count; i++)
		CU_ASSERT_PTR_NOT_NULL(strstr(told, cause_table[i].name));
	CU_ASSERT_PTR_NULL(strstr(told, "the other"));
	CU_ASSERT_EQUAL(tell(two), 2);
	CU_ASSERT_PTR_NOT_NULL(strstr(told, "cause: nvlinks: NVLinks are missing: NCCL found 17 "
					    "NVLinks on a GPU that should have "
					    "18. To mend it: nvidia-smi nvlink"));
	CU_ASSERT_PTR_NOT_NULL(strstr(told, "\ncause: channels: "));
	/* one line per reason */
	CU_ASSERT_EQUAL(tell(blind), 4);
	CU_ASSERT_PTR_NOT_NULL(
		strstr(told,
		       "not seen: choice: what NCCL chose for the slowest row is not known\n"));
	CU_ASSERT_PTR_NOT_NULL(strstr(told, "not seen: transport, rings, gdr: rerun\n"));
	/* what only GPUs can have */
	CU_ASSERT_EQUAL(tell(mpi), 1);
	CU_ASSERT_PTR_NULL(strstr(told, "nvlinks"));
}

static int refuse(void *ctx, const char *text)
{
	(void)ctx;
	(void)text;
	return -5;
}

static void test_refused_line(void)
{
	static const char *const nothing[] = { NULL };
	struct observation o;

	load(&o, nothing);
	CU_ASSERT_EQUAL(causes_tell(&o, refuse, NULL), -5);
	observation_release(&o);
}

/* The same of many GPUs: as many as there is room for, whole, and a sign that there are more. */
static void test_many(void)
{
	const struct cause *cause = find("clocks");
	struct cause_finding finding;
	struct observation o;
	size_t len;

	CU_ASSERT_EQUAL_FATAL(observation_init(&o, 1, 1), 0);
	o.before[0].ngpus = o.after[0].ngpus = OBSERVED_GPUS;
	for (int i = 0; i < OBSERVED_GPUS; i++) {
		observed_gpu_clear(&o.before[0].gpus[i]);
		observed_gpu_clear(&o.after[0].gpus[i]);
		snprintf(o.after[0].gpus[i].bus, sizeof(o.after[0].gpus[i].bus), "0000:%02x:00.0",
			 i);
		o.after[0].gpus[i].reasons = 4;
	}
	cause_check(cause, &o, &finding);
	len = strlen(finding.text);
	CU_ASSERT_EQUAL(finding.state, CAUSE_YES);
	CU_ASSERT_TRUE(len < sizeof(finding.text));
	CU_ASSERT_STRING_EQUAL(finding.text + len - 5, "; ...");
	CU_ASSERT_PTR_NOT_NULL(strstr(finding.text, "GPU 0000:00:00.0"));
	CU_ASSERT_PTR_NOT_NULL(strstr(finding.text, "; GPU 0000:03:00.0 on a host: power cap"));
	CU_ASSERT_EQUAL(strncmp(finding.text + len - 20, "after the sweep;", 16), 0);
	observation_release(&o);
}

/* Nothing at all was seen: nothing is found, and nothing is ruled out that needs eyes. */
static void test_nothing_seen(void)
{
	struct observation o;
	int lines = 0;

	CU_ASSERT_EQUAL_FATAL(observation_init(&o, 2, 4), 0);
	strcpy(o.run.backend, "nccl");
	o.run.ranks = 4;
	o.run.nodes = 2;
	told[0] = '\0';
	CU_ASSERT_EQUAL(causes_tell(&o, keep_line, &lines), 0);
	CU_ASSERT_PTR_NULL(strstr(told, "\ncause: "));
	CU_ASSERT_PTR_NOT_NULL(strstr(told, "no cause found"));
	CU_ASSERT_PTR_NOT_NULL(strstr(told, "clocks"));
	observation_release(&o);
}

static const struct unit_case cases[] = {
	{ "each cause on recorded observations", test_samples },
	{ "each cause has its samples", test_complete },
	{ "what is told", test_telling },
	{ "a line that nobody takes", test_refused_line },
	{ "many GPUs", test_many },
	{ "nothing was seen", test_nothing_seen },
};

int main(void)
{
	int fd = unit_file(path), rc;

	if (fd < 0)
		return 1;
	close(fd);
	rc = unit_main("causes", cases, sizeof(cases) / sizeof(cases[0]));
	unlink(path);
	return rc;
}
