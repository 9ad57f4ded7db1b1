/* schedule.h: the fixed run that faults break: numbered steps, each of its own size. A step issues
 * the calls of its scheme (scheme.h): the program's collective once, and others. */
#pragma once

#include "measure/run.h"
#include "schedule/scheme.h"

#define SCHEDULE_WARMUP 5
#define SCHEDULE_TIMED	20
#define SCHEDULE_STEPS	(SCHEDULE_WARMUP + SCHEDULE_TIMED)
/* Step, from 1, at whose first call a fault fires by default. */
#define SCHEDULE_FAULT_STEP (SCHEDULE_WARMUP + 3)
#define SCHEDULE_BYTES	    ((size_t)1 << 20) /* size of the first step without -b or -e */

/* The parameters of a schedule, equal before the start of ranks and in them. */
struct schedule_setup {
	const struct options *options;
	const struct collective *collective;	     /* the program's collective */
	const struct collective *const *collectives; /* those that it may mix, up to NULL */
	const struct scheme *scheme;
	struct comm_set comms;
	const struct traffic *traffic; /* for an irregular collective, else NULL */
};

/* Sets scheme and communicators for a job of `nranks` ranks; the caller has set the other fields.
 * `name` NULL: the plain scheme. Returns 0, or -EINVAL with a usage error: no such scheme, or not
 * with this number of ranks. */
int schedule_setup(struct schedule_setup *setup, const char *name, int nranks, struct error *err);

/* Returns the size of step `i` (from 0) in bytes. Every step is smaller than the one before, so a
 * flight record identifies each. The first is -e, or -b without it. The last is -b if both are set,
 * else each is a 64th smaller than the first. 0: too small. */
size_t schedule_bytes(const struct options *options, int i);

/* Return the largest buffer of any step on rank `rank`, and the bytes of a pool for all steps. */
size_t schedule_largest(const struct schedule_setup *setup, int rank);
size_t schedule_pool(const struct schedule_setup *setup, size_t largest);

/* Checks that each step gives each rank a slice, and that each collective supports its
 * communicator's size. Returns 0, or -EINVAL with a usage error. */
int schedule_check(const struct schedule_setup *setup, struct error *err);

/* A call of the schedule, as a rank requests it. */
struct planned_call {
	int step;	  /* from 1 */
	int rank, nranks; /* the rank in its communicator, and its size */
	bool opens;	  /* it is the first of its step */
	bool grouped;	  /* part of a group: the order inside has no meaning */
	struct call call; /* without alltoallv's counts; its buffers are not addresses */
};

struct agenda {
	struct planned_call *calls; /* owned */
	int n;
};

/* Lists all calls of rank `rank` in order; the caller releases the agenda. */
void schedule_agenda(const struct schedule_setup *setup, int rank, struct agenda *agenda);
void agenda_release(struct agenda *agenda);

/* Adds the calls of one part of step `step`, from 1, on rank `rank` of the group to an agenda. */
void agenda_add(struct agenda *agenda, const struct comm_set *comms, int rank, int step,
		const struct step_part *part);

/* Runs the steps, which schedule_check() has accepted. Warm-up steps meet after each. The others
 * follow without communication, except where `meets` has a bit (bit 0: before step 1), and each
 * uses its own slots. All of these are then checked. In mode graph each is captured and launched -G
 * times. Prints the schedule as a note, and one note per wrong step; each timed step is a row. Returns 0 or a negative errno
 * with the error set; wrong data set run->outcome. `lasting`: all timed steps are made again and again for so many
 * seconds, in about, but for mode graph; rows are of the last time. Collective: `meets` and `lasting` are equal on all ranks. */
int schedule_run(struct run *run, const struct schedule_setup *setup, uint32_t meets,
		 double lasting);
