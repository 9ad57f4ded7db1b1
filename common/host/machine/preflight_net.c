/* preflight_net.c: ports, packets of full size, loss, latency and bandwidth between two hosts. */
#include "machine/preflight_net.h"

#include <ifaddrs.h>
#include <linux/tcp.h>
#include <net/if.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/resource.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/file.h"
#include "base/parse.h"
#include "machine/read.h"

#define GREETING     "hangar!\n" /* what a listener says first: the way back is open, and it is ours */
#define CONNS	     512
#define BLOCK	     (64 << 10)
#define TRY_SECONDS  2.0	   /* for a connection: SYNs at 0 and 1 s */
#define TRIES	     3		   /* a SYN may be lost */
#define RANGE	     3		   /* so many silent ports in a row are no loss */
#define PINGS	     200	   /* datagrams */
#define FLYING	     10		   /* of these at once: no buffer overflows */
#define LATE_NS	     1000000000ull /* an answer that takes longer is lost */
#define FULL	     5		   /* packets of full size in a row */
#define STREAMS	     4
#define LONG_SECONDS 1.0
#define LITTLE_MBIT  1000  /* less is looked at more closely */
#define STREAMS_MBIT 20000 /* a faster NIC takes more than a few streams */

/* ---- listening ---- */

static socklen_t to_address(const struct preflight_peer *peer, int port,
			    struct sockaddr_storage *address)
{
	const struct addrinfo hints = { .ai_socktype = SOCK_STREAM,
					.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV };
	struct addrinfo *list;
	socklen_t len;
	char text[16];

	snprintf(text, sizeof(text), "%d", port);
	if (getaddrinfo(peer->address, text, &hints, &list) != 0)
		return 0;
	len = list->ai_addrlen;
	memcpy(address, list->ai_addr, len);
	freeaddrinfo(list);
	return len;
}

/* A socket on this port, or on one of the next ones. Returns the descriptor, or -1. */
static int open_port(const struct preflight_peer *peer, int type, int *port, int most)
{
	struct sockaddr_storage address;

	for (int i = 0; i < most; i++, ++*port) {
		socklen_t len = to_address(peer, *port, &address);
		int fd = len ? socket(address.ss_family, type | SOCK_NONBLOCK | SOCK_CLOEXEC, 0)
			     : -1;

		if (fd >= 0 && type == SOCK_STREAM)
			setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &(int){ 1 }, sizeof(int));
		if (fd >= 0 && bind(fd, (struct sockaddr *)&address, len) == 0 &&
		    (type == SOCK_DGRAM || listen(fd, 64) == 0))
			return fd;
		if (fd < 0)
			return -1;
		close(fd);
	}
	return -1;
}

/* Datagrams: their first bytes go back, so that a large one needs the way here alone. */
static void answer_datagrams(int fd, char *block)
{
	struct sockaddr_storage from;
	socklen_t len = sizeof(from);
	ssize_t n;

	while ((n = recvfrom(fd, block, BLOCK, 0, (struct sockaddr *)&from, &len)) > 0) {
		sendto(fd, block, n < 64 ? (size_t)n : 64, 0, (struct sockaddr *)&from, len);
		len = sizeof(from);
	}
}

static _Noreturn void answer(const int *listeners, int n, int datagrams)
{
	static struct pollfd fds[PREFLIGHT_PORTS + PREFLIGHT_MEETING + 1 + CONNS];
	static char block[BLOCK];
	int conns = 0, first = n + 1;

	for (int i = 0; i <= n; i++)
		fds[i] = (struct pollfd){ i < n ? listeners[i] : datagrams, POLLIN, 0 };
	while (poll(fds, (nfds_t)(first + conns), -1) >= 0 || errno == EINTR) {
		for (int i = conns - 1; i >= 0; i--) {
			ssize_t got = fds[first + i].revents
					      ? recv(fds[first + i].fd, block, BLOCK, MSG_DONTWAIT)
					      : 1; /* what comes is forgotten */

			if (got > 0 || (got < 0 && (errno == EAGAIN || errno == EINTR)))
				continue;
			close(fds[first + i].fd);
			fds[first + i] = fds[first + --conns];
		}
		answer_datagrams(datagrams, block);
		for (int i = 0; i < n; i++) {
			int fd = fds[i].revents ? accept4(fds[i].fd, NULL, NULL, SOCK_CLOEXEC) : -1;

			if (fd < 0)
				continue;
			if (conns == CONNS ||
			    send(fd, GREETING, strlen(GREETING), MSG_NOSIGNAL) < 0) {
				close(fd);
				continue;
			}
			fds[first + conns++] = (struct pollfd){ fd, POLLIN, 0 };
		}
	}
	_exit(0);
}

/* MTU and speed of the interface with this peer's address. A device of the kernel's own, as veth, states a speed that means
 * nothing. */
static void find_interface(struct preflight_peer *peer)
{
	struct sockaddr_storage mine;
	struct ifaddrs *list;
	struct ifreq request = { .ifr_mtu = 0 };
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	socklen_t len = to_address(peer, 0, &mine);

	char device[96];
	int64_t speed;

	if (getifaddrs(&list) < 0)
		return;
	for (struct ifaddrs *i = list; i; i = i->ifa_next)
		if (len && i->ifa_addr && i->ifa_addr->sa_family == mine.ss_family &&
		    memcmp(i->ifa_addr, &mine, mine.ss_family == AF_INET ? 8 : 24) == 0)
			snprintf(request.ifr_name, IFNAMSIZ, "%s", i->ifa_name);
	freeifaddrs(list);
	if (!request.ifr_name[0] || ioctl(fd, SIOCGIFMTU, &request) < 0)
		request.ifr_mtu = 0;
	peer->mtu = request.ifr_mtu;
	snprintf(device, sizeof(device), "/sys/class/net/%s/device", request.ifr_name);
	speed = request.ifr_name[0] && access(device, F_OK) == 0
			? file_number("", "/sys/class/net/%s/speed", request.ifr_name)
			: 0;
	peer->mbps = speed > 0 && speed < INT_MAX ? (int)speed : 0;
	close(fd);
}

bool preflight_meeting_ports(char *const *environment, int ports[PREFLIGHT_MEETING], int *n)
{
	const char *id = environment_get(environment, "NCCL_COMM_ID");
	int given[] = { environment_number(environment, "MASTER_PORT", 0),
			id && strrchr(id, ':') ? atoi(strrchr(id, ':') + 1) : 0 };

	*n = 0;
	for (size_t i = 0; i < 2; i++)
		if (given[i] > 0 && given[i] < 65536 && (*n == 0 || given[i] != ports[0]))
			ports[(*n)++] = given[i];
	if (environment_get(environment, "TORCHELASTIC_RUN_ID"))
		*n = 0;
	else if (*n == 0)
		ports[(*n)++] = 29500, ports[(*n)++] = 29400;
	return given[0] > 0 || given[1] > 0;
}

pid_t preflight_listen(struct preflight_peer *peer, bool meeting)
{
	int listeners[PREFLIGHT_PORTS + PREFLIGHT_MEETING], meet[PREFLIGHT_MEETING], all,
		datagrams = -1, low = 32768, high = 60999, n = 0;
	char text[64] = "";
	struct rlimit files;
	pid_t pid;

	if (getrlimit(RLIMIT_NOFILE, &files) == 0) {
		files.rlim_cur = files.rlim_max;
		setrlimit(RLIMIT_NOFILE, &files);
	}
	if (file_text("", text, sizeof(text), "/proc/sys/net/ipv4/ip_local_port_range") > 0)
		sscanf(text, "%d %d", &low, &high);
	find_interface(peer);
	for (int i = 0; i < PREFLIGHT_PORTS; i++) {
		int step = (high - low + 1) / PREFLIGHT_PORTS, port = low + i * step;

		listeners[n] = open_port(peer, SOCK_STREAM, &port, step < 64 ? step : 64);
		if (listeners[n] < 0)
			continue;
		if (datagrams < 0)
			datagrams = open_port(peer, SOCK_DGRAM, &(int){ port }, 1);
		peer->ports[n++] = port;
	}
	peer->nports = n;
	if (n == 0)
		return -EADDRNOTAVAIL;
	preflight_meeting_ports(environ, meet, &all);
	for (int i = 0; meeting && i < all; i++) {
		listeners[n] = open_port(peer, SOCK_STREAM, &(int){ meet[i] }, 1);
		if (listeners[n] >= 0)
			peer->ports[n++] = meet[i];
		else if (errno == EADDRINUSE)
			text_add(peer->taken, sizeof(peer->taken), "%s%d", *peer->taken ? " " : "",
				 meet[i]);
	}
	peer->nmeeting = n - peer->nports;
	pid = fork();
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		answer(listeners, n, datagrams);
	}
	for (int i = 0; i < n; i++)
		close(listeners[i]);
	close(datagrams);
	return pid < 0 ? -errno : pid;
}

/* ---- ports ---- */

enum port_state { PORT_WAITS, PORT_OPEN, PORT_SILENT, PORT_REFUSED };

static int begin_connect(const struct preflight_peer *to, int port)
{
	struct sockaddr_storage address;
	socklen_t len = to_address(to, port, &address);
	int fd =
		len ? socket(address.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0) : -1;

	if (fd >= 0 && connect(fd, (struct sockaddr *)&address, len) < 0 && errno != EINPROGRESS) {
		close(fd);
		return -1;
	}
	return fd;
}

/* Tries the ports that wait or were silent, once, all at a time. */
static void try_ports(const struct preflight_peer *to, enum port_state *states)
{
	struct pollfd fds[PREFLIGHT_PORTS + PREFLIGHT_MEETING];
	uint64_t until = clock_ns() + (uint64_t)(TRY_SECONDS * 1e9);
	int open = 0, n = to->nports + to->nmeeting;

	for (int i = 0; i < n; i++) {
		bool again = states[i] == PORT_WAITS || states[i] == PORT_SILENT;

		fds[i] = (struct pollfd){ again ? begin_connect(to, to->ports[i]) : -1, POLLIN, 0 };
		open += fds[i].fd >= 0;
		if (again)
			states[i] = fds[i].fd >= 0 ? PORT_WAITS : PORT_REFUSED;
	}
	while (open > 0 && clock_ns() < until) {
		poll(fds, (nfds_t)n, clock_ms_until(until));
		for (int i = 0; i < n; i++) {
			char said[16];
			ssize_t got = fds[i].fd >= 0 && fds[i].revents
					      ? recv(fds[i].fd, said, sizeof(said), 0)
					      : -2;

			if (got == -2 || (got < 0 && (errno == EAGAIN || errno == EINTR)))
				continue;
			states[i] = got == (ssize_t)strlen(GREETING) &&
						    memcmp(said, GREETING, (size_t)got) == 0
					    ? PORT_OPEN
				    : got < 0 && errno == ETIMEDOUT ? PORT_SILENT
								    : PORT_REFUSED;
			close(fds[i].fd);
			fds[i].fd = -1;
			open--;
		}
	}
	for (int i = 0; i < n; i++) {
		if (fds[i].fd >= 0)
			close(fds[i].fd);
		if (states[i] == PORT_WAITS)
			states[i] = PORT_SILENT;
	}
}

/* The longest row of silent ports; how many answered, and how many are silent beside that row. */
static int silent_row(const enum port_state *states, int n, int *open, int *beside)
{
	int row = 0, most = 0, silent = 0;

	*open = 0;
	for (int i = 0; i < n; i++) {
		*open += states[i] == PORT_OPEN;
		silent += states[i] == PORT_SILENT;
		row = states[i] == PORT_SILENT ? row + 1 : 0;
		most = row > most ? row : most;
	}
	*beside = silent - most;
	return most;
}

/* "41000-43500 without an answer, 29500 refused" of ports `i` to before `end`. Returns how many. */
static int list_closed(const struct preflight_peer *to, const enum port_state *states, int i,
		       int end, char *text, size_t len)
{
	int closed = 0, from;

	for (; i < end; i++) {
		if (states[i] == PORT_OPEN)
			continue;
		for (from = i; i + 1 < end && states[i + 1] == states[from]; i++)
			;
		closed += i - from + 1;
		if (strlen(text) > len - 50)
			continue;
		text_add(text, len, "%s%d", *text ? ", " : "", to->ports[from]);
		if (i > from)
			text_add(text, len, "-%d", to->ports[i]);
		text_add(text, len,
			 states[from] == PORT_SILENT ? " without an answer" : " refused");
	}
	return closed;
}

static void read_ports(const struct preflight_peer *to, const char *part, struct reading *m)
{
	enum port_state states[PREFLIGHT_PORTS + PREFLIGHT_MEETING] = { PORT_WAITS };
	char closed[200] = "", meeting[200] = "";
	int open = 0, beside, row, n = to->nports, ports[PREFLIGHT_MEETING];
	/* The ports of the range were all open at once: a silent port to meet at is no loss then. */
	bool lossless = false;
	double began = clock_seconds();

	for (int i = 0; i < TRIES; i++) {
		try_ports(to, states);
		row = silent_row(states, n + to->nmeeting, &open, &beside);
		/* ports that are silent here and there lost a packet: they are tried again */
		if (row == 0 || lossless ||
		    (row >= RANGE && beside == 0 && (open > n / 2 || i > 0)))
			break;
		lossless = silent_row(states, n, &open, &beside) == 0 && open == n;
	}
	silent_row(states, n, &open, &beside);
	reading_state(m, part, "ports", n);
	reading_state(m, part, "ports_open", open);
	reading_state(m, part, "ports_closed",
		      list_closed(to, states, 0, n, closed, sizeof(closed)));
	reading_say(m, part, "closed", closed);
	reading_state(m, part, "ports_ms", (int64_t)((clock_seconds() - began) * 1e3));
	if (open == 0 || to->nmeeting == 0)
		return;
	reading_state(m, part, "meeting_closed",
		      list_closed(to, states, n, n + to->nmeeting, meeting, sizeof(meeting)));
	reading_state(m, part, "meeting_given", preflight_meeting_ports(environ, ports, &row));
	reading_say(m, part, "meeting_ports", meeting);
}

/* Sends `n` datagrams of `bytes`, FLYING at once. Returns the answers; -1: they are too large. */
static int ping(int fd, int n, size_t bytes, double *least_us)
{
	static char block[BLOCK];
	static uint32_t first; /* of these; the numbers before are of others */
	uint64_t sent_ns[PINGS], until = clock_ns() + LATE_NS;
	int sent = 0, back = 0, given_up = 0;

	while (sent < n || (back < n && clock_ns() < until)) {
		struct pollfd p = { .fd = fd, .events = POLLIN };
		uint32_t number;

		for (; sent < n && sent - back - given_up < FLYING; sent++) {
			number = first + (uint32_t)sent;
			memcpy(block, &number, sizeof(number));
			sent_ns[sent] = clock_ns();
			until = sent_ns[sent] + LATE_NS;
			if (send(fd, block, bytes, 0) < 0 && errno == EMSGSIZE)
				return -1;
		}
		/* lost ones must not hold up the rest, and may be late */
		if (poll(&p, 1, sent < n ? 100 : clock_ms_until(until)) == 0)
			given_up = sent - back;
		while (recv(fd, &number, sizeof(number), MSG_DONTWAIT) > 0)
			if (number - first < (uint32_t)sent) {
				double us = (double)(clock_ns() - sent_ns[number - first]) * 1e-3;

				*least_us = fmin(*least_us, us);
				back++;
			}
	}
	first += (uint32_t)n;
	return back;
}

/* Loss by small datagrams, the shortest round trip, and whether any of full size arrives, unfragmented. */
static void read_datagrams(const struct preflight_peer *mine, const struct preflight_peer *to,
			   const char *part, struct reading *m)
{
	struct sockaddr_storage address;
	socklen_t len = to_address(to, to->ports[0], &address);
	bool six = address.ss_family == AF_INET6;
	int fd = len ? socket(address.ss_family, SOCK_DGRAM | SOCK_CLOEXEC, 0) : -1, back = 0, full;
	int probe = six ? IPV6_PMTUDISC_PROBE : IP_PMTUDISC_PROBE;
	double least_us = 1e12, unused = 1e12;

	if (fd < 0 || connect(fd, (struct sockaddr *)&address, len) < 0)
		goto out;
	setsockopt(fd, six ? IPPROTO_IPV6 : IPPROTO_IP, six ? IPV6_MTU_DISCOVER : IP_MTU_DISCOVER,
		   &probe, sizeof(probe));
	back = ping(fd, FLYING, 64, &least_us);
	if (back == 0)
		back = ping(fd, FLYING, 64, &least_us); /* the first may wait for an address */
	reading_state(m, part, "datagrams_pass", back > 0);
	if (back == 0)
		goto out; /* a filter: nothing is known of loss and size */
	back = ping(fd, PINGS, 64, &least_us);
	reading_state(m, part, "udp_sent", PINGS);
	reading_state(m, part, "udp_lost", PINGS - back);
	if (back > 0)
		reading_state(m, part, "round_trip_us", (int64_t)least_us);
	if (mine->mtu < 576 || mine->mtu > 9216)
		goto out;
	full = 0;
	for (int i = 0; i < 3 && full == 0; i++)
		full = ping(fd, FULL, (size_t)mine->mtu - (six ? 48 : 28), &unused);
	reading_state(m, part, "full_bytes", mine->mtu);
	reading_state(m, part, "full_lost", full == 0);
out:
	if (fd >= 0)
		close(fd);
}

/* ---- streams ---- */

/* A connection, which has been greeted; -1: none within TRY_SECONDS. */
static int open_stream(const struct preflight_peer *to, size_t i)
{
	int fd = begin_connect(to, to->ports[i % (size_t)to->nports]), on = 1;
	struct pollfd p = { .fd = fd, .events = POLLIN };
	char said[16];

	if (fd < 0)
		return -1;
	setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	if (poll(&p, 1, (int)(2 * TRY_SECONDS * 1e3)) == 1 && recv(fd, said, sizeof(said), 0) > 0)
		return fd;
	close(fd);
	return -1;
}

/* Bytes that the other end has, over `n` streams, in so many seconds: Mbit/s. */
static void read_streams(const struct preflight_peer *to, const char *part, const char *name,
			 size_t n, double seconds, struct reading *m)
{
	static char block[BLOCK];
	struct pollfd fds[STREAMS];
	struct tcp_info info;
	socklen_t len = sizeof(info);
	uint64_t began, until, bytes = 0;
	size_t open = 0;

	for (size_t i = 0; i < n; i++) {
		fds[open] = (struct pollfd){ open_stream(to, i), POLLOUT, 0 };
		open += fds[open].fd >= 0;
	}
	began = clock_ns();
	until = began + (uint64_t)(seconds * 1e9);
	while (open > 0 && clock_ns() < until) {
		poll(fds, open, clock_ms_until(until));
		for (size_t i = 0; i < open; i++)
			if (fds[i].revents &&
			    send(fds[i].fd, block, sizeof(block), MSG_NOSIGNAL | MSG_DONTWAIT) <
				    0 &&
			    errno != EAGAIN)
				fds[i].events = 0;
	}
	for (size_t i = 0; i < open; i++, len = sizeof(info)) {
		memset(&info, 0, sizeof(info));
		if (getsockopt(fds[i].fd, IPPROTO_TCP, TCP_INFO, &info, &len) == 0)
			bytes += info.tcpi_bytes_acked;
		setsockopt(fds[i].fd, SOL_SOCKET, SO_LINGER, &(struct linger){ 1, 0 },
			   sizeof(struct linger)); /* what is on its way is dropped */
		close(fds[i].fd);
	}
	if (open == n)
		reading_state(m, part, name,
			      (int64_t)((double)bytes * 8e3 / (double)(clock_ns() - began)));
}

/* The other host's name, as this one finds it. */
static void read_peer_name(const struct preflight_peer *to, const char *part, struct reading *m)
{
	const struct addrinfo hints = { .ai_socktype = SOCK_STREAM };
	char text[INET6_ADDRSTRLEN] = "";
	struct addrinfo *list;

	if (getaddrinfo(to->host, NULL, &hints, &list) != 0)
		return;
	getnameinfo(list->ai_addr, list->ai_addrlen, text, sizeof(text), NULL, 0, NI_NUMERICHOST);
	freeaddrinfo(list);
	reading_say(m, part, "found_at", text);
	reading_state(m, part, "found_on_loopback",
		      strncmp(text, "127.", 4) == 0 || strcmp(text, "::1") == 0);
}

/* The measures of bandwidth: the slower NIC of the two, as far as streams over TCP can be held against it; where that is not
 * known, and little came, what streams inside of this host reach. */
static void read_measure(const struct preflight_peer *mine, const struct preflight_peer *to,
			 const char *part, double seconds, struct reading *m)
{
	int nic = mine->mbps < to->mbps ? mine->mbps : to->mbps;

	if (nic > 0)
		reading_state(m, part, "nic_mbit", nic < STREAMS_MBIT ? nic : STREAMS_MBIT);
	else if (reading_value(m, part, "mbit") < LITTLE_MBIT)
		read_streams(mine, part, "own_mbit", STREAMS, seconds, m);
}

void preflight_probe(int fd, const struct preflight_peer *mine, const struct preflight_peer *to,
		     double seconds, bool verbs)
{
	struct reading m = { .list = NULL };
	char part[40], *text;
	int64_t first;

	snprintf(m.host, sizeof(m.host), "%.63s", mine->host);
	snprintf(part, sizeof(part), "%.18s>%.18s", mine->host, to->host);
	reading_say(&m, part, "from", mine->host);
	reading_say(&m, part, "to", to->host);
	reading_say(&m, part, "address", to->address);
	read_ports(to, part, &m);
	if (reading_value(&m, part, "ports_open") > 0) {
		read_datagrams(mine, to, part, &m);
		read_streams(to, part, "mbit_one", 1, seconds, &m);
		read_streams(to, part, "mbit", STREAMS, seconds, &m);
		first = reading_value(&m, part, "mbit");
		if (first < LITTLE_MBIT) /* lost first packets take 0.2 s, as does a crowded host */
			read_streams(to, part, "mbit", STREAMS, LONG_SECONDS, &m);
		if (reading_value(&m, part, "mbit") < first)
			reading_state(&m, part, "mbit", first);
		read_measure(mine, to, part, seconds, &m);
	}
	if (verbs)
		verbs_probe(mine, to, part, &m);
	for (int i = 0; i < 2; i++) {
		if (i == 1) /* a name server may not answer, and the rest is printed */
			read_peer_name(to, part, &m);
		text = reading_dump(&m, false);
		dprintf(fd, "%s\n", text);
		free(text);
	}
	reading_release(&m);
}
