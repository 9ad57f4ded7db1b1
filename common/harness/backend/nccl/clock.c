/* clock.c: device times of calls on the scale of CLOCK_MONOTONIC. */

#include "backend/nccl/ops.h"
#include "base/clock.h"

enum {
	SPANS = 512,	   /* most pairs of events in flight */
	SPAN_TICKETS = 32, /* calls of one group that get times */
	BASE_TRIES = 3,
	MARKS = 1024
};

/* A base this late is precise enough: a launch and its completion as a spinning host sees them. */
static const uint64_t base_width_ns = 20000;

/* cudaEventElapsedTime gives float milliseconds: 0.06 us one second away from the base. */
static const uint64_t base_life_ns = 1000000000;

/* Limit for the wait for work before the last call. */
static const uint64_t start_ns = 100000000;

struct span {
	cudaEvent_t start, stop;
	int ntickets;
	uint64_t tickets[SPAN_TICKETS];
};

struct device_clock {
	cudaStream_t stream;
	const struct watch *watch;
	cudaEvent_t base;
	uint64_t base_ns;
	uint64_t head, tail; /* spans recorded and harvested; the ring holds tail..head */
	uint64_t started;    /* number of spans reported as begun, at least */
	bool open;	     /* between begin and end, with a span */
	struct span spans[SPANS];
};

/* The base event lies between two readings of the host's clock; the middle is used. */
static cudaError_t base_take(struct device_clock *clock)
{
	for (int i = 0; i < BASE_TRIES; i++) {
		uint64_t before = clock_ns(), after;
		cudaError_t rc = cudaEventRecord(clock->base, clock->stream);

		if (rc == cudaSuccess)
			rc = cudaEventSynchronize(clock->base);
		if (rc != cudaSuccess)
			return rc;
		after = clock_ns();
		clock->base_ns = before + (after - before) / 2;
		if (after - before <= base_width_ns)
			break;
	}
	return cudaSuccess;
}

cudaError_t device_clock_open(struct device_clock **out, cudaStream_t stream,
			      const struct watch *watch)
{
	struct device_clock *clock = calloc(1, sizeof(*clock));
	cudaError_t rc;

	*out = NULL;
	if (!clock)
		return cudaErrorMemoryAllocation;
	clock->stream = stream;
	clock->watch = watch;
	rc = cudaEventCreate(&clock->base);
	for (int i = 0; rc == cudaSuccess && i < SPANS; i++) {
		rc = cudaEventCreate(&clock->spans[i].start);
		if (rc == cudaSuccess)
			rc = cudaEventCreate(&clock->spans[i].stop);
	}
	if (rc == cudaSuccess)
		rc = base_take(clock);
	if (rc == cudaSuccess)
		*out = clock;
	else
		device_clock_close(clock);
	return rc;
}

void device_clock_close(struct device_clock *clock)
{
	if (!clock)
		return;
	for (int i = 0; i < SPANS; i++) {
		if (clock->spans[i].start)
			cudaEventDestroy(clock->spans[i].start);
		if (clock->spans[i].stop)
			cudaEventDestroy(clock->spans[i].stop);
	}
	if (clock->base)
		cudaEventDestroy(clock->base);
	free(clock);
}

cudaError_t device_clock_begin(struct device_clock *clock)
{
	struct span *span = &clock->spans[clock->head % SPANS];
	cudaError_t rc;

	if (clock->head - clock->tail == SPANS) {
		rc = device_clock_harvest(clock);
		if (rc != cudaSuccess || clock->head - clock->tail == SPANS)
			return rc;
	}
	span->ntickets = 0;
	clock->open = true;
	return cudaSuccess;
}

cudaError_t device_clock_launch(struct device_clock *clock)
{
	struct span *span = &clock->spans[clock->head % SPANS];
	cudaError_t rc = cudaSuccess;

	if (clock->open)
		rc = cudaEventRecord(span->start, clock->stream);
	clock->open = clock->open && rc == cudaSuccess;
	return rc;
}

void device_clock_ticket(struct device_clock *clock, uint64_t ticket)
{
	struct span *span = &clock->spans[clock->head % SPANS];

	if (clock->open && span->ntickets < SPAN_TICKETS)
		span->tickets[span->ntickets++] = ticket;
}

cudaError_t device_clock_end(struct device_clock *clock)
{
	cudaError_t rc;

	if (!clock->open)
		return cudaSuccess;
	clock->open = false;
	rc = cudaEventRecord(clock->spans[clock->head % SPANS].stop, clock->stream);
	if (rc == cudaSuccess)
		clock->head++;
	return rc;
}

cudaError_t device_clock_started(struct device_clock *clock)
{
	const uint64_t give_up = clock_ns() + start_ns;
	cudaError_t rc;

	if (clock->head == clock->tail)
		return cudaSuccess;
	do
		rc = cudaEventQuery(clock->spans[(clock->head - 1) % SPANS].start);
	while (rc == cudaErrorNotReady && clock_ns() < give_up);
	return rc == cudaErrorNotReady ? cudaSuccess : rc;
}

static cudaError_t event_ns(const struct device_clock *clock, cudaEvent_t event, uint64_t *ns)
{
	float ms = 0;
	cudaError_t rc = cudaEventElapsedTime(&ms, clock->base, event);

	*ns = clock->base_ns + (uint64_t)(int64_t)((double)ms * 1e6);
	return rc;
}

static void report(const struct device_clock *clock, const struct span *span, uint64_t start,
		   uint64_t end)
{
	const struct watch *watch = clock->watch;

	for (int i = 0; watch && watch->device_times && i < span->ntickets; i++)
		watch->device_times(watch->ctx, span->tickets[i], start, end);
}

/* Reports spans whose begin the stream has passed and whose end it has not. */
static cudaError_t harvest_started(struct device_clock *clock)
{
	if (clock->started < clock->tail)
		clock->started = clock->tail;
	for (; clock->started != clock->head; clock->started++) {
		struct span *span = &clock->spans[clock->started % SPANS];
		cudaError_t rc = cudaEventQuery(span->start);
		uint64_t start = 0;

		if (rc == cudaErrorNotReady)
			return cudaSuccess;
		if (rc == cudaSuccess)
			rc = event_ns(clock, span->start, &start);
		if (rc != cudaSuccess)
			return rc;
		report(clock, span, start, 0);
	}
	return cudaSuccess;
}

cudaError_t device_clock_harvest(struct device_clock *clock)
{
	for (; clock->tail != clock->head; clock->tail++) {
		struct span *span = &clock->spans[clock->tail % SPANS];
		cudaError_t rc = cudaEventQuery(span->stop);
		uint64_t start = 0, end = 0;

		if (rc == cudaErrorNotReady)
			return harvest_started(clock);
		if (rc == cudaSuccess)
			rc = event_ns(clock, span->start, &start);
		if (rc == cudaSuccess)
			rc = event_ns(clock, span->stop, &end);
		if (rc != cudaSuccess)
			return rc;
		report(clock, span, start, end);
	}
	return cudaSuccess;
}

cudaError_t device_clock_refresh(struct device_clock *clock)
{
	if (clock_ns() - clock->base_ns < base_life_ns || clock->tail != clock->head)
		return cudaSuccess;
	return base_take(clock);
}

static cudaError_t marks_make(struct nccl *nccl)
{
	cudaError_t rc = cudaSuccess;

	nccl->marks = calloc(MARKS, sizeof(*nccl->marks));
	if (!nccl->marks)
		return cudaErrorMemoryAllocation;
	for (int i = 0; rc == cudaSuccess && i < MARKS; i++)
		rc = cudaEventCreate(&nccl->marks[i]);
	return rc;
}

void nccl_marks_release(struct nccl *nccl)
{
	for (int i = 0; nccl->marks && i < MARKS; i++) {
		if (nccl->marks[i])
			cudaEventDestroy(nccl->marks[i]);
	}
	free(nccl->marks);
	nccl->marks = NULL;
}

int nccl_mark(struct backend *be, int number)
{
	struct nccl *nccl = to_nccl(be);
	cudaError_t rc = nccl->marks ? cudaSuccess : marks_make(nccl);

	if (number < 0 || number >= MARKS)
		return error_set(be->err, OUTCOME_INTERNAL, -EINVAL, "there is no mark %d", number);
	if (rc == cudaSuccess)
		rc = cudaEventRecord(nccl->marks[number], nccl->stream);
	return rc == cudaSuccess ? 0 : nccl_cuda_fail(nccl, "recording an event", rc);
}

int nccl_between(struct backend *be, int n, double *seconds)
{
	struct nccl *nccl = to_nccl(be);

	for (int i = 0; nccl->marks && i + 1 < n && i + 1 < MARKS; i++) {
		float ms = 0;
		cudaError_t rc = cudaEventElapsedTime(&ms, nccl->marks[i], nccl->marks[i + 1]);

		if (rc != cudaSuccess)
			return nccl_cuda_fail(nccl, "reading an event", rc);
		seconds[i] = (double)ms * 1e-3;
	}
	return 0;
}
