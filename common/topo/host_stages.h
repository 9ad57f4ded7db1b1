/* host_stages.h: collectives as stages of messages (inside host_model). */
#ifndef HANGAR_HOST_STAGES_H
#define HANGAR_HOST_STAGES_H

#include "topo/host_model.h"

enum { HOST_STAGES = 40, HOST_PLANS = 4 };

/* What each of `active` ranks does in one stage, `repeat` times. */
struct host_stage {
	double repeat;
	double messages; /* that it gets, one after the other; 0: none, only local work */
	double bytes;	 /* that it gets, in all of them */
	double active;	 /* ranks that do so at once, on all hosts together */
	double far;	 /* share of the bytes that comes from another host */
	double reduce;	 /* bytes of operand that it combines with its own */
	double local;	 /* bytes that it copies within its own memory */
	double fresh;	 /* bytes of memory that it takes from the kernel and gives back */
};

/* An algorithm. */
struct host_plan {
	const char *name;
	int nstages;
	struct host_stage stages[HOST_STAGES];
};

/* The algorithms there are for a collective on these ranks; how many. */
int host_plans(const struct host_model *model, const struct host_request *request,
	       struct host_plan plans[HOST_PLANS]);

#endif
