/* rule_missing.c: the rule about the call that some made and others never did. */

#include "find/plans.h"
#include "answer/answer.h"
#include "process/watch.h"

/* Returns true if one call may be all that is missing from `seq` on: sends and receives differ by right, and what stands
 * behind `seq` may be the others' alone. */
static bool is_one_step(const struct rule_ctx *ctx, uint64_t seq)
{
	uint64_t next = seq + 1;

	while (next <= ctx->comm->top && call_in_pairs(progress_reference(ctx->comm, next)))
		next++;
	return next > ctx->comm->top || call_in_pairs(progress_reference(ctx->comm, seq));
}

/* Returns true if the rank has gone on behind that call, or (any program) gave its communicator up or begins to end. */
static bool is_behind_it(const struct rule_ctx *ctx, int rank, const struct missing *makers)
{
	const struct evidence_rank *r = &ctx->evidence->ranks[rank];

	return missing_passed(makers, &r->view) || evidence_leaves(r, ctx->comm->comm);
}

/* One call left out at the end, and a loop left that much early, leave the same evidence. */
static enum answer_class missing_class(const struct rule_ctx *ctx, int rank,
				       const struct missing *makers)
{
	const struct evidence_rank *r = &ctx->evidence->ranks[rank];
	const struct rank_view *v = &r->view;
	bool one_step = is_one_step(ctx, ctx->comm->tracks[rank].last + 1);

	/* or it waits, all its calls done, in one place with ranks that made one more and are done with it */
	if (!is_behind_it(ctx, rank, makers) &&
	    !(one_step && v->waiting && makers->through && v->completed >= v->issued &&
	      strcmp(v->what, makers->through) == 0))
		return host_class(r, CLASS_MISSING);
	return one_step ? CLASS_SKIPPED_OR_EARLY : CLASS_EARLY;
}

/* Most ranks (`half`: half of them) are done with the calls; the others make one more. */
static bool is_surplus(const struct rule_ctx *ctx, const struct rank_set *behind,
		       const struct missing *makers, bool half)
{
	if (makers->came >= behind->n + half)
		return false;
	for (int i = 0; i < ctx->comm->nranks; i++)
		if (behind->in[i] && !is_behind_it(ctx, i, makers))
			return false;
	return true;
}

/* Notes that the culprits are past call `seq`, and that one call or all may be missing. */
static void note_past(const struct rule_ctx *ctx, struct finding *f, uint64_t seq)
{
	bool one = f->culprits.n == 1;
	uint64_t top = ctx->comm->top;
	char calls[64];

	note(f, "The culprit%s past the call: %s in another place or %s finished.",
	     one ? " is" : "s are", one ? "it waits" : "they wait", one ? "has" : "have");
	if (!is_one_step(ctx, seq))
		return;
	f->reasons |= 1u << REASON_LAST_CALL;
	snprintf(calls, sizeof(calls), seq == top ? "Call %lu is" : "Calls %lu to %lu are", seq,
		 top);
	note(f,
	     "%s the last that anyone made: whether %s left out %s alone or all from %s on cannot "
	     "be told (skipped-call or early-exit).",
	     calls, one ? "the rank" : "they", seq == top ? "this one" : "these",
	     seq == top ? "it" : "there");
}

/* Returns true if all of the culprits wait for sends or receives of theirs; `alone`: for partners that left
 * them alone: then they are no culprits. */
static bool all_wait_in_pairs(const struct rule_ctx *ctx, const struct rank_set *culprits,
			      bool alone)
{
	const struct record *theirs;

	for (int i = 0; i < culprits->nranks; i++)
		if (culprits->in[i] && (!progress_in_pairs(ctx->comm, i) ||
					(alone && !progress_open_pair(ctx->comm, i, &theirs))))
			return false;
	return culprits->n > 0;
}

/* The culprits are in host code: with own sends or receives pending it may be those. */
static void note_own_pairs(const struct rule_ctx *ctx, struct finding *f)
{
	const char *who = f->culprits.n == 1 ? "it" : "they";
	bool known = true;

	if (!all_wait_in_pairs(ctx, &f->culprits, false))
		return;
	for (int i = 0; i < ctx->comm->nranks; i++)
		known = known && (!f->culprits.in[i] || progress_partners_known(ctx->comm, i));
	note(f, "Sends or receives that %s made are pending: %s may wait for these.", who, who);
	f->reasons |= 1u << (known ? REASON_OWN_PAIRS : REASON_PARTNERS_UNKNOWN);
}

/* Returns true if all ranks that made call `seq`, the last, made their call before once more, where the
 * schedule repeats none by itself; or (`few`: of fewer ranks than not) one of the same exchange. */
static bool is_repeated(const struct rule_ctx *ctx, uint64_t seq, bool few)
{
	const struct progress_comm *a = ctx->comm;
	bool repeated = seq == a->top && seq > 1;

	for (int i = 0; i < a->nranks && repeated; i++)
		repeated = a->tracks[i].last < seq || (few && progress_again_in_pairs(a, i, seq)) ||
			   (progress_again(a, i, seq) && !progress_again(a, i, seq - 1) &&
			    (seq == 2 || progress_call(a, i, seq - 2)));
	return repeated;
}

/* A send or receive too many is unmatched: the pair is that of the first rank that made it. */
static enum answer_class class_of_surplus(const struct rule_ctx *ctx, struct finding *f,
					  uint64_t seq)
{
	const struct record *r;
	int who = 0;

	while (who + 1 < ctx->comm->nranks && !f->culprits.in[who])
		who++;
	r = progress_call(ctx->comm, who, seq);
	if (!call_in_pairs(r))
		return CLASS_EXTRA;
	name_pair(ctx, f, who, r->kind, r->peer);
	return CLASS_UNMATCHED;
}

/* `alone`: one rank made the call. The culprits at first are those without it. Nothing but numbers makes a call one too many that
 * repeats none: then no rank is named, and both sides are listed. */
static bool report_surplus(const struct rule_ctx *ctx, struct finding *f, uint64_t seq, bool alone)
{
	enum answer_class class;
	const char *less = ranks_words(ctx->evidence, f->culprits.in, 64), *more;

	rank_set_clear(&f->culprits);
	for (int i = 0; i < ctx->comm->nranks; i++)
		if (ctx->comm->tracks[i].known && ctx->comm->tracks[i].last >= seq)
			rank_set_add(&f->culprits, i);
	more = ranks_words(ctx->evidence, f->culprits.in, 64);
	memcpy(f->answer.theirs, f->answer.majority, sizeof(f->answer.theirs));
	snprintf(f->answer.majority, sizeof(f->answer.majority), "no call");
	f->answer.seq_low = (int64_t)progress_run_start(ctx->comm, seq);
	if (alone && !is_repeated(ctx, seq, true))
		f->answer.seq_low = f->answer.seq_high;
	if (alone || is_repeated(ctx, seq, 2 * (int)f->culprits.n < ctx->comm->nranks)) {
		class = class_of_surplus(ctx, f, seq);
		f->reasons |= seq == 2 ? 1u << REASON_FIRST_CALL : 0;
		if (ctx->comm->nranks == 2 && ctx->comm->any_program)
			finding_tie(f, f->culprits.in[1], f->culprits.in[0]);
		finding_conclude(ctx, f, class, CONFIDENCE_MAJORITY);
		return true;
	}
	if (ctx->comm->nranks == 2 && ctx->comm->any_program)
		finding_tie(f, f->culprits.in[1], f->culprits.in[0]);
	rank_set_clear(&f->culprits);
	note(f,
	     "Either %s made call %lu too many, or %s left it out or left before it: nothing but "
	     "their numbers speaks for a side.",
	     more, seq, less);
	finding_conclude(ctx, f, CLASS_MISMATCH, CONFIDENCE_INCONCLUSIVE);
	return true;
}

static bool is_past(enum answer_class class)
{
	return class == CLASS_SKIPPED_OR_EARLY || class == CLASS_EARLY;
}

/* The class of all culprits, and what speaks against it. */
static enum answer_class class_of_missing(const struct rule_ctx *ctx, struct finding *f,
					  const struct missing *makers)
{
	enum answer_class class = CLASS_OUTCOME;
	bool over = true; /* the culprits have made all calls of a schedule */

	for (int i = 0; i < ctx->comm->nranks; i++)
		if (f->culprits.in[i]) {
			enum answer_class one = missing_class(ctx, i, makers);

			over = over && evidence_list_is_over(&ctx->evidence->ranks[i]);
			/* a rank that does something else than the others may wait for one of them */
			if (class != CLASS_OUTCOME && one != class)
				f->reasons |= 1u << REASON_MIXED;
			class = shared_class(class, one, CLASS_MISSING);
		}
	if ((is_past(class) || over) && f->culprits.n >= makers->came) {
		note(f, "As many ranks made the call as did not: those who did may have made one "
			"too many.");
		f->reasons |= 1u << REASON_SURPLUS;
	}
	if (is_past(class) && ctx->in_pairs && !ctx->plan->followed && !ctx->comm->collectives)
		f->reasons |= 1u << REASON_OWN_PLANS;
	return class;
}

/* One of two ranks lacks the call, and may have come to its end as others have. */
static bool is_either(const struct rule_ctx *ctx, const struct rank_set *behind)
{
	return ctx->comm->nranks == 2 && behind->n == 1 &&
	       others_ended(ctx, members_rank(ctx->members, behind->in[1]));
}

static bool report_missing(const struct rule_ctx *ctx, struct finding *f)
{
	struct awaited call = progress_first_missing(ctx->comm);
	struct missing makers;
	enum answer_class class;
	uint64_t seq;

	progress_missing(&call, &f->culprits, &makers);
	seq = makers.call;
	if (seq == 0)
		return false;
	f->reasons |=
		reasons_of_missing(ctx, &f->culprits, seq) |
		reason_if(ctx->comm->collectives && all_wait_in_pairs(ctx, &f->culprits, false),
			  REASON_OWN_PLANS);
	place_missing(ctx, f);
	if (ctx->outcome != OUTCOME_HANG)
		f->answer.hang_seq = -1; /* all came to their end: no rank waits */
	if (is_surplus(ctx, &f->culprits, &makers, false) || is_either(ctx, &f->culprits))
		return report_surplus(ctx, f, seq, false);
	if (is_surplus(ctx, &f->culprits, &makers, true) && is_repeated(ctx, seq, false)) {
		f->reasons |= 1u << REASON_NO_MAJORITY;
		return report_surplus(ctx, f, seq, false);
	}
	if (all_wait_in_pairs(ctx, &f->culprits, true)) {
		finding_reset(f);
		if (report_group_end(ctx, f))
			return true;
		if (!ctx->comm->collectives)
			return false;
		progress_missing(&call, &f->culprits, &makers);
		f->reasons |= 1u << REASON_OWN_PLANS;
		place_missing(ctx, f);
	}
	class = class_of_missing(ctx, f, &makers);
	if (class == CLASS_SKIPPED_OR_EARLY && seq == ctx->comm->top && !ctx->plan->followed)
		f->answer.seq_low = (int64_t)progress_run_start(ctx->comm, seq);
	if (is_past(class))
		note_past(ctx, f, seq);
	else if (class == CLASS_BLOCKED || class == CLASS_BUSY)
		note_own_pairs(ctx, f);
	finding_conclude(ctx, f, class, CONFIDENCE_PROVED);
	return true;
}

static bool is_member(const struct rule_ctx *ctx, int rank)
{
	for (int i = 0; i < ctx->evidence->nranks; i++)
		if (members_rank(ctx->members, i) == rank)
			return true;
	return false;
}

/* Returns true if the member waits for a job of its own, which it has started, and whose ranks wait in calls. */
static bool waits_for_own_job(const struct rule_ctx *ctx, int member)
{
	int rank = members_rank(ctx->members, member);

	for (int i = 0; i < ctx->run->nranks; i++) {
		const struct evidence_rank *r = &ctx->run->ranks[i];

		if (r->present && r->started_by == rank + 1 && !is_member(ctx, i) &&
		    r->view.process == PROCESS_ALIVE && r->view.waiting && r->view.waited >= 1)
			return true;
	}
	return false;
}

bool rule_missing(const struct rule_ctx *ctx, struct finding *f)
{
	bool found = report_missing(ctx, f), own = found && f->culprits.n > 0;

	for (int i = 0; i < f->culprits.nranks && own; i++)
		own = !f->culprits.in[i] || waits_for_own_job(ctx, i);
	return found && !own;
}

/* One rank waits in a call on a communicator that all others, two at least, have destroyed or aborted, or may have: they never come to
 * that call. */
bool rule_left_alone(const struct rule_ctx *ctx, struct finding *f)
{
	const struct progress_comm *a = ctx->comm;
	uint64_t least = a->top;
	bool left = true;

	for (int i = 0; i < a->nranks; i++) {
		uint64_t last = a->tracks[i].known ? a->tracks[i].last : a->top;
		const struct evidence_rank *r = &ctx->evidence->ranks[i];
		bool may = evidence_may_have_ended(r);

		if (last == a->top)
			continue;
		least = last < least ? last : least;
		left &= may || evidence_leaves(r, a->comm);
		f->reasons |= reason_if(may, REASON_OTHER_CAUSE);
		rank_set_add(&f->culprits, i);
	}
	if (!left || f->culprits.n < 2 || (int)f->culprits.n + 1 != a->nranks)
		return false;
	place_missing(ctx, f);
	return report_surplus(ctx, f, least + 1, true);
}

bool rule_missing_at_end(const struct rule_ctx *ctx, struct finding *f)
{
	const struct evidence *e = ctx->run;

	for (int i = 0; i < e->nranks; i++)
		if (!e->ranks[i].present || !view_finished(&e->ranks[i].view))
			return false;
	return !ctx->settled && report_missing(ctx, f);
}
