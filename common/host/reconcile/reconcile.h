/* reconcile.h: causes of slow rows: a look before and after the sweep, and the lines about it. */
#pragma once

#include "measure/bench.h"
#include "measure/run.h"
#include "live/predict.h"
#include "machine/observation.h"
#include "reconcile/nccl_seen.h"
#include "machine/read.h"

struct reconcile {
	const struct bench *bench;     /* NULL: nothing is looked at */
	const struct predict *predict; /* rank 0; NULL: no predictions */
	bool shared_gpu;
	struct nccl_asked asked;
	struct nvml nvml;	     /* of the ranks that look at their host */
	struct observed_rank *ranks; /* all of the job */
	double worst;  /* percent of its prediction that the slowest row reached; infinity: none */
	double judged; /* the same of the lower end, where bars are wide */
	struct observation observation; /* rank 0 */
	struct run_hook hooks;
};

/* Looks for the first time, on every rank, between the communicator's start and the sweep.
 * `predict` is rank 0's, NULL where no predictions are made. Sets *hooks for struct run on rank 0;
 * they live as long as `reconcile`. Returns 0, or a negative errno with the error set. Collective. */
int reconcile_before(struct reconcile *reconcile, const struct bench *bench,
		     const struct predict *predict, bool shared_gpu, const struct run_hook **hooks);

/* Looks again, after the sweep. Does nothing without the first look. Returns the same. Collective. */
int reconcile_after(struct reconcile *reconcile);

void reconcile_release(struct reconcile *reconcile);
