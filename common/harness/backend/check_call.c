/* check_call.c: checks a finished call: receive and send buffer, guards, all ranks' results. */
#include "backend/check_call.h"

#include "base/call_value.h"
#include "check/check_classify.h"

static const struct segment *segment_of(const struct check_place *place, uint64_t element)
{
	for (int i = 0; i < place->nsegments; i++) {
		const struct segment *s = &place->segments[i];

		if (element >= s->at && element - s->at < s->count)
			return s;
	}
	return NULL;
}

/* Reports a wrong element at `at` to the watch; `segment` has its expected value. */
static int note_element(struct backend *be, const struct check_data *data,
			const struct check_place *place, const struct segment *segment,
			const char *at, struct wrong_data *wrong)
{
	size_t width = dtype_size(data->dtype);
	uint64_t index = place->base + wrong->index;
	int rc = be->ops->fetch(be, &wrong->got, at, width);

	if (rc < 0 || segment->kind == SEGMENT_KEEP)
		return rc;
	wrong->offset = place->base * width;
	wrong->dtype = data->dtype;
	wrong->from = segment->kind == SEGMENT_COPY ? segment->from : -1;
	if (segment->kind == SEGMENT_COPY)
		check_element(data, segment->from, index, &wrong->expected);
	else
		check_reduced(data, index, &wrong->expected);
	if (!wrong->sent || wrong->index < place->send_bytes / width) /* not its neighbours */
		watch_wrong(be->watch, wrong);
	return 0;
}

/* Reports each stretch by itself, since each may come from another rank. */
static int note_received(struct backend *be, const struct check_data *data,
			 const struct check_place *place, int culprit)
{
	int rc = 0;

	for (int i = 0; rc == 0 && be->watch && i < place->nsegments; i++) {
		const struct segment *s = &place->segments[i];
		struct wrong_data wrong = { .culprit = culprit };
		struct verify_result result = { 0, 0 };

		rc = be->ops->verify(be, place->recv, s, 1, data, place->base, &result);
		if (rc < 0 || result.wrong == 0)
			continue;
		wrong.count = result.wrong;
		wrong.index = s->from_at + (result.first - s->at);
		rc = note_element(be, data, place, s,
				  (const char *)place->recv +
					  result.first * dtype_size(data->dtype),
				  &wrong);
	}
	return rc;
}

static int check_recv(struct backend *be, const struct check_data *data,
		      const struct check_place *place, struct check_report *report)
{
	size_t width = dtype_size(data->dtype), n;
	unsigned char window[CHECK_WINDOW * 8];
	struct verify_result result = { 0, 0 };
	const struct segment *segment;
	int rc;

	if (!place->recv || place->nsegments == 0)
		return 0;
	rc = be->ops->verify(be, place->recv, place->segments, place->nsegments, data, place->base,
			     &result);
	if (rc < 0 || result.wrong == 0)
		return rc;
	report->wrong = result.wrong;
	report->element = result.first;
	report->kind = WRONG_OTHER;
	segment = segment_of(place, result.first);
	if (!segment)
		return 0;
	n = segment->count - (result.first - segment->at);
	n = n < CHECK_WINDOW ? n : CHECK_WINDOW;
	rc = be->ops->fetch(be, window, (const char *)place->recv + result.first * width,
			    n * width);
	if (rc < 0)
		return rc;
	check_classify(data, segment, place->base, result.first, n, window, report);
	return note_received(be, data, place, report->culprit);
}

/* Counts changed bytes of a guard; `offset`: from the receive buffer to its first byte. */
static void compare_guard(const unsigned char *guard, int64_t offset, struct check_report *report)
{
	for (int i = 0; i < CHECK_GUARD; i++) {
		if (guard[i] == CHECK_POISON || report->wrong++)
			continue;
		report->kind = WRONG_GUARD;
		report->element = (uint64_t)(offset + i);
		snprintf(report->expected, sizeof(report->expected), "0x%02x", CHECK_POISON);
		snprintf(report->got, sizeof(report->got), "0x%02x", guard[i]);
	}
}

static int check_guards(struct backend *be, const struct check_place *place,
			struct check_report *report)
{
	const char *recv = place->recv;
	unsigned char guard[CHECK_GUARD];
	int rc;

	if (!recv || !place->guards)
		return 0;
	rc = be->ops->fetch(be, guard, recv - CHECK_GUARD, CHECK_GUARD);
	if (rc < 0)
		return rc;
	compare_guard(guard, -CHECK_GUARD, report);
	rc = be->ops->fetch(be, guard, recv + place->recv_bytes, CHECK_GUARD);
	if (rc < 0)
		return rc;
	compare_guard(guard, (int64_t)place->recv_bytes, report);
	return 0;
}

/* Checks the send buffer and, with guards, its neighbours in the pool: all are elements of this
 * rank. Bytes before the pool's first element have no expected value and are left out. */
static int check_send(struct backend *be, const struct check_data *data, int rank,
		      const struct check_place *place, struct check_report *report)
{
	size_t width = dtype_size(data->dtype), count = place->send_bytes / width;
	size_t before = 0, after = 0;
	struct segment segment = { .kind = SEGMENT_COPY, .from = rank };
	struct verify_result result = { 0, 0 };
	struct wrong_data wrong = { .sent = true, .culprit = -1 };
	const char *first;
	int rc;

	if (!place->send || count == 0)
		return 0;
	if (place->guards) {
		after = CHECK_GUARD / width;
		before = place->base < after ? (size_t)place->base : after;
	}
	segment.count = before + count + after;
	first = (const char *)place->send - before * width;
	rc = be->ops->verify(be, first, &segment, 1, data, place->base - before, &result);
	if (rc < 0 || result.wrong == 0)
		return rc;
	wrong.count = result.wrong;
	wrong.index = result.first - before; /* negative as int64_t in front of the buffer */
	rc = note_element(be, data, place, &segment, first + result.first * width, &wrong);
	if (rc < 0)
		return rc;
	report->wrong = result.wrong;
	report->kind = WRONG_SEND;
	report->element = wrong.index;
	dtype_format(data->dtype, &wrong.expected, report->expected, sizeof(report->expected));
	dtype_format(data->dtype, &wrong.got, report->got, sizeof(report->got));
	return 0;
}

int check_call(struct backend *be, const struct check_data *data, int rank,
	       const struct check_place *place, struct check_report *report)
{
	struct check_report sent;
	int rc;

	memset(report, 0, sizeof(*report));
	report->rank = rank;
	report->culprit = -1;
	sent = *report;
	/* first: the most informative report, and the watch may have room for few */
	rc = check_send(be, data, rank, place, &sent);
	if (rc == 0)
		rc = check_recv(be, data, place, report);
	if (rc == 0 && report->wrong == 0)
		rc = check_guards(be, place, report);
	if (rc == 0 && report->wrong == 0)
		*report = sent;
	return rc;
}

int check_gather(struct job *job, struct check_report *report, int64_t *wrong)
{
	long long sums[2] = { (long long)report->wrong, report->wrong ? 1 : 0 };
	/* ranks still compare data; -T does not cut this */
	struct job_time former = job_extend_deadline(job, job->deadline);
	int from, rc = job_share(job, report->wrong > 0, report, sizeof(*report),
				 "the others' checks", &from);

	job_restore_deadline(job, former);
	if (rc < 0)
		return rc;
	if (from >= 0)
		report->rank = from;
	rc = job_sum_int64(job, sums, 2);
	*wrong = sums[0];
	report->ranks = (int32_t)sums[1];
	return rc;
}
