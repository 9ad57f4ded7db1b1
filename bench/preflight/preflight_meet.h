/* preflight_meet.h: hosts of a launch meet over TCP before MPI, take turns at the network between
 * them, and go on together. The process with rank 0 leads. */
#pragma once

#include "machine/reading.h"
#include "machine/preflight_net.h"
#include "process/launch.h"
#include "net/link.h"

struct preflight_guest {
	struct link link; /* of the leader itself: closed */
	struct preflight_peer peer;
	struct reading reading; /* its hello, owned */
	int first_rank;
};

struct preflight_meeting {
	struct launch launch;
	int nhosts, expected;		/* that came; of the launch */
	struct preflight_guest *guests; /* leader: by first rank, itself the first; owned */
	struct link leader;		/* elsewhere */
	char missing[400];		/* leader: listed hosts that did not come; "": not known */
	char missing_ranks[64];		/* "rank 2"; "": not known */
	char tried[400]; /* elsewhere: where the leader was sought, and what came of it */
};

/* The launcher's list of the job's hosts, as its variables have it; NULL: none. Open MPI's (with an "@") begins with
 * mpirun's own host, whether that has ranks or not; mpirun's own children lack it. */
const char *preflight_members(char *const *environment);

/* Makes this process one of a launch on the hosts of a list "a,10.0.0.2", as srun would start it without PMIx: each host
 * starts the same command by any means. 0, or -ENOENT: none of them has an address of this host. */
int preflight_place(const char *hosts);

/* Number of hosts of the launch, and of ranks on this host; 1 where that is not known. */
int preflight_count_hosts(const struct launch *launch);
int preflight_count_local(const struct launch *launch, int nhosts);

/* Meets with this host's hello, which has a part "job". The leader waits for all hosts, the others
 * look for it, `seconds` at most. Fills in nhosts. 0, or a negative errno with `tried`. */
int preflight_meet(struct preflight_meeting *meeting, const struct preflight_peer *mine,
		   const char *hello, double seconds);

/* Leader: all pairs in turn, or from 64 hosts a ring and its doublings. `pairs` gets a reading
 * each, owned by the caller; a silent host has the state "hung". Returns how many. */
int preflight_rounds(struct preflight_meeting *meeting, struct reading **pairs);

/* Leader: all hosts go on (or, `go` false, do not); and are released with the exit code, since a
 * launcher replaces it where one process ends well that left MPI unfinished. */
void preflight_tell(struct preflight_meeting *meeting, bool go);
void preflight_dismiss(struct preflight_meeting *meeting, int code);

/* Elsewhere: takes part in rounds until the leader tells. Returns 1: go on, 0: do not, or a negative
 * errno. Then, until it is dismissed; returns the exit code. */
int preflight_serve(struct preflight_meeting *meeting, const struct preflight_peer *mine);
int preflight_await(struct preflight_meeting *meeting);

void preflight_part(struct preflight_meeting *meeting);
