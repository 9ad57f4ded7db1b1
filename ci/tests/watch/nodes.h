/* nodes.h: seats on several nodes: runs of different keys on one host, joined over TCP. */
#pragma once

#include "seats.h"
#include "watch/uplink.h"

#define TOKEN 0x0123456789abcdefull

static char address[64];
static int port;

/* Node n's observers meet under a name of their own. */
static void node_take(int node, int first, int last)
{
	static char key[80];

	snprintf(key, sizeof(key), "%s-%d", seats_key, node);
	for (int i = first; i <= last; i++) {
		recorder_identify(&seats[i].recorder, i, 4, node, 2, i - first, "device",
				  "library");
		seat_take(i, key);
		SOON(seats[i].desk->opened);
	}
	SOON(seats[first].desk->peers == last - first + 1);
}

static void publish(int first, int last, const char *where, uint64_t token)
{
	for (int i = first; i <= last; i++)
		recorder_uplink(&seats[i].recorder, where, token);
}

static void open_star(void)
{
	port = recorder_uplink_port(&seats[0].recorder);
	CU_ASSERT_FATAL(port > 0);
	snprintf(address, sizeof(address), "127.0.0.1:1 127.0.0.1:%d", port);
}

static void join(int others)
{
	open_star();
	publish(0, 3, address, TOKEN);
	SOON(seats[0].desk->nodes == others);
}

/* Ranks 0 and 1 on one node, 2 and 3 on the other, joined. */
static inline void two_nodes(void)
{
	node_take(0, 0, 1);
	node_take(1, 2, 3);
	join(1);
	clock_sleep(0.05);
}

/* Ranks 0 and 1 on one node, 2 and 3 on one each, joined. */
static inline void three_nodes(void)
{
	node_take(0, 0, 1);
	node_take(1, 2, 2);
	node_take(2, 3, 3);
	join(2);
}
