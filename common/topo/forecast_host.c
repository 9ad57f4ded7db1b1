/* forecast_host.c: predictions for the mpi backend: the hosts as hwloc sees them, measured, and
 * host_model. */
#include "topo/forecast.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool host_planned(const struct bench *bench, bool shared_gpu)
{
	(void)shared_gpu;
	return bench->job->nranks > 1;
}

static int host_check(const char *topo, struct error *err)
{
	int rc = forecast_check_topology(topo, err); /* what is none at all is told as that */

	if (rc < 0 || strcmp(topo, "live") == 0)
		return rc;
	return error_set(err, OUTCOME_UNSUPPORTED, -ENOTSUP,
			 "--topo %s: describes GPUs; the mpi backend takes live or none", topo);
}

/* The slowest network of all hosts; `mine` of this one. */
static int slowest_network(struct host_model *m, struct job *job)
{
	char name[128];
	bool ethernet;
	double gbs = host_network_gbs("", name, sizeof(name), &ethernet);
	enum topo_transport transport = ethernet ? TOPO_TCP : TOPO_IB;
	double worst[2] = { gbs > 0 ? 1 / (gbs * model_net_efficiency(transport)) : 1e9,
			    model_net_latency(transport) };
	int rc = job_max(job, worst, 2);

	m->net_gbs = worst[0] < 1e9 ? 1 / worst[0] : 0;
	m->net_us = worst[1];
	return rc;
}

static int agree_on_library(struct host_library *l, struct job *job)
{
	int path = (int)l->path,
	    rc = job_max_int(job, &path, 1); /* the last of them is the worst */

	l->path = (enum host_path)path;
	return rc;
}

/* A calibration that fails leaves the run without predictions and says why; only MPI's own failure
 * ends it. */
static int host_measure(struct forecast *f, const struct bench *bench)
{
	struct host_model *m = &f->host;
	struct job *job = bench->job;
	int rc;

	f->host_err = (struct error){ .rank = -1 };
	m->nranks = job->nranks;
	m->nnodes = job->nnodes;
	m->ppn = job->nranks / job->nnodes;
	host_library_read(&m->library);
	rc = agree_on_library(&m->library, job);
	if (rc == 0 && m->nnodes > 1)
		rc = slowest_network(m, job);
	if (rc == 0)
		rc = host_calibrate(job, m->library.yields, &m->topo, &m->figures, &f->host_err);
	if (f->host_err.code < 0)
		return 0;
	m->share = host_topo_share(&m->topo);
	return rc == 0 ? job_max(job, &m->share, 1) : rc;
}

static int host_load(struct forecast *f, const struct bench *bench, struct error *err)
{
	const struct host_model *m = &f->host;
	int no = OUTCOME_UNSUPPORTED;

	if (f->host_err.code < 0)
		return error_set(err, no, f->host_err.code, "%s", f->host_err.text);
	if (bench->job->nranks % bench->job->nnodes != 0)
		return error_set(err, no, -ENOTSUP, "the hosts have unequal numbers of ranks");
	if (m->library.path == HOST_NO_PATH && m->ppn > 1)
		return error_set(err, no, -ENOTSUP, "MPI was told not to use shared memory");
	if (m->nnodes > 1 && !(m->net_gbs > 0))
		return error_set(err, no, -ENOTSUP,
				 "the speed of the network between hosts is not known");
	return 0;
}

static const char *way(const struct host_model *m)
{
	if (m->library.path != HOST_SINGLE_COPY)
		return "messages are copied in and out";
	if (!isfinite(m->figures.read_all[0]))
		return "messages are copied in and out, as the kernel lets no rank read another";
	return m->library.known ? "large messages are read by the receiver (CMA)"
				: "large messages are taken to be read by the receiver (CMA)";
}

static void host_describe(const struct forecast *f, const struct bench *bench, char *text,
			  size_t len)
{
	const struct host_model *m = &f->host;
	const struct host_figures *g = &m->figures;
	const int last = HOST_SIZES - 1;
	char host[160];

	(void)bench;
	snprintf(text, len,
		 "Prediction for %d host%s: %s; %s; with all ranks at once a rank copies %.1f GB/s "
		 "in cache, %.1f beyond, reads another %.1f GB/s, a message takes %.2f us",
		 m->nnodes, m->nnodes == 1 ? "" : "s", host_topo_text(&m->topo, host, sizeof(host)),
		 way(m), 1 / g->copy_all[0], 1 / g->copy_all[last], 1 / g->read_all[last],
		 g->step_us);
}

static bool host_row(const struct forecast *f, struct row *row)
{
	int dtype = dtype_parse(row->type), op = redop_parse(row->redop);
	struct host_request request = {
		.collective = (enum model_coll)model_coll_parse(row->collective),
		.bytes = (double)row->size,
		.dtype = (enum dtype)dtype,
		.op = op < 0 ? OP_SUM : (enum redop)op,
		.in_place = row->placement && strcmp(row->placement, "in-place") == 0,
	};
	struct host_prediction p;

	if ((int)request.collective < 0 || dtype < 0 || host_predict(&f->host, &request, &p) < 0)
		return false;
	row->predicted_us = p.time_us;
	row->predicted_busbw_gbs = p.busbw;
	row->ceiling_busbw_gbs = p.ceiling_busbw;
	row->predicted_algo = p.algo;
	row->predicted_proto = p.way;
	return true;
}

#define WAITED_MOST .1 /* of the calibration without a CPU, and what it measured is the load */

static bool host_doubt(const struct forecast *f, char *why, size_t len)
{
	const struct host_figures *g = &f->host.figures;

	if (g->crowd > 1)
		snprintf(why, len, "oversubscribed: %.3g ranks for each CPU they may run on",
			 g->crowd);
	else if (g->waited > WAITED_MOST)
		snprintf(why, len,
			 "a rank was ready and had no CPU for %.0f %% of the calibration, which "
			 "measured the load on this host",
			 100 * g->waited);
	return g->crowd > 1 || g->waited > WAITED_MOST;
}

const struct forecast_source forecast_host = {
	.backend = "mpi",
	.planned = host_planned,
	.check = host_check,
	.calibrate = host_measure,
	.load = host_load,
	.describe = host_describe,
	.row = host_row,
	.doubt = host_doubt,
};
