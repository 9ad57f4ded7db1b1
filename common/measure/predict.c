/* predict.c: what predictions of a run are made of: NCCL's own topology file, or the one asked for,
 * and launches measured on the spot. */
#include "measure/predict.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Seconds. Both take milliseconds; a crowded host takes longer, a device in trouble for ever. */
#define LAUNCHES_SECONDS    10.0 /* of a rank */
#define CALIBRATION_SECONDS 30.0 /* until all ranks have measured */

const char *predict_refusal(const struct bench *bench, bool shared_gpu)
{
	const struct options *o = bench->options;

	if (strcmp(o->topo, "none") == 0)
		return "--topo none";
	if (o->nfaults > 0)
		return "none are made of a schedule of faults";
	if (bench->backend->ops->flags & BACKEND_NO_DATA)
		return "the null backend moves no data";
	if (!(bench->backend->ops->flags & BACKEND_DEVICE))
		return "none are made for the mpi backend yet";
	if (o->split_kind != SPLIT_NONE)
		return "none are made for groups";
	if (shared_gpu)
		return "none are made for ranks that share a GPU";
	return NULL;
}

int predict_check_topology(const char *topo, struct error *err)
{
	struct topo_system *sys;
	int rc;

	if (strcmp(topo, "live") == 0 || strcmp(topo, "none") == 0)
		return 0;
	sys = must(malloc(sizeof(*sys)));
	rc = topo_load(sys, topo, err);
	free(sys);
	return rc;
}

int predict_check(const struct bench *bench, bool shared_gpu, struct error *err)
{
	const struct options *o = bench->options;
	const char *why = predict_refusal(bench, shared_gpu);
	int rc;

	if (why && o->min_percent > 0)
		return error_set(err, OUTCOME_UNSUPPORTED, -ENOTSUP,
				 "--min-percent %g: this run has no predictions (%s)",
				 o->min_percent, why);
	rc = predict_check_topology(o->topo, err);
	if (rc < 0 || !why || strcmp(o->topo, "live") == 0 || strcmp(o->topo, "none") == 0)
		return rc;
	return error_set(err, OUTCOME_UNSUPPORTED, -ENOTSUP,
			 "--topo %s: this run has no predictions (%s)", o->topo, why);
}

void predict_ask(struct predict *p, const struct options *options, const char *folder)
{
	const char *users = getenv("NCCL_TOPO_DUMP_FILE");

	p->dump[0] = '\0';
	if (strcmp(options->topo, "live") != 0)
		return;
	p->own_dump = !users;
	if (users)
		snprintf(p->dump, sizeof(p->dump), "%s", users);
	else if ((size_t)snprintf(p->dump, sizeof(p->dump), "%s/nccl-topo.xml", folder) <
		 sizeof(p->dump))
		setenv("NCCL_TOPO_DUMP_FILE", p->dump, 1);
}

static int measure_launch(struct predict *p, const struct bench *bench)
{
	const struct backend_ops *ops = bench->backend->ops;
	double values[2];
	int rc;

	p->kernel = (struct kernel_cost){ .host_us = 0 };
	if (!ops->tuning || !ops->tuning->kernel_cost)
		return 0;
	watch_work(bench->watch, "measuring launches", LAUNCHES_SECONDS);
	rc = ops->tuning->kernel_cost(bench->backend, &p->kernel);
	watch_leave(bench->watch);
	if (rc < 0)
		return rc;
	values[0] = p->kernel.host_us;
	values[1] = p->kernel.latency_us;
	rc = job_max(bench->job, values, 2);
	p->kernel = (struct kernel_cost){ values[0], values[1] };
	return rc;
}

int predict_calibrate(struct predict *p, const struct bench *bench)
{
	struct job_time former = job_unhurry(bench->job, CALIBRATION_SECONDS);
	int rc = measure_launch(p, bench);

	job_hurry(bench->job, former);
	return rc;
}

static int load_topology(struct predict *p, const struct bench *bench, struct error *err)
{
	const struct job *job = bench->job;
	struct topo_change change = { .nnodes = job->nnodes, .gpus = job->nranks / job->nnodes };
	struct model_constants constants;
	const char *nvls = getenv("NCCL_NVLS_ENABLE");
	int rc;

	if (job->nranks % job->nnodes != 0)
		return error_set(err, OUTCOME_UNSUPPORTED, -ENOTSUP,
				 "the hosts have unequal numbers of ranks");
	rc = p->dump[0] ? topo_read_xml(&p->sys, p->dump, err)
			: topo_load(&p->sys, bench->options->topo, err);
	if (rc == 0)
		rc = topo_reshape(&p->sys, &change, err);
	if (rc == 0)
		rc = model_load_constants(&constants, NULL, err);
	if (rc == 0) /* keeps the fitted ones: not measured */
		(void)model_calibrate(&constants, &p->kernel);
	if (rc == 0)
		rc = model_init(&p->model, &p->sys, &constants, 0, nvls && atoi(nvls) == 0, err);
	return rc;
}

static void describe(const struct predict *p, const struct bench *bench, char *text, size_t len)
{
	struct backend_facts facts = { .device = "" };
	char launches[100] = "";

	bench->backend->ops->facts(bench->backend, &facts);
	if (p->model.constants.calibrated)
		snprintf(launches, sizeof(launches),
			 "; measured here: " KERNEL_COST_SAID "%.2f us, %.2f us to its end",
			 p->kernel.host_us, p->kernel.latency_us);
	snprintf(text, len, "Prediction for %d node%s of %d x %s, topology %s, constants %s%s",
		 p->model.nnodes, p->model.nnodes == 1 ? "" : "s", p->model.ppn,
		 facts.device[0] && p->dump[0] ? facts.device : p->sys.gpu[0].model->name,
		 p->dump[0] ? "as NCCL found it" : p->sys.name,
		 p->model.constants.fitted ? "fitted" : "physical only", launches);
}

const struct predictor *predict_open(struct predict *p, const struct bench *bench, char *text,
				     size_t len)
{
	struct error err = { .rank = -1 };
	int rc = load_topology(p, bench, &err);

	if (p->own_dump && p->dump[0])
		unlink(p->dump);
	if (rc < 0) {
		snprintf(text, len, "Prediction: N/A: %.180s", err.text);
		return NULL;
	}
	p->bench = bench;
	p->good = bench->options->good;
	p->low = bench->options->low;
	p->median = NAN;
	p->hooks = (struct predictor){ .ctx = p, .row = predict_row, .reached = predict_reached };
	describe(p, bench, text, len);
	return &p->hooks;
}

const struct topo_system *predict_topology(const struct predict *p)
{
	return p->hooks.ctx ? &p->sys : NULL;
}
