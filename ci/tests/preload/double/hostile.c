/* hostile.c: NCCL's events in orders that NCCL does not have, from eight threads at once, into libhangar.so's code, which this
 * program is linked with: groups that never end or end twice, calls outside of groups, handles of other
 * communicators, communicators that come and go. `make hostile` runs it under sanitizers.
 *
 * usage: hostile EVENTS */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct profiler {
	const char *name;
	int (*init)(void **context, uint64_t hash, int *mask, const char *name, int nnodes,
		    int nranks, int rank, void *logger);
	int (*start)(void *context, void **handle, void *event);
	int (*stop)(void *handle);
	int (*record)(void *handle, int state, void *arguments);
	int (*finalize)(void *context);
};
extern const struct profiler ncclProfiler_v5, ncclProfiler_v6;

struct event {
	uint64_t type;
	void *parent;
	int rank;
	union {
		struct {
			bool captured;
			int depth;
		} group;
		struct {
			const char *func;
			size_t count;
			const char *datatype;
			int root;
			void *stream;
			bool captured;
		} call;
		struct {
			const char *func;
			void *buffer;
			const char *datatype;
			size_t count;
			int peer;
		} pair;
		void *stream;
		uint64_t words[11];
	} of;
};
enum { THREADS = 8, COMMS = 4, HANDLES = 64 };

static int mask;
static void *shared[2];
static long events;

struct state {
	unsigned seed;
	void *comms[COMMS], *handles[HANDLES];
};

static unsigned any(struct state *s, unsigned n)
{
	return (unsigned)rand_r(&s->seed) % n;
}

static void fill(struct state *s, struct event *e)
{
	static const char *const funcs[] = { "AllReduce", "Broadcast", "Send",
					     "Recv",	  "",	       "No such call" };
	static const char *const types[] = { "ncclFloat32", "ncclInt8", "", "ncclNone" };

	memset(e, 0, sizeof(*e));
	e->type = any(s, 20) ? 1ull << any(s, 15) : any(s, 2) ? 0 : 1ull << 40;
	e->parent = any(s, 4) ? s->handles[any(s, HANDLES)] : NULL;
	if (e->type == 1 << 8) {
		e->of.group.depth = (int)any(s, 4);
	} else if (e->type == 1 << 9 || e->type == 1 << 10) {
		e->of.call.func = funcs[any(s, 6)];
		e->of.call.datatype = types[any(s, 4)];
		e->of.call.count = any(s, 3) ? any(s, 1000) : ~0ull;
		e->of.call.root = (int)any(s, 4) - 1;
		e->of.call.stream = (void *)(uintptr_t)(any(s, 300) * 64);
		e->of.call.captured = any(s, 8) == 0;
	} else if (e->type == 1 << 2) {
		e->of.pair.peer = (int)any(s, 16) - 2;
	} else if (e->type == 1 << 11) {
		e->of.stream = (void *)(uintptr_t)(any(s, 300) * 64);
	}
}

static void *play(void *arg)
{
	const struct profiler *p = any(arg, 2) ? &ncclProfiler_v5 : &ncclProfiler_v6;
	struct state *s = arg;
	struct event e;

	for (long i = 0; i < events; i++) {
		void **comm = &s->comms[any(s, COMMS)], **handle = &s->handles[any(s, HANDLES)];

		switch (any(s, 100)) {
		case 0:
			if (*comm)
				p->finalize(*comm);
			*comm = NULL;
			p->init(comm, any(s, 3), &mask, "c", 1, (int)any(s, 5), (int)any(s, 4),
				NULL);
			break;
		case 1 ... 20:
			p->stop(*handle);
			break;
		case 21 ... 35:
			p->record(*handle, (int)any(s, 32), NULL);
			break;
		default:
			fill(s, &e);
			p->start(any(s, 3)   ? *comm
				 : any(s, 2) ? shared[any(s, 2)]
					     : NULL,
				 handle, &e);
		}
	}
	for (int i = 0; i < COMMS; i++)
		if (s->comms[i])
			p->finalize(s->comms[i]);
	return NULL;
}

int main(int argc, char **argv)
{
	static struct state states[THREADS];
	pthread_t threads[THREADS];

	events = argc > 1 ? atol(argv[1]) : 100000;
	for (int i = 0; i < 2; i++)
		ncclProfiler_v6.init(&shared[i], 77 + (uint64_t)i, &mask, "shared", 1, 4, i, NULL);
	for (unsigned i = 0; i < THREADS; i++) {
		states[i].seed = 7 + i;
		pthread_create(&threads[i], NULL, play, &states[i]);
	}
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	for (int i = 0; i < 2; i++)
		if (shared[i])
			ncclProfiler_v6.finalize(shared[i]);
	printf("%d x %ld events, recorded: %s\n", THREADS, events, shared[0] ? "yes" : "no");
	return 0;
}
