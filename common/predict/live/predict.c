/* predict.c: parts of predictions: NCCL's topology file or --topo, measured launches or pairs. */
#include "live/predict.h"

#include <jansson.h>

#include "base/clock.h"
#include "base/proc_stat.h"
#include "base/stats.h"
#include "pairs/probe.h"

/* Seconds. Both take milliseconds on a quiet host. */
#define LAUNCHES_SECONDS    10.0 /* of a rank */
#define CALIBRATION_SECONDS 30.0 /* until all ranks have measured */
#define CALLS		    20	 /* of a batch, which no queue of the device refuses */
#define BATCHES		    7	 /* of which the median counts; the first one connects ranks */
#define FIRST_SECONDS	    10.0
#define CALLS_SECONDS	    2.0 /* for milliseconds of work */

#define PAIRS_POOL    ((size_t)64 << 20) /* of a short measurement: more than caches hold */
#define PAIRS_QUICKLY 300
#define PAIRS_TRIES   3	  /* of which the best figures count */
#define PAIRS_SECONDS 2.0 /* no try begins later */
#define MOST_US	      200 /* of 8 bytes within a host: memory takes under 1, loopback 30 */
#define MOST_WAITED   .25 /* of a rank's time, for a core that another program has */

static bool on_host(const struct bench *bench)
{
	return !(bench->backend->ops->flags & BACKEND_DEVICE);
}

const char *predict_refusal(const struct bench *bench, bool shared_gpu)
{
	const struct options *o = bench->options;

	if (strcmp(o->topo, "none") == 0)
		return "--topo none";
	if (bench->backend->ops->flags & BACKEND_NO_DATA)
		return "the null backend moves no data";
	if (o->nfaults > 0)
		return "none are made of a schedule of faults";
	if (o->split_kind != SPLIT_NONE)
		return "none are made for groups";
	if (shared_gpu)
		return "none are made for ranks that share a GPU";
	if (on_host(bench) && bench->job->nranks < 2)
		return "a single rank has no pair to measure";
	if (on_host(bench) && strcmp(o->topo, "live") == 0 &&
	    bench->job->nranks > bench->job->nnodes * sysconf(_SC_NPROCESSORS_ONLN))
		return "ranks share cores, and what pairs reach alone says little";
	return NULL;
}

int predict_check_topology(const char *topo, bool *host, struct error *err)
{
	struct topo_system *sys;
	int rc;

	if (strcmp(topo, "live") == 0 || strcmp(topo, "none") == 0)
		return 0;
	sys = must(malloc(sizeof(*sys)));
	rc = topo_load(sys, topo, err);
	rc = rc != 0 ? rc : topo_check(sys, err);
	*host = rc == 0 && topo_is_host(sys);
	free(sys);
	return rc;
}

int predict_check(const struct bench *bench, bool shared_gpu, struct error *err)
{
	const struct options *o = bench->options;
	const char *why = predict_refusal(bench, shared_gpu);
	bool host = on_host(bench);
	int rc;

	if (why && o->min_percent > 0)
		return error_set(err, OUTCOME_UNSUPPORTED, -ENOTSUP,
				 "--min-percent %g: this run has no predictions (%s)",
				 o->min_percent, why);
	rc = predict_check_topology(o->topo, &host, err);
	if (rc == 0 && !why && host != on_host(bench))
		why = host ? "it is of hosts without GPUs" : "it is of GPUs";
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

/* Writes the host's microseconds of a call of the communicator that the run measures. They are calls of the run, since a
 * hang may strike the first of them. Collective. */
static int measure_call(const struct bench *bench, double *us)
{
	struct chain chain = bench->chain;
	struct call call = { .kind = CALL_ALL_REDUCE,
			     .send = bench->buffers.send,
			     .recv = bench->buffers.recv,
			     .count = 2,
			     .dtype = DT_FLOAT,
			     .op = OP_SUM };
	double took[BATCHES];
	int rc = 0;

	watch_phase(bench->watch, PHASE_WARMUP);
	for (int batch = 0; rc == 0 && batch < BATCHES; batch++) {
		double begin;

		rc = job_barrier(bench->job, "the start of calls that are timed");
		watch_enter(bench->watch, "the first calls of all",
			    batch ? CALLS_SECONDS : FIRST_SECONDS);
		begin = clock_seconds();
		for (int i = 0; rc == 0 && i < CALLS; i++)
			rc = chain_call(&chain, &call);
		took[batch] = (clock_seconds() - begin) / CALLS * 1e6;
		if (rc == 0)
			rc = bench->backend->ops->wait(bench->backend);
		if (rc == 0)
			watch_completed(chain.watch);
		watch_leave(bench->watch);
	}
	*us = rc == 0 ? sort_median(took + 1, BATCHES - 1) : 0;
	return rc;
}

static int measure_launch(struct predict *p, const struct bench *bench)
{
	const struct backend_ops *ops = bench->backend->ops;
	double values[3];
	int rc;

	p->kernel = (struct kernel_cost){ .host_us = 0 };
	if (!ops->kernel_cost)
		return 0;
	watch_work(bench->watch, "measuring launches", LAUNCHES_SECONDS);
	rc = ops->kernel_cost(bench->backend, &p->kernel);
	watch_leave(bench->watch);
	if (rc == 0 && bench->job->nranks > 1)
		rc = measure_call(bench, &p->kernel.call_us);
	if (rc < 0)
		return rc;
	values[0] = p->kernel.host_us;
	values[1] = p->kernel.latency_us;
	values[2] = p->kernel.call_us;
	rc = job_max(bench->job, values, 3);
	p->kernel = (struct kernel_cost){ values[0], values[1], values[2] };
	return rc;
}

/* A size for latency and one for bandwidth, which a full measurement takes from -e. */
static void choose_sizes(const struct bench *bench, bool brief, double bytes[PAIR_SIZES])
{
	size_t last = brief			   ? 8 << 20
		      : bench->options->size_given ? bench->options->max_bytes
		      : on_host(bench)		   ? 32 << 20
						   : 256 << 20;

	last = last > bench->buffers.bytes ? bench->buffers.bytes : last;
	bytes[0] = 8;
	bytes[1] = (double)(last > 8 ? last : 16);
}

/* All pairs, or of many those inside of hosts, or the first rounds where hosts have a rank each. */
static void plan_quick(const struct job *job, struct pair_plan *plan)
{
	int near = 0, all;

	pair_plan_make(plan, job->nranks, job->node_of, INT_MAX, 0);
	all = plan->npairs;
	for (int i = 0; all > PAIRS_QUICKLY && i < all; i++)
		if (!plan->pairs[i].far)
			plan->pairs[near++] = plan->pairs[i];
	plan->npairs = all > PAIRS_QUICKLY ? (near ? near : PAIRS_QUICKLY) : all;
}

int predict_measure_pairs(const struct bench *bench, enum pairs_care care, struct pair_matrix *m)
{
	static const double seconds[] = { 1e-3, 1e-3, 10e-3 };
	struct chain chain = bench->chain;
	bool brief = care == PAIRS_BRIEF;
	struct pair_probe probe = {
		.chain = &chain,
		.watch = bench->watch,
		.job = bench->job,
		.send = bench->buffers.send,
		.recv = bench->buffers.recv,
		.pool = brief ? PAIRS_POOL : bench->buffers.bytes,
		.seconds = seconds[care],
	};
	struct pair_plan plan;
	int rc;

	if (care == PAIRS_QUICK)
		plan_quick(bench->job, &plan);
	else
		pair_plan_make(&plan, bench->job->nranks, bench->job->node_of,
			       brief ? 32 : PAIRS_MOST, bench->options->seed);
	pair_matrix_init(m, &plan, bench->job->nnodes);
	m->nsizes = 2;
	choose_sizes(bench, care != PAIRS_LONG, m->bytes);
	m->host = on_host(bench);
	if (care == PAIRS_QUICK) {
		m->bytes[0] = m->bytes[m->nsizes - 1];
		m->nsizes = 1;
	}
	probe.alone = care == PAIRS_QUICK && plan.npairs <= 2 * PAIRS_QUICKLY;
	probe.brief = care != PAIRS_LONG && !probe.alone;
	if (brief) { /* these are no calls of the run: faults and the recorder leave them alone */
		chain.watch = NULL;
		chain.filter = NULL;
	}
	if (m->host) {
		memset(probe.send, 0, probe.pool);
		memset(probe.recv, 0, probe.pool);
	}
	rc = pair_probe_run(&probe, m);
	if (rc < 0)
		pair_matrix_release(m);
	return rc;
}

/* Takes the best of some tries: another program makes a message longer only. Alike on all ranks. */
static int measure_tries(struct predict *p, const struct bench *bench, double begin)
{
	double spent = 0;
	int rc = 0;

	for (int n = 0; rc == 0 && n < PAIRS_TRIES && spent < PAIRS_SECONDS; n++) {
		struct pair_matrix matrix;
		struct pair_digest d;

		rc = predict_measure_pairs(bench, PAIRS_BRIEF, &matrix);
		if (rc < 0)
			return rc;
		pair_digest_make(&d, &matrix);
		pair_matrix_release(&matrix);
		for (int far = 0; n > 0 && far < 2; far++) {
			d.us[far] = fmin(d.us[far], p->pairs.us[far]);
			d.gbs[far] = fmax(d.gbs[far], p->pairs.gbs[far]);
		}
		p->pairs = d;
		spent = clock_seconds() - begin;
		rc = job_max(bench->job, &spent, 1);
	}
	return rc;
}

static int measure_pairs(struct predict *p, const struct bench *bench)
{
	struct proc_account before = { 0 }, after = { 0 };
	bool known = proc_account_read(&before, 0);
	double begin = clock_seconds();
	int rc = measure_tries(p, bench, begin);

	p->pairs_seconds = clock_seconds() - begin;
	if (known && proc_account_read(&after, 0))
		p->waited = (double)(after.waited_ns - before.waited_ns) * 1e-9 / p->pairs_seconds;
	return rc < 0 ? rc : job_max(bench->job, &p->waited, 1);
}

int predict_calibrate(struct predict *p, const struct bench *bench)
{
	struct job_time former = job_extend_deadline(bench->job, CALIBRATION_SECONDS);
	int rc = 0;

	if (!on_host(bench))
		rc = measure_launch(p, bench);
	else if (strcmp(bench->options->topo, "live") == 0)
		rc = measure_pairs(p, bench);

	job_restore_deadline(bench->job, former);
	return rc;
}

/* The rows of --calibrate stand for what a launch costs here. */
static int take_rows(struct predict *p, const struct bench *bench, struct error *err)
{
	json_t *file = NULL;
	int coll = model_find(model_coll_names, MODEL_COLLS, bench->collective->name);
	int rc = topo_is_host(&p->sys)
			 ? error_usage(err, "--calibrate: over MPI pairs are measured in each run")
			 : topo_rows_read(bench->options->calibrate, &file, err);

	if (rc < 0)
		return rc;
	p->rows.algo = p->rows.proto = -1;
	rc = model_take_file(&p->model, &p->rows, file, coll < 0 ? 0 : 1u << coll, err);
	json_decref(file);
	return rc;
}

static int load_topology(struct predict *p, const struct bench *bench, struct error *err)
{
	const struct job *job = bench->job;
	struct backend_facts facts = { .library_code = 0 };
	struct topo_change change = { .nnodes = job->nnodes, .gpus = job->nranks / job->nnodes };
	struct model_constants constants;
	const char *nvls = getenv("NCCL_NVLS_ENABLE");
	int rc;

	if (job->nranks % job->nnodes != 0)
		return error_set(err, OUTCOME_UNSUPPORTED, -ENOTSUP,
				 "the hosts have unequal numbers of ranks");
	if (p->pairs.nranks && (p->waited > MOST_WAITED || p->pairs.us[0] >= MOST_US))
		return error_set(err, OUTCOME_UNSUPPORTED, -EAGAIN,
				 "ranks were not let run while pairs were measured: other programs "
				 "use this host's cores");
	rc = p->pairs.nranks ? topo_from_pairs(&p->sys, "measured", "this run", &p->pairs, err)
	     : p->dump[0]    ? topo_read_xml(&p->sys, p->dump, err)
			     : topo_load(&p->sys, bench->options->topo, err);
	bench->backend->ops->facts(bench->backend, &facts);
	change.nccl = facts.library_code > 20000 ? facts.library_code : 0;
	if (rc == 0)
		rc = topo_reshape(&p->sys, &change, err);
	if (rc == 0)
		rc = model_load_constants(&constants, NULL, err);
	if (rc != 0)
		return rc;
	if (!bench->options->calibrate)
		(void)model_calibrate(&constants, &p->kernel); /* or the fitted ones stay */
	model_init(&p->model, &p->sys, &constants, nvls && atoi(nvls) == 0);
	return bench->options->calibrate ? take_rows(p, bench, err) : 0;
}

static void describe(const struct predict *p, const struct bench *bench, char *text, size_t len)
{
	struct backend_facts facts = { .device = "" };
	const char *class = model_class(&p->model, p->pairs.nranks ? MODEL_P2P : MODEL_RING);
	bool barred = p->model.constants.nbars > 0;
	char launches[140] = "";

	if (p->pairs.nranks) {
		bool far = p->pairs.nnodes > 1;

		snprintf(text, len,
			 "Prediction of pairs of ranks, measured here in %.2f s: a message takes "
			 "%.2f us, %.2f GB/s while all exchange%s",
			 p->pairs_seconds, p->pairs.us[far], p->pairs.gbs[far],
			 strcmp(class, "host") == 0 ? "; error bars are wide"
						    : "; error bars are argued, and very wide");
		return;
	}
	bench->backend->ops->facts(bench->backend, &facts);
	if (p->model.constants.calibrated)
		snprintf(launches, sizeof(launches),
			 "; measured here: " KERNEL_COST_SAID "%.2f us, %.2f us to its end, an "
			 "all_reduce of 8 B %.2f us",
			 p->kernel.host_us, p->kernel.latency_us, p->kernel.call_us);
	if (p->rows.dtype[0])
		snprintf(launches, sizeof(launches), ", below 64 MiB rows of %.100s",
			 bench->options->calibrate);
	snprintf(text, len, "Prediction for %d node%s of %d x %s, topology %s, constants %s%s%s%s",
		 p->model.nnodes, p->model.nnodes == 1 ? "" : "s", p->model.ppn,
		 facts.device[0] && p->dump[0] ? facts.device : p->sys.gpu[0].model->name,
		 p->dump[0] ? "as NCCL found it" : p->sys.name,
		 p->model.constants.fitted ? "fitted" : "physical only", launches,
		 barred ? "; error bars of " : "; no error bars for such a machine",
		 barred ? class : "");
}

const struct predictor *predict_open(struct predict *p, const struct bench *bench, char *text,
				     size_t len)
{
	struct error err = { .rank = -1 }, unread = err;
	int rc = load_topology(p, bench, &err);
	size_t size;

	if (bench->options->spec && p->dump[0] && topo_read(p->dump, &p->xml, &size, &unread) < 0)
		p->xml = NULL;
	if (p->own_dump && p->dump[0])
		unlink(p->dump);
	if (rc < 0) {
		snprintf(text, len, "Prediction: N/A: %.180s", err.text);
		return NULL;
	}
	p->bench = bench;
	p->median = NAN;
	p->hooks = (struct predictor){ .ctx = p, .row = predict_row, .reached = predict_reached };
	describe(p, bench, text, len);
	return &p->hooks;
}

const struct topo_system *predict_topology(const struct predict *p)
{
	return p->hooks.ctx ? &p->sys : NULL;
}
