/* monitor.h: the observers of a run: one member per rank, one leader per host, one root that
 * decides.
 *
 * Every supervisor opens a monitor. On each host the first one forks the leader, a process of its own (the kernel
 * decides: it could bind the run's abstract Unix address); all hand it their rank's memory and report their process'
 * state. Where a leader is gone or held a supervisor forks another one, which says so and ends the run. Leaders of other
 * hosts report to the leader of rank 0's host over TCP, once rank 0 has spread the address over MPI. Before that a leader
 * knows its own host alone. No MPI, CUDA or NCCL is called here. */
#pragma once

#include "base/error.h"
#include "pace/pace_watch.h"
#include "process/cgroup.h"
#include "process/supervisor.h"
#include "record/record.h"
#include "record/view.h"
#include "decide/decide.h"
#include "net/link.h"

#define MONITOR_NODES 4096 /* nodes that the root accepts */

struct answer;

/* Evidence about a rank of another host: for the verdict, stacks, its host's counters. */
enum evidence_kind { EVIDENCE_TAIL, EVIDENCE_STACK, EVIDENCE_COUNTERS, EVIDENCE_KINDS };

struct monitor;

/* Looks closer at an abnormal run than the monitor does. May refine the verdict before it is
 * printed, and may save evidence after. `memories[i]` belongs to views[i]; NULL: on another
 * host. Any may be NULL. */
struct monitor_client {
	void *ctx;
	/* Every leader: something may be wrong, 0.1 s before the others are called. */
	void (*begin)(void *ctx, const struct rank_view *views, size_t n);
	/* Leader on another node than the root's: it sends what is known of this node's ranks
	 * (monitor_send_evidence). */
	void (*collect)(void *ctx, const struct rank_view *views,
			const struct record_memory *const *memories, size_t n,
			struct monitor *monitor);
	/* Root: such evidence arrived, or what save_local() wrote. The sender has the run's
	 * token, no more. */
	void (*on_evidence)(void *ctx, int32_t rank, enum evidence_kind kind, const void *data,
			    size_t bytes);
	/* Root: the diagnoser looks. It may name class, ranks and place in the verdict, and a worse
	 * outcome than OK. */
	enum diagnosis_result (*refine)(void *ctx, const struct rank_view *views,
					const struct record_memory *const *memories, size_t n,
					struct answer *verdict);
	/* Root: what refine() found is printed as late, of a program that is given time; a verdict if
	 * the program ends itself for it. NULL: nothing is printed. */
	void (*late)(void *ctx, const struct answer *answer);
	/* Root: it came after all. */
	void (*came)(void *ctx);
	/* Leader, once a second at most: compares ranks of this host that run. */
	void (*compare)(void *ctx, const struct rank_view *views,
			const struct record_memory *const *memories, size_t n);
	/* Root, behind refine(): makes the answer's lines (answer/describe.h) of the evidence that it was found in. */
	void (*describe)(void *ctx, struct answer *answer);
	/* Root: the verdict stands, and is about to be printed: name the folder that evidence
	 * will be saved in. `side`: this host, where it ends without the root, which may save to
	 * the same disk; else NULL. */
	void (*reserve_folder)(void *ctx, struct answer *verdict, const char *side);
	/* The verdict is out. Leader elsewhere: save the evidence under the root's folder's name
	 * ("" for none), and send what took time to find out as text, e.g. stacks. */
	void (*save_local)(void *ctx, const struct rank_view *views,
			   const struct record_memory *const *memories, size_t n,
			   const char *folder, struct monitor *monitor);
	/* Root, while the others do: what takes time here. */
	void (*collect_slow)(void *ctx, struct answer *answer);
	/* Root, after the others' texts came. */
	void (*save)(void *ctx, struct answer *answer);
	/* Any leader: this verdict was printed, and its evidence is saved. NULL: not wanted. */
	void (*printed)(void *ctx, const struct answer *verdict);
};

struct monitor_config {
	const char *key;    /* names the run on this host: same for all its supervisors */
	const char *expect; /* --expect, or NULL */
	struct decide_config decide;
	struct monitor_client client;
	double slow_percent; /* of a step: a rank that is so much slower is named; 0: none is */
	double slow_seconds; /* and has been for so long */
	bool meters, traces; /* what calls cost is counted (pace/meter.h), and sampled calls kept */
	bool fail_slow;	     /* and makes the outcome, of a run that is well otherwise */
	bool preloaded; /* ranks are programs that know nothing of hangar, and no supervisor's */
	/* A preloaded program's run may be of several jobs. NULL: it is of one. elsewhere() takes the connection of a
	 * process that is about to join, and hands a duplicate to the monitor of its job: false, it is of this one's. */
	bool (*elsewhere)(void *arg, int fd);
	void *elsewhere_arg;
	const char *job; /* names it in the verdict; "" while it is the only one */
	/* In the leader's process: has it tick to its end (monitor_tick()). NULL of a preloaded program. */
	void (*watch)(void *arg, struct monitor *monitor);
	void *watch_arg;
};

struct monitor_peer {
	struct link link; /* to the member */
	pid_t pid;
	bool foreign; /* of another namespace of processes: its numbers mean others here */
	bool left;    /* a signal told it to end */
	int rank;     /* place in `ranks`; -1: a stranger, which has shown no memory */
	/* of a preloaded program: exit_seen's; the memory cgroup that it was last seen in, and
	 * how often the kernel had killed there when it was first */
	bool exit_again;
	char cgroup[CGROUP_PATH];
	int64_t oom_kills;
	uint64_t cgroup_ns;
	pid_t group;  /* its process group, when it came */
	int pidfd;    /* its process, whose number may be another's once it is gone; -1: none */
	ino_t memory; /* of the descriptor of its record */
};

struct monitor_node {
	struct link link;
	struct link life; /* its end is never a reset, since nothing is left unread in it */
	bool life_ended;
	uint64_t since_ns; /* when it was accepted */
	bool known;	   /* has shown the token */
	bool replaced;	   /* it has come again over another connection */
	bool told;   /* over this connection that the run is over; it has not been reset since */
	bool silent; /* did not answer in time once, or take evidence: not waited for again */
	struct decide_host host; /* as the decision sees it; owns its views */
	enum view_lost lost;	 /* as it says of it */
	struct path path;	 /* probed while something seems wrong, */
	struct path heard;	 /* its counts when the host was last heard of */
	uint64_t asked_until;	 /* ... or the other hears nothing */
	uint64_t datagram_ns;	 /* when a datagram last came of it */
};

#define NO_NODE                                                                                    \
	((struct monitor_node){ .link = { .fd = -1, .passed_fd = -1 },                             \
				.life = { .fd = -1, .passed_fd = -1 },                             \
				.path = { .fd = -1 } })

/* The root wants these, since the last tick. */
struct monitor_requests {
	uint32_t what, round; /* COLLECT_... (watch/message.h), and of the last of them */
	char folder[256];     /* COLLECT_SLOW: of the evidence, "" for none */
};

struct monitor {
	struct monitor_config config;
	struct record_memory *memory; /* member: of the own rank; borrowed */
	int listen_fd;		      /* leader: Unix listener, else -1 */
	struct link up;		      /* member: to the leader */
	bool leader;
	pid_t forked;		  /* member: the leader that it has forked, 0: none */
	pid_t parent;		  /* leader: the member that has */
	uint64_t any_ns;	  /* leader: when a member was last connected, or might have been */
	struct monitor_node root; /* leader elsewhere: known once it was connected */
	int joining_fd;		  /* a connection to it that is being made, -1: none */
	size_t joining;		  /* attempts so far */
	int life_fd;		  /* a second connection that is being made, -1: none */
	bool life_wanted;	  /* the root has answered over the first one */
	uint64_t probe_until;	  /* something seemed wrong */
	uint64_t joining_ns, beat_ns; /* when the last one began; when a heartbeat was last sent */
	struct monitor_peer *peers;   /* leader: local ranks, the own one first, and strangers */
	size_t npeers;
	struct decide_rank *ranks; /* leader: this host's */
	struct desync_state *desync_states;
	struct record_memory **memories; /* theirs, mapped */
	bool desynced;			 /* they made different calls, */
	struct desync desync;		 /* first these */
	size_t nranks;
	int uplink_fd;		    /* root: TCP listener, else -1 */
	bool refused;		    /* the port that it was given was taken */
	struct monitor_node *nodes; /* root: other nodes */
	struct decide_host *hosts;  /* room for what is known of them */
	size_t nnodes;
	uint64_t host_ids; /* given so far; the root has 0 */
	struct decide_state decide;
	struct decide_input input;	  /* of the last tick */
	struct monitor_requests requests; /* leader elsewhere */
	uint32_t round;			  /* root: of the last COLLECT that is answered */
	const struct supervised *child;	  /* as of this tick; borrowed */
	int memory_fd;			  /* borrowed */
	int asking_fd; /* a connection that asks for the status; the caller's: -1 once it is taken */
	bool asking_json;
	pid_t launcher_pid;
	uint64_t watchers_ns;		/* when watchers were last looked at */
	uint64_t own_beat, own_beat_ns; /* member: its own rank's, while the leader is held */
	bool came_late; /* member: the run had an exit code when it joined. A leader that is gone later is replaced */
	bool replacing; /* the first leader is gone or held: this is the second, or its member */
	char late[256]; /* ranks that were printed as late, "1,3"; "-": none */
	uint64_t compare_ns;	/* when compare() is next asked */
	struct pace_watch pace; /* leader: of this host's ranks */
	uint64_t leaves_ns; /* since a signal told this process, or a member, to end; 0: none did */
	bool orphaned;	    /* of a preloaded program: the command has ended; the caller's */
	bool ended;
	int exit_code;
};

/* Take a place among the run's observers and pass on the own rank's memory (mapped at `memory`,
 * open as `memory_fd`); without one (NULL) it leads, or there is a leader: -EADDRINUSE. 0 or
 * negative errno with the error set. It may fork the leader, which never returns. */
int monitor_open(struct monitor *monitor, const struct monitor_config *config,
		 struct record_memory *memory, int memory_fd, struct error *err);
/* Waits for a leader that it has forked, 10 s at most. */
void monitor_close(struct monitor *monitor);
/* Leader in a process of its own: waits and looks. Returns false when the run is over, or all members have left. */
bool monitor_tick(struct monitor *monitor);
/* Leader without a rank of its own: the run is over for those it knows; others may come. */
void monitor_forget(struct monitor *monitor);
/* The run goes on after its verdict: it is watched as from its start, by this host and by others
 * that come again. How long waits usually last is kept. */
void monitor_again(struct monitor *monitor);
/* A signal that ends jobs comes to this process, to this group (negative), or to all (-1): to the ranks that are known. */
void monitor_tell(struct monitor *monitor, int32_t target);
/* Sends a signal to the ranks of a preloaded program that are still there. */
void monitor_signal(struct monitor *monitor, int number);
/* Leader: the connection of a process of this host that another leader has accepted. */
void monitor_admit(struct monitor *monitor, int fd);
/* Its verdict is out: how the ranks are is looked at, and nothing is decided. */
void monitor_look(struct monitor *monitor);
/* Ask the other hosts' leaders how their ranks are: soon what is known of them is new. */
void monitor_ask_hosts(struct monitor *monitor);

/* In collect() and save_local(): sends the root evidence about a rank, at most LINK_MAX less 8
 * bytes. Nothing is sent after the first failure: the root decides without this host by then. */
void monitor_send_evidence(struct monitor *monitor, int32_t rank, enum evidence_kind kind,
			   const void *data, size_t bytes);

/* The supervisor's loop calls these; `ctx` is the monitor. */
struct supervisor_hooks monitor_hooks(struct monitor *monitor);
