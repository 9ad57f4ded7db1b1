/* test_host_memory.c: available memory, from made-up /proc and /sys trees. */
#include "rig/unit.h"

#include "process/cgroup.h"
#include "rig/tree.h"

#define MEMINFO                                                                                    \
	{                                                                                          \
		"/proc/meminfo", "MemTotal: 999 kB\nMemFree: 1 kB\nMemAvailable:      100 kB\n", 0 \
	}

static const struct {
	struct tree_file files[8];
	size_t expected;
} trees[] = {
	/* nothing known */
	{ { { NULL, NULL, 0 } }, SIZE_MAX },
	/* no cgroup */
	{ { MEMINFO }, 102400 },
	/* version 2, the leaf limits: 50000 - (30000 - 10000) */
	{ { MEMINFO,
	    { "/proc/self/cgroup", "0::/a/b\n", 0 },
	    { "/sys/fs/cgroup/a/b/memory.max", "50000\n", 0 },
	    { "/sys/fs/cgroup/a/b/memory.current", "30000\n", 0 },
	    { "/sys/fs/cgroup/a/b/memory.stat", "anon 20000\ninactive_file 10000\n", 0 } },
	  30000 },
	/* version 2, a limit on the parent only */
	{ { MEMINFO,
	    { "/proc/self/cgroup", "0::/a/b\n", 0 },
	    { "/sys/fs/cgroup/a/b/memory.max", "max\n", 0 },
	    { "/sys/fs/cgroup/a/b/memory.current", "30000\n", 0 },
	    { "/sys/fs/cgroup/a/memory.max", "40000\n", 0 },
	    { "/sys/fs/cgroup/a/memory.current", "39000\n", 0 } },
	  1000 },
	/* version 2 inside a container: no path, the mount is the group */
	{ { MEMINFO,
	    { "/proc/self/cgroup", "0::/../../x\n", 0 },
	    { "/sys/fs/cgroup/memory.max", "9000\n", 0 },
	    { "/sys/fs/cgroup/memory.current", "8000\n", 0 } },
	  1000 },
	/* already over its limit */
	{ { MEMINFO,
	    { "/proc/self/cgroup", "0::/\n", 0 },
	    { "/sys/fs/cgroup/memory.max", "9000\n", 0 },
	    { "/sys/fs/cgroup/memory.current", "9500\n", 0 } },
	  0 },
	/* version 1 beside other controllers */
	{ { MEMINFO,
	    { "/proc/self/cgroup", "5:cpu,cpuacct:/z\n4:hugetlb,memory:/job\n0::/\n", 0 },
	    { "/sys/fs/cgroup/memory/job/memory.limit_in_bytes", "20000\n", 0 },
	    { "/sys/fs/cgroup/memory/job/memory.usage_in_bytes", "15000\n", 0 },
	    { "/sys/fs/cgroup/memory/job/memory.stat",
	      "inactive_file 9\ntotal_inactive_file 5000\n", 0 } },
	  10000 },
	/* the group has more than the host */
	{ { MEMINFO,
	    { "/proc/self/cgroup", "4:memory:/\n", 0 },
	    { "/sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n", 0 },
	    { "/sys/fs/cgroup/memory/memory.usage_in_bytes", "0\n", 0 } },
	  102400 },
	/* nonsense is skipped */
	{ { MEMINFO,
	    { "/proc/self/cgroup", "\n:\n::\n4:memory\n0::relative\nmemory\n", 0 },
	    { "/sys/fs/cgroup/memory.max", "lots\n", 0 } },
	  102400 },
};

UNIT_TEST(test_trees, "made-up trees")
{
	UNIT_ROWS(row, trees) {
		const char *root = tree_make(row->files);

		CU_ASSERT_EQUAL(host_memory_available(root), row->expected);
		tree_remove();
	}
}

UNIT_TEST(test_here, "this host")
{
	size_t available = host_memory_available("");

	CU_ASSERT(available > 1 << 20);
	CU_ASSERT(available <= (size_t)sysconf(_SC_PHYS_PAGES) * (size_t)sysconf(_SC_PAGESIZE));
}
