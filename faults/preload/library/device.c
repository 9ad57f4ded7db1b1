/* device.c: the device says how far it has come: stream-ordered writes into slots of record_times. No event,
 * no thread, no call of CUDA by whoever looks. */
#include <pthread.h>

#include "base/clock.h"
#include "preload/library/library.h"

typedef int register_fn(void *, size_t, unsigned);
typedef int pointer_fn(uint64_t *, void *, unsigned);
typedef int mode_fn(int *);
typedef int write_fn(void *, uint64_t, uint64_t, unsigned);
typedef int capturing_fn(void *, int *);
typedef int context_fn(void **);
typedef int push_fn(void *);

static uint64_t mapped; /* the device's address of the times, 0: it has none */
static write_fn *write_word;

/* Registering memory spoils a capture anywhere in the process, unless this thread says that it knows. */
static int register_times(struct session *s, register_fn *reg, mode_fn *exchange)
{
	struct record_memory *memory = s->recorder.memory;
	int mode = CU_CAPTURE_RELAXED, rc;

	if (exchange)
		exchange(&mode);
	rc = reg(memory->times, sizeof(memory->times), CU_HOST_REGISTER);
	if (exchange)
		exchange(&mode);
	return rc;
}

bool device_open(struct session *s)
{
	register_fn *reg = REAL(OF_CUDA, "cuMemHostRegister_v2", register_fn *);
	pointer_fn *pointer = REAL(OF_CUDA, "cuMemHostGetDevicePointer_v2", pointer_fn *);
	mode_fn *exchange = REAL(OF_CUDA, "cuThreadExchangeStreamCaptureMode", mode_fn *);
	static bool tried;
	int rc = -1;

	if (tried)
		return mapped != 0;
	tried = true;
	write_word = REAL(OF_CUDA, "cuStreamWriteValue64_v2", write_fn *);
	if (reg && pointer && write_word && (rc = register_times(s, reg, exchange)) == 0)
		rc = pointer(&mapped, s->recorder.memory->times, 0);
	if (rc != 0) {
		mapped = 0;
		say_once("the device cannot write into the record (%s %d): a call counts as done "
			 "when it has returned",
			 write_word ? "CUDA error" : "no cuStreamWriteValue64_v2", rc);
	}
	return mapped != 0;
}

bool device_captures(void *stream)
{
	capturing_fn *ask = REAL(OF_CUDA, "cuStreamIsCapturing", capturing_fn *);
	int status = 0;

	/* of stream 0 beside a capture it only says that it must not be touched */
	return ask && (ask(stream, &status) != 0 || status != 0);
}

/* Streams 0 to 2 are those of the current context. */
static int write_in(const struct session *s, int comm, void *stream, uint64_t word, uint64_t value)
{
	context_fn *current = REAL(OF_CUDA, "cuCtxGetCurrent", context_fn *);
	push_fn *push = REAL(OF_CUDA, "cuCtxPushCurrent_v2", push_fn *);
	context_fn *pop = REAL(OF_CUDA, "cuCtxPopCurrent_v2", context_fn *);
	void *now = NULL, *own = s->comms[comm].context;
	int rc;

	if (!own || !current || !push || !pop || current(&now) != 0 || now == own || push(own) != 0)
		return write_word(stream, word, value, 0);
	rc = write_word(stream, word, value, 0);
	pop(&now);
	return rc;
}

static void write_ticket(struct session *s, uint64_t ticket, int comm, void *stream)
{
	struct record_memory *memory = s->recorder.memory;
	struct record_times *times = &memory->times[ticket & (RECORD_RING - 1)];
	uint64_t offset = (uint64_t)((char *)times - (char *)memory->times) +
			  offsetof(struct record_times, done);

	if (mapped && write_in(s, comm, stream, mapped + offset, ticket) == 0)
		return;
	atomic_store_explicit(&times->done, ticket, memory_order_release);
}

/* ---- marks ---- */

/* A write costs the stream 5 us behind a small call, and more where others move data. Whoever blocks, asks or calls
 * next comes here first, so most calls need none of their own: only where the runtime is one that can be stood in
 * front of. */

static bool is_sparse(void)
{
	static void *kept;

	return mapped && resolve(OF_CUDART, "cudaStreamSynchronize", &kept);
}

static void set_until(struct session *s, uint64_t ticket, uint64_t until)
{
	atomic_store_explicit(&s->recorder.memory->times[ticket & (RECORD_RING - 1)].until, until,
			      memory_order_release);
}

/* The last call that is held on the stream stands for the others. Returns its ticket, 0: there is none. */
static uint64_t take_held(struct session *s, struct preload_stream *t, uint64_t now)
{
	uint64_t last = t->nheld ? t->held[t->nheld - 1] : 0;

	for (size_t i = 0; i < t->nheld; i++)
		set_until(s, t->held[i], t->held[i] == last ? 0 : last);
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
	set_until(s, ticket, RECORD_HELD);
	if (is_sparse() && t != &s->streams[255] && t->nheld < PRELOAD_HELD &&
	    now - t->marked_ns < MARK_NS)
		ticket = 0;
	else
		take_held(s, t, now);
	session_unlock();
	if (ticket)
		write_ticket(s, ticket, comm, stream);
}

/* No capture must hear of it. */
void device_flush(uint64_t age)
{
	mode_fn *exchange = REAL(OF_CUDA, "cuThreadExchangeStreamCaptureMode", mode_fn *);
	struct session *s = session_now();
	uint64_t now, ticket;
	int mode = CU_CAPTURE_RELAXED;

	if (!s || __atomic_load_n(&s->nheld, __ATOMIC_RELAXED) == 0)
		return;
	now = clock_ns();
	if (exchange)
		exchange(&mode);
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
	if (exchange)
		exchange(&mode);
}
