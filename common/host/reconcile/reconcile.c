/* reconcile.c: a look at the machine before and after the sweep, and the causes of slow rows. */
#include "reconcile/reconcile.h"

#include "reconcile/causes.h"
#include "base/clock.h"
#include "machine/gather.h"
#include "machine/health.h"

#define LOOK_SECONDS 60.0 /* a driver that no process keeps loaded needs seconds to answer */

/* ---- looking ------------------------------------------------------------------------------ */

/* Gathers each rank's `mine` in r->ranks on every rank, for the one that looks at a host. */
static int meet(struct reconcile *r, struct observed_rank *mine)
{
	struct job *job = r->bench->job;
	struct backend_facts facts = { .device = "" };
	int rc;

	memset(mine, 0, sizeof(*mine));
	read_rank("", mine);
	r->bench->backend->ops->facts(r->bench->backend, &facts);
	mine->rank = job->rank;
	mine->node = job->node;
	memcpy(mine->bus, facts.bus_id, sizeof(mine->bus));
	rc = job_gather(job, mine, sizeof(*mine), r->ranks);
	return rc < 0 ? rc : job_bcast(job, r->ranks, (size_t)job->nranks * sizeof(*r->ranks));
}

static void look_at_host(struct reconcile *r, struct reading *mine)
{
	struct job *job = r->bench->job;
	struct read_request request = {
		.readers = READ_TCP | READ_CPU | READ_SETTINGS | READ_GPUS | READ_NVML | READ_NICS |
			   READ_TRAFFIC | READ_XIDS,
		.root = "",
		.environment = environ,
		.nvml = r->bench->backend->ops->flags & BACKEND_DEVICE ? &r->nvml : NULL,
		.ranks = r->ranks,
		.nranks = job->nranks,
		.node = job->node,
	};
	double start = clock_seconds();

	watch_work(r->bench->watch, "looking at the machine", LOOK_SECONDS);
	if (request.nvml && !r->nvml.library)
		nvml_open(&r->nvml);
	read_host(&request, mine);
	reading_state(mine, "look", "took_us", (int64_t)((clock_seconds() - start) * 1e6));
	watch_leave(r->bench->watch);
}

static int look(struct reconcile *r, struct reading *hosts)
{
	struct job *job = r->bench->job;
	struct job_time former = job_extend_deadline(job, LOOK_SECONDS);
	struct reading mine = { .list = NULL };
	char *text = NULL;
	int rc;

	if (job->local_rank == 0) {
		look_at_host(r, &mine);
		text = reading_dump(&mine, false);
		reading_release(&mine);
	}
	/* all stay until all have looked: one that went on would wait under a shorter limit */
	rc = job_agree(job, reading_gather(job, text, hosts));
	job_restore_deadline(job, former);
	free(text);
	return rc;
}

/* Hosts and their ranks, into `hosts` at rank 0. */
static int look_around(struct reconcile *r, struct reading *hosts)
{
	const struct job *job = r->bench->job;
	struct observed_rank mine;
	int rc = meet(r, &mine);

	if (rc == 0)
		rc = look(r, hosts);
	for (int i = 0; rc == 0 && job->rank == 0 && i < job->nranks; i++)
		reading_rank(&hosts[r->ranks[i].node], &r->ranks[i]);
	return rc;
}

/* ---- telling ------------------------------------------------------------------------------ */

static void say(struct reconcile *r, const char *name, const char *text)
{
	reading_say(&r->observation.run, "run", name, text ? text : "");
}

static void state(struct reconcile *r, const char *name, int64_t value)
{
	reading_state(&r->observation.run, "run", name, value);
}

/* In millionths; what is not finite is left out. */
static void percent(struct reconcile *r, const char *name, double value)
{
	if (isfinite(value))
		state(r, name, llround(value * 1e4));
}

/* Rows below a size say little about links. */
static void take_row(void *ctx, const struct row *row)
{
	struct reconcile *r = ctx;

	if (row->size < PREDICT_FROM || !predict_is_printed(row) ||
	    !isfinite(row->of_predicted_percent) || row->of_predicted_percent >= r->worst)
		return;
	r->worst = r->judged = row->of_predicted_percent;
	/* bars of hosts are wide */
	if (!(r->bench->backend->ops->flags & BACKEND_DEVICE) && row->predicted_low_gbs > 0)
		r->judged = 100 * row->busbw_gbs / row->predicted_low_gbs;
	percent(r, "worst_ppm", r->worst);
	state(r, "worst_bytes", (int64_t)row->size);
	say(r, "worst_algo", row->predicted_algo);
	say(r, "worst_proto", row->predicted_proto);
	state(r, "worst_channels", row->predicted_channels);
	say(r, "used_algo", row->used_algo);
	say(r, "used_proto", row->used_proto);
	state(r, "used_channels", row->used_channels);
}

/* A module has all its links; a card's come from bridges if any; a part of a GPU has none. */
static int links_of(const char *product)
{
	const struct topo_gpu_model *model = topo_gpu_model(product);
	bool module = strstr(product, "SXM") || strstr(product, "HBM3") ||
		      strstr(product, "B200") || strstr(product, "H200");

	return model && module && !strstr(product, " NVL") && !strstr(product, "MIG") &&
			       !strstr(product, "GH200")
		       ? model->links
		       : -1;
}

static int gpu_links(const struct topo_gpu *gpu, int ngpus)
{
	int links = gpu->switch_links;

	for (int i = 0; i < ngpus; i++)
		links += gpu->links[i];
	return links;
}

static void describe_topology(struct reconcile *r, const struct predict *predict)
{
	static const char *const hops[] = { [MODEL_HOP_NONE] = "none",
					    [MODEL_HOP_NVLINK] = "NVLink",
					    [MODEL_HOP_PCIE] = "PCIe",
					    [MODEL_HOP_SHM] = "SHM" };
	int fewest = INT_MAX;

	say(r, "hop", hops[predict->model.hop]);
	if (r->bench->job->nnodes > 1)
		say(r, "transport", topo_transports[predict->sys.transport]);
	for (int i = 0; i < predict->sys.ngpus; i++)
		if (gpu_links(&predict->sys.gpu[i], predict->sys.ngpus) < fewest)
			fewest = gpu_links(&predict->sys.gpu[i], predict->sys.ngpus);
	state(r, predict->dump[0] ? "links_found" : "links", fewest);
	if (!predict->dump[0] && predict->sys.nnics > 0)
		state(r, "nic_mbps", llround(8e3 * predict->sys.nic[0].gbs));
}

static void describe_run(struct reconcile *r)
{
	struct backend *backend = r->bench->backend;
	struct backend_facts facts = { .device = "" };

	say(r, "backend", backend->ops->name);
	say(r, "collective", r->bench->collective->name);
	state(r, "ranks", r->bench->job->nranks);
	state(r, "nodes", r->bench->job->nnodes);
	state(r, "shared_gpu", r->shared_gpu);
	backend->ops->facts(backend, &facts);
	if (backend->ops->flags & BACKEND_DEVICE) {
		say(r, "gpu", facts.device);
		state(r, "links", links_of(facts.device));
	}
	if (r->predict && predict_topology(r->predict))
		describe_topology(r, r->predict);
	percent(r, "good_ppm", r->bench->options->good);
}

/* --out DIR keeps what the causes were found in. */
static int keep(const struct reconcile *r, struct report *report)
{
	const char *out = r->bench->options->out;
	char path[4200];
	int rc;

	if (!out)
		return 0;
	snprintf(path, sizeof(path), "%.4000s/observation.json", out);
	rc = observation_write(&r->observation, path);
	return rc < 0 ? report_comment(report, "%.400s: %s", path, strerror(-rc)) : 0;
}

/* A line per host where anything is worth one. */
static int tell_health(const struct observation *o, struct report *report)
{
	int rc = 0;

	for (int h = 0; rc == 0 && h < o->nhosts; h++) {
		struct reading delta;
		char text[1000];

		counter_delta(&o->before[h], &o->after[h], &delta);
		if (health_line(&delta, text, sizeof(text)))
			rc = report_comment(report, "health: %s: %s", delta.host, text);
		reading_release(&delta);
	}
	return rc;
}

static int explain(void *ctx, struct report *report)
{
	struct reconcile *r = ctx;
	bool low = r->judged < r->bench->options->good, asked = r->bench->options->reconcile;
	/* over MPI a row may be slow by the model, so only a cause that is seen is worth a line */
	bool only = !asked && !(r->bench->backend->ops->flags & BACKEND_DEVICE);
	char text[200];
	int rc;

	if (low || asked)
		nccl_seen_read(&r->asked, &r->observation);
	if (r->predict)
		percent(r, "median_ppm", r->predict->median);
	rc = keep(r, report);
	if (rc == 0)
		rc = tell_health(&r->observation, report);
	if (rc == 0 && low && !only && causes_slowest(&r->observation, text, sizeof(text)))
		rc = report_comment(report, "%s", text);
	if (rc < 0 || (!low && !asked))
		return rc;
	return causes_tell(&r->observation, only, report_line, report);
}

int reconcile_before(struct reconcile *r, const struct bench *bench, const struct predict *predict,
		     bool shared_gpu, const struct run_hook **hooks)
{
	struct job *job = bench->job;
	int rc;

	r->predict = predict;
	r->shared_gpu = shared_gpu;
	r->ranks = must(calloc((size_t)job->nranks, sizeof(*r->ranks)));
	if (job->rank == 0)
		observation_init(&r->observation, job->nnodes);
	r->bench = bench;
	r->worst = r->judged = INFINITY;
	rc = look_around(r, r->observation.before);
	if (rc < 0 || job->rank != 0)
		return rc;
	describe_run(r);
	r->hooks = (struct run_hook){ .ctx = r, .row = take_row, .finish = explain };
	*hooks = &r->hooks;
	return 0;
}

int reconcile_after(struct reconcile *r)
{
	return r->bench ? look_around(r, r->observation.after) : 0;
}

void reconcile_release(struct reconcile *r)
{
	nvml_close(&r->nvml);
	free(r->ranks);
	observation_release(&r->observation);
}
