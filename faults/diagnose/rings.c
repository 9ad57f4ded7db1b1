/* rings.c: ring lines out of NCCL's logs. */
#include "rings.h"

#include <dirent.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* "Channel 00/02 :    0   1" and nothing but numbers behind it: the lines of single connections
 * have "0[0] -> 1[1]" there. */
static bool parse_ring(const char *line, struct ring *ring)
{
	const char *at = strstr(line, "Channel ");
	size_t len = 0;
	int skip = 0;

	if (!at || sscanf(at, "Channel %4d/%4d :%n", &ring->channel, &ring->of, &skip) != 2 ||
	    !skip || ring->channel < 0)
		return false;
	for (at += skip; *at && *at != '\n';) {
		size_t digits;

		at += strspn(at, " \t\r");
		digits = strspn(at, "0123456789");
		if (digits == 0)
			break;
		if (len + digits + 8 > sizeof(ring->ranks)) {
			strcpy(ring->ranks + len, " ...");
			return len > 0;
		}
		len += (size_t)sprintf(ring->ranks + len, "%s%.*s", len ? " " : "", (int)digits,
				       at);
		at += digits;
	}
	return len > 0 && (*at == '\0' || *at == '\n');
}

static void add_ring(struct rings *rings, const struct ring *ring)
{
	for (size_t i = 0; i < rings->n; i++)
		if (rings->ring[i].channel == ring->channel && rings->ring[i].of == ring->of &&
		    strcmp(rings->ring[i].ranks, ring->ranks) == 0)
			return;
	if (rings->n < RINGS_MAX)
		rings->ring[rings->n++] = *ring;
}

static void read_log(struct rings *rings, const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	char line[16384];
	size_t bytes = 0;
	struct stat st;
	FILE *f;

	if (fd < 0)
		return;
	f = fstat(fd, &st) == 0 && S_ISREG(st.st_mode) ? fdopen(fd, "r") : NULL;
	if (!f) {
		close(fd);
		return;
	}
	while (bytes < RINGS_LOG_BYTES && fgets(line, sizeof(line), f)) {
		struct ring ring = { 0 };

		if (parse_ring(line, &ring))
			add_ring(rings, &ring);
		bytes += strlen(line) + 1;
	}
	fclose(f);
}

void rings_read(struct rings *rings, const char *dir)
{
	DIR *d = opendir(dir);
	struct dirent *entry;
	char path[4096];

	memset(rings, 0, sizeof(*rings));
	while (d && (entry = readdir(d)) && rings->nlogs < RINGS_LOGS) {
		if (fnmatch("nccl-*.log", entry->d_name, 0) != 0)
			continue;
		rings->nlogs++;
		snprintf(path, sizeof(path), "%s/%s", dir, entry->d_name);
		read_log(rings, path);
	}
	if (d)
		closedir(d);
}
