/* graphs.c: captured calls are made by no capture, but by each launch of the graph: then they are recorded, and one
 * write behind the graph says that all are over. (A write that is captured would be the same at each launch.) */
#include "preload/library/library.h"

struct graph {
	void *graph, *exec; /* exec NULL: not instantiated, or its copy */
	struct made *calls;
	size_t n;
	struct graph *next;
};

static struct graph *graphs; /* guarded by session_lock() */

static struct graph *find(const void *graph, const void *exec)
{
	struct graph *g = graphs;

	while (g && (exec ? g->exec != exec : g->graph != graph || g->exec))
		g = g->next;
	return g;
}

static void graph_keep(struct graph *g, const struct made *made)
{
	struct made *calls = realloc(g->calls, (g->n + 1) * sizeof(*calls));

	if (!calls)
		return;
	g->calls = calls;
	calls[g->n++] = *made;
}

static struct graph *add(void *graph, void *exec, const struct graph *like)
{
	struct graph *g = calloc(1, sizeof(*g));

	if (!g)
		return NULL;
	*g = (struct graph){ .graph = graph, .exec = exec, .next = graphs };
	for (size_t i = 0; like && i < like->n; i++)
		graph_keep(g, &like->calls[i]);
	return graphs = g;
}

void graph_captured(const struct made *made)
{
	int (*info)(void *, int *, uint64_t *, void **, const void **, size_t *) =
		REAL(OF_CUDA, "cuStreamGetCaptureInfo_v2",
		     int (*)(void *, int *, uint64_t *, void **, const void **, size_t *));
	void *graph = NULL;
	struct graph *g;
	int status;

	if (!info || info(made->stream, &status, NULL, &graph, NULL, NULL) != 0 || !graph)
		return;
	session_lock();
	g = find(graph, NULL);
	g = g ? g : add(graph, NULL, NULL);
	if (g)
		graph_keep(g, made);
	session_unlock();
}

/* The graph may be launched as often as the program likes, and instantiated again. */
static int instantiated(int rc, void **exec, void *graph)
{
	struct graph *of;

	session_lock();
	of = rc == 0 ? find(graph, NULL) : NULL;
	if (of)
		add(graph, *exec, of);
	session_unlock();
	return rc;
}

static void launching(const void *exec, void *stream)
{
	struct graph *g;

	session_lock();
	g = session_now() ? find(NULL, exec) : NULL;
	session_unlock();
	preload_thread.depth += g != NULL;
	for (size_t i = 0; g && i < g->n; i++) {
		g->calls[i].stream = stream;
		call_record(session_now(), &g->calls[i]);
		call_end(&g->calls[i], 0);
	}
	preload_thread.depth -= g != NULL;
}

static int launched(int rc)
{
	preload_thread.inside++;
	return group_end(rc, true);
}

/* What CUDA's driver and its runtime call differently. An instantiation has up to five arguments, by version. */
#define LAUNCHES(library, launch)                                                                  \
	EXPORT int launch(void *exec, void *stream);                                               \
	int launch(void *exec, void *stream)                                                       \
	{                                                                                          \
		int (*real)(void *, void *) = REAL(library, #launch, int (*)(void *, void *));     \
                                                                                                   \
		if (!real)                                                                         \
			return 1;                                                                  \
		launching(exec, stream);                                                           \
		return launched(real(exec, stream));                                               \
	}
#define INSTANTIATES(library, name)                                                                \
	EXPORT int name(void **exec, void *graph, void *a, void *b, size_t c);                     \
	int name(void **exec, void *graph, void *a, void *b, size_t c)                             \
	{                                                                                          \
		int (*real)(void **, void *, void *, void *, size_t) =                             \
			REAL(library, #name, int (*)(void **, void *, void *, void *, size_t));    \
                                                                                                   \
		return real ? instantiated(real(exec, graph, a, b, c), exec, graph) : 1;           \
	}

LAUNCHES(OF_CUDA, cuGraphLaunch)
LAUNCHES(OF_CUDART, cudaGraphLaunch)
INSTANTIATES(OF_CUDA, cuGraphInstantiateWithFlags)
INSTANTIATES(OF_CUDART, cudaGraphInstantiate)
INSTANTIATES(OF_CUDART, cudaGraphInstantiateWithFlags)
