/* model_machine.h: a machine by name and its model without fitted constants, for tests of the
 * model. Include it once per test program. */
#pragma once

#include "topo/model.h"
#include "rig/unit.h"

static struct topo_system sys;
static struct model model;
static struct model_constants physical;

static void machine(const char *name, int gpus, int nodes, bool no_nvls)
{
	struct error err = { .outcome = OUTCOME_OK };
	struct topo_change change = { .gpus = gpus, .nnodes = nodes };

	model_physical(&physical);
	CU_ASSERT_EQUAL_FATAL(topo_load(&sys, name, &err), 0);
	CU_ASSERT_EQUAL_FATAL(topo_reshape(&sys, &change, &err), 0);
	model_init(&model, &sys, &physical, no_nvls);
}

static int point(enum model_coll coll, double bytes, int algo, int proto, struct prediction *p)
{
	struct predict_request request = {
		.collective = coll, .bytes = bytes, .algo = algo, .proto = proto
	};

	return model_predict(&model, &request, p);
}
