/* forecast.c: NCCL's own topology file, or the one asked for, to a prediction per row. */
#include "forecast.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define CALIBRATION_SECONDS 10.0 /* takes milliseconds; a device in trouble for ever */

bool forecast_planned(const struct bench *bench, bool shared_gpu)
{
	const struct options *o = bench->options;

	return strcmp(o->topo, "none") != 0 && strcmp(bench->backend->ops->name, "nccl") == 0 &&
	       o->nfaults == 0 && o->split_kind == SPLIT_NONE && !shared_gpu;
}

int forecast_check(const struct bench *bench, bool shared_gpu, struct error *err)
{
	const struct options *o = bench->options;
	bool planned = forecast_planned(bench, shared_gpu);
	struct topo_system *sys;
	int rc;

	if (!planned && o->min_percent > 0)
		return error_set(err, OUTCOME_UNSUPPORTED, -ENOTSUP,
		                 "--min-percent %g: this run has no predictions (they are made for "
		                 "the nccl backend with a GPU per rank)",
		                 o->min_percent);
	if (strcmp(o->topo, "live") == 0 || strcmp(o->topo, "none") == 0)
		return 0;
	if (!planned)
		return error_set(err, OUTCOME_UNSUPPORTED, -ENOTSUP,
		                 "--topo %s: predictions are made for the nccl backend with a GPU per "
		                 "rank",
		                 o->topo);
	sys = malloc(sizeof(*sys));
	if (!sys)
		return error_set(err, OUTCOME_INTERNAL, -ENOMEM, "out of memory");
	rc = topo_load(sys, o->topo, err);
	free(sys);
	return rc;
}

void forecast_ask(struct forecast *f, const struct options *options, const char *folder)
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

int forecast_calibrate(struct forecast *f, const struct bench *bench)
{
	const struct backend_ops *ops = bench->backend->ops;
	double values[2];
	int rc;

	f->kernel = (struct kernel_cost){ .host_us = 0 };
	if (!ops->kernel_cost)
		return 0;
	watch_enter(bench->watch, "measuring launches", CALIBRATION_SECONDS);
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

static int load(struct forecast *f, const struct bench *bench, struct error *err)
{
	const struct job *job = bench->job;
	struct topo_change change = { .nnodes = job->nnodes, .gpus = job->nranks / job->nnodes };
	struct model_constants constants;
	const char *nvls = getenv("NCCL_NVLS_ENABLE");
	int rc;

	if (job->nranks % job->nnodes != 0)
		return error_set(err, OUTCOME_UNSUPPORTED, -ENOTSUP,
		                 "the hosts have unequal numbers of ranks");
	rc = f->dump[0] ? topo_read_xml(&f->sys, f->dump, err) :
	                  topo_load(&f->sys, bench->options->topo, err);
	if (rc == 0)
		rc = topo_reshape(&f->sys, &change, err);
	if (rc == 0)
		rc = model_load_constants(&constants, NULL, err);
	if (rc == 0)
		(void)model_calibrate(&constants, &f->kernel); /* keeps the fitted ones: not measured */
	if (rc == 0)
		rc = model_init(&f->model, &f->sys, &constants, 0, nvls && atoi(nvls) == 0, err);
	return rc;
}

/* Both names are of model_names.c; sends and receives have no choice. */
static void count_choice(struct forecast *f, const struct row *row)
{
	if (!row->used_algo || !row->used_proto || !row->predicted_proto)
		return;
	f->nused++;
	f->nas_predicted += strcmp(row->used_algo, row->predicted_algo) == 0 &&
	                    strcmp(row->used_proto, row->predicted_proto) == 0;
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

static void predict_row(void *ctx, struct row *row)
{
	struct forecast *f = ctx;
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
		return;
	row->predicted_us = p.time_us;
	row->predicted_busbw_gbs = p.busbw;
	row->ceiling_busbw_gbs = p.ceiling_busbw;
	row->predicted_algo = model_algo_name(p.algo);
	row->predicted_proto = p.algo == MODEL_P2P ? NULL : model_proto_name(p.proto);
	row->predicted_channels = p.algo == MODEL_P2P ? -1 : p.channels;
	count_choice(f, row);
	row->of_predicted_percent = row->time_us > 0 ? 100 * p.time_us / row->time_us : NAN;
	row->of_ceiling_percent =
		p.ceiling_busbw > 0 ? 100 * row->busbw_gbs / p.ceiling_busbw : NAN;
	if (row->size >= FORECAST_SHARED_FROM && isfinite(row->of_predicted_percent) &&
	    f->nshares < FORECAST_SHARES)
		f->shares[f->nshares++] = row->of_predicted_percent;
}

static int compare_shares(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static double share(void *ctx, char *text, size_t len)
{
	struct forecast *f = ctx;
	char choice[96] = "";
	double median;

	if (f->nused)
		snprintf(choice, sizeof(choice),
		         "; algorithm and protocol were as predicted in %zu of %zu rows",
		         f->nas_predicted, f->nused);
	if (f->nshares == 0) {
		snprintf(text, len, "Prediction: no size from 1 MiB was measured%s", choice);
		return NAN;
	}
	qsort(f->shares, f->nshares, sizeof(f->shares[0]), compare_shares);
	median = (f->shares[(f->nshares - 1) / 2] + f->shares[f->nshares / 2]) / 2;
	snprintf(text, len,
	         "Prediction: the median of %zu rows from 1 MiB reaches %.1f %% of its predicted "
	         "speed, the worst %.1f %%: %s%s",
	         f->nshares, median, f->shares[0],
	         median >= f->good ? "good" : median >= f->low ? "low" : "bad", choice);
	return median;
}

const struct forecaster *forecast_open(struct forecast *f, const struct bench *bench, char *text,
                                       size_t len)
{
	struct error err = { .rank = -1 };
	struct backend_facts facts = { .device = "" };
	char launches[100] = "";
	int rc = load(f, bench, &err);

	f->bench = bench;
	if (f->own_dump && f->dump[0])
		unlink(f->dump);
	if (rc < 0) {
		snprintf(text, len, "No prediction: %.180s", err.text);
		return NULL;
	}
	bench->backend->ops->facts(bench->backend, &facts);
	f->good = bench->options->good;
	f->low = bench->options->low;
	f->hooks = (struct forecaster){ .ctx = f, .row = predict_row, .share = share };
	if (f->model.constants.calibrated)
		snprintf(launches, sizeof(launches),
		         "; measured here: a launch takes the host %.2f us, %.2f us to its end",
		         f->kernel.host_us, f->kernel.latency_us);
	snprintf(text, len, "Prediction for %d node%s of %d x %s, topology %s, constants %s%s",
	         f->model.nnodes, f->model.nnodes == 1 ? "" : "s", f->model.ppn,
	         facts.device[0] && f->dump[0] ? facts.device : f->sys.gpu[0].model->name,
	         f->dump[0] ? "as NCCL found it" : f->sys.name,
	         f->model.constants.fitted ? "fitted" : "physical only", launches);
	return &f->hooks;
}
