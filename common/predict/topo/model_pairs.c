/* model_pairs.c: predictions of measured pairs: collectives of hosts as rounds of messages, and GPUs whose
 * links were measured. */
#include "topo/model_parts.h"

#include <jansson.h>

/* A rank of a host stands where a GPU stands elsewhere. */
static const struct topo_gpu_model core = { .name = "host rank" };

bool topo_is_host(const struct topo_system *sys)
{
	return sys->pairs.nranks > 1 && sys->pairs.host;
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
			"%.200s: measured: not between processes of a host, or more than %d of one",
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
	rc = topo_parse_xml(sys, xml, strlen(xml), path, err);
	change =
		(struct topo_change){ .nnodes = pairs.nnodes, .gpus = pairs.nranks / pairs.nnodes };
	if (rc == 0)
		rc = topo_reshape(sys, &change, err);
	sys->pairs = pairs;
	return rc;
}

/* ---- hosts: rounds of messages --------------------------------------------------------------- */
/* Below SMALL bytes all_reduce exchanges whole buffers (recursive doubling), and a message that nothing comes back for costs
 * less than an exchange of two, which is what is measured: .45 to .8 of it on hosts of 2 and 32 cores. */
enum { SMALL = 8 << 10 };
static const double ONE_WAY = .65;

/* Measured over predicted, nine in ten, of the sweeps in results/prediction: 2 to 16 ranks of
 * one host of 2 or 32 cores, Open MPI 4.1. The library's memory decides most: pages that are new or
 * in another cache cost up to ten times. The first row is of copies, the second of sums; below SMALL,
 * below 1 MiB, and from there. The third is of more ranks or hosts, which nothing scores: argued. */
static const struct model_bar bars[3][3] = {
	{ { "host", 0, 440, 1, .45, 2.2 },
	  { "host", 0, 457, 4, .5, 2.7 },
	  { "host", 1, 350, 4, .35, 2.1 } },
	{ { "host", 0, 224, 1, .5, 2 },
	  { "host", 0, 304, 4, .3, 2.6 },
	  { "host", 1, 236, 4, .25, 2.7 } },
	{ { "hosts", 0, 0, 0, .2, 3 }, { "hosts", 0, 0, 0, .2, 3 }, { "hosts", 1, 0, 0, .15, 3 } },
};

/* From 32 MiB on malloc takes new pages from the kernel for each call (M_MMAP_THRESHOLD grows no
 * further). From 128 KiB on reduce_scatter reduces in memory of its own. A new page costs about
 * three messages of its size, unless that was measured. */
enum { NEW_PAGES = 32 << 20, OWN_MEMORY = 128 << 10, PAGE_MESSAGES = 3 };

/* Messages that follow each other, and the bytes of all, in size columns, of the usual algorithms
 * (Thakur, Rabenseifner, Gropp 2005). Adding costs half of moving. `own` is the slice that a rank
 * copies from its own send to its own receive buffer. `fresh` is the memory that a rank takes for
 * partial sums: page faults counted in Open MPI 4.1.4. */
struct steps {
	double messages, sizes, own, fresh;
};

static struct steps steps_of(enum model_coll coll, double n, double bytes, bool in_place)
{
	double rounds = ceil(log2(n)), others = (n - 1) / n;

	switch (coll) {
	case MODEL_ALL_REDUCE:
		if (bytes < SMALL)
			return (struct steps){ rounds, rounds, 0, 0 };
		return (struct steps){ 2 * rounds, 3 * others, 0, .5 };
	case MODEL_REDUCE: /* two ranks out of place sum up in the receive buffer */
		return (struct steps){ rounds, 1.5 * rounds, 0, n > 2 || in_place };
	case MODEL_REDUCE_SCATTER:
		if (bytes < OWN_MEMORY)
			return (struct steps){ rounds, 1.5 * others, 0, 0 };
		/* a reduction to one rank, which scatters */
		return (struct steps){ rounds + 1, 2 * rounds + others + 1, 0, n > 2 ? 2 : 1 };
	case MODEL_ALL_GATHER:
	case MODEL_HYPERCUBE:
		return (struct steps){ rounds, others, 1 / n, 0 };
	case MODEL_BROADCAST:
		return (struct steps){ rounds, 2 * others, 0, 0 };
	case MODEL_SENDRECV:
		return (struct steps){ 1, 1, 0, 0 };
	default:
		return (struct steps){ n - 1, others, 1 / n, 0 };
	}
}

static bool goes_one_way(enum model_coll coll)
{
	return coll == MODEL_BROADCAST || coll == MODEL_REDUCE || coll == MODEL_GATHER ||
	       coll == MODEL_SCATTER;
}

int model_predict_host(const struct model *model, const struct predict_request *request,
		       struct prediction *out)
{
	enum model_coll coll = request->collective;
	const struct pair_digest *d = &model->sys->pairs;
	struct steps steps = steps_of(coll, model->nranks, request->bytes, request->in_place);
	bool sums =
		coll == MODEL_ALL_REDUCE || coll == MODEL_REDUCE || coll == MODEL_REDUCE_SCATTER;
	bool far = model->nnodes > 1, all = coll == MODEL_ALLTOALL || coll == MODEL_ALLTOALLV;
	enum pair_load load = all ? PAIR_ALL : PAIR_DISJOINT;
	double most = d->bytes[d->nsizes - 1],
	       rate = pair_digest_us(d, false, PAIR_DISJOINT, most) / most;

	if ((request->algo >= 0 && request->algo != MODEL_P2P) || request->proto >= 0 ||
	    (far && d->nnodes == 1))
		return -EINVAL;
	*out = (struct prediction){ .algo = MODEL_P2P,
				    .proto = MODEL_SIMPLE,
				    .channels = 1,
				    .nccl_us = -1,
				    .correction = 1,
				    .ceiling_busbw = NAN };
	out->bus_factor = model_bus_factor(coll, model->nranks);
	if (request->away > 0)
		out->bus_factor = steps.sizes = request->away / request->bytes;
	out->latency_us = steps.messages * pair_digest_us(d, far, load, 1);
	out->time_us = steps.messages *
		       pair_digest_us(d, far, load, request->bytes * steps.sizes / steps.messages);
	if (request->bytes < SMALL && goes_one_way(coll))
		out->time_us *= ONE_WAY;
	if (!request->in_place) /* at the rate of the largest message */
		out->time_us += rate * request->bytes * steps.own;
	if (request->bytes >= NEW_PAGES)
		out->time_us += (d->page_us > 0 ? d->page_us : PAGE_MESSAGES * rate) *
				request->bytes * steps.fresh;
	out->transfer_us = out->time_us - out->latency_us;
	out->alg_gbs = out->algbw = request->bytes / (out->time_us * GB);
	out->busbw = out->algbw * out->bus_factor;
	out->bar = &bars[model->nranks > 16 || far ? 2 : sums]
			[(request->bytes >= SMALL) + (request->bytes >= 1 << 20)];
	model_term(out, "messages", "a message's bytes over its time", out->algbw * steps.sizes);
	model_times(out, 1 / steps.sizes, "of the sizes that messages carry");
	(void)model_slowest(out);
	return 0;
}

/* ---- GPUs ------------------------------------------------------------------------------------ */
/* Fraction of the model's bandwidth of neighbours that sends reach over healthy NVLinks, one way
 * and both ways (two H200, results/prediction). Less than that is due to the links. */
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
