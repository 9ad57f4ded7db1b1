/* predict_nccl.c: predictions for ranks with a GPU each: NCCL's own topology file, or the one
 * asked for, and model. */
#include "measure/predict.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define CALIBRATION_SECONDS 10.0 /* takes milliseconds; a device in trouble for ever */

static void nccl_ask(struct forecast *f, const struct options *options, const char *folder)
{
	const char *users = getenv("NCCL_TOPO_DUMP_FILE");

	f->dump[0] = '\0';
	if (strcmp(options->topo, "live") != 0)
		return;
	f->own_dump = !users;
	if (users)
		snprintf(f->dump, sizeof(f->dump), "%s", users);
	else if ((size_t)snprintf(f->dump, sizeof(f->dump), "%s/nccl-topo.xml", folder) <
		 sizeof(f->dump))
		setenv("NCCL_TOPO_DUMP_FILE", f->dump, 1);
}

static int nccl_calibrate(struct forecast *f, const struct bench *bench)
{
	const struct backend_ops *ops = bench->backend->ops;
	double values[2];
	int rc;

	f->kernel = (struct kernel_cost){ .host_us = 0 };
	if (!ops->kernel_cost)
		return 0;
	watch_work(bench->watch, "measuring launches", CALIBRATION_SECONDS);
	rc = ops->kernel_cost(bench->backend, &f->kernel);
	watch_leave(bench->watch);
	if (rc < 0)
		return rc;
	values[0] = f->kernel.host_us;
	values[1] = f->kernel.latency_us;
	rc = job_max(bench->job, values, 2);
	f->kernel = (struct kernel_cost){ values[0], values[1] };
	return rc;
}

static int load_topology(struct forecast *f, const struct bench *bench, struct error *err)
{
	const struct job *job = bench->job;
	struct topo_change change = { .nnodes = job->nnodes, .gpus = job->nranks / job->nnodes };
	struct model_constants constants;
	const char *nvls = getenv("NCCL_NVLS_ENABLE");
	int rc;

	if (job->nranks % job->nnodes != 0)
		return error_set(err, OUTCOME_UNSUPPORTED, -ENOTSUP,
				 "the hosts have unequal numbers of ranks");
	rc = f->dump[0] ? topo_read_xml(&f->sys, f->dump, err)
			: topo_load(&f->sys, bench->options->topo, err);
	if (rc == 0)
		rc = topo_reshape(&f->sys, &change, err);
	if (rc == 0)
		rc = model_load_constants(&constants, NULL, err);
	if (rc == 0) /* keeps the fitted ones: not measured */
		(void)model_calibrate(&constants, &f->kernel);
	if (rc == 0)
		rc = model_init(&f->model, &f->sys, &constants, 0, nvls && atoi(nvls) == 0, err);
	return rc;
}

static enum model_mode mode_of(const struct row *row)
{
	if (row->mode && strcmp(row->mode, "isolated") == 0)
		return MODEL_ISOLATED;
	return row->mode && strcmp(row->mode, "graph") == 0 ? MODEL_GRAPH : MODEL_STREAM;
}

/* What the matrix makes of the row's size. */
static void uneven(const struct bench *bench, const struct row *row, size_t elsize,
		   struct predict_request *request)
{
	const struct traffic *traffic = &bench->traffic;
	size_t n = (size_t)traffic->nranks, bytes = row->count * n * elsize;

	for (int a = 0; a < traffic->nranks; a++) {
		size_t send = 0, recv = 0, most = 0;

		for (int b = 0; b < traffic->nranks; b++) {
			size_t to = a == b ? 0 : traffic_count(traffic, a, b, bytes, elsize);

			send += to;
			recv += a == b ? 0 : traffic_count(traffic, b, a, bytes, elsize);
			most = to > most ? to : most;
		}
		most *= elsize;
		send = (send > recv ? send : recv) * elsize;
		request->away = fmax(request->away, (double)send);
		request->flow = fmax(request->flow, (double)most);
	}
}

static bool nccl_row(const struct forecast *f, struct row *row)
{
	int dtype = dtype_parse(row->type);
	struct predict_request request = {
		.collective = (enum model_coll)model_coll_parse(row->collective),
		.mode = mode_of(row),
		.in_place = row->placement && strcmp(row->placement, "in-place") == 0,
		.bytes = (double)row->size,
		.elsize = dtype < 0 ? 0 : (int)dtype_size((enum dtype)dtype),
		.algo = -1,
		.proto = -1,
		.no_nvls = strcmp(row->redop, "prod") == 0 || strcmp(row->redop, "avg") == 0,
	};
	struct prediction p;

	if (request.collective == MODEL_ALLTOALLV && f->bench->traffic.nranks > 1 && dtype >= 0)
		uneven(f->bench, row, dtype_size((enum dtype)dtype), &request);
	if ((int)request.collective < 0 || model_predict(&f->model, &request, &p) < 0)
		return false;
	row->predicted_us = p.time_us;
	row->predicted_busbw_gbs = p.busbw;
	row->ceiling_busbw_gbs = p.ceiling_busbw;
	row->predicted_algo = model_algo_name(p.algo);
	row->predicted_proto = p.algo == MODEL_P2P ? NULL : model_proto_name(p.proto);
	row->predicted_channels = p.algo == MODEL_P2P ? -1 : p.channels;
	return true;
}

static int nccl_load(struct forecast *f, const struct bench *bench, struct error *err)
{
	int rc = load_topology(f, bench, err);

	if (f->own_dump && f->dump[0])
		unlink(f->dump);
	return rc;
}

static void nccl_describe(const struct forecast *f, const struct bench *bench, char *text,
			  size_t len)
{
	struct backend_facts facts = { .device = "" };
	char launches[100] = "";

	bench->backend->ops->facts(bench->backend, &facts);
	if (f->model.constants.calibrated)
		snprintf(launches, sizeof(launches),
			 "; measured here: a launch takes the host %.2f us, %.2f us to its end",
			 f->kernel.host_us, f->kernel.latency_us);
	snprintf(text, len, "Prediction for %d node%s of %d x %s, topology %s, constants %s%s",
		 f->model.nnodes, f->model.nnodes == 1 ? "" : "s", f->model.ppn,
		 facts.device[0] && f->dump[0] ? facts.device : f->sys.gpu[0].model->name,
		 f->dump[0] ? "as NCCL found it" : f->sys.name,
		 f->model.constants.fitted ? "fitted" : "physical only", launches);
}

const struct forecast_source forecast_nccl = {
	.check = forecast_check_topology,
	.ask = nccl_ask,
	.calibrate = nccl_calibrate,
	.load = nccl_load,
	.describe = nccl_describe,
	.row = nccl_row,
};
