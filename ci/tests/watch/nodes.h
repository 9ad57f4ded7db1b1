/* nodes.h: seats on several nodes: runs of different keys on one host, joined over TCP. */
#pragma once

#include "seats.h"
#include "net/uplink.h"

#define TOKEN 0x0123456789abcdefull

extern char nodes_address[64];
extern int nodes_port;

/* Node n's observers meet under a name of their own. */
void node_take(int node, int first, int last);

void nodes_publish(int first, int last, const char *where, uint64_t token);

void nodes_open_star(void);

/* Ranks 0 and 1 on one node, 2 and 3 on the other, joined. */
void two_nodes(void);

/* Ranks 0 and 1 on one node, 2 and 3 on one each, joined. */
void three_nodes(void);
