/* job_hear.c: what ranks of several hosts do before they rely on the network between them. */
#include "backend/job.h"

#include "base/clock.h"
#include "net/hearing.h"

#define TAG		4711
#define HEARING_SECONDS 10.0 /* as for all that happens at init */
#define LOOK_NS		500000000u
#define LOOKUP_NS	1000000000u /* rank 0 asks its monitor for a port before it says it */

bool job_publish(const char *name, const char *text)
{
	return MPI_Publish_name(name, MPI_INFO_NULL, text) == MPI_SUCCESS;
}

bool job_lookup(const char *name, char *text)
{
	uint64_t until = clock_ns() + LOOKUP_NS;

	while (MPI_Lookup_name(name, MPI_INFO_NULL, text) != MPI_SUCCESS) {
		if (clock_ns() > until)
			return false;
		clock_nap(0.01);
	}
	return true;
}

/* Of the words that are expected and sent; what is unheard has a bit each. */
struct hearing {
	MPI_Request from[HEARING_MOST], to[HEARING_MOST];
	int n;
	uint64_t unheard;
};

/* Words have no content: they come at once where anything does. */
static int send_words(const struct job *job, struct hearing *h)
{
	int distance, rc = MPI_SUCCESS, n = job->nranks;

	while (rc == MPI_SUCCESS && (distance = hearing_distance(n, h->n)) > 0) {
		rc = MPI_Irecv(NULL, 0, MPI_CHAR, (job->rank + n - distance) % n, TAG, job->world,
			       &h->from[h->n]);
		if (rc == MPI_SUCCESS)
			rc = MPI_Isend(NULL, 0, MPI_CHAR, (job->rank + distance) % n, TAG,
				       job->world, &h->to[h->n]);
		h->unheard |= 1ull << h->n++;
	}
	return rc;
}

int job_hear(struct job *job)
{
	struct hearing h = { .n = 0 };
	uint64_t look_ns = clock_ns() + LOOK_NS;
	int rc, come = 1, which[HEARING_MOST];

	watch_enter(job->watch, "hearing of every rank", HEARING_SECONDS);
	rc = send_words(job, &h);
	while (rc == MPI_SUCCESS) {
		bool late = clock_ns() > look_ns;

		if (come > 0 || late)
			watch_unheard(job->watch, job->nranks, h.unheard,
				      late && hearing_unanswered());
		if (!h.unheard)
			break;
		if (come == 0)
			clock_nap(0.0001);
		look_ns = late ? clock_ns() + LOOK_NS : look_ns;
		rc = MPI_Testsome(h.n, h.from, &come, which, MPI_STATUSES_IGNORE);
		for (int i = 0; i < come; i++)
			h.unheard &= ~(1ull << which[i]);
	}
	if (rc == MPI_SUCCESS)
		rc = MPI_Waitall(h.n, h.to, MPI_STATUSES_IGNORE);
	watch_leave(job->watch);
	return rc == MPI_SUCCESS
		       ? 0
		       : error_set(job->err, OUTCOME_ERROR, -EIO, "hearing of every rank: MPI");
}
