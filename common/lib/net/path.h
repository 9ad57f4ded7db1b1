/* path.h: datagrams of a small and of full size between two hosts, counted each way. The leaders at
 * both ends send them during a suspected failure. TCP alone cannot tell a dead path from one that
 * loses large packets only (a path MTU that is not announced). Filtered datagrams give no
 * answer. */
#pragma once

#include <netinet/in.h>

#define PATH_ENOUGH                                                                                \
	8 /* small ones that arrive without a full-size one: by chance one case in 10^8
		       * at 10 % loss */

enum path_way {
	PATH_UNKNOWN,
	PATH_OPEN,
	PATH_LARGE_LOST, /* small packets arrive, full-size ones do not */
	PATH_LOST	 /* no packets arrive, and the other direction is open */
};

/* Datagrams that arrived in one window of probing. */
struct path_counts {
	uint32_t small, full;
};

/* One end. Zero except fd -1: not probing. */
struct path {
	int fd;
	uint32_t window, theirs;      /* the window number of this end, and of the other */
	uint32_t sent;		      /* of each size */
	struct path_counts got, told; /* arrived here; arrived at the other end, by its last
				       * report */
	bool no_full; /* the other end sends no full-size datagrams: its kernel refuses them */
};

/* Judges the direction to the other end, and the direction from it. Pure. */
enum path_way path_there(const struct path *path);
enum path_way path_here(const struct path *path);

/* Sends one datagram of each size beside the TCP connection `tcp`, between the same addresses and
 * ports, and reads those that arrived. Opens the socket first if there is none or if it belongs to
 * another connection. `token` is the run's, equal at both ends. Never blocks. Returns true if a
 * datagram of the other end arrived. */
bool path_probe(struct path *path, int tcp, uint64_t token);
/* Ends the probing. The counts stay until the next path_probe. */
void path_close(struct path *path);

/* The other end's address, IPv4 in mapped form. Returns false without one, or for another kind of
 * socket. */
bool path_peer(int fd, struct in6_addr *peer);
/* Returns true if the interface of the local address of connection `tcp` is down, has no carrier,
 * or no longer has the address. */
bool path_unplugged(int tcp);
