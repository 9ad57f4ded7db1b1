/* predict.h: predictions beside the rows of a run: where its topology comes from, and the model over
 * it. */
#pragma once

#include "measure/bench.h"
#include "backend/nccl/kernel_cost.h"
#include "report/row.h"
#include "topo/model.h"

#define PREDICT_ROWS 4096
#define PREDICT_FROM (1 << 20) /* bytes of a row that counts: below, the host's part decides */

struct predict {
	struct topo_system sys;
	struct model model;
	const struct bench *bench;
	struct kernel_cost kernel; /* of the slowest rank; 0: not measured */
	struct pair_digest pairs;  /* between ranks of hosts, measured here; nranks 0: not */
	double pairs_seconds;	   /* that this took */
	char *xml;	/* with --spec: what NCCL wrote there; it lives as long as the process */
	char dump[160]; /* file that NCCL writes its topology to; "": none */
	bool own_dump;	/* we asked for it */
	double percents[PREDICT_ROWS]; /* predicted over measured time of the larger sizes */
	double of_low[PREDICT_ROWS];   /* the same of the lower end of what is predicted */
	size_t npercents;
	double median;		     /* what reached() returned */
	double most_of_ceiling;	     /* percent, of these rows */
	double good, low;	     /* percent, --good --low */
	size_t nused, nas_predicted; /* rows whose algorithm and protocol are known; those
					 * as predicted */
	struct predictor hooks;
};

/* Why this run has no predictions, in words; NULL: it may have some. They are made of --topo, for
 * ranks with a GPU each; groups and fault schedules have none. Every rank finds the same. */
const char *predict_refusal(const struct bench *bench, bool shared_gpu);

/* Checks that --topo's value is live, none, the name of a spec, or a file that can be read as a
 * topology; `host` is set to whether that is of hosts without GPUs. 0, or a negative errno with the error set. */
int predict_check_topology(const char *topo, bool *host, struct error *err);

/* Refuse what --topo and --min-percent cannot have: a spec that is not there, predictions where
 * none are made. 0, or a negative errno with the error set. Every rank finds the same. */
int predict_check(const struct bench *bench, bool shared_gpu, struct error *err);

/* The next three are for runs without a refusal.
 *
 * Before the communicator is made, on every rank: have NCCL write what it finds into `folder`.
 * (NCCL 2.28 puts the topology together once more for that, over all ranks of a host: one that is
 * not asked makes the others wait for ever.) */
void predict_ask(struct predict *predict, const struct options *options, const char *folder);

/* After it, on every rank: measure what launching a kernel costs the slowest rank, where the
 * backend can tell; without a GPU, what pairs of ranks reach. 0, or a negative errno with the error set that ends the run. Collective. */
int predict_calibrate(struct predict *predict, const struct bench *bench);

/* Measures the pairs of this run's ranks: `brief`, for a prediction, in less than a second for eight ranks of a
 * host; else up to the largest size, which is -e, or 256 MiB on GPUs and 32 MiB without. The matrix is the
 * caller's to release when it returned 0. Collective. */
int predict_measure_pairs(const struct bench *bench, bool brief, struct pair_matrix *matrix);

/* After it, on rank 0: read the topology. `text` gets a remark: what predictions are made of, or
 * why there are none. Returns the hooks for struct bench, NULL without predictions. They live as
 * long as `predict`. */
const struct predictor *predict_open(struct predict *predict, const struct bench *bench, char *text,
				     size_t len);

/* The topology that was read; NULL when there are no predictions. */
const struct topo_system *predict_topology(const struct predict *predict);

/* For predict_open (predict_rows.c): the hooks' functions; `ctx` is the struct predict. */
void predict_row(void *ctx, struct row *row);
double predict_reached(void *ctx, char *text, size_t len);
