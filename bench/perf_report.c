/* perf_report.c: report, predictions and causes beside the measured times. */
#include "perf_report.h"

#include "base/clock.h"
#include "base/version.h"
#include "profiler/nccl_profiler.h"
#include "report/sink.h"

int rank_explain_empty(struct rank *r)
{
	struct backend *be = r->bench.backend;
	struct backend_facts facts;
	const char *why = NULL;

	if (!r->run.report)
		return 0;
	be->ops->facts(be, &facts);
	if (be->ops->flags & BACKEND_NO_DATA)
		return report_comment(&r->report,
				      "Data check: none: the %s backend moves no data; the figures "
				      "are those of hangar itself",
				      be->ops->name);
	if (be->ops->flags & BACKEND_DEVICE && r->program->options->nfaults == 0)
		why = nccl_profiler_refusal(facts.library_code);
	return why ? report_comment(&r->report, "Algorithm and protocol used: not known: %s", why)
		   : 0;
}

int rank_open_predictions(struct rank *r)
{
	const char *why = predict_refusal(&r->bench, r->choice.shared_gpu);
	char text[400];
	int rc = 0;

	if (r->program->collective == &p2p_matrix &&
	    !(r->bench.backend->ops->flags & BACKEND_DEVICE))
		return 0; /* it measures the same for longer */
	r->bench.predicted = !why;
	if (why && r->run.report && r->program->options->nfaults == 0 &&
	    strcmp(r->program->options->topo, "none") != 0)
		return report_comment(&r->report, "Prediction: N/A: %s", why);
	if (r->bench.predicted)
		rc = predict_calibrate(&r->predict, &r->bench);
	if (rc < 0 || !r->run.report || !r->run_facts.predicted)
		return rc;
	r->bench.predictor = predict_open(&r->predict, &r->bench, text, sizeof(text));
	if (r->program->collective == &step)
		printf("# %s\n", text);
	return report_comment(&r->report, "%s", text);
}

int rank_open_reconcile(struct rank *r)
{
	const struct options *o = r->program->options;

	if (o->nfaults > 0) /* a fixed schedule; the monitors read the hosts */
		return 0;
	return reconcile_before(&r->reconcile, &r->bench, r->bench.predictor ? &r->predict : NULL,
				r->choice.over_sockets, &r->run.reconciler);
}

/* Gathers every rank's host, device and versions on rank 0. */
static int gather_facts(struct rank *r)
{
	struct job *job = &r->job;
	struct rank_facts mine = {
		.rank = job->rank,
		.node = job->node,
		.local_rank = job->local_rank,
		.pid = getpid(),
	};

	gethostname(mine.host, sizeof(mine.host) - 1);
	r->bench.backend->ops->facts(r->bench.backend, &mine.device);
	if (job->rank == 0)
		r->facts = must(calloc((size_t)job->nranks, sizeof(*r->facts)));
	return job_gather(job, &mine, sizeof(mine), r->facts);
}

int rank_open_report(struct rank *r)
{
	struct run_facts *facts = &r->run_facts;
	int rc = gather_facts(r);

	if (rc < 0 || r->job.rank != 0)
		return rc;
	*facts = (struct run_facts){
		.program = r->program->name,
		.argc = r->program->argc,
		.argv = r->program->argv,
		.options = r->program->options,
		.backend = r->bench.backend->ops->name,
		.mpi_library = r->job.library,
		.hangar_version = HANGAR_VERSION,
		.predicted = !predict_refusal(&r->bench, r->choice.shared_gpu),
		.nranks = r->job.nranks,
		.nnodes = r->job.nnodes,
		.ranks = r->facts,
	};
	clock_local(facts->started, sizeof(facts->started), CLOCK_ISO);
	if (r->program->collective == &preflight)
		rc = 0;
	else if (rank_prints(r)) /* without rows */
		sink_table_head(stdout, facts);
	else
		rc = report_open(&r->report, r->program->options, r->program->collective, facts,
				 &r->err);
	r->run.report = &r->report;
	r->run.progress = launch_progress();
	if (r->run.progress == PROGRESS_AMONG_ROWS && report_table(r->program->options) != stdout)
		r->run.progress = PROGRESS_ALONE;
	return rc;
}

void rank_ask_nccl(struct rank *r)
{
	const struct options *o = r->program->options;

	if (o->reconcile && o->nfaults == 0 && backend_find(o->backend)->flags & BACKEND_RAS)
		nccl_seen_ask(&r->reconcile.asked, r->program->folder);
}
