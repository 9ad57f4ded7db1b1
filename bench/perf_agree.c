/* perf_agree.c: the ranks' options are brought together, and in full only where they differ. */
#include "perf_agree.h"

#include <errno.h>
#include <stdlib.h>

#include "options/options_agree.h"
#include "report/facts.h"

/* All equal when the largest of each half is also the smallest. */
static int hashes_differ(struct job *job, uint64_t hash)
{
	int low = (int)(hash & 0x7fffffff), high = (int)(hash >> 32 & 0x7fffffff);
	int ends[4] = { low, -low, high, -high };
	int rc = job_max_int(job, ends, 4);

	return rc < 0 ? rc : ends[0] != -ends[1] || ends[2] != -ends[3];
}

/* Rank 0 has all values and says what differs; the others receive it. */
static int refuse(struct job *job, const struct options_agree *mine)
{
	struct options_agree *all = NULL;
	char text[400];
	int rc = 0;

	if (job->rank == 0)
		all = calloc((size_t)job->nranks, sizeof(*all));
	if (job->rank == 0 && !all)
		rc = error_set(job->err, OUTCOME_INTERNAL, -ENOMEM, "out of memory");
	rc = job_agree(job, rc);
	if (rc == 0)
		rc = job_gather(job, mine, sizeof(*mine), all);
	if (rc == 0 && all && !options_agree_same(all, job->nranks, text, sizeof(text)))
		rc = error_set(job->err, OUTCOME_USAGE, -EINVAL,
			       "%s; must be the same on all ranks", text);
	free(all);
	return job_agree(job, rc);
}

int perf_agree(struct job *job, const struct program *program, const char *backend)
{
	struct options_agree mine;
	int differ;

	options_agree_fill(&mine, program->options, HANGAR_VERSION, program->name, backend,
			   program->collective->irregular);
	differ = hashes_differ(job, options_agree_hash(&mine));
	return differ > 0 ? refuse(job, &mine) : differ;
}
