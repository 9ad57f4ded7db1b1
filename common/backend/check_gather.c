/* check_gather.c: gather check reports. */
#include "backend/check_gather.h"

int check_gather(struct job *job, struct check_report *report, struct check_sum *sum)
{
	struct {
		int bad, rank;
	} first = { report->wrong ? 0 : 1, job->rank }, found;
	long long sums[2] = { (long long)report->wrong, report->wrong ? 1 : 0 };
	int rc;

	/* they compare data still, which -T does not cut */
	watch_work(job->watch, "the others' checks", job->deadline);
	rc = MPI_Allreduce(&first, &found, 1, MPI_2INT, MPI_MINLOC, job->comm);
	if (rc == MPI_SUCCESS && found.bad == 0)
		rc = MPI_Bcast(report, sizeof(*report), MPI_BYTE, found.rank, job->comm);
	watch_leave(job->watch);
	if (rc != MPI_SUCCESS)
		return error_set(job->err, OUTCOME_ERROR, -EIO, "gathering check reports failed");
	if (found.bad == 0)
		report->rank = found.rank;
	rc = job_sum_int64(job, sums, 2);
	sum->elements = sums[0];
	sum->ranks = sums[1];
	report->ranks = (int32_t)sums[1];
	return rc;
}
