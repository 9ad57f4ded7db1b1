/* host_calibrate.c: copies, reads of a neighbour's memory, flags and reductions, by all ranks of a
 * host at once. */
#include "topo/host_calibrate.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/clock.h"
#include "backend/mpi/types.h"
#include "base/proc_stat.h"
#include "topo/host_meet.h"

#define POOL_LEAST    ((size_t)4 << 20)
#define POOL_MOST     ((size_t)16 << 20)
#define WORK	      ((size_t)4 << 20) /* bytes of a measurement, all ranks of a core together */
#define ROTATION      64 /* messages until the harness comes back to the same memory (timing.c) */
#define REPEATS	      3
#define FLAG_SECONDS  5e-3
#define FLAG_MOST_US  2.0 /* between cores: Open MPI takes .2 to .6 us, across sockets twice that */
#define FLAG_MEETS    8
#define FLAG_LOOK     5 /* batches */
#define FLAG_BATCHES  500
#define OPERANDS      4096 /* bytes reduced at once: stays in the first cache */
#define WATCHED	      60.0 /* seconds; half a second is usual */
#define ROUNDS_LEAST  2
#define ROUNDS_MOST   6
#define WAITED_LITTLE .05 /* of a round without a CPU: no more rounds for its sake */

struct bench_host {
	struct host_meet *meet;
	const struct job *job;
	char *from, *to;
	size_t pool, at;  /* the next message's place in them */
	double share;	  /* ranks per core */
	int rank, nranks; /* of the host */
};

enum work { WORK_COPY, WORK_READ, WORK_TOUCH };

/* All ranks' two pools together are twice the last cache. */
static size_t pool_bytes(const struct host_topo *t)
{
	size_t l3 = t->l3 * (size_t)(t->l3_count > 0 ? t->l3_count : 1);
	size_t bytes = l3 / (size_t)t->ranks;

	bytes = bytes < POOL_LEAST ? POOL_LEAST : bytes;
	return bytes > POOL_MOST ? POOL_MOST : bytes;
}

static char *pool_map(size_t bytes)
{
	char *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (at == MAP_FAILED)
		return NULL;
	madvise(at, bytes, MADV_HUGEPAGE); /* as the mpi backend's buffers */
	memset(at, 0x3c, bytes);
	return at;
}

static int read_peer(const struct bench_host *b, size_t at, size_t bytes)
{
	struct host_seat next = host_meet_seat(b->meet, (b->rank + 1) % b->nranks);
	struct iovec mine = { b->to + at, bytes };
	struct iovec theirs = { (void *)((uintptr_t)next.pool + at), bytes };
	ssize_t got = process_vm_readv(next.pid, &mine, 1, &theirs, 1, 0);

	return got == (ssize_t)bytes ? 0 : -EACCES;
}

/* Memory as a library takes it for one call: the kernel gives it page by page, and gets it back. */
static int touch(size_t bytes)
{
	char *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (at == MAP_FAILED)
		return -ENOMEM;
	memset(at, 0, bytes);
	munmap(at, bytes);
	return 0;
}

/* `total` bytes in messages of `bytes`, over memory that is as much as ROTATION of them, on from
 * where the last ones ended. */
static int move(struct bench_host *b, enum work work, size_t bytes, size_t total)
{
	size_t reach = bytes * ROTATION < b->pool ? bytes * ROTATION : b->pool;

	if (work == WORK_TOUCH)
		return touch(total);
	for (size_t done = 0; done < total; done += bytes) {
		b->at = b->at + bytes <= reach ? b->at : 0;
		if (work == WORK_COPY)
			memcpy(b->to + b->at, b->from + b->at, bytes);
		else if (read_peer(b, b->at, bytes) < 0)
			return -EACCES;
		b->at += bytes;
	}
	return 0;
}

/* What healthy hardware does: others on the machine only ever add. */
static double least(const double *values, int n)
{
	double smallest = values[0];

	for (int i = 1; i < n; i++)
		smallest = values[i] < smallest ? values[i] : smallest;
	return smallest;
}

/* ns per byte of each rank that works: all of them, or the first alone. */
static double rate(struct bench_host *b, enum work work, size_t bytes, bool all)
{
	size_t total = (size_t)((double)WORK / (all ? b->share : 1));
	double times[REPEATS];

	total = total < bytes ? bytes : total;
	b->at = 0;
	for (int i = 0; i < REPEATS; i++) {
		double begin;

		host_meet(b->meet, !all && b->rank != 0);
		begin = clock_seconds();
		if ((all || b->rank == 0) && move(b, work, bytes, total) < 0)
			host_meet_refuse(b->meet);
		host_meet(b->meet, !all && b->rank != 0);
		times[i] = clock_seconds() - begin;
		if (work == WORK_READ && host_meet_refused(b->meet))
			return INFINITY;
	}
	return least(times, REPEATS) / (double)((total + bytes - 1) / bytes * bytes) * 1e9;
}

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static int peer(const struct bench_host *b, int distance)
{
	return host_meet_seat(b->meet, (b->rank + distance + b->nranks) % b->nranks).rank;
}

/* A byte to a partner and one from another, log2(ranks) times. */
static void exchange(struct bench_host *b)
{
	char out = 0, in;

	for (int far = 1; far < b->nranks; far *= 2)
		MPI_Sendrecv(&out, 1, MPI_BYTE, peer(b, far), 0, &in, 1, MPI_BYTE, peer(b, -far), 0,
			     b->job->comm, MPI_STATUS_IGNORE);
}

/* A byte from rank to rank, once round. */
static void go_round(struct bench_host *b)
{
	char byte = 0;

	if (b->rank != 0)
		MPI_Recv(&byte, 1, MPI_BYTE, peer(b, -1), 0, b->job->comm, MPI_STATUS_IGNORE);
	MPI_Send(&byte, 1, MPI_BYTE, peer(b, 1), 0, b->job->comm);
	if (b->rank == 0)
		MPI_Recv(&byte, 1, MPI_BYTE, peer(b, -1), 0, b->job->comm, MPI_STATUS_IGNORE);
}

/* us of a message through the library, which waits as it likes: all ranks exchanging, or one after
 * the other. Batches until rank 0 has seen enough; their lower quartile, as ranks that share a core
 * are not lucky every time, and others on the machine do little harm. Where each rank has a core of
 * its own, what takes longer than a message can is a stranger on that core. */
static double flags(struct bench_host *b, bool round)
{
	double begin = clock_seconds(), times[FLAG_BATCHES], last = begin, now;
	int n = 0, steps = 0;

	for (int far = 1; far < b->nranks; far *= 2)
		steps++;
	if (steps == 0)
		return 0;
	do {
		for (int i = 0; i < FLAG_MEETS; i++)
			round ? go_round(b) : exchange(b);
		now = clock_seconds();
		times[n++] = now - last;
		last = now;
		/* from time to time, so that saying so is not what is measured */
		if (n % FLAG_LOOK == 0 &&
		    !host_meet_say(b->meet, now - begin < FLAG_SECONDS && n < FLAG_BATCHES))
			break;
		if (n % FLAG_LOOK == 0)
			last = clock_seconds();
	} while (n < FLAG_BATCHES);
	qsort(times, (size_t)n, sizeof(*times), compare);
	now = times[n / 4] / (FLAG_MEETS * (round ? b->nranks : steps)) * 1e6;
	return b->share > 1 || now < FLAG_MOST_US ? now : FLAG_MOST_US;
}

static double reduction(struct bench_host *b, MPI_Datatype type, MPI_Op op, size_t elsize)
{
	double times[REPEATS];

	for (int i = 0; i < REPEATS; i++) {
		memset(b->to, 0x3c,
		       OPERANDS); /* a number in every type, whose powers are numbers too */
		times[i] = clock_seconds();
		if (MPI_Reduce_local(b->from, b->to, (int)(OPERANDS / elsize), type, op) !=
		    MPI_SUCCESS)
			return INFINITY;
		times[i] = clock_seconds() - times[i];
	}
	return least(times, REPEATS) / OPERANDS * 1e9;
}

static int reductions(struct bench_host *b, struct host_figures *f)
{
	struct mpi_types types;
	int rc = mpi_types_init(&types) == MPI_SUCCESS ? 0 : -EIO;

	host_meet(b->meet, false);
	for (int dtype = 0; dtype < DT_COUNT && rc == 0; dtype++)
		for (int op = 0; op < OP_COUNT; op++)
			f->reduce[dtype][op] =
				types.op[dtype][op] == MPI_OP_NULL
					? INFINITY
					: reduction(b, types.type[dtype], types.op[dtype][op],
						    dtype_size((enum dtype)dtype));
	mpi_types_release(&types);
	return rc;
}

static void measure(struct bench_host *b, struct host_figures *f)
{
	size_t bytes = HOST_FIRST;

	f->step_us = flags(b, false);
	f->hop_us = flags(b, true);
	f->fresh = rate(b, WORK_TOUCH, HOST_FIRST, true);
	for (int i = 0; i < HOST_SIZES; i++, bytes *= HOST_RATIO) {
		size_t size = bytes < b->pool ? bytes : b->pool;

		f->copy_all[i] = rate(b, WORK_COPY, size, true);
		f->copy_alone[i] = rate(b, WORK_COPY, size, false);
		f->read_all[i] = b->nranks > 1 ? rate(b, WORK_READ, size, true) : 0;
		f->read_alone[i] = b->nranks > 1 ? rate(b, WORK_READ, size, false) : 0;
	}
}

/* Seconds that this thread was ready to run and had no CPU; 0 where the kernel keeps no account. */
static double waited_seconds(void)
{
	struct proc_account account;

	return proc_account_read(&account, 0) ? (double)account.waited_ns * 1e-9 : 0;
}

/* All figures are times, of which others on the machine only ever add to. */
static void keep_best(struct host_figures *best, const struct host_figures *round)
{
	const double *from = (const double *)(const void *)round;
	double *to = (double *)(void *)best;

	for (size_t i = 0; i < sizeof(*best) / sizeof(double); i++)
		to[i] = from[i] < to[i] ? from[i] : to[i];
}

/* Ranks that share a CPU always wait for it: more rounds would find nothing quieter. */
static int measure_rounds(struct bench_host *b, const struct host_topo *t, struct host_figures *f)
{
	struct host_figures round = { 0 };
	int rc = reductions(b, &round);

	round.crowd = (double)t->ranks / (t->rank_pus > 0 ? t->rank_pus : 1);
	for (int i = 0; i < ROUNDS_MOST && rc == 0 && !host_meet_failed(b->meet); i++) {
		double begin = clock_seconds(), waited = waited_seconds();

		measure(b, &round);
		waited = (waited_seconds() - waited) / (clock_seconds() - begin);
		round.waited = host_meet_most(b->meet, waited);
		if (i == 0)
			*f = round;
		keep_best(f, &round);
		if (i + 1 >= ROUNDS_LEAST && (f->waited < WAITED_LITTLE || round.crowd > 1))
			break;
	}
	return rc;
}

/* On one host; `b->meet` is open. */
static int calibrate_here(struct bench_host *b, const struct host_topo *t, struct host_figures *f,
			  struct error *err)
{
	int rc = 0;

	b->share = host_topo_share(t);
	b->pool = pool_bytes(t);
	b->from = pool_map(b->pool);
	b->to = pool_map(b->pool);
	host_meet_sit(b->meet, b->job->rank, b->from);
	if (!b->from || !b->to)
		host_meet_fail(b->meet);
	host_meet(b->meet, false);
	if (!host_meet_failed(b->meet))
		rc = measure_rounds(b, t, f);
	if (b->from)
		munmap(b->from, b->pool);
	if (b->to)
		munmap(b->to, b->pool);
	if (rc < 0 || host_meet_failed(b->meet))
		return error_set(err, OUTCOME_UNSUPPORTED, -ENOMEM,
				 "calibration: no memory, or a rank that did not come");
	return 0;
}

static int calibrate_host(struct job *job, bool yields, struct host_topo *topo,
			  struct host_figures *f, struct error *err)
{
	struct bench_host b = { .job = job, .rank = job->local_rank, .nranks = job->local_ranks };
	int rc = host_meet_open(&b.meet, job, yields, err);

	if (rc < 0)
		return rc;
	rc = host_meet_topo(b.meet, topo, err);
	if (rc == 0)
		rc = calibrate_here(&b, topo, f, err);
	host_meet_close(b.meet);
	return rc;
}

int host_calibrate(struct job *job, bool yields, struct host_topo *topo, struct host_figures *f,
		   struct error *err)
{
	int rc, failed;

	memset(f, 0, sizeof(*f));
	watch_work(job->watch, "measuring the host's memory", WATCHED);
	rc = calibrate_host(job, yields, topo, f, err);
	watch_leave(job->watch);
	failed = -rc;
	if (job_max_int(job, &failed, 1) < 0)
		return -EIO;
	if (failed > 0)
		return rc < 0 ? rc
			      : error_set(err, OUTCOME_UNSUPPORTED, -failed,
					  "calibration failed on another rank: %s",
					  strerror(failed));
	return job_max(job, (double *)(void *)f, (int)(sizeof(*f) / sizeof(double)));
}

double host_figure_at(const double figure[HOST_SIZES], double bytes)
{
	double at = bytes > 0 ? log(bytes / HOST_FIRST) / log(HOST_RATIO) : 0;
	int i = (int)at;

	if (at <= 0)
		return figure[0];
	if (at >= HOST_SIZES - 1)
		return figure[HOST_SIZES - 1];
	return figure[i] + (at - i) * (figure[i + 1] - figure[i]);
}
