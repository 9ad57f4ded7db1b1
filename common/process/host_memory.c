/* host_memory.c: MemAvailable and cgroup limits. */
#include "process/host_memory.h"

#include "process/cgroup.h"

/* Returns what one cgroup has left; page cache that can be dropped counts as free. */
static size_t group_left(const char *dir, bool v2)
{
	int64_t limit = cgroup_number(dir, v2 ? "memory.max" : "memory.limit_in_bytes", "");
	int64_t usage = cgroup_number(dir, v2 ? "memory.current" : "memory.usage_in_bytes", "");
	int64_t cache =
		cgroup_number(dir, "memory.stat", v2 ? "inactive_file" : "total_inactive_file");

	if (limit < 0 || usage < 0)
		return SIZE_MAX;
	if (cache > 0 && cache <= usage)
		usage -= cache;
	return limit > usage ? (size_t)(limit - usage) : 0;
}

/* The least of a cgroup and all above it, up to the mount. */
size_t host_memory_available(const char *root)
{
	char dir[CGROUP_PATH];
	size_t base = 0, left, least = SIZE_MAX;
	int64_t kib;
	bool v2;

	snprintf(dir, sizeof(dir), "%s/proc", root);
	kib = cgroup_number(dir, "meminfo", "MemAvailable:");
	if (kib >= 0)
		least = (size_t)kib * 1024;
	if (cgroup_find(root, dir, sizeof(dir), &base, &v2) < 0)
		return least;
	for (;;) {
		left = group_left(dir, v2);
		least = left < least ? left : least;
		if (strlen(dir) <= base)
			return least;
		*strrchr(dir, '/') = '\0';
	}
}
