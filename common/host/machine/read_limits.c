/* read_limits.c: what a job meets before its first call: this host's name, the interface that NCCL
 * is told to use, limits of memory and open files. */
#include <ifaddrs.h>
#include <net/if.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/resource.h>
#include <sys/utsname.h>

#include "base/error.h"
#include "base/file.h"
#include "machine/read.h"
#include "process/cgroup.h"

static bool is_loopback(const struct sockaddr *address)
{
	const struct sockaddr_in *four = (const struct sockaddr_in *)address;
	const struct sockaddr_in6 *six = (const struct sockaddr_in6 *)address;

	return address->sa_family == AF_INET ? ntohl(four->sin_addr.s_addr) >> 24 == 127
					     : IN6_IS_ADDR_LOOPBACK(&six->sin6_addr) ||
						       (IN6_IS_ADDR_V4MAPPED(&six->sin6_addr) &&
							six->sin6_addr.s6_addr[12] == 127);
}

/* The first address that programs get for this host's name. */
static void read_name(struct reading *m)
{
	const struct addrinfo hints = { .ai_socktype = SOCK_STREAM };
	char name[256] = "", text[INET6_ADDRSTRLEN] = "";
	struct addrinfo *list;
	int rc;

	gethostname(name, sizeof(name) - 1);
	reading_say(m, "name", "name", name);
	rc = getaddrinfo(name, NULL, &hints, &list);
	reading_state(m, "name", "unresolved", rc != 0);
	if (rc != 0)
		return;
	getnameinfo(list->ai_addr, list->ai_addrlen, text, sizeof(text), NULL, 0, NI_NUMERICHOST);
	reading_say(m, "name", "address", text);
	reading_state(m, "name", "loopback", is_loopback(list->ai_addr));
	freeaddrinfo(list);
}

/* As NCCL reads NCCL_SOCKET_IFNAME: "eth,ib" are beginnings, "=eth0" whole names, "^lo" all but these. */
static bool is_wanted(const char *list, const char *name)
{
	bool not = *list == '^', whole = *list == '=', found = false;
	size_t n;

	for (list += not || whole; *list; list += n + (list[n] == ',')) {
		n = strcspn(list, ",:");
		found = found || (strncmp(list, name, n) == 0 && (!whole || !name[n]));
		n = strcspn(list, ",");
	}
	return found != not ;
}

bool choose_interface(const char *wanted, struct sockaddr_storage *address, char *name, size_t len,
		      bool *loopback)
{
	struct ifaddrs *list = NULL, *best = NULL;
	int most = 0;

	if (getifaddrs(&list) < 0)
		return false;
	for (struct ifaddrs *i = list; i; i = i->ifa_next) {
		int family = i->ifa_addr && i->ifa_flags & IFF_UP ? i->ifa_addr->sa_family : 0;
		bool lo = i->ifa_flags & IFF_LOOPBACK;
		/* NCCL takes neither by itself where there is another */
		bool last = lo || strncmp(i->ifa_name, "docker", 6) == 0;
		int worth = (family == AF_INET) + 2 * !last + 1;

		if ((family != AF_INET && family != AF_INET6) || worth <= most ||
		    (family == AF_INET6 &&
		     IN6_IS_ADDR_LINKLOCAL(&((struct sockaddr_in6 *)i->ifa_addr)->sin6_addr)) ||
		    (wanted && !is_wanted(wanted, i->ifa_name)))
			continue;
		most = worth;
		best = i;
		*loopback = lo;
	}
	if (best) {
		memcpy(address, best->ifa_addr,
		       best->ifa_addr->sa_family == AF_INET ? sizeof(struct sockaddr_in)
							    : sizeof(struct sockaddr_in6));
		snprintf(name, len, "%s", best->ifa_name);
	}
	freeifaddrs(list);
	return best != NULL;
}

static void read_wanted(struct reading *m)
{
	const char *wanted = getenv("NCCL_SOCKET_IFNAME");
	struct sockaddr_storage address;
	char name[IFNAMSIZ] = "", names[128] = "";
	bool loopback = false;
	struct ifaddrs *list = NULL;
	bool found = choose_interface(wanted, &address, name, sizeof(name), &loopback);

	reading_say(m, "interface", "wanted", wanted ? wanted : "not set");
	reading_state(m, "interface", "matched", found);
	reading_state(m, "interface", "loopback_chosen", found && loopback);
	reading_say(m, "interface", "name", name);
	if (getifaddrs(&list) < 0)
		return;
	for (struct ifaddrs *i = list; i; i = i->ifa_next)
		if (i->ifa_flags & IFF_UP && i->ifa_addr && i->ifa_addr->sa_family == AF_INET)
			text_add(names, sizeof(names), "%s%s", *names ? ", " : "", i->ifa_name);
	reading_say(m, "interface", "there", names);
	freeifaddrs(list);
}

/* A limit as a number and, to be set beside other hosts', in words. */
static void put_limit(struct reading *m, const char *part, const char *name, rlim_t value,
		      rlim_t unit)
{
	char text[32] = "unlimited", words[32];

	if (value != RLIM_INFINITY)
		snprintf(text, sizeof(text), "%llu", (unsigned long long)(value / unit));
	snprintf(words, sizeof(words), "%s_text", name);
	reading_say(m, part, words, text);
	reading_state(m, part, name,
		      value == RLIM_INFINITY || value / unit > INT64_MAX ? INT64_MAX
									 : (int64_t)(value / unit));
}

/* Version 2 alone. Pages of files are given back when memory is short, and count as room. */
static void read_cgroup(const struct read_request *request, struct reading *m)
{
	static const char *const kept[] = { "\nactive_file ", "\ninactive_file " };
	char folder[CGROUP_PATH], text[4096] = "";
	int64_t most, used;

	if (cgroup_of(getpid(), folder, sizeof(folder)) < 0 ||
	    file_text(request->root, text, sizeof(text), "%s/memory.max", folder) <= 0 ||
	    strncmp(text, "max", 3) == 0)
		return;
	most = file_count(text);
	if (file_text(request->root, text, sizeof(text), "%s/memory.current", folder) <= 0)
		return;
	used = file_count(text);
	if (file_text(request->root, text, sizeof(text), "%s/memory.stat", folder) <= 0)
		return;
	for (size_t i = 0; i < 2; i++) {
		const char *at = strstr(text, kept[i]);

		used -= at ? file_count(at + strlen(kept[i])) : 0;
	}
	reading_state(m, "cgroup", "max_mib", most >> 20);
	reading_state(m, "cgroup", "left_mib", most > used ? (most - used) >> 20 : 0);
}

/* RDMA ports as one text, to be set beside other hosts', and how many are up. */
static int read_verbs(struct reading *m, int *up)
{
	char text[400] = "";
	const char *part;
	size_t at = 0;
	int n = 0;

	while ((part = reading_next(m, "rdma", &at))) {
		const char *state = reading_text(m, part, "state");

		if (reading_value(m, part, "rdma") != 1)
			continue;
		*up += strcmp(state, "up") == 0;
		text_add(text, sizeof(text), "%s%s %d Gbit/s %s", n++ ? ", " : "",
			 reading_text(m, part, "link"),
			 (int)(reading_value(m, part, "mbps") / 1000), state);
	}
	reading_say(m, "RDMA ports", "verbs_text", n ? text : "none");
	return n;
}

/* Ways of NICs to the memory of GPUs: a module, or the driver's open modules with Linux 5.12. */
static void read_direct(const char *root, int up, struct reading *m)
{
	char driver[256], release[64] = "";
	int major = 0, minor = 0, peermem = reading_value(m, "kernel", "peermem") == 1;

	if (up == 0 || file_text(root, driver, sizeof(driver), "/proc/driver/nvidia/version") <= 0)
		return;
	file_text(root, release, sizeof(release), "/proc/sys/kernel/osrelease");
	sscanf(release, "%d.%d", &major, &minor);
	reading_state(m, "GPUDirect RDMA", "peermem", peermem);
	reading_state(m, "GPUDirect RDMA", "ways",
		      peermem + (strstr(driver, "Open Kernel Module") &&
				 (major > 5 || (major == 5 && minor >= 12))));
}

void read_limits(const struct read_request *request, struct reading *m)
{
	struct rlimit locked, files;
	struct utsname system;
	int up = 0, rdma = read_verbs(m, &up);

	read_direct(request->root, up, m);
	read_name(m);
	read_wanted(m);
	if (getrlimit(RLIMIT_MEMLOCK, &locked) == 0) {
		put_limit(m, "locked memory", "memlock_kib", locked.rlim_cur, 1024);
		reading_state(m, "locked memory", "rdma_ports", rdma);
	}
	if (getrlimit(RLIMIT_NOFILE, &files) == 0)
		put_limit(m, "open files", "nofile", files.rlim_max, 1);
	read_cgroup(request, m);
	if (uname(&system) == 0)
		reading_say(m, "kernel release", "release", system.release);
}
