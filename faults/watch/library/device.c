/* device.c: the device marks how far it has come, by stream-ordered writes into slots of
 * record_times. There is no event and no thread, and observers make no call of CUDA. */
#include <pthread.h>

#include "base/clock.h"
#include "library/library.h"

/* Exchanges `mode` for the thread's capture mode. In the default mode registering memory, or a
 * write, breaks a capture anywhere in the process. */
static void exchange_mode(int *mode)
{
	CALL(OF_CUDA, "cuThreadExchangeStreamCaptureMode", (int *), (mode));
}

bool device_open(struct session *s)
{
	struct record_times *times = s->recorder.memory->times;
	int mode = CU_CAPTURE_RELAXED, rc = -1;
	static void *kept;

	if (s->opened)
		return s->mapped != 0;
	s->opened = true;
	exchange_mode(&mode);
	if (resolve(OF_CUDA, "cuStreamWriteValue64_v2", &kept))
		rc = CALL(OF_CUDA, "cuMemHostRegister_v2", (void *, size_t, unsigned),
			  (times, sizeof(s->recorder.memory->times), CU_HOST_REGISTER));
	exchange_mode(&mode);
	if (rc == 0)
		rc = CALL(OF_CUDA, "cuMemHostGetDevicePointer_v2", (uint64_t *, void *, unsigned),
			  (&s->mapped, times, 0));
	if (rc != 0) {
		s->mapped = 0;
		say_once("the device cannot write into the record (%s %d): a call counts as done "
			 "when it has returned",
			 kept ? "CUDA error" : "no cuStreamWriteValue64_v2", rc);
	}
	return s->mapped != 0;
}

bool device_captures(void *stream)
{
	static void *kept;
	int status = 0;

	/* of stream 0 beside a capture it only says that it must not be touched */
	return resolve(OF_CUDA, "cuStreamIsCapturing", &kept) &&
	       (((int (*)(void *, int *))kept)(stream, &status) != 0 || status != 0);
}

void device_enter(const struct session *s, int comm, void *stream, struct device_scope *scope)
{
	void *now = NULL, *own = s->comms[comm].context;

	/* streams 0 to 2 are those of the current context */
	if (!own)
		CALL(OF_CUDA, "cuStreamGetCtx", (void *, void **), (stream, &own));
	scope->mode = CU_CAPTURE_RELAXED;
	exchange_mode(&scope->mode);
	scope->other = own && CALL(OF_CUDA, "cuCtxGetCurrent", (void **), (&now)) == 0 &&
		       now != own && CALL(OF_CUDA, "cuCtxPushCurrent_v2", (void *), (own)) == 0;
}

void device_leave(struct device_scope *scope)
{
	void *none;

	if (scope->other)
		CALL(OF_CUDA, "cuCtxPopCurrent_v2", (void **), (&none));
	exchange_mode(&scope->mode);
}

static int write_in(const struct session *s, int comm, void *stream, uint64_t word, uint64_t value)
{
	struct device_scope scope;
	int rc;

	device_enter(s, comm, stream, &scope);
	rc = CALL(OF_CUDA, "cuStreamWriteValue64_v2", (void *, uint64_t, uint64_t, unsigned),
		  (stream, word, value, 0));
	device_leave(&scope);
	return rc;
}

/* The device's address of a word of record_times. */
static uint64_t on_device(const struct session *s, const _Atomic uint64_t *word)
{
	return s->mapped + (uint64_t)((const char *)word - (char *)s->recorder.memory->times);
}

static void write_ticket(struct session *s, uint64_t ticket, int comm, void *stream)
{
	_Atomic uint64_t *done = &times_of(s, ticket)->done;

	if (!s->mapped || write_in(s, comm, stream, on_device(s, done), ticket) != 0)
		record_publish(done, ticket);
}

void device_before(struct session *s, uint64_t ticket, void *stream, int comm)
{
	_Atomic uint64_t *start = &times_of(s, ticket)->start_ns;
	uint64_t now = clock_ns();
	struct preload_stream *t;
	bool due;

	session_lock();
	t = &s->streams[session_stream(s, stream)];
	due = s->mapped && t != &s->streams[255] && now - t->before_ns >= BEFORE_NS;
	if (due)
		t->before_ns = now;
	session_unlock();
	if (!due)
		return;
	record_publish(start, RECORD_AHEAD);
	if (write_in(s, comm, stream, on_device(s, start), now) != 0)
		record_publish(start, 0);
}

/* A write costs the stream 5 us behind a small call, and more where others move data. Most calls
 * need none of their own: a thread that waits for the stream, asks for it or makes the next call
 * writes the mark first. Where no such call was seen lately (CUDA's driver, a static runtime),
 * every call is marked. */
#define LATELY_NS 300000000ull

static _Atomic uint64_t asked_ns;

/* The last call that is held on the stream stands for the others. Its ticket, 0: none. */
static uint64_t take_held(struct session *s, struct preload_stream *t, uint64_t now)
{
	uint64_t last = t->nheld ? t->held[t->nheld - 1] : 0;

	for (size_t i = 0; i < t->nheld; i++)
		record_publish(&times_of(s, t->held[i])->covered_by, t->held[i] == last ? 0 : last);
	__atomic_sub_fetch(&s->nheld, t->nheld, __ATOMIC_RELAXED);
	t->nheld = 0;
	t->marked_ns = now;
	return last;
}

void device_done(struct session *s, uint64_t ticket, int comm, void *stream)
{
	struct preload_stream *t;
	uint64_t now = clock_ns();

	session_lock();
	t = &s->streams[session_stream(s, stream)];
	t->comm = comm;
	t->held[t->nheld++] = ticket;
	__atomic_add_fetch(&s->nheld, 1, __ATOMIC_RELAXED);
	record_publish(&times_of(s, ticket)->covered_by, RECORD_UNMARKED);
	if (s->mapped && t != &s->streams[255] && t->nheld < PRELOAD_HELD &&
	    now - t->marked_ns < MARK_NS && now - asked_ns < LATELY_NS)
		ticket = 0;
	else
		take_held(s, t, now);
	session_unlock();
	if (ticket)
		write_ticket(s, ticket, comm, stream);
}

static void flush(struct session *s, uint64_t age)
{
	uint64_t now = clock_ns(), ticket;
	int mode = CU_CAPTURE_RELAXED;

	exchange_mode(&mode);
	for (int i = 0; i < s->nstreams; i++) {
		struct preload_stream *t = &s->streams[i];

		if (t->nheld == 0 || now - t->marked_ns < age || device_captures(t->handle))
			continue;
		session_lock();
		ticket = take_held(s, t, now);
		session_unlock();
		if (ticket)
			write_ticket(s, ticket, t->comm, t->handle);
	}
	exchange_mode(&mode);
}

void device_flush(uint64_t age)
{
	struct session *s;

	if (session_nth(0))
		atomic_store_explicit(&asked_ns, clock_ns(), memory_order_relaxed);
	for (int k = 0; (s = session_nth(k)); k++) {
		if (__atomic_load_n(&s->nheld, __ATOMIC_RELAXED) > 0)
			flush(s, age);
		stamps_read(s);
	}
}
