/* point.c: measures one point from start to end. */
#include "measure/point.h"

#include "base/clock.h"
#include "profiler/nccl_profiler.h"
#include "backend/check_call.h"

/* Extends deadlines: ranks compare their buffers alone, at different speeds. */
static void allow_data_time(struct measured *m)
{
	m->plan.bench->job->deadline = 10 + (double)m->plan.shape.bytes / CHECK_BYTES_PER_SECOND;
}

/* Fills in send data for every slot of a batch, and for the checked one. */
static int fill_pool(struct measured *m, struct checked_slot slot)
{
	struct bench *bench = m->plan.bench;
	struct buffers *b = &bench->buffers;
	size_t calls =
		(size_t)(m->timing.mode == MODE_ISOLATED ? m->timing.samples : m->timing.calls) *
		(size_t)bench->options->agg_iters;
	size_t slots = buffers_slots(b, m->plan.slot_bytes);
	size_t last = (calls < slots ? calls : slots) - 1;

	last = slot.index > last ? slot.index : last;
	return buffers_fill(b, &m->plan.data, bench->job->group_rank,
			    buffers_offset(b, m->plan.slot_bytes, last) + m->plan.slot_bytes);
}

/* Gathers a report; the point keeps the first failure. */
static int gather_report(struct measured *m, struct check_report *report)
{
	int64_t wrong;
	int rc = check_gather(m->plan.bench->job, report, &wrong);

	if (rc < 0)
		return rc;
	m->wrong_checks += report->ranks;
	m->row.wrong = (m->row.wrong < 0 ? 0 : m->row.wrong) + wrong;
	if (m->row.report.wrong == 0)
		m->row.report = *report;
	return 0;
}

static int check_slot(struct measured *m, struct checked_slot slot)
{
	const struct watch *watch = m->plan.bench->watch;
	struct check_report report = { 0 };
	int rc;

	allow_data_time(m);
	watch_phase(watch, PHASE_CHECK);
	watch_work(watch, "comparing data", m->plan.bench->job->deadline);
	rc = plan_check(&m->plan, slot, &report);
	watch_leave(watch);
	return rc < 0 ? rc : gather_report(m, &report);
}

static int prepare_slot(struct measured *m, struct checked_slot slot)
{
	struct bench *bench = m->plan.bench;
	int rc;

	allow_data_time(m);
	watch_phase(bench->watch, PHASE_SETUP);
	watch_work(bench->watch, "preparing buffers", bench->job->deadline);
	rc = fill_pool(m, slot);
	if (rc == 0)
		rc = plan_prepare(&m->plan, slot);
	if (rc == 0)
		rc = bench->backend->ops->wait(bench->backend);
	watch_leave(bench->watch);
	/* hosts fill at different speeds, and the next deadline may be short */
	return rc < 0 ? rc : job_await_work(bench->job, "the others' buffers");
}

/* Runs a timed batch whose last call is checked. */
static int checked_batch(struct measured *m)
{
	struct checked_slot slot = timing_last_slot(&m->timing);
	int rc = prepare_slot(m, slot);

	watch_phase(m->plan.bench->watch, PHASE_TIMED);
	if (rc == 0)
		rc = sampling_batch(&m->sampling, &slot);
	return rc < 0 ? rc : check_slot(m, slot);
}

/* Runs batches until the stop rule is met. The last batch is checked. With an adaptive rule that is
 * the first batch that may meet it, or one more, after which it must still be met. With
 * --like-nccl-tests none is checked. The last batch of -n may be longer than those before it; its
 * pages are touched, too. */
static int sample(struct measured *m)
{
	const struct options *o = m->plan.bench->options;
	bool like = o->like_nccl_tests, check = o->check > 0 && !like, checked = false;
	int rc = 0;

	while (rc == 0 && (!m->sampling.stop || (check && !checked))) {
		bool last = sampling_last_batch(&m->sampling) || m->sampling.stop;

		checked = o->check_every || (check && last);
		if (last && !checked && !like)
			rc = prepare_slot(m, (struct checked_slot){ .index = 0 });
		watch_phase(m->plan.bench->watch, PHASE_TIMED);
		if (rc == 0)
			rc = checked ? checked_batch(m) : sampling_batch(&m->sampling, NULL);
	}
	return rc;
}

/* Runs one more iteration after the timed calls, with NCCL's reports on. With `checked` its last
 * call runs on that slot. Its deadline is that of a first call. */
static int reported_once(struct measured *m, const struct checked_slot *checked)
{
	const struct bench *bench = m->plan.bench;
	struct nccl_choice used;
	int rc;

	if (!(bench->backend->ops->flags & BACKEND_DEVICE))
		return checked ? timing_once(&m->timing, checked, 0) : 0;
	nccl_profiler_ask(true);
	rc = timing_once(&m->timing, checked, timing_deadline(0, 0));
	nccl_profiler_ask(false);
	nccl_profiler_take(&used);
	m->row.used_algo = used.algo;
	m->row.used_proto = used.proto;
	/* calls of one group share the channels */
	m->row.used_channels = bench->options->agg_iters == 1 ? used.channels : -1;
	return rc;
}

/* -c: untimed calls of their own; the first, or one more, also reports algorithm and protocol. */
static int extra_checks(struct measured *m)
{
	const struct options *o = m->plan.bench->options;
	struct checked_slot slot = plan_last_slot(&m->plan, (size_t)o->agg_iters);
	int n = o->check_every || m->wrong_checks ? 0 : o->check, rc = 0;

	for (int i = 0; i < n && rc == 0 && m->wrong_checks == 0; i++) {
		rc = prepare_slot(m, slot);
		watch_phase(m->plan.bench->watch, PHASE_CHECK);
		if (rc == 0)
			rc = i == 0 ? reported_once(m, &slot) : timing_once(&m->timing, &slot, 0);
		if (rc == 0)
			rc = check_slot(m, slot);
	}
	watch_phase(m->plan.bench->watch, PHASE_CHECK);
	return n > 0 || rc < 0 ? rc : reported_once(m, NULL);
}

static void describe(struct measured *m, const struct point *point)
{
	const struct bench *bench = m->plan.bench;
	struct row *row = &m->row;

	row->schema = ROW_SCHEMA;
	row->collective = bench->collective->name;
	row->backend = bench->backend->ops->name;
	row->nranks = bench->job->group_size;
	row->nnodes = bench->job->nnodes;
	row->size = m->plan.shape.bytes;
	row->count = m->plan.shape.count;
	row->type = dtype_name(point->dtype);
	row->redop = redop_name(point->op);
	row->root = point->root;
	row->placement = m->plan.in_place ? "in-place" : "out-of-place";
	row->mode = mode_name(m->timing.mode);
	row->wrong = -1;
	row->used_channels = -1;
	row->waited_us = NAN;
}

/* Sets GB/s from bytes and microseconds (nccl-tests: 1e9 bytes per second). */
static void put_bandwidth(struct measured *m)
{
	const struct collective *c = m->plan.collective;
	const struct geometry *g = &m->plan.geometry;
	struct row *row = &m->row;
	double bytes = c->alg_bytes ? c->alg_bytes(g, &m->plan.shape) : (double)row->size;

	row->algbw_gbs = row->time_us > 0 ? bytes / row->time_us / 1e3 : 0;
	row->busbw_gbs = row->algbw_gbs * (c->bus_factor ? c->bus_factor(g) : 1);
}

static void finish(struct measured *m)
{
	if (m->plan.bench->job->rank == 0)
		sampling_finish(&m->sampling, &m->row);
	put_bandwidth(m);
	clock_local(m->row.timestamp, sizeof(m->row.timestamp), CLOCK_ISO);
	m->row.warmup_calls = m->timing.warm_calls;
	m->plan.bench->last_seconds = m->timing.slowest;
	m->plan.bench->last_bytes = m->plan.shape.bytes;
}

/* Estimates a call by the previous point: the same time, or longer by the ratio of bytes. */
static double expected(const struct measured *m)
{
	const struct bench *bench = m->plan.bench;
	double ratio =
		bench->last_bytes ? (double)m->plan.shape.bytes / (double)bench->last_bytes : 0;

	return bench->last_seconds * (ratio > 1 ? ratio : 1);
}

/* Broadcasts rank 0's prediction of a call, for deadlines. */
static int predict(struct measured *m)
{
	const struct bench *bench = m->plan.bench;
	struct row row = m->row;
	double seconds = 0;

	if (!bench->predicted)
		return 0;
	if (bench->predictor) {
		row_no_prediction(&row);
		bench->predictor->row(bench->predictor->ctx, &row);
		seconds = isfinite(row.predicted_us) ? row.predicted_us * 1e-6 : 0;
	}
	m->timing.predicted = seconds;
	return job_bcast(bench->job, &m->timing.predicted, sizeof(m->timing.predicted));
}

static int measure(struct measured *m)
{
	bool like = m->plan.bench->options->like_nccl_tests;
	int rc = predict(m);

	if (rc == 0)
		rc = prepare_slot(m, (struct checked_slot){ .index = 0 });
	if (rc == 0)
		rc = timing_warm_up(&m->timing);
	if (rc == 0)
		sampling_init(&m->sampling, &m->timing);
	if (rc == 0 && !like)
		rc = prepare_slot(m, (struct checked_slot){ .index = 0 });
	if (rc == 0)
		rc = sample(m);
	if (rc == 0)
		rc = extra_checks(m);
	if (rc == 0)
		finish(m);
	return rc;
}

int point_measure(struct bench *bench, const struct point *point, bool in_place, struct measured *m)
{
	int rc;

	memset(m, 0, sizeof(*m));
	rc = plan_init(&m->plan, bench, point, in_place);
	m->timing = (struct timing){ .plan = &m->plan,
				     .mode = bench->options->mode,
				     .calls = 1,
				     .samples = 1,
				     .launches = 1 };
	m->timing.expected = expected(m);
	describe(m, point);
	if (rc == 0)
		rc = measure(m);
	timing_release(&m->timing);
	plan_release(&m->plan);
	return rc;
}

void point_release(struct measured *m)
{
	sampling_release(&m->sampling);
}
