/* meter_model.c: the bandwidth that the topology predicts for a row of the meter. */
#include "pace/meter.h"

#include "model/model.h"

struct meter_model {
	struct topo_system node;
	struct model_constants constants;
};

struct meter_model *meter_model_open(const char *topo, struct error *err)
{
	struct meter_model *m = must(calloc(1, sizeof(*m)));
	struct topo_change none = { .nnodes = 1 };
	int rc = topo_load(&m->node, topo, err);

	rc = rc ? rc : topo_reshape(&m->node, &none, err);
	rc = rc ? rc : model_load_constants(&m->constants, NULL, err);
	if (rc == 0)
		return m;
	free(m);
	return NULL;
}

/* The model's collective; -1: it has none. */
static int collective_of(int kind)
{
	static const enum model_coll of[CALL_KIND_COUNT] = {
		[CALL_ALL_REDUCE] = MODEL_ALL_REDUCE + 1,
		[CALL_ALL_GATHER] = MODEL_ALL_GATHER + 1,
		[CALL_REDUCE_SCATTER] = MODEL_REDUCE_SCATTER + 1,
		[CALL_ALLTOALL] = MODEL_ALLTOALL + 1,
	};

	return (int)of[kind] - 1;
}

double meter_predicted(const struct meter_model *m, int kind, int nranks, double bytes)
{
	int gpus = m->node.ngpus, coll = collective_of(kind);
	struct topo_change change = { .nnodes = nranks < gpus ? 1 : nranks / gpus,
				      .gpus = nranks < gpus ? nranks : gpus };
	struct predict_request request = { .bytes = bytes, .algo = -1, .proto = -1 };
	struct topo_system *node;
	struct error ignored = { 0 };
	struct prediction found;
	struct model *model;
	double gbs = NAN;

	if (coll < 0 || nranks < 2 || (nranks > gpus && nranks % gpus != 0))
		return NAN;
	node = must(malloc(sizeof(*node)));
	model = must(malloc(sizeof(*model)));
	*node = m->node;
	request.collective = (enum model_coll)coll;
	if (topo_reshape(node, &change, &ignored) == 0) {
		model_init(model, node, &m->constants, false);
		if (model_predict(model, &request, &found) == 0)
			gbs = found.busbw;
	}
	free(model);
	free(node);
	return gbs;
}
