/* rule_deviation.c: the rules about calls that differ: the sequences side by side, and which
 * ranks' is another than most ranks'. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "diagnose/rule.h"
#include "base/rank_list.h"

#define PLAN_MIN    4 /* calls that are alike: ranks follow one plan */
#define POINTED_MAX 8 /* ranks for whom is asked who waits for them */

static void name_field(struct diagnosis *d, const struct record *theirs, const struct record *ours)
{
	const char *field = "call";

	if (theirs && ours)
		field = theirs->kind != ours->kind     ? "kind"
			: theirs->count != ours->count ? "count"
			: theirs->dtype != ours->dtype ? "dtype"
			: theirs->op != ours->op       ? "op"
						       : "peer";
	snprintf(d->field, sizeof(d->field), "%s", field);
	inquiry_call(theirs, d->theirs, sizeof(d->theirs));
	inquiry_call(ours, d->majority, sizeof(d->majority));
}

/* A tie that nothing decides: both sides, nobody guilty. */
static void report_tie(struct inquiry *q)
{
	const struct align *a = &q->align;
	struct diagnosis *d = q->d;
	const struct record *first = NULL, *second = NULL;

	for (int i = 0; i < a->nranks; i++) {
		const struct record *r;
		char call[160];

		if (first && second && d->nlines == DIAGNOSIS_LINES)
			break;
		r = align_record(a, i, a->tie);
		if (!r)
			continue;
		if (!first)
			first = r;
		else if (!second && align_signed(a, r) != align_signed(a, first))
			second = r;
		inquiry_say(d, "Rank %d made call %" PRIu64 " of communicator %u as %s.",
			    inquiry_number(q, i), a->tie, a->comm,
			    inquiry_call(r, call, sizeof(call)));
	}
	d->seq_low = d->seq_high = (int64_t)a->tie;
	d->comm = a->comm;
	d->hang_seq = inquiry_hang_point(q);
	name_field(d, second, first);
	inquiry_conclude(q, CLASS_MISMATCH, "inconclusive");
	inquiry_say(d, "No value has a majority: either side may be the one that is wrong.");
}

static enum diagnosis_class deviation_class(enum deviation_kind kind)
{
	return kind == DEVIATION_SKIPPED ? CLASS_SKIPPED
	       : kind == DEVIATION_EXTRA ? CLASS_EXTRA
	       : kind == DEVIATION_FIELD ? CLASS_MISMATCH
					 : CLASS_UNEXPLAINED;
}

/* What the guilty made there, in the words of `rank`, one of them: they need not all have made the
 * same. */
static void say_deviation(struct inquiry *q, const struct deviation *first, int rank)
{
	const struct align *a = &q->align;
	uint64_t sig = align_sig(a, rank, first->high);
	bool *alike = calloc((size_t)a->nranks + 1, sizeof(*alike));
	const char *others = a->nranks - (int)q->nguilty == 1 ? "the other" : "the others";
	char names[80] = "a rank";

	for (int i = 0; alike && i < a->nranks; i++)
		alike[i] = q->guilty[i] && align_sig(a, i, first->high) == sig;
	if (alike)
		inquiry_words(q, alike, names, sizeof(names));
	free(alike);
	inquiry_say(q->d, "Call %" PRIu64 " of communicator %u: %s made %s, %s %s.", first->high,
		    a->comm, names, q->d->theirs, others, q->d->majority);
	if (first->kind == DEVIATION_SKIPPED || first->kind == DEVIATION_EXTRA)
		inquiry_say(q->d, "From there on %s calls are %s moved by %" PRIu64 ".",
			    q->nguilty == 1 ? "its" : "their",
			    a->nranks - (int)q->nguilty == 1 ? "the other's" : "the others'",
			    first->shift);
}

/* One made a send or receive where others are in a collective, and little was alike before: some
 * ranks may have no part in those by right. */
static bool may_be_apart(const struct align *a, const struct deviation *first, int rank)
{
	return first->agreed < PLAN_MIN && call_in_pairs(align_record(a, rank, first->high)) !=
						   call_in_pairs(align_reference(a, first->high));
}

static void report_deviation(struct inquiry *q, const struct deviation *first, int rank)
{
	const struct align *a = &q->align;
	struct diagnosis *d = q->d;
	bool tied = a->tie && a->tie <= first->high;

	d->comm = a->comm;
	d->seq_low = (int64_t)first->low;
	d->seq_high = (int64_t)first->high;
	d->hang_seq = inquiry_hang_point(q);
	if (d->hang_seq >= 0 && d->hang_seq < d->seq_low)
		d->hang_seq = d->seq_low; /* before it all calls agree and complete */
	name_field(d, align_record(a, rank, first->high), align_reference(a, first->high));
	if (first->kind == DEVIATION_SKIPPED || first->kind == DEVIATION_EXTRA)
		snprintf(d->field, sizeof(d->field), "call");
	say_deviation(q, first, rank);
	if (tied && first->kind == DEVIATION_FIELD) {
		inquiry_say(
			d,
			"As many ranks made the one as the other: either side may be the one that "
			"is wrong.");
		memset(q->guilty, 0, (size_t)a->nranks);
	} else if (tied) {
		inquiry_say(
			d,
			"As many ranks made the one as the other; what was made before and after "
			"decides.");
	}
	inquiry_conclude(q, deviation_class(first->kind),
			 tied || first->kind == DEVIATION_UNCLEAR || may_be_apart(a, first, rank) ||
					 pairs_contradict(q, first, rank)
				 ? "inconclusive"
				 : "majority");
}

bool blame_deviation(struct inquiry *q)
{
	struct deviation first = { .kind = DEVIATION_NONE };
	size_t nlines = q->d->nlines;
	int who = -1;

	for (int i = 0; i < q->align.nranks; i++) {
		struct deviation d = align_compare(&q->align, i);

		if (d.kind == DEVIATION_NONE || (who >= 0 && d.high > first.high))
			continue;
		if (who < 0 || d.high < first.high) {
			memset(q->guilty, 0, (size_t)q->align.nranks);
			q->nguilty = 0;
			q->d->nlines = nlines; /* said of a later place */
			first = d;
			who = i;
		}
		if (d.kind == first.kind && d.shift == first.shift)
			inquiry_accuse(q, i);
		else
			inquiry_say(q->d, "Rank %d differs there too, in another way.",
				    inquiry_number(q, i));
	}
	if (q->align.tie && !q->align.sided && (who < 0 || first.high >= q->align.tie)) {
		memset(q->guilty, 0, (size_t)q->align.nranks);
		q->nguilty = 0;
		report_tie(q);
		return true;
	}
	if (who < 0)
		return false;
	report_deviation(q, &first, who);
	return true;
}

/* Sends and receives, told apart by kind and amount: are a few ranks' those of all others but for some
 * left out or made too often? Where each rank follows a plan of its own this says nothing. */
bool blame_plan(struct inquiry *q)
{
	const struct align *a = &q->align;
	size_t odd = 0;

	if (a->tie && a->tie < a->base + PLAN_MIN)
		return false;
	if (a->tie && !a->sided) {
		q->split |= 1u << a->comm;
		return false;
	}
	for (int i = 0; i < a->nranks; i++) {
		struct deviation one = align_compare(a, i);

		if (one.kind == DEVIATION_NONE)
			continue;
		if (one.kind == DEVIATION_FIELD || one.kind == DEVIATION_UNCLEAR)
			return false;
		if (one.agreed < PLAN_MIN &&
		    (odd >= POINTED_MAX || !pairs_point_at(q, i, one.kind == DEVIATION_EXTRA)))
			return false;
		odd++;
	}
	q->planned |= 1u << a->comm;
	return odd * 2 < (size_t)a->nranks + a->sided && blame_deviation(q);
}

bool blame_split(struct inquiry *q)
{
	bool split = q->split & 1u << q->align.comm;

	if (split)
		report_tie(q);
	return split;
}

bool is_in_pairs(struct inquiry *q)
{
	for (int i = 0; i < q->align.nranks; i++)
		if (waits_in_pairs(q, i))
			return true;
	return call_in_pairs(align_reference(&q->align, q->align.top));
}
