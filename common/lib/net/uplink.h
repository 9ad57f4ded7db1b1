/* uplink.h: the TCP leg between monitors of several nodes: listen, publish an address, find it. */
#pragma once

/* Listen on every interface, on that port, 0: on one of the kernel's choice. Returns the
 * descriptor or a negative errno; *port is set. */
int uplink_listen(int *port);

/* This host's addresses with that port, "a.b.c.d:port [a:b::c]:port", IPv4 before IPv6, loopback
 * last, for others to try in this order. Returns buf; "" when there is none. */
char *uplink_addresses(int port, char *buf, size_t len);

/* Begins to connect to one address of the list, by attempt. A descriptor or a negative errno. */
int uplink_begin(const char *addresses, size_t attempt);
/* Returns 1 once it is connected, 0 not yet, a negative errno if it failed; the caller closes. */
int uplink_connected(int fd);
