/* preflight_net.h: the network from one host to another over plain sockets, before MPI. */
#pragma once

#include <sys/types.h>

enum { PREFLIGHT_PORTS = 64 };

/* A host as others reach it. */
struct preflight_peer {
	char host[64], address[64];	    /* numeric */
	int mtu;			    /* of the interface with this address, 0: unknown */
	int nports, ports[PREFLIGHT_PORTS]; /* TCP; the first one is a UDP port as well */
};

/* Listens on PREFLIGHT_PORTS ports spread over ip_local_port_range, the kernel's choice for outgoing
 * and listening sockets of every library, and answers there in a child process that lives until
 * this one ends. Fills in `peer`, with as many ports as could be had. Returns the child, or a
 * negative errno. */
pid_t preflight_listen(struct preflight_peer *peer);

/* Judges nothing: tries ports, packets of full size, loss, latency and bandwidth from this host
 * (`mine`) to `to`, `seconds` for each stream, and writes a text of reading_dump with the part
 * "MINE>TO" to `fd`. A step that hangs is left after its own deadline; all take at most 25 s. */
void preflight_probe(int fd, const struct preflight_peer *mine, const struct preflight_peer *to,
		     double seconds);
