/* view.c: snapshot of a running rank's flight recorder, and its description in words. */
#include "record/view.h"

#include "base/call_value.h"
#include "base/dtype.h"
#include "base/error.h"
#include "process/watch.h"

/* The call whose mark covers this one: its group's last, or the stream's next marked one. */
static const struct record_times *stand_in(const struct record_memory *memory, uint64_t *ticket)
{
	const struct record_times *times = &memory->times[*ticket & (RECORD_RING - 1)];
	uint64_t by;

	for (int steps = 0; steps < 4; steps++) {
		by = record_get(&times->covered_by);
		if (by <= *ticket || by == RECORD_UNMARKED)
			break;
		*ticket = by;
		times = &memory->times[by & (RECORD_RING - 1)];
	}
	return times;
}

bool record_device_done(const struct record_memory *memory, uint64_t ticket)
{
	const struct record_times *times = stand_in(memory, &ticket);

	return record_get(&times->done) >= ticket;
}

uint64_t record_device_completed(const struct record_memory *memory, uint64_t completed)
{
	uint64_t issued = record_get(&memory->header.issued_ticket);

	if (issued > completed + RECORD_RING)
		completed = issued - RECORD_RING;
	while (completed < issued && record_device_done(memory, completed + 1))
		completed++;
	return completed;
}

static void read_wait(struct rank_view *view, const struct record_wait *wait, uint64_t now)
{
	uint32_t before = record_get(&wait->sequence);
	uint64_t since = atomic_load_explicit(&wait->since_ns, memory_order_relaxed);
	uint64_t deadline = atomic_load_explicit(&wait->deadline_ns, memory_order_relaxed);
	uint32_t work = atomic_load_explicit(&wait->work, memory_order_relaxed);

	memcpy(view->what, wait->what, sizeof(view->what));
	view->what[sizeof(view->what) - 1] = '\0';
	atomic_thread_fence(memory_order_acquire);
	view->waiting = before % 2 == 1 &&
			before == atomic_load_explicit(&wait->sequence, memory_order_relaxed);
	view->waited = view->waiting && now > since ? (double)(now - since) * 1e-9 : 0;
	view->since_ns = view->waiting ? since : 0;
	view->deadline_ns = view->waiting ? deadline : 0;
	view->working = view->waiting && work;
}

/* The newest call on the communicator of this one that the device tells of together with it. */
static uint64_t last_alike(const struct record_memory *memory, uint64_t ticket)
{
	const struct record *own = &memory->ring[ticket & (RECORD_RING - 1)], *r;
	uint64_t at = ticket;

	stand_in(memory, &at);
	do
		r = &memory->ring[at-- & (RECORD_RING - 1)];
	while (at >= ticket && r->comm != own->comm);
	return r->comm == own->comm ? r->seq : own->seq;
}

/* Reads what a preloaded program waits for: its oldest call that is not over. */
static void read_calls(struct rank_view *view, const struct record_memory *memory, uint64_t now)
{
	uint64_t completed = record_device_completed(memory, view->completed),
		 before = view->oldest.ticket, open = 0;
	struct record_set undone = { 0 };

	view->completed = completed;
	for (uint64_t t = view->completed + 1; t <= view->issued; t++) {
		const struct record *call = &memory->ring[t & (RECORD_RING - 1)];
		uint64_t mark = t;

		if (record_device_done(memory, t)) {
			completed++;
			continue;
		}
		/* all calls on its communicator before the first that is not over are */
		if (call->comm < VIEW_COMMS && !record_set_has(&undone, call->comm) &&
		    call->seq != 0) {
			record_set_add(&undone, call->comm);
			view->comms[call->comm].done = call->seq - 1;
		}
		if (!open && stand_in(memory, &mark)->covered_by != RECORD_UNMARKED)
			open = t;
	}
	view->heartbeat += completed;
	memcpy(&view->oldest, &memory->ring[open & (RECORD_RING - 1)], sizeof(view->oldest));
	view->oldest.ticket = open;
	view->open_seq = open ? last_alike(memory, open) : 0;
	view->device_wait = open ? RECORD_DEVICE_AWAITED : RECORD_DEVICE_LEFT;
	if (view->waiting || !open) /* at communicator init, or not at all */
		return;
	if (open != before || view->open_ns == 0)
		view->open_ns = before ? now : view->oldest.enqueued_ns;
	view->waiting = 1;
	view->since_ns = view->open_ns;
	view->waited = now > view->open_ns ? (double)(now - view->open_ns) * 1e-9 : 0;
	snprintf(view->what, sizeof(view->what), "%s",
		 view->oldest.kind < CALL_KIND_COUNT
			 ? call_kind_name((enum call_kind)view->oldest.kind)
			 : "a call");
}

bool view_lost_peer(const struct rank_view *view)
{
	return view->asked == 1 + 6;
}

bool view_in_init(const struct rank_view *view)
{
	bool init = view->comm_state == RECORD_COMM_INIT;

	for (size_t i = 0; i < VIEW_COMMS; i++)
		init |= view->comms[i].state == RECORD_COMM_INIT;
	return init;
}

bool view_broke(const struct rank_view *view)
{
	bool broke = view->error[0] != '\0';

	for (size_t i = 0; i < VIEW_COMMS; i++)
		broke |= view->comms[i].state == RECORD_COMM_FAILED ||
			 view->comms[i].state == RECORD_COMM_ABORTED;
	return broke;
}

uint32_t view_wait_kind(const struct rank_view *view)
{
	bool call = view->oldest.ticket && view->since_ns == view->open_ns &&
		    view->oldest.kind < CALL_KIND_COUNT;

	return call ? view->oldest.kind : CALL_KIND_COUNT;
}

static void read_last(struct rank_view *view, const struct record_memory *memory)
{
	const struct record *slot = &memory->ring[view->issued & (RECORD_RING - 1)];

	memset(&view->last, 0, sizeof(view->last));
	if (view->issued == 0)
		return;
	memcpy(&view->last, slot, sizeof(view->last));
	atomic_thread_fence(memory_order_acquire);
	if (view->last.ticket != view->issued || slot->ticket != view->issued)
		view->last.ticket = 0; /* rewritten meanwhile: the rank is alive and busy */
	view->seq = view->last.ticket ? view->last.seq : 0;
}

void view_read_init(struct rank_view *view, const struct record_init *init)
{
	view->comm_state = record_get(&init->state);
	view->init_rank = init->rank;
	view->init_nranks = init->nranks;
	view->init_id = view->comm_state == RECORD_COMM_NONE ? 0 : init->id;
	view->aborted_after = init->aborted_after;
	view->asked = init->asked;
}

static void read_comm(struct view_comm *view, const struct record_header *h, int i)
{
	const struct record_init *init = &h->inits[i];
	/* before `seq`, which counts them first: never less than there are */
	uint64_t pairs = record_get(&h->pairs[i]);

	view->state = record_get(&init->state);
	view->id = view->state == RECORD_COMM_NONE ? 0 : init->id;
	view->rank = init->rank;
	view->nranks = init->nranks;
	view->seq = record_get(&h->comms[i].seq);
	view->done = view->seq;
	view->calls = view->seq > pairs ? view->seq - pairs : 0;
	view->hash = atomic_load_explicit(&h->comms[i].hash, memory_order_relaxed);
}

void view_read(struct rank_view *view, const struct record_memory *memory, uint64_t now)
{
	const struct record_header *h = &memory->header;

	view->seen_ns = now;
	view->rank = memory->program.number > 0 ? memory->program.number - 1 : h->rank;
	view->node = h->node;
	view->outcome = h->outcome;
	view->phase = h->phase;
	view->heartbeat = h->heartbeat;
	view->issued = record_get(&h->issued_ticket);
	view->completed = h->completed_ticket;
	read_wait(view, &h->wait, now);
	read_last(view, memory);
	view_read_init(view, &h->inits[0]);
	for (int i = 0; i < VIEW_COMMS; i++) /* after `issued`: what counts there counts here */
	{
		read_comm(&view->comms[i], h, i);
		if (h->inits[i].asked > 1)
			view->asked = h->inits[i].asked;
	}
	view->device_wait = h->device_wait;
	if (h->preloaded)
		read_calls(view, memory, now);
	record_site_text(memory->sites, RECORD_SITES,
			 view->oldest.ticket ? view->oldest.site : view->last.site, view->site,
			 sizeof(view->site));
	snprintf(view->host, sizeof(view->host), "%.63s", h->host);
	snprintf(view->error, sizeof(view->error), "%.255s", h->error);
	view->error_code = h->error_code;
	view->settings = h->settings_hash;
}

char *view_process(const struct rank_view *view, char *buf, size_t len)
{
	const char *name = view->process == PROCESS_KILLED ? sigabbrev_np(view->status) : NULL;

	if (view->process == PROCESS_EXITED && view->status < 0)
		snprintf(buf, len, "ended with an error");
	else if (view->process == PROCESS_EXITED)
		snprintf(buf, len, "exited with %d", view->status);
	else if (view->process != PROCESS_KILLED)
		snprintf(buf, len, "%s", view->process == PROCESS_STOPPED ? "stopped" : "alive");
	else if (!view->status)
		snprintf(buf, len, "ended by an unknown signal");
	else if (name)
		snprintf(buf, len, "killed by SIG%s", name);
	else
		snprintf(buf, len, "killed by signal %d", view->status);
	return buf;
}

char *view_site(const struct rank_view *view, bool brief, char *buf, size_t len)
{
	const char *folder = strchr(view->site, '/'), *from = folder ? folder + 1 : view->site;
	size_t n = brief ? strcspn(from, " ") : strlen(from);

	snprintf(buf, len, "%.*s", (int)n, from);
	return make_printable(buf);
}

char *view_error(const struct rank_view *view, char *buf, size_t len)
{
	snprintf(buf, len, "%.*s", (int)sizeof(view->error), view->error);
	return make_printable(buf);
}

char *view_call(const struct record *r, char *buf, size_t len)
{
	if (r->dtype >= DT_COUNT && r->count == 0) /* its amounts are not recorded */
		snprintf(buf, len, "%s", call_kind_name((enum call_kind)r->kind));
	else
		snprintf(buf, len, "%s count %lu %s%s%s", call_kind_name((enum call_kind)r->kind),
			 r->count,
			 r->dtype < DT_COUNT ? dtype_name((enum dtype)r->dtype) : "elements",
			 r->op >= 0 ? " " : "", r->op >= 0 ? redop_name((enum redop)r->op) : "");
	return buf;
}
bool view_finished(const struct rank_view *view)
{
	return view->process == PROCESS_EXITED && view->outcome >= 0 &&
	       view->outcome == view->status;
}

bool view_died(const struct rank_view *view)
{
	return view->process >= PROCESS_EXITED && !view_finished(view);
}

bool view_failed(const struct rank_view *view)
{
	return view_finished(view) &&
	       (view->outcome == OUTCOME_ERROR || view->outcome == OUTCOME_INTERNAL);
}

bool views_abnormal(const struct rank_view *views, size_t n, bool deadlines)
{
	for (size_t i = 0; i < n; i++)
		if (view_died(&views[i]) || view_failed(&views[i]) ||
		    (deadlines && views[i].overdue))
			return true;
	return false;
}

bool views_one_failed(const struct rank_view *views, size_t n)
{
	size_t failed = 0, well = 0;

	for (size_t i = 0; i < n; i++) {
		failed += view_failed(&views[i]);
		well += view_finished(&views[i]) && views[i].outcome == OUTCOME_OK;
	}
	return failed == 1 && well + 1 == n;
}

enum outcome view_outcome(const struct rank_view *view)
{
	return view_died(view)	     ? OUTCOME_DIED
	       : view_finished(view) ? (enum outcome)view->outcome
	       : view->overdue	     ? OUTCOME_HANG
				     : OUTCOME_OK;
}

struct python_process python_of(const struct record_memory *memory, pid_t pid)
{
	return (struct python_process){ pid, memory->program.python_runtime,
					memory->program.python_minor };
}
