/* rule_init.c: rules about ranks that did not come to init, came with other arguments, or left. */

#include "base/rank_list.h"
#include "base/stats.h"
#include "finding/rule.h"
#include "answer/answer.h"
#include "process/watch.h"

/* Returns what init was called with: one of two values, as a number. */
static uint64_t argument(const struct rank_view *v, bool id)
{
	return id ? v->init_id : (uint64_t)(int64_t)v->init_nranks;
}

static void argument_text(const struct rank_view *v, bool id, char *buf, size_t len)
{
	if (id)
		snprintf(buf, len, "id %016lx", v->init_id);
	else
		snprintf(buf, len, "%d rank%s", v->init_nranks, v->init_nranks == 1 ? "" : "s");
}

/* False: all have called it alike. */
static bool report_arguments(const struct rule_ctx *ctx, struct finding *f,
			     const struct rank_view *const *views, size_t n, bool id)
{
	uint64_t *values = must(malloc((n + 1) * sizeof(*values))), right;
	const struct rank_view *ours = NULL, *theirs = NULL; /* the first of each */
	struct vote vote;
	char text[64];
	bool most;

	for (size_t i = 0; i < n; i++)
		values[i] = argument(views[i], id);
	vote = vote_words(values, n);
	free(values);
	if (vote.kinds < 2)
		return false;
	most = vote.votes * 2 > n;
	right = most ? vote.most : argument(views[0], id);
	for (size_t i = n; i-- > 0;)
		*(argument(views[i], id) == right ? &ours : &theirs) = views[i];
	place_init(f, ctx->outcome == OUTCOME_HANG);
	snprintf(f->answer.field, sizeof(f->answer.field), "%s", id ? "id" : "nranks");
	argument_text(theirs, id, f->answer.theirs, sizeof(f->answer.theirs));
	argument_text(ours, id, f->answer.majority, sizeof(f->answer.majority));
	for (size_t i = 0; i < n; i++) {
		if (most && argument(views[i], id) == right)
			continue;
		argument_text(views[i], id, text, sizeof(text));
		if (finding_has_room(f))
			note(f, "Rank %d called communicator init with %s%s%s.", views[i]->rank,
			     text, most ? ", the others with " : "",
			     most ? f->answer.majority : "");
		if (most)
			rank_set_add(&f->culprits, views[i]->rank);
	}
	f->reasons |= reason_if(!most, REASON_NO_MAJORITY);
	finding_conclude(ctx, f, CLASS_INIT_MISMATCH, CONFIDENCE_MAJORITY);
	if (!most)
		note(f, "No value has a majority: either side may be the one that is wrong.");
	return true;
}

bool rule_init_arguments(const struct rule_ctx *ctx, struct finding *f)
{
	const struct rank_view **views =
		must(calloc((size_t)ctx->evidence->nranks + 1, sizeof(*views)));
	bool found = false;
	size_t n = progress_init_unequal(ctx->progress, views);

	/* the number of ranks first: a rank that asks for another one may have got another id with it */
	for (int id = 0; id <= 1 && !found; id++)
		found = report_arguments(ctx, f, views, n, id);
	free(views);
	return found;
}

/* All wait in one place before init. One of them may keep the others from it. */
static bool no_rank_came(const struct rule_ctx *ctx, struct finding *f)
{
	const struct rank_view *first = NULL;
	size_t n = 0, absent = 0;
	char who[64];

	for (int i = 0; i < ctx->evidence->nranks; i++) {
		const struct rank_view *v = view_of(ctx, i);

		absent += !ctx->evidence->ranks[i].present;
		if (!ctx->evidence->ranks[i].present || v->phase == PHASE_SPARE)
			continue;
		if (!progress_lacks_init(v) || !v->waiting ||
		    (first && strcmp(first->what, v->what) != 0))
			return false;
		first = v;
		n++;
	}
	if (n == 0 || ctx->outcome != OUTCOME_HANG)
		return false;
	place_init(f, true);
	if (absent > 0)
		snprintf(who, sizeof(who), "%zu of %zu ranks", n, n + absent);
	else
		snprintf(who, sizeof(who), "All %zu ranks", n);
	note(f,
	     "%s wait in '%s'. Whether one of %s keeps the others from communicator init cannot be "
	     "told.",
	     who, first->what, absent ? "these or of the rest" : "them");
	finding_conclude(ctx, f, CLASS_INIT_MISSING, CONFIDENCE_INCONCLUSIVE);
	return true;
}

/* All who have used NCCL are in the init of all ranks: the others stand before it. */
static bool some_never_came(const struct rule_ctx *ctx, struct finding *f)
{
	const struct evidence *e = ctx->evidence;

	for (int i = 0; i < e->nranks; i++) {
		const struct rank_view *v = view_of(ctx, i);

		if (e->ranks[i].starts)
			return false;
		if (!e->ranks[i].present)
			rank_set_add(&f->culprits, i);
		else if (v->comm_state != RECORD_COMM_INIT || v->init_nranks != e->nranks)
			return false;
	}
	if (!e->whole[0] || f->culprits.n == 0 || (int)f->culprits.n == e->nranks)
		return false;
	place_init(f, true);
	finding_differ(f, "call", "no call", "communicator init");
	finding_note(f, "No use of NCCL was seen, and the others are in communicator init.");
	finding_conclude(ctx, f, CLASS_INIT_MISSING, CONFIDENCE_MAJORITY);
	return true;
}

/* The ranks met over TCP, and those that came were told which did not. */
static bool some_never_met(const struct rule_ctx *ctx, struct finding *f)
{
	const struct evidence *e = ctx->evidence;
	const char *absent = "";

	/* recorders of many ranks stay on disk: that of such a rank alone is looked at */
	for (int i = 0; i < e->nranks && !*absent; i++)
		if (view_finished(view_of(ctx, i)) && view_of(ctx, i)->outcome == OUTCOME_HANG &&
		    e->ranks[i].recorder)
			absent = e->ranks[i].recorder->culprits;
	for (int i = 0; i < e->nranks; i++)
		if (rank_list_has(absent, i))
			rank_set_add(&f->culprits, i);
	if (f->culprits.n == 0)
		return false;
	place_init(f, true);
	finding_note(f, "The others met, before MPI or NCCL began, and waited in vain.");
	finding_conclude(ctx, f, CLASS_INIT_MISSING, CONFIDENCE_PROVED);
	return true;
}

bool rule_absent_from_init(const struct rule_ctx *ctx, struct finding *f)
{
	size_t inside = progress_count_in_init(ctx->comm);

	if (some_never_met(ctx, f))
		return true;
	if (some_never_came(ctx, f))
		return true;
	finding_reset(f);

	for (int i = 0; inside > 0 && i < ctx->evidence->nranks; i++) {
		const struct evidence_rank *r = &ctx->evidence->ranks[i];

		if (!r->present || r->view.comm_state != RECORD_COMM_NONE || view_died(&r->view) ||
		    view_finished(&r->view))
			continue;
		rank_set_add(&f->culprits, i);
	}
	if (f->culprits.n == 0)
		return inside == 0 && no_rank_came(ctx, f);
	place_missing_init(ctx, f);
	note(f, "%zu of %d ranks %s inside communicator init.", inside, ctx->evidence->nranks,
	     inside == 1 ? "is" : "are");
	finding_conclude(ctx, f, culprits_class(ctx, &f->culprits, CLASS_INIT_MISSING),
			 CONFIDENCE_PROVED);
	return true;
}

bool rule_aborted(const struct rule_ctx *ctx, struct finding *f)
{
	uint64_t after = UINT64_MAX;
	int last = 0;
	bool orderly = true; /* any program's end gives its communicators up, once all is done */

	for (int i = 0; i < ctx->evidence->nranks; i++) {
		const struct rank_view *v = view_of(ctx, i);

		/* a rank that aborts after an error of its own, because it gave up a wait or lost another rank, follows the fault */
		if (!ctx->evidence->ranks[i].present || v->comm_state != RECORD_COMM_ABORTED ||
		    v->error_code != 0 || view_lost_peer(v) ||
		    evidence_gave_up(&ctx->evidence->ranks[i]))
			continue;
		rank_set_add(&f->culprits, i);
		last = i;
		after = v->aborted_after < after ? v->aborted_after : after;
		orderly &= evidence_leaves(&ctx->evidence->ranks[i], 0) &&
			   v->completed >= v->issued && !ctx->evidence->ranks[i].said[0];
	}
	if (f->culprits.n == 0 || f->culprits.n == (size_t)ctx->evidence->nranks ||
	    (orderly && 2 * f->culprits.n >= (size_t)ctx->evidence->nranks))
		return false;
	place_missing(ctx, f);
	if (after < INT64_MAX && f->answer.seq_low != (int64_t)after + 1) {
		/* also where what it broke is an earlier call of the others' */
		f->answer.seq_low = f->answer.seq_high = (int64_t)after + 1;
		finding_differ(f, "call", "aborted before it", "not made yet");
	}
	after = view_of(ctx, last)->aborted_after;
	note(f, "Rank %d aborted communicator 0 after %lu call%s on it.",
	     rank_number(ctx->evidence, last), after, after == 1 ? "" : "s");
	finding_conclude(ctx, f, CLASS_ABORTED, CONFIDENCE_PROVED);
	return true;
}
