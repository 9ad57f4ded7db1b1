/* nodes.c: seats on several nodes. */
#include "watch/nodes.h"

char nodes_address[64];
int nodes_port;

void node_take(int node, int first, int last)
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

void nodes_publish(int first, int last, const char *where, uint64_t token)
{
	for (int i = first; i <= last; i++)
		recorder_uplink(&seats[i].recorder, where, token);
}

void nodes_open_star(void)
{
	nodes_port = recorder_uplink_port(&seats[0].recorder);
	CU_ASSERT_FATAL(nodes_port > 0);
	snprintf(nodes_address, sizeof(nodes_address), "127.0.0.1:1 127.0.0.1:%d", nodes_port);
}

static void nodes_meet(int others)
{
	nodes_open_star();
	nodes_publish(0, 3, nodes_address, TOKEN);
	SOON(seats[0].desk->nodes == others);
}

void two_nodes(void)
{
	node_take(0, 0, 1);
	node_take(1, 2, 3);
	nodes_meet(1);
	clock_sleep(0.05);
}

void three_nodes(void)
{
	node_take(0, 0, 1);
	node_take(1, 2, 2);
	node_take(2, 3, 3);
	nodes_meet(2);
}
