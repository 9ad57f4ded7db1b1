/* path.h: what passes between two hosts, each way. While something seems wrong the leaders at both ends send
 * each other datagrams and count them: TCP alone does not say which direction is closed. Where datagrams are
 * filtered nothing is known. */
#pragma once

#include <netinet/in.h>

#define PATH_ENOUGH                                                                                \
	8 /* arrived of one direction, none of the other: one in 10^8 where a tenth is lost */

enum path_way {
	PATH_UNKNOWN,
	PATH_OPEN,
	PATH_LOST /* nothing arrives, and the other way is open */
};

/* One end. Zero except fd -1: not probing. */
struct path {
	int fd;
	uint32_t window, theirs; /* the number of this end's probing, and of the other's */
	uint32_t sent;		 /* datagrams of this window */
	uint32_t got, told;	 /* arrived here; arrived there, as it last said */
};

/* Judges the direction to the other end, and the direction from it. Pure. */
enum path_way path_there(const struct path *path);
enum path_way path_here(const struct path *path);

/* Sends one datagram beside the TCP connection `tcp`, between the same addresses and ports, and takes
 * in what came; opens the socket first if there is none, or if it is beside another connection. `token`: both ends have the run's. Never waits.
 * Returns true if one of the other end's has come. */
bool path_probe(struct path *path, int tcp, uint64_t token);
/* Ends the probing. The counts stay until the next path_probe. */
void path_close(struct path *path);

/* The other end's address, IPv4 in mapped form. Returns false without one, or for another kind of
 * socket. */
bool path_peer(int fd, struct in6_addr *peer);
