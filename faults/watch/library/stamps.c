/* stamps.c: when a rank's stream came to a call, and when it was past it: two events about each of the calls that are
 * sampled, read where the program comes by anyway. Nothing waits for the device.
 *
 * Own time is what lies between calls. It is known only where all calls of the rank in between have times, on all its
 * communicators: a peer of the slow rank waits in one call and is late to the next. So calls are sampled in blocks,
 * in which every call of the rank is stamped; another block is another part (record_sample). */
#include "base/clock.h"
#include "library/library.h"

#define BLOCK 8 /* calls of a communicator that are sampled together */
/* Stamped calls a second: each costs 11 us of the host (two H200) and 6 of its stream. */
#define ALLOWANCE  50.0
#define RATE_SHIFT 4	       /* so many times fewer than the recorder's samples of hosts */
#define AT_ONCE	   500.0       /* and so many at once, as at the beginning */
#define READ_NS	   5000000ull  /* from one look at them to the next */
#define ANCHOR_NS  500000000.0 /* a float of milliseconds resolves 0.03 us so far from the anchor */

static void give_up(struct session *s)
{
	__atomic_store_n(&s->stamps.broken, true, __ATOMIC_RELAXED);
}

/* Returns true if this call belongs to a block of its own communicator, or another one's is open. */
static bool in_block(struct session *s, const struct made *made, uint64_t seq)
{
	struct preload_comm *c = &s->comms[made->number];
	unsigned shift = s->stamps.spent < AT_ONCE / 2 ? 0 : s->recorder.shift + RATE_SHIFT;
	bool due = !call_is_pair(made->kind) && record_sampled(c->id, seq / BLOCK, shift);

	if (due != c->sampled) {
		c->sampled = due;
		s->stamps.open += due ? 1 : -1;
	}
	return s->stamps.open > 0;
}

static bool is_allowed(struct stamps *st, uint64_t now)
{
	st->spent -= (double)(now - st->allowed_ns) * 1e-9 * ALLOWANCE;
	st->spent = st->spent > 0 ? st->spent : 0;
	st->allowed_ns = now;
	if (st->spent + 1 > AT_ONCE)
		return false;
	st->spent += 1;
	return true;
}

static bool is_broken(const struct stamps *st)
{
	return __atomic_load_n(&st->broken, __ATOMIC_RELAXED);
}

static struct stamp *take(struct session *s, const struct made *made, uint64_t now)
{
	struct stamps *st = &s->stamps;
	struct stamp *stamp;

	if (is_broken(st) || made->replayed ||
	    !in_block(s, made, s->recorder.memory->header.comms[made->number].seq) ||
	    !is_allowed(st, now) ||
	    st->head - __atomic_load_n(&st->tail, __ATOMIC_ACQUIRE) == PRELOAD_STAMPS) {
		st->hole = true;
		return NULL;
	}
	st->part += st->hole;
	st->hole = false;
	stamp = &st->ring[st->head % PRELOAD_STAMPS];
	stamp->state = STAMP_BEGUN;
	stamp->part = st->part;
	stamp->calls = 0;
	stamp->comm = made->number;
	stamp->stream = made->stream;
	stamp->enqueued_ns = now;
	__atomic_store_n(&st->head, st->head + 1, __ATOMIC_RELEASE);
	return stamp;
}

struct stamp *stamp_take(struct session *s, const struct made *made)
{
	struct preload_comm *c = &s->comms[made->number];
	struct stamp *stamp = __atomic_load_n(&c->stamp, __ATOMIC_RELAXED);

	if (!stamp) {
		stamp = take(s, made, clock_ns());
		__atomic_store_n(&c->stamp, stamp, __ATOMIC_RELAXED);
		made = NULL;
	}
	if (stamp)
		stamp->calls++;
	return made ? NULL : stamp;
}

static void set_state(struct stamp *stamp, enum stamp_state state)
{
	__atomic_store_n(&stamp->state, state, __ATOMIC_RELEASE);
}

/* Records one of the stamp's events, made at its first use. Returns true if the stream has it. */
static bool record_event(struct session *s, const struct stamp *stamp, void **event)
{
	struct device_scope scope;
	int rc = 0;

	device_enter(s, stamp->comm, stamp->stream, &scope);
	if (!*event)
		rc = CALL(OF_CUDA, "cuEventCreate", (void **, unsigned), (event, 0));
	if (rc == 0)
		rc = CALL(OF_CUDA, "cuEventRecord", (void *, void *), (*event, stamp->stream));
	device_leave(&scope);
	if (rc != 0)
		give_up(s);
	return rc == 0;
}

void stamp_begin(struct session *s, struct stamp *stamp)
{
	if (!record_event(s, stamp, &stamp->begin))
		__atomic_store_n(&s->comms[stamp->comm].stamp, NULL, __ATOMIC_RELAXED);
}

void stamp_end(struct session *s, uint64_t ticket, int comm, bool launched)
{
	struct preload_comm *c = &s->comms[comm];
	struct stamp *stamp = __atomic_exchange_n(&c->stamp, NULL, __ATOMIC_RELAXED);

	if (!stamp)
		return;
	stamp->ticket = ticket;
	if (launched && record_event(s, stamp, &stamp->end)) {
		set_state(stamp, STAMP_ENDED);
		return;
	}
	/* when it starts, or whether, is not known */
	set_state(stamp, STAMP_VOID);
	s->stamps.hole = true;
}

void stamp_comm_ends(struct session *s, int comm)
{
	struct preload_comm *c = &s->comms[comm];
	struct stamp *stamp = __atomic_exchange_n(&c->stamp, NULL, __ATOMIC_RELAXED);

	s->stamps.open -= c->sampled;
	c->sampled = false;
	if (stamp)
		set_state(stamp, STAMP_VOID);
}

static int elapsed(float *ms, void *from, void *to)
{
	return CALL(OF_CUDA, "cuEventElapsedTime", (float *, void *, void *), (ms, from, to));
}

static int event_ns(const struct stamps *st, void *event, double *ns)
{
	float ms = 0;
	int rc = elapsed(&ms, st->anchor, event);

	*ns = st->anchor_ns + (double)ms * 1e6;
	return rc;
}

/* The event of a past time from which others are counted moves along with them. */
static void move_anchor(struct stamps *st, struct stamp *stamp, double ns)
{
	void *former = st->anchor;

	if (former && ns - st->anchor_ns < ANCHOR_NS)
		return;
	st->anchor = stamp->end;
	st->anchor_ns = ns;
	stamp->end = former;
}

/* Asking for the time between two events costs 3.5 us, and says where one is still to come. */
static bool read_stamp(struct session *s, struct stamp *stamp)
{
	struct stamps *st = &s->stamps;
	double begin = (double)stamp->enqueued_ns, end = begin;
	int rc = 0;

	if (!st->anchor) {
		float ms = 0;

		rc = elapsed(&ms, stamp->begin, stamp->end);
		end += (double)ms * 1e6;
	} else {
		rc = event_ns(st, stamp->end, &end);
		rc = rc == 0 ? event_ns(st, stamp->begin, &begin) : rc;
	}
	if (rc != 0 && rc != CU_NOT_READY)
		give_up(s);
	if (rc != 0)
		return false;
	recorder_stamp(&s->recorder, stamp->ticket, stamp->calls, stamp->part, (uint64_t)begin,
		       (uint64_t)end);
	move_anchor(st, stamp, end);
	return true;
}

void stamps_read(struct session *s)
{
	struct stamps *st = &s->stamps;
	uint64_t now = clock_ns();
	int mode = CU_CAPTURE_RELAXED;

	if (is_broken(st) || st->tail == __atomic_load_n(&st->head, __ATOMIC_ACQUIRE) ||
	    now - __atomic_load_n(&st->read_ns, __ATOMIC_RELAXED) < READ_NS ||
	    __atomic_exchange_n(&st->reading, 1, __ATOMIC_ACQUIRE))
		return;
	__atomic_store_n(&st->read_ns, now, __ATOMIC_RELAXED);
	CALL(OF_CUDA, "cuThreadExchangeStreamCaptureMode", (int *), (&mode));
	while (!is_broken(st) && st->tail != __atomic_load_n(&st->head, __ATOMIC_ACQUIRE)) {
		struct stamp *stamp = &st->ring[st->tail % PRELOAD_STAMPS];
		enum stamp_state state = __atomic_load_n(&stamp->state, __ATOMIC_ACQUIRE);

		if (state == STAMP_BEGUN || (state == STAMP_ENDED && !read_stamp(s, stamp)))
			break;
		__atomic_store_n(&st->tail, st->tail + 1, __ATOMIC_RELEASE);
	}
	CALL(OF_CUDA, "cuThreadExchangeStreamCaptureMode", (int *), (&mode));
	__atomic_store_n(&st->reading, 0, __ATOMIC_RELEASE);
}
