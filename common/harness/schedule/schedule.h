/* schedule.h: the fixed run that faults break: known steps, each with a size of its own. A step issues
 * what its scheme says (scheme.h): the program's collective once, and more, on other communicators too. */
#pragma once

#include "measure/run.h"
#include "schedule/scheme.h"

#define SCHEDULE_WARMUP 5
#define SCHEDULE_TIMED	20
#define SCHEDULE_STEPS	(SCHEDULE_WARMUP + SCHEDULE_TIMED)
/* Step, from 1, at whose first call a fault fires unless its spec says otherwise. */
#define SCHEDULE_FAULT_STEP (SCHEDULE_WARMUP + 3)
#define SCHEDULE_BYTES	    ((size_t)1 << 20) /* of the first step, unless -b or -e says otherwise */

/* What a schedule is made of; the same before ranks are started and in them. */
struct schedule_setup {
	const struct options *options;
	const struct collective *collective;	     /* the program's */
	const struct collective *const *collectives; /* that it may mix, NULL-terminated */
	const struct scheme *scheme;
	struct comm_set comms;
	const struct traffic *traffic; /* an irregular collective's, else NULL */
};

/* Fill in scheme and communicators of a job of `nranks` ranks; the caller has set the other fields. `name`
 * NULL: the plain scheme. 0, or -EINVAL with a usage error: no such scheme, or not on so many ranks. */
int schedule_setup(struct schedule_setup *setup, const char *name, int nranks, struct error *err);

/* Size of step `i` (from 0), bytes: every step is smaller than the one before, so that each is recognisable
 * in a flight recorder. The first one is -e, or without it -b; the last one -b where both were given, else
 * each is a 64th of the first smaller. 0: too small for that. */
size_t schedule_bytes(const struct options *options, int i);

/* The largest buffer of any step on rank `rank`, bytes; and bytes of a pool in which those of all steps lie
 * beside each other. */
size_t schedule_largest(const struct schedule_setup *setup, int rank);
size_t schedule_pool(const struct schedule_setup *setup, size_t largest);

/* Checks that every step is large enough to give each rank a slice, and that every collective runs on as
 * many ranks as its communicator has. 0, or -EINVAL with a usage error. */
int schedule_check(const struct schedule_setup *setup, struct error *err);

/* A call of the schedule, as a rank asks for it. */
struct planned_call {
	int step;	  /* from 1 */
	int rank, nranks; /* of its communicator: who makes it, and of how many */
	bool opens;	  /* it is the first of its step */
	bool grouped;	  /* with others: their order says nothing */
	struct call call; /* without alltoallv's counts; its buffers are no addresses */
};

struct agenda {
	struct planned_call *calls; /* owned */
	int n;
};

/* All calls that rank `rank` makes, in their order; the caller releases. */
void schedule_agenda(const struct schedule_setup *setup, int rank, struct agenda *agenda);
void agenda_release(struct agenda *agenda);

/* Make the steps, which schedule_check() has found to be large enough: the warm-up ones meet after each, the
 * others follow each other without a word between the ranks but where `meets` has a bit (bit 0: before step
 * 1), on slots of their own; then all of these are checked. In mode graph each of the others is captured and
 * launched as often as -G says. Prints the schedule as a remark, one remark per wrong step. 0 or a negative
 * errno with the error set; wrong data are run->outcome. Collective: `meets` is the same on all ranks. */
int schedule_run(struct run *run, const struct schedule_setup *setup, uint32_t meets);
