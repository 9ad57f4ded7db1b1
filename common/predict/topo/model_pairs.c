/* model_pairs.c: predictions of measured pairs: Open MPI's collectives as rounds of messages between
 * processes, and GPUs whose links were measured. */
#include "topo/model_parts.h"

#include <jansson.h>

/* A rank of a host stands where a GPU stands elsewhere. */
static const struct topo_gpu_model core = { .name = "host rank" };

bool topo_is_host(const struct topo_system *sys)
{
	return sys->pairs.nranks > 1 && sys->pairs.copy_gbs > 0 && sys->pairs.reduce_gbs > 0 &&
	       sys->pairs.fresh_gbs > 0;
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
		return error_usage(
			err,
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
enum { SLICE = 1, ADD = 2, ONCE = 4, TWICE = 8 };

/* Above it glibc gives new memory each time (M_MMAP_THRESHOLD grows no further). Of two pieces as large as
 * the largest before it gives one back to the kernel (M_TRIM_THRESHOLD is twice that): counted as page
 * faults, 2, 4 and 8 ranks (results/prediction). */
enum { KEPT_MOST = 32 << 20 };

/* Messages one after the other: how many, and to whom: one; one for each other rank; to ranks 1, 2, 4 ...
 * away (4, 16 ... in radix 4), all bytes each time or half, a quarter ... of them; one where the ranks are no
 * power of two. Broadcasts follow each other without waiting for the last rank: along a chain a rank has
 * one message to get and one to pass on (BEHIND). SLICE: of a rank's slice instead of all bytes; ADD: what came is added up.
 * ONCE, TWICE: so often all bytes go into new memory besides. */
struct step {
	enum { END, ONE, BEHIND, EACH, LOG2, LOG4, HALVES, ODD } how;
	enum pair_load load;
	int flags;
};

/* The fixed decisions of Open MPI 4.1's coll/tuned (coll_tuned_decision_fixed.c), merged where they come
 * to the same messages: the first row with fewer ranks than `below` (0: any) and at least so many bytes, of a
 * slice for reduce_scatter and alltoall. `copies`: what is copied besides, of hangar's own calls too */
static const struct decision {
	enum model_coll coll;
	int below;
	double from;
	const char *name;
	enum { NOTHING, OWN, ALL } copies;
	struct step steps[3];
} decisions[] = {
#define WARM	 HALVES, PAIR_KEPT, ADD
#define AFRESH	 HALVES, PAIR_NEW, ADD
#define BACK	 HALVES, PAIR_READ, 0 /* what a rank sent comes back to where it was */
#define COPY	 ONE, PAIR_NEW, 0
#define TO_ROOT	 EACH, PAIR_KEPT, ADD
#define SLICES	 EACH, PAIR_ALONE, SLICE
#define TREE_ADD LOG2, PAIR_KEPT, ADD
#define SPLIT	 HALVES, PAIR_ALONE, 0
#define HALVE	 HALVES, PAIR_DISJOINT, 0
#define FOLD	 ODD, PAIR_DISJOINT, 0
	{ MODEL_ALL_REDUCE, 4, 16384, "halving", ALL, { { WARM }, { BACK }, { FOLD } } },
	{ MODEL_ALL_REDUCE, 4, 0, "doubling", ALL, { { LOG2, PAIR_KEPT, ADD } } },
	{ MODEL_ALL_REDUCE, 64, 8192, "halving", ALL, { { WARM }, { BACK }, { FOLD } } },
	{ MODEL_ALL_REDUCE, 0, 262144, "halving", ALL, { { WARM }, { BACK }, { FOLD } } },
	{ MODEL_ALL_REDUCE, 0, 0, "doubling", ALL, { { LOG2, PAIR_KEPT, ADD } } },
	{ MODEL_ALL_GATHER, 32, 0, "doubling", OWN, { { HALVE } } },
	{ MODEL_ALL_GATHER, 0, 65536, "ring", OWN, { { EACH, PAIR_DISJOINT, SLICE } } },
	{ MODEL_ALL_GATHER, 0, 0, "doubling", OWN, { { HALVE } } },
	{ MODEL_REDUCE_SCATTER, 4, 131072, "to one", ALL, { { TO_ROOT | ONCE }, { SLICES } } },
	{ MODEL_REDUCE_SCATTER, 8, 1 << 20, "to one", ALL, { { TO_ROOT | TWICE }, { SLICES } } },
	{ MODEL_REDUCE_SCATTER, 16, 4 << 20, "halving", NOTHING, { { AFRESH }, { COPY } } },
	{ MODEL_REDUCE_SCATTER, 16, 524288, "tree", ALL, { { TREE_ADD | TWICE }, { SLICES } } },
	{ MODEL_REDUCE_SCATTER, 32, 2 << 20, "halving", NOTHING, { { AFRESH }, { COPY } } },
	{ MODEL_REDUCE_SCATTER, 32, 524288, "tree", ALL, { { TREE_ADD | TWICE }, { SLICES } } },
	{ MODEL_REDUCE_SCATTER, 0, 131072, "halving", NOTHING, { { AFRESH }, { COPY } } },
	{ MODEL_REDUCE_SCATTER, 0, 0, "halving", ALL, { { WARM } } },
	{ MODEL_BROADCAST, 4, 0, "root to all", ALL, { { ONE, PAIR_ALONE, 0 } } },
	{ MODEL_BROADCAST, 8, 1 << 20, "chain", NOTHING, { { BEHIND, PAIR_ALONE, 0 } } },
	{ MODEL_BROADCAST, 16, 32768, "root to all", ALL, { { ONE, PAIR_DISJOINT, 0 } } },
	{ MODEL_BROADCAST, 32, 1 << 20, "parts", NOTHING, { { SPLIT }, { HALVE } } },
	{ MODEL_BROADCAST, 32, 0, "binomial tree", NOTHING, { { LOG2, PAIR_ALONE, 0 } } },
	{ MODEL_BROADCAST, 0, 0, "tree of radix 4", ALL, { { LOG4, PAIR_DISJOINT, 0 } } },
	{ MODEL_REDUCE, 8, 0, "one after the other", NOTHING, { { TO_ROOT } } },
	{ MODEL_REDUCE, 0, 0, "binomial tree", NOTHING, { { TREE_ADD } } },
	{ MODEL_HYPERCUBE, 0, 0, "recursive doubling", OWN, { { HALVE } } },
	{ MODEL_GATHER, 0, 0, "root from all", OWN, { { SLICES } } },
	{ MODEL_SCATTER, 0, 0, "root to all", OWN, { { SLICES } } },
	{ MODEL_SENDRECV, 0, 0, "exchange", NOTHING, { { ONE, PAIR_DISJOINT, 0 } } },
	{ MODEL_ALLTOALL, 3, 0, "exchange", OWN, { { ONE, PAIR_DISJOINT, SLICE } } },
	{ MODEL_ALLTOALL, 16, 0, "all at once", OWN, { { ONE, PAIR_ALL, SLICE } } },
	{ MODEL_ALLTOALL, 0, 512, "all at once", OWN, { { ONE, PAIR_ALL, SLICE } } },
	{ MODEL_ALLTOALL, 0, 0, "Bruck's rounds", OWN, { { LOG2, PAIR_DISJOINT, 0 } } },
};

/* Microseconds: of messages, of adding up, of copying. */
struct cost {
	const struct model *model;
	double bytes;
	double messages, adds, copies;
};

/* `again`: into the memory of the step's first one. */
static void message(struct cost *c, const struct step *step, double distance, double bytes,
		    bool again)
{
	const struct pair_digest *d = &c->model->sys->pairs;
	enum pair_load load = step->load;

	if (load == PAIR_KEPT && c->bytes > KEPT_MOST && !again)
		load = PAIR_NEW;
	c->messages +=
		pair_digest_us(d, c->model->nnodes > 1 && distance >= c->model->ppn, load, bytes);
	if (step->flags & ADD)
		c->adds += bytes / (d->reduce_gbs * GB);
}

/* `slice`: bytes from a rank to another, where it has others for each. */
static void add_step(struct cost *c, const struct step *step, double bytes, double slice)
{
	int n = c->model->nranks, odd = n & (n - 1);
	double each = step->flags & SLICE ? slice : bytes;

	if (step->flags & (ONCE | TWICE))
		c->copies += (step->flags & TWICE ? 2 : 1) * bytes /
			     (c->model->sys->pairs.fresh_gbs * GB);
	switch (step->how) {
	case END:
		return;
	case BEHIND:
		message(c, step, 1, each, false);
		/* fallthrough */
	case ONE:
		message(c, step, n - 1, each, false);
		return;
	case EACH:
		for (int k = 1; k < n; k++)
			message(c, step, k, each, k > 1);
		return;
	case LOG2:
	case LOG4:
		for (int k = 1; k < n; k *= step->how == LOG2 ? 2 : 4)
			message(c, step, k, each, k > 1);
		return;
	case HALVES: /* ranks beyond a power of two hand theirs to a neighbour before they are added up */
		if (odd && step->flags & ADD)
			message(c, step, 1, bytes, false);
		for (int k = 1; 2 * k <= n; k *= 2)
			message(c, step, k, bytes / 2 / k, false);
		return;
	case ODD:
		if (odd)
			message(c, step, 1, bytes, false);
	}
}

/* In place nothing is copied, but by hangar for reduce_scatter. */
static struct cost cost_of(const struct model *model, const struct decision *d, double bytes,
			   double slice, bool in_place)
{
	struct cost c = { .model = model, .bytes = bytes };

	for (size_t i = 0; i < sizeof(d->steps) / sizeof(d->steps[0]); i++)
		add_step(&c, &d->steps[i], bytes, slice);
	if (d->copies != NOTHING && (!in_place || d->coll == MODEL_REDUCE_SCATTER))
		c.copies += (d->copies == OWN ? slice : bytes) / (model->sys->pairs.copy_gbs * GB);
	return c;
}

static const struct decision *decide(enum model_coll coll, int n, double bytes)
{
	const struct decision *d = decisions;

	if (coll == MODEL_REDUCE_SCATTER || coll == MODEL_ALLTOALL)
		bytes /= n;
	while (d->coll != coll || bytes < d->from || (n >= d->below && d->below > 0))
		d++; /* each collective has a row for any ranks and bytes */
	return d;
}

int model_predict_host(const struct model *model, const struct predict_request *request,
		       struct prediction *out)
{
	enum model_coll coll = request->collective;
	double n = model->nranks, bytes = request->bytes;
	double slice = request->away > 0 ? request->away / (n - 1) : bytes / n;
	const struct decision *d =
		decide(coll == MODEL_ALLTOALLV ? MODEL_ALLTOALL : coll, model->nranks, bytes);
	struct cost cost = cost_of(model, d, bytes, slice, request->in_place),
		    least = cost_of(model, d, 1, 1, true);

	if ((request->algo >= 0 && request->algo != MODEL_P2P) || request->proto >= 0 ||
	    (model->nnodes > 1 && model->sys->pairs.nnodes == 1))
		return -EINVAL;
	*out = (struct prediction){ .algo = MODEL_P2P,
				    .proto = MODEL_SIMPLE,
				    .channels = 1,
				    .nccl_us = -1,
				    .correction = 1,
				    .in_turn = true,
				    .ceiling_busbw = NAN };
	out->bus_factor =
		request->away > 0 ? request->away / bytes : model_bus_factor(coll, model->nranks);
	out->time_us = cost.messages + cost.adds + cost.copies;
	out->latency_us = fmin(least.messages, out->time_us);
	out->transfer_us = out->time_us - out->latency_us;
	out->alg_gbs = out->algbw = bytes / (out->time_us * GB);
	out->busbw = out->algbw * out->bus_factor;
	model_term(out, d->name, "messages of measured pairs", bytes / (cost.messages * GB));
	if (cost.adds > 0)
		model_term(out, "adding up", "a rank's memory", bytes / (cost.adds * GB));
	if (cost.copies > 0)
		model_term(out, "copying", "a rank's memory", bytes / (cost.copies * GB));
	(void)model_slowest(out);
	return 0;
}

/* ---- GPUs ------------------------------------------------------------------------------------ */
/* Of what the model gives neighbours, sends reach so much over healthy NVLinks, one way and both ways
 * (two H200, results/prediction). What is below that is the links' own. */
static const double ALONE = .97, BOTH_WAYS = .825;

void model_take_pairs(struct model *model)
{
	const struct pair_digest *d = &model->sys->pairs;
	double bytes = d->nranks > 1 ? d->bytes[d->nsizes - 1] : 0, alone, both, part;

	if (d->nranks < 2 || topo_is_host(model->sys) || model->ppn < 2 || d->us[0][0][0] <= 0)
		return;
	alone = bytes / (pair_digest_us(d, false, PAIR_ALONE, bytes) * GB);
	both = bytes / (pair_digest_us(d, false, PAIR_DISJOINT, bytes) * GB);
	part = fmin(alone / ALONE, both / BOTH_WAYS) / model->pair;
	if (part >= 1)
		return;
	model->ring *= part;
	model->pair *= part;
	model->spread /= part;
}
