/* session.c: the record of this process: made when it makes its first communicator, handed to the monitor,
 * forgotten by a child that forks off. */
#include <pthread.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#include "preload/library/library.h"
#include "watch/link.h"
#include "watch/monitor_nodes.h"

__thread struct preload_thread preload_thread;

static struct session *session;
static bool tried;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

void session_lock(void)
{
	pthread_mutex_lock(&mutex);
}

void session_unlock(void)
{
	pthread_mutex_unlock(&mutex);
}

struct session *session_now(void)
{
	return __atomic_load_n(&session, __ATOMIC_ACQUIRE);
}

/* ---- who this is ---- */

/* The number that a launcher gave under one of these names, -1: none did. */
static int told(const char *a, const char *b, const char *c, const char *d)
{
	const char *const names[] = { a, b, c, d };

	for (int i = 0; i < 4; i++) {
		const char *text = getenv(names[i]);

		if (text && *text >= '0' && *text <= '9')
			return atoi(text);
	}
	return -1;
}

/* A launcher says who it is; without one the first communicator does. */
static void identify(struct session *s, int rank, int nranks)
{
	int (*version_of)(int *) = REAL(OF_NCCL, "ncclGetVersion", int (*)(int *));
	int own = told("RANK", "OMPI_COMM_WORLD_RANK", "SLURM_PROCID", "PMI_RANK"),
	    size = told("WORLD_SIZE", "OMPI_COMM_WORLD_SIZE", "SLURM_NTASKS", "PMI_SIZE"),
	    local = told("LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_RANK", "SLURM_LOCALID",
			 "MPI_LOCALRANKID");
	bool known = own >= 0 && size > 0;
	char library[64];
	int version = 0;

	preload_thread.inside++;
	if (version_of)
		version_of(&version);
	preload_thread.inside--;
	snprintf(library, sizeof(library), "NCCL %d.%d.%d", version / 10000, version / 100 % 100,
		 version % 100);
	recorder_identify(&s->recorder, known ? own : rank, known ? size : nranks, 0, 1, local, "",
			  library);
}

/* ---- the monitor ---- */

/* Its memory goes to this host's monitor. The connection stays: that it closes tells of the end. */
static int join_monitor(const char *key, int memory_fd)
{
	socklen_t len;
	struct sockaddr_un address = link_address(key, &len);
	struct link link = { .fd = -1 };
	int32_t pid = getpid();
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0), rc;

	if (fd < 0 || connect(fd, (struct sockaddr *)&address, len) < 0) {
		rc = -errno;
		if (fd >= 0)
			close(fd);
		return rc;
	}
	link_init(&link, fd);
	rc = link_send(&link, MESSAGE_HELLO, &pid, sizeof(pid), memory_fd);
	if (rc < 0)
		close(fd);
	return rc < 0 ? rc : fd;
}

static void note_exit(int status, void *unused)
{
	struct session *s = session_now();

	(void)unused;
	if (s && s->recorder.memory->header.pid == getpid())
		atomic_store(&s->recorder.memory->header.exit_status, status & 0xff);
}

/* As os._exit of Python's, which runs no handler. */
EXPORT _Noreturn void _exit(int status);

void _exit(int status)
{
	note_exit(status, NULL);
	for (;;)
		syscall(SYS_exit_group, status);
}

/* A child has the parent's memory mapped: what it does is not the rank's doing. */
static void forget(void)
{
	session = NULL;
	tried = true;
	pthread_mutex_init(&mutex, NULL);
}

static struct session *make_session(const char *key)
{
	struct session *s = calloc(1, sizeof(*s));
	struct error err = { .rank = -1 };
	struct record_memory *memory;
	int fd;

	if (!s || recorder_create(program_invocation_short_name, &memory, &fd, &err) < 0) {
		say_once("no memory for the record: nothing is recorded");
		free(s);
		return NULL;
	}
	recorder_init(&s->recorder, memory, true, 0);
	memory->header.preloaded = 1;
	memory->header.phase = PHASE_INIT;
	s->watch = recorder_watch(&s->recorder);
	s->socket = join_monitor(key, fd);
	close(fd);
	if (s->socket < 0) {
		say_once("no monitor %.40s on this host (%s): nothing is recorded", key,
			 strerror(-s->socket));
		munmap(memory, sizeof(*memory));
		free(s);
		return NULL;
	}
	on_exit(note_exit, NULL);
	inject_arm(s, key);
	pthread_atfork(NULL, NULL, forget);
	prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0, 0);
	return s;
}

static bool is_known_version(void)
{
	int (*version_of)(int *) = REAL(OF_NCCL, "ncclGetVersion", int (*)(int *));
	int version = 0;

	if (version_of && version_of(&version) == 0 && version >= NCCL_OLDEST &&
	    version < NCCL_NEWEST)
		return true;
	say_once("NCCL %d is none of the versions 2.18 to 2.32: nothing is recorded", version);
	return false;
}

struct session *session_open(void)
{
	const char *key;

	if (session_now() || __atomic_load_n(&tried, __ATOMIC_ACQUIRE))
		return session_now();
	session_lock();
	key = getenv("HANGAR_RUN");
	if (!tried && key && *key) {
		preload_thread.inside++;
		if (is_known_version())
			__atomic_store_n(&session, make_session(key), __ATOMIC_RELEASE);
		preload_thread.inside--;
	}
	__atomic_store_n(&tried, true, __ATOMIC_RELEASE);
	session_unlock();
	return session_now();
}

/* ---- communicators and streams ---- */

int session_comm(const struct session *s, const void *handle)
{
	for (int i = 0; handle && i < s->ncomms; i++)
		if (s->comms[i].handle == handle)
			return i;
	return -1;
}

uint32_t session_stream(struct session *s, const void *stream)
{
	for (int i = 0; i < s->nstreams; i++)
		if (s->streams[i].handle == stream)
			return (uint32_t)i;
	if (s->nstreams == 255)
		return 255;
	s->streams[s->nstreams].handle = (void *)stream;
	return (uint32_t)s->nstreams++;
}

static uint64_t hash_id(const void *id, size_t bytes)
{
	const unsigned char *at = id;
	uint64_t hash = 0xcbf29ce484222325ull;

	for (size_t i = 0; i < bytes; i++)
		hash = (hash ^ at[i]) * 0x100000001b3ull;
	return hash;
}

/* A number that no communicator had, or else the one that is free for the longest time. */
static int take_number(struct session *s)
{
	struct record_header *h = &s->recorder.memory->header;
	int oldest = -1;

	if (s->ncomms < RECORD_COMMS)
		return s->ncomms++;
	for (int i = 0; i < RECORD_COMMS; i++)
		if (!s->comms[i].handle && h->inits[i].state != RECORD_COMM_INIT &&
		    (oldest < 0 || h->inits[i].born < h->inits[oldest].born))
			oldest = i;
	if (oldest < 0) {
		say_once("more than %d communicators at once: further ones are not recorded",
			 RECORD_COMMS);
		return -1;
	}
	h->comms[oldest].seq = h->comms[oldest].hash = h->pairs[oldest] = 0;
	return oldest;
}

/* Returns its number, or -1. A rank that is not known yet is told at the end. */
static int begin(struct session *s, uint64_t id, int rank, int nranks)
{
	struct comm_request request = { .rank = rank, .nranks = nranks };
	uint64_t key[2] = { id, 0 };
	int n;

	session_lock();
	n = take_number(s);
	if (n >= 0) {
		/* with NCCL_COMM_ID all communicators have the same id */
		for (int i = 0; i < s->ncomms; i++)
			key[1] += i != n && s->comms[i].id == id;
		s->comms[n] = (struct preload_comm){ .id = id };
		memcpy(request.id, key, sizeof(key));
		s->watch.comm(s->watch.ctx, (uint32_t)n, COMM_INIT, &request);
		s->watch.enter(s->watch.ctx, "communicator init", 0);
		if (s->recorder.memory->header.rank < 0)
			identify(s, rank, nranks);
	}
	session_unlock();
	return n;
}

void make_begin(struct making *m, void **handle, const struct nccl_id *id, int rank, int nranks)
{
	struct session *s = session_open();

	*m = (struct making){ .number = -1, .handle = handle };
	if (s)
		m->number = begin(s, hash_id(id, sizeof(*id)), rank, nranks);
	preload_thread.inside++;
}

void make_child(struct making *m, void **handle, void *parent, int apart)
{
	struct session *s = session_now();
	int of = s ? session_comm(s, parent) : -1;

	*m = (struct making){ .number = -1, .handle = handle };
	if (of >= 0) {
		uint64_t key[] = { s->comms[of].id, ++s->comms[of].children, (uint64_t)apart };

		m->number = begin(s, hash_id(key, sizeof(key)), -1, -1);
	}
	preload_thread.inside++;
}

static int ask(const char *name, void *handle, int unknown)
{
	void *kept = NULL;
	int (*real)(void *, int *) = (int (*)(void *, int *))resolve(OF_NCCL, name, &kept);
	int value = unknown;

	return real && handle && real(handle, &value) == NCCL_SUCCESS ? value : unknown;
}

void make_settle(struct session *s, const struct making *m, int rc)
{
	int (*current)(void **) = REAL(OF_CUDA, "cuCtxGetCurrent", int (*)(void **));
	bool failed = rc != NCCL_SUCCESS && rc != NCCL_IN_PROGRESS;
	void *handle = failed ? NULL : *m->handle, *context = NULL;
	struct record_init *init = &s->recorder.memory->header.inits[m->number];

	preload_thread.inside++;
	if (current)
		current(&context);
	if (init->nranks < 0) {
		init->rank = ask("ncclCommUserRank", handle, -1);
		init->nranks = ask("ncclCommCount", handle, -1);
	}
	preload_thread.inside--;
	session_lock();
	s->comms[m->number].handle = handle;
	s->comms[m->number].context = context;
	s->watch.comm(s->watch.ctx, (uint32_t)m->number,
		      failed   ? COMM_FAILED
		      : handle ? COMM_READY
			       : COMM_LEFT,
		      NULL);
	s->watch.leave(s->watch.ctx);
	s->watch.phase(s->watch.ctx, PHASE_TIMED);
	device_open(s);
	session_unlock();
}

int make_end(struct making *m, int rc)
{
	struct preload_thread *t = &preload_thread;

	t->inside--;
	if (m->number >= 0 && t->depth > 0 && t->nmade < 32)
		t->made[t->nmade++] = *m;
	else if (m->number >= 0)
		make_settle(session_now(), m, rc);
	return rc;
}

void comm_ends(void *handle, enum comm_event event)
{
	struct session *s = session_now();
	int n = s ? session_comm(s, handle) : -1;

	if (n < 0)
		return;
	session_lock();
	s->watch.comm(s->watch.ctx, (uint32_t)n, event, NULL);
	s->comms[n].handle = NULL;
	session_unlock();
}

int comm_asked(void *handle, int state, int rc)
{
	struct session *s = session_now();
	int n = s && rc == NCCL_SUCCESS ? session_comm(s, handle) : -1;

	if (n >= 0 && state != NCCL_IN_PROGRESS)
		calls_release_held(s, n);
	if (n >= 0)
		s->watch.asked(s->watch.ctx, (uint32_t)n, state);
	return rc;
}

void comms_of_many(int n)
{
	if (n > 1 && session_open())
		say_once("one process with %d ranks: their calls are not recorded", n);
}
