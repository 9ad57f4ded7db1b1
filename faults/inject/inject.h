/* inject.h: decides when a fault fires, as a filter in the call chain. */
#pragma once

#include "backend/call.h"
#include "inject/fault.h"

struct held;

#define INJECT_MAX 8

struct injector {
	struct fault_spec specs[INJECT_MAX];
	int nspecs;
	int rank, nranks; /* set by inject_place; rank -1 before: nothing fires */
	struct fault_machine machine;
	struct comm_set comms;
	/* Set by inject_place: steps, from 1, as bits (step 1: bit 0), before which all ranks should meet:
	 * those in which something fires when more than one rank is a culprit. Otherwise the end of the
	 * first culprit could keep the next one from its call: over sockets a stopped or dead rank still
	 * owes the others data of the call before. A schedule has at most 32 steps. */
	uint32_t meets;
	uint64_t calls;		     /* so far, as requested by the benchmark */
	uint64_t made[COMM_SET_MAX]; /* of these, by communicator */
	uint32_t comm;		     /* of the last one */
	double left;		     /* time at which faults let go of it, seconds; 0: none yet */
	long launched;		     /* of these, in a graph that has been launched */
	struct held *held;	     /* a call that is made behind another one; owned */
	struct fault_record *record; /* shared with the supervisor; borrowed, may be NULL */
};

/* Parse `n` --fault values. 0 or a negative errno with the error set. */
int inject_init(struct injector *injector, const char *const *texts, int n, struct error *err);

/* Does what faults need before libraries are initialised, in the process of the launcher's rank `rank` of `nranks`.
 * Returns 0, 1 when the program is to be started again with the
 * environment as it is now, or a negative errno with a usage error. */
int inject_start(const struct injector *injector, int rank, int nranks, size_t bytes,
		 struct error *err);

/* Describes the job in which the injector stands. */
struct inject_place {
	int rank, nranks;
	const struct schedule_setup *schedule;
	/* Lists the calls of a rank where they are not the schedule's; NULL: they are. `ctx` is borrowed. */
	void (*agenda)(const void *ctx, int rank, struct agenda *agenda);
	const void *ctx;
	int default_step; /* from 1: a fault without op fires at the first call from there on that it applies to */
	struct fault_machine machine; /* copied; what it points to is borrowed */
	struct fault_record *record;  /* borrowed, may be NULL */
};

/* Checks before ranks exist that the culprits exist in a job like `place`, and the calls
 * in its schedule. Machine, record and rank are not looked at. Returns 0, or -EINVAL with a
 * usage error ("rank out of range", "never reached"). */
int inject_check(const struct injector *injector, const struct inject_place *place,
		 struct error *err);

/* Fills in defaults (last rank; op) once ranks are known, and checks that the culprits exist,
 * that the schedule has so many calls, that the job is large enough and that this machine has
 * what the faults need. Returns 0; -EINVAL with a usage error ("rank out of range", "never
 * reached"); -ENOTSUP with OUTCOME_UNSUPPORTED and the need in words. */
int inject_place(struct injector *injector, const struct inject_place *place, struct error *err);

/* One line of spec number `i`, placed: its fault, the first of its ranks and calls, and the way that was
 * taken: "size-mismatch: rank 3, call 8, factor=half: should come to hang". Returns buf. */
char *inject_describe(const struct injector *injector, int i, char *buf, size_t len);

/* Returns true if any of the faults needs this, a bit of fault_need. */
bool inject_needs(const struct injector *injector, unsigned need);

/* Returns how much longer every deadline of the run has to be, 1 or more, so that a rank that its faults slow by a pause
 * or a share is no hang. The same on all ranks. */
double inject_patience(const struct injector *injector);

/* Returns true if all of the faults leave their ranks alive and slow. The same on all ranks. */
bool inject_slows(const struct injector *injector);

/* By the record that the rank shares with its supervisor, the number of the first --fault that
 * names the rank and has not fired on it; -1: none, or the ranks were never placed. */
int inject_unfired(const struct injector *injector, const struct fault_record *record);

/* The filter that fires the specs; valid as long as the injector is. */
struct call_filter inject_filter(struct injector *injector);

/* machine.c: tries which needs of faults this machine has (memory cgroups, namespaces) and leaves nothing behind. `run`
 * is the run's folder or NULL (common/lib/process/cgroup.h). Forks: before MPI and CUDA. */
void machine_look(struct fault_machine *machine, const char *run);

/* The backend by name (borrowed), and how many GPUs it could use. */
void machine_serve(struct fault_machine *machine, const char *backend, int gpus);
