/* forecast.h: predictions beside the rows: where the topology comes from, and the model over it. */
#ifndef HANGAR_FORECAST_H
#define HANGAR_FORECAST_H

#include <stdbool.h>

#include "../bench.h"
#include "../kernel_cost.h"
#include "../row.h"
#include "model.h"

#define FORECAST_SHARES 4096
#define FORECAST_SHARED_FROM (1 << 20) /* bytes that a row must have to be judged: below, the host's part decides */

struct forecast {
	struct topo_system sys;
	struct model model;
	const struct bench *bench;
	struct kernel_cost kernel; /* of the slowest rank; 0: not measured */
	char dump[160]; /* file that NCCL writes its topology to; "": none */
	bool own_dump;  /* we asked for it */
	double shares[FORECAST_SHARES]; /* predicted over measured time, percent, of the larger sizes */
	size_t nshares;
	double good, low; /* percent, --good --low */
	size_t nused, nas_predicted; /* rows whose algorithm and protocol are known; those as predicted */
	struct forecaster hooks;
};

/* May this run have predictions? Those of the nccl backend are made of --topo, but for ranks that share a GPU, groups,
 * and fault schedules. */
bool forecast_planned(const struct bench *bench, bool shared_gpu);

/* Refuse what --topo and --min-percent cannot have: a spec that is not there, predictions where none are made. 0, or a
 * negative errno with the error set. Every rank finds the same. */
int forecast_check(const struct bench *bench, bool shared_gpu, struct error *err);

/* Before the communicator is made, on every rank, when planned: have NCCL write what it finds into `folder`. (NCCL 2.28
 * puts the topology together once more for that, over all ranks of a host: one that is not asked makes the others wait
 * for ever.) */
void forecast_ask(struct forecast *forecast, const struct options *options, const char *folder);

/* After it, on every rank, when planned: what launching a kernel costs the slowest rank, where the backend can tell. 0 or
 * a negative errno with the error set. */
int forecast_calibrate(struct forecast *forecast, const struct bench *bench);

/* After it: read the topology. `text` gets a remark: what predictions are made of, or why there are none. Returns the
 * hooks for struct run, NULL without predictions. They live as long as `forecast`. */
const struct forecaster *forecast_open(struct forecast *forecast, const struct bench *bench, char *text, size_t len);

#endif
