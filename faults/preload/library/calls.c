/* calls.c: a call on its way to NCCL: recorded before, marked on its stream after. What is grouped starts, and
 * is marked, when the outermost group ends. */

#include "preload/library/library.h"

static enum dtype dtype_of(int type)
{
	static const enum dtype types[] = { DT_INT8,   DT_UINT8,    DT_INT32,  DT_UINT32,
					    DT_INT64,  DT_UINT64,   DT_HALF,   DT_FLOAT,
					    DT_DOUBLE, DT_BFLOAT16, DT_F8E4M3, DT_F8E5M2 };

	return type >= 0 && (size_t)type < sizeof(types) / sizeof(types[0]) ? types[type] : DT_INT8;
}

static enum redop redop_of(const struct made *made)
{
	bool reduces = made->kind == CALL_ALL_REDUCE || made->kind == CALL_REDUCE ||
		       made->kind == CALL_REDUCE_SCATTER;

	if (!reduces)
		return OP_NONE;
	return made->op >= 0 && made->op <= 4 ? (enum redop)made->op : OP_MULSUM;
}

/* The group's calls are kept until it ends. Without memory the call counts as done. */
static void keep(struct session *s, struct preload_thread *t, const struct made *made)
{
	if (t->ncalls == t->room) {
		size_t room = t->room ? 2 * t->room : 64;
		struct preload_call *calls = realloc(t->calls, room * sizeof(*calls));

		if (!calls) {
			s->recorder.memory->times[made->ticket & (RECORD_RING - 1)].done =
				made->ticket;
			return;
		}
		t->calls = calls;
		t->room = room;
	}
	t->calls[t->ncalls++] = (struct preload_call){ made->ticket, made->number, made->stream };
}

/* What the device is past, so that observers begin there. */
static void catch_up(struct session *s)
{
	struct record_header *h = &s->recorder.memory->header;
	uint64_t done = record_device_completed(s->recorder.memory, h->completed_ticket);

	atomic_store_explicit(&h->completed_ticket, done, memory_order_release);
}

/* The program made another call: has the last one been launched? */
static void ask_held(struct session *s, int comm)
{
	int (*ask)(void *, int *) = REAL(OF_NCCL, "ncclCommGetAsyncError", int (*)(void *, int *));
	int state = NCCL_IN_PROGRESS;

	preload_thread.inside++;
	if (ask && ask(s->comms[comm].handle, &state) == NCCL_SUCCESS && state != NCCL_IN_PROGRESS)
		calls_release_held(s, comm);
	preload_thread.inside--;
}

void call_record(struct session *s, struct made *made)
{
	struct preload_thread *t = &preload_thread;
	struct call call = { .comm = (uint32_t)made->number,
			     .kind = made->kind,
			     .count = made->count,
			     .dtype = dtype_of(made->type),
			     .op = redop_of(made),
			     .peer = made->peer };

	made->recorded = true;
	if (s->comms[made->number].held)
		ask_held(s, made->number);
	session_lock();
	call.stream = session_stream(s, made->stream);
	s->recorder.depth = t->depth;
	made->ticket = s->watch.call(s->watch.ctx, &call);
	catch_up(s);
	session_unlock();
	t->inside++;
}

bool call_begin(struct made *made, int *rc)
{
	struct session *s = session_now();
	bool known = s && (made->number = session_comm(s, made->comm)) >= 0;

	if (known && device_captures(made->stream))
		graph_captured(made);
	else if (known && s->armed && !inject(s, made, rc))
		return false;
	else if (known)
		call_record(s, made);
	return true;
}

int call_end(struct made *made, int rc)
{
	struct preload_thread *t = &preload_thread;
	struct session *s = session_now();

	if (!made->recorded || !s)
		return rc;
	t->inside--;
	session_lock();
	s->watch.returned(s->watch.ctx, made->ticket,
			  rc == NCCL_SUCCESS || rc == NCCL_IN_PROGRESS ? 0 : -1);
	session_unlock();
	if (t->depth > 0)
		keep(s, t, made);
	else
		calls_mark(s, &(struct preload_call){ made->ticket, made->number, made->stream }, 1,
			   rc);
	return rc;
}

/* ---- what the device will say ---- */

static void set_word(_Atomic uint64_t *word, uint64_t value)
{
	atomic_store_explicit(word, value, memory_order_release);
}

static struct record_times *times_of(struct session *s, uint64_t ticket)
{
	return &s->recorder.memory->times[ticket & (RECORD_RING - 1)];
}

static bool together(const struct preload_call *a, const struct preload_call *b)
{
	return a->comm == b->comm && a->stream == b->stream;
}

/* The call that stands for this one: the last of the communicator's on its stream. */
static const struct preload_call *last_like(const struct preload_call *calls, size_t n,
					    const struct preload_call *call)
{
	for (size_t i = n; i-- > 0;)
		if (together(&calls[i], call))
			return &calls[i];
	return call;
}

/* A non-blocking communicator's kernel is launched later, by a thread of NCCL's: a write now would be before
 * it. */
static void hold(struct session *s, const struct preload_call *call)
{
	struct preload_comm *comm = &s->comms[call->comm];

	if (comm->held)
		set_word(&times_of(s, comm->held)->until, call->ticket);
	comm->held = call->ticket;
	comm->held_stream = call->stream;
}

void calls_release_held(struct session *s, int comm)
{
	struct preload_comm *c = &s->comms[comm];
	uint64_t ticket = c->held;

	c->held = 0;
	if (ticket)
		device_done(s, ticket, comm, c->held_stream);
}

void calls_mark(struct session *s, const struct preload_call *calls, size_t n, int rc)
{
	for (size_t i = 0; i < n; i++) {
		const struct preload_call *last = last_like(calls, n, &calls[i]);

		if (rc != NCCL_SUCCESS && rc != NCCL_IN_PROGRESS)
			set_word(&times_of(s, calls[i].ticket)->done, calls[i].ticket);
		else if (last != &calls[i])
			set_word(&times_of(s, calls[i].ticket)->until, last->ticket);
		else if (rc == NCCL_IN_PROGRESS)
			hold(s, last);
		else
			device_done(s, last->ticket, last->comm, last->stream);
	}
}

/* ---- groups ---- */

static void note_group(struct session *s, enum group_event event)
{
	session_lock();
	s->recorder.depth = 1;
	s->watch.group(s->watch.ctx, event);
	session_unlock();
}

void group_start(void)
{
	preload_thread.depth++;
}

void group_ending(void)
{
	struct session *s = session_now();

	if (s && preload_thread.depth == 1 && preload_thread.ncalls > 0)
		note_group(s, GROUP_ENDING);
}

int group_end(int rc, bool launched)
{
	struct preload_thread *t = &preload_thread;
	struct session *s = session_now();

	t->depth -= t->depth > 0;
	if (t->depth > 0)
		return rc;
	for (int i = 0; s && i < t->nmade; i++)
		make_settle(s, &t->made[i], rc);
	if (s && t->ncalls > 0) {
		note_group(s, GROUP_ENDED);
		calls_mark(s, t->calls, t->ncalls, launched ? rc : NCCL_INVALID_USAGE);
	}
	t->ncalls = 0;
	t->nmade = 0;
	return rc;
}
