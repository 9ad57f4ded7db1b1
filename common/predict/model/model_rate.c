/* model_rate.c: the terms that can limit the bandwidth of an algorithm, for a reader to recompute. */
#include "model/model_parts.h"

/* Fraction of a GPU's links under NVLS: NCCL's nvlsEfficiency (tuning.cc:180); and under NVLSTree,
 * whose kernel sends and receives too: perChMaxNVLSTree of two nodes, of 8 GPUs. */
static const struct {
	double alone, tree;
} nvls_share[MODEL_ARCHS] = { [MODEL_HOPPER] = { .85, .747 }, [MODEL_BLACKWELL] = { .74, .638 } };

/* A fraction of that where more GPUs than NCCL has heads (NCCL_MAX_NVLS_ARITY) read through the switches: 835 GB/s of a
 * rack of 72 (coreweave/nccl-tests#43). */
static const double RACK_SHARE = .9;

void model_term(struct prediction *out, const char *limit, const char *what, double base)
{
	out->term[out->nterms++] =
		(struct model_term){ .limit = limit, .what = what, .base = base, .gbs = base };
}

void model_times(struct prediction *out, double value, const char *what)
{
	struct model_term *term = &out->term[out->nterms - 1];

	if (value == 1)
		return;
	term->factor[term->nfactors].value = value;
	term->factor[term->nfactors++].what = what;
	term->gbs *= value;
}

double model_channel(const struct model *model)
{
	if (model->sys->own.name[0] != '\0' && model->channels > 0) /* nothing is known of them */
		return fmax(model->constants.channel_gbs,
			    model->link_nccl * model->paths / model->channels);
	return model->constants.channel_gbs * (model_arch(model) >= MODEL_BLACKWELL ? 2 : 1);
}

double model_slowest(struct prediction *out)
{
	out->winner = 0;
	for (int i = 1; i < out->nterms; i++)
		if (out->term[i].gbs < out->term[out->winner].gbs)
			out->winner = i;
	out->limit = out->term[out->winner].limit;
	return out->term[out->winner].gbs;
}

/* The node's links carry the data `factor` times over. Returns what their wires would. */
static double node_link(const struct model *model, double factor, const char *what,
			struct prediction *out)
{
	if (model->ppn == 1)
		return INFINITY;
	model_term(out, model_hop_names[model->hop], "a GPU's share of the ring", model->ring);
	model_times(out, model->nnodes > 1 ? model->paths : 1,
		    "paths through a mesh for rings in it");
	model_times(out, factor, what);
	return model->ring_raw * (model->nnodes > 1 ? model->paths : 1) * factor;
}

static double link_term(const struct model *model, const struct fabric_link *link,
			const char *limit, double used, double factor, const char *what,
			struct prediction *out)
{
	if (link->tier > 0)
		model_term(out, limit, "the wires of a node's NICs", model->wires);
	else
		model_term(out, limit, "a node's NICs", model->net);
	model_times(out, used * link->width, "this link's width, in a node's NICs");
	model_times(out, 1 / link->load, "1 / the load of its edges");
	model_times(out, factor, what);
	out->term[out->nterms - 1].net = true;
	out->term[out->nterms - 1].link = link;
	return model->net_raw * used * link->width / link->load * factor;
}

double model_network(const struct model *model, enum fabric_traffic traffic, double used,
		     double factor, const char *what, struct prediction *out)
{
	const struct fabric_link *links = model->busiest[traffic].tier;
	double raw;

	if (model->nnodes == 1)
		return INFINITY;
	used = fmin(used, model->nics) / model->nics;
	raw = link_term(model, &links[0], "NICs of a node", used, factor, what, out);
	if (links[1].load > 0 && model->sys->oversubscription > 1)
		raw = fmin(raw,
			   link_term(model, &links[1], "uplinks of a leaf", 1, factor, what, out));
	return raw;
}

/* Channels and trees go through as many NICs as NCCL's search found channels. */
static double channel_nics(const struct model *model)
{
	return model->hop == MODEL_HOP_NVLINK ? model->tuning.search.nics : model->nics;
}

double model_ring_factor(enum model_coll coll, double n, const char **what)
{
	static const char *const names[] = { "n / (2 (n-1))", "1", "n / (n-1)" };
	int row = coll == MODEL_ALL_REDUCE ? 0 : coll <= MODEL_REDUCE ? 1 : 2;

	if (what != NULL)
		*what = names[row];
	return row == 0 ? n / (2 * (n - 1)) : row == 1 ? 1 : n / (n - 1);
}

static double rate_ring(const struct model *model, enum model_coll coll, struct prediction *out)
{
	const char *what;
	double factor = model_ring_factor(coll, model->nranks, &what);
	double raw = node_link(model, factor, what, out);

	if (model->ppn > 1 && model->hop != MODEL_HOP_NVLINK && out->proto == MODEL_LL)
		model_times(out, .5, "LL: half are flags");
	if (model->nranks == 2 && model->through_host > 0 &&
	    (coll == MODEL_BROADCAST || coll == MODEL_REDUCE))
		model_times(out, 2, "one way: no GPU both sends and receives");
	return fmin(raw, model_network(model, FABRIC_RING, channel_nics(model), factor, what, out));
}

/* tuning.cc:310: NCCL's fraction for PAT, of every link. */
static double rate_pat(const struct model *model, enum model_coll coll, struct prediction *out)
{
	const char *what;
	double factor = model_ring_factor(coll, model->nranks, &what);

	return model_network(model, FABRIC_PAT, model->nics, factor * .75,
			     "n / (n-1) * 0.75, PAT's share", out) /
	       .75;
}

/* Up and down a chain in the node: every GPU sends the data twice. */
static double rate_tree(const struct model *model, struct prediction *out)
{
	double raw = node_link(model, .5, "1/2: up and down the chain", out);
	bool slingshot = model->sys->transport == TOPO_SLINGSHOT && model->nnodes > 2;

	/* From three nodes on a tree over Slingshot has its children on one half of the NICs. */
	return fmin(raw, model_network(model, FABRIC_TREE, channel_nics(model), slingshot ? .5 : 1,
				       "a tree's half of Slingshot's NICs", out));
}

/* In-switch reduction: a GPU's link carries its whole data once and 1/g of the result. The share
 * is what kernels of eight GPUs get; more GPUs have no more of them. */
static double rate_nvls(const struct model *model, enum model_coll coll, struct prediction *out)
{
	double g = fmin(model->ppn, 8), factor = coll == MODEL_ALL_REDUCE ? 1 / (1 + 1 / g) : 1;
	bool tree = out->algo == MODEL_NVLS_TREE, far = tree && model->nnodes > 2;
	enum model_arch arch = model_arch(model);
	double share = far ? model->constants.nvls_net : 1, net;

	model_term(out, model_hop_names[model->hop], "a GPU's links, as NCCL counts them",
		   model->link_nccl);
	model_times(out, tree ? nvls_share[arch].tree : nvls_share[arch].alone, "NVLS share");
	model_times(out, factor, "1 / (1 + 1/g), g at most 8");
	model_times(out, model->ppn > 32 ? RACK_SHARE : 1,
		    "of a rack, where 32 GPUs reduce for all");
	/* The network reduces too; NCCL's heads over several nodes do no more than this. */
	if (!tree && model->nnodes > 1)
		model_nccl_terms(model, 0, coll, MODEL_NVLS, MODEL_SIMPLE, out);
	net = model_network(model, tree ? FABRIC_TREE : FABRIC_SWITCH,
			    model->nics * fmin(1, 32. / model->ppn), share,
			    "what NVLSTree gets of it", out) /
	      share;
	return fmin(model->ring_raw * factor, net);
}

/* Channels copy with the threads of their block, however wide the links are. */
static void channels(const struct model *model, double factor, const char *what,
		     struct prediction *out)
{
	model_term(out, "channels", "a channel", model_channel(model));
	model_times(out, out->channels, "channels");
	model_times(out, factor, what);
}

static double rate_collnet(const struct model *model, struct prediction *out)
{
	double g = model->ppn;
	double raw = node_link(model, g / (2 * (g - 1)), "g / (2 (g-1))", out);

	return fmin(raw, model_network(model, FABRIC_SWITCH, model->nics, 1, "", out));
}

double model_rate(const struct model *model, enum model_coll coll, struct prediction *out)
{
	int algo = out->algo;
	const char *what;
	double ring = model_ring_factor(coll, model->nranks, &what);
	double raw = algo == MODEL_TREE				     ? rate_tree(model, out)
		     : algo == MODEL_NVLS || algo == MODEL_NVLS_TREE ? rate_nvls(model, coll, out)
		     : algo == MODEL_COLLNET_DIRECT || algo == MODEL_COLLNET_CHAIN
			     ? rate_collnet(model, out)
		     : algo == MODEL_PAT ? rate_pat(model, coll, out)
					 : rate_ring(model, coll, out);

	/* LL and LL128 add this to every 8 and 120 bytes, as NCCL counts it. */
	if (out->proto != MODEL_SIMPLE)
		model_nccl_terms(model, 0, coll, algo, out->proto, out);
	else if (algo == MODEL_TREE || algo == MODEL_COLLNET_DIRECT ||
		 algo == MODEL_COLLNET_CHAIN) {
		channels(model, algo == MODEL_TREE ? .5 : 1, "1/2: up and down", out);
		/* Trees over several nodes do no more than NCCL counts. Blackwell's do (nccl#1801: 256 GB/s of
		   three racks of 8 on 2.27, where NCCL counts 96): NICs limit them. */
		if (model->nnodes > 1 && model_arch(model) < MODEL_BLACKWELL)
			model_nccl_terms(model, 0, coll, algo, out->proto, out);
	} else if (algo == MODEL_RING && model->hop == MODEL_HOP_NVLINK)
		channels(model, ring, what, out);
	return raw;
}
