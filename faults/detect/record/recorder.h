/* recorder.h: the writer of the flight recorder, in the rank; it implements process/watch.h. */
#pragma once

#include "base/error.h"
#include "base/outcome.h"
#include "record/record.h"
#include "process/watch.h"

struct recorder {
	struct record_memory *memory; /* shared with the supervisor; borrowed */
	bool calls;		      /* --record is not off: calls are noted */
	bool timed;		      /* device times have been noted: a slot's old ones must go */
	int depth;		      /* of the groups that are open */
	uint64_t counted;	      /* alltoallvs whose amounts were kept */
	bool blocking; /* calls return when they are over, so the host's times are theirs: they are sampled; the caller sets it */
	bool enqueued; /* calls are over when `completed` says so: those that are waited for alone are sampled; the caller sets it */
	unsigned open; /* calls since the last `completed` */
	unsigned shift;		 /* 1 of 2^shift calls is sampled */
	bool inside;		 /* a call, or a group of calls */
	uint64_t own_ns, end_ns; /* outside of calls so far; the last end, device's clock */
	uint64_t stamped;	 /* ticket of the newest call of which the device gave the times */
	uint8_t part;		 /* of the newest sample */
	uint64_t rate_ns;	 /* when the rate of calls was last looked at */
	uint64_t wait_ticket;	 /* newest call when the wait began */
	double timeout;		 /* -T seconds for every wait, 0: the caller's deadline */
	double stretch;		 /* all deadlines times this; the caller may set it */
};

/* Anonymous shared memory (memfd) for one rank, header initialised. On success *memory is mapped
 * and *fd open; close and munmap are the caller's. 0 or negative errno with the error set. */
int recorder_create(const char *program, struct record_memory **memory, int *fd, struct error *err);

void recorder_init(struct recorder *recorder, struct record_memory *memory, bool calls,
		   double timeout);

/* The hooks of this recorder; valid as long as it is. */
struct watch recorder_watch(struct recorder *recorder);

/* Adds a sample of the call with this ticket, the last one of `calls` of a group, of which the
 * device gave the times, ns on one clock, in the order of the calls. `part`: as in
 * record_sample; own time is counted here. One thread at a time. */
void recorder_stamp(struct recorder *recorder, uint64_t ticket, unsigned calls, uint8_t part,
		    uint64_t arrived_ns, uint64_t through_ns);

/* Notes the partner of a send or receive, which was -1 when it was made; nothing where that is
 * overwritten. */
void recorder_partner(struct recorder *recorder, uint64_t ticket, int peer);

/* Records who the rank is, once MPI has said so. */
void recorder_identify(struct recorder *recorder, int rank, int nranks, int node, int nnodes,
		       int local_rank, const char *device, const char *library);

/* Records NCCL's settings on a rank, once, and a hash, not 0, of those that break calls. */
void record_settings(struct record_header *rank, const char *text, uint64_t hash);

/* Rank 0 of a run on several hosts: ask this host's monitor to listen. Returns its TCP port, or a
 * negative errno when it does not within two seconds. */
int recorder_uplink_port(struct recorder *recorder);

/* Records how to reach the root monitor, `address` as in record_header; uplink_ready last. */
void recorder_uplink(struct recorder *recorder, const char *address, uint64_t token);

/* The rank is about to exit as `outcome`, which points at `culprits` ("1,3", "": none). */
void recorder_finish(struct recorder *recorder, enum outcome outcome, const char *culprits,
		     const struct error *err);
