/* rule_deviation.c: the rules about calls that are other than most ranks': the sequences side by side. */

#include "compare/sites.h"
#include "finding/rule.h"
#include "answer/answer.h"

static void name_field(const struct rule_ctx *ctx, struct finding *f, const struct record *theirs,
		       const struct record *ours)
{
	enum call_field field = theirs && ours ? field_first(theirs, ours) : CALL_FIELDS;

	finding_differ(f, field < CALL_FIELDS ? field_name(field, theirs) : "call",
		       call_words(ctx->evidence, theirs), call_words(ctx->evidence, ours));
}

/* Marks the culprits that gave the field of call `seq` the value that `rank` gave it. */
static void mark_value(const struct rule_ctx *ctx, const struct finding *f, uint64_t seq,
		       enum call_field field, int rank, bool *in)
{
	const struct record *theirs = progress_call(ctx->comm, rank, seq);

	for (int i = 0; i < ctx->comm->nranks; i++) {
		const struct record *r =
			f->culprits.in[i] ? progress_call(ctx->comm, i, seq) : NULL;

		in[i] = r && r->kind == theirs->kind && !field_differs(field, r, theirs);
	}
}

/* A line for each field of call `seq` and value in which culprits differ from `ours`. */
static void note_fields(const struct rule_ctx *ctx, struct finding *f, uint64_t seq,
			const struct record *ours)
{
	int nranks = ctx->comm->nranks, most = nranks - (int)f->culprits.n;
	bool *in = must(calloc((size_t)nranks + 1, sizeof(*in)));

	for (enum call_field field = 0; field < CALL_FIELDS; field++)
		for (int i = 0; i < nranks && finding_has_room(f); i++) {
			const struct record *r =
				f->culprits.in[i] ? progress_call(ctx->comm, i, seq) : NULL;

			if (!r || !field_differs(field, r, ours))
				continue;
			mark_value(ctx, f, seq, field, i, in);
			if (memchr(in, true, (size_t)i))
				continue; /* a line of another rank has it */
			note(f, "%s: %s: %s, the other%s: %s.", field_name(field, ours),
			     ranks_words(ctx->evidence, in, 80),
			     field_words(ctx->evidence, field, r), most == 1 ? "" : "s",
			     field_words(ctx->evidence, field, ours));
		}
	free(in);
}

static void note_swapped(struct finding *f, uint64_t at, uint64_t shift)
{
	snprintf(f->answer.field, sizeof(f->answer.field), "order");
	note(f, "Calls %lu and %lu are in the other order.", at, at + shift);
}

/* No call has a majority where two ranks differ in one way each, but each field may have one. */
static bool report_fieldwise(const struct rule_ctx *ctx, struct finding *f)
{
	const struct progress_comm *a = ctx->comm;
	struct record most;
	int who = -1;
	bool made = false, pairs = false;

	if (!progress_fieldwise(a, a->tie, &most))
		return false;
	for (int i = a->nranks - 1; i >= 0; i--) {
		const struct record *r = progress_call(a, i, a->tie);

		pairs |= call_in_pairs(r);
		made |= r && field_first(r, &most) == CALL_FIELDS;
		if (!r || field_first(r, &most) == CALL_FIELDS)
			continue;
		rank_set_add(&f->culprits, i);
		who = i;
	}
	if (who < 0 || !made || pairs) { /* no rank is right in all, or all may be by right */
		rank_set_clear(&f->culprits);
		return false;
	}
	name_field(ctx, f, progress_call(a, who, a->tie), &most);
	note_fields(ctx, f, a->tie, &most);
	finding_conclude(ctx, f, CLASS_MISMATCH, CONFIDENCE_MAJORITY);
	return true;
}

/* Notes which ranks made which call there. Returns the first rank of the first two sides in sides[]. */
static void note_sides(const struct rule_ctx *ctx, struct finding *f, int *sides)
{
	const struct progress_comm *a = ctx->comm;
	bool *in = must(calloc((size_t)a->nranks + 1, sizeof(*in)));
	int n = 0;

	for (int i = 0; i < a->nranks && f->answer.nnotes < ANSWER_NOTES; i++) {
		const struct record *r = progress_call(a, i, a->tie);
		char *names;

		for (int k = 0; r && k < a->nranks; k++)
			in[k] = progress_sig(a, k, a->tie) == progress_sig(a, i, a->tie);
		if (!r || memchr(in, true, (size_t)i))
			continue; /* it is among those of another rank */
		if (n < 2)
			sides[n++] = i;
		names = ranks_words(ctx->evidence, in, 80);
		names[0] = 'R';
		note(f, "%s made %s %lu of communicator %u as %s%s%s.", names, call_noun(ctx),
		     a->tie, a->comm, call_words(ctx->evidence, r),
		     call_site(ctx->evidence, i, r)[0] ? ", at " : "",
		     call_site(ctx->evidence, i, r));
	}
	free(in);
}

/* A tie that nothing decides: both sides, no culprit. */
static void report_tie(const struct rule_ctx *ctx, struct finding *f)
{
	const struct progress_comm *a = ctx->comm;
	int sides[2] = { -1, -1 };
	uint64_t swapped = 0;

	finding_place(f, a->comm, a->tie, a->tie, progress_hang_point(ctx->comm));
	f->collectives = a->collectives;
	if (!a->strict && report_fieldwise(ctx, f))
		return;
	note_sides(ctx, f, sides);
	if (sides[1] >= 0) {
		name_field(ctx, f, progress_call(a, sides[1], a->tie),
			   progress_call(a, sides[0], a->tie));
		swapped = progress_swapped(a, sides[0], sides[1], a->tie);
	}
	if (a->nranks == 2 && sides[1] >= 0)
		finding_tie(f, sides[1], sides[0]);
	if (swapped)
		note_swapped(f, a->tie, swapped);
	finding_conclude(ctx, f, swapped ? CLASS_SWAPPED : CLASS_MISMATCH, CONFIDENCE_INCONCLUSIVE);
	note(f, "No value has a majority: either side may be the one that is wrong.");
}

/* Notes what the culprits made there, in the words of `rank`: they may have made different ones. */
static void note_deviation(const struct rule_ctx *ctx, struct finding *f,
			   const struct deviation *first, int rank)
{
	const struct progress_comm *a = ctx->comm;
	uint64_t sig = progress_sig(a, rank, first->high);
	bool *alike = must(calloc((size_t)a->nranks + 1, sizeof(*alike)));
	char others[24] = "the others";

	if (a->nranks == 2)
		snprintf(others, sizeof(others), "rank %d", rank_number(ctx->evidence, !rank));
	for (int i = 0; i < a->nranks; i++)
		alike[i] = f->culprits.in[i] && progress_sig(a, i, first->high) == sig;
	note(f, "%s %lu of communicator %u: %s made %s, %s %s.",
	     a->collectives ? "Collective" : "Call", first->high, a->comm,
	     ranks_words(ctx->evidence, alike, 80), f->answer.theirs, others, f->answer.majority);
	free(alike);
	if (first->kind == DEVIATION_SKIPPED || first->kind == DEVIATION_EXTRA)
		note(f, "From there on %s calls are %s moved by %lu.",
		     f->culprits.n == 1 ? "its" : "their",
		     a->nranks == 2 ? "the other's" : "the others'", first->shift);
	if (first->kind == DEVIATION_SWAPPED)
		note_swapped(f, first->high, first->shift);
	if (first->kind == DEVIATION_FIELD)
		note_fields(ctx, f, first->high, progress_reference(a, first->high));
}

/* A send or receive left out, or one too many, is unmatched: its pair is named. */
static enum answer_class class_of(const struct rule_ctx *ctx, struct finding *f,
				  const struct deviation *one, int rank)
{
	static const enum answer_class classes[] = {
		[DEVIATION_SKIPPED] = CLASS_SKIPPED,	 [DEVIATION_EXTRA] = CLASS_EXTRA,
		[DEVIATION_FIELD] = CLASS_MISMATCH,	 [DEVIATION_SWAPPED] = CLASS_SWAPPED,
		[DEVIATION_UNCLEAR] = CLASS_UNEXPLAINED,
	};
	bool extra = one->kind == DEVIATION_EXTRA;
	const struct record *r = extra ? progress_call(ctx->comm, rank, one->high)
				       : progress_reference(ctx->comm, one->high);

	if (one->kind == DEVIATION_UNCLEAR && ctx->comm->any_program)
		return CLASS_MISMATCH;
	if (!call_in_pairs(r) || (!extra && one->kind != DEVIATION_SKIPPED))
		return classes[one->kind];
	if (extra)
		name_pair(ctx, f, rank, r->kind, r->peer);
	else
		name_lacking_pair(ctx, f, rank, one->high, r);
	return CLASS_UNMATCHED;
}

static void report_deviation(const struct rule_ctx *ctx, struct finding *f,
			     const struct deviation *first, int rank)
{
	const struct progress_comm *a = ctx->comm;
	bool tied = a->tie && a->tie <= first->high;
	bool open = !tied && progress_speaks_for(a, rank, first->high) &&
		    !progress_path_of_one(a, &f->culprits, first->high);

	finding_place(f, a->comm, first->low, first->high, progress_hang_point(a));
	f->collectives = a->collectives;
	if (f->answer.hang_seq >= 0 && f->answer.hang_seq < f->answer.seq_low)
		f->answer.hang_seq = f->answer.seq_low; /* before it all calls agree and complete */
	name_field(ctx, f, progress_call(a, rank, first->high), progress_reference(a, first->high));
	if (first->kind == DEVIATION_SKIPPED || first->kind == DEVIATION_EXTRA)
		snprintf(f->answer.field, sizeof(f->answer.field), "call");
	note_deviation(ctx, f, first, rank);
	f->reasons |= reasons_of_deviation(ctx, &f->culprits, first, rank, tied);
	if (open) {
		f->reasons |= 1u << REASON_ORDER_SPEAKS;
		note(f, "More ranks made the one, and what was made before and after speaks for "
			"the other: either side may be the one that is wrong.");
	} else if (tied) {
		note(f, first->kind == DEVIATION_FIELD ? "As many ranks made the one as the other: "
							 "either side may be the one that is wrong."
						       : "As many ranks made the one as the other; "
							 "what was made before and after decides.");
	}
	if (open || (tied && first->kind == DEVIATION_FIELD))
		rank_set_clear(&f->culprits);
	if (tied && a->nranks == 2 && a->any_program)
		finding_tie(f, rank, !rank);
	finding_conclude(ctx, f, open ? CLASS_MISMATCH : class_of(ctx, f, first, rank),
			 CONFIDENCE_MAJORITY);
}

/* Ranks' calls are other than most ranks'; or no side is larger, and no rank is named. */
static bool report_differences(const struct rule_ctx *ctx, struct finding *f)
{
	const struct progress_comm *a = ctx->comm;
	struct rank_set other = { must(calloc((size_t)a->nranks + 1, sizeof(bool))), a->nranks, 0 };
	struct deviation first;
	int who = progress_differs(a, &first, &f->culprits, &other);
	bool tie = a->tie && (who < 0 || first.high >= a->tie) &&
		   (!a->tie_side || first.kind == DEVIATION_UNCLEAR);

	for (int i = 0; i < other.nranks; i++)
		if (other.in[i])
			note(f, "Rank %d differs there too, in another way.",
			     rank_number(ctx->evidence, i));
	free(other.in);
	if (tie) {
		rank_set_clear(&f->culprits);
		report_tie(ctx, f);
	} else if (who >= 0) {
		report_deviation(ctx, f, &first, who);
	}
	return tie || who >= 0;
}

bool rule_plan(const struct rule_ctx *ctx, struct finding *f)
{
	return ctx->plan->followed && ctx->plan->few && report_differences(ctx, f);
}

bool rule_deviation(const struct rule_ctx *ctx, struct finding *f)
{
	return !ctx->settled && report_differences(ctx, f);
}

/* Returns true if the rank went on behind call `seq` of a captured graph: a later one, its end, its device. */
static bool went_on(const struct rule_ctx *ctx, int rank, uint64_t seq)
{
	const struct rank_view *v = &ctx->evidence->ranks[rank].view;
	const struct record *r = progress_call(ctx->comm, rank, seq);

	if (record_done(r, v->completed))
		return true;
	while ((r = progress_call(ctx->comm, rank, ++seq)))
		if (r->replays > 0)
			return true;
	if (view_finished(v))
		return v->outcome != OUTCOME_ERROR || v->error_code == 0;
	return v->device_wait == RECORD_DEVICE_AWAITED;
}

/* Marks the ranks that launched call `seq` less often than the others, and went on. `least`: of one of them. */
static void mark_fewer(const struct rule_ctx *ctx, struct finding *f, uint64_t seq, uint32_t *most,
		       uint32_t *least)
{
	const struct record *r;

	*most = *least = 0;
	for (int i = 0; i < ctx->comm->nranks; i++) {
		r = progress_call(ctx->comm, i, seq);
		*most = r && r->replays > *most ? r->replays : *most;
	}
	for (int i = 0; i < ctx->comm->nranks; i++) {
		r = progress_call(ctx->comm, i, seq);
		if (!r || r->replays == *most || !went_on(ctx, i, seq))
			continue;
		*least = r->replays;
		rank_set_add(&f->culprits, i);
	}
}

bool rule_replays(const struct rule_ctx *ctx, struct finding *f)
{
	const struct progress_comm *a = ctx->comm;
	uint64_t seq = a->base, end = 0;
	uint32_t most = 0, least = 0;
	char times[16], others[16];
	bool tie;

	for (int i = 0; i < ctx->evidence->nranks && !end; i++)
		if (view_of(ctx, i)->last.ticket && view_of(ctx, i)->last.replays > 0)
			end = a->base + a->span;
	while (seq < end && f->culprits.n == 0)
		mark_fewer(ctx, f, seq++, &most, &least);
	if (f->culprits.n == 0)
		return false;
	seq--;
	tie = 2 * f->culprits.n >= (size_t)a->nranks;
	finding_place(f, a->comm, seq, seq, progress_hang_point(ctx->comm));
	snprintf(times, sizeof(times), "%u", least);
	snprintf(others, sizeof(others), "%u", most);
	finding_differ(f, "replays", times, others);
	note(f, "The graph of call %lu of communicator %u: launched %u times, by others %u times.",
	     seq, a->comm, least, most);
	if (tie)
		rank_set_clear(&f->culprits);
	f->reasons |= reason_if(tie, REASON_NO_MAJORITY);
	finding_conclude(ctx, f, CLASS_REPLAY, CONFIDENCE_MAJORITY);
	return true;
}

/* Returns true if every rank that died did so by a signal of its own making, in a call or in the clean-up behind an error. Then
 * the call may have killed it: arguments that do not fit the others'. */
static bool died_in_calls(const struct evidence *e)
{
	static const int own[] = { SIGABRT, SIGSEGV, SIGBUS, SIGFPE, SIGILL };
	size_t dead = 0;

	for (int i = 0; i < e->nranks; i++) {
		const struct evidence_rank *r = &e->ranks[i];
		bool by_itself = false;

		if (!r->present || !view_died(&r->view))
			continue;
		for (size_t k = 0; k < LENGTH(own); k++)
			by_itself |= r->view.process == PROCESS_KILLED && r->view.status == own[k];
		if (!by_itself || r->ncalls == 0 ||
		    (r->calls[r->ncalls - 1].state != RECORD_ISSUING && !r->view.error[0]))
			return false;
		dead++;
	}
	return dead > 0;
}

bool rule_died_in_call(const struct rule_ctx *ctx, struct finding *f)
{
	return died_in_calls(ctx->run) && report_differences(ctx, f);
}
