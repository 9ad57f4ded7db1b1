/* predict_run.c: the nodes, collectives and sizes of a prediction, and the odds of failures. */
#include "topo/predict_run.h"

#include <errno.h>

#include "backend/nccl/kernel_cost.h"
#include "topo/predict_print.h"

struct shown {
	long rows, points; /* printed, and predicted */
	bool nvls;	   /* a row of NVLS or NVLSTree among them */
};

static void show(const struct predict_job *job, const struct model *model,
		 const struct predict_request *request, struct prediction *p, struct shown *shown)
{
	shown->points++;
	if (job->nccl_model) {
		if (p->nccl_us < 0)
			return;
		p->time_us = p->nccl_us;
		p->launch_us = p->fill_us = 0; /* NCCL counts neither */
		p->bar = NULL;
		p->algbw = request->bytes / (1000 * p->time_us);
		p->busbw = p->algbw * p->bus_factor;
	}
	shown->rows++;
	shown->nvls |= p->algo == MODEL_NVLS || p->algo == MODEL_NVLS_TREE;
	if (job->count)
		return;
	if (shown->rows == 1 && job->csv)
		predict_csv_header(stdout);
	else if (shown->rows == 1)
		predict_table_header(stdout, model, job->nodes_to, job->explain);
	if (job->csv)
		predict_csv_row(stdout, model, request, p);
	else
		predict_table_row(stdout, model, request, p);
	if (job->explain)
		predict_explain(stdout, model, request, p, job->algo >= 0 || job->proto >= 0);
}

/* All algorithms of one size, or the one that NCCL would take. */
static void show_size(const struct predict_job *job, const struct model *model,
		      struct predict_request *request, struct shown *shown)
{
	int first = job->all_algos ? 0 : job->algo,
	    last = job->all_algos ? MODEL_ALGOS - 1 : job->algo;
	struct prediction prediction;

	for (int algo = first; algo <= last; algo++) {
		request->algo = algo;
		if (model_predict(model, request, &prediction) == 0)
			show(job, model, request, &prediction, shown);
	}
}

static void show_nodes(const struct predict_job *job, struct model *model, int nodes,
		       struct shown *shown)
{
	struct predict_request request = { .proto = job->proto, .process_gpus = job->process_gpus };

	model_scale(model, nodes);
	for (int coll = 0; coll < MODEL_COLLS; coll++) {
		if (!(job->colls & 1u << coll))
			continue;
		request.collective = (enum model_coll)coll;
		for (double bytes = job->explain ? job->to : job->from; bytes <= job->to;
		     bytes *= 2) {
			request.bytes = bytes;
			show_size(job, model, &request, shown);
		}
	}
}

static void show_failures(const struct predict_job *job, int nodes)
{
	struct model_failures f = model_failures(job->rate, nodes, job->hours, job->cost_s);

	printf("# %d node%s, %g failure%s per node and year: one every %.1f h; a job of %g h meets "
	       "one with %.2f %%;\n",
	       nodes, nodes == 1 ? "" : "s", job->rate, job->rate == 1 ? "" : "s", f.mtbf_s / 3600,
	       job->hours, 100 * f.probability);
	if (job->cost_s >= f.mtbf_s)
		printf("# no progress: a checkpoint takes %.1f min, a failure comes every %.1f "
		       "min\n",
		       job->cost_s / 60, f.mtbf_s / 60);
	else
		printf("# with checkpoints of %g s: every %.1f min (Young), %.1f min (Daly)\n",
		       job->cost_s, f.young_s / 60, f.daly_s / 60);
}

/* The nodes after these: doubled, or the end of the range. 0: that was it. */
static int next_nodes(const struct predict_job *job, int nodes)
{
	if (nodes == job->nodes_to)
		return 0;
	if (job->count)
		return nodes + 1;
	return 2 * nodes < job->nodes_to ? 2 * nodes : job->nodes_to;
}

/* The reason is that of the first collective that was asked for. */
static int nothing_shown(const struct predict_job *job, const struct model *model,
			 const struct shown *shown, struct error *err)
{
	enum model_coll coll = (enum model_coll)__builtin_ctz(job->colls);
	int proto = job->proto >= 0 ? job->proto : MODEL_SIMPLE;
	int algo = job->algo >= 0 ? job->algo : coll < MODEL_TUNED ? MODEL_RING : MODEL_P2P;
	const char *why = model_refusal(model, coll, algo, proto);

	if (shown->rows > 0 || (job->rate > 0 && shown->points == 0))
		return 0;
	if (shown->points > 0)
		return error_set(err, OUTCOME_USAGE, -EINVAL,
				 "nothing to show: NCCL has no model of sends (--nccl-model)");
	return error_set(err, OUTCOME_USAGE, -EINVAL,
			 "nothing to predict: no %s %s for %s on %d node%s of %s: %s",
			 model_algo_name(algo), model_proto_name(proto), model_coll_name(coll),
			 model->nnodes, model->nnodes == 1 ? "" : "s", model->sys->name,
			 why != NULL ? why : "sizes end at 1e18 B");
}

static int predict_all(struct predict_job *job, struct model *model, struct error *err)
{
	struct shown shown = { .rows = 0 };

	for (int nodes = job->nodes_from; nodes > 0; nodes = next_nodes(job, nodes)) {
		show_nodes(job, model, nodes, &shown);
		if (job->rate > 0)
			show_failures(job, nodes);
	}
	if (shown.nvls && !job->csv && !job->count)
		puts("# NVLS and NVLSTree: checked against published results only, never on our "
		     "own hosts");
	if (job->count && shown.rows > 0)
		printf("%ld point%s\n", shown.rows, shown.rows == 1 ? "" : "s");
	return nothing_shown(job, model, &shown, err);
}

/* What a run said of its launches, in a comment of its rows. */
static int read_launches(const char *folder, struct kernel_cost *cost, struct error *err)
{
	char path[4096], *line = NULL, *at;
	size_t room = 0;
	FILE *in;
	int rc, said = 0;

	snprintf(path, sizeof(path), "%.4000s/rows.jsonl", folder);
	rc = topo_open(path, &in, err);
	if (rc != 0)
		return rc;
	while (said < 2 && getline(&line, &room, in) > 0)
		if ((at = strstr(line, KERNEL_COST_SAID)) != NULL)
			said = sscanf(at + strlen(KERNEL_COST_SAID), "%lf us, %lf", &cost->host_us,
				      &cost->latency_us);
	free(line);
	fclose(in);
	return said == 2 ? 0
			 : error_set(err, OUTCOME_USAGE, -EINVAL,
				     "%.200s: no launches were measured in that run", path);
}

/* Launches as the user says, or a run. */
static int calibrate(const struct predict_job *job, struct model_constants *constants,
		     struct error *err)
{
	struct kernel_cost cost = { job->host_launch_us, constants->kernel_latency_us };
	size_t used = strlen(constants->origin);
	int rc = job->calibrate != NULL ? read_launches(job->calibrate, &cost, err) : 0;

	if (rc != 0 || (job->calibrate == NULL && job->host_launch_us <= 0))
		return rc;
	snprintf(constants->origin + used, sizeof(constants->origin) - used,
		 ", a launch costs the host %.2f us", cost.host_us);
	return model_calibrate(constants, &cost) == 0
		       ? 0
		       : error_set(err, OUTCOME_USAGE, -ERANGE,
				   "a launch takes the host .2 to 1000 us, not %g", cost.host_us);
}

int predict_run(struct predict_job *job, struct error *err)
{
	static struct topo_system sys;
	static struct model model;
	struct model_constants constants;
	int rc;

	if (job->list)
		return topo_list_specs(stdout, err) < 0 ? err->code : 0;
	if (job->vendor && job->topo == NULL)
		return predict_vendor(stdout, job->vendor_file, NULL, err);
	rc = topo_load(&sys, job->topo != NULL ? job->topo : "dgx-h100", err);
	if (rc == 0) {
		job->change.nnodes = job->nodes_to;
		rc = topo_reshape(&sys, &job->change, err);
	}
	if (rc == 0 && job->vendor)
		return predict_vendor(stdout, job->vendor_file, &sys, err);
	if (rc == 0)
		rc = model_load_constants(&constants, job->physical ? "" : job->fitted, err);
	if (rc == 0)
		rc = calibrate(job, &constants, err);
	if (rc == 0)
		rc = model_init(&model, &sys, &constants, 0, job->no_nvls, err);
	return rc != 0 ? rc : predict_all(job, &model, err);
}
