/* test_read.c: what is seen in made-up /proc and /sys, the environment, and this process. */
#include "rig/unit.h"

#include <sched.h>

#include "machine/cpu_list.h"
#include "machine/read.h"
#include "base/file.h"
#include "rig/tree.h"

static struct reading host;

/* The values that these readers see below a root. */
static void look(unsigned readers, const char *root)
{
	const struct read_request request = { .readers = readers, .root = root };

	reading_release(&host);
	read_host(&request, &host);
}

static int64_t value(const char *part, const char *name)
{
	return reading_value(&host, part, name);
}

static const char *text_of(const char *part, const char *name)
{
	return reading_text(&host, part, name);
}

/* The i-th of its parts that have this entry; "" none. */
static const char *part_of(const char *name, int i)
{
	const char *part = "";

	for (size_t at = 0; part && i >= 0; i--)
		part = reading_next(&host, name, &at);
	return part ? part : "";
}

#define CPU "/sys/devices/system/cpu/cpu"

UNIT_TEST(test_cpu, "CPUs")
{
	static const struct tree_file files[] = {
		{ "/proc/stat", "cpu  100 20 30 1000 50 6 7 8 9 10\ncpu0 1 2\ncpu1 3 4\nintr 5\n",
		  0 },
		{ CPU "0/cpufreq/scaling_cur_freq", "2100000\n", 0 },
		{ CPU "0/cpufreq/cpuinfo_max_freq", "3900000\n", 0 },
		{ CPU "0/thermal_throttle/package_throttle_count", "3\n", 0 },
		{ CPU "1/cpufreq/scaling_cur_freq", "800000\n", 0 },
		{ CPU "1/thermal_throttle/package_throttle_count", "4\n", 0 },
		{ "/proc/pressure/memory",
		  "some avg10=0.00 avg60=0.00 avg300=0.00 total=77\n"
		  "full avg10=0.00 avg60=0.00 avg300=0.00 total=5\n",
		  0 },
		{ "/proc/pressure/io", "some avg10=0.00 avg60=0.00 avg300=0.00 total=78\n", 0 },
		{ "/proc/vmstat", "pgfault 5\npswpin 6\npswpout 7\noom_kill 2\n", 0 },
		{ "/proc/meminfo", "MemTotal:  8000 kB\nMemAvailable:   300 kB\n", 0 },
		{ NULL, NULL, 0 },
	};

	look(READ_CPU, tree_make(files));
	CU_ASSERT_EQUAL(value("CPU", "all_ticks"),
			1221); /* guest time, the last two, is in user's */
	CU_ASSERT_EQUAL(value("CPU", "busy_ticks"),
			171); /* without idle 1000 and waiting for disks 50 */
	UNIT_ALL(value("CPU", "cpus") == 2, value("CPU", "slowest_khz") == 800000,
		 value("CPU", "max_khz") == 3900000, value("CPU", "throttled") == 4,
		 value("memory", "stalled_us") == 77, value("memory", "oom_kills") == 2,
		 value("disks", "io_stalled_us") == 78, value("memory", "swapped") == 13,
		 value("memory", "all_kib") == 8000, value("memory", "available_kib") == 300);
	tree_remove();
}

#define SNMP                                                                                       \
	"Ip: Forwarding DefaultTTL\nIp: 1 64\n"                                                    \
	"Tcp: RtoAlgorithm RtoMin MaxConn InSegs OutSegs RetransSegs InErrs\n"                     \
	"Tcp: 1 200 -1 500 12345 67 0\n"                                                           \
	"Udp: InDatagrams OutSegs\nUdp: 1 2\n"

UNIT_TEST(test_net, "network")
{
	static const struct tree_file files[] = {
		{ "/sys/class/net/bridge/operstate", "up\n", 0 },
		{ "/sys/class/infiniband/mlx5_0/ports/1/rate", "400 Gb/sec (4X NDR)\n", 0 },
		{ "/sys/class/infiniband/mlx5_0/ports/1/state", "4: ACTIVE\n", 0 },
		{ "/sys/class/infiniband/mlx5_0/ports/1/phys_state", "5: LinkUp\n", 0 },
		{ "/sys/class/infiniband/mlx5_0/ports/1/counters/port_rcv_data", "5\n", 0 },
		{ "/sys/class/infiniband/mlx5_0/ports/1/counters/link_error_recovery", "1\n", 0 },
		{ "/sys/class/infiniband/mlx5_0/ports/1/counters/"
		  "excessive_buffer_overrun_errors",
		  "2\n", 0 },
		{ "/sys/class/infiniband/mlx5_0/ports/1/hw_counters/np_ecn_marked_roce_packets",
		  "3\n", 0 },
		{ "/sys/class/infiniband/mlx5_0/ports/1/hw_counters/rp_cnp_handled", "4\n", 0 },
		{ "/sys/class/infiniband/mlx5_0/ports/1/hw_counters/out_of_buffer",
		  "N/A (no PMA)\n", 0 },
		{ "/sys/class/infiniband/mlx5_0/ports/1/link_layer", "InfiniBand\n", 0 },
		{ "/sys/class/infiniband/mlx5_1/ports/1/rate", "2.5 Gb/sec (1X SDR)\n", 0 },
		{ "/sys/class/infiniband/mlx5_1/ports/1/state", "1: DOWN\n", 0 },
		{ "/sys/class/net/eth0/mtu", "9000\n", 0 },
		{ "/sys/class/net/eth0/speed", "25000\n", 0 },
		{ "/sys/class/net/eth0/operstate", "up\n", 0 },
		{ "/sys/class/net/eth0/type", "1\n", 0 },
		{ "/sys/class/net/eth0/device/vendor", "0x15b3\n", 0 },
		{ "/sys/class/net/lo/mtu", "65536\n", 0 },
		{ "/sys/class/net/lo/type", "772\n", 0 },
		{ "/sys/class/net/lo/operstate", "unknown\n", 0 },
		{ "/sys/module/nvidia_peermem/refcnt", "0\n", 0 },
		{ "/proc/net/dev", "head\n bridge: 1\n eth0: 1\n lo: 1\n", 0 },
		{ "/proc/net/snmp", SNMP, 0 },
		{ NULL, NULL, 0 },
	};

	look(READ_NICS | READ_TRAFFIC | READ_TCP, tree_make(files));
	UNIT_ALL(!strcmp(part_of("rdma", 5), ""), !strcmp(part_of("rdma", 0), "RDMA mlx5_0:1"),
		 !strcmp(text_of("RDMA mlx5_0:1", "name"), "mlx5_0"),
		 value("RDMA mlx5_0:1", "mbps") == 400000,
		 !strcmp(text_of("RDMA mlx5_0:1", "state"), "up"),
		 !strcmp(text_of("RDMA mlx5_0:1", "physical"), "LinkUp"),
		 value("RDMA mlx5_0:1", "rx_bytes") == 20);
	UNIT_ALL(value("RDMA mlx5_0:1", "recoveries") == 1, value("RDMA mlx5_0:1", "overruns") == 2,
		 value("RDMA mlx5_0:1", "ecn_marked") == 3,
		 value("RDMA mlx5_0:1", "cnp_handled") == 4,
		 value("RDMA mlx5_0:1", "out_of_buffer") == -1,
		 !strcmp(text_of("RDMA mlx5_0:1", "link"), "InfiniBand"),
		 value("RDMA mlx5_0:1", "rdma") == 1, value("RDMA mlx5_1:1", "mbps") == 2500);
	UNIT_ALL(!strcmp(text_of("RDMA mlx5_1:1", "state"), "down"),
		 !strcmp(part_of("rdma", 2), "eth0"), value("eth0", "mtu") == 9000,
		 value("eth0", "mbps") == 25000, value("eth0", "hardware") == 1,
		 !strcmp(text_of("eth0", "link"), "Ethernet"));
	CU_ASSERT_STRING_EQUAL(part_of("rdma", 3), "bridge"); /* behind all hardware */
	UNIT_ALL(!strcmp(part_of("rdma", 4), "lo"), value("lo", "hardware") == 0,
		 value("lo", "mbps") == -1, value("TCP", "sent") == 12345,
		 value("TCP", "resent") == 67, value("kernel", "peermem") == 1);
	tree_remove();
}

/* Places as the kernel documents them: those without a GID are zeros and have no type. */
UNIT_TEST(test_gids, "GIDs of a RoCE port, ways from NICs to GPUs")
{
#define ROCE "/sys/class/infiniband/rocep1/ports/1/"
	static const struct tree_file files[] = {
		{ ROCE "link_layer", "Ethernet\n", 0 },
		{ ROCE "rate", "100 Gb/sec (4X EDR)\n", 0 },
		{ ROCE "state", "4: ACTIVE\n", 0 },
		{ ROCE "gids/0", "fe80:0000:0000:0000:ba59:9fff:fe00:0001\n", 0 },
		{ ROCE "gids/1", "fe80:0000:0000:0000:ba59:9fff:fe00:0001\n", 0 },
		{ ROCE "gids/2", "0000:0000:0000:0000:0000:ffff:0a00:0001\n", 0 },
		{ ROCE "gids/3", "0000:0000:0000:0000:0000:ffff:0a00:0001\n", 0 },
		{ ROCE "gids/4", "0000:0000:0000:0000:0000:0000:0000:0000\n", 0 },
		{ ROCE "gid_attrs/types/0", "IB/RoCE v1\n", 0 },
		{ ROCE "gid_attrs/types/1", "RoCE v2\n", 0 },
		{ ROCE "gid_attrs/types/2", "IB/RoCE v1\n", 0 },
		{ ROCE "gid_attrs/types/3", "RoCE v2\n", 0 },
		{ "/proc/driver/nvidia/version",
		  "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.95.05\n", 0 },
		{ "/proc/sys/kernel/osrelease", "5.15.0-91-generic\n", 0 },
		{ "/sys/module/x/refcnt", "0\n", 0 },
		{ NULL, NULL, 0 },
	};
	static const struct {
		const char *wanted;
		int fits;
		const char *gid;
	} table[] = {
		{ "OTHER=1", -1, "" },
		{ "NCCL_IB_GID_INDEX=-1", -1, "" },
		{ "NCCL_IB_GID_INDEX=3", 1, "0000:0000:0000:0000:0000:ffff:0a00:0001" },
		{ "NCCL_IB_GID_INDEX=2", 0, "0000:0000:0000:0000:0000:ffff:0a00:0001" },
		{ "NCCL_IB_GID_INDEX=4", 0, "empty" },
		{ "NCCL_IB_GID_INDEX=9", 0, "" },
	};
	const char *root = tree_make(files);

	UNIT_ROWS(row, table) {
		char *environment[] = { (char *)row->wanted, NULL };
		const struct read_request request = { .readers = READ_NICS | READ_LIMITS,
						      .root = root,
						      .environment = environment };

		reading_release(&host);
		read_host(&request, &host);
		UNIT_ALL(value("RDMA rocep1:1", "roce_v2_gids") == 1,
			 value("RDMA rocep1:1", "gid_fits") == row->fits,
			 !strcmp(text_of("RDMA rocep1:1", "gid"), row->gid));
	}
	UNIT_ALL(!strcmp(text_of("RDMA ports", "verbs_text"), "Ethernet 100 Gbit/s up"),
		 value("GPUDirect RDMA", "peermem") == 0, value("GPUDirect RDMA", "ways") == 1);
	tree_remove();
}

#define TOP    "/sys/devices/pci0000:15/0000:15:01.0" /* root port */
#define UP     TOP "/0000:16:00.0"		      /* switch, upwards */
#define DOWN   UP "/0000:17:02.0"		      /* and down to the GPU */
#define GPU    DOWN "/0000:18:00.0"
#define CONFIG 0x210

/* A configuration space with another capability first, and ACS at 200h with this register. */
static void fill_config(char *config, int control)
{
	static const unsigned char first[] = { 0x01, 0x00, 0x02, 0x20 }; /* AER v2, next 200h */
	static const unsigned char acs[] = { 0x0d, 0x00, 0x01, 0x00 };

	memset(config, 0, CONFIG);
	memcpy(config + 0x100, first, 4);
	memcpy(config + 0x200, acs, 4);
	config[0x206] = (char)control;
}

static void look_at_gpu(const char *root, const char *bus)
{
	struct observed_rank rank;
	const struct read_request request = {
		.readers = READ_GPUS, .root = root, .ranks = &rank, .nranks = 1, .node = 0
	};

	rank = (struct observed_rank){ .cpu_ns = -1 };
	rank.node = 0;
	strcpy(rank.bus, bus);
	reading_release(&host);
	read_host(&request, &host);
}

/* PCI devices of a GPU at generation 5 whose switch is at 3 of 4, 8 lanes of 16. */
static void see_gpu(const char *config, size_t len)
{
	const struct tree_file files[] = {
		{ "/sys/bus/pci/devices/0000:18:00.0@",
		  "../../../devices/pci0000:15/0000:15:01.0/0000:16:00.0/0000:17:02.0/0000:18:00.0",
		  0 },
		{ TOP "/current_link_width", "8\n", 0 },
		{ TOP "/max_link_width", "16\n", 0 },
		{ UP "/current_link_width", "8\n", 0 },
		{ UP "/max_link_width", "16\n", 0 },
		{ UP "/current_link_speed", "8.0 GT/s PCIe\n", 0 },
		{ UP "/max_link_speed", "16.0 GT/s PCIe\n", 0 },
		{ DOWN "/config", config, len },
		{ GPU "/current_link_width", "16\n", 0 },
		{ GPU "/max_link_width", "16\n", 0 },
		{ GPU "/current_link_speed", "32.0 GT/s PCIe\n", 0 },
		{ GPU "/max_link_speed", "32.0 GT/s PCIe\n", 0 },
		{ GPU "/local_cpulist", "0-15,32-47\n", 0 },
		{ GPU "/iommu_group@", "../../../../../../../sys/kernel/iommu_groups/12", 0 },
		{ "/sys/kernel/iommu_groups/12/type", "DMA-FQ\n", 0 },
		{ NULL, NULL, 0 },
	};

	look_at_gpu(tree_make(files), "0000:18:00.0");
	tree_remove();
}

#define PART "GPU 0000:18:00.0"

UNIT_TEST(test_pci, "PCI behind a switch")
{
	char config[CONFIG];

	fill_config(config, 0x1d); /* source validation, both redirects, upstream forwarding */
	see_gpu(config, sizeof(config));
	UNIT_ALL(value(PART, "width") == 8, value(PART, "max_width") == 16, value(PART, "gen") == 3,
		 value(PART, "max_gen") == 4, value(PART, "bridges") == 1,
		 value(PART, "bridges_acs") == 1,
		 !strcmp(text_of(PART, "acs_bridge"), "0000:17:02.0"),
		 !strcmp(text_of(PART, "iommu"), "DMA-FQ"),
		 !strcmp(text_of(PART, "cpus"), "0-15,32-47"));
	fill_config(config, 0x51); /* neither redirect */
	see_gpu(config, sizeof(config));
	CU_ASSERT_EQUAL(value(PART, "bridges_acs"), 0);
	see_gpu(config, 64);				 /* what users without rights get */
	CU_ASSERT_EQUAL(value(PART, "bridges_acs"), -1); /* not known */
	fill_config(config, 0xff);
	config[0x100] = 0x0d;
	config[0x103] = 0x10; /* the next is itself */
	config[0x106] = 0;
	see_gpu(config, sizeof(config));
	CU_ASSERT_EQUAL(value(PART, "bridges_acs"), 0);
}

/* A GPU of a virtual machine: at the root, without a link. */
UNIT_TEST(test_pci_virtual, "PCI in a virtual machine")
{
	static const struct tree_file files[] = {
		{ "/sys/bus/pci/devices/0000:1b:00.0@", "../../../devices/pci0000:00/0000:1b:00.0",
		  0 },
		{ "/sys/devices/pci0000:00/0000:1b:00.0/current_link_width", "0\n", 0 },
		{ "/sys/devices/pci0000:00/0000:1b:00.0/max_link_width", "255\n", 0 },
		{ "/sys/devices/pci0000:00/0000:1b:00.0/current_link_speed", "Unknown\n", 0 },
		{ NULL, NULL, 0 },
	};
	const char *root = tree_make(files);

	look_at_gpu(root, "0000:1B:00.0"); /* as CUDA writes it */
	UNIT_ALL(value("GPU 0000:1B:00.0", "width") == -1,
		 value("GPU 0000:1B:00.0", "max_width") == -1,
		 value("GPU 0000:1B:00.0", "gen") == -1, value("GPU 0000:1B:00.0", "bridges") == 0,
		 !strcmp(text_of("GPU 0000:1B:00.0", "iommu"), "none"));
	look_at_gpu(root, "../../secret.0:");
	CU_ASSERT_EQUAL(value("GPU ../../secret.0:", "bridges"), -1);
	CU_ASSERT_STRING_EQUAL(text_of("GPU ../../secret.0:", "iommu"), "");
	tree_remove();
}

#define DEVICE(bus, vendor, class)                                                                 \
	{ "/sys/bus/pci/devices/" bus "/vendor", vendor "\n", 0 },                                 \
	{                                                                                          \
		"/sys/bus/pci/devices/" bus "/class", class "\n", 0                                \
	}

/* Three GPUs that NVML should show, one of them without a driver; one of a virtual machine, an
 * NVSwitch, and another vendor's. */
UNIT_TEST(test_driver, "GPUs on PCI and their driver")
{
	static const struct tree_file files[] = {
		DEVICE("0000:18:00.0", "0x10de", "0x030200"),
		{ "/sys/bus/pci/devices/0000:18:00.0/driver@", "../../../bus/pci/drivers/nvidia",
		  0 },
		DEVICE("0000:2a:00.0", "0x10de", "0x030000"),
		{ "/sys/bus/pci/devices/0000:2a:00.0/driver@", "../../../bus/pci/drivers/nvidia",
		  0 },
		DEVICE("0000:3a:00.0", "0x10de", "0x030200"),
		DEVICE("0000:4a:00.0", "0x10de", "0x030200"),
		{ "/sys/bus/pci/devices/0000:4a:00.0/driver@", "../../../bus/pci/drivers/vfio-pci",
		  0 },
		DEVICE("0000:5a:00.0", "0x10de", "0x068000"),
		DEVICE("0000:6a:00.0", "0x1002", "0x030000"),
		{ "/proc/driver/nvidia/version", "NVRM version: 580\n", 0 },
		{ NULL, NULL, 0 },
	};
	const struct nvml fails = { .why = "nvmlInit fails with 18" };
	const struct read_request request = { .readers = READ_GPUS | READ_NVML,
					      .root = tree_make(files),
					      .nvml = &fails };

	reading_release(&host);
	read_host(&request, &host);
	tree_remove();
	UNIT_ALL(value("NVML", "pci_gpus") == 3, value("NVML", "without_driver") == 1,
		 value("NVML", "driver_loaded") == 1, value("NVML", "failed") == 1,
		 value("NVML", "missing") == 0, !strcmp(text_of("NVML", "why"), fails.why));
}

#define NINES "99999999999999999999999999999999999999999999999999"

/* Whatever is in the files, numbers are seen or are not. */
UNIT_TEST(test_hostile, "hostile files")
{
	static char zeros[200000];
	static const struct {
		const char *text;
		size_t len;
	} texts[] = {
		{ "\n", 0 },
		{ "-5\n", 0 },
		{ NINES NINES "\n", 0 },
		{ "\0\xff\x80\x01", 4 },
		{ "cpu", 0 },
		{ "cpu  -1 -1 -1 -1\n", 0 },
		{ "cpu  " NINES " " NINES " 1 2\n", 0 },
		{ "Tcp:", 0 },
		{ "Tcp: OutSegs\n", 0 },
		{ "Tcp: OutSegs RetransSegs\nTcp: -1 " NINES, 0 },
		{ "nan inf 1e999\n", 0 },
		{ "400 Gb/sec (", 0 },
		{ "-1 Gb/sec", 0 },
		{ "nan Gb/sec", 0 },
		{ "%s%n%d", 0 },
		{ zeros, sizeof(zeros) },
	};
	static const char *const paths[] = {
		"/proc/stat",

		"/proc/net/snmp",
		"/proc/self/schedstat",
		"/sys/class/net/eth0/mtu",
		"/sys/class/net/eth0/speed",
		"/sys/class/net/eth0/type",
		"/sys/class/net/eth0/operstate",
		"/sys/class/infiniband/x/ports/1/rate",
		"/sys/class/infiniband/x/ports/1/state",
		"/sys/class/infiniband/x/ports/1/link_layer",
	};
	enum { PATHS = LENGTH(paths) };

	UNIT_ROWS(row, texts) {
		struct tree_file files[PATHS + 2] = { { 0 } };
		struct observed_rank rank;
		const char *root;

		for (int k = 0; k < PATHS; k++)
			files[k] = (struct tree_file){ paths[k], row->text, row->len };
		files[PATHS] = (struct tree_file){ "/proc/net/dev", "eth0: 1", 0 };
		root = tree_make(files);
		look(READ_CPU | READ_TCP | READ_TRAFFIC | READ_NICS, root);
		rank = (struct observed_rank){ .cpu_ns = -1 };
		read_rank(root, &rank);
		UNIT_ALL(value("CPU", "all_ticks") == -1, value("TCP", "sent") == -1,
			 rank.wait_ns == -1, !strcmp(part_of("rdma", 1), "eth0"),
			 !strcmp(part_of("rdma", 2), ""),
			 value("eth0", "mtu") == (row->text[0] == '4' ? 400 : -1));
		tree_remove();
	}
}

UNIT_TEST(test_files, "files")
{
	static const struct tree_file files[] = {
		{ "/a", "12\n", 0 },
		{ "/b", "a\001b\n", 0 },
		{ "/folder/x", "1", 0 },
		{ NULL, NULL, 0 },
	};
	const char *root = tree_make(files);
	char text[8], path[PATH_MAX];

	UNIT_ALL(file_number(root, "/%s", "a") == 12, file_number(root, "/none") == -1,
		 file_number(root, "/folder") == -1, file_text(root, text, sizeof(text), "/b") == 3,
		 !strcmp(text, "a?b"), file_text(root, text, 2, "/a") == 1, !strcmp(text, "1"));
	/* this one has no writer: it must not wait */
	snprintf(path, sizeof(path), "%s/fifo", root);
	CU_ASSERT_EQUAL_FATAL(mkfifo(path, 0600), 0);
	CU_ASSERT_EQUAL(file_number(root, "/fifo"), -1);
	tree_remove();
}

static char *const environment[] = {
	(char *)"HOME=/root",
	(char *)"NCCL_ALGO=Ring",
	(char *)"NCCL_TESTS_DEVICE=1",
	(char *)"CUDA_LAUNCH_BLOCKING=1",
	(char *)"CUDA_HOME=/usr/local",
	(char *)"NCCL_SECRET_TOKEN=x",
	(char *)"NCCL_NO_VALUE",
	(char *)"NCCL_EMPTY=",
	(char *)"TORCH_DISTRIBUTED_DEBUG=INFO",
	(char *)"TORCH_HOME=/root",
	NULL,
};

UNIT_TEST(test_settings, "settings")
{
	struct read_request request = { .readers = READ_SETTINGS,
					.root = "",
					.environment = environment };

	reading_release(&host);
	read_host(&request, &host);
	CU_ASSERT_EQUAL_FATAL(host.n, 4);
	UNIT_ALL(!strcmp(host.list[0].name, "NCCL_ALGO"), !strcmp(host.list[0].text, "Ring"),
		 !strcmp(host.list[1].name, "CUDA_LAUNCH_BLOCKING"),
		 !strcmp(host.list[2].name, "NCCL_EMPTY"),
		 !strcmp(host.list[3].name, "TORCH_DISTRIBUTED_DEBUG"));
	request.environment = NULL;
	read_host(&request, &host);
	CU_ASSERT_EQUAL(host.n, 4);
}

UNIT_TEST(test_host, "this host")
{
	struct observed_rank ranks[3];
	struct read_request request = {
		.readers = ~0u, .root = "", .ranks = ranks, .nranks = 3, .node = 1
	};

	for (int r = 0; r < 3; r++) {
		ranks[r] = (struct observed_rank){ .cpu_ns = -1 };
		ranks[r].node = r > 0;
		strcpy(ranks[r].bus, r > 0 ? "0000:18:00.0" : "0000:99:00.0");
	}
	reading_release(&host);
	read_host(&request, &host);
	CU_ASSERT_STRING_EQUAL(part_of("bus", 0),
			       PART); /* two ranks share it; the third is elsewhere */
	UNIT_ALL(!strcmp(part_of("bus", 1), ""),
		 value("CPU", "cpus") == sysconf(_SC_NPROCESSORS_ONLN),
		 value("CPU", "all_ticks") > 0, host.host[0] != '\0' && host.seconds > 0,
		 value("NVML", "gpus") == -1, !strcmp(host.why, ""));
	reading_release(&host);
}

UNIT_TEST(test_rank, "this process")
{
	static const struct tree_file files[] = { { "/proc/self/schedstat", "5000 700 3\n", 0 },
						  { NULL, NULL, 0 } };
	struct observed_rank rank;
	cpu_set_t before, one;

	CU_ASSERT_EQUAL_FATAL(sched_getaffinity(0, sizeof(before), &before), 0);
	CPU_ZERO(&one);
	for (int cpu = 0; cpu < CPU_SETSIZE && CPU_COUNT(&one) == 0; cpu++)
		if (CPU_ISSET(cpu, &before))
			CPU_SET(cpu, &one);
	rank = (struct observed_rank){ .cpu_ns = -1 };
	CU_ASSERT_EQUAL(sched_setaffinity(0, sizeof(one), &one), 0);
	read_rank(tree_make(files), &rank);
	sched_setaffinity(0, sizeof(before), &before);
	tree_remove();
	UNIT_ALL(strspn(rank.cpus, "0123456789") == strlen(rank.cpus), rank.wait_ns == 700,
		 rank.cpu_ns > 0, rank.pid == getpid());
}

UNIT_TEST(test_lists, "lists of CPUs")
{
	static const struct {
		const char *text;
		int n; /* -1: no list */
	} lists[] = {
		{ "", 0 },	  { "0", 1 },	 { "0-3,8", 5 },
		{ "3,3,1-2", 3 }, { "8191", 1 }, { "8192", -1 },
		{ "3-1", -1 },	  { "-1", -1 },	 { "1,", -1 },
		{ ",1", -1 },	  { "1-", -1 },	 { "0-3,...", -1 },
		{ " 1", -1 },	  { "a", -1 },	 { "99999999999999999999", -1 },
	};
	struct cpu_list a;
	char text[16];

	UNIT_ROWS(row, lists) {
		int rc = cpu_list_parse(&a, row->text);

		CU_ASSERT_EQUAL(rc < 0 ? -1 : rc, row->n);
	}
	UNIT_ALL(cpu_list_parse(&a, "3,1-2,64,70") == 5,
		 !strcmp(cpu_list_text(&a, text, sizeof(text)), "1-3,64,70"),
		 cpu_list_parse(&a, "100,102,104,106,108") == 5,
		 !strcmp(cpu_list_text(&a, text, sizeof(text)), "100,102,104,..."));
}
