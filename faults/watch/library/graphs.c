/* graphs.c: launches of CUDA graphs. A captured call is recorded at each launch of its graph, and
 * one write behind the graph marks them all; a captured write would be the same at each launch. */
#include "library/library.h"

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
	void *graph = NULL;
	struct graph *g;
	int status;

	CALL(OF_CUDA, "cuStreamGetCaptureInfo_v2",
	     (void *, int *, uint64_t *, void **, const void **, size_t *),
	     (made->stream, &status, NULL, &graph, NULL, NULL));
	if (!graph)
		return;
	session_lock();
	g = find(graph, NULL);
	g = g ? g : add(graph, NULL, NULL);
	if (g)
		graph_keep(g, made);
	session_unlock();
}

int graph_made(int rc, void **exec, void *graph)
{
	struct graph *of;

	session_lock();
	of = rc == 0 ? find(graph, NULL) : NULL;
	if (of)
		add(graph, *exec, of);
	session_unlock();
	return rc;
}

void graph_launching(const void *exec, void *stream)
{
	struct graph *g;

	session_lock();
	g = session_nth(0) ? find(NULL, exec) : NULL;
	session_unlock();
	preload_thread.depth++; /* until group_end() */
	for (size_t i = 0; g && i < g->n; i++) {
		g->calls[i].stream = stream;
		g->calls[i].replayed = true;
		call_record(&g->calls[i]);
		call_end(&g->calls[i], 0);
	}
}
