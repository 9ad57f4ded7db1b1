/* model_machine.h: a machine by name and its model without fitted constants. */
#pragma once

#include "model/model.h"
#include "rig/unit.h"

extern struct topo_system sys;
extern struct model model;
extern struct model_constants physical;

void machine_model(const char *name, int gpus, int nodes, bool no_nvls);

int machine_point(enum model_coll coll, double bytes, int algo, int proto, struct prediction *p);
