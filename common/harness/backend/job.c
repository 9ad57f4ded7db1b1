/* job.c: ranks, nodes and small exchanges, each inside of a watched wait; MPI or TCP carries them. */
#include "backend/job.h"

#include "backend/job_tcp.h"
#include "backend/mpi_half.h"
#include "base/clock.h"

#define INIT_SECONDS	 10.0 /* as the monitor's limit for init */
#define DEADLINE_SECONDS 10.0
#define LATE_SECONDS	 10.0 /* a meeting says itself which rank did not come */
#define LOOKUP_SECONDS	 1.0  /* rank 0 needs a port from its monitor before it publishes */

static void free_comm(struct job *job, struct job_comm **comm)
{
	if (*comm && *comm != job->world)
		job->ops->free(*comm);
	*comm = NULL;
}

int job_join(struct job *job)
{
	int rc;

	watch_enter(job->watch, job->ops->opening, INIT_SECONDS);
	rc = job->ops->join(job);
	watch_leave(job->watch);
	job->comm = job->world;
	return rc;
}

int job_init(struct job *job, const struct watch *watch, struct error *err,
	     const struct launch *launch)
{
	int rc = job_open(job, watch, err, launch);

	return rc < 0 ? rc : job_join(job);
}

int job_open(struct job *job, const struct watch *watch, struct error *err,
	     const struct launch *launch)
{
	const struct mpi_half *mpi = launch->numbered ? NULL : mpi_half(NULL);
	int rc;

	memset(job, 0, sizeof(*job));
	job->watch = watch;
	job->err = err;
	job->launch = launch;
	job->deadline = DEADLINE_SECONDS;
	job->ops = mpi ? mpi->job : &job_tcp;
	watch_enter(watch, job->ops->opening,
		    mpi ? INIT_SECONDS : job_tcp_seconds() + LATE_SECONDS);
	rc = job->ops->open(job);
	watch_leave(watch);
	if (rc == 0)
		err->rank = job->rank;
	return rc;
}

bool job_publish(struct job *job, const char *name, const char *text)
{
	return job->ops->publish && job->ops->publish(name, text);
}

bool job_lookup(struct job *job, const char *name, char *text)
{
	double end = clock_seconds() + LOOKUP_SECONDS;

	while (job->ops->lookup && clock_seconds() <= end) {
		if (job->ops->lookup(name, text))
			return true;
		clock_sleep(0.01);
	}
	return false;
}

/* Numbers nodes by their lowest rank, in the order of the first ranks of all nodes. */
static int find_nodes(struct job *job)
{
	struct job_comm *local = NULL;
	int *firsts = must(malloc((size_t)job->nranks * sizeof(*firsts)));
	int first = job->rank, node = 0, rc = job->ops->split_host(job, job->comm, &local);

	free(job->node_of);
	job->node_of = must(calloc((size_t)job->nranks, sizeof(*job->node_of)));
	if (rc == 0) {
		job->ops->place(local, &job->local_rank, &job->local_ranks);
		rc = job->ops->bcast(job, local, 0, &first, sizeof(first), "finding nodes");
		job->ops->free(local);
	}
	if (rc == 0)
		rc = job->ops->all_gather(job, job->comm, &first, sizeof(first), firsts,
					  "finding nodes");
	for (int r = 0; rc == 0 && r < job->nranks; r++)
		job->node_of[r] = firsts[r] == r ? node++ : job->node_of[firsts[r]];
	job->nnodes = node;
	job->node = job->node_of[job->rank];
	free(firsts);
	return rc;
}

/* *place: this process' number on its host. */
static int place_on_host(struct job *job, int *place)
{
	struct job_comm *local = NULL;
	int n, rc = job->ops->split_host(job, job->world, &local);

	if (rc == 0) {
		job->ops->place(local, place, &n);
		job->ops->free(local);
	}
	return rc;
}

int job_select(struct job *job, int take_part)
{
	int rc;

	watch_enter(job->watch, "agreeing on ranks and nodes", job->deadline);
	rc = place_on_host(job, &job->local_rank);
	if (rc < 0)
		goto out;
	job->comm = NULL;
	job->spare = take_part > 0 && job->local_rank >= take_part;
	rc = job->ops->split(job, job->world, job->spare ? -1 : 0, &job->comm);
	if (rc < 0 || job->spare)
		goto out;
	job->ops->place(job->comm, &job->rank, &job->nranks);
	job->err->rank = job->rank;
	rc = find_nodes(job);
	if (rc == 0)
		rc = job->ops->split(job, job->comm, job->local_rank ? -1 : 0, &job->leaders);
out:
	watch_leave(job->watch);
	return rc < 0 || job->spare ? rc : job_split(job, 0);
}

int job_split(struct job *job, int color)
{
	int rc;

	watch_enter(job->watch, "splitting into groups", job->deadline);
	free_comm(job, &job->group_comm);
	free_comm(job, &job->traffic);
	rc = job->ops->split(job, job->comm, color, &job->group_comm);
	if (rc == 0)
		rc = job->ops->split(job, job->group_comm, 0, &job->traffic);
	watch_leave(job->watch);
	if (rc == 0)
		job->ops->place(job->group_comm, &job->group_rank, &job->group_size);
	return rc;
}

void job_release(struct job *job)
{
	if (!job->ops)
		return;
	watch_phase(job->watch, job->spare ? PHASE_SPARE : PHASE_FINALISE);
	if (job->world) {
		watch_enter(job->watch, "the other ranks' end", job->spare ? 0 : job->deadline);
		job->ops->await_all(job);
		watch_leave(job->watch);
	}
	watch_enter(job->watch, job->ops->closing, INIT_SECONDS);
	free_comm(job, &job->traffic);
	free_comm(job, &job->group_comm);
	free_comm(job, &job->leaders);
	free_comm(job, &job->comm);
	job->ops->close(job);
	watch_leave(job->watch);
	free(job->node_of);
	job->node_of = NULL;
	job->ops = NULL;
}

/* -T does not cut a wait for ranks that work alone. */
static void wait_begin(const struct job *job, const char *what)
{
	if (job->extended)
		watch_work(job->watch, what, job->deadline);
	else
		watch_enter(job->watch, what, job->deadline);
}

struct job_time job_extend_deadline(struct job *job, double seconds)
{
	struct job_time former = { job->deadline, job->extended };

	job->deadline = seconds;
	job->extended = true;
	return former;
}

void job_restore_deadline(struct job *job, struct job_time former)
{
	job->deadline = former.deadline;
	job->extended = former.extended;
}

/* Every exchange is one collective inside a watched wait. */
#define EXCHANGE(job, what, expression)                                                            \
	do {                                                                                       \
		int exchanged;                                                                     \
		wait_begin(job, what);                                                             \
		exchanged = (job)->ops->expression;                                                \
		watch_leave((job)->watch);                                                         \
		return exchanged;                                                                  \
	} while (0)

int job_meet(struct job *job)
{
	return job->ops->barrier(job, job->comm, "a barrier");
}

int job_barrier(struct job *job, const char *what)
{
	EXCHANGE(job, what, barrier(job, job->comm, what));
}

int job_await_work(struct job *job, const char *what)
{
	struct job_time former = job_extend_deadline(job, job->deadline);
	int rc = job_barrier(job, what);

	job_restore_deadline(job, former);
	return rc;
}

static int sum(struct job *job, enum job_sum kind, void *values, int n, const char *what)
{
	EXCHANGE(job, what, sum(job, job->comm, kind, values, n, what));
}

int job_max(struct job *job, double *values, int n)
{
	return sum(job, JOB_MAX_DOUBLE, values, n, "the slowest rank's figures");
}

int job_max_int(struct job *job, int *values, int n)
{
	return sum(job, JOB_MAX_INT, values, n, "agreeing");
}

int job_sum_int64(struct job *job, long long *values, int n)
{
	return sum(job, JOB_SUM_INT64, values, n, "adding up");
}

static int bcast(struct job *job, struct job_comm *comm, void *data, size_t bytes, const char *what)
{
	EXCHANGE(job, what, bcast(job, comm, 0, data, bytes, what));
}

int job_bcast(struct job *job, void *data, size_t bytes)
{
	return bcast(job, job->comm, data, bytes, "a word from rank 0");
}

int job_group_bcast(struct job *job, void *data, size_t bytes)
{
	return bcast(job, job->group_comm, data, bytes, "a word from the group's rank 0");
}

static int gather(struct job *job, struct job_comm *comm, const void *mine, size_t bytes, void *all,
		  const char *what)
{
	EXCHANGE(job, what, gather(job, comm, mine, bytes, all, what));
}

int job_gather(struct job *job, const void *mine, size_t bytes, void *all)
{
	return gather(job, job->comm, mine, bytes, all, "gathering at rank 0");
}

int job_gather_nodes(struct job *job, const void *mine, size_t bytes, void *all)
{
	if (bytes > (size_t)INT_MAX / (size_t)job->nnodes)
		return error_set(job->err, OUTCOME_INTERNAL, -EOVERFLOW,
				 "%d hosts have too much data for one gather", job->nnodes);
	return job->leaders
		       ? gather(job, job->leaders, mine, bytes, all, "gathering hosts at rank 0")
		       : 0;
}

void *job_gather_host(struct job *job, const void *mine, size_t bytes, int *rank, int *n)
{
	struct job_comm *local = NULL;
	void *all = NULL;

	watch_enter(job->watch, "looking at the host's devices", job->deadline);
	if (job->ops->split_host(job, job->world, &local) == 0) {
		job->ops->place(local, rank, n);
		all = must(calloc((size_t)*n, bytes));
		if (job->ops->all_gather(job, local, mine, bytes, all, "devices") < 0) {
			free(all);
			all = NULL;
		}
		job->ops->free(local);
	}
	watch_leave(job->watch);
	return all;
}

int job_share(struct job *job, bool has, void *data, size_t bytes, const char *what, int *from)
{
	int lowest = has ? -job->rank : -INT_MAX, rc;

	wait_begin(job, what);
	rc = job->ops->sum(job, job->comm, JOB_MAX_INT, &lowest, 1, what);
	*from = rc == 0 && lowest > -INT_MAX ? -lowest : -1;
	if (*from >= 0)
		rc = job->ops->bcast(job, job->comm, *from, data, bytes, what);
	watch_leave(job->watch);
	return rc;
}

int job_agree(struct job *job, int rc)
{
	struct error err = *job->err;
	int from, failed;

	failed = job_share(job, rc < 0, &err, sizeof(err), "agreeing that nothing failed", &from);
	if (failed == 0 && from >= 0) {
		err.file = "(on that rank)";
		if (from != job->rank)
			*job->err = err;
		failed = -EREMOTEIO;
	}
	return rc < 0 ? rc : failed;
}
