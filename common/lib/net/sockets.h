/* sockets.h: a process' TCP connections and the peers that do not answer, from /proc/PID/net/tcp
 * (proc(5), Documentation/networking/proc_net_tcp.rst). */
#pragma once

struct sockets {
	/* local addresses of its sockets, "10.0.0.2 10.1.0.2", as many as fit; no loopback */
	char addresses[96];
	/* address and port of the peer that has not answered for longest, "" for none, and the
	 * number of resends since its last answer. The kernel doubles the wait after each: first
	 * 0.2 s or more, 1 s for a new connection */
	char peer[48];
	int port;
	int resends;
};

/* Reads the sockets of a process; "" and 0 if it is gone or not readable. Takes microseconds per
 * connection of its network namespace. `root` is a prefix of /proc: "" except in tests. */
void sockets_read(struct sockets *sockets, const char *root, int pid);

/* Returns true if the address is one of the process' own. */
bool sockets_has(const struct sockets *sockets, const char *address);
