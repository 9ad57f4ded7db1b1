/* next_profiler.c: events on their way to the plugin behind this one. */
#include <dlfcn.h>
#include <pthread.h>

#include "profiler/next_profiler.h"

struct table {
	const char *name;
	int (*init)(void **context, uint64_t hash, int *mask, const char *name, int nnodes,
		    int nranks, int rank, void *logger);
	int (*start)(void *context, void **handle, void *event);
	int (*stop)(void *handle);
	int (*record)(void *handle, int state, void *arguments);
	int (*finalize)(void *context);
};
extern const struct table ncclProfiler_v5, ncclProfiler_v6;

/* The largest descriptor of versions 5 and 6, of which each begins like this. */
struct event {
	uint64_t type;
	void *parent;
	int rank;
	uint64_t words[11];
};
/* NCCL's context of a communicator is its address + 1; those of this plugin alone are even. */
struct comm {
	void *own, *theirs;
	bool deaf; /* its init failed: no events go there */
};
/* Kinds of events by their bits, and offsets in their descriptors. */
enum {
	GROUP = 1 << 0,
	COLL = 1 << 1,
	P2P = 1 << 2,
	PROXY_OP = 1 << 3,
	PROXY_STEP = 1 << 4,
	PROXY_CTRL = 1 << 5,
	KERNEL = 1 << 6,
	NET = 1 << 7,
	GROUP_API = 1 << 8,
	COLL_API = 1 << 9,
	P2P_API = 1 << 10,
	LAUNCH = 1 << 11,
	CE_COLL = 1 << 12,
	CE_SYNC = 1 << 13,
	CE_BATCH = 1 << 14,
	KINDS = 15,
	KINDS_5 = CE_COLL - 1,
	STATES_5 = 25,
	AT_PID = 0,
	AT_COLL_GROUP = 10,
	AT_P2P_GROUP = 5 /* words behind the head */
};

/* The bits that make NCCL tell of a kind: those of the kind, and of all that have it as a parent. */
static const int wanted_by[KINDS] = {
#define PROXIES (PROXY_OP | PROXY_STEP | NET)
#define CES	(CE_COLL | CE_SYNC | CE_BATCH)
	GROUP | COLL | P2P | PROXIES | KERNEL,
	COLL | PROXIES | KERNEL,
	P2P | PROXIES | KERNEL,
	PROXIES,
	PROXY_STEP | NET,
	PROXY_CTRL,
	KERNEL,
	NET,
	GROUP | COLL | P2P | PROXIES | KERNEL | GROUP_API | COLL_API | P2P_API | LAUNCH | CES,
	COLL | PROXIES | KERNEL | COLL_API | CES,
	P2P | PROXIES | KERNEL | P2P_API,
	LAUNCH,
	CES,
	CE_SYNC,
	CE_BATCH,
};

#define ADDRESS (((uintptr_t)1 << 48) - 1 - NEXT_OWN)

static const struct table *next; /* NULL: there is none */
static void *library;
static int kinds, mask; /* that its version has; that it asks for: it writes at any time */
static int merged = -1;
static int comms; /* that hold it open */
static bool refused;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

bool next_profiler_there(void)
{
	return __atomic_load_n(&next, __ATOMIC_ACQUIRE);
}

bool next_profiler_asks(int *asked)
{
	*asked = next_profiler_there() ? __atomic_load_n(&mask, __ATOMIC_RELAXED) & kinds : 0;
	if (__atomic_load_n(&merged, __ATOMIC_RELAXED) == *asked)
		return false;
	__atomic_store_n(&merged, *asked, __ATOMIC_RELAXED);
	return true;
}

/* ---- opening ---- */

static const struct table *table_of(int version)
{
	char name[32];

	snprintf(name, sizeof(name), "ncclProfiler_v%d", version);
	return dlsym(library, name);
}

/* Finds its newest table. Returns true if it can be used, else why not. */
static bool choose(const struct table **found, char *why, size_t len)
{
	int old = 4;

	kinds = (1 << KINDS) - 1;
	*found = table_of(6);
	if (!*found) {
		kinds = KINDS_5;
		*found = table_of(5);
	}
	while (!*found && old > 0 && !table_of(old))
		old--;
	if (*found == &ncclProfiler_v6 || *found == &ncclProfiler_v5)
		snprintf(why, len, "it is this library");
	else if (!*found && old > 0)
		snprintf(why, len, "a profiler of version %d, versions 5 and 6 can be used", old);
	else if (!*found)
		snprintf(why, len, "it is no NCCL profiler of version 5 or 6");
	else
		return true;
	return false;
}

static void *open_library(const char *name)
{
	char path[PATH_MAX];
	void *handle = dlopen(name, RTLD_NOW | RTLD_LOCAL);

	if (handle || strchr(name, '/'))
		return handle;
	snprintf(path, sizeof(path), "libnccl-profiler-%s.so", name);
	return dlopen(path, RTLD_NOW | RTLD_LOCAL);
}

static void close_library(void)
{
	__atomic_store_n(&next, NULL, __ATOMIC_RELEASE);
	if (library)
		dlclose(library);
	library = NULL;
	mask = 0;
}

static void refuse(const char *name, const char *why, next_say *say)
{
	char line[300];

	snprintf(line, sizeof(line), "HANGAR_NEXT_PROFILER=%.100s%s: %.120s: no events go there",
		 name, strlen(name) > 100 ? "..." : "", why);
	say(line);
	refused = true;
}

/* The dynamic linker's reason, without the path. */
static void why_not(const char *name, char *why, size_t len)
{
	const char *text = dlerror();
	size_t n = strlen(name);

	text = text ? text : "it cannot be loaded";
	snprintf(why, len, "%s",
		 strncmp(text, name, n) == 0 && text[n] == ':' ? text + n + 2 : text);
}

/* Opens it if it is asked for, under the mutex. */
static void open_next(next_say *say)
{
	const char *name = getenv("HANGAR_NEXT_PROFILER");
	const struct table *found = NULL;
	char why[200];

	if (next || refused || !name || !*name)
		return;
	library = open_library(name);
	if (!library)
		why_not(name, why, sizeof(why));
	else if (choose(&found, why, sizeof(why)))
		__atomic_store_n(&next, found, __ATOMIC_RELEASE);
	if (next)
		return;
	refuse(name, why, say);
	close_library();
}

/* ---- communicators ---- */

static struct comm *comm_of(void *context)
{
	return (uintptr_t)context & 1 ? (struct comm *)((char *)context - 1) : NULL;
}

/* Its init failed for a communicator. */
static void hear_of_failure(int rc, next_say *say)
{
	char why[60];

	snprintf(why, sizeof(why), "its init returned %d", rc);
	pthread_mutex_lock(&mutex);
	if (!refused)
		refuse(getenv("HANGAR_NEXT_PROFILER"), why, say);
	pthread_mutex_unlock(&mutex);
}

void *next_profiler_init(void *own, const struct next_made *made, next_say *say)
{
	struct comm *comm;
	int rc;

	pthread_mutex_lock(&mutex);
	open_next(say);
	comm = next ? calloc(1, sizeof(*comm)) : NULL;
	comms += comm ? 1 : 0;
	pthread_mutex_unlock(&mutex);
	if (!comm)
		return own;
	comm->own = own;
	rc = next->init(&comm->theirs, made->hash, &mask, made->name, made->nnodes, made->nranks,
			made->rank, made->logger);
	comm->deaf = rc != 0;
	if (rc != 0)
		hear_of_failure(rc, say);
	return (char *)comm + 1;
}

void *next_profiler_own(void *context)
{
	const struct comm *comm = comm_of(context);

	return comm ? comm->own : context;
}

void *next_profiler_finalize(void *context)
{
	struct comm *comm = comm_of(context);
	void *own;

	if (!comm)
		return context;
	if (comm->theirs && !comm->deaf)
		next->finalize(comm->theirs);
	own = comm->own;
	free(comm);
	pthread_mutex_lock(&mutex);
	if (--comms == 0)
		close_library();
	pthread_mutex_unlock(&mutex);
	return own;
}

/* ---- events ---- */

static void *address_in(const void *handle)
{
	return (void *)((uintptr_t)handle & ADDRESS);
}

/* Returns true if the next plugin asks for events of this kind. NCCL reads the mask when a group begins. */
static bool is_asked_for(const struct event *event)
{
	static __thread int of_group = -1; /* of this thread's newest */
	int kind = event->type ? __builtin_ctzll(event->type) : KINDS;
	int asked = __atomic_load_n(&mask, __ATOMIC_RELAXED);

	if (event->type == GROUP_API)
		of_group = asked;
	asked = of_group >= 0 ? of_group : asked;
	return kind < KINDS && kinds & 1 << kind && asked & kinds & wanted_by[kind];
}

/* A proxy works for other processes too, whose addresses mean nothing here. */
static bool is_foreign(const struct event *event)
{
	pid_t pid;

	memcpy(&pid, &event->words[AT_PID], sizeof(pid));
	return event->type == PROXY_OP ? pid != getpid()
				       : event->type & (PROXY_STEP | NET) && !event->parent;
}

/* The event with the next plugin's own handles in it. */
static struct event translate(const struct event *event)
{
	struct event theirs = *event;
	uint64_t *group = theirs.type == COLL  ? &theirs.words[AT_COLL_GROUP]
			  : theirs.type == P2P ? &theirs.words[AT_P2P_GROUP]
					       : NULL;

	theirs.parent = address_in(theirs.parent);
	if (group)
		*group &= ADDRESS;
	return theirs;
}

/* One that cannot be kept beside this plugin's: NCCL gets none, and the next plugin no more of that event. */
static uintptr_t kept(const void *handle)
{
	return (uintptr_t)handle & ~ADDRESS ? 0 : (uintptr_t)handle;
}

void *next_profiler_start(void *context, const void *event, unsigned own, uint64_t ticket)
{
	uintptr_t both = own ? own | (uintptr_t)ticket << 48 : 0;
	const struct comm *comm;
	struct event theirs;
	void *handle = NULL;

	if (!next_profiler_there() || !is_asked_for(event) || is_foreign(event))
		return (void *)both;
	comm = comm_of(context);
	if (comm && comm->deaf)
		return (void *)both;
	theirs = translate(event);
	next->start(comm ? comm->theirs : NULL, &handle, &theirs);
	return (void *)(both | kept(handle));
}

void next_profiler_stop(void *handle)
{
	void *theirs = address_in(handle);

	if (theirs && next_profiler_there())
		next->stop(theirs);
}

void next_profiler_record(void *handle, int state, void *arguments)
{
	void *theirs = address_in(handle);

	if (theirs && next_profiler_there() && (kinds > KINDS_5 || state < STATES_5))
		next->record(theirs, state, arguments);
}
