/* check_call.c: the check of one finished call: receive buffer, guards, send buffer. */
#include "backend/check_call.h"

#include <stdio.h>
#include <string.h>

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
	return 0;
}

/* Count changed bytes of one guard, whose first byte is `offset` bytes from the receive buffer. */
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

/* The send buffer and, with guards, its neighbours in the pool: all are elements of this rank, so
 * one comparison does. What lies before the first element of the pool belongs to nobody and is left
 * out. */
static int check_send(struct backend *be, const struct check_data *data, int rank,
		      const struct check_place *place, struct check_report *report)
{
	size_t width = dtype_size(data->dtype), count = place->send_bytes / width;
	size_t before = 0, after = 0;
	struct segment segment = { .kind = SEGMENT_COPY, .from = rank };
	struct verify_result result = { 0, 0 };
	unsigned char got[8], good[8];
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
	rc = be->ops->fetch(be, got, first + result.first * width, width);
	if (rc < 0)
		return rc;
	check_element(data, rank, place->base - before + result.first, good);
	report->wrong = result.wrong;
	report->kind = WRONG_SEND;
	report->element = result.first - before; /* as int64_t below zero in front of the buffer */
	dtype_format(data->dtype, good, report->expected, sizeof(report->expected));
	dtype_format(data->dtype, got, report->got, sizeof(report->got));
	return 0;
}

int check_call(struct backend *be, const struct check_data *data, int rank,
	       const struct check_place *place, struct check_report *report)
{
	int rc;

	memset(report, 0, sizeof(*report));
	report->rank = rank;
	report->culprit = -1;
	rc = check_recv(be, data, place, report);
	if (rc == 0 && report->wrong == 0)
		rc = check_guards(be, place, report);
	if (rc == 0 && report->wrong == 0)
		rc = check_send(be, data, rank, place, report);
	return rc;
}
