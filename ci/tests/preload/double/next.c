/* next.c: a profiler plugin that writes down what it hears: a line an event into NEXT_LOG.RANK, without addresses. Its
 * table has version VERSION. NEXT_MASK is what it asks for, NEXT_LATER what from its 50th event on; NEXT_INIT is
 * what its init returns. */
#include <pthread.h>

#include "double.h"

struct event {
	uint64_t type;
	void *parent;
	int rank;
	union {
		struct {
			const char *func;
			size_t count;
			const char *datatype;
		} call;
		struct {
			uint64_t seq;
			const char *func;
			const void *send;
			void *recv;
			size_t count;
			int root;
			const char *datatype;
			uint8_t channels, warps;
			const char *algo, *proto;
			void *group;
		} coll;
		struct {
			const char *func;
			void *buffer;
			const char *datatype;
			size_t count;
			int peer;
			uint8_t channels;
			void *group;
		} pair;
		pid_t pid;
		struct {
			uint8_t channel;
			uint64_t time;
		} kernel;
	} of;
};
struct node { /* a handle */
	uint64_t magic, number, type;
};
struct context {
	uint64_t magic;
	int rank, nranks;
};
enum { MAGIC = 0x6e657874 };

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static FILE *lines;
static uint64_t events;
static int *asked, comms;

static int number_of(const char *name, int otherwise)
{
	return getenv(name) ? (int)strtol(getenv(name), NULL, 0) : otherwise;
}

/* 0: none. Anything that is no node of this plugin ends the program. */
static uint64_t of(const void *handle)
{
	const struct node *node = handle;

	if (node && node->magic != MAGIC)
		abort();
	return node ? node->number : 0;
}

static int init(void **context, uint64_t hash, int *mask, const char *name, int nnodes, int nranks,
		int rank, void *logger)
{
	struct context *c = calloc(1, sizeof(*c));
	char path[512];

	pthread_mutex_lock(&mutex);
	snprintf(path, sizeof(path), "%s.%d", getenv("NEXT_LOG"), rank);
	lines = lines ? lines : fopen(path, "a");
	*c = (struct context){ .magic = MAGIC, .rank = rank, .nranks = nranks };
	*context = c;
	*(asked = mask) = number_of("NEXT_MASK", 0x7fff);
	comms++;
	fprintf(lines, "init %d of %d on %d, %s\n", rank, nranks, nnodes, logger ? name : "-");
	pthread_mutex_unlock(&mutex);
	return number_of("NEXT_INIT", 0);
}

static void note(const struct event *e)
{
	switch (e->type) {
	case 1 << 1:
		fprintf(lines, " %s %zu %s %s in %d", e->of.coll.func, e->of.coll.count,
			e->of.coll.datatype, e->of.coll.algo, (int)of(e->of.coll.group));
		break;
	case 1 << 2:
		fprintf(lines, " %s %zu peer %d in %d", e->of.pair.func, e->of.pair.count,
			e->of.pair.peer, (int)of(e->of.pair.group));
		break;
	case 1 << 6:
		fprintf(lines, " channel %d at %d", e->of.kernel.channel, (int)e->of.kernel.time);
		break;
	case 1 << 9:
	case 1 << 10:
		fprintf(lines, " %s %zu %s", e->of.call.func, e->of.call.count,
			e->of.call.datatype);
		break;
	default:
		break;
	}
}

/* A proxy's event of another process, and what that has below, are left alone. */
static bool is_other(const struct event *e)
{
	return (e->type == 1 << 3 && e->of.pid != getpid()) || (e->type == 1 << 4 && !e->parent);
}

static int start(void *context, void **handle, void *descriptor)
{
	const struct event *e = descriptor;
	const struct context *c = context;
	struct node *node = calloc(1, sizeof(*node));

	*handle = NULL;
	if (is_other(e))
		return 0;
	if (c && c->magic != MAGIC)
		abort();
	pthread_mutex_lock(&mutex);
	*node = (struct node){ MAGIC, ++events, e->type };
	fprintf(lines, "%d: %#x below %d of %d/%d", (int)events, (unsigned)e->type,
		(int)of(e->parent), c ? c->rank : -1, c ? c->nranks : -1);
	note(e);
	fputc('\n', lines);
	if (events == 50)
		*asked = number_of("NEXT_LATER", *asked);
	pthread_mutex_unlock(&mutex);
	*handle = node;
	return 0;
}

static int stop(void *handle)
{
	pthread_mutex_lock(&mutex);
	fprintf(lines, "%d ends\n", (int)of(handle));
	pthread_mutex_unlock(&mutex);
	return 0;
}

static int record(void *handle, int state, void *arguments)
{
	pthread_mutex_lock(&mutex);
	fprintf(lines, "%d comes to %d at %d\n", (int)of(handle), state,
		arguments && state == 22 ? (int)*(uint64_t *)arguments : 0);
	pthread_mutex_unlock(&mutex);
	return 0;
}

static int finalize(void *context)
{
	struct context *c = context;

	pthread_mutex_lock(&mutex);
	fprintf(lines, "finalize %d of %d\n", c->rank, c->nranks);
	if (--comms == 0) {
		fclose(lines);
		lines = NULL;
	}
	free(c);
	pthread_mutex_unlock(&mutex);
	return 0;
}

#define NAMED(version) ncclProfiler_v##version
#define NAME(version)  NAMED(version)
const struct plugin {
	const char *name;
	__typeof__(init) *init;
	__typeof__(start) *start;
	__typeof__(stop) *stop;
	__typeof__(record) *record;
	__typeof__(finalize) *finalize;
} NAME(VERSION) = { "next", init, start, stop, record, finalize };
