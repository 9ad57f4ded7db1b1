/* model_machine.c: a machine by name and its model without fitted constants. */
#include "model/model_machine.h"

struct topo_system sys;
struct model model;
struct model_constants physical;

void machine_model(const char *name, int gpus, int nodes, bool no_nvls)
{
	struct error err = { .outcome = OUTCOME_OK };
	struct topo_change change = { .gpus = gpus, .nnodes = nodes };

	model_physical(&physical);
	CU_ASSERT_EQUAL_FATAL(topo_load(&sys, name, &err), 0);
	CU_ASSERT_EQUAL_FATAL(topo_reshape(&sys, &change, &err), 0);
	model_init(&model, &sys, &physical, no_nvls);
}

int machine_point(enum model_coll coll, double bytes, int algo, int proto, struct prediction *p)
{
	struct predict_request request = {
		.collective = coll, .bytes = bytes, .algo = algo, .proto = proto
	};

	return model_predict(&model, &request, p);
}
