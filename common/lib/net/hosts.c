/* hosts.c: lists of hosts of Slurm and Open MPI, and a connection to one that may not answer. */
#include "net/hosts.h"

#include <netdb.h>
#include <netinet/tcp.h>

#include "base/error.h"
#include "base/parse.h"
#include "net/uplink.h"
#include "settings/rank_groups.h"

#define FIRST_PORT 20000 /* below the kernel's own: no outgoing connection has it */
#define PORTS	   12000
#define SMALL	   500 /* bytes of a segment: hosts meet where larger packets are lost, and say so */
#define CONNECT_MS 1000

static void add_host(char *list, size_t len, const char *host)
{
	size_t n = strlen(host);

	for (const char *at = list; n && (at = strstr(at, host)); at += n)
		if ((at == list || at[-1] == ' ') && strchr(" ", at[n]))
			return;
	if (n)
		text_add(list, len, "%s%s", *list ? " " : "", host);
}

/* "node[01-03,5]x", or with a number of digits before: "node[2:1-3]x". */
static void add_range(char *list, size_t len, const char *word)
{
	size_t prefix = strcspn(word, "[");
	const char *at = word + prefix + 1, *end = strchr(word, ']');
	int width = 0, from, to, n, digits;
	char host[256];

	if (!end) {
		add_host(list, len, word);
		return;
	}
	if (sscanf(at, "%d:%n", &width, &n) == 1 && at[strspn(at, "0123456789")] == ':')
		at += n;
	else
		width = -1;
	while (at < end && sscanf(at, "%d%n", &from, &n) == 1) {
		digits = width >= 0 ? width : n;
		at += n;
		to = from;
		if (*at == '-' && sscanf(at, "-%d%n", &to, &n) == 1)
			at += n;
		for (; from <= to && strlen(list) + 300 < len; from++) {
			snprintf(host, sizeof(host), "%.*s%0*d%.100s", (int)prefix, word, digits,
				 from, end + 1);
			add_host(list, len, host);
		}
		at += *at == ',';
	}
}

/* Commas inside of brackets belong to a word. */
void hosts_add(char *list, size_t len, const char *text)
{
	char word[512];

	while (text && *text && *text != '@') {
		size_t n = 0;
		bool inside = false;

		for (; text[n] && ((text[n] != ',' && text[n] != '@') || inside); n++)
			inside = text[n] == '[' || (inside && text[n] != ']');
		snprintf(word, sizeof(word), "%.*s", (int)n, text);
		add_range(list, len, word);
		text += n + (text[n] == ',');
	}
}

/* The address of mpirun's own host, where rank 0 often is. */
static void add_uri(char *list, size_t len, const char *uri)
{
	const char *at = uri ? strstr(uri, "tcp://") : NULL;
	char host[512];

	if (!at)
		return;
	snprintf(host, sizeof(host), "%.*s", (int)strcspn(at + 6, ":"), at + 6);
	hosts_add(list, len, host);
}

void hosts_listed(char *const *environment, char *list, size_t len)
{
	const char *slurm = environment_get(environment, "SLURM_STEP_NODELIST");

	list[0] = '\0';
	hosts_add(list, len, slurm ? slurm : environment_get(environment, "SLURM_JOB_NODELIST"));
	hosts_add(list, len, environment_get(environment, "OMPI_MCA_orte_node_regex"));
	add_uri(list, len, environment_get(environment, "OMPI_MCA_orte_hnp_uri"));
	hosts_add(list, len, environment_get(environment, "MASTER_ADDR"));
}

int hosts_port(const char *text)
{
	return FIRST_PORT + (int)(rank_groups_value(text) % PORTS);
}

void hosts_send_small(int fd)
{
	setsockopt(fd, IPPROTO_TCP, TCP_MAXSEG, &(int){ SMALL }, sizeof(int));
}

/* Waits for one connection that is being made. */
static int await_connection(int fd, const struct addrinfo *to)
{
	struct pollfd p = { .fd = fd, .events = POLLOUT };

	if (connect(fd, to->ai_addr, to->ai_addrlen) == 0)
		return 0;
	return errno != EINPROGRESS	      ? -errno
	       : poll(&p, 1, CONNECT_MS) == 1 ? uplink_connected(fd)
					      : -ETIMEDOUT;
}

int hosts_connect(const char *host, int port, bool small)
{
	const struct addrinfo hints = { .ai_socktype = SOCK_STREAM };
	struct addrinfo *list;
	char text[16];
	int rc = -EADDRNOTAVAIL;

	snprintf(text, sizeof(text), "%d", port);
	if (getaddrinfo(host, text, &hints, &list) != 0)
		return rc;
	for (struct addrinfo *i = list; i && rc < 0; i = i->ai_next) {
		int fd = socket(i->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

		rc = fd < 0 ? -errno : 0;
		if (rc == 0 && small)
			hosts_send_small(fd);
		if (rc == 0)
			rc = await_connection(fd, i);
		rc = rc < 0 ? rc : fd;
		if (rc < 0 && fd >= 0)
			close(fd);
	}
	freeaddrinfo(list);
	return rc;
}
