/* tool_skew.c: how far apart ranks leave a barrier, and how long it takes: tool_skew [BARRIERS], under any launcher. Rank 0 prints
 * medians and 99th percentiles in us, of ranks of one host, whose clocks are one. */
#include "base/clock.h"
#include "base/stats.h"
#include "rig/job_rig.h"

static double at(const double *sorted, int n, double part)
{
	return sorted[(int)((n - 1) * part)] * 1e6;
}

/* all[r * n + i]: when rank r left barrier i. */
static void print(const struct job *job, const double *all, double *took, int n)
{
	double *skew = must(calloc((size_t)n, sizeof(*skew)));

	for (int i = 0; i < n; i++) {
		double first = all[i], last = all[i];

		for (int r = 1; r < job->nranks; r++) {
			first = fmin(first, all[r * n + i]);
			last = fmax(last, all[r * n + i]);
		}
		skew[i] = last - first;
	}
	sort_median(skew, (size_t)n);
	sort_median(took, (size_t)n);
	printf("%s, %d ranks, %d barriers: apart %.1f us (median), %.1f us (99th percentile); one "
	       "takes "
	       "%.1f us (median)\n",
	       job->ops->mpi ? "MPI" : "TCP", job->nranks, n, at(skew, n, 0.5), at(skew, n, 0.99),
	       at(took, n, 0.5));
	free(skew);
}

int main(int argc, char **argv)
{
	static const struct watch unwatched = { .ctx = NULL };
	int n = argc > 1 ? atoi(argv[1]) : 1000;
	double *mine = must(calloc((size_t)n, sizeof(*mine))),
	       *took = must(calloc((size_t)n, sizeof(*took))), *all;
	struct error err = { .rank = -1 };
	struct job job;
	int rc = rig_job_open(&job, &unwatched, &err);

	all = rc == 0 ? must(calloc((size_t)job.nranks * (size_t)n, sizeof(*all))) : NULL;
	for (int i = -n / 10; rc == 0 && i < n; i++) {
		double begin;

		clock_sleep(0.0002); /* ranks come at unlike times, as they do from calls */
		begin = clock_seconds();
		rc = job_barrier(&job, "a barrier");
		if (i >= 0) {
			mine[i] = clock_seconds();
			took[i] = mine[i] - begin;
		}
	}
	if (rc == 0)
		rc = job_gather(&job, mine, (size_t)n * sizeof(*mine), all);
	if (rc == 0 && job.rank == 0)
		print(&job, all, took, n);
	if (rc < 0)
		error_print(&err, "tool_skew");
	else
		job_release(&job);
	free(all);
	free(took);
	free(mine);
	return rc < 0;
}
