/* job.c: ranks, nodes and small exchanges over MPI. */
#include "backend/job.h"

#include "base/clock.h"

#define INIT_SECONDS	 10.0 /* as the monitor's limit for init */
#define DEADLINE_SECONDS 10.0
#define LOOKUP_SECONDS	 1.0 /* rank 0 needs a port from its monitor before it publishes */

static int mpi_failed(struct job *job, int rc, const char *what)
{
	char text[MPI_MAX_ERROR_STRING];
	int len = 0;

	if (rc == MPI_SUCCESS)
		return 0;
	MPI_Error_string(rc, text, &len);
	return error_set(job->err, OUTCOME_ERROR, -EIO, "%s: MPI: %.*s", what, len, text);
}

static int dup_comm(struct job *job, MPI_Comm from, MPI_Comm *to)
{
	int rc = mpi_failed(job, MPI_Comm_dup(from, to), "MPI_Comm_dup");

	if (rc == 0)
		MPI_Comm_set_errhandler(*to, MPI_ERRORS_RETURN);
	return rc;
}

static int split_comm(struct job *job, MPI_Comm from, int color, MPI_Comm *to)
{
	int rank, rc;

	MPI_Comm_rank(from, &rank);
	rc = mpi_failed(job, MPI_Comm_split(from, color, rank, to), "MPI_Comm_split");
	if (rc == 0 && *to != MPI_COMM_NULL)
		MPI_Comm_set_errhandler(*to, MPI_ERRORS_RETURN);
	return rc;
}

static void free_comm(MPI_Comm *comm)
{
	if (*comm != MPI_COMM_NULL && *comm != MPI_COMM_WORLD)
		MPI_Comm_free(comm);
	*comm = MPI_COMM_NULL;
}

static void name_library(struct job *job)
{
	char text[MPI_MAX_LIBRARY_VERSION_STRING];
	int len;

	MPI_Get_library_version(text, &len);
	snprintf(job->library, sizeof(job->library), "%.*s", (int)strcspn(text, ",\n"), text);
}

int job_join(struct job *job)
{
	int rc;

	watch_enter(job->watch, "MPI_Comm_dup", INIT_SECONDS);
	rc = dup_comm(job, MPI_COMM_WORLD, &job->world);
	watch_leave(job->watch);
	job->comm = job->world;
	return rc;
}

int job_init(struct job *job, const struct watch *watch, struct error *err, int announced)
{
	int rc = job_open(job, watch, err, announced);

	return rc < 0 ? rc : job_join(job);
}

int job_open(struct job *job, const struct watch *watch, struct error *err, int announced)
{
	int provided, size, rc;

	memset(job, 0, sizeof(*job));
	job->watch = watch;
	job->err = err;
	job->deadline = DEADLINE_SECONDS;
	job->comm = job->group_comm = job->traffic = job->world = MPI_COMM_NULL;
	watch_enter(watch, "MPI_Init", INIT_SECONDS);
	rc = MPI_Init_thread(NULL, NULL, MPI_THREAD_FUNNELED, &provided);
	if (rc == MPI_SUCCESS) {
		MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
		job->comm = job->world = MPI_COMM_WORLD;
		MPI_Comm_rank(job->world, &job->rank);
		MPI_Comm_size(job->world, &size);
		job->nranks = size;
		err->rank = job->rank;
		name_library(job);
	}
	watch_leave(watch);
	if (rc != MPI_SUCCESS)
		return error_set(err, OUTCOME_ERROR, -EIO, "MPI_Init failed");
	if (announced > 0 && size < announced)
		return error_set(err, OUTCOME_USAGE, -EINVAL,
				 "the launcher announces %d processes but MPI sees %d: it does "
				 "not serve this MPI library (%s); with srun use --mpi=pmix",
				 announced, size, job->library);
	return 0;
}

bool job_publish(const char *name, const char *text)
{
	return MPI_Publish_name(name, MPI_INFO_NULL, text) == MPI_SUCCESS;
}

bool job_lookup(const char *name, char *text)
{
	double end = clock_seconds() + LOOKUP_SECONDS;

	while (MPI_Lookup_name(name, MPI_INFO_NULL, text) != MPI_SUCCESS) {
		if (clock_seconds() > end)
			return false;
		clock_sleep(0.01);
	}
	return true;
}

/* *local: the ranks of `comm` on this rank's node. Sets local_rank. */
static int split_node(struct job *job, MPI_Comm comm, MPI_Comm *local)
{
	int rc = mpi_failed(job,
			    MPI_Comm_split_type(comm, MPI_COMM_TYPE_SHARED, job->rank,
						MPI_INFO_NULL, local),
			    "MPI_Comm_split_type");

	if (rc == 0)
		MPI_Comm_rank(*local, &job->local_rank);
	return rc;
}

/* Numbers nodes by their lowest rank, in the order of the first ranks of all nodes. */
static int find_nodes(struct job *job)
{
	MPI_Comm local = MPI_COMM_NULL;
	int first, node = 0;
	int *firsts;
	int rc;

	rc = split_node(job, job->comm, &local);
	if (rc < 0)
		return rc;
	MPI_Comm_size(local, &job->local_ranks);
	first = job->rank;
	MPI_Bcast(&first, 1, MPI_INT, 0, local);
	free_comm(&local);
	firsts = must(malloc((size_t)job->nranks * sizeof(*firsts)));
	free(job->node_of);
	job->node_of = must(malloc((size_t)job->nranks * sizeof(*job->node_of)));
	rc = mpi_failed(job, MPI_Allgather(&first, 1, MPI_INT, firsts, 1, MPI_INT, job->comm),
			"MPI_Allgather");
	for (int r = 0; r < job->nranks; r++)
		job->node_of[r] = firsts[r] == r ? node++ : job->node_of[firsts[r]];
	job->nnodes = node;
	job->node = job->node_of[job->rank];
	free(firsts);
	return rc;
}

int job_select(struct job *job, int take_part)
{
	MPI_Comm local = MPI_COMM_NULL;
	int rc;

	watch_enter(job->watch, "agreeing on ranks and nodes", job->deadline);
	rc = split_node(job, job->world, &local);
	if (rc < 0)
		goto out;
	free_comm(&local);
	job->comm = MPI_COMM_NULL;
	job->spare = take_part > 0 && job->local_rank >= take_part;
	rc = split_comm(job, job->world, job->spare ? MPI_UNDEFINED : 0, &job->comm);
	if (rc < 0 || job->spare)
		goto out;
	MPI_Comm_rank(job->comm, &job->rank);
	MPI_Comm_size(job->comm, &job->nranks);
	job->err->rank = job->rank;
	rc = find_nodes(job);
out:
	watch_leave(job->watch);
	return rc < 0 || job->spare ? rc : job_split(job, 0);
}

int job_split(struct job *job, int color)
{
	int rc;

	watch_enter(job->watch, "splitting into groups", job->deadline);
	free_comm(&job->group_comm);
	free_comm(&job->traffic);
	rc = split_comm(job, job->comm, color, &job->group_comm);
	if (rc == 0)
		rc = dup_comm(job, job->group_comm, &job->traffic);
	watch_leave(job->watch);
	if (rc < 0)
		return rc;
	MPI_Comm_rank(job->group_comm, &job->group_rank);
	MPI_Comm_size(job->group_comm, &job->group_size);
	return 0;
}

/* MPI_Finalize waits for all processes by spinning. Surplus processes would disturb the
 * measurement, so they poll a non-blocking barrier and sleep in between. */
static void wait_for_all(struct job *job)
{
	MPI_Request request;
	int done = 0;

	if (MPI_Ibarrier(job->world, &request) != MPI_SUCCESS)
		return;
	while (MPI_Test(&request, &done, MPI_STATUS_IGNORE) == MPI_SUCCESS && !done)
		clock_sleep(job->spare ? 0.02 : 0.0001);
}

void job_release(struct job *job)
{
	int initialised = 0;

	MPI_Initialized(&initialised);
	if (!initialised)
		return;
	watch_phase(job->watch, job->spare ? PHASE_SPARE : PHASE_FINALISE);
	if (job->world != MPI_COMM_NULL) {
		watch_enter(job->watch, "the other ranks' end", job->spare ? 0 : job->deadline);
		wait_for_all(job);
		watch_leave(job->watch);
	}
	watch_enter(job->watch, "MPI_Finalize", INIT_SECONDS);
	free_comm(&job->traffic);
	free_comm(&job->group_comm);
	if (job->comm == job->world)
		job->comm = MPI_COMM_NULL; /* job_select was not reached */
	free_comm(&job->comm);
	free_comm(&job->world);
	MPI_Finalize();
	watch_leave(job->watch);
	free(job->node_of);
	job->node_of = NULL;
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
		exchanged = mpi_failed(job, expression, what);                                     \
		watch_leave((job)->watch);                                                         \
		return exchanged;                                                                  \
	} while (0)

int job_barrier(struct job *job, const char *what)
{
	EXCHANGE(job, what, MPI_Barrier(job->comm));
}

int job_await_work(struct job *job, const char *what)
{
	struct job_time former = job_extend_deadline(job, job->deadline);
	int rc = job_barrier(job, what);

	job_restore_deadline(job, former);
	return rc;
}

int job_max(struct job *job, double *values, int n)
{
	EXCHANGE(job, "the slowest rank's figures",
		 MPI_Allreduce(MPI_IN_PLACE, values, n, MPI_DOUBLE, MPI_MAX, job->comm));
}

int job_max_int(struct job *job, int *values, int n)
{
	EXCHANGE(job, "agreeing",
		 MPI_Allreduce(MPI_IN_PLACE, values, n, MPI_INT, MPI_MAX, job->comm));
}

int job_sum_int64(struct job *job, long long *values, int n)
{
	EXCHANGE(job, "adding up",
		 MPI_Allreduce(MPI_IN_PLACE, values, n, MPI_LONG_LONG, MPI_SUM, job->comm));
}

int job_bcast(struct job *job, void *data, size_t bytes)
{
	EXCHANGE(job, "a word from rank 0", MPI_Bcast(data, (int)bytes, MPI_BYTE, 0, job->comm));
}

int job_group_bcast(struct job *job, void *data, size_t bytes)
{
	EXCHANGE(job, "a word from the group's rank 0",
		 MPI_Bcast(data, (int)bytes, MPI_BYTE, 0, job->group_comm));
}

int job_gather(struct job *job, const void *mine, size_t bytes, void *all)
{
	EXCHANGE(job, "gathering at rank 0",
		 MPI_Gather(mine, (int)bytes, MPI_BYTE, all, (int)bytes, MPI_BYTE, 0, job->comm));
}

/* Fills in the bytes of each rank: `bytes` from the first of a node go to the node's place. */
static void count_nodes(const struct job *job, int bytes, int *counts, int *places)
{
	int next = 0; /* nodes are numbered by their lowest rank */

	for (int rank = 0; rank < job->nranks; rank++) {
		counts[rank] = job->node_of[rank] == next ? bytes : 0;
		places[rank] = job->node_of[rank] * bytes;
		next += job->node_of[rank] == next;
	}
}

int job_gather_nodes(struct job *job, const void *mine, size_t bytes, void *all)
{
	int *counts = must(calloc(2 * (size_t)job->nranks, sizeof(*counts))), rc;

	if (bytes > (size_t)INT_MAX / (size_t)job->nnodes) {
		free(counts);
		return error_set(job->err, OUTCOME_INTERNAL, -EOVERFLOW,
				 "%d hosts have too much data for one gather", job->nnodes);
	}
	count_nodes(job, (int)bytes, counts, counts + job->nranks);
	wait_begin(job, "gathering hosts at rank 0");
	rc = mpi_failed(job,
			MPI_Gatherv(mine, job->local_rank == 0 ? (int)bytes : 0, MPI_BYTE, all,
				    counts, counts + job->nranks, MPI_BYTE, 0, job->comm),
			"gathering hosts at rank 0");
	watch_leave(job->watch);
	free(counts);
	return rc;
}

int job_agree(struct job *job, int rc)
{
	struct {
		int failed, rank;
	} mine = { rc < 0 ? 0 : 1, job->rank }, worst;
	int failed;

	wait_begin(job, "agreeing that nothing failed");
	failed = mpi_failed(job, MPI_Allreduce(&mine, &worst, 1, MPI_2INT, MPI_MINLOC, job->comm),
			    "MPI_Allreduce");
	if (failed == 0 && worst.failed == 0) {
		struct error err = *job->err;

		failed = mpi_failed(job,
				    MPI_Bcast(&err, sizeof(err), MPI_BYTE, worst.rank, job->comm),
				    "MPI_Bcast");
		err.file = "(on that rank)";
		if (worst.rank != job->rank && failed == 0)
			*job->err = err;
		failed = -EREMOTEIO;
	}
	watch_leave(job->watch);
	return rc < 0 ? rc : failed;
}
