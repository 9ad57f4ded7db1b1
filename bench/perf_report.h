/* perf_report.h: shared by the files of a rank's process. Each open step returns 0 or a negative errno
 * with the error set, and does nothing unless requested. */
#pragma once

#include "measure/bench.h"
#include "measure/devices.h"
#include "live/predict.h"
#include "measure/run.h"
#include "settings/settings.h"
#include "schedule/schedule.h"
#include "perf_rank.h"
#include "machine/read.h"
#include "preflight.h"
#include "reconcile/reconcile.h"
#include "step_recipe.h"
#include "record/recorder.h"
#include "report/report.h"

struct rank {
	struct {
		uint64_t token;
		char address[200];
	} uplink; /* address of rank 0's monitor; "" unknown */
	const struct program *program;
	struct recorder recorder;
	struct watch watch;
	struct error err;
	struct job job;
	struct device_choice choice;
	struct bench bench;
	struct schedule_setup schedule; /* for a run with --fault */
	struct recipe_job recipes;	/* of step_perf */
	struct call_filter faults;
	struct settings settings; /* of NCCL; empty if the backend does not use them */
	struct run run;
	struct report report;
	struct rank_facts *facts;
	struct run_facts run_facts;
	struct predict predict;
	struct reconcile reconcile;
};

/* Opens rank 0's report and writes its header. Collective. */
int rank_open_report(struct rank *r);
/* Explains empty columns in a note. */
int rank_explain_empty(struct rank *r);
/* Makes predictions, after NCCL has detected its topology. Collective. */
int rank_open_predictions(struct rank *r);
/* --reconcile, or rows that may be slow. Collective. */
int rank_open_reconcile(struct rank *r);
/* Run p2p_matrix_perf and step_perf, in place of a sweep. Collective. */
int step_run(struct rank *r);
int p2p_matrix_run(struct rank *r);

/* A pair's times, with its link by NVML and by the topology. */
struct pair_note {
	struct gpu_pair link;
	double alone;	 /* the slower direction, GB/s */
	double promised; /* GB/s alone, by the topology; NaN: unknown */
	double usual;	 /* GB/s, the median of its kind: between hosts, or over the same link */
};

/* p2p_matrix_perf.c: fills in a note for each pair of the matrix' plan, which are zeros, on rank 0. */
void pairs_note(const struct rank *r, const struct pair_matrix *m, struct pair_note *notes);

/* Returns true for the programs that print their results themselves. */
static inline bool rank_prints(const struct rank *r)
{
	return r->program->collective == &p2p_matrix || r->program->collective == &step ||
	       r->program->collective == &preflight;
}

/* --reconcile: requests NCCL's log. Call it before NCCL's first call, which reads the settings. */
void rank_ask_nccl(struct rank *r);

/* perf_agree.c: checks that all processes run the same program and version with the same shared options.
 * `backend` is the resolved backend. Collective over all processes, after job_init. Returns 0, or
 * on every rank a negative errno with a usage error that names the ranks and their values. */
int perf_agree(struct job *job, const struct program *program, const char *backend);

/* Prints the settings in which ranks differ, the first suspects of a hang, in one line of rank 0 on standard error, or
 * gives them to the program's hook. Collective. Returns 0 or a negative errno with the error set. */
int perf_agree_settings(struct job *job, const struct program *program,
			const struct settings *mine);

/* perf_closing.c: rank 0 of a sweep answers its supervisor from now on. */
void closing_serve(struct rank *r);

/* perf_uplink.c: passes the address of rank 0's monitor to those of the other hosts, over the launcher's network if
 * possible: they know each other before ranks rely on MPI's. Between job_open and job_join. Not collective. */
void uplink_meet(struct rank *r);

/* The same over MPI, to all ranks of a run on several hosts. Collective. 0, or a negative errno. */
int uplink_spread(struct rank *r);
