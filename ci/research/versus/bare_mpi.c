/* bare_mpi.c: the calls of hangar's mpi backend in a bare loop, nothing of hangar linked: the same
 * addresses (common/harness/measure/buffers.h), the same batches (common/harness/measure/timing.c, mode stream), and nothing else.
 *
 * usage: mpirun -np N bare_mpi_loop COLLECTIVE SIZE:CALLS:BATCHES:WARMUP...
 *
 * COLLECTIVE: all_reduce, all_gather, alltoall or broadcast (root 0), of floats, out of place.
 * Prints CSV: median over batches of the slowest rank's time of a call. */
#include <mpi.h>
#include <sys/mman.h>
#include <time.h>

#define POOL  ((size_t)256 << 20)
#define ALIGN ((size_t)512)
#define GUARD ((size_t)4096)

struct loop {
	int rank, nranks, count; /* elements, as the call takes them */
	size_t stride, slots;
	char *send, *recv;
	int (*call)(const struct loop *loop, const void *send, void *recv);
};

struct series {
	size_t size;
	int calls, batches, warmup;
};

static int all_reduce(const struct loop *loop, const void *send, void *recv)
{
	return MPI_Allreduce(send, recv, loop->count, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
}

static int all_gather(const struct loop *loop, const void *send, void *recv)
{
	return MPI_Allgather(send, loop->count, MPI_FLOAT, recv, loop->count, MPI_FLOAT,
			     MPI_COMM_WORLD);
}

static int alltoall(const struct loop *loop, const void *send, void *recv)
{
	return MPI_Alltoall(send, loop->count, MPI_FLOAT, recv, loop->count, MPI_FLOAT,
			    MPI_COMM_WORLD);
}

/* The root's receive buffer gets its copy, as out of place it must. */
static int broadcast(const struct loop *loop, const void *send, void *recv)
{
	int root = loop->rank == 0;
	int rc = MPI_Bcast(root ? (void *)send : recv, loop->count, MPI_FLOAT, 0, MPI_COMM_WORLD);

	if (root)
		memcpy(recv, send, (size_t)loop->count * sizeof(float));
	return rc;
}

static const struct {
	const char *name;
	int (*call)(const struct loop *loop, const void *send, void *recv);
	int shares; /* count is a rank's share of the size */
} collectives[] = {
	{ "all_reduce", all_reduce, 0 },
	{ "all_gather", all_gather, 1 },
	{ "alltoall", alltoall, 1 },
	{ "broadcast", broadcast, 0 },
};

static void die(const char *text)
{
	fprintf(stderr, "bare_mpi_loop: %s\n", text);
	MPI_Abort(MPI_COMM_WORLD, 2);
}

static double now(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec * 1e-9;
}

/* Written to once, so that no timed call meets untouched pages. */
static char *make_pool(float value)
{
	char *base = mmap(NULL, POOL + 2 * GUARD, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (base == MAP_FAILED)
		die("no memory for a pool");
	madvise(base, POOL + 2 * GUARD, MADV_HUGEPAGE);
	for (size_t i = 0; i < (POOL + 2 * GUARD) / sizeof(float); i++)
		((float *)base)[i] = value + (float)(i % 61);
	return base + GUARD;
}

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* Every batch starts at slot 0. */
static double batch(const struct loop *loop, int calls)
{
	double begin = now();

	for (int i = 0; i < calls; i++) {
		size_t offset = (size_t)i % loop->slots * loop->stride;

		if (loop->call(loop, loop->send + offset, loop->recv + offset) != MPI_SUCCESS)
			die("a call failed");
	}
	return (now() - begin) / calls;
}

static double measure(const struct loop *loop, const struct series *series)
{
	int n = series->batches;
	double *mine = calloc(2 * (size_t)n, sizeof(*mine)), *slowest = mine + n, median;

	if (!mine)
		die("no memory for samples");
	for (int left = series->warmup; left > 0; left -= series->calls)
		batch(loop, left < series->calls ? left : series->calls);
	for (int i = 0; i < n; i++) {
		MPI_Barrier(MPI_COMM_WORLD);
		mine[i] = batch(loop, series->calls);
	}
	MPI_Allreduce(mine, slowest, n, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
	qsort(slowest, (size_t)n, sizeof(*slowest), compare);
	median = (slowest[(n - 1) / 2] + slowest[n / 2]) / 2;
	free(mine);
	return median;
}

static void run(struct loop *loop, const char *text, const char *name, int shares)
{
	struct series s;
	double seconds;

	if (sscanf(text, "%zu:%d:%d:%d", &s.size, &s.calls, &s.batches, &s.warmup) != 4 ||
	    s.size < sizeof(float) || s.size > POOL || s.calls < 1 || s.batches < 1)
		die("want SIZE:CALLS:BATCHES:WARMUP");
	loop->count = (int)(s.size / sizeof(float) / (size_t)(shares ? loop->nranks : 1));
	loop->stride = (s.size + ALIGN - 1) / ALIGN * ALIGN;
	loop->slots = POOL / loop->stride;
	seconds = measure(loop, &s);
	if (loop->rank == 0)
		printf("%s,%zu,%d,%d,%.6g\n", name, s.size, s.calls, s.batches, seconds * 1e6);
}

int main(int argc, char **argv)
{
	struct loop loop;
	int provided;
	size_t c;

	MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &provided);
	MPI_Comm_rank(MPI_COMM_WORLD, &loop.rank);
	MPI_Comm_size(MPI_COMM_WORLD, &loop.nranks);
	for (c = 0; c < sizeof(collectives) / sizeof(collectives[0]); c++)
		if (argc > 2 && strcmp(argv[1], collectives[c].name) == 0)
			break;
	if (c == sizeof(collectives) / sizeof(collectives[0])) {
		die("want COLLECTIVE SIZE:CALLS:BATCHES:WARMUP...");
		return 2;
	}
	loop.call = collectives[c].call;
	loop.send = make_pool((float)loop.rank);
	loop.recv = make_pool(0);
	if (loop.rank == 0)
		printf("collective,size_bytes,calls,batches,time_us\n");
	for (int i = 2; i < argc; i++)
		run(&loop, argv[i], argv[1], collectives[c].shares);
	MPI_Finalize();
	return 0;
}
