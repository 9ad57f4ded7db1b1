/* sockets.c: /proc/PID/fd lists a process' sockets, /proc/PID/net/tcp the state of all. */
#include "net/sockets.h"

#include <arpa/inet.h>
#include <dirent.h>

#include "base/error.h"

enum { ESTABLISHED = 1, SYN_SENT = 2, LISTEN = 10 };

struct inodes {
	unsigned long *all; /* sorted; owned */
	size_t n;
};

static int by_number(const void *a, const void *b)
{
	unsigned long x = *(const unsigned long *)a, y = *(const unsigned long *)b;

	return (x > y) - (x < y);
}

static struct inodes inodes_of(const char *root, int pid)
{
	struct inodes found = { NULL, 0 };
	char path[300], link[64];
	struct dirent *entry;
	DIR *dir;

	snprintf(path, sizeof(path), "%s/proc/%d/fd", root, pid);
	dir = opendir(path);
	while (dir && (entry = readdir(dir))) {
		ssize_t n = readlinkat(dirfd(dir), entry->d_name, link, sizeof(link) - 1);
		unsigned long inode;

		link[n > 0 ? n : 0] = '\0';
		if (sscanf(link, "socket:[%lu]", &inode) != 1)
			continue;
		found.all = must(realloc(found.all, (found.n + 1) * sizeof(*found.all)));
		found.all[found.n++] = inode;
	}
	if (dir)
		closedir(dir);
	if (found.n > 1)
		qsort(found.all, found.n, sizeof(*found.all), by_number);
	return found;
}

/* Converts "0200000A", or four such words, in host order. False: loopback and any-address. */
static bool address_text(const char *hex, char *text, size_t len)
{
	struct in6_addr a = IN6ADDR_ANY_INIT;
	size_t words = strlen(hex) / 8;
	struct in_addr v4;

	for (size_t i = 0; i < words && i < 4; i++)
		sscanf(hex + 8 * i, "%8x", &a.s6_addr32[i]);
	if (words == 4 && !IN6_IS_ADDR_V4MAPPED(&a)) {
		inet_ntop(AF_INET6, &a, text, (socklen_t)len);
		return !IN6_IS_ADDR_LOOPBACK(&a) && !IN6_IS_ADDR_UNSPECIFIED(&a);
	}
	v4.s_addr = a.s6_addr32[words == 4 ? 3 : 0];
	inet_ntop(AF_INET, &v4, text, (socklen_t)len);
	return v4.s_addr != 0 && ntohl(v4.s_addr) >> 24 != IN_LOOPBACKNET;
}

static void add_address(struct sockets *s, const char *address)
{
	if (!sockets_has(s, address) &&
	    strlen(s->addresses) + strlen(address) + 2 <= sizeof(s->addresses))
		text_add(s->addresses, sizeof(s->addresses), "%s%s", *s->addresses ? " " : "",
			 address);
}

static void take_line(struct sockets *s, const struct inodes *own, const char *line)
{
	char local[33], remote[33], address[46];
	unsigned port, state, resends;
	unsigned long inode;

	if (sscanf(line, " %*d: %32[0-9A-F]:%*x %32[0-9A-F]:%x %x %*x:%*x %*x:%*x %x %*d %*d %lu",
		   local, remote, &port, &state, &resends, &inode) != 6 ||
	    (state != ESTABLISHED && state != SYN_SENT && state != LISTEN) || own->n == 0 ||
	    !bsearch(&inode, own->all, own->n, sizeof(inode), by_number))
		return;
	if (address_text(local, address, sizeof(address)))
		add_address(s, address);
	if (state == LISTEN || (int)resends <= s->resends ||
	    !address_text(remote, address, sizeof(address)))
		return;
	snprintf(s->peer, sizeof(s->peer), "%s", address);
	s->port = (int)port;
	s->resends = resends > 99 ? 99 : (int)resends;
}

void sockets_read(struct sockets *sockets, const char *root, int pid)
{
	static const char *const tables[] = { "tcp", "tcp6" };
	struct inodes own = inodes_of(root, pid);
	char path[300], line[512];

	memset(sockets, 0, sizeof(*sockets));
	for (size_t i = 0; i < LENGTH(tables); i++) {
		FILE *file;

		snprintf(path, sizeof(path), "%s/proc/%d/net/%s", root, pid, tables[i]);
		file = fopen(path, "re");
		while (file && fgets(line, sizeof(line), file))
			take_line(sockets, &own, line);
		if (file)
			fclose(file);
	}
	free(own.all);
}

bool sockets_has(const struct sockets *sockets, const char *address)
{
	size_t n = strlen(address);

	for (const char *at = sockets->addresses; n > 0 && (at = strstr(at, address)); at += n)
		if ((at == sockets->addresses || at[-1] == ' ') && (at[n] == ' ' || at[n] == '\0'))
			return true;
	return false;
}
