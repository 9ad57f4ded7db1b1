/* monitor.h: the observers of a run: one member per rank, one leader per node, one root that
 * decides.
 *
 * Every supervisor opens a monitor. On each node the first one becomes the leader (the kernel
 * decides: it could bind the run's abstract Unix address); the others hand it their rank's
 * memory and tell it when their process changes state. Leaders of other nodes report to the
 * leader of rank 0's node over TCP, once rank 0 has spread the address over MPI. Until then a
 * leader speaks for its own node. No MPI, CUDA or NCCL is called here. */
#ifndef HANGAR_MONITOR_H
#define HANGAR_MONITOR_H

#include <poll.h>
#include <stdbool.h>
#include <stdint.h>

#include "watch/extension.h"
#include "base/error.h"
#include "watch/link.h"
#include "watch/rendezvous.h"
#include "watch/progress.h"
#include "record/record.h"
#include "process/supervisor.h"
#include "record/view.h"

#define MONITOR_NODES 4096 /* nodes that the root accepts */

struct verdict;

/* What a diagnoser on another node says of a rank: evidence for the verdict, its stacks, and what its
 * host counted, which is said with one rank of the host. */
enum evidence_kind { EVIDENCE_TAIL, EVIDENCE_STACK, EVIDENCE_COUNTERS, EVIDENCE_KINDS };

struct evidence_writer {
	void *to;
	void (*write)(void *to, int32_t rank, enum evidence_kind kind, const void *data,
		      size_t bytes);
};

/* Looks closer at an abnormal run than the monitor does. May sharpen the verdict before it is
 * said, and may save evidence after. `memories[i]` belongs to views[i]; NULL: on another node.
 * Any may be NULL. */
struct monitor_client {
	void *ctx;
	/* Every leader: something may be wrong, 0.1 s before the others are called: a first look
	 * at this node's ranks. */
	void (*begin)(void *ctx, const struct rank_view *views, size_t n);
	/* Leader on another node than the root's: what is known of this node's ranks, at most
	 * LINK_MAX less 8 bytes each. */
	void (*collect)(void *ctx, const struct rank_view *views,
			const struct record_memory *const *memories, size_t n,
			const struct evidence_writer *writer);
	/* Root: such a word arrived, or one of keep()'s. The sender has the run's token, no
	 * more. */
	void (*on_evidence)(void *ctx, int32_t rank, enum evidence_kind kind, const void *data,
			    size_t bytes);
	void (*refine)(void *ctx, const struct rank_view *views,
		       const struct record_memory *const *memories, size_t n,
		       struct verdict *verdict);
	/* Root: the verdict stands, and is about to be said: name the folder that evidence will
	 * be kept in. */
	void (*reserve_folder)(void *ctx, struct verdict *verdict);
	/* The verdict is out. Leader elsewhere: keep the evidence under the root's folder's name
	 * ("" for none), and tell what took time to find out as text, e.g. stacks. */
	void (*save_local)(void *ctx, const struct rank_view *views,
			   const struct record_memory *const *memories, size_t n,
			   const char *folder, const struct evidence_writer *writer);
	/* Root, while the others do: what takes time here. */
	void (*collect_slow)(void *ctx);
	/* Root, after the others' texts came. */
	void (*save)(void *ctx);
};

struct monitor_config {
	const char *key;    /* names the run on this host: same for all its supervisors */
	const char *expect; /* --expect, or NULL */
	bool deadlines;	    /* --no-watch clears it */
	bool extensions; /* a hang that the diagnoser finds no cause for gets more time (extension.h) */
	double rendezvous_seconds; /* ranks come to communicator init in this time, and alike (rendezvous.h), or
	                      * the diagnoser is asked; 0: init's deadline alone */
	struct monitor_client client;
};

struct monitor_peer {
	struct link link;	      /* to the member; fd -1 for the leader's own rank */
	struct record_memory *memory; /* mapped; NULL: a stranger until it has shown one */
	struct rank_view view;
	struct progress progress;
	uint64_t wait_since; /* the wait that the grace is for */
	uint64_t grace_ns;   /* of that wait: time this process was not running itself */
};

struct monitor_node {
	struct link link;
	uint64_t since_ns; /* when it was accepted */
	bool known;	   /* has shown the token */
	bool done;	   /* all its ranks finished by themselves */
	bool answered;	   /* has said all that it was last asked for */
	bool late;	   /* its ranks wait at communicator init for others */
	bool present;	   /* has answered the last roll */
	bool silent;	   /* did not answer in time once: not waited for again */
	struct rank_view *views;
	size_t nviews;
};

/* How the ranks meet at communicator init, on this host or, where there are several, by a roll that
 * the root calls (monitor_rendezvous.h). */
struct monitor_rendezvous {
	bool marked; /* some rank here is overdue for no other reason */
	bool met;    /* they did, or the diagnoser saw no cause in it: not asked again */
	enum rendezvous
		found;	  /* several hosts: what the roll said, of LACKS and UNLIKE; else OPEN */
	bool late;	  /* several hosts: ranks here wait so long that the roll is due */
	bool told;	  /* leader elsewhere: so the root was told */
	bool rolled;	  /* several hosts: it was called, and ranks here are watched since */
	bool rolling;	  /* root: answers come in ... */
	uint64_t roll_ns; /* ... until then; otherwise when it is called next */
};

enum monitor_stage { STAGE_WATCH, STAGE_SETTLE, STAGE_QUERY, STAGE_END };

struct monitor {
	struct monitor_config config;
	struct record_memory *memory; /* of the own rank; borrowed */
	int listen_fd;		      /* leader: Unix listener, else -1 */
	struct link up;		      /* member: to the leader; leader: to the root on
	                               * another node */
	bool leader;
	bool up_is_root;	    /* `up` is the TCP connection of a leader */
	bool reported;		    /* leader: the root has been told that this node is abnormal
	                               * or done */
	struct monitor_peer *peers; /* leader: local ranks, the own one first */
	size_t npeers;
	int uplink_fd;		    /* root: TCP listener, else -1 */
	struct monitor_node *nodes; /* root: other nodes */
	size_t nnodes;
	enum monitor_stage stage;
	uint64_t stage_until;	    /* ns */
	struct extension extension; /* root */
	bool patient;		    /* leader elsewhere: the root grants time for what was
	                               * reported, a wait */
	uint64_t death_ns;	    /* when the first death was observed, 0: none */
	uint64_t error_ns;	    /* when the first rank that left with an error was, 0: none */
	uint64_t error_until;	    /* a death behind it is awaited until then */
	uint64_t overdue_ns;	    /* until when nobody was overdue, or some rank still moved */
	uint64_t starved_ns;	    /* leader: when the host last kept some rank from running */
	struct monitor_rendezvous rendezvous; /* leader */
	uint64_t last_step;		      /* ns */
	int exit_code;
};

/* Take a place among the run's observers and pass on the own rank's memory (mapped at `memory`,
 * open as `memory_fd`). 0 or negative errno with the error set. */
int monitor_open(struct monitor *monitor, const struct monitor_config *config,
		 struct record_memory *memory, int memory_fd, struct error *err);
void monitor_close(struct monitor *monitor);

/* What the supervisor's loop calls; `ctx` is the monitor. */
struct supervisor_hooks monitor_hooks(struct monitor *monitor);

#endif
