/* place.c: where ranks stand, and where timelines parted. */
#include "diagnose/rule.h"

#include "base/call_value.h"

uint64_t calls_completed(const struct rule_ctx *ctx, int which)
{
	const struct evidence_rank *rank = &ctx->evidence->ranks[which];
	const struct track *t = &ctx->align->tracks[which];
	uint32_t comm = ctx->align->comm;
	const struct evidence_index *x = &rank->index;
	const struct record *r = t->final;

	if (t->plain) { /* as below, by arithmetic */
		uint64_t done = rank->view.completed;

		done = done < x->last_ticket ? done : x->last_ticket;
		return done < x->first_ticket ? t->first - 1 : t->first + (done - x->first_ticket);
	}
	while (r && !record_done(r, rank->view.completed)) {
		if (r == t->oldest)
			return t->first - 1;
		r--;
		while (r > t->oldest && r->comm != comm)
			r--;
	}
	return r ? (r->comm == comm ? r->seq : t->first - 1) : 0;
}

bool awaits_device(const struct rule_ctx *ctx, int rank)
{
	const struct rank_view *v = &ctx->evidence->ranks[rank].view;

	return v->device_wait == RECORD_DEVICE_AWAITED && v->completed < v->issued;
}

int64_t hang_point(const struct rule_ctx *ctx)
{
	const struct align *a = ctx->align;
	uint64_t least = UINT64_MAX, done = UINT64_MAX;

	for (int i = 0; i < a->nranks; i++) {
		const struct track *t = &a->tracks[i];
		uint64_t at = t->last + !(t->inside || awaits_device(ctx, i));

		if (!t->known)
			continue;
		if (at <= a->top && at < least)
			least = at;
		at = calls_completed(ctx, i) + 1;
		done = at < done ? at : done;
	}
	if (least != UINT64_MAX)
		return (int64_t)least;
	return done <= a->top ? (int64_t)done : -1;
}

/* No culprit, and made call `seq` as the reference has it. */
static bool made_ours(const struct align *a, const struct culprits *culprits, int rank,
		      uint64_t seq, const struct record *ours)
{
	const struct track *t = &a->tracks[rank];
	uint64_t sig = align_sig(a, rank, seq);

	return t->known && !culprits->in[rank] && t->last >= seq &&
	       (!sig || sig == align_signed(a, ours));
}

const char *common_call(const struct rule_ctx *ctx, const struct culprits *culprits, uint64_t seq,
			size_t *n, char *buf, size_t len)
{
	const struct align *a = ctx->align;
	const struct record *ours = align_reference(a, seq), *first = NULL;
	bool pairs = ours && call_in_pairs(ours), alike = pairs, kinds = pairs, peers = pairs;

	*n = 0;
	for (int i = 0; ours && i < a->nranks; i++) {
		/* of large runs records are on disk: none is looked at without need */
		const struct record *r = pairs ? align_record(a, i, seq) : NULL;

		if (!made_ours(a, culprits, i, seq, ours))
			continue;
		++*n;
		first = first ? first : r;
		kinds = kinds && r && r->kind == first->kind;
		alike = alike && kinds && r->count == first->count && r->dtype == first->dtype;
		peers = peers && alike && r->peer == first->peer;
	}
	if (!pairs)
		return call_words(ctx->evidence, ours, buf, len);
	if (alike && first) {
		struct record shared = *first;

		shared.peer = peers ? first->peer : -1;
		return call_words(ctx->evidence, &shared, buf, len);
	}
	snprintf(buf, len, "%s",
		 kinds && first ? call_kind_name((enum call_kind)first->kind)
				: "a send or receive");
	return buf;
}

bool waits_at_init(const struct rule_ctx *ctx, int rank)
{
	const struct evidence_rank *r = &ctx->evidence->ranks[rank];

	return r->present && r->view.comm_state == RECORD_COMM_INIT &&
	       r->view.process < PROCESS_EXITED;
}

size_t count_inside_init(const struct rule_ctx *ctx)
{
	size_t n = 0;

	for (int i = 0; i < ctx->evidence->nranks; i++)
		n += waits_at_init(ctx, i);
	return n;
}

void place_init(struct finding *f, bool hangs)
{
	finding_place(f, 0, 0, 0, hangs ? 0 : -1);
}

bool place_missing_init(const struct rule_ctx *ctx, struct finding *f)
{
	const struct evidence *e = ctx->evidence;
	bool missing = false;

	for (int i = 0; i < e->nranks; i++)
		missing |= f->culprits.in[i] && e->ranks[i].view.comm_state == RECORD_COMM_NONE;
	if (!missing || count_inside_init(ctx) == 0)
		return false;
	place_init(f, true);
	finding_differ(f, "call", "no call", "communicator init");
	return true;
}

/* The first call that one of the culprits did not complete, whether it made it or not. 0: their calls
 * are not known. */
static uint64_t own_end(const struct rule_ctx *ctx, const struct culprits *culprits)
{
	uint64_t end = UINT64_MAX;

	for (int i = 0; i < culprits->nranks; i++) {
		uint64_t done;

		if (!culprits->in[i] || !ctx->align->tracks[i].known)
			continue;
		done = calls_completed(ctx, i);
		end = done + 1 < end ? done + 1 : end;
	}
	return end == UINT64_MAX ? 0 : end;
}

/* The culprits made all calls that the others made: what parts them is where their own calls end.
 * That may be behind the call that the others wait in: a rank is done with a call when its own
 * data is there, and what it owes the others may still be on its way in a thread that ended with
 * it. */
static void place_end(const struct rule_ctx *ctx, struct finding *f)
{
	uint64_t end = own_end(ctx, &f->culprits);
	bool made = end <= ctx->align->top;
	char call[64];

	if (f->hang_seq < 1 || end == 0)
		return;
	f->seq_low = f->seq_high = (int64_t)end;
	finding_differ(f, made ? "completion" : "call", made ? "made, cannot complete" : "no call",
		       made ? call_words(ctx->evidence, align_reference(ctx->align, end), call,
					 sizeof(call))
			    : "not made yet");
}

const struct record *first_open(const struct evidence_rank *r)
{
	size_t low = 0, high = r->ncalls;

	/* tickets ascend; of a mapped file every look costs */
	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (r->calls[mid].ticket > r->view.completed)
			high = mid;
		else
			low = mid + 1;
	}
	while (low < r->ncalls &&
	       (r->calls[low].state == RECORD_COMPLETED || (r->times && r->times[low].end_ns)))
		low++;
	return low < r->ncalls ? &r->calls[low] : NULL;
}

/* Where the culprits' own calls end, of all communicators: the first that one of them did not get done,
 * up to the newest; where all are done, the newest. */
void place_own(const struct rule_ctx *ctx, struct finding *f)
{
	const struct record *low = NULL, *high = NULL;
	char call[64];

	for (int i = 0; i < ctx->evidence->nranks; i++) {
		const struct evidence_rank *r = &ctx->evidence->ranks[i];
		const struct record *newest = r->ncalls ? &r->calls[r->ncalls - 1] : NULL,
				    *open = newest ? first_open(r) : NULL;

		if (!f->culprits.in[i] || !newest ||
		    (low && low->enqueued_ns <= newest->enqueued_ns))
			continue;
		low = open ? open : newest;
		high = newest;
	}
	if (!low)
		return;
	finding_place(f, low->comm, low->seq, low->seq, low->comm == f->comm ? f->hang_seq : -1);
	if (high->comm == low->comm && call_in_pairs(high))
		f->seq_high = (int64_t)high->seq;
	finding_differ(f, "completion", "made, not known to have completed",
		       call_words(ctx->evidence, low, call, sizeof(call)));
}

/* Returns true if the call lacks the culprits, and nobody else. */
static bool lacks_only(const struct rule_ctx *ctx, const struct culprits *culprits,
		       const struct wait_call *in)
{
	bool any = false;

	for (int i = 0; i < in->team->nranks; i++) {
		int rank = team_rank(in->team, i);

		if (rank < 0 || !waits_for(ctx->waits, in, rank))
			continue;
		if (!culprits->in[rank])
			return false;
		any = true;
	}
	return any;
}

/* Where the culprits are awaited in a call of another communicator than the one at hand, and not in one of
 * that: there (PyTorch's dumps of two H200: mixed/half). */
static bool place_elsewhere(const struct rule_ctx *ctx, struct finding *f)
{
	const struct wait_call *there = NULL;

	if (!ctx->waits || ctx->evidence != ctx->run)
		return false;
	for (int i = 0; i < ctx->run->nranks; i++) {
		const struct wait_call *in = f->culprits.in[i] ? NULL : waits_in(ctx->waits, i);

		if (!in || !lacks_only(ctx, &f->culprits, in))
			continue;
		if (in->team == ctx->team)
			return false;
		there = there ? there : in;
	}
	if (!there)
		return false;
	finding_place(f, there->call->comm, there->call->seq, there->call->seq,
		      (int64_t)there->call->seq);
	finding_differ(f, "call", "no call", "");
	call_words(ctx->run, there->call, f->majority, sizeof(f->majority));
	return true;
}

void place_missing(const struct rule_ctx *ctx, struct finding *f)
{
	const struct align *a = ctx->align;
	uint64_t least = UINT64_MAX;
	size_t makers;

	for (int i = 0; i < a->nranks; i++)
		if (f->culprits.in[i] && a->tracks[i].known && a->tracks[i].last < least)
			least = a->tracks[i].last;
	f->comm = a->comm;
	f->hang_seq = hang_point(ctx);
	if (place_missing_init(ctx, f) || place_elsewhere(ctx, f) || least == UINT64_MAX)
		return;
	if (a->top == 0) {
		place_own(ctx, f);
		return;
	}
	if (least >= a->top) {
		place_end(ctx, f);
		return;
	}
	f->seq_low = f->seq_high = (int64_t)least + 1;
	finding_differ(f, "call", "no call", "");
	common_call(ctx, &f->culprits, least + 1, &makers, f->majority, sizeof(f->majority));
}
