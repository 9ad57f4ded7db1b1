/* ops.c: communicator and host memory of the mpi backend. Calls are in calls.c. */
#include "backend/mpi/ops.h"

#include <sys/resource.h>

#include "check/check.h"
#include "base/file.h"
#include "process/cgroup.h"
#include "backend/job.h"

/* Huge page size: memory is committed in these units where the kernel has such pages. */
#define HUGE_PAGE    ((size_t)2 << 20)
#define INIT_SECONDS 10.0 /* as the monitor's limit for init */

int mpi_fail(struct mpi *mpi, const char *what, int rc)
{
	char text[MPI_MAX_ERROR_STRING] = "";
	int len = 0;

	MPI_Error_string(rc, text, &len);
	return error_set(mpi->be.err, OUTCOME_ERROR, -EIO, "%s failed: %s", what, text);
}

static int mpi_devices(void)
{
	return 1;
}

static void mpi_close(struct backend *be);

static int mpi_open(struct job *job, const struct watch *watch, struct error *err,
		    const struct backend_config *config, struct backend **out)
{
	struct mpi *mpi = must(calloc(1, sizeof(*mpi)));
	int rc;

	mpi->be = (struct backend){
		.ops = &backend_mpi,
		.job = job,
		.watch = watch,
		.err = err,
		.config = *config,
	};
	for (int i = 0; i < COMM_SET_MAX; i++)
		mpi->comms[i].comm = MPI_COMM_NULL;
	mpi->available = host_memory_available("");
	rc = mpi_types_init(&mpi->types);
	if (rc != MPI_SUCCESS) {
		rc = mpi_fail(mpi, "MPI_Type_contiguous or MPI_Op_create", rc);
		mpi_close(&mpi->be);
		return rc;
	}
	*out = &mpi->be;
	return 0;
}

static void mpi_comm_close(struct backend *be)
{
	struct mpi *mpi = to_mpi(be);

	free(mpi->counts);
	mpi->counts = NULL;
	for (int i = 0; i < COMM_SET_MAX; i++)
		if (mpi->comms[i].comm != MPI_COMM_NULL)
			MPI_Comm_free(&mpi->comms[i].comm);
}

static void mpi_close(struct backend *be)
{
	struct mpi *mpi = to_mpi(be);

	if (!mpi)
		return;
	mpi_comm_close(be);
	mpi_types_release(&mpi->types);
	free(mpi->requests);
	free(mpi);
}

static void cpu_model(char *model, size_t len)
{
	char text[4096], *at;

	file_text("", text, sizeof(text), "/proc/cpuinfo");
	at = strstr(text, "model name");
	at = at ? strchr(at, ':') : NULL;
	if (at)
		at += 1 + strspn(at + 1, " \t");
	snprintf(model, len, "%.*s", at ? (int)strcspn(at, "\n") : INT_MAX,
		 at ? at : "unknown CPU");
}

static void mpi_facts(struct backend *be, struct backend_facts *facts)
{
	*facts = (struct backend_facts){
		.device_index = -1,
		.device_memory = (size_t)sysconf(_SC_PHYS_PAGES) * (size_t)sysconf(_SC_PAGESIZE),
	};
	snprintf(facts->library, sizeof(facts->library), "%.63s", be->job->library);
	cpu_model(facts->device, sizeof(facts->device));
}

static bool mpi_supports(struct backend *be, enum dtype dtype, enum redop op, char *why, size_t len)
{
	if (op != OP_MULSUM)
		return true;
	snprintf(why, len, "operator mulsum is NCCL's own: it needs the nccl backend");
	return false;
}

/* MPI identifies a communicator's creation by a tag, as NCCL does by its unique id. */
static int mpi_comm_id(struct backend *be, unsigned char *id)
{
	struct mpi *mpi = to_mpi(be);
	uint32_t tag = (uint32_t)(getpid() & 0xfff) << 4 | (++mpi->named & 15);

	memset(id, 0, COMM_ID_BYTES);
	memcpy(id, &tag, sizeof(tag));
	return 0;
}

/* Makes a communicator of the group's ranks with the same tag and number of ranks. */
static int make_comm(struct mpi *mpi, const struct comm_request *request, MPI_Comm *comm)
{
	int size = mpi->be.job->group_size,
	    *members = calloc((size_t)request->nranks + 1, sizeof(int));
	MPI_Comm traffic = mpi_comm_of(mpi->be.job->traffic);
	MPI_Group all = MPI_GROUP_NULL, some = MPI_GROUP_NULL;
	uint32_t tag;
	int rc = members ? MPI_SUCCESS : MPI_ERR_NO_MEM;

	memcpy(&tag, request->id, sizeof(tag));
	for (int i = 0; members && i < request->nranks; i++)
		members[i] = (request->span.first + i) % size;
	if (rc == MPI_SUCCESS)
		rc = MPI_Comm_group(traffic, &all);
	if (rc == MPI_SUCCESS)
		rc = MPI_Group_incl(all, request->nranks, members, &some);
	if (rc == MPI_SUCCESS)
		rc = MPI_Comm_create_group(traffic, some, (int)tag, comm);
	free(members);
	if (some != MPI_GROUP_NULL)
		MPI_Group_free(&some);
	if (all != MPI_GROUP_NULL)
		MPI_Group_free(&all);
	return rc;
}

static int mpi_comm_open(struct backend *be, const struct comm_request *request)
{
	struct mpi *mpi = to_mpi(be);
	struct mpi_comm *comm = &mpi->comms[request->comm];
	int rc;

	if (!mpi->counts)
		mpi->counts = must(calloc(4 * (size_t)be->job->group_size, sizeof(*mpi->counts)));
	watch_enter(be->watch, "MPI_Comm_create_group",
		    be->job->deadline > INIT_SECONDS ? be->job->deadline : INIT_SECONDS);
	rc = make_comm(mpi, request, &comm->comm);
	watch_leave(be->watch);
	if (rc != MPI_SUCCESS)
		return mpi_fail(mpi, "MPI_Comm_create_group", rc);
	if (comm->comm == MPI_COMM_NULL)
		return error_set(be->err, OUTCOME_ERROR, -EIO,
				 "MPI_Comm_create_group made no communicator of %d ranks with "
				 "rank %d",
				 request->nranks, request->rank);
	comm->rank = request->rank;
	comm->size = request->nranks;
	MPI_Comm_set_errhandler(comm->comm, MPI_ERRORS_RETURN);
	return 0;
}

/* Bytes that the kernel may commit for memory of which `used` bytes are written. */
static size_t committed(size_t bytes, size_t used)
{
	used = (used + HUGE_PAGE - 1) / HUGE_PAGE * HUGE_PAGE;
	return used < bytes ? used : bytes;
}

static size_t mapped(size_t bytes)
{
	return bytes > 4096 ? bytes : 4096;
}

/* `tried`: there is room, and the kernel refused: a limit of the process is why. */
static int refuse_bytes(struct mpi *mpi, size_t bytes, size_t room, size_t ranks, bool tried)
{
	static const struct {
		int resource;
		const char *what, *set;
	} limits[] = { { RLIMIT_AS, "address space", "ulimit -v" },
		       { RLIMIT_DATA, "data", "ulimit -d" } };
	struct rlimit limit;

	for (size_t i = 0; tried && i < LENGTH(limits); i++)
		if (getrlimit((__rlimit_resource_t)limits[i].resource, &limit) == 0 &&
		    limit.rlim_cur != RLIM_INFINITY)
			return error_set(mpi->be.err, OUTCOME_USAGE, -ENOMEM,
					 "%zu bytes of buffers do not fit: this process may have "
					 "%zu bytes of %s (%s)",
					 bytes, (size_t)limit.rlim_cur, limits[i].what,
					 limits[i].set);
	if (tried)
		return error_set(mpi->be.err, OUTCOME_USAGE, -ENOMEM,
				 "%zu bytes of buffers are refused by the kernel, though %zu bytes "
				 "of memory are there for each of %zu ranks (vm.overcommit_memory)",
				 bytes, room, ranks);
	return error_set(mpi->be.err, OUTCOME_USAGE, -ENOMEM,
			 "%zu bytes of buffers do not fit: %zu held, %zu bytes of memory for each "
			 "of %zu ranks",
			 bytes, mpi->held, room, ranks);
}

/* Every rank of the node maps as much. Pages are committed on write: a refusal is too late. */
static int mpi_alloc(struct backend *be, size_t bytes, size_t used, void **ptr)
{
	struct mpi *mpi = to_mpi(be);
	size_t ranks = be->job->local_ranks > 0 ? (size_t)be->job->local_ranks : 1;
	size_t room = mpi->available / ranks;
	void *map = MAP_FAILED;
	bool fits;

	*ptr = NULL;
	used = committed(bytes, used);
	fits = bytes <= PTRDIFF_MAX && mpi->held <= room && used <= room - mpi->held;
	if (fits)
		map = mmap(NULL, mapped(bytes), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
			   -1, 0);
	if (map == MAP_FAILED)
		return refuse_bytes(mpi, fits ? mapped(bytes) : used, room, ranks, fits);
	madvise(map, mapped(bytes), MADV_HUGEPAGE);
	mpi->held += used;
	*ptr = map;
	return 0;
}

static void mpi_release(struct backend *be, void *ptr, size_t bytes, size_t used)
{
	if (!ptr)
		return;
	munmap(ptr, mapped(bytes));
	to_mpi(be)->held -= committed(bytes, used);
}

static int mpi_fill(struct backend *be, void *ptr, const struct check_data *data, int rank,
		    uint64_t base, size_t count)
{
	check_fill(data, rank, base, count, ptr);
	return 0;
}

static int mpi_poison(struct backend *be, void *ptr, size_t bytes)
{
	memset(ptr, CHECK_POISON, bytes);
	return 0;
}

static int mpi_copy(struct backend *be, void *dst, const void *src, size_t bytes)
{
	memcpy(dst, src, bytes);
	return 0;
}

static int mpi_verify(struct backend *be, const void *recv, const struct segment *segments, int n,
		      const struct check_data *data, uint64_t base, struct verify_result *result)
{
	check_verify(data, recv, segments, n, base, result);
	return 0;
}

/* Every call is complete when it, or its group, returns. */
static int mpi_wait(struct backend *be)
{
	return 0;
}

const struct backend_ops backend_mpi = {
	.name = "mpi",
	.flags = BACKEND_FLAGS_MPI,
	.devices = mpi_devices,
	.open = mpi_open,
	.close = mpi_close,
	.facts = mpi_facts,
	.supports = mpi_supports,
	.comm_id = mpi_comm_id,
	.comm_open = mpi_comm_open,
	.comm_close = mpi_comm_close,
	.alloc = mpi_alloc,
	.release = mpi_release,
	.fill = mpi_fill,
	.poison = mpi_poison,
	.copy = mpi_copy,
	.store = mpi_copy,
	.fetch = mpi_copy,
	.verify = mpi_verify,
	.issue = mpi_issue,
	.group_begin = mpi_group_begin,
	.group_end = mpi_group_end,
	.wait = mpi_wait,
};
