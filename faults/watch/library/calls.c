/* calls.c: a call on its way to NCCL: recorded before, marked on its stream after. Calls of a group
 * start, and are marked, when the outermost group ends. */

#include "library/library.h"

#include <pthread.h>

static enum dtype dtype_of(int type)
{
	static const enum dtype types[] = { DT_INT8,   DT_UINT8,    DT_INT32,  DT_UINT32,
					    DT_INT64,  DT_UINT64,   DT_HALF,   DT_FLOAT,
					    DT_DOUBLE, DT_BFLOAT16, DT_F8E4M3, DT_F8E5M2 };

	return type >= 0 && (size_t)type < LENGTH(types) ? types[type] : DT_INT8;
}

static enum redop redop_of(const struct made *made)
{
	bool reduces = made->kind == CALL_ALL_REDUCE || made->kind == CALL_REDUCE ||
		       made->kind == CALL_REDUCE_SCATTER;

	if (!reduces || made->op < 0) /* < 0: not told */
		return OP_NONE;
	return made->op >= 0 && made->op <= 4 ? (enum redop)made->op : OP_MULSUM;
}

static pthread_key_t thread_ends;

static void free_calls(void *thread)
{
	struct preload_thread *t = thread;

	free(t->calls);
	t->calls = NULL;
	t->room = t->ncalls = 0;
}

static void make_key(void)
{
	pthread_key_create(&thread_ends, free_calls);
}

/* The calls of a group wait for its end unmarked. Without memory the call counts as done. */
static void keep(struct preload_thread *t, const struct preload_call *call)
{
	if (t->ncalls == t->room) {
		size_t room = t->room ? 2 * t->room : 64;
		struct preload_call *calls = realloc(t->calls, room * sizeof(*calls));

		if (!calls) {
			times_of(call->session, call->ticket)->done = call->ticket;
			return;
		}
		if (!t->calls) {
			static pthread_once_t once = PTHREAD_ONCE_INIT;

			pthread_once(&once, make_key);
			pthread_setspecific(thread_ends, t);
		}
		t->calls = calls;
		t->room = room;
	}
	t->calls[t->ncalls++] = *call;
	record_publish(&times_of(call->session, call->ticket)->covered_by, RECORD_UNMARKED);
}

/* Moves completed_ticket to where the device is, so that observers begin there. */
static void catch_up(struct session *s)
{
	struct record_header *h = &s->recorder.memory->header;

	record_publish(&h->completed_ticket,
		       record_device_completed(s->recorder.memory, h->completed_ticket));
}

/* The program made another call: has the last one been launched? */
static void ask_held(struct session *s, int comm)
{
	int state = NCCL_IN_PROGRESS;

	preload_thread.inside++;
	CALL(OF_NCCL, "ncclCommGetAsyncError", (void *, int *), (s->comms[comm].handle, &state));
	if (state != NCCL_IN_PROGRESS)
		calls_release_held(s, comm);
	preload_thread.inside--;
}

void call_record(struct made *made)
{
	struct preload_thread *t = &preload_thread;
	struct session *s = made->session;
	struct call call = { .comm = (uint32_t)made->number,
			     .kind = made->kind,
			     .count = made->count,
			     .dtype = dtype_of(made->type),
			     .op = redop_of(made),
			     .peer = made->peer };
	struct stamp *stamp;

	made->recorded = true;
	if (__atomic_load_n(&s->comms[made->number].held, __ATOMIC_RELAXED) &&
	    !s->comms[made->number].told)
		ask_held(s, made->number);
	session_lock();
	call.stream = session_stream(s, made->stream);
	call.site = site_find(s, call.comm, made->caller);
	s->recorder.depth = t->depth;
	made->ticket = s->watch.call(s->watch.ctx, &call);
	catch_up(s);
	stamp = stamp_take(s, made);
	session_unlock();
	stamps_read(s);
	device_before(s, made->ticket, made->stream, made->number);
	if (stamp)
		stamp_begin(s, stamp);
	t->inside++;
}

static bool paused;

void hangar_pause(int on)
{
	struct session *s;

	__atomic_store_n(&paused, on, __ATOMIC_RELAXED);
	for (int k = 0; on && (s = session_nth(k)); k++)
		s->stamps.hole = true;
}

bool call_begin(struct made *made, int *rc)
{
	if (__atomic_load_n(&paused, __ATOMIC_RELAXED))
		return true;
	made->session = session_of(made->comm, &made->number);
	if (made->session && device_captures(made->stream))
		graph_captured(made);
	else if (made->session && made->session->armed && !inject(made, rc))
		return false;
	else if (made->session)
		call_record(made);
	return true;
}

int call_end(struct made *made, int rc)
{
	struct preload_call call = { made->session, made->ticket, made->number, made->stream };
	struct preload_thread *t = &preload_thread;
	struct session *s = made->session;

	if (!made->recorded || !session_nth(0)) /* forked since */
		return rc;
	t->inside--;
	session_lock();
	if (rc == NCCL_REMOTE_ERROR)
		s->watch.asked(s->watch.ctx, (uint32_t)made->number, rc);
	s->watch.returned(s->watch.ctx, made->ticket,
			  rc == NCCL_SUCCESS || rc == NCCL_IN_PROGRESS ? 0 : -1);
	session_unlock();
	if (t->depth > 0)
		keep(t, &call);
	else
		calls_mark(&call, 1, rc);
	if (t->depth == 0)
		inject_corrupt();
	return rc;
}

/* ---- what the device will say ---- */

/* The call that stands for this one: the last of the communicator's on its stream. */
static const struct preload_call *last_like(const struct preload_call *calls, size_t n,
					    const struct preload_call *call)
{
	for (size_t i = n; i-- > 0;)
		if (calls[i].session == call->session && calls[i].comm == call->comm &&
		    calls[i].stream == call->stream)
			return &calls[i];
	return call;
}

/* A non-blocking communicator's kernel comes later, by a thread of NCCL's: this is before it. That thread may release a call
 * meanwhile: each call is taken by one of both. */
static void hold(const struct preload_call *call)
{
	struct preload_comm *comm = &call->session->comms[call->comm];
	uint64_t before;

	__atomic_store_n(&comm->held_stream, call->stream, __ATOMIC_RELAXED);
	before = __atomic_exchange_n(&comm->held, call->ticket, __ATOMIC_ACQ_REL);
	if (before)
		record_publish(&times_of(call->session, before)->covered_by, call->ticket);
}

void calls_release_held(struct session *s, int comm)
{
	struct preload_comm *c = &s->comms[comm];
	uint64_t ticket = __atomic_exchange_n(&c->held, 0, __ATOMIC_ACQUIRE);

	if (ticket)
		device_done(s, ticket, comm, __atomic_load_n(&c->held_stream, __ATOMIC_RELAXED));
}

void calls_mark(const struct preload_call *calls, size_t n, int rc)
{
	for (size_t i = 0; i < n; i++) {
		const struct preload_call *last = last_like(calls, n, &calls[i]);
		struct record_times *times = times_of(calls[i].session, calls[i].ticket);

		if (last == &calls[i])
			stamp_end(last->session, last->ticket, last->comm, rc == NCCL_SUCCESS);
		if (rc != NCCL_SUCCESS && rc != NCCL_IN_PROGRESS)
			record_publish(&times->done, calls[i].ticket);
		else if (last != &calls[i])
			record_publish(&times->covered_by, last->ticket);
		else if (rc == NCCL_IN_PROGRESS)
			hold(last);
		else
			device_done(last->session, last->ticket, last->comm, last->stream);
	}
}

/* ---- groups ---- */

/* Notes it for each rank that has a call in the group. */
static void note_group(enum group_event event)
{
	const struct preload_thread *t = &preload_thread;
	struct session *s;

	if (t->ncalls == 0)
		return;
	session_lock();
	for (int k = 0; (s = session_nth(k)); k++) {
		size_t i = 0;

		while (i < t->ncalls && t->calls[i].session != s)
			i++;
		if (i == t->ncalls)
			continue;
		s->recorder.depth = 1;
		s->watch.group(s->watch.ctx, event);
	}
	session_unlock();
}

void group_start(void)
{
	preload_thread.depth++;
}

void group_ending(void)
{
	struct preload_thread *t = &preload_thread;

	if (t->depth != 1)
		return;
	for (size_t i = 0; i < t->ncalls; i++)
		record_publish(&times_of(t->calls[i].session, t->calls[i].ticket)->covered_by, 0);
	note_group(GROUP_ENDING);
}

int group_end(int rc, bool launched)
{
	struct preload_thread *t = &preload_thread;

	t->depth -= t->depth > 0;
	if (t->depth > 0)
		return rc;
	for (int i = 0; session_nth(0) && i < t->nmade; i++)
		make_settle(&t->made[i], rc);
	if (session_nth(0)) {
		note_group(GROUP_ENDED);
		calls_mark(t->calls, t->ncalls, launched ? rc : NCCL_INVALID_USAGE);
	}
	inject_corrupt();
	t->ncalls = 0;
	t->nmade = 0;
	return rc;
}
