/* model_pairs.c: predictions of measured pairs: Open MPI's collectives as rounds of messages between
 * processes, and GPUs whose links were measured. */
#include "topo/model_parts.h"

#include <jansson.h>

/* A rank of a host stands where a GPU stands elsewhere. */
static const struct topo_gpu_model core = { .name = "host rank" };

bool topo_is_host(const struct topo_system *sys)
{
	return sys->pairs.nranks > 1 && sys->pairs.copy_gbs > 0 && sys->pairs.reduce_gbs > 0;
}

int topo_from_pairs(struct topo_system *sys, const char *name, const char *source,
		    const struct pair_digest *pairs, struct error *err)
{
	int ppn = pairs->nranks / pairs->nnodes;

	memset(sys, 0, sizeof(*sys));
	snprintf(sys->name, sizeof(sys->name), "%s", name);
	snprintf(sys->source, sizeof(sys->source), "%s", source);
	sys->pairs = *pairs;
	if (!topo_is_host(sys) || ppn > TOPO_MAX_GPUS)
		return error_set(err, OUTCOME_USAGE, -EINVAL,
				 "%.200s: measured: not between processes of a host, or more than "
				 "%d of one",
				 source, TOPO_MAX_GPUS);
	sys->nnodes = pairs->nnodes;
	sys->ngpus = sys->full_gpus = ppn;
	sys->ncpus = sys->nnics = sys->leaf_nodes = 1;
	sys->cpu_link_gbs = sys->oversubscription = 1;
	sys->nic[0] = (struct topo_nic){ .name = "as measured", .gbs = 1, .pcie_gbs = 1 };
	sys->transport = TOPO_TCP;
	for (int i = 0; i < ppn; i++)
		sys->gpu[i] = (struct topo_gpu){ .model = &core, .pci_switch = -1, .pcie_gbs = 1 };
	return 0;
}

int topo_from_json(struct topo_system *sys, const json_t *json, const char *path, struct error *err)
{
	const char *xml = json_string_value(json_object_get(json, "nccl_topology"));
	struct pair_matrix matrix;
	struct pair_digest pairs;
	struct topo_change change;
	int rc = pair_matrix_parse(&matrix, json_object_get(json, "measured"), path, err);

	if (rc < 0)
		return rc;
	pair_digest_make(&pairs, &matrix);
	pair_matrix_release(&matrix);
	if (!xml)
		return topo_from_pairs(sys, "measured", path, &pairs, err);
	rc = topo_parse_xml(sys, xml, strlen(xml), err);
	change =
		(struct topo_change){ .nnodes = pairs.nnodes, .gpus = pairs.nranks / pairs.nnodes };
	if (rc == 0)
		rc = topo_reshape(sys, &change, err);
	sys->pairs = pairs;
	return rc;
}

/* ---- Open MPI's rounds ----------------------------------------------------------------------- */
enum scheme { DIRECT, LINEAR, CHAIN, TREE, DOUBLING, HALVING, RING, SCATTERED };

static const char *const scheme_names[] = { "messages at once",	   "root and all others",
					    "one after the other", "a tree's rounds",
					    "recursive doubling",  "recursive halving",
					    "a ring's rounds",	   "scatter, then gather" };

/* The fixed decisions of Open MPI 4.1's coll/tuned (coll_tuned_decision_fixed.c), merged where they come
 * to the same rounds: the first row with fewer ranks than `below` (0: any) and at least so many bytes, of
 * a rank's slice for reduce_scatter. */
static const struct decision {
	enum model_coll coll;
	int below;
	double from;
	enum scheme scheme;
} decisions[] = {
	{ MODEL_ALL_REDUCE, 4, 65536, HALVING },
	{ MODEL_ALL_REDUCE, 64, 8192, HALVING },
	{ MODEL_ALL_REDUCE, 0, 262144, HALVING },
	{ MODEL_ALL_REDUCE, 0, 0, DOUBLING },
	{ MODEL_ALL_GATHER, 32, 0, HALVING },
	{ MODEL_ALL_GATHER, 0, 65536, RING },
	{ MODEL_ALL_GATHER, 0, 0, HALVING },
	{ MODEL_REDUCE_SCATTER, 4, 131072, LINEAR },
	{ MODEL_REDUCE_SCATTER, 8, 1 << 20, LINEAR },
	{ MODEL_REDUCE_SCATTER, 16, 4 << 20, HALVING },
	{ MODEL_REDUCE_SCATTER, 16, 524288, LINEAR },
	{ MODEL_REDUCE_SCATTER, 32, 2 << 20, HALVING },
	{ MODEL_REDUCE_SCATTER, 32, 524288, LINEAR },
	{ MODEL_REDUCE_SCATTER, 0, 0, HALVING },
	{ MODEL_BROADCAST, 4, 0, LINEAR },
	{ MODEL_BROADCAST, 8, 1 << 20, CHAIN },
	{ MODEL_BROADCAST, 8, 8192, LINEAR },
	{ MODEL_BROADCAST, 16, 32768, LINEAR },
	{ MODEL_BROADCAST, 32, 1 << 20, SCATTERED },
	{ MODEL_BROADCAST, 0, 0, TREE },
	{ MODEL_REDUCE, 8, 0, CHAIN },
	{ MODEL_REDUCE, 0, 0, TREE },
	{ MODEL_HYPERCUBE, 0, 0, HALVING },
	{ MODEL_GATHER, 0, 0, LINEAR },
	{ MODEL_SCATTER, 0, 0, LINEAR },
};

/* Microseconds: of messages, of adding up, of copying. */
struct cost {
	const struct model *model;
	double messages, adds, copies;
};

static void message(struct cost *c, double times, double distance, enum pair_load load,
		    double bytes)
{
	bool far = c->model->nnodes > 1 && distance >= c->model->ppn;

	c->messages += times * pair_digest_us(&c->model->sys->pairs, far, load, bytes);
}

static void add_up(struct cost *c, double bytes)
{
	c->adds += bytes / (c->model->sys->pairs.reduce_gbs * GB);
}

static void copy(struct cost *c, double bytes)
{
	c->copies += bytes / (c->model->sys->pairs.copy_gbs * GB);
}

/* Exchanges of half, a quarter ... of the bytes with ranks 1, 2 ... away, or of all of them; `adds`: what
 * came is added. Ranks beyond a power of two first hand theirs to a neighbour. */
static void rounds(struct cost *c, double bytes, bool halves, bool adds)
{
	int n = c->model->nranks;

	if (adds && (n & (n - 1))) {
		message(c, 1, 1, PAIR_DISJOINT, bytes);
		add_up(c, bytes / 2);
	}
	for (int k = 1; halves ? 2 * k <= n : k < n; k *= 2) {
		double part = halves ? bytes / 2 / k : bytes;

		message(c, 1, k, PAIR_DISJOINT, part);
		if (adds)
			add_up(c, part);
	}
}

/* Below eight ranks the root takes one after the other. */
static void reduce_to_root(struct cost *c, double bytes)
{
	int n = c->model->nranks;

	if (n >= 8)
		rounds(c, bytes, false, true);
	for (int k = 1; n < 8 && k < n; k++) {
		message(c, 1, k, PAIR_ALONE, bytes);
		add_up(c, bytes);
	}
}

/* A root's own buffer is copied from the send side to the other. */
static void broadcast(struct cost *c, enum scheme scheme, double bytes)
{
	int n = c->model->nranks;

	copy(c, bytes);
	if (scheme == LINEAR)
		message(c, 1, n - 1, n > 2 ? PAIR_DISJOINT : PAIR_ALONE, bytes);
	for (int k = 1; scheme == CHAIN && k < n; k++)
		message(c, 1, k % c->model->ppn ? 1 : k, PAIR_ALONE, bytes);
	for (int k = 1; scheme == TREE && k < n; k *= n < 32 ? 2 : 4)
		message(c, 1, k, PAIR_DISJOINT, bytes);
	if (scheme == SCATTERED) {
		rounds(c, bytes, true, false);
		rounds(c, bytes, true, false);
	}
}

/* `each`: bytes from a rank to another, where it sends to all. */
static void add_costs(struct cost *c, enum model_coll coll, enum scheme scheme, double bytes,
		      double each)
{
	int n = c->model->nranks;

	if (coll == MODEL_ALL_REDUCE || coll == MODEL_REDUCE_SCATTER)
		copy(c, bytes);
	if (coll == MODEL_ALL_REDUCE) {
		rounds(c, bytes, scheme == HALVING, true);
		if (scheme == HALVING)
			rounds(c, bytes, true, false);
		message(c, n & (n - 1) ? 1 : 0, 1, PAIR_DISJOINT, bytes);
	} else if (coll == MODEL_BROADCAST) {
		broadcast(c, scheme, bytes);
	} else if (coll == MODEL_REDUCE || (coll == MODEL_REDUCE_SCATTER && scheme == LINEAR)) {
		reduce_to_root(c, bytes);
		message(c, coll == MODEL_REDUCE ? 0 : n - 1, n - 1, PAIR_ALONE, each);
	} else if (scheme == HALVING) {
		rounds(c, bytes, true, coll == MODEL_REDUCE_SCATTER);
	} else if (scheme == RING || scheme == LINEAR) { /* also of gather and scatter */
		message(c, n - 1, n - 1, scheme == RING ? PAIR_DISJOINT : PAIR_ALONE, each);
	} else if (coll == MODEL_SENDRECV) {
		message(c, 1, c->model->ppn, PAIR_DISJOINT, bytes);
	} else {
		copy(c, each);
		message(c, 1, n - 1, n > 2 ? PAIR_ALL : PAIR_DISJOINT, each);
	}
}

static enum scheme decide(enum model_coll coll, int n, double bytes)
{
	if (coll == MODEL_REDUCE_SCATTER)
		bytes /= n;
	for (size_t i = 0; i < sizeof(decisions) / sizeof(decisions[0]); i++)
		if (decisions[i].coll == coll && bytes >= decisions[i].from &&
		    (n < decisions[i].below || decisions[i].below == 0))
			return decisions[i].scheme;
	return DIRECT;
}

int model_predict_host(const struct model *model, const struct predict_request *request,
		       struct prediction *out)
{
	double n = model->nranks, bytes = request->bytes;
	double each = request->away > 0 ? request->away / (n - 1) : bytes / n;
	enum scheme scheme = decide(request->collective, model->nranks, bytes);
	struct cost cost = { .model = model }, least = { .model = model };

	if ((request->algo >= 0 && request->algo != MODEL_P2P) || request->proto >= 0 ||
	    (model->nnodes > 1 && model->sys->pairs.nnodes == 1))
		return -EINVAL;
	add_costs(&cost, request->collective, scheme, bytes, each);
	add_costs(&least, request->collective, scheme, 1, 1);
	*out = (struct prediction){ .algo = MODEL_P2P,
				    .proto = MODEL_SIMPLE,
				    .channels = 1,
				    .nccl_us = -1,
				    .correction = 1,
				    .in_turn = true,
				    .ceiling_busbw = NAN };
	out->bus_factor = request->away > 0 ? request->away / bytes
					    : model_bus_factor(request->collective, model->nranks);
	out->time_us = cost.messages + cost.adds + cost.copies;
	out->latency_us = fmin(least.messages, out->time_us);
	out->transfer_us = out->time_us - out->latency_us;
	out->alg_gbs = out->algbw = bytes / (out->time_us * GB);
	out->busbw = out->algbw * out->bus_factor;
	model_term(out, scheme_names[scheme], "messages of measured pairs",
		   bytes / (cost.messages * GB));
	if (cost.adds > 0)
		model_term(out, "adding up", "a rank's memory", bytes / (cost.adds * GB));
	if (cost.copies > 0)
		model_term(out, "copying", "a rank's memory", bytes / (cost.copies * GB));
	(void)model_slowest(out);
	return 0;
}

/* ---- GPUs ------------------------------------------------------------------------------------ */
void model_take_pairs(struct model *model)
{
	const struct pair_digest *d = &model->sys->pairs;
	double bytes = d->nranks > 1 ? d->bytes[d->nsizes - 1] : 0, pair, all;

	if (d->nranks < 2 || topo_is_host(model->sys) || model->ppn < 2 || d->us[0][0][0] <= 0)
		return;
	pair = bytes / (pair_digest_us(d, false, PAIR_DISJOINT, bytes) * GB);
	all = pair_digest_us(d, false, PAIR_ALL, bytes) / bytes;
	model->ring *= fmin(1, pair / model->pair);
	model->pair = pair;
	model->spread = all;
}
