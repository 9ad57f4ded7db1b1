/* fabric.c: the network between nodes as a graph of links, and those that the edges of an algorithm
 * load most. Links: the NICs of a node, and those between a leaf and its spines, each out (up) and in (down). Spines do not block; flows spread evenly over them. */
#include "model/model_parts.h"

enum { SHOWN = 6 }; /* edges of a link, at most */

/* Links are numbered: out of and into node i 2i and 2i + 1, then up from and down to each leaf. */
struct graph {
	const struct model *model;
	const struct topo_system *sys;
	int nodes, leaves;
	int first[FABRIC_TIERS + 1]; /* of the nodes and leaves among all */
	int *leaf;		     /* of each node */
	int *below;		     /* nodes below each of all */
	double *load;		     /* of each link */
	double turns;	  /* share of the traffic that changes rails, and so leaves, without PXN */
	int watch, edges; /* the link whose edges are told, -1: none */
	char *text;
	size_t size;
};

/* The node, or its leaf, among all. */
static inline int at(const struct graph *g, int tier, int node)
{
	return g->first[tier] + (tier == 0 ? node : g->leaf[node]);
}

static void place(struct graph *g)
{
	g->leaf = must(calloc((size_t)g->nodes, sizeof(*g->leaf)));
	for (int i = 0; i < g->nodes; i++)
		g->leaf[i] = g->sys->place == TOPO_BY_RACK ? i % g->leaves : i / g->sys->leaf_nodes;
	for (int i = 0; i < g->nodes; i++)
		for (int tier = 0; tier < FABRIC_TIERS; tier++)
			g->below[at(g, tier, i)]++;
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
	for (int tier = 0; tier < FABRIC_TIERS; tier++) {
		int up = at(g, tier, from), down = at(g, tier, to);
		double part = up != down ? load : tier == 1 ? load * g->turns : 0;

		if (part == 0)
			return;
		cross(g, 2 * up, from, to, part);
		cross(g, 2 * down + 1, from, to, part);
	}
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

/* Each to all others, or to switches, which reduce what their leaf sends. */
static void spread(struct graph *g, bool reduced)
{
	double n = g->nodes;

	for (int i = 0; i < g->nodes * FABRIC_TIERS; i++) {
		int tier = i / g->nodes, node = i % g->nodes, of = at(g, tier, node);
		double m = g->below[of], away = n - m + (tier == 1 ? g->turns * (m - 1) : 0);
		double load = reduced ? (m < n) / m : away / (n - 1);

		cross(g, 2 * of, node, -1, load);
		cross(g, 2 * of + 1, node, -1, load);
	}
}

/* On rails a flow to another GPU's rail crosses the spines, even below one leaf, if no GPU beside the sender has that rail
 * (PXN: from 2.12 on, over NVLink). */
static double turning(const struct graph *g, int traffic)
{
	const struct model *model = g->model;
	bool pxn = (model->hop == MODEL_HOP_NVLINK && !g->sys->no_pxn) || model->ppn == 1;
	double other = 1 - 1. / model->nics;

	if (g->sys->fabric != TOPO_RAIL || pxn)
		return 0;
	return traffic == FABRIC_ALL || traffic == FABRIC_ROOT
		       ? other
		       : traffic == FABRIC_NEXT && other > 0;
}

static void route(struct graph *g, int traffic)
{
	int n = g->nodes;

	memset(g->load, 0, 2 * (size_t)g->first[FABRIC_TIERS] * sizeof(*g->load));
	g->turns = turning(g, traffic);
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
static double width(const struct graph *g, int traffic, int tier)
{
	const struct topo_system *sys = g->sys;
	bool one = traffic == FABRIC_ROOT || traffic == FABRIC_NEXT;
	double own = one ? g->model->nic / g->model->net : 1;
	double up = sys->fabric == TOPO_RAIL ? own : (double)sys->nnics / g->model->nics;

	return tier == 0 ? own : sys->leaf_nodes * up / sys->oversubscription;
}

static void find_busiest(const struct graph *g, int traffic, struct fabric_busiest *busiest)
{
	double out[FABRIC_TIERS] = { 0 };

	*busiest = (struct fabric_busiest){ 0 };
	for (int tier = 0; tier < FABRIC_TIERS; tier++)
		busiest->tier[tier].width = 1;
	for (int tier = 0; tier < FABRIC_TIERS; tier++)
		for (int i = 2 * g->first[tier]; i < 2 * g->first[tier + 1]; i++) {
			struct fabric_link *best = &busiest->tier[tier];
			struct fabric_link link = { (enum fabric_traffic)traffic,
						    tier,
						    i % 2,
						    i / 2 - g->first[tier],
						    width(g, traffic, tier),
						    g->load[i] };

			out[tier] += i % 2 ? 0 : link.load;
			if (link.load > 0 &&
			    link.load * best->width > best->load * link.width * (1 + 1e-9))
				*best = link;
		}
	busiest->climbs = out[0] > 0 ? out[1] / out[0] : 0;
}

static struct graph begin(const struct model *model)
{
	const struct topo_system *sys = model->sys;
	struct graph g = { .model = model, .sys = sys, .nodes = model->nnodes, .watch = -1 };

	g.leaves = (g.nodes + sys->leaf_nodes - 1) / sys->leaf_nodes;
	g.first[1] = g.nodes;
	g.first[2] = g.nodes + g.leaves;
	g.below = must(calloc((size_t)g.first[FABRIC_TIERS], sizeof(*g.below)));
	g.load = must(calloc(2 * (size_t)g.first[FABRIC_TIERS], sizeof(*g.load)));
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
	g.watch = 2 * (g.first[link->tier] + link->at) + link->in;
	g.text = text;
	g.size = size;
	route(&g, (int)link->traffic);
	if (g.edges > SHOWN)
		text_add(text, size, " and %d more", g.edges - SHOWN);
	end(&g);
}
