/* session.c: the record of this process: made when it makes its first communicator, handed to the
 * monitor, forgotten by a child that forks off. */
#include <pthread.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include "base/clock.h"
#include "base/parse.h"
#include "library/library.h"
#include "net/link.h"
#include "watch/message.h"

__thread struct preload_thread preload_thread;

static struct session *sessions[PRELOAD_RANKS];
static int nsessions;
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

struct session *session_nth(int n)
{
	return n < __atomic_load_n(&nsessions, __ATOMIC_ACQUIRE) ? sessions[n] : NULL;
}

static int version(void)
{
	int version = 0;

	preload_thread.inside++;
	CALL(OF_NCCL, "ncclGetVersion", (int *), (&version));
	preload_thread.inside--;
	return version;
}

/* A launcher says who it is; without one, or where its job is smaller, the largest communicator does. */
static void identify(struct session *s, int rank, int nranks)
{
	/* a batch script and all of its children have the number 0 */
	bool task = getenv("SLURM_STEP_ID");
	int own = environment_number(environ,
				     task ? "RANK OMPI_COMM_WORLD_RANK SLURM_PROCID PMI_RANK"
					  : "RANK OMPI_COMM_WORLD_RANK PMI_RANK",
				     -1),
	    size = environment_number(environ,
				      "WORLD_SIZE OMPI_COMM_WORLD_SIZE SLURM_NTASKS PMI_SIZE", -1),
	    local = environment_number(
		    environ,
		    task ? "LOCAL_RANK OMPI_COMM_WORLD_LOCAL_RANK SLURM_LOCALID MPI_LOCALRANKID"
			 : "LOCAL_RANK OMPI_COMM_WORLD_LOCAL_RANK MPI_LOCALRANKID",
		    -1),
	    v = version();
	bool known = own >= 0 && size >= nranks && nsessions < 2;
	char library[64];

	snprintf(library, sizeof(library), "NCCL %d.%d.%d", v / 10000, v / 100 % 100, v % 100);
	if (v == 0)
		strcpy(library, "NCCL, by its profiler");
	session_lock();
	recorder_identify(&s->recorder, known ? own : rank, known ? size : nranks, 0, 1, local, "",
			  library);
	session_unlock();
}

/* ---- the monitor ---- */

/* Its memory goes to this host's monitor, which is started where none listens. The connection stays: that it closes tells
 * of the end. */
static int join_monitor(const char *key, bool start, int memory_fd)
{
	struct link link = { .fd = -1 };
	int32_t pid = getpid();
	int fd = link_connect(key, 0, NULL), rc = 0;

	if (fd == -ECONNREFUSED && start) {
		rc = watcher_start(key);
		fd = rc < 0 ? rc : link_connect(key, 0, NULL);
	}
	if (fd < 0)
		return fd;
	link_init(&link, fd);
	rc = link_send(&link, MESSAGE_HELLO, &pid, sizeof(pid), memory_fd);
	if (rc < 0)
		close(fd);
	return rc < 0 ? rc : fd;
}

/* The rank begins to leave: that counts unless it calls again. */
static void note_left(struct session *s)
{
	const struct record_program *p = &s->recorder.memory->program;
	uint64_t newest = record_get(&s->recorder.memory->header.issued_ticket);

	if (p->left_ns && s->recorder.memory->ring[newest % RECORD_RING].enqueued_ns < p->left_ns)
		return;
	record_publish(&s->recorder.memory->program.left_ns, clock_ns());
}

static void note_exit(int status, void *unused)
{
	struct session *s;

	(void)unused;
	for (int k = 0; (s = session_nth(k)); k++) {
		struct record_header *h = &s->recorder.memory->header;

		if (h->pid != getpid())
			return;
		if (s->armed && !s->struck && s->fault.rank == h->rank)
			say_once("the fault that was asked for did not strike");
		atomic_store(&h->exit_status, status & 0xff);
		note_left(s);
	}
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
	nsessions = 0;
	tried = true;
	pthread_mutex_init(&mutex, NULL);
}

/* The monitor and its children may read this process's stacks; another process where its number is not known here. */
static void allow_to_look(int socket)
{
	pid_t monitor = link_peer(socket).pid;

	prctl(PR_SET_PTRACER, monitor > 0 ? (unsigned long)monitor : PR_SET_PTRACER_ANY, 0, 0, 0);
}

static struct session *make_session(const char *key, bool start)
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
	memory->header.run = record_hash_id(key, strlen(key)) & ~1ull; /* of this host */
	memory->header.phase = PHASE_INIT;
	memory->program.python_runtime = (uintptr_t)symbol("_PyRuntime");
	memory->program.python_minor = python_minor();
	s->watch = recorder_watch(&s->recorder);
	s->device = -1;
	s->socket = join_monitor(key, start, fd);
	close(fd);
	if (s->socket < 0) {
		if (s->socket != -ECANCELED)
			say_once("no monitor %.40s on this host (%s): nothing is recorded", key,
				 strerror(-s->socket));
		munmap(memory, sizeof(*memory));
		free(s);
		return NULL;
	}
	inject_arm(s, key);
	if (nsessions > 0)
		return s;
	on_exit(note_exit, NULL);
	pthread_atfork(NULL, NULL, forget);
	allow_to_look(s->socket);
	return s;
}

/* Returns a further one, with session_lock() held; NULL: there is none. */
static struct session *add_session(void)
{
	const char *key = getenv("HANGAR_RUN");
	bool start = (!key || !*key) && session_by_profiler() && plugin_alone();
	struct session *s = NULL;
	char own[40] = "";
	int v;

	if (start)
		watcher_key(own, sizeof(own));
	key = start ? own : key;
	if (!key || !*key || nsessions >= PRELOAD_RANKS)
		return NULL;
	v = nsessions > 0 ? NCCL_OLDEST : version();
	if ((v >= NCCL_OLDEST && v < NCCL_NEWEST) || session_by_profiler())
		s = make_session(key, start);
	else
		say_once("NCCL %d is none of the versions 2.18 to 2.32: nothing is recorded", v);
	if (s) {
		sessions[nsessions] = s;
		__atomic_store_n(&nsessions, nsessions + 1, __ATOMIC_RELEASE);
	}
	return s;
}

/* ---- communicators and streams ---- */

struct session *session_of(const void *handle, int *number)
{
	struct session *s;

	for (int k = 0; handle && (s = session_nth(k)); k++)
		for (int i = 0; i < __atomic_load_n(&s->ncomms, __ATOMIC_ACQUIRE); i++)
			if (__atomic_load_n(&s->comms[i].handle, __ATOMIC_ACQUIRE) == handle) {
				*number = i;
				return s;
			}
	return NULL;
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

/* A number that no communicator had, or else the one that is free for the longest time. */
static int take_number(struct session *s)
{
	struct record_header *h = &s->recorder.memory->header;
	struct record_site *sites = s->recorder.memory->sites;
	int oldest = -1;

	if (s->ncomms < RECORD_COMMS)
		return __atomic_fetch_add(&s->ncomms, 1, __ATOMIC_RELEASE);
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
	for (size_t i = 1; i < RECORD_SITES; i++)
		if (sites[i].comm == oldest)
			record_put(&sites[i].calls, 0);
	return oldest;
}

/* Returns true if this rank has, or makes, a communicator with that id. */
static bool has_id(const struct session *s, uint64_t id)
{
	for (int i = 0; i < s->ncomms; i++)
		if (s->comms[i].id == id &&
		    s->recorder.memory->header.inits[i].state <= RECORD_COMM_READY)
			return true;
	return false;
}

/* A communicator's id comes once in a rank: the second time it belongs to another rank, of another
 * device. A new id belongs to the rank of the current device, else to the first. */
static struct session *choose_session(uint64_t id)
{
	bool again = false, all_alike = getenv("NCCL_COMM_ID");
	struct session *s, *found = NULL;
	int device = -1;

	if (CALL(OF_CUDA, "cuCtxGetDevice", (int *), (&device)) != 0)
		device = -1;
	for (int k = 0; (s = session_nth(k)); k++) {
		if (!all_alike && has_id(s, id))
			again = true;
		else if (!found || (s->device == device && found->device != device))
			found = s;
	}
	if (again && found && found->device != device && device >= 0)
		found = NULL;
	if (!found && (again || !tried)) {
		found = add_session();
		tried = true;
		if (found)
			found->device = device;
	}
	return found;
}

/* Its session and number are found: -1, NULL: it is not recorded. */
static void number_comm(struct making *m, uint64_t id, const struct nccl_config *config)
{
	struct preload_comm *comm;
	bool named;

	session_lock();
	m->session = m->session ? m->session : choose_session(id);
	m->number = m->session ? take_number(m->session) : -1;
	if (m->number >= 0) {
		comm = &m->session->comms[m->number];
		/* its handle is NULL, and others compare theirs with that meanwhile */
		memset(&comm->context, 0, sizeof(*comm) - offsetof(struct preload_comm, context));
		comm->id = id;
		named = config && config->size >= sizeof(*config) && config->version >= 22700 &&
			config->name;
		snprintf(m->session->recorder.memory->names[m->number], RECORD_NAME, "%s",
			 named ? config->name : "");
		CALL(OF_CUDA, "cuCtxGetCurrent", (void **), (&comm->context));
	}
	session_unlock();
}

static void note_begin(const struct making *m, int rank, int nranks)
{
	struct comm_request request = { .rank = rank, .nranks = nranks };
	struct session *s = m->session;
	uint64_t id = s->comms[m->number].id, first, times = 0;

	session_lock();
	/* with NCCL_COMM_ID all communicators have the same id */
	for (int i = 0; i < s->ncomms; i++)
		times += i != m->number && s->comms[i].id == id;
	first = record_again_id(id, 0, request.id);
	if (times > 0)
		record_again_id(first, times, request.id);
	s->watch.comm(s->watch.ctx, (uint32_t)m->number, COMM_INIT, &request);
	s->watch.enter(s->watch.ctx, "communicator init", 0);
	session_unlock();
}

/* The first of a process took what the launcher says, until a second came; a number of a larger communicator says more. */
static void identify_all(const struct making *m, int rank, int nranks)
{
	struct session *first = session_nth(0);
	struct record_init *init = &first->recorder.memory->header.inits[0];
	const struct record_header *own = &m->session->recorder.memory->header;

	if (own->rank >= 0 && nranks <= own->nranks)
		return;
	identify(m->session, rank, nranks);
	if (m->session == session_nth(1) && init->nranks > 0)
		identify(first, init->rank, init->nranks);
}

static void begin(struct making *m, uint64_t id, int *rank, int *nranks,
		  const struct nccl_config *config)
{
	number_comm(m, id, config);
	if (m->number < 0)
		return;
	if (rank)
		identify_all(m, *rank, *nranks);
	inject_init(m->session, m->number, nranks, rank);
	/* a child's are told at the end */
	note_begin(m, rank ? *rank : RECORD_CHILD(m->nth),
		   rank ? *nranks : RECORD_CHILD(m->parent));
}

void make_begin(struct making *m, void **handle, const struct nccl_id *id, int *rank, int *nranks,
		const struct nccl_config *config)
{
	*m = (struct making){ .number = -1, .handle = handle };
	begin(m, record_hash_id(id, sizeof(*id)), rank, nranks, config);
	preload_thread.inside++;
}

void make_child(struct making *m, void **handle, void *parent, int apart,
		const struct nccl_config *config)
{
	struct session *s;
	int of;

	*m = (struct making){ .number = -1, .handle = handle };
	s = m->session = session_of(parent, &of);
	if (s) {
		uint64_t key[] = { s->comms[of].id, ++s->comms[of].children, (uint64_t)apart };

		m->parent = of;
		m->nth = (int)s->comms[of].children;
		begin(m, record_hash_id(key, sizeof(key)), NULL, NULL, config);
	}
	preload_thread.inside++;
}

void make_settle(const struct making *m, int rc)
{
	struct session *s = m->session;
	bool failed = rc != NCCL_SUCCESS && rc != NCCL_IN_PROGRESS;
	void *handle = failed ? NULL : *m->handle;
	struct record_init *init = &s->recorder.memory->header.inits[m->number];

	preload_thread.inside++;
	if (init->nranks < 0 && handle) {
		CALL(OF_NCCL, "ncclCommUserRank", (void *, int *), (handle, &init->rank));
		CALL(OF_NCCL, "ncclCommCount", (void *, int *), (handle, &init->nranks));
	}
	preload_thread.inside--;
	session_lock();
	__atomic_store_n(&s->comms[m->number].handle, handle, __ATOMIC_RELEASE);
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
		make_settle(m, rc);
	return rc;
}

void comm_ends(void *handle, enum comm_event event)
{
	int n;
	struct session *s = session_of(handle, &n);

	if (!s)
		return;
	session_lock();
	if (event == COMM_ABORTED)
		note_left(s);
	s->watch.comm(s->watch.ctx, (uint32_t)n, event, NULL);
	__atomic_store_n(&s->comms[n].handle, NULL, __ATOMIC_RELEASE);
	stamp_comm_ends(s, n);
	session_unlock();
}

int comm_asked(void *handle, int state, int rc)
{
	int n;
	struct session *s = rc == NCCL_SUCCESS ? session_of(handle, &n) : NULL;

	if (s && state != NCCL_IN_PROGRESS)
		calls_release_held(s, n);
	if (s)
		s->watch.asked(s->watch.ctx, (uint32_t)n, state);
	return rc;
}

/* The id is this process's own. */
int comms_of_all(void **comms, int n, int rc)
{
	uint64_t own[] = { (uint64_t)getpid(), clock_ns() };

	for (int i = 0; rc == NCCL_SUCCESS && i < n; i++) {
		struct making m = { .number = -1, .handle = &comms[i] };
		int rank = i, nranks = n;

		begin(&m, record_hash_id(own, sizeof(own)), &rank, &nranks, NULL);
		if (m.number < 0)
			break;
		m.session->comms[m.number].context = NULL;
		m.session->device = i;
		make_settle(&m, rc);
	}
	return rc;
}
