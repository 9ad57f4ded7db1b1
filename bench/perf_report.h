/* perf_report.h: shared by perf_rank.c and perf_report.c: the state of a rank's process, and the
 * output beside its times. Each open step returns 0 or a negative errno with the error set, and
 * does nothing unless requested. */
#pragma once

#include "measure/bench.h"
#include "measure/devices.h"
#include "live/predict.h"
#include "measure/run.h"
#include "settings/settings.h"
#include "schedule/schedule.h"
#include "perf_rank.h"
#include "reconcile/reconcile.h"
#include "record/recorder.h"
#include "report/report.h"
#include "live/vendor_hook.h"

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
	struct call_filter faults;
	struct settings settings; /* of NCCL; empty if the backend does not use them */
	struct run run;
	struct report report;
	struct rank_facts *facts;
	struct run_facts run_facts;
	struct predict predict;
	struct vendor_hook vendor;
	struct reconcile reconcile;
};

/* Opens rank 0's report and writes its header. Collective. */
int rank_open_report(struct rank *r);

/* Explains empty columns in a note. */
int rank_explain_empty(struct rank *r);

/* Makes predictions, after NCCL has detected its topology. Collective. */
int rank_open_predictions(struct rank *r);

/* --vendor; after the predictions, whose links it uses. */
int rank_open_vendor(struct rank *r);

/* --reconcile, or rows that may be slow. Collective. */
int rank_open_reconcile(struct rank *r);

/* Runs p2p_matrix_perf, in place of a sweep. Collective. */
int p2p_matrix_run(struct rank *r);

/* --reconcile: requests NCCL's log. Call it before NCCL's first call, which reads the settings. */
void rank_ask_nccl(struct rank *r);
