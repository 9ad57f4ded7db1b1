/* perf_rank.c: combines backend, buffers, recorder, sweep and sinks in the rank's process. */
#include "perf_rank.h"

#include <stdatomic.h>

#include "schedule/schedule.h"
#include "measure/sweep.h"
#include "measure/timing.h"
#include "settings/settings_read.h"
#include "perf_check.h"
#include "preflight.h"
#include "perf_report.h"

#define OPEN_SECONDS  60.0 /* context and module load; other ranks are not involved */
#define LEAVE_SECONDS 60.0 /* exit handlers of libraries, after the rank has recorded its outcome */
#define SLOW_SECONDS  3.0  /* of a schedule whose faults leave their ranks slow */

static void warn_surplus(const struct rank *r)
{
	if (r->job.spare && r->job.local_rank == r->choice.take_part)
		fprintf(stderr,
			"hangar: more processes than GPUs on this host: local ranks from %d on "
			"stand "
			"aside\n",
			r->choice.take_part);
}

/* Joins the other ranks and takes a place. Returns 0 or a negative errno. */
static int join(struct rank *r)
{
	const struct options *o = r->program->options;
	const struct backend_ops *ops;
	int rc = job_open(&r->job, &r->watch, &r->err, r->program->launch);

	if (rc < 0)
		return rc;
	uplink_meet(r);
	rc = job_join(&r->job);
	if (rc < 0)
		return rc;
	ops = backend_find(o->backend);
	rc = perf_agree(&r->job, r->program, ops ? ops->name : "none");
	if (rc < 0)
		return rc;
	if (!ops)
		return backend_missing(o->backend, &r->err);
	if (ops->flags & BACKEND_MPI && !r->job.ops->mpi)
		return backend_unmet(ops->name, r->job.nranks, &r->err);
	if (ops->devices() == 0)
		return error_set(&r->err, OUTCOME_UNSUPPORTED, -ENODEV,
				 "--backend %s: no usable GPU on this host", ops->name);
	rc = devices_choose(&r->job, ops, o, &r->choice);
	if (rc == 0)
		rc = job_select(&r->job, r->choice.take_part);
	if (rc == 0)
		warn_surplus(r);
	if (rc < 0 || r->job.spare)
		return rc;
	if (r->choice.over_sockets)
		devices_share_gpu(&r->job, r->program->launch->key);
	rc = devices_between_hosts(&r->job, ops, &r->choice);
	if (rc < 0)
		return rc;
	/* A schedule's graphs mix collectives with sends. NCCL 2.28.9 registers the buffers of both,
	   and healthy ranks then read outside of memory (results/faults). */
	if (o->nfaults > 0 && o->mode == MODE_GRAPH)
		setenv("NCCL_GRAPH_REGISTER", "0", 0);
	if (o->split_kind != SPLIT_NONE)
		rc = job_split(&r->job, options_color(o, r->job.rank));
	return rc;
}

/* Reads NCCL's settings in this process before its first call, which uses them. */
static void read_settings(struct rank *r, const struct backend_facts *facts)
{
	if (!(r->bench.backend->ops->flags & BACKEND_SETTINGS))
		return;
	settings_put(&r->settings, "libnccl", facts->library);
	settings_read_of(&r->settings, environ);
	settings_put(&r->settings, "libnccl-path", facts->library_path);
	settings_put(&r->settings, "CUDA", facts->runtime);
}

static int open_backend(struct rank *r)
{
	const struct options *o = r->program->options;
	struct backend_config config = {
		.device = r->choice.device,
		.alloc = o->alloc,
		.local_register = o->local_register,
		.cta_policy = o->cta_policy,
		.nvlink_centric = o->nvlink_centric,
		.stream_null = o->stream_null,
		.record_devices = o->record == RECORD_FULL ||
				  ((o->nfaults || o->fail_slow) && o->record != RECORD_OFF),
	};
	struct backend_facts facts;
	int rc;

	watch_work(&r->watch, "opening the device", OPEN_SECONDS);
	rc = backend_find(o->backend)
		     ->open(&r->job, &r->watch, &r->err, &config, &r->bench.backend);
	watch_leave(&r->watch);
	if (rc < 0)
		return rc;
	r->recorder.blocking = !(r->bench.backend->ops->flags & BACKEND_DEVICE);
	r->recorder.enqueued = !r->recorder.blocking;
	r->bench.backend->ops->facts(r->bench.backend, &facts);
	recorder_identify(&r->recorder, r->job.rank, r->job.nranks, r->job.node, r->job.nnodes,
			  r->job.local_rank, facts.device, facts.library);
	read_settings(r, &facts);
	return 0;
}

static int compare_settings(struct rank *r)
{
	if (r->settings.text[0])
		record_settings(&r->recorder.memory->header, r->settings.text,
				settings_hash(&r->settings));
	return perf_agree_settings(&r->job, r->program, &r->settings);
}

/* Groups of unequal size would skip different sizes, but all ranks meet at every point. */
static int check_groups(struct rank *r)
{
	int sizes[2] = { r->job.group_size, -r->job.group_size };
	int rc = job_max_int(&r->job, sizes, 2);

	if (rc < 0 || sizes[0] == -sizes[1])
		return rc;
	return error_set(&r->err, OUTCOME_USAGE, -EINVAL,
			 "NCCL_TESTS_SPLIT: makes groups of %d to %d ranks; must make equal ones",
			 -sizes[1], sizes[0]);
}

/* Bytes of the largest buffer, and of a pool for all whose data stay. */
static size_t largest_buffer(const struct rank *r, size_t *pool)
{
	const struct options *o = r->program->options;
	struct error ignored = { .rank = -1 };
	size_t largest;

	if (r->program->collective == &step) {
		largest = (size_t)recipes_check(&r->recipes, &ignored);
		*pool = (RECIPE_SLOTS + 2) * (largest + 2 * CHECK_GUARD + BUFFERS_ALIGN);
		*pool = *pool > BUFFERS_POOL ? *pool : BUFFERS_POOL; /* for predictions */
	} else if (o->nfaults) {
		largest = schedule_largest(&r->schedule, r->job.group_rank);
		*pool = schedule_pool(&r->schedule, largest);
	} else {
		largest = run_largest(&r->bench);
		*pool = o->like_nccl_tests ? largest : BUFFERS_POOL;
	}
	return largest;
}

static int allocate(struct rank *r)
{
	const struct options *o = r->program->options;
	bool all = o->nfaults || r->program->collective == &step;
	size_t pool, largest = largest_buffer(r, &pool);
	struct error why;
	int rc;

	if (largest == 0)
		return error_set(&r->err, OUTCOME_USAGE, -EINVAL,
				 "-e %zu: gives each of %d ranks less than %zu bytes (--align); "
				 "there is nothing to measure",
				 o->max_bytes, r->job.group_size, o->align);
	watch_work(&r->watch, "allocating buffers", OPEN_SECONDS);
	rc = buffers_init(&r->bench.buffers, r->bench.backend, largest, pool,
			  all ? SIZE_MAX : timing_most_calls(o));
	watch_leave(&r->watch);
	if (rc == -ENOMEM) {
		why = r->err;
		snprintf(r->err.text, sizeof(r->err.text), "%s%zu%s: %.400s",
			 all ? "calls of " : "-e ", all ? largest : o->max_bytes,
			 all ? " bytes (-b)" : "", why.text);
	}
	return rc;
}

static int place_faults(struct rank *r)
{
	const struct backend_ops *ops = r->bench.backend->ops;
	struct inject_place place = {
		.rank = r->job.rank,
		.nranks = r->job.nranks,
		.schedule = &r->schedule,
		.default_step = SCHEDULE_FAULT_STEP,
		.machine = r->program->machine,
		.record = r->program->fault_record,
	};

	if (r->program->collective == &step)
		recipe_place(&place, &r->recipes);
	machine_serve(&place.machine, ops->name, ops->flags & BACKEND_DEVICE ? ops->devices() : 0);
	if (place.machine.cgroup && cgroup_enter(place.machine.cgroup) < 0)
		place.machine.have &= ~(unsigned)NEED_CGROUP;
	return inject_place(r->program->injector, &place, &r->err);
}

/* Makes the communicators, and a schedule, which has more than the first. */
static int prepare_schedule(struct rank *r)
{
	struct bench *b = &r->bench;
	int rc = 0;

	if (b->collective == &step) {
		rc = recipe_comms(&b->comms, b->options, r->job.group_size, &r->err);
		r->recipes = (struct recipe_job){ b->options, &b->comms, &b->traffic };
		r->schedule = (struct schedule_setup){ .options = b->options,
						       .collective = b->collective,
						       .comms = b->comms };
		return rc < 0 || recipes_check(&r->recipes, &r->err) >= 0 ? rc : -EINVAL;
	}
	if (b->options->nfaults == 0)
		return comm_set_make(&b->comms, COMMS_WORLD, r->job.group_size);
	rc = check_schedule(r->program, r->job.group_size, &b->traffic, &r->schedule, &r->err);
	b->comms = r->schedule.comms;
	return rc;
}

/* Checks everything before ranks communicate: types, roots, matrices, memory. */
static int check_request(struct rank *r)
{
	struct bench *b = &r->bench;
	struct sweep sweep;
	int rc = 0;

	if (!(b->backend->ops->flags & BACKEND_DEVICE) && options_need_gpu(b->options))
		return error_set(&r->err, OUTCOME_UNSUPPORTED, -ENOTSUP,
				 "--%s: needs a GPU, and none is visible on this host",
				 options_need_gpu(b->options));
	rc = predict_check(b, r->choice.shared_gpu, &r->err);
	if (rc == 0)
		rc = check_groups(r);
	if (rc == 0 && b->collective->irregular)
		rc = traffic_init(&b->traffic, b->options, r->job.group_size, &r->err);
	if (rc < 0)
		return rc;
	sweep_init(&sweep, b->options, b->collective, b->backend, r->job.group_size);
	rc = sweep_check(&sweep, &r->err);
	if (rc < 0)
		return rc;
	rc = prepare_schedule(r);
	if (rc == 0 && r->program->injector)
		rc = place_faults(r);
	if (rc < 0)
		return rc;
	return allocate(r);
}

static size_t memory_used(const struct rank *r)
{
	const struct backend_ops *ops = r->bench.backend->ops;

	return r->program->options->memory_report && ops->memory_used
		       ? ops->memory_used(r->bench.backend)
		       : 0;
}

static int open_comm(struct rank *r)
{
	size_t before = memory_used(r);
	int rc;

	r->run.memory.buffers = before;
	if (r->bench.backend->ops->flags & BACKEND_DEVICE &&
	    !predict_refusal(&r->bench, r->choice.shared_gpu))
		predict_ask(&r->predict, r->program->options, r->program->folder);
	/* init follows at once: a rank that is late there is named */
	rc = job_barrier(&r->job, "the start of communicator init");
	if (rc < 0)
		return rc;
	rc = chain_init(&r->bench.chain, &r->bench.comms); /* watches its own waits */
	nccl_seen_asked(&r->reconcile.asked);
	if (rc == 0)
		rc = buffers_register(&r->bench.buffers);
	r->run.memory.init = memory_used(r) - before;
	return rc;
}

/* All ranks agree after each step, so a refusal ends all in the same way. */
static int prepare(struct rank *r)
{
	static int (*const steps[])(struct rank *) = { open_backend, uplink_spread,
						       compare_settings, check_request,
						       rank_open_report };
	int rc = 0;

	for (size_t i = 0; i < LENGTH(steps) && rc == 0; i++)
		rc = job_agree(&r->job, steps[i](r));
	return rc;
}

/* A run whose fault did not fire on one of its ranks proves nothing. */
static int check_fired(struct rank *r)
{
	const struct program *p = r->program;
	int left, rc;

	if (!p->injector)
		return 0;
	left = !p->fault_record || inject_unfired(p->injector, p->fault_record) >= 0;
	rc = job_max_int(&r->job, &left, 1);
	if (rc == 0 && left)
		r->run.outcome = OUTCOME_NOT_FIRED;
	return rc;
}

static int announce_faults(struct rank *r)
{
	const struct injector *injector = r->program->injector;
	const struct options *o = r->program->options;
	bool types = o->dtype_first != o->dtype_last, ops = o->op_first != o->op_last;
	char text[256];
	int rc = 0;

	if (r->run.report && (types || ops))
		rc = report_comment(
			r->run.report,
			"a run with --fault has one schedule: of %s%s%s the first alone, %s%s%s",
			types ? "-d all" : "", types && ops ? " and " : "", ops ? "-o all" : "",
			types ? dtype_name((enum dtype)o->dtype_first) : "",
			types && ops ? " and " : "",
			ops ? redop_name((enum redop)o->op_first) : "");
	for (int i = 0; r->run.report && injector && i < injector->nspecs && rc == 0; i++)
		rc = report_comment(r->run.report, "fault %s",
				    inject_describe(injector, i, text, sizeof(text)));
	return rc;
}

/* Seconds that the schedule has to last, so that a slow rank is named (pace/README.md); 0: its steps once. */
static double lasting(const struct rank *r)
{
	const struct options *o = r->program->options;
	bool judged = o->watch && o->record != RECORD_OFF;

	return judged && r->program->injector && inject_slows(r->program->injector) ? SLOW_SECONDS
										    : 0;
}

static int run_all(struct rank *r)
{
	int rc;

	if (r->program->collective == &preflight)
		return preflight_run(r);
	if (r->program->collective == &p2p_matrix)
		return p2p_matrix_run(r);
	if (r->program->collective == &step) {
		rc = step_run(r);
		return rc < 0 ? rc : check_fired(r);
	}
	if (r->program->options->nfaults == 0) {
		closing_serve(r);
		return run_sweep(&r->run);
	}
	rc = announce_faults(r);
	if (rc == 0)
		rc = schedule_run(&r->run, &r->schedule,
				  r->program->injector ? r->program->injector->meets : 0,
				  lasting(r));
	return rc < 0 ? rc : check_fired(r);
}

static int measure(struct rank *r)
{
	static int (*const steps[])(struct rank *) = { rank_explain_empty, rank_open_predictions,
						       rank_open_reconcile, run_all };
	int rc = open_comm(r);
	size_t before = memory_used(r);

	for (size_t i = 0; i < LENGTH(steps) && rc == 0; i++)
		rc = steps[i](r);
	if (rc == 0)
		rc = reconcile_after(&r->reconcile);
	if (rc < 0)
		return rc;
	r->run.memory.collectives = memory_used(r) - before;
	watch_phase(&r->watch, PHASE_FINALISE);
	return run_finish(&r->run);
}

static void tear_down(struct rank *r)
{
	struct backend *be = r->bench.backend;

	watch_phase(&r->watch, PHASE_FINALISE);
	report_release(&r->report);
	free(r->facts);
	if (be) {
		be->ops->comm_close(be);
		watch_work(&r->watch, "closing the device", OPEN_SECONDS);
		buffers_release(&r->bench.buffers);
		be->ops->close(be);
		watch_leave(&r->watch);
	}
	traffic_release(&r->bench.traffic);
	reconcile_release(&r->reconcile);
	job_release(&r->job);
}

/* After a failure that all ranks know the run ends in order. After a failure of this rank only it
 * must not wait for others, which may wait for it: the monitor sees the outcome and ends them. */
static int conclude(struct rank *r, int rc, bool agreed)
{
	enum outcome outcome = rc < 0 ? r->err.outcome : r->run.outcome;

	if (rc < 0 && outcome == OUTCOME_OK)
		outcome = OUTCOME_INTERNAL;
	if (rc < 0 && (!agreed || r->job.rank == 0))
		error_print(&r->err, r->program->name);
	if (rc == 0 || agreed)
		tear_down(r);
	recorder_finish(&r->recorder, outcome, r->run.culprits, rc < 0 ? &r->err : NULL);
	watch_work(&r->watch, "leaving the process", LEAVE_SECONDS);
	return (int)outcome;
}

int perf_rank(void *arg)
{
	static struct rank r; /* large; one per process */
	const struct program *p = arg;
	int rc;

	r.program = p;
	r.err.rank = -1;
	recorder_init(&r.recorder, p->memory, p->options->record != RECORD_OFF,
		      p->options->timeout);
	r.recorder.stretch = p->deadline_factor * (p->injector ? inject_patience(p->injector) : 1);
	r.watch = recorder_watch(&r.recorder);
	watch_phase(&r.watch, PHASE_INIT);
	rc = join(&r);
	snprintf(r.run.culprits, sizeof(r.run.culprits), "%s", r.job.absent);
	if (rc < 0)
		return conclude(&r, rc, r.err.outcome != OUTCOME_ERROR && !r.job.alone);
	if (r.job.spare) {
		/* the launcher's number of this process is now another rank's */
		atomic_store(&p->memory->header.rank, -1);
		return conclude(&r, 0, true);
	}
	r.bench = (struct bench){
		.collective = p->collective,
		.options = p->options,
		.watch = &r.watch,
		.err = &r.err,
		.job = &r.job,
	};
	r.run.bench = &r.bench;
	watch_phase(&r.watch, PHASE_SETUP);
	rank_ask_nccl(&r);
	rc = prepare(&r);
	if (rc < 0)
		return conclude(&r, rc, true);
	r.bench.chain = (struct chain){ .backend = r.bench.backend,
					.watch = &r.watch,
					.filter = p->hooks.filter };
	if (p->injector) {
		r.faults = inject_filter(p->injector);
		r.bench.chain.filter = &r.faults;
	}
	return conclude(&r, measure(&r), false);
}
