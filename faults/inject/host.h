/* host.h: a host made of namespaces, on whose network faults may act: never the machine's own. */
#pragma once

#include <sys/types.h>

/* Whoever makes the namespaces gives this alias to the interface that faults may break:
 * ip link set eth0 alias hangar-host */
#define NETWORK_ALIAS "hangar-host"

/* In the environment: a FIFO whose reader is a switch between such hosts and takes lines of commands,
 * "pair FROM TO delay SECONDS", addresses or *: ci/tests/rig/switch.py. */
#define NETWORK_SWITCH "HANGAR_SWITCH"

struct network_host {
	char device[16];   /* the marked interface */
	char address[16];  /* its IPv4 address, as text */
	const char *lacks; /* what is missing, a constant; NULL: nothing */
};

/* Inodes of namespaces; 0: could not be read. */
struct network_names {
	ino_t pid;	 /* of processes, this one's */
	ino_t net, init; /* of the network: this process', that of process 1 */
};

/* What forbids to break this network: it is the machine's, as far as namespaces tell (from within
 * a namespace of processes, process 1 is the container's). A constant; NULL: nothing. */
const char *network_refusal(const struct network_names *names);

/* The marked interface of those that `ip -j link show` lists, to host->device. 0 or -ENODEV. */
int network_parse(struct network_host *host, const char *json);

/* The host that this process is in. Forks. */
void network_look(struct network_host *host);

/* Run a program with these words, blanks between them, for 5 s at most, or write them as
 * a line to a FIFO ("> PATH WORDS"); the first `len` bytes of what it prints go to `text`. 0; -ENOENT where there is no such program; -EIO when it failed. */
int network_run(const char *words, char *text, size_t len);
