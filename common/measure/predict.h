/* predict.h: predictions beside the rows: where the topology comes from, and the model over it. */
#ifndef HANGAR_PREDICT_H
#define HANGAR_PREDICT_H

#include <stdbool.h>

#include "measure/bench.h"
#include "backend/nccl/kernel_cost.h"
#include "report/row.h"
#include "topo/model.h"

#define FORECAST_SHARES 4096
#define FORECAST_JUDGED_FROM                                                                       \
	(1 << 20) /* bytes that a row must have to be judged: below, the host's
                                        * part decides */

struct forecast;

/* Where predictions of a backend come from: one table of hooks for each. */
struct forecast_source {
	/* Refuse a --topo that this source cannot read. 0, or a negative errno with the error set.
	 * Not NULL. */
	int (*check)(const char *topo, struct error *err);
	/* As forecast_ask and forecast_calibrate; NULL: nothing to do. */
	void (*ask)(struct forecast *forecast, const struct options *options, const char *folder);
	int (*calibrate)(struct forecast *forecast, const struct bench *bench);
	/* After them, on rank 0: make the model. 0, or a negative errno with the error set: there
	 * are no predictions. */
	int (*load)(struct forecast *forecast, const struct bench *bench, struct error *err);
	/* What predictions are made of, in words. */
	void (*describe)(const struct forecast *forecast, const struct bench *bench, char *text,
			 size_t len);
	/* Predicted time, bus bandwidth, ceiling, algorithm, protocol into the row. False: nothing
	 * is known of it. */
	bool (*row)(const struct forecast *forecast, struct row *row);
};

extern const struct forecast_source forecast_nccl; /* a GPU per rank */

struct forecast {
	const struct forecast_source *source;
	struct topo_system sys;
	struct model model;
	const struct bench *bench;
	struct kernel_cost kernel;	/* of the slowest rank; 0: not measured */
	char dump[160];			/* file that NCCL writes its topology to; "": none */
	bool own_dump;			/* we asked for it */
	double shares[FORECAST_SHARES]; /* predicted over measured time, percent, of the
	                                 * larger sizes */
	size_t nshares;
	double median;		     /* what share() returned */
	double most_of_ceiling;	     /* percent, of these rows */
	double good, low;	     /* percent, --good --low */
	size_t nused, nas_predicted; /* rows whose algorithm and protocol are known; those
	                              * as predicted */
	struct forecaster hooks;
};

/* Why this run has no predictions, in words; NULL: it may have some. They are made of --topo, for
 * ranks with a GPU each; groups and fault schedules have none. Every rank finds the same. */
const char *forecast_refusal(const struct bench *bench, bool shared_gpu);

/* The same with the reason left out. */
bool forecast_planned(const struct bench *bench, bool shared_gpu);

/* Refuse what --topo and --min-percent cannot have: a spec that is not there, predictions where
 * none are made. 0, or a negative errno with the error set. Every rank finds the same. */
int forecast_check(const struct bench *bench, bool shared_gpu, struct error *err);

/* Is `topo` live, the name of a spec, or a file that can be read as a topology? For the `check` of
 * sources. 0, or a negative errno with the error set. */
int forecast_check_topology(const char *topo, struct error *err);

/* Before the communicator is made, on every rank, when planned: have NCCL write what it finds into
 * `folder`. (NCCL 2.28 puts the topology together once more for that, over all ranks of a host: one
 * that is not asked makes the others wait for ever.) */
void forecast_ask(struct forecast *forecast, const struct bench *bench, bool shared_gpu,
		  const char *folder);

/* After it, on every rank, when planned: measure what predictions need: what launching a kernel
 * costs the slowest rank, where the backend can tell. 0, or a negative
 * errno with the error set that ends the run; a measurement that cannot be made leaves it without
 * predictions. */
int forecast_calibrate(struct forecast *forecast, const struct bench *bench, bool shared_gpu);

/* After it: read the topology. `text` gets a remark: what predictions are made of, or why there are
 * none. Returns the hooks for struct run, NULL without predictions. They live as long as
 * `forecast`. */
const struct forecaster *forecast_open(struct forecast *forecast, const struct bench *bench,
				       bool shared_gpu, char *text, size_t len);

/* The topology that was read; NULL where predictions are made of something else, or there are
 * none. */
const struct topo_system *forecast_topology(const struct forecast *forecast);

#endif
