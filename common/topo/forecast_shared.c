/* forecast_shared.c: predictions for ranks that share a GPU: time slices and loopback sockets
 * (share_model). */
#include "topo/forecast.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

static bool shared_planned(const struct bench *bench, bool shared_gpu)
{
	return shared_gpu && bench->job->nranks > 1 && bench->job->nnodes == 1;
}

static int shared_check(const char *topo, struct error *err)
{
	if (strcmp(topo, "live") == 0)
		return 0;
	return error_set(
		err, OUTCOME_UNSUPPORTED, -ENOTSUP,
		"--topo %s: ranks that share a GPU talk over sockets, whatever joins GPUs; "
		"take live or none",
		topo);
}

static int shared_load(struct forecast *f, const struct bench *bench, struct error *err)
{
	int devices = bench->backend->ops->devices(), ranks = bench->job->nranks;
	struct model_constants constants;
	int rc = model_load_constants(&constants, NULL, err);

	if (rc < 0)
		return rc;
	devices = devices > 0 ? devices : 1;
	f->share = (struct share_model){
		.nranks = ranks,
		.per_gpu = (ranks + devices - 1) / devices,
		.slice_us = constants.slice_us,
		.socket_gbs = constants.socket_gbs,
		.fitted = constants.fitted,
	};
	return 0;
}

static void shared_describe(const struct forecast *f, const struct bench *bench, char *text,
			    size_t len)
{
	const struct share_model *m = &f->share;

	(void)bench;
	snprintf(text, len,
		 "Prediction for %d ranks, up to %d on a GPU, over loopback sockets of %.3g GB/s "
		 "and "
		 "time slices of %.3g ms, constants %s: within a factor of two; none for one-way "
		 "calls "
		 "shorter than a slice",
		 m->nranks, m->per_gpu, m->socket_gbs, m->slice_us / 1e3,
		 m->fitted ? "fitted" : "physical only");
}

static bool shared_row(const struct forecast *f, struct row *row)
{
	struct share_prediction p;

	if (share_predict(&f->share, (enum model_coll)model_coll_parse(row->collective),
			  (double)row->size, &p) < 0)
		return false;
	row->predicted_us = p.time_us;
	row->predicted_busbw_gbs = p.busbw;
	row->ceiling_busbw_gbs = p.ceiling_busbw;
	return true;
}

const struct forecast_source forecast_shared = {
	.backend = "nccl",
	.planned = shared_planned,
	.check = shared_check,
	.load = shared_load,
	.describe = shared_describe,
	.row = shared_row,
};
