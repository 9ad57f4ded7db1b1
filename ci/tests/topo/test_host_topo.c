/* test_host_topo.c: hosts that hwloc makes up, and networks made of files. */
#include "rig/unit.h"

#include <errno.h>
#include <string.h>

#include "topo/host_topo.h"
#include "rig/tree.h"

static struct error err;
static struct host_topo topo;

static cpu_set_t on(int first, int last)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	for (int i = first; i <= last; i++)
		CPU_SET(i, &set);
	return set;
}

static int read_made_up(const char *synthetic, const cpu_set_t *sets, int n)
{
	err = (struct error){ .rank = -1 };
	return host_topo_read(&topo, synthetic, sets, n, &err);
}

#ifdef HAVE_HWLOC
/* Two sockets of 4 cores with two threads each; CPUs 0 and 1 are one core, 8 is the second socket's
 * first. */
#define TWO_SOCKETS                                                                                \
	"package:2 [numa] l3:1(size=16777216) l2:4(size=1048576) l1:1(size=32768) core:1 pu:2"

static void test_made_up(void)
{
	cpu_set_t each[4] = { on(0, 0), on(2, 2), on(8, 8), on(10, 10) };
	cpu_set_t crowded[4] = { on(0, 1), on(0, 1), on(0, 1), on(2, 3) };
	cpu_set_t everywhere[2] = { on(0, 15), on(0, 15) };
	char text[160];

	CU_ASSERT_EQUAL_FATAL(read_made_up(TWO_SOCKETS, each, 4), 0);
	CU_ASSERT_EQUAL(topo.packages, 2);
	CU_ASSERT_EQUAL(topo.numa, 2);
	CU_ASSERT_EQUAL(topo.cores, 8);
	CU_ASSERT_EQUAL(topo.pus, 16);
	CU_ASSERT_EQUAL(topo.l1, 32768);
	CU_ASSERT_EQUAL(topo.l2, 1 << 20);
	CU_ASSERT_EQUAL(topo.l3, 16 << 20);
	CU_ASSERT_EQUAL(topo.l3_count, 2);
	CU_ASSERT_EQUAL(topo.rank_cores, 4);
	CU_ASSERT_EQUAL(topo.rank_packages, 2);
	CU_ASSERT_EQUAL(topo.rank_numa, 2);
	CU_ASSERT_DOUBLE_EQUAL(host_topo_share(&topo), 1, 1e-12);
	CU_ASSERT_STRING_EQUAL(
		host_topo_text(&topo, text, sizeof(text)),
		"2 packages, 2 NUMA nodes, 8 cores, L3 2 x 16 MiB; 4 ranks on 4 of them");
	CU_ASSERT_EQUAL_FATAL(read_made_up(TWO_SOCKETS, crowded, 4), 0);
	CU_ASSERT_EQUAL(topo.rank_cores, 2);
	CU_ASSERT_EQUAL(topo.rank_pus, 4);
	CU_ASSERT_EQUAL(topo.rank_packages, 1);
	CU_ASSERT_DOUBLE_EQUAL(host_topo_share(&topo), 2, 1e-12);
	CU_ASSERT_EQUAL_FATAL(read_made_up(TWO_SOCKETS, everywhere, 2), 0);
	CU_ASSERT_EQUAL(topo.rank_cores, 8);
	CU_ASSERT_EQUAL_FATAL(read_made_up("core:3 pu:1", everywhere, 2), 0);
	CU_ASSERT_EQUAL(topo.l3, 0);
	CU_ASSERT_PTR_NOT_NULL(strstr(host_topo_text(&topo, text, sizeof(text)), "3 cores, no L3"));
}

static void test_refused(void)
{
	cpu_set_t none = on(1, 0), beyond = on(900, 901);

	CU_ASSERT_EQUAL(read_made_up("core:2 of:nonsense", &none, 1), -EINVAL);
	CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "of:nonsense"));
	CU_ASSERT_EQUAL(read_made_up(TWO_SOCKETS, &none, 1), -EINVAL);
	CU_ASSERT_EQUAL(err.outcome, OUTCOME_UNSUPPORTED);
	CU_ASSERT_EQUAL(read_made_up(TWO_SOCKETS, &beyond, 1), -EINVAL);
}
#else
static void test_made_up(void)
{
	cpu_set_t set = on(0, 0);

	CU_ASSERT_EQUAL(read_made_up("core:2 pu:1", &set, 1), -ENOTSUP);
}
#define test_refused test_made_up
#endif

static void test_this_host(void)
{
	cpu_set_t set;

	sched_getaffinity(0, sizeof(set), &set);
	CU_ASSERT_EQUAL_FATAL(read_made_up(NULL, &set, 1), 0);
	CU_ASSERT_TRUE(topo.cores >= 1 && topo.pus >= topo.cores);
	CU_ASSERT_EQUAL(topo.rank_pus, CPU_COUNT(&set));
	CU_ASSERT_EQUAL(topo.ranks, 1);
}

/* ---- networks ---- */

static char name[128];
static bool ethernet;

/* GB/s of the network after one more file. */
static double with(const char *path, const char *text)
{
	struct tree_file file = { path, text, 0 };

	tree_add(&file);
	return host_network_gbs(tree_root, name, sizeof(name), &ethernet);
}

#define NET "/sys/class/net"
#define IB  "/sys/class/infiniband"

static void test_network(void)
{
	static const char route[] = "Iface\tDestination\tGateway\n"
				    "eth1\t0000A8C0\t00000000\n"
				    "eth0\t00000000\t0100A8C0\n";
	static const struct tree_file one[] = {
		{ NET "/lo/operstate", "unknown\n", 0 },
		{ NET "/eth1/operstate", "up\n", 0 },
		{ NULL, NULL, 0 },
	};

	CU_ASSERT_EQUAL(host_network_gbs(tree_make(one + 2), name, sizeof(name), &ethernet), 0);
	CU_ASSERT_STRING_EQUAL(name, "no interface to speak of");
	tree_remove();
	CU_ASSERT_EQUAL(host_network_gbs(tree_make(one), name, sizeof(name), &ethernet), 0);
	CU_ASSERT_STRING_EQUAL(name, "eth1 does not say its speed");
	CU_ASSERT_DOUBLE_EQUAL(with(NET "/eth1/speed", "100000\n"), 12.5, 1e-9);
	CU_ASSERT_STRING_EQUAL(name, "eth1"); /* the only one */
	CU_ASSERT_EQUAL(with(NET "/eth0/operstate", "up\n"), 0);
	CU_ASSERT_EQUAL(with("/proc/net/route", route), 0);
	CU_ASSERT_STRING_EQUAL(name, "eth0 does not say its speed");
	CU_ASSERT_EQUAL(with(NET "/eth0/speed", "-1\n"), 0);
	CU_ASSERT_EQUAL(with(NET "/eth0/speed", "4294967295\n"), 0);
	CU_ASSERT_DOUBLE_EQUAL(with(NET "/eth0/speed", "25000\n"), 3.125, 1e-9);
	CU_ASSERT_TRUE(ethernet);
	with(IB "/mlx5_0/ports/1/state", "1: DOWN\n");
	CU_ASSERT_DOUBLE_EQUAL(with(IB "/mlx5_0/ports/1/rate", "400 Gb/sec (4X NDR)\n"), 3.125,
			       1e-9);
	with(IB "/mlx5_1/ports/1/state", "4: ACTIVE\n");
	CU_ASSERT_DOUBLE_EQUAL(with(IB "/mlx5_1/ports/1/rate", "200 Gb/sec (4X HDR)\n"), 25, 1e-9);
	CU_ASSERT_PTR_NOT_NULL(strstr(name, "mlx5_1"));
	CU_ASSERT_FALSE(ethernet);
	tree_remove();
}

static const struct unit_case cases[] = {
	{ "made-up hosts", test_made_up },
	{ "refused", test_refused },
	{ "this host", test_this_host },
	{ "networks", test_network },
};

int main(void)
{
	return unit_main("host_topo", cases, sizeof(cases) / sizeof(cases[0]));
}
