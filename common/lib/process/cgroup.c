/* cgroup.c: memory cgroups, through their file systems. */
#include "process/cgroup.h"

#include "base/clock.h"
#include "base/file.h"

#define PREFIX "hangar-"

static int file_write(const char *dir, const char *name, const char *text)
{
	char path[CGROUP_PATH + 64];
	size_t len = strlen(text);
	int fd, rc = 0;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	fd = open(path, O_WRONLY | O_CLOEXEC); /* unreadable ones exist */
	if (fd < 0)
		return -errno;
	if (write(fd, text, len) != (ssize_t)len)
		rc = errno ? -errno : -EIO;
	close(fd);
	return rc;
}

static int64_t number(const char *dir, const char *name, const char *key)
{
	char text[8 << 10] = "\n", line[64];

	if (file_text(dir, text + 1, sizeof(text) - 1, "/%s", name) <= 0)
		return -1;
	snprintf(line, sizeof(line), "\n%s ", key);
	return *key ? file_behind(text, line) : file_count(text + 1);
}

static bool has(const char *dir, const char *name)
{
	char path[CGROUP_PATH + 64];

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	return access(path, F_OK) == 0;
}

/* Parses lines of /proc/PID/cgroup: "4:memory:/path", and "0::/path" of version 2, which has no
 * memory controller if version 1 has it. The first *base characters of the path are the mount
 * point. In a container, whose folder does not exist, its own cgroup is the mount point. */
static int find(const char *root, const char *process, char *path, size_t len, size_t *base,
		bool *v2)
{
	char text[16 << 10], *rest = text, *line, list[256];
	const char *place = "";

	*v2 = true;
	file_text(root, text, sizeof(text), "/proc/%s/cgroup", process);
	while (*v2 && (line = strsep(&rest, "\n"))) {
		char *names = strchr(line, ':'), *at = names ? strchr(names + 1, ':') : NULL;

		if (!at)
			continue;
		*at++ = '\0';
		snprintf(list, sizeof(list), ",%s,", names + 1);
		*v2 = !strstr(list, ",memory,");
		if (!*v2 || !names[1])
			place = at[0] == '/' && at[1] && !strstr(at, "..") ? at : "";
	}
	*base = (size_t)snprintf(path, len, "%s/sys/fs/cgroup%s", root, *v2 ? "" : "/memory");
	if (*base + strlen(place) >= len)
		return -ENAMETOOLONG;
	strcpy(path + *base, place);
	if (access(path, F_OK) < 0)
		path[*base] = '\0';
	return access(path, F_OK) == 0 ? 0 : -ENOENT;
}

int cgroup_of(pid_t pid, char *path, size_t len)
{
	char process[16];
	size_t base;
	bool v2;

	snprintf(process, sizeof(process), "%d", (int)pid);
	return find("", process, path, len, &base, &v2);
}

/* Makes a cgroup below `parent`; -EAGAIN: no limit. A kill behind the link leaves that alone. */
static int make_below(struct cgroup *cgroup, const char *parent, const char *name)
{
	int n = snprintf(cgroup->path, sizeof(cgroup->path), "%s/" PREFIX "%u-%d-%s", parent,
			 (unsigned)geteuid(), (int)getpid(), name);
	int rc;

	if ((size_t)n >= sizeof(cgroup->path))
		return -ENAMETOOLONG;
	if (cgroup->link[0] && symlink(cgroup->path, cgroup->link) < 0)
		return -errno;
	rc = mkdir(cgroup->path, 0700) < 0 ? -errno : 0;
	if (rc == 0 && !has(cgroup->path, "memory.limit_in_bytes") &&
	    !has(cgroup->path, "memory.max")) {
		rmdir(cgroup->path);
		rc = -EAGAIN;
	}
	if (rc < 0 && cgroup->link[0])
		unlink(cgroup->link);
	return rc;
}

int cgroup_make(struct cgroup *cgroup, const char *name, const char *run)
{
	char parent[CGROUP_PATH];
	size_t base = 0;
	bool v2;
	int rc;

	memset(cgroup, 0, sizeof(*cgroup));
	rc = find("", "self", parent, sizeof(parent), &base, &v2);
	if (rc < 0)
		return rc;
	if (run)
		snprintf(cgroup->link, sizeof(cgroup->link), "%s/cgroup-%d", run, (int)getpid());
	for (;;) {
		rc = make_below(cgroup, parent, name);
		/* in version 2 only a group without processes hands its controllers down */
		if (rc == 0 || !v2 || strlen(parent) <= base)
			break;
		*strrchr(parent, '/') = '\0';
	}
	if (rc < 0)
		memset(cgroup, 0, sizeof(*cgroup));
	return rc;
}

int cgroup_enter(const char *path)
{
	return file_write(path, "cgroup.procs", "0");
}

int cgroup_limit(const char *path, size_t room)
{
	bool v2 = has(path, "memory.max");
	int64_t used = number(path, v2 ? "memory.current" : "memory.usage_in_bytes", "");
	char text[32];

	if (used < 0)
		return -ENOENT;
	snprintf(text, sizeof(text), "%ld", used + (int64_t)room);
	/* without swap these files may not exist, and nothing is to be done */
	if (v2)
		file_write(path, "memory.swap.max", "0");
	else
		file_write(path, "memory.swappiness", "0");
	return file_write(path, v2 ? "memory.max" : "memory.limit_in_bytes", text);
}

int64_t cgroup_oom_kills(const char *path)
{
	int64_t kills = number(path, "memory.events", "oom_kill");

	return kills >= 0 ? kills : number(path, "memory.oom_control", "oom_kill");
}

/* Returns 0 once the folder is gone. rmdir refuses a cgroup in use; its files stay. */
static int remove_path(const char *path)
{
	const char *name = strrchr(path, '/');

	if (!name || strncmp(name + 1, PREFIX, strlen(PREFIX)) != 0)
		return 0;
	return rmdir(path) == 0 || errno == ENOENT || errno == ENOTDIR || errno == ENOTEMPTY
		       ? 0
		       : -errno;
}

void cgroup_remove(struct cgroup *cgroup)
{
	for (int tries = 0; cgroup->path[0] && tries < 100; tries++) {
		if (remove_path(cgroup->path) == 0)
			break;
		clock_sleep(0.01);
	}
	if (cgroup->link[0])
		unlink(cgroup->link);
	memset(cgroup, 0, sizeof(*cgroup));
}

int cgroup_remove_link(const char *link)
{
	char path[CGROUP_PATH];
	ssize_t n = readlink(link, path, sizeof(path) - 1);

	if (n < 0)
		return 0;
	path[n] = '\0';
	return remove_path(path);
}

/* Returns the free bytes of one cgroup; page cache that can be dropped counts as free. */
static size_t group_left(const char *dir, bool v2)
{
	int64_t limit = number(dir, v2 ? "memory.max" : "memory.limit_in_bytes", "");
	int64_t usage = number(dir, v2 ? "memory.current" : "memory.usage_in_bytes", "");
	int64_t cache = number(dir, "memory.stat", v2 ? "inactive_file" : "total_inactive_file");

	if (limit < 0 || usage < 0)
		return SIZE_MAX;
	if (cache > 0 && cache <= usage)
		usage -= cache;
	return limit > usage ? (size_t)(limit - usage) : 0;
}

/* The minimum over a cgroup and all its ancestors up to the mount. */
size_t host_memory_available(const char *root)
{
	char dir[CGROUP_PATH];
	size_t base = 0, left, least = SIZE_MAX;
	int64_t kib;
	bool v2;

	snprintf(dir, sizeof(dir), "%s/proc", root);
	kib = number(dir, "meminfo", "MemAvailable:");
	if (kib >= 0)
		least = (size_t)kib * 1024;
	if (find(root, "self", dir, sizeof(dir), &base, &v2) < 0)
		return least;
	for (;;) {
		left = group_left(dir, v2);
		least = left < least ? left : least;
		if (strlen(dir) <= base)
			return least;
		*strrchr(dir, '/') = '\0';
	}
}
