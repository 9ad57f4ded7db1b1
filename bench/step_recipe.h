/* step_recipe.h: the calls and the compute of a training step, by the recipe's name. Pure. */
#pragma once

#include "inject/inject.h"
#include "schedule/schedule.h"

extern const struct collective step; /* step_perf.c: stands for the program, and is none */

#define RECIPE_CALLS 256 /* most calls of a step */
#define RECIPE_OPS   (4 * RECIPE_CALLS)
#define RECIPE_SLOTS 16 /* taken by calls in turn, each of one kind */

/* A step, in the order in which the host issues it. A call waits for all compute before it. */
struct recipe_op {
	enum {
		RECIPE_COMPUTE,
		RECIPE_CALL,
		RECIPE_WAIT
	} kind;	      /* WAIT: compute from here on needs the calls so far */
	double share; /* of the step's compute */
	int call;     /* index of the call */
};

struct recipe {
	const char *name, *words; /* how calls and compute lie to each other */
	int pieces;		  /* buckets, layers or microbatches */
	int nops, ncalls;
	struct recipe_op ops[RECIPE_OPS];
	struct step_part calls[RECIPE_CALLS]; /* of the rank; `slot` from 0 */
};

/* The job of a recipe; all is borrowed. `traffic` is that of moe. */
struct recipe_job {
	const struct options *options;
	const struct comm_set *comms;
	const struct traffic *traffic;
};

/* Makes the communicators of the recipes of the options: that of all ranks, and for a pipeline one for each two stages.
 * Returns 0, or -EINVAL with a usage error: too many stages. */
int recipe_comms(struct comm_set *comms, const struct options *options, int ranks,
		 struct error *err);

/* Sets recipe number `which` (the words of --recipe) on rank `rank` of the job. Returns 0, or -EINVAL with a usage error:
 * more pieces than a step may have, or too small messages. */
int recipe_make(struct recipe *recipe, const struct recipe_job *job, int which, int rank,
		struct error *err);

/* Checks all recipes of the options. Returns the largest buffer of any of their calls in bytes, which is equal on all
 * ranks, or -EINVAL with a usage error. */
ssize_t recipes_check(const struct recipe_job *job, struct error *err);

/* Steps of a recipe: all of it, the calls alone, the compute alone, the measured ones, and one whose data are checked. */
struct recipe_steps {
	int warmup, calls, compute, timed, checked;
};
struct recipe_steps recipe_steps(const struct options *options);

/* For struct inject_place: lists all calls of a rank in all recipes; `ctx` is a struct recipe_job. A fault fires by
 * default from the 8th measured step on; the place gets its number. */
void recipe_place(struct inject_place *place, const struct recipe_job *job);
