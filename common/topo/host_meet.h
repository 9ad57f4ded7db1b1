/* host_meet.h: shared memory in which the ranks of one host meet, so that they can all work at once
 * and be timed.
 *
 * The memory is a memfd of the host's first rank that the others open below /proc: nothing is left
 * behind, whoever dies. Every wait ends after seconds; from then on the meeting has failed, and all
 * calls return at once. */
#ifndef HANGAR_HOST_MEET_H
#define HANGAR_HOST_MEET_H

#include <stdbool.h>
#include <sys/types.h>

#include "backend/job.h"
#include "topo/host_topo.h"

struct host_meet;

struct host_seat {
	int rank; /* in the job */
	pid_t pid;
	void *pool; /* address in that process */
};

/* Collective over the job's ranks of a host. `yields`: waiting ranks give their core away. 0, or a
 * negative errno with the error set: then there is nothing to close. */
int host_meet_open(struct host_meet **meet, struct job *job, bool yields, struct error *err);
void host_meet_close(struct host_meet *meet); /* NULL is fine */

/* The largest of what the ranks of the host bring. Collective over them. */
double host_meet_most(struct host_meet *meet, double mine);

/* Read the host with the ranks where they are allowed to run; every rank gets the first one's
 * result. */
int host_meet_topo(struct host_meet *meet, struct host_topo *topo, struct error *err);

/* All ranks come; a flag to a partner and one from another, log2(ranks) times. `idle`: sleep
 * meanwhile. */
void host_meet(struct host_meet *meet, bool idle);

/* All ranks get what the first one says. False once the meeting has failed. */
bool host_meet_say(struct host_meet *meet, bool what);

/* Tell the others where this rank's pool lies; they may ask after the next meeting. */
void host_meet_sit(struct host_meet *meet, int rank, void *pool);
struct host_seat host_meet_seat(const struct host_meet *meet, int rank);

/* What is being done cannot be done (refused), or nothing can (failed); seen by all after the next
 * meeting. */
void host_meet_refuse(struct host_meet *meet);
bool host_meet_refused(const struct host_meet *meet);
void host_meet_fail(struct host_meet *meet);
bool host_meet_failed(const struct host_meet *meet);

#endif
