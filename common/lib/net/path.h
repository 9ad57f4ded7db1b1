/* path.h: what passes between two hosts, small and full-size, each way. While something seems wrong the leaders at
 * both ends send each other datagrams and count: TCP alone does not say whether nothing passes or large packets
 * alone do not (a path MTU that nobody announces). Where datagrams are filtered nothing is known. */
#pragma once

#include <netinet/in.h>

#define PATH_ENOUGH 8 /* small ones arrived, and no full one: one in 10^8 where a tenth is lost */

enum path_way {
	PATH_UNKNOWN,
	PATH_OPEN,
	PATH_LARGE_LOST, /* small packets arrive, full-size ones do not */
	PATH_LOST	 /* nothing does, and the other way is open */
};

/* Of one window of probing: datagrams that have arrived. */
struct path_counts {
	uint32_t small, full;
};

/* One end; zero but for fd -1: nothing is sent. */
struct path {
	int fd;
	uint32_t window, theirs;      /* the number of this end's probing, and of the other's */
	uint32_t sent;		      /* of each size */
	struct path_counts got, told; /* arrived here; arrived there, as it last said */
	bool no_full; /* of what comes from there none is full-size: its kernel refuses them */
};

/* Judges the way there, and the way here. Pure. */
enum path_way path_there(const struct path *path);
enum path_way path_here(const struct path *path);

/* Sends one datagram of each size beside the TCP connection `tcp`, between the same addresses and ports, and takes
 * in what came; opens the socket first if there is none, or if it is beside another connection. `token`: both ends have the run's. Never waits.
 * Returns true if one of the other end's has come. */
bool path_probe(struct path *path, int tcp, uint64_t token);
/* Probing is over; what was counted is kept until it begins anew. */
void path_close(struct path *path);

/* The address of the other end, IPv4 as mapped. Returns false where it has none, or this is no such socket. */
bool path_peer(int fd, struct in6_addr *peer);
/* Returns true if the interface with the local address of the connection `tcp` is down, has no carrier, or the
 * address is no longer there. */
bool path_unplugged(int tcp);
