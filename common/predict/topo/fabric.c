/* fabric.c: the network between nodes as a graph of links, and those that the edges of an algorithm
 * load most. Links: the NICs of a node and the links between a leaf and the spines, each out (up) and
 * in (down). Spines do not block; flows spread evenly over them. */
#include "topo/model_parts.h"

enum { SHOWN = 6 }; /* edges of a link, at most */

/* Links are numbered: out of and into node i 2i and 2i + 1, then up from and down to each leaf. */
struct graph {
	const struct model *model;
	const struct topo_system *sys;
	int nodes, leaves;
	int *leaf;	  /* of each node */
	int *below;	  /* nodes below each leaf */
	double *load;	  /* of each link */
	int watch, edges; /* the link whose edges are told, -1: none */
	char *text;
	size_t size;
};

static void place(struct graph *g)
{
	int m = g->sys->leaf_nodes, slots = g->sys->place == TOPO_RANDOM ? g->leaves * m : g->nodes;
	unsigned short state[3] = { 0x330e, (unsigned short)g->sys->seed,
				    (unsigned short)(g->sys->seed >> 16) };

	g->leaf = must(calloc((size_t)slots, sizeof(*g->leaf)));
	for (int i = 0; i < slots; i++)
		g->leaf[i] = g->sys->place == TOPO_BY_RACK ? i % g->leaves : i / m;
	for (int i = slots - 1; g->sys->place == TOPO_RANDOM && i > 0; i--) {
		int j = (int)(nrand48(state) % (i + 1)), kept = g->leaf[i];

		g->leaf[i] = g->leaf[j];
		g->leaf[j] = kept;
	}
	for (int i = 0; i < g->nodes; i++)
		g->below[g->leaf[i]]++;
}

/* ---- edges ----------------------------------------------------------------------------------- */
static void tell(struct graph *g, int from, int to)
{
	if (g->edges++ < SHOWN)
		text_add(g->text, g->size, to < 0 ? " %d>*" : " %d>%d", from, to);
}

static inline void cross(struct graph *g, int link, int from, int to, double load)
{
	g->load[link] += load;
	if (link == g->watch && load > 0)
		tell(g, from, to);
}

static inline void edge(struct graph *g, int from, int to, double load)
{
	int up = g->leaf[from], down = g->leaf[to];

	cross(g, 2 * from, from, to, load);
	cross(g, 2 * to + 1, from, to, load);
	if (up == down)
		return;
	cross(g, 2 * (g->nodes + up), from, to, load);
	cross(g, 2 * (g->nodes + down) + 1, from, to, load);
}

/* The tree of NCCL.md, and the same shifted or mirrored. */
static void trees(struct graph *g)
{
	int n = g->nodes;

	for (int i = 1; i < n; i++) {
		int bit = i & -i, above = (i ^ bit) | bit << 1, up = above < n ? above : i ^ bit;
		int low = n % 2 ? (i + 1) % n : n - 1 - i, high = n % 2 ? (up + 1) % n : n - 1 - up;

		edge(g, i, up, .5);
		edge(g, up, i, .5);
		edge(g, low, high, .5);
		edge(g, high, low, .5);
	}
}

/* Each to all others, where on rails without PXN even what stays below a leaf changes rails; or to
 * switches, which reduce what their leaf sends. */
static void spread(struct graph *g, bool reduced)
{
	bool pxn = g->model->hop == MODEL_HOP_NVLINK || g->model->ppn == 1;
	double n = g->nodes,
	       rails = g->sys->fabric == TOPO_RAIL && !pxn ? 1 - 1. / g->model->nics : 0;

	for (int i = 0; i < 2 * g->nodes; i++) {
		int leaf = g->leaf[i / 2];
		double m = g->below[leaf], away = n - m + rails * (m - 1);

		cross(g, i, i / 2, -1, 1);
		cross(g, 2 * (g->nodes + leaf) + i % 2, i / 2, -1,
		      reduced ? (m < n) / m : away / (n - 1));
	}
}

static void route(struct graph *g, int traffic)
{
	int n = g->nodes;

	memset(g->load, 0, 2 * (size_t)(n + g->leaves) * sizeof(*g->load));
	if (traffic == FABRIC_TREE)
		trees(g);
	else if (traffic == FABRIC_ALL || traffic == FABRIC_SWITCH)
		spread(g, traffic == FABRIC_SWITCH);
	else if (traffic == FABRIC_PAT)
		for (int far = 1; far < n; far *= 2)
			for (int i = 0; i < n; i++)
				edge(g, i, (i + far) % n, ceil((n - far) / (2. * far)) / (n - 1));
	else if (traffic == FABRIC_ROOT)
		for (int i = 1; i < n; i++)
			edge(g, i, 0, 1. / (n - 1));
	else if (traffic == FABRIC_RING || traffic == FABRIC_NEXT)
		for (int i = 0; i < n; i++)
			edge(g, i, (i + 1) % n, 1);
	else
		for (int i = 0, far = 1 << (traffic - FABRIC_EXCHANGE); i < n; i++)
			if ((i ^ far) < n)
				edge(g, i, i ^ far, 1);
}

/* ---- capacities ------------------------------------------------------------------------------ */
/* All NICs of a node go up from a fat tree's leaf, one from a rail's leaf. */
static double width(const struct graph *g, int traffic, bool leaf)
{
	bool one = traffic == FABRIC_ROOT || traffic == FABRIC_NEXT;
	double up = g->sys->fabric == TOPO_RAIL ? 1 : (double)g->sys->nnics / g->model->nics;

	if (leaf)
		return g->sys->leaf_nodes * up / g->sys->oversubscription;
	return one ? g->model->nic / g->model->net : 1;
}

static void find_busiest(const struct graph *g, int traffic, struct fabric_busiest *busiest)
{
	*busiest = (struct fabric_busiest){ .nic.width = 1, .leaf.width = 1 };
	for (int i = 0; i < 2 * (g->nodes + g->leaves); i++) {
		bool leaf = i >= 2 * g->nodes;
		int at = i / 2 - (leaf ? g->nodes : 0);
		struct fabric_link *best = leaf ? &busiest->leaf : &busiest->nic;
		struct fabric_link link = { (enum fabric_traffic)traffic, leaf,	     i % 2, at,
					    width(g, traffic, leaf),	  g->load[i] };

		if (link.load > 0 && link.load * best->width > best->load * link.width * (1 + 1e-9))
			*best = link;
	}
}

static struct graph begin(const struct model *model)
{
	const struct topo_system *sys = model->sys;
	struct graph g = { .model = model, .sys = sys, .nodes = model->nnodes, .watch = -1 };

	g.leaves = (g.nodes + sys->leaf_nodes - 1) / sys->leaf_nodes;
	g.below = must(calloc((size_t)g.leaves, sizeof(*g.below)));
	g.load = must(calloc(2 * (size_t)(g.nodes + g.leaves), sizeof(*g.load)));
	place(&g);
	return g;
}

static void end(struct graph *g)
{
	free(g->load);
	free(g->below);
	free(g->leaf);
}

void model_fabric(struct model *model)
{
	struct graph g = begin(model);

	for (int traffic = 0; traffic < FABRIC_TRAFFICS; traffic++) {
		if (traffic > FABRIC_EXCHANGE && 1 << (traffic - FABRIC_EXCHANGE) >= g.nodes)
			break;
		if (traffic == FABRIC_PAT && model->ppn > 1)
			continue;
		route(&g, traffic);
		find_busiest(&g, traffic, &model->busiest[traffic]);
	}
	end(&g);
}

void model_sharers(const struct model *model, const struct fabric_link *link, char *text,
		   size_t size)
{
	struct graph g = begin(model);

	text[0] = '\0';
	g.watch = 2 * ((link->leaf ? g.nodes : 0) + link->at) + link->in;
	g.text = text;
	g.size = size;
	route(&g, (int)link->traffic);
	if (g.edges > SHOWN)
		text_add(text, size, " and %d more", g.edges - SHOWN);
	end(&g);
}
