/* test_host_topo.c: hosts that hwloc makes up, and networks made of files. */
#include "unit.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "host_topo.h"

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

static char root[64];

static void put(const char *path, const char *text)
{
	char full[256];
	FILE *file;

	snprintf(full, sizeof(full), "%s/%s", root, path);
	for (char *slash = full + strlen(root) + 1; (slash = strchr(slash, '/')); slash++) {
		*slash = '\0';
		mkdir(full, 0700);
		*slash = '/';
	}
	file = fopen(full, "w");
	CU_ASSERT_PTR_NOT_NULL_FATAL(file);
	fputs(text, file);
	fclose(file);
}

static void test_network(void)
{
	static const char route[] = "Iface\tDestination\tGateway\n"
				    "eth1\t0000A8C0\t00000000\n"
				    "eth0\t00000000\t0100A8C0\n";
	char name[128], command[96];
	bool ethernet;

	strcpy(root, "/tmp/hangar-test-net-XXXXXX");
	CU_ASSERT_PTR_NOT_NULL_FATAL(mkdtemp(root));
	CU_ASSERT_EQUAL(host_network_gbs(root, root, name, sizeof(name), &ethernet), 0);
	put("class/net/lo/operstate", "unknown\n");
	put("class/net/eth1/operstate", "up\n");
	put("class/net/eth1/speed", "100000\n");
	CU_ASSERT_DOUBLE_EQUAL(host_network_gbs(root, root, name, sizeof(name), &ethernet), 12.5,
			       1e-9);
	CU_ASSERT_STRING_EQUAL(name, "eth1"); /* the only one */
	put("class/net/eth0/operstate", "up\n");
	CU_ASSERT_EQUAL(host_network_gbs(root, root, name, sizeof(name), &ethernet), 0);
	put("net/route", route);
	CU_ASSERT_EQUAL(host_network_gbs(root, root, name, sizeof(name), &ethernet), 0);
	CU_ASSERT_STRING_EQUAL(name, "eth0 does not say its speed");
	put("class/net/eth0/speed", "-1\n");
	CU_ASSERT_EQUAL(host_network_gbs(root, root, name, sizeof(name), &ethernet), 0);
	put("class/net/eth0/speed", "4294967295\n");
	CU_ASSERT_EQUAL(host_network_gbs(root, root, name, sizeof(name), &ethernet), 0);
	put("class/net/eth0/speed", "25000\n");
	CU_ASSERT_DOUBLE_EQUAL(host_network_gbs(root, root, name, sizeof(name), &ethernet), 3.125,
			       1e-9);
	CU_ASSERT_TRUE(ethernet);
	put("class/infiniband/mlx5_0/ports/1/state", "1: DOWN\n");
	put("class/infiniband/mlx5_0/ports/1/rate", "400 Gb/sec (4X NDR)\n");
	CU_ASSERT_DOUBLE_EQUAL(host_network_gbs(root, root, name, sizeof(name), &ethernet), 3.125,
			       1e-9);
	put("class/infiniband/mlx5_1/ports/1/state", "4: ACTIVE\n");
	put("class/infiniband/mlx5_1/ports/1/rate", "200 Gb/sec (4X HDR)\n");
	CU_ASSERT_DOUBLE_EQUAL(host_network_gbs(root, root, name, sizeof(name), &ethernet), 25,
			       1e-9);
	CU_ASSERT_STRING_EQUAL(name, "mlx5_1");
	CU_ASSERT_FALSE(ethernet);
	snprintf(command, sizeof(command), "rm -rf %s", root);
	CU_ASSERT_EQUAL(system(command), 0);
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
