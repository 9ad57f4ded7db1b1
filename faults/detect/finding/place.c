/* place.c: where ranks stand, where timelines parted, and between which two ranks a send or receive is. */
#include "finding/rule.h"

#include "base/call_value.h"

const char *common_call(const struct rule_ctx *ctx, const struct rank_set *culprits, uint64_t seq,
			size_t *n)
{
	const struct progress_comm *a = ctx->comm;
	const struct record *ours = progress_reference(a, seq), *first = NULL;
	bool pairs = ours && call_in_pairs(ours), alike = pairs, kinds = pairs, peers = pairs;

	*n = 0;
	for (int i = 0; ours && i < a->nranks; i++) {
		/* of large runs records are on disk: none is looked at without need */
		const struct record *r = pairs ? progress_call(a, i, seq) : NULL;

		if (culprits->in[i] || !progress_made_alike(a, i, seq, ours))
			continue;
		++*n;
		first = first ? first : r;
		kinds = kinds && r && r->kind == first->kind;
		alike = alike && kinds && r->count == first->count && r->dtype == first->dtype;
		peers = peers && alike && r->peer == first->peer;
	}
	if (!pairs)
		return call_words(ctx->evidence, ours);
	if (alike && first) {
		struct record shared = *first;

		shared.peer = peers ? first->peer : -1;
		return call_words(ctx->evidence, &shared);
	}
	return kinds && first ? call_kind_name((enum call_kind)first->kind) : "a send or receive";
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
	if (!missing || progress_count_in_init(ctx->comm) == 0)
		return false;
	place_init(f, true);
	finding_differ(f, "call", "no call", "communicator init");
	return true;
}

/* The first call that one of the culprits did not complete, made or not. 0: not known. */
static uint64_t own_end(const struct rule_ctx *ctx, const struct rank_set *culprits)
{
	uint64_t end = UINT64_MAX;

	for (int i = 0; i < culprits->nranks; i++) {
		uint64_t done;

		if (!culprits->in[i] || !ctx->comm->tracks[i].known)
			continue;
		done = progress_completed(ctx->comm, i);
		end = done + 1 < end ? done + 1 : end;
	}
	return end == UINT64_MAX ? 0 : end;
}

/* The culprits made all calls that the others made: what parts them is where their own calls end.
 * That may be behind the call that the others wait in: a rank is done when its own data is there,
 * and what it owes the others may still be on its way in a thread that ended with it. */
static void place_end(const struct rule_ctx *ctx, struct finding *f)
{
	uint64_t end = own_end(ctx, &f->culprits);
	bool made = end <= ctx->comm->top;

	if (f->answer.hang_seq < 1 || end == 0)
		return;
	f->answer.seq_low = f->answer.seq_high = (int64_t)end;
	finding_differ(f, made ? "completion" : "call", made ? "made, cannot complete" : "no call",
		       made ? call_words(ctx->evidence, progress_reference(ctx->comm, end))
			    : "not made yet");
}

/* Where the culprits' own calls end, of all communicators: the first that one of them did not get done,
 * up to the newest; where all are done, the newest. */
void place_own(const struct rule_ctx *ctx, struct finding *f)
{
	const struct record *low = NULL, *high = NULL;

	for (int i = 0; i < ctx->evidence->nranks; i++) {
		const struct evidence_rank *r = &ctx->evidence->ranks[i];
		const struct record *newest = r->ncalls ? &r->calls[r->ncalls - 1] : NULL,
				    *open = newest ? progress_first_open(&ctx->comm->ranks[i])
						   : NULL;

		if (!f->culprits.in[i] || !newest ||
		    (low && low->enqueued_ns <= newest->enqueued_ns))
			continue;
		low = open ? open : newest;
		high = newest;
	}
	if (!low)
		return;
	finding_place(f, low->comm, low->seq, low->seq,
		      low->comm == f->answer.comm ? f->answer.hang_seq : -1);
	if (high->comm == low->comm && call_in_pairs(high))
		f->answer.seq_high = (int64_t)high->seq;
	finding_differ(f, "completion", "made, not known to have completed",
		       call_words(ctx->evidence, low));
}

/* Where the culprits are awaited in a call of another communicator than the one at hand, and not in one of
 * that: there (PyTorch's dumps of two H200: mixed/half). */
static bool place_elsewhere(const struct rule_ctx *ctx, struct finding *f)
{
	const struct pending_call *there = NULL;

	if (!ctx->played || ctx->evidence != ctx->run)
		return false;
	for (int i = 0; i < ctx->run->nranks; i++) {
		const struct pending_call *in =
			f->culprits.in[i] ? NULL : progress_at(ctx->played, i);

		if (!in || !progress_awaits_only(ctx->played, in, f->culprits.in))
			continue;
		if (in->members == ctx->members)
			return false;
		there = there ? there : in;
	}
	if (!there)
		return false;
	finding_place(f, there->call->comm, there->call->seq, there->call->seq,
		      (int64_t)there->call->seq);
	finding_differ(f, "call", "no call", call_words(ctx->run, there->call));
	return true;
}

void place_missing(const struct rule_ctx *ctx, struct finding *f)
{
	const struct progress_comm *a = ctx->comm;
	uint64_t least = UINT64_MAX;
	size_t makers;

	for (int i = 0; i < a->nranks; i++)
		if (f->culprits.in[i] && a->tracks[i].known && a->tracks[i].last < least)
			least = a->tracks[i].last;
	f->answer.comm = a->comm;
	f->answer.hang_seq = progress_hang_point(ctx->comm);
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
	f->answer.seq_low = f->answer.seq_high = (int64_t)least + 1;
	f->collectives = a->collectives;
	finding_differ(f, "call", "no call", common_call(ctx, &f->culprits, least + 1, &makers));
}

void name_pair(const struct rule_ctx *ctx, struct finding *f, int rank, int kind, int peer)
{
	int one = rank_number(ctx->evidence, rank), other;

	if (peer < 0 || peer >= ctx->evidence->nranks)
		return;
	other = rank_number(ctx->evidence, peer);
	snprintf(f->answer.pair, sizeof(f->answer.pair), "%d>%d", kind == CALL_SEND ? one : other,
		 kind == CALL_SEND ? other : one);
}

void name_lacking_pair(const struct rule_ctx *ctx, struct finding *f, int rank, uint64_t seq,
		       const struct record *like)
{
	const struct record *theirs;

	for (int i = 0; i < ctx->comm->nranks && !f->answer.pair[0]; i++) {
		const struct record *own = progress_open_pair(ctx->comm, i, &theirs);

		if (own && own->peer == rank && own->kind != like->kind)
			name_pair(ctx, f, i, own->kind, rank);
	}
	if (!f->answer.pair[0])
		name_pair(ctx, f, rank, like->kind,
			  progress_planned_peer(ctx->comm, rank, seq, like->kind));
}
