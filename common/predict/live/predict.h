/* predict.h: predictions beside the rows of a run: its topology, and the model over it. */
#pragma once

#include "measure/bench.h"
#include "backend/nccl/kernel_cost.h"
#include "report/row.h"
#include "model/model.h"

#define PREDICT_ROWS 4096
#define PREDICT_FROM (1 << 20) /* bytes of a row that counts: below, the host's part decides */

struct predict {
	struct topo_system sys;
	struct model model;
	struct model_rows rows; /* of --calibrate; without a type: there are none */
	const struct bench *bench;
	struct kernel_cost kernel; /* of the slowest rank; 0: not measured */
	struct pair_digest pairs;  /* between ranks of hosts, measured here; nranks 0: not */
	double pairs_seconds;	   /* that this took */
	double waited;		   /* fraction of it in which the slowest rank lacked a core */
	char *xml; /* with --spec: the text of NCCL's topology file; it lives as long as the process */
	char dump[160];		       /* file that NCCL writes its topology to; "": none */
	bool own_dump;		       /* the file is deleted after reading */
	double percents[PREDICT_ROWS]; /* predicted over measured time of the larger sizes */
	double of_low[PREDICT_ROWS];   /* the same of the lower end of what is predicted */
	double of_high[PREDICT_ROWS];  /* and of the upper end */
	size_t npercents, nbarred;     /* rows, and those of them with an error bar */
	double median;		       /* what reached() returned */
	double most_of_ceiling;	       /* percent, of these rows */
	size_t nused, nas_predicted;   /* with a known algorithm; those as predicted */
	struct predictor hooks;
};

/* The reason for which this run has no predictions; NULL: it may have some. Predictions are made of
 * --topo for ranks with a GPU each, or of measured pairs over MPI. Groups and fault schedules have
 * none. Every rank finds the same. */
const char *predict_refusal(const struct bench *bench, bool shared_gpu);

/* Checks that --topo is live, none, a spec's name, or a readable topology file. `host` becomes true
 * where that describes hosts without GPUs. 0, or a negative errno with the error set. */
int predict_check_topology(const char *topo, bool *host, struct error *err);

/* Refuses options that need predictions where none are made, and a spec that is not there. Returns
 * 0, or a negative errno with the error set. Every rank finds the same. */
int predict_check(const struct bench *bench, bool shared_gpu, struct error *err);

/* The next three are for runs without a refusal.
 *
 * Call this before the communicator is made, on every rank. NCCL then writes its topology into
 * `folder`. (NCCL 2.28 puts the topology together once more for that, over all ranks of a host: a
 * rank that does not ask makes the others wait for ever.) */
void predict_ask(struct predict *predict, const struct options *options, const char *folder);

/* Call this after the communicator is made, on every rank. It measures the launch cost of the
 * slowest rank's kernel on GPUs, and pairs of ranks over MPI. Returns 0, or a negative errno with
 * the error set, which ends the run. Collective. */
int predict_calibrate(struct predict *predict, const struct bench *bench);

/* Measures the pairs of this run's ranks. A brief measurement serves a prediction and takes less
 * than a second for eight ranks of a host. A long one goes up to -e, or 256 MiB on GPUs and 32 MiB
 * without. A quick one has one size, 8 MiB or what the buffers hold: each pair alone, or of more than
 * 300 pairs those inside of hosts (of more than 600 of these, all of a round at once; 300 pairs
 * where hosts have a rank each). The caller releases the matrix when 0 was returned. Collective. */
enum pairs_care { PAIRS_BRIEF, PAIRS_QUICK, PAIRS_LONG };
int predict_measure_pairs(const struct bench *bench, enum pairs_care care,
			  struct pair_matrix *matrix);

/* Call this last, on rank 0. It reads the topology. `text` gets a remark: the sources of the
 * predictions, or the reason for none. Returns the hooks for struct bench, NULL without
 * predictions. They live as long as `predict`. */
const struct predictor *predict_open(struct predict *predict, const struct bench *bench, char *text,
				     size_t len);

/* The topology that was read; NULL when there are no predictions. */
const struct topo_system *predict_topology(const struct predict *predict);

/* The table prints a share of the prediction for the first placement alone; that one is judged. */
bool predict_is_printed(const struct row *row);

/* For predict_open (predict_rows.c): the hooks' functions; `ctx` is the struct predict. */
void predict_row(void *ctx, struct row *row);
double predict_reached(void *ctx, char *text, size_t len);
