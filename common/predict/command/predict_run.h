/* predict_run.h: the request of topo_predict, and its execution. */
#pragma once

#include "model/model.h"

struct predict_job {
	const char *topo; /* NULL: dgx-h100 */
	const char *fitted;
	const char *calibrate; /* rows of such a machine, or a spec with measured pairs; NULL */
	const char *save_rows; /* where those rows are written; NULL: nowhere */
	struct json_t *rows;   /* what was read of them; NULL: none */
	const char *against;   /* a table of nccl-tests to judge, NULL: none */
	unsigned colls;	       /* bits; 0: none was asked for */
	int nodes_from, nodes_to;
	double from, to; /* bytes, from <= to */
	int algo, proto; /* -1: NCCL's choice */
	int process_gpus;
	bool csv, json, explain, list, no_nvls, all_algos, physical, nccl_model;
	double floor;	    /* 98; 0: none was asked for */
	double rate, hours; /* failures; a rate of 0: not asked */
	double launch_us;   /* of this host; 0: of the fit's */
	struct topo_change change;
	struct topo_system *loaded, *sys; /* the spec, and what they made of it */
};

/* Print it to standard output. 0 or -errno with the error set: no such machine, no prediction. */
int predict_run(struct predict_job *job, struct error *err);
