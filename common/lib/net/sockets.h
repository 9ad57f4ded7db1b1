/* sockets.h: whom a process reaches over TCP and whom not, as the kernel tells it of every process (/proc/PID/net/tcp:
 * proc(5), Documentation/networking/proc_net_tcp.rst). */
#pragma once

struct sockets {
	/* its own addresses, of its sockets that are bound to one or connected: "10.0.0.2 10.1.0.2",
	 * those that fit; no loopback */
	char addresses[96];
	/* address and port of whose kernel has not answered for longest, "" nobody, and how often
	 * something was sent to it again since it last did: the kernel waits twice as long after
	 * each, first 0.2 s or more, for a new connection 1 s */
	char peer[48];
	int port;
	int resends;
};

/* Reads it of the process; nothing ("" and 0) of one that is gone or may not be looked at. Takes microseconds a
 * connection of its network namespace. `root` is put before /proc: "" outside of tests. */
void sockets_read(struct sockets *sockets, const char *root, int pid);

/* Is the address one of its own? */
bool sockets_has(const struct sockets *sockets, const char *address);
