/* facts.c: provenance of a run. */
#include "report/facts.h"

#include "base/clock.h"

int facts_gather(struct job *job, struct backend *backend, struct rank_facts **ranks)
{
	struct rank_facts mine = {
		.rank = job->rank,
		.node = job->node,
		.local_rank = job->local_rank,
		.pid = getpid(),
	};

	gethostname(mine.host, sizeof(mine.host) - 1);
	backend->ops->facts(backend, &mine.device);
	*ranks = job->rank == 0 ? must(calloc((size_t)job->nranks, sizeof(**ranks))) : NULL;
	return job_gather(job, &mine, sizeof(mine), *ranks);
}

void facts_run(struct run_facts *run, const struct job *job, const struct backend *backend,
	       const struct options *options, const struct rank_facts *ranks)
{
	run->options = options;
	run->backend = backend->ops->name;
	run->mpi_library = job->library;
	run->hangar_version = HANGAR_VERSION;
	run->nranks = job->nranks;
	run->nnodes = job->nnodes;
	run->ranks = ranks;
	clock_local(run->started, sizeof(run->started), CLOCK_ISO);
}
