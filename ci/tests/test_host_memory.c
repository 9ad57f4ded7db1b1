/* test_host_memory.c: available memory out of made-up /proc and /sys trees. */
#include "unit.h"

#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "host_memory.h"

struct file {
	const char *path, *text;
};

static char root[PATH_MAX / 2];

/* Write the files below root, or remove them and their folders. */
static void make(const struct file *files)
{
	char path[PATH_MAX];

	for (; files->path; files++) {
		FILE *file;

		snprintf(path, sizeof(path), "%s%s", root, files->path);
		for (char *slash = path + strlen(root) + 1; (slash = strchr(slash, '/')); slash++) {
			*slash = '\0';
			mkdir(path, 0700);
			*slash = '/';
		}
		file = fopen(path, "w");
		CU_ASSERT_PTR_NOT_NULL_FATAL(file);
		fputs(files->text, file);
		fclose(file);
	}
}

static void unmake(const struct file *files)
{
	char path[PATH_MAX];

	for (; files->path; files++) {
		snprintf(path, sizeof(path), "%s%s", root, files->path);
		unlink(path);
		for (char *slash; (slash = strrchr(path, '/')) > path + strlen(root); rmdir(path))
			*slash = '\0';
	}
}

#define MEMINFO                                                                                    \
	{                                                                                          \
		"/proc/meminfo", "MemTotal: 999 kB\nMemFree: 1 kB\nMemAvailable:      100 kB\n"    \
	}

static const struct {
	struct file files[8];
	size_t expected;
} trees[] = {
	/* nothing known */
	{ { { NULL, NULL } }, SIZE_MAX },
	/* no cgroup */
	{ { MEMINFO }, 102400 },
	/* version 2, the leaf limits: 50000 - (30000 - 10000) */
	{ { MEMINFO,
	    { "/proc/self/cgroup", "0::/a/b\n" },
	    { "/sys/fs/cgroup/a/b/memory.max", "50000\n" },
	    { "/sys/fs/cgroup/a/b/memory.current", "30000\n" },
	    { "/sys/fs/cgroup/a/b/memory.stat", "anon 20000\ninactive_file 10000\n" } },
	  30000 },
	/* version 2, the parent limits, the leaf has none */
	{ { MEMINFO,
	    { "/proc/self/cgroup", "0::/a/b\n" },
	    { "/sys/fs/cgroup/a/b/memory.max", "max\n" },
	    { "/sys/fs/cgroup/a/b/memory.current", "30000\n" },
	    { "/sys/fs/cgroup/a/memory.max", "40000\n" },
	    { "/sys/fs/cgroup/a/memory.current", "39000\n" } },
	  1000 },
	/* version 2 seen from inside a container: the path does not exist, the mount is the
	 * group */
	{ { MEMINFO,
	    { "/proc/self/cgroup", "0::/../../x\n" },
	    { "/sys/fs/cgroup/memory.max", "9000\n" },
	    { "/sys/fs/cgroup/memory.current", "8000\n" } },
	  1000 },
	/* already over its limit */
	{ { MEMINFO,
	    { "/proc/self/cgroup", "0::/\n" },
	    { "/sys/fs/cgroup/memory.max", "9000\n" },
	    { "/sys/fs/cgroup/memory.current", "9500\n" } },
	  0 },
	/* version 1 beside other controllers */
	{ { MEMINFO,
	    { "/proc/self/cgroup", "5:cpu,cpuacct:/z\n4:hugetlb,memory:/job\n0::/\n" },
	    { "/sys/fs/cgroup/memory/job/memory.limit_in_bytes", "20000\n" },
	    { "/sys/fs/cgroup/memory/job/memory.usage_in_bytes", "15000\n" },
	    { "/sys/fs/cgroup/memory/job/memory.stat",
	      "inactive_file 9\ntotal_inactive_file 5000\n" } },
	  10000 },
	/* the group has more than the host */
	{ { MEMINFO,
	    { "/proc/self/cgroup", "4:memory:/\n" },
	    { "/sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n" },
	    { "/sys/fs/cgroup/memory/memory.usage_in_bytes", "0\n" } },
	  102400 },
	/* nonsense is passed over */
	{ { MEMINFO,
	    { "/proc/self/cgroup", "\n:\n::\n4:memory\n0::relative\nmemory\n" },
	    { "/sys/fs/cgroup/memory.max", "lots\n" } },
	  102400 },
};

static void test_trees(void)
{
	const char *folder = getenv("TMPDIR");

	snprintf(root, sizeof(root), "%s/hangar-memory-%d", folder ? folder : "/tmp", getpid());
	CU_ASSERT_EQUAL_FATAL(mkdir(root, 0700), 0);
	for (size_t i = 0; i < sizeof(trees) / sizeof(trees[0]); i++) {
		make(trees[i].files);
		CU_ASSERT_EQUAL(host_memory_available(root), trees[i].expected);
		unmake(trees[i].files);
	}
	CU_ASSERT_EQUAL(rmdir(root), 0);
}

static void test_here(void)
{
	size_t available = host_memory_available("");

	CU_ASSERT(available > 1 << 20);
	CU_ASSERT(available <= (size_t)sysconf(_SC_PHYS_PAGES) * (size_t)sysconf(_SC_PAGESIZE));
}

int main(void)
{
	static const struct unit_case cases[] = {
		{ "made-up trees", test_trees },
		{ "this host", test_here },
	};

	return unit_main("host_memory", cases, sizeof(cases) / sizeof(cases[0]));
}
