/* host_memory.c: MemAvailable and cgroup limits. */
#include "process/host_memory.h"

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* File names of the two cgroup versions. */
struct layout {
	const char *mount, *limit, *usage, *cache;
};

static const struct layout layout_v1 = {
	.mount = "/sys/fs/cgroup/memory",
	.limit = "memory.limit_in_bytes",
	.usage = "memory.usage_in_bytes",
	.cache = "total_inactive_file ",
};

static const struct layout layout_v2 = {
	.mount = "/sys/fs/cgroup",
	.limit = "memory.max",
	.usage = "memory.current",
	.cache = "inactive_file ",
};

/* The number after `key` at the start of a line (key "": the first line). False when there is
 * none. */
static bool read_number(const char *path, const char *key, unsigned long long *value)
{
	char line[256];
	bool found = false;
	FILE *file = fopen(path, "re");

	if (!file)
		return false;
	while (!found && fgets(line, sizeof(line), file))
		found = strncmp(line, key, strlen(key)) == 0 &&
			sscanf(line + strlen(key), "%llu", value) == 1;
	fclose(file);
	return found;
}

/* Returns what one cgroup has left; page cache that can be dropped counts as free. */
static size_t group_left(const char *dir, const struct layout *layout)
{
	unsigned long long limit, usage, cache;
	char path[PATH_MAX + 64];

	snprintf(path, sizeof(path), "%s/%s", dir, layout->limit);
	if (!read_number(path, "", &limit))
		return SIZE_MAX;
	snprintf(path, sizeof(path), "%s/%s", dir, layout->usage);
	if (!read_number(path, "", &usage))
		return SIZE_MAX;
	snprintf(path, sizeof(path), "%s/memory.stat", dir);
	if (!read_number(path, layout->cache, &cache) || cache > usage)
		cache = 0;
	usage -= cache;
	return limit > usage ? limit - usage : 0;
}

/* The minimum of a cgroup and all above it, up to the mount. */
static size_t path_left(const char *root, const char *group, const struct layout *layout)
{
	size_t left, min = SIZE_MAX;
	char dir[PATH_MAX];
	size_t mount;
	int len;

	mount = strlen(root) + strlen(layout->mount);
	len = snprintf(dir, sizeof(dir), "%s%s%s", root, layout->mount, group);
	if (len < 0 || (size_t)len >= sizeof(dir))
		return SIZE_MAX;
	for (;;) {
		left = group_left(dir, layout);
		min = left < min ? left : min;
		if (strlen(dir) <= mount)
			return min;
		*strrchr(dir, '/') = '\0';
	}
}

/* A line of /proc/self/cgroup is ID:CONTROLLERS:PATH; version 2 has no controllers. */
static size_t line_left(const char *root, char *line)
{
	char *controllers = strchr(line, ':');
	char *group = controllers ? strchr(controllers + 1, ':') : NULL;
	char *save = NULL;

	if (!group)
		return SIZE_MAX;
	*controllers++ = *group++ = '\0';
	group[strcspn(group, "\n")] = '\0';
	if (group[0] != '/' || strstr(group, ".."))
		group[0] = '\0';
	if (!*controllers)
		return path_left(root, group, &layout_v2);
	for (char *name = strtok_r(controllers, ",", &save); name;
	     name = strtok_r(NULL, ",", &save))
		if (strcmp(name, "memory") == 0)
			return path_left(root, group, &layout_v1);
	return SIZE_MAX;
}

size_t host_memory_available(const char *root)
{
	unsigned long long kib;
	size_t min = SIZE_MAX, left, room = 0;
	char path[PATH_MAX], *line = NULL;
	FILE *file;

	snprintf(path, sizeof(path), "%s/proc/meminfo", root);
	if (read_number(path, "MemAvailable:", &kib))
		min = (size_t)kib * 1024;
	snprintf(path, sizeof(path), "%s/proc/self/cgroup", root);
	file = fopen(path, "re");
	while (file && getline(&line, &room, file) > 0) {
		left = line_left(root, line);
		min = left < min ? left : min;
	}
	free(line);
	if (file)
		fclose(file);
	return min;
}
