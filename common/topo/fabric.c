/* fabric.c: routes the edges of each algorithm over the links between nodes. */
#include "topo/fabric.h"

#include <math.h>

enum { SHOWN = 6 }; /* edges of a link, at most */

/* Links are numbered: out of and into node i 2i and 2i + 1, then up from and down to each leaf. */
struct graph {
	const struct topo_system *sys;
	const struct fabric_node *node;
	int nodes, first, all, leaves; /* the job's, its first place, places of both jobs */
	int *leaf;		       /* of each place */
	int *below;		       /* the job's nodes below each leaf */
	double *load, *own;	       /* of each link; own: the job's on the links of leaves */
	/* to tell who shares a link: -1 none */
	int watch, edges;
	char *text;
	size_t used, size;
};

/* ---- where nodes stand ----------------------------------------------------------------------- */
static uint64_t next_random(uint64_t *state) /* splitmix64 */
{
	uint64_t z = *state += 0x9e3779b97f4a7c15u;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
	z = (z ^ z >> 27) * 0x94d049bb133111ebu;
	return z ^ z >> 31;
}

static void place(struct graph *g)
{
	const struct topo_layout *layout = &g->sys->layout;
	int m = g->sys->leaf_nodes, slots = g->leaves * m;
	uint64_t state = layout->seed;

	g->leaf = must(calloc((size_t)slots, sizeof(*g->leaf)));
	for (int i = 0; i < slots; i++)
		g->leaf[i] = layout->place == TOPO_BY_RACK ? i % g->leaves : i / m;
	for (int i = slots - 1; i > 0 && layout->place == TOPO_RANDOM; i--) {
		int j = (int)(next_random(&state) % (uint64_t)(i + 1)), kept = g->leaf[i];

		g->leaf[i] = g->leaf[j];
		g->leaf[j] = kept;
	}
}

/* ---- edges ----------------------------------------------------------------------------------- */
static void tell(struct graph *g, int from, int to)
{
	char end[16] = "*";

	if (to >= 0)
		snprintf(end, sizeof(end), "%d", to);
	if (g->edges++ < SHOWN && g->used < g->size)
		g->used += (size_t)snprintf(g->text + g->used, g->size - g->used, "%s %d>%s",
					    g->first > 0 ? " beside" : "", from, end);
}

static inline void cross(struct graph *g, int link, int from, int to, double load)
{
	g->load[link] += load;
	if (link == g->watch && load > 0)
		tell(g, from, to);
}

static inline int leaf_link(const struct graph *g, int node, bool down)
{
	return 2 * (g->all + g->leaf[g->first + node]) + down;
}

static inline void edge(struct graph *g, int from, int to, double load)
{
	int up = leaf_link(g, from, false), down = leaf_link(g, to, true);

	cross(g, 2 * (g->first + from), from, to, load);
	cross(g, 2 * (g->first + to) + 1, from, to, load);
	if (down == up + 1)
		return;
	cross(g, up, from, to, load);
	cross(g, down, from, to, load);
}

/* The node above in NCCL's binary tree: lower nodes that a power of two divides hang below higher
 * ones; -1 of node 0, the root. */
static int parent(int node, int n)
{
	int bit = node & -node, up = (node ^ bit) | bit << 1;

	return node == 0 ? -1 : up < n ? up : node ^ bit;
}

/* The second tree is the first one shifted by a node where their number is odd, else mirrored: so
 * a node is a leaf in one of the two. */
static void trees(struct graph *g)
{
	int n = g->nodes;

	for (int i = 1; i < n; i++) {
		int up = parent(i, n), low = n % 2 ? (i + 1) % n : n - 1 - i,
		    high = n % 2 ? (up + 1) % n : n - 1 - up;

		edge(g, i, up, .5);
		edge(g, up, i, .5);
		edge(g, low, high, .5);
		edge(g, high, low, .5);
	}
}

/* Each to all others; on rails without PXN even what stays below a leaf changes rails. */
static void all_to_all(struct graph *g)
{
	double n = g->nodes, nics = g->node->nics,
	       rails = g->sys->fabric == TOPO_RAIL && !g->node->pxn ? 1 - 1 / nics : 0;

	for (int i = 0; i < g->nodes; i++) {
		double m = g->below[g->leaf[g->first + i]],
		       out = (n - m + rails * (m - 1)) / (n - 1);

		cross(g, 2 * (g->first + i), i, -1, 1);
		cross(g, 2 * (g->first + i) + 1, i, -1, 1);
		cross(g, leaf_link(g, i, false), i, -1, out);
		cross(g, leaf_link(g, i, true), i, -1, out);
	}
}

/* The first node of a leaf stands for what the leaf's switch has reduced. */
static void through_switches(struct graph *g)
{
	for (int i = 0; i < g->nodes; i++)
		for (int in = 0; in < 2; in++) {
			int link = leaf_link(g, i, in);

			cross(g, 2 * (g->first + i) + in, i, -1, 1);
			if (g->load[link] <= 0 && g->below[g->leaf[g->first + i]] < g->nodes)
				cross(g, link, i, -1, 1);
		}
}

static void route(struct graph *g, int traffic)
{
	int n = g->nodes;

	switch (traffic) {
	case FABRIC_TREE:
		trees(g);
		return;
	case FABRIC_ALL:
		all_to_all(g);
		return;
	case FABRIC_SWITCH:
		through_switches(g);
		return;
	case FABRIC_PAT:
		for (int far = 1; far < n; far *= 2)
			for (int i = 0; i < n; i++)
				edge(g, i, (i + far) % n, ceil((n - far) / (2. * far)) / (n - 1));
		return;
	case FABRIC_ROOT:
		for (int i = 1; i < n; i++)
			edge(g, i, 0, 1. / (n - 1));
		return;
	case FABRIC_RING:
	case FABRIC_NEXT:
		for (int i = 0; i < n; i++)
			edge(g, i, (i + 1) % n, 1);
		return;
	default:
		for (int i = 0, far = 1 << (traffic - FABRIC_EXCHANGE); i < n && far < n; i++)
			if ((i ^ far) < n)
				edge(g, i, i ^ far, 1);
	}
}

/* ---- capacities ------------------------------------------------------------------------------ */
/* A GPU that lost its NIC shares another's; channels avoid it on all nodes, which is the model's. */
static double nic_width(const struct graph *g, int traffic, int node)
{
	const struct topo_layout *layout = &g->sys->layout;
	bool one = traffic == FABRIC_ROOT || traffic == FABRIC_NEXT;
	double width = one ? g->node->nic : 1;

	if (layout->failed_nic == node + 1 && (traffic == FABRIC_ALL || traffic >= FABRIC_EXCHANGE))
		width = .5;
	return layout->slow_node == node + 1 ? width * layout->slow : width;
}

/* Of a fat tree's leaf all NICs of its nodes go up, of a rail's leaf one of each node. */
static double leaf_width(const struct graph *g)
{
	double unused = g->sys->fabric == TOPO_RAIL ? 1 : (double)g->sys->nnics / g->node->nics;

	return g->sys->leaf_nodes * unused / g->sys->oversubscription;
}

static void heavier(struct fabric_link *best, const struct fabric_link *link)
{
	if (link->load * best->width > best->load * link->width * (1 + 1e-9))
		*best = *link;
}

static void find_busiest(const struct graph *g, int traffic, struct fabric_busiest *busiest)
{
	*busiest = (struct fabric_busiest){ .nic.width = 1, .leaf.width = 1 };
	for (int i = 0; i < 2 * g->nodes; i++)
		heavier(&busiest->nic, &(struct fabric_link){ .at = i / 2,
							      .in = i % 2,
							      .width = nic_width(g, traffic, i / 2),
							      .load = g->load[i] });
	for (int i = 0; i < 2 * g->leaves; i++) {
		double load = g->load[2 * g->all + i], mine = g->own[i];

		if (mine > 0)
			heavier(&busiest->leaf, &(struct fabric_link){ .at = i / 2,
								       .in = i % 2,
								       .width = leaf_width(g),
								       .load = load,
								       .beside = load - mine });
	}
}

/* The job's traffic, then that of the job beside it. */
static void route_both(struct graph *g, int traffic)
{
	int jobs[] = { g->nodes, g->all - g->nodes };

	memset(g->load, 0, 2 * (size_t)(g->all + g->leaves) * sizeof(*g->load));
	for (int job = 0; job < 2; job++) {
		g->nodes = jobs[job];
		g->first = job ? jobs[0] : 0;
		memset(g->below, 0, (size_t)g->leaves * sizeof(*g->below));
		for (int i = 0; i < g->nodes; i++)
			g->below[g->leaf[g->first + i]]++;
		if (g->nodes > 1)
			route(g, traffic);
		if (job == 0)
			memcpy(g->own, g->load + 2 * g->all,
			       2 * (size_t)g->leaves * sizeof(*g->own));
	}
	g->nodes = jobs[0];
	g->first = 0;
}

static struct graph begin(const struct topo_system *sys, int nnodes, const struct fabric_node *node)
{
	int all = nnodes + sys->layout.beside;
	struct graph g = { .sys = sys,
			   .node = node,
			   .nodes = nnodes,
			   .all = all,
			   .leaves = (all + sys->leaf_nodes - 1) / sys->leaf_nodes,
			   .watch = -1 };

	place(&g);
	g.below = must(calloc((size_t)g.leaves, sizeof(*g.below)));
	g.load = must(calloc(2 * (size_t)(all + 2 * g.leaves), sizeof(*g.load)));
	g.own = g.load + 2 * (all + g.leaves);
	return g;
}

static void end(struct graph *g)
{
	free(g->load);
	free(g->below);
	free(g->leaf);
}

void fabric_load(const struct topo_system *sys, int nnodes, const struct fabric_node *node,
		 struct fabric_busiest *busiest)
{
	struct graph g = begin(sys, nnodes, node);

	for (int traffic = 0; traffic < FABRIC_TRAFFICS; traffic++) {
		if (traffic > FABRIC_EXCHANGE && 1 << (traffic - FABRIC_EXCHANGE) >= nnodes)
			break;
		if (traffic == FABRIC_PAT && node->nic < 1) /* one GPU a node alone takes it */
			continue;
		route_both(&g, traffic);
		find_busiest(&g, traffic, &busiest[traffic]);
	}
	end(&g);
}

void fabric_sharers(const struct topo_system *sys, int nnodes, const struct fabric_node *node,
		    enum fabric_traffic traffic, const struct fabric_link *link, bool leaf,
		    char *text, size_t size)
{
	struct graph g = begin(sys, nnodes, node);

	text[0] = '\0';
	g.watch = 2 * ((leaf ? g.all : 0) + link->at) + link->in;
	g.text = text;
	g.size = size;
	route_both(&g, (int)traffic);
	if (g.edges > SHOWN && g.used < size)
		snprintf(text + g.used, size - g.used, " and %d more", g.edges - SHOWN);
	end(&g);
}
