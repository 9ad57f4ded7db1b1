/* perf_report.h: between perf_rank.c and perf_report.c: all that a rank's process holds, and what
 * stands beside the times that it measures. Each open step returns 0 or a negative errno with the
 * error set, and does nothing where it was not asked for. */
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
	} uplink; /* to rank 0's monitor; "" not known */
	const struct program *program;
	struct recorder recorder;
	struct watch watch;
	struct error err;
	struct job job;
	struct device_choice choice;
	struct bench bench;
	struct schedule_setup schedule; /* of a run with --fault */
	struct call_filter faults;
	char (*addresses)[16];	  /* of all ranks' hosts, where a fault is about them; owned */
	struct settings settings; /* of NCCL; none where the backend does not read them */
	struct run run;
	struct report report;
	struct rank_facts *facts;
	struct run_facts run_facts;
	struct predict predict;
	struct vendor_hook vendor;
	struct reconcile reconcile;
};

/* Rank 0's report and its header. Collective. */
int rank_open_report(struct rank *r);

/* Columns that stay empty are explained, in a remark. */
int rank_explain_empty(struct rank *r);

/* Once NCCL has found out what it runs on. Collective. */
int rank_open_predictions(struct rank *r);

/* --vendor; after the predictions, whose links it takes. */
int rank_open_vendor(struct rank *r);

/* Rows that can be called slow, or a user who asks. Collective. */
int rank_open_reconcile(struct rank *r);

/* --trace, of a run that came to its end: rank 0 writes the newest calls of all. Collective. */
int rank_save_trace(struct rank *r);

/* p2p_matrix_perf, instead of a sweep. Collective. */
int p2p_matrix_run(struct rank *r);

/* --reconcile: before NCCL's first call, which is when it reads its settings. */
void rank_ask_nccl(struct rank *r);
