/* host_meet.c: a barrier and a notice board in memory that the ranks of a host share. */
#include "topo/host_meet.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/clock.h"

enum { ROUNDS = 16, LINE = 128, SPINS = 1000 };
#define WAIT_SECONDS 5.0
#define NAP_SECONDS  50e-6

struct flag {
	_Alignas(LINE) _Atomic uint32_t value;
};

struct seat {
	struct flag round[ROUNDS]; /* of the barrier; written by the rank 2^i before */
	struct host_seat place;
	cpu_set_t cpus;
	double value; /* of host_meet_most */
};

struct board {
	_Atomic int failed, refused, said, topo_rc;
	struct host_topo topo;
	struct error topo_err;
	struct seat seats[];
};

struct host_meet {
	struct board *board;
	size_t bytes;
	int rank, nranks;
	bool yields;
	uint32_t times; /* meetings so far */
};

struct key {
	int pid, fd;
};

/* The first rank's memfd, by everybody. */
static int map_board(struct host_meet *m, MPI_Comm local, struct error *err)
{
	struct key key = { -1, -1 };
	char path[64];
	int fd = -1, bad;
	void *at = MAP_FAILED;

	if (m->rank == 0) {
		key = (struct key){ getpid(), memfd_create("hangar-meet", MFD_CLOEXEC) };
		if (key.fd >= 0 && ftruncate(key.fd, (off_t)m->bytes) < 0) {
			close(key.fd);
			key.fd = -1;
		}
	}
	MPI_Bcast(&key, sizeof(key), MPI_BYTE, 0, local);
	snprintf(path, sizeof(path), "/proc/%d/fd/%d", key.pid, key.fd);
	fd = key.fd < 0 ? -1 : open(path, O_RDWR | O_CLOEXEC);
	if (fd >= 0)
		at = mmap(NULL, m->bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	bad = at == MAP_FAILED;
	MPI_Allreduce(MPI_IN_PLACE, &bad, 1, MPI_INT, MPI_MAX,
		      local); /* the memfd stays open until here */
	if (fd >= 0)
		close(fd);
	if (m->rank == 0 && key.fd >= 0)
		close(key.fd);
	if (!bad) {
		m->board = at;
		return 0;
	}
	if (at != MAP_FAILED)
		munmap(at, m->bytes);
	return error_set(err, OUTCOME_UNSUPPORTED, -EACCES,
			 "the ranks of a host cannot share memory through /proc");
}

int host_meet_open(struct host_meet **meet, struct job *job, bool yields, struct error *err)
{
	struct host_meet *m = calloc(1, sizeof(*m));
	MPI_Comm local = MPI_COMM_NULL;
	int rc;

	if (!m)
		return error_set(err, OUTCOME_INTERNAL, -ENOMEM, "out of memory");
	m->rank = job->local_rank;
	m->nranks = job->local_ranks;
	m->yields = yields;
	m->bytes = sizeof(struct board) + (size_t)m->nranks * sizeof(struct seat);
	if (MPI_Comm_split(job->comm, job->node, job->rank, &local) != MPI_SUCCESS) {
		rc = error_set(err, OUTCOME_ERROR, -EIO, "MPI_Comm_split failed");
		goto out;
	}
	rc = map_board(m, local, err);
	MPI_Comm_free(&local);
out:
	if (rc < 0) {
		free(m);
		m = NULL;
	}
	*meet = m;
	return rc;
}

void host_meet_close(struct host_meet *m)
{
	if (!m)
		return;
	munmap(m->board, m->bytes);
	free(m);
}

static void relax(void)
{
#if defined(__x86_64__) || defined(__i386__)
	__builtin_ia32_pause();
#elif defined(__aarch64__)
	__asm__ volatile("yield");
#endif
}

/* Until `flag` is `value` or past it. */
static void await(struct host_meet *m, struct flag *flag, uint32_t value, bool idle)
{
	uint64_t end = 0;

	for (int spins = 0;; spins++) {
		if ((int32_t)(atomic_load_explicit(&flag->value, memory_order_acquire) - value) >=
		    0)
			return;
		if (idle && spins > SPINS)
			clock_nap(NAP_SECONDS);
		else if (m->yields)
			sched_yield();
		else
			relax();
		if (spins % SPINS != SPINS - 1)
			continue;
		if (end == 0)
			end = clock_ns() + (uint64_t)(WAIT_SECONDS * 1e9);
		if (clock_ns() > end)
			host_meet_fail(m);
		if (host_meet_failed(m))
			return;
	}
}

void host_meet(struct host_meet *m, bool idle)
{
	m->times++;
	for (int i = 0, far = 1; far < m->nranks && !host_meet_failed(m); i++, far *= 2) {
		int to = (m->rank + far) % m->nranks;

		atomic_store_explicit(&m->board->seats[to].round[i].value, m->times,
				      memory_order_release);
		await(m, &m->board->seats[m->rank].round[i], m->times, idle);
	}
}

bool host_meet_say(struct host_meet *m, bool what)
{
	bool said;

	if (m->rank == 0)
		atomic_store(&m->board->said, what);
	host_meet(m, false);
	said = atomic_load(&m->board->said) && !host_meet_failed(m);
	host_meet(m, false); /* nobody says something new before all have heard */
	return said;
}

double host_meet_most(struct host_meet *m, double mine)
{
	double most = mine;

	m->board->seats[m->rank].value = mine;
	host_meet(m, false);
	for (int i = 0; i < m->nranks; i++)
		most = fmax(most, m->board->seats[i].value);
	host_meet(m, false); /* nobody writes a new one before all have read */
	return most;
}

int host_meet_topo(struct host_meet *m, struct host_topo *topo, struct error *err)
{
	struct board *b = m->board;
	cpu_set_t *sets;

	sched_getaffinity(0, sizeof(b->seats[0].cpus), &b->seats[m->rank].cpus);
	host_meet(m, false);
	if (m->rank == 0) {
		sets = malloc((size_t)m->nranks * sizeof(*sets));
		for (int i = 0; sets && i < m->nranks; i++)
			sets[i] = b->seats[i].cpus;
		b->topo_err.rank = -1;
		atomic_store(&b->topo_rc,
			     sets ? host_topo_read(&b->topo, NULL, sets, m->nranks, &b->topo_err)
				  : -ENOMEM);
		free(sets);
	}
	host_meet(m, false);
	*topo = b->topo;
	m->yields |= host_topo_share(topo) > 1;
	if (host_meet_failed(m))
		return error_set(err, OUTCOME_UNSUPPORTED, -ETIMEDOUT,
				 "calibration: a rank did not come");
	if (atomic_load(&b->topo_rc) < 0)
		return error_set(err, b->topo_err.outcome, b->topo_rc, "%.400s", b->topo_err.text);
	return 0;
}

void host_meet_sit(struct host_meet *m, int rank, void *pool)
{
	m->board->seats[m->rank].place = (struct host_seat){ rank, getpid(), pool };
}

struct host_seat host_meet_seat(const struct host_meet *m, int rank)
{
	return m->board->seats[rank].place;
}

void host_meet_refuse(struct host_meet *m)
{
	atomic_store(&m->board->refused, 1);
}

bool host_meet_refused(const struct host_meet *m)
{
	return atomic_load(&m->board->refused);
}

void host_meet_fail(struct host_meet *m)
{
	atomic_store(&m->board->failed, 1);
}

bool host_meet_failed(const struct host_meet *m)
{
	return atomic_load(&m->board->failed);
}
