/* path.h: datagrams between two hosts, counted each way, which leaders at both ends send during a
 * suspected failure: TCP cannot tell which direction is closed. Filtered ones give no answer. */
#pragma once

#include <netinet/in.h>

/* Datagrams of one direction that arrive without one of the other: 1 in 10^8 at 10 % loss. */
#define PATH_ENOUGH 8

enum path_way {
	PATH_UNKNOWN,
	PATH_OPEN,
	PATH_LOST /* nothing arrives, and the other direction is open */
};

/* One end. Zero except fd -1: not probing. */
struct path {
	int fd;
	uint32_t window, theirs; /* the window number of this end, and of the other */
	uint32_t sent;		 /* datagrams of this window */
	uint32_t got, told;	 /* arrived here; arrived at the other end, by its last report */
};

/* Judges the direction to the other end, and the direction from it. Pure. */
enum path_way path_there(const struct path *path);
enum path_way path_here(const struct path *path);

/* Sends one datagram beside the TCP connection `tcp`, between the same addresses and ports, and
 * reads those that arrived. Opens the socket first if there is none or if it belongs to another
 * connection. `token` is the run's, equal at both ends. Never blocks. Returns true if a datagram of
 * the other end arrived. */
bool path_probe(struct path *path, int tcp, uint64_t token);
/* Ends the probing. The counts stay until the next path_probe. */
void path_close(struct path *path);

/* The other end's address, IPv4 in mapped form. False: none, or another kind of socket. */
bool path_peer(int fd, struct in6_addr *peer);
