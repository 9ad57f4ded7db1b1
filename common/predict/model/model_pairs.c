/* model_pairs.c: predictions of measured pairs: collectives of hosts as rounds of messages, and GPUs whose
 * links were measured. */
#include "model/model_parts.h"

/* ---- hosts: rounds of messages --------------------------------------------------------------- */
/* Measured over predicted, argued from sweeps of 2 to 16 ranks of one host (results/prediction): memory of the library that
 * is new, or in another cache, costs up to ten times a plain message. The second is of more ranks or hosts. */
static const struct model_bar bars[2] = { { "host", 0, 0, 0, .2, 3, 0, 0 },
					  { "hosts", 0, 0, 0, .15, 3, 0, 0 } };

/* Messages that follow each other, and the bytes of all, in size columns, of the usual algorithms
 * (Thakur, Rabenseifner, Gropp 2005). Adding costs half of moving. A rank copies
 * its own slice, except in place. */
struct steps {
	double messages, sizes;
};

static struct steps steps_of(enum model_coll coll, double n, bool in_place)
{
	double rounds = ceil(log2(n)), others = (n - 1) / n, slices = in_place ? others : 1;

	switch (coll) {
	case MODEL_ALL_REDUCE:
		return (struct steps){ rounds, 3 * others };
	case MODEL_REDUCE:
		return (struct steps){ rounds, 1.5 * rounds };
	case MODEL_REDUCE_SCATTER: /* a reduction to one rank, which scatters */
		return (struct steps){ rounds, 2 * rounds + others + 1 };
	case MODEL_ALL_GATHER:
	case MODEL_HYPERCUBE:
		return (struct steps){ rounds, slices };
	case MODEL_BROADCAST:
		return (struct steps){ rounds, 2 * others };
	case MODEL_SENDRECV:
		return (struct steps){ 1, 1 };
	default:
		return (struct steps){ n - 1, slices };
	}
}

/* A message that nothing comes back for costs less than an exchange of two, which is what is measured: .45 to .8 of it on hosts
 * of 2 and 32 cores. */
static double one_way(enum model_coll coll)
{
	return coll == MODEL_BROADCAST || coll == MODEL_REDUCE || coll == MODEL_GATHER ||
			       coll == MODEL_SCATTER
		       ? .65
		       : 1;
}

int model_predict_host(const struct model *model, const struct predict_request *request,
		       struct prediction *out)
{
	const struct pair_digest *d = &model->sys->pairs;
	struct steps steps = steps_of(request->collective, model->nranks, request->in_place);
	bool far = model->nnodes > 1, at = far || d->us[0] == 0;

	if ((request->algo >= 0 && request->algo != MODEL_P2P) || request->proto >= 0 ||
	    (far && d->nnodes == 1))
		return -EINVAL;
	*out = (struct prediction){ .algo = MODEL_P2P,
				    .proto = MODEL_SIMPLE,
				    .channels = 1,
				    .nccl_us = -1,
				    .correction = 1,
				    .ceiling_busbw = NAN };
	out->bus_factor = model_bus_factor(request->collective, model->nranks);
	if (request->away > 0)
		out->bus_factor = steps.sizes = request->away / request->bytes;
	out->latency_us = steps.messages * d->us[at] * one_way(request->collective);
	out->transfer_us = request->bytes * steps.sizes / (d->gbs[at] * GB);
	out->time_us = out->latency_us + out->transfer_us;
	out->alg_gbs = out->algbw = request->bytes / (out->time_us * GB);
	out->busbw = out->algbw * out->bus_factor;
	out->bar = &bars[model->nranks > 16 || far];
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
	double part;

	if (d->nranks < 2 || topo_is_host(model->sys) || model->ppn < 2 || d->alone_gbs <= 0)
		return;
	part = fmin(d->alone_gbs / ALONE, d->gbs[0] / BOTH_WAYS) / model->pair;
	if (part >= 1)
		return;
	model->ring *= part;
	model->pair *= part;
	model->spread /= part;
}
