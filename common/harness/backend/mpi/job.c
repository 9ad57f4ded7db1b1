/* job.c: the job's exchanges over MPI, and what libhangar_mpi.so offers. */
#include "backend/mpi/ops.h"

#include "backend/job.h"
#include "backend/mpi_half.h"
#include "base/clock.h"

struct job_comm {
	MPI_Comm comm;
};

MPI_Comm mpi_comm_of(const struct job_comm *comm)
{
	return comm ? comm->comm : MPI_COMM_NULL;
}

static int failed(struct job *job, int rc, const char *what)
{
	char text[MPI_MAX_ERROR_STRING];
	int len = 0;

	if (rc == MPI_SUCCESS)
		return 0;
	MPI_Error_string(rc, text, &len);
	return error_set(job->err, OUTCOME_ERROR, -EIO, "%s: MPI: %.*s", what, len, text);
}

static void job_mpi_free(struct job_comm *comm)
{
	if (comm && comm->comm != MPI_COMM_NULL && comm->comm != MPI_COMM_WORLD)
		MPI_Comm_free(&comm->comm);
	free(comm);
}

/* Takes a new communicator, unless it is none. */
static int take(struct job *job, int rc, MPI_Comm comm, const char *what, struct job_comm **to)
{
	*to = NULL;
	rc = failed(job, rc, what);
	if (rc < 0 || comm == MPI_COMM_NULL)
		return rc;
	MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
	*to = must(malloc(sizeof(**to)));
	(*to)->comm = comm;
	return 0;
}

static int job_mpi_open(struct job *job)
{
	char text[MPI_MAX_LIBRARY_VERSION_STRING];
	int announced = job->launch->announced, provided, len;

	if (MPI_Init_thread(NULL, NULL, MPI_THREAD_FUNNELED, &provided) != MPI_SUCCESS)
		return error_set(job->err, OUTCOME_ERROR, -EIO, "MPI_Init failed");
	MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
	MPI_Comm_rank(MPI_COMM_WORLD, &job->rank);
	MPI_Comm_size(MPI_COMM_WORLD, &job->nranks);
	take(job, MPI_SUCCESS, MPI_COMM_WORLD, "", &job->world);
	job->comm = job->world;
	MPI_Get_library_version(text, &len);
	snprintf(job->library, sizeof(job->library), "%.*s", (int)strcspn(text, ",\n"), text);
	if (announced <= 0 || job->nranks >= announced)
		return 0;
	job->err->rank = job->rank;
	return error_set(job->err, OUTCOME_USAGE, -EINVAL,
			 "the launcher announces %d processes but MPI sees %d: it does "
			 "not serve this MPI library (%s); with srun use --mpi=pmix",
			 announced, job->nranks, job->library);
}

static int job_mpi_join(struct job *job)
{
	MPI_Comm world = MPI_COMM_NULL;
	int rc = MPI_Comm_dup(MPI_COMM_WORLD, &world);

	job_mpi_free(job->world);
	return take(job, rc, world, "MPI_Comm_dup", &job->world);
}

static bool job_mpi_publish(const char *name, const char *text)
{
	return MPI_Publish_name(name, MPI_INFO_NULL, text) == MPI_SUCCESS;
}

static bool job_mpi_lookup(const char *name, char *text)
{
	_Static_assert(MPI_MAX_PORT_NAME <= JOB_TEXT, "a text's room");
	return MPI_Lookup_name(name, MPI_INFO_NULL, text) == MPI_SUCCESS;
}

static int job_mpi_split(struct job *job, struct job_comm *from, int color, struct job_comm **to)
{
	MPI_Comm comm = MPI_COMM_NULL;
	int rank, rc;

	MPI_Comm_rank(from->comm, &rank);
	rc = MPI_Comm_split(from->comm, color < 0 ? MPI_UNDEFINED : color, rank, &comm);
	return take(job, rc, comm, "MPI_Comm_split", to);
}

static int job_mpi_split_host(struct job *job, struct job_comm *from, struct job_comm **to)
{
	MPI_Comm comm = MPI_COMM_NULL;
	int rank, rc;

	MPI_Comm_rank(from->comm, &rank);
	rc = MPI_Comm_split_type(from->comm, MPI_COMM_TYPE_SHARED, rank, MPI_INFO_NULL, &comm);
	return take(job, rc, comm, "MPI_Comm_split_type", to);
}

static void job_mpi_place(struct job_comm *comm, int *rank, int *size)
{
	MPI_Comm_rank(comm->comm, rank);
	MPI_Comm_size(comm->comm, size);
}

static int job_mpi_barrier(struct job *job, struct job_comm *comm, const char *what)
{
	return failed(job, MPI_Barrier(mpi_comm_of(comm)), what);
}

static int job_mpi_sum(struct job *job, struct job_comm *comm, enum job_sum sum, void *values,
		       int n, const char *what)
{
	MPI_Datatype type = sum == JOB_MAX_DOUBLE ? MPI_DOUBLE
			    : sum == JOB_MAX_INT  ? MPI_INT
						  : MPI_LONG_LONG;

	return failed(job,
		      MPI_Allreduce(MPI_IN_PLACE, values, n, type,
				    sum == JOB_SUM_INT64 ? MPI_SUM : MPI_MAX, mpi_comm_of(comm)),
		      what);
}

static int job_mpi_bcast(struct job *job, struct job_comm *comm, int root, void *data, size_t bytes,
			 const char *what)
{
	return failed(job, MPI_Bcast(data, (int)bytes, MPI_BYTE, root, mpi_comm_of(comm)), what);
}

static int job_mpi_gather(struct job *job, struct job_comm *comm, const void *mine, size_t bytes,
			  void *all, const char *what)
{
	return failed(job,
		      MPI_Gather(mine, (int)bytes, MPI_BYTE, all, (int)bytes, MPI_BYTE, 0,
				 mpi_comm_of(comm)),
		      what);
}

static int job_mpi_all_gather(struct job *job, struct job_comm *comm, const void *mine,
			      size_t bytes, void *all, const char *what)
{
	return failed(job,
		      MPI_Allgather(mine, (int)bytes, MPI_BYTE, all, (int)bytes, MPI_BYTE,
				    mpi_comm_of(comm)),
		      what);
}

/* MPI_Finalize waits for all processes by spinning. Surplus processes would disturb the
 * measurement, so they poll a non-blocking barrier and sleep in between. */
static void job_mpi_await_all(struct job *job)
{
	MPI_Request request;
	int done = 0;

	if (MPI_Ibarrier(job->world->comm, &request) != MPI_SUCCESS)
		return;
	while (MPI_Test(&request, &done, MPI_STATUS_IGNORE) == MPI_SUCCESS && !done)
		clock_sleep(job->spare ? 0.02 : 0.0001);
}

static void job_mpi_close(struct job *job)
{
	int initialised = 0;

	job_mpi_free(job->world);
	job->world = NULL;
	MPI_Initialized(&initialised);
	if (initialised)
		MPI_Finalize();
}

static const struct job_ops job_mpi = {
	.mpi = true,
	.opening = "MPI_Init",
	.closing = "MPI_Finalize",
	.open = job_mpi_open,
	.join = job_mpi_join,
	.publish = job_mpi_publish,
	.lookup = job_mpi_lookup,
	.split = job_mpi_split,
	.split_host = job_mpi_split_host,
	.free = job_mpi_free,
	.place = job_mpi_place,
	.barrier = job_mpi_barrier,
	.sum = job_mpi_sum,
	.bcast = job_mpi_bcast,
	.gather = job_mpi_gather,
	.all_gather = job_mpi_all_gather,
	.await_all = job_mpi_await_all,
	.close = job_mpi_close,
};

__attribute__((visibility("default"))) const struct mpi_half hangar_mpi = {
	.job = &job_mpi,
	.backend = &backend_mpi,
};
