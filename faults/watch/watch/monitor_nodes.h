/* monitor_nodes.h: messages between the leaders of several hosts and the root. Internal to
 * watch.
 *
 * A host's leader sends the views of its ranks by itself (VIEWS) when the root should look. A verdict rests on
 * views that the root has asked for (COLLECT): a census where ranks wait at communicator init, or in its first call,
 * whose result it tells (ANSWER); a query when something seems wrong, announced before (COLLECT_PREPARE). The leader
 * sends the evidence of each of its ranks first (EVIDENCE: token-free saved form, opaque here), then VIEWS of that round.
 * So it does with slow evidence, after the verdict. A leader that does not answer in time is done without. */
#pragma once

#include "decide/decide_times.h"
#include "watch/message.h"
#include "watch/monitor.h"

#define NODES_STRANGER_NS (2000 * MS) /* then a caller without the token is sent away */

/* Stands in front of what is sent of one rank. */
struct evidence_head {
	int32_t rank;
	uint32_t kind; /* enum evidence_kind */
};

/* Root: listen when rank 0 wants it. Others: connect, and anew when the root is silent. */
void nodes_open(struct monitor *m, uint64_t now);
void nodes_join(struct monitor *m, uint64_t now);
/* Nothing comes over this connection any more, as link_receive() says: `rc`. It is closed. */
void nodes_part(struct monitor_node *node, int rc, uint64_t now);
/* A process that is killed with something unread resets its connection, as one does that lives and
 * connects anew. The second connection, over which nothing comes, tells the two apart by its end. */
void nodes_take_life(struct monitor_node *node, uint64_t now);
/* Leader elsewhere: takes the views of the root's ranks. */
void nodes_take_root(struct monitor *m, const struct link_message *message);
/* Takes in a heartbeat. A sender that hears nothing gets datagrams. */
void nodes_take_beat(struct monitor_node *node, const struct link_message *message, uint64_t now);
/* Send a heartbeat when one is due, and look at the connections of silent hosts. */
void nodes_beat(struct monitor *m, uint64_t now);
/* Counts the hosts that should be connected: at the root all others, elsewhere the root. */
size_t nodes_expected(const struct monitor *m);
/* Returns true if the listener is to be waited on. */
bool nodes_listening(const struct monitor *m);

/* Root: take in what came. */
void nodes_receive(struct monitor *m, uint64_t now);
/* Root: to all nodes whose leader is there; `text` behind `head` where it is not NULL. */
void nodes_send_all(struct monitor *m, enum message type, const void *head, size_t bytes,
		    const char *text);
/* Root: has all nodes do that (COLLECT_...), and awaits what answers it, but for PREPARE. */
void nodes_ask_all(struct monitor *m, uint32_t what, const char *folder);
/* Root: what is known of the hosts that have shown the token, to m->input.hosts; how many. */
size_t nodes_known(struct monitor *m);
/* After decide(): keeps which hosts are lost, and prints news. */
void nodes_keep(struct monitor *m);
/* Root: the run is over, with this exit code; once over each connection. */
void nodes_send_end(struct monitor *m, int32_t code);
/* Root, at the end: that message arrives, also where a leader connects anew meanwhile, or for the first time. Waits until
 * all leaders that are heard of have read it and closed their connections, 2 s at most. */
void nodes_farewell(struct monitor *m);
void nodes_release(struct monitor *m);

/* Leader: views to the root, in answer to that round; 0: by itself. */
void nodes_report(struct monitor *m, uint32_t round);
/* Leader: does what the root has requested since the last tick. */
void nodes_answer(struct monitor *m);
/* A first look at this node's ranks. */
void nodes_prepare(struct monitor *m);

/* DIAGNOSE or END: has the diagnoser look, for DIAGNOSE; then prints the verdict, has the
 * evidence saved and ends the run everywhere. Returns what is to be done instead, if the answer
 * gives the run more time, else END. */
struct decision monitor_conclude(struct monitor *m, const struct decision *decision);

/* A wait that was printed as late ended after so many seconds. */
void monitor_say_came(struct monitor *m, double seconds);

/* Members and other hosts: the run is over, with this exit code. */
void monitor_send_end(struct monitor *m, int32_t code);
