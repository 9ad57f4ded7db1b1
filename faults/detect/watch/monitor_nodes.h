/* monitor_nodes.h: what passes between the leaders of several nodes and the root. Internal to the
 * monitor.
 *
 * A node's leader reports by itself (JOIN, ABNORMAL, DONE, INIT_OVERDUE). Where ranks wait at
 * communicator init, or in its first call, the root takes a census (CENSUS, PRESENT, RENDEZVOUS). When something seems wrong
 * the root says so (PREPARE), and asks before it decides (QUERY): the leader answers with the evidence
 * of each of its ranks (TAIL: token-free saved form, opaque here) and then their views (VIEWS). After
 * the verdict the root asks for what takes longer (SLOW, with the name of the evidence folder): texts
 * (TEXT, COUNTERS), then READY. A run that gets more time goes on (EXTENSION). Whoever does not answer
 * in time is done without. */
#pragma once

#include "watch/monitor.h"
#include "record/verdict.h"

#define MS		  1000000ull
#define NODES_STRANGER_NS (2000 * MS) /* whoever has not shown the token by then is sent away */

enum message {
	MESSAGE_HELLO = 1, /* member: its memory's descriptor comes along; payload: pid */
	MESSAGE_STATE,	   /* member: struct state */
	MESSAGE_END,	   /* from above: int32 exit code */
	MESSAGE_JOIN, /* leader to root: token, then views; root to leader: the same of its own, once */
	MESSAGE_VIEWS,	  /* leader to root: views in answer to a query */
	MESSAGE_ABNORMAL, /* leader to root: views, something is wrong */
	MESSAGE_DONE,	  /* leader to root: views, all finished by themselves */
	MESSAGE_QUERY,	  /* root to leader */
	MESSAGE_PREPARE,  /* root to leader: a query is near */
	MESSAGE_TAIL, /* leader to root: struct evidence_head, then what the diagnoser knows of that rank */
	MESSAGE_SLOW,	   /* root to leader: text, the evidence folder's name or nothing */
	MESSAGE_TEXT,	   /* leader to root: struct evidence_head, then text without NUL */
	MESSAGE_READY,	   /* leader to root: the slow evidence is complete */
	MESSAGE_EXTENSION, /* root to leader: the run is given more time */
	MESSAGE_COUNTERS, /* leader to root: struct evidence_head, then what its host counted, as text */
	MESSAGE_INIT_OVERDUE, /* leader to root: ranks here wait at init, or in a first call */
	MESSAGE_CENSUS,	      /* root to leader: it asks who has come to it */
	MESSAGE_PRESENT,      /* leader to root: views in answer to that */
	MESSAGE_RENDEZVOUS,   /* root to leader: uint32 enum rendezvous, as the census says */
	MESSAGE_BEAT,	      /* both ways: a heartbeat; with a byte: nothing is heard of you */
	MESSAGE_STATUS, /* somebody to a hangar_run: how is it? and its answer, text; between leaders that is a
	                 * JOIN */
	MESSAGE_SAID /* root to leader of a hangar_run: the verdict's lines, which it says too */
};

/* Stands in front of what is sent of one rank. */
struct evidence_head {
	int32_t rank, unused;
};

/* Root: listen when rank 0 wants it. Others: connect as soon as the address is known, and anew when the
 * root is not heard of. Never blocks. */
void nodes_open(struct monitor *m);
void nodes_join(struct monitor *m, uint64_t now);
/* Nothing comes over this connection any more, as link_receive() says: `rc`. It is closed. */
void nodes_part(struct monitor_node *node, struct link *link, int rc, uint64_t now);
/* Leader elsewhere: how the root and its ranks are. */
void nodes_take_root(struct monitor *m, const struct link_message *message);
/* Takes in a heartbeat: of who hears nothing of this host it asks for datagrams. */
void nodes_take_beat(struct monitor_node *node, const struct link_message *message, uint64_t now);
/* Send a heartbeat when one is due, and look at the connections of who is silent. */
void nodes_beat(struct monitor *m, uint64_t now);
/* Counts the hosts that should be connected: at the root all others, elsewhere the root. */
size_t nodes_expected(const struct monitor *m);
/* Returns true if the listener is to be waited on. */
bool nodes_listening(const struct monitor *m);

/* Root: take in what came. Returns true when a node has reported something abnormal. */
bool nodes_receive(struct monitor *m, uint64_t now);
/* Root: to all nodes whose leader is there; who is asked has not answered. */
void nodes_ask(struct monitor *m, enum message type, const char *text);
void nodes_send_all(struct monitor *m, enum message type, const void *payload, uint32_t bytes);
bool nodes_answered(const struct monitor *m);
/* Root: ask anew who has come to communicator init. */
void nodes_census(struct monitor *m);
/* Root: say how the ranks meet (enum rendezvous); who waits from now on says so anew. */
void nodes_rendezvous(struct monitor *m, uint32_t how);
/* Root: what is known of the hosts that have shown the token, to m->input.hosts; how many they are. */
size_t nodes_known(struct monitor *m);
/* After decide(): keeps what it says of hosts, and prints what is news. */
void nodes_keep(struct monitor *m);
/* To launcher_hang_up(): links to hosts that are lost; how many of `room`. */
size_t nodes_lost(const struct monitor *m, int *links, size_t room);
/* Root, at the end: what was said last arrives, since a connection that is closed while something unread is
 * there is reset. Until all who are heard of have closed theirs, 2 s at most. */
void nodes_farewell(struct monitor *m);
void nodes_release(struct monitor *m);

/* Leader: views to the root. */
int nodes_report(struct monitor *m, enum message type);
/* Leader: answer a query, and the question for slow evidence that is to be saved in `folder` (""
 * for nowhere). */
void nodes_collect(struct monitor *m);
void nodes_collect_slow(struct monitor *m, const char *folder);
/* A first look at this node's ranks. */
void nodes_prepare(struct monitor *m);
