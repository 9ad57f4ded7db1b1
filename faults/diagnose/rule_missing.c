/* rule_missing.c: the rule about the call that some made and others never did; what is said
 * where nobody made it. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "diagnose/rule.h"
#include "base/rank_list.h"
#include "record/verdict.h"
#include "process/watch.h"

/* What the ranks that made the call are doing. */
struct makers {
	size_t n;
	uint32_t phase; /* the furthest */
	const char *
		what; /* what one of those waits for whose calls have not completed, NULL: none does */
	const char *past; /* one whose calls have: of a broadcast's root, for one. NULL: none */
};

/* Does this rank's own account put it past the calls that others are still in? Where those wait
 * whom the call let go says nothing: they may be further on than a rank that never came to it. */
static bool is_beyond(const struct evidence_rank *rank, const struct makers *makers)
{
	const struct rank_view *v = &rank->view;

	if (view_finished(v))
		return true;
	if (v->phase > makers->phase && v->phase != PHASE_SPARE)
		return true;
	return v->waiting && makers->what && strcmp(v->what, makers->what) != 0;
}

/* Past the call, but no further than those whom the call let go, and that call is all it lacks? */
static bool left_one_out(const struct inquiry *q, int rank, const struct makers *makers)
{
	const struct rank_view *v = &q->evidence->ranks[rank].view;
	uint64_t next = q->align.tracks[rank].last + 1;

	if (view_finished(v) || v->phase > makers->phase || next != q->align.top)
		return false;
	return align_run(&q->align, next) < next ||
	       (makers->past && strcmp(v->what, makers->past) == 0);
}

static enum diagnosis_class missing_class(struct inquiry *q, int rank, const struct makers *makers)
{
	const struct evidence_rank *r = &q->evidence->ranks[rank];

	if (is_beyond(r, makers))
		return left_one_out(q, rank, makers) ? CLASS_SKIPPED : CLASS_EARLY;
	return inquiry_host_class(r, CLASS_MISSING);
}

/* The fewest calls that any rank made; `idle`: leaving out those who wait for their own sends and
 * receives. */
static uint64_t fewest_calls(const struct inquiry *q, bool idle)
{
	uint64_t least = UINT64_MAX;

	for (int i = 0; i < q->align.nranks; i++) {
		const struct track *t = &q->align.tracks[i];

		if (t->known && t->last < least && !(idle && waits_in_pairs(q, i)))
			least = t->last;
	}
	return least;
}

/* Those that made fewest calls and are not inside one; who waits for a partner may be behind the
 * one that left it alone. Returns the number of the call they lack, 0: nobody lacks one. */
static uint64_t find_behind(struct inquiry *q, struct makers *makers)
{
	const struct align *a = &q->align;
	uint64_t least = fewest_calls(q, true);
	bool idle = least < a->top;

	memset(makers, 0, sizeof(*makers));
	if (!idle)
		least = fewest_calls(q, false);
	if (least >= a->top)
		return 0;
	for (int i = 0; i < a->nranks; i++) {
		const struct rank_view *v = &q->evidence->ranks[i].view;

		if (!a->tracks[i].known)
			continue;
		if (a->tracks[i].last == least && !a->tracks[i].inside &&
		    !(idle && waits_in_pairs(q, i)))
			inquiry_accuse(q, i);
		if (a->tracks[i].last <= least)
			continue;
		makers->n++;
		makers->phase = v->phase > makers->phase ? v->phase : makers->phase;
		if (v->waiting && v->completed < v->issued)
			makers->what = v->what;
		else if (v->waiting)
			makers->past = v->what;
	}
	return q->nguilty ? least + 1 : 0;
}

/* Most ranks are done with the calls; a few make one that nobody else makes. */
static bool is_surplus(const struct inquiry *q, const struct makers *makers)
{
	if (makers->n >= q->nguilty)
		return false;
	for (int i = 0; i < q->align.nranks; i++)
		if (q->guilty[i] && !is_beyond(&q->evidence->ranks[i], makers))
			return false;
	return true;
}

static void turn_round(struct inquiry *q, uint64_t seq)
{
	q->nguilty = 0;
	for (int i = 0; i < q->align.nranks; i++) {
		q->guilty[i] = q->align.tracks[i].known && q->align.tracks[i].last >= seq;
		q->nguilty += q->guilty[i];
	}
}

/* The calls from `seq` on may all belong to one step of the schedule: a step of sends and receives
 * has one to each rank. */
static bool is_one_step(const struct inquiry *q, uint64_t seq)
{
	uint64_t lacking = q->align.top - seq + 1;

	return lacking == 1 || (call_in_pairs(align_reference(&q->align, seq)) &&
				lacking <= 2 * (uint64_t)q->align.nranks);
}

/* Of guilty ranks that are past call `seq`. Returns the confidence: the ranks are proved, but
 * what was left out once at the end, and a loop left that much early, leave the same evidence. */
static const char *say_past(struct inquiry *q, uint64_t seq)
{
	bool one = q->nguilty == 1;
	uint64_t top = q->align.top;

	inquiry_say(
		q->d,
		one ? "The guilty rank is past the call: it waits in another place or has finished."
		    : "The guilty ranks are past the call: they wait in another place or have "
		      "finished.");
	if (!is_one_step(q, seq))
		return "proved";
	if (seq == top)
		inquiry_say(q->d,
			    "Call %" PRIu64
			    " is the last that anyone made: whether %s left out this one "
			    "alone or all from it on cannot be told (skipped-call or early-exit).",
			    seq, one ? "the rank" : "they");
	else
		inquiry_say(
			q->d,
			"Calls %" PRIu64 " to %" PRIu64
			" are the last that anyone made: whether %s "
			"left out these alone or all from there on cannot be told (skipped-call or "
			"early-exit).",
			seq, top, one ? "the rank" : "they");
	return call_in_pairs(align_reference(&q->align, seq)) &&
			       2 * q->nguilty >= (size_t)q->align.nranks
		       ? "inconclusive"
		       : "majority";
}

/* Of guilty ranks in host code: with sends or receives of their own pending it may be those that
 * they wait for. Returns the confidence. */
static const char *say_own_pairs(struct inquiry *q)
{
	const char *who = q->nguilty == 1 ? "it" : "they";
	bool known = true;

	if (!all_wait_in_pairs(q))
		return "proved";
	for (int i = 0; i < q->align.nranks; i++)
		known = known && (!q->guilty[i] || partners_known(q, i));
	inquiry_say(q->d, "Sends or receives that %s made are pending: %s may wait for these.", who,
		    who);
	return known ? "majority" : "inconclusive";
}

bool blame_missing(struct inquiry *q)
{
	struct makers makers;
	uint64_t seq = find_behind(q, &makers);
	enum diagnosis_class class = CLASS_OUTCOME;
	const char *confidence = "proved";
	struct diagnosis *d = q->d;
	uint32_t bit = 1u << q->align.comm;
	bool split = q->split & bit, loose;

	if (seq == 0)
		return false;
	/* numbers of calls say little where each rank follows a plan of its own, or nobody waits
	 * for what is missing */
	loose = call_in_pairs(align_reference(&q->align, seq)) &&
		(!(q->planned & bit) || !guilty_awaited(q));
	inquiry_place_missing(q);
	if (d->outcome != OUTCOME_HANG)
		d->hang_seq = -1; /* all came to their end: nobody waits */
	if (is_surplus(q, &makers)) {
		turn_round(q, seq);
		memcpy(d->theirs, d->majority, sizeof(d->theirs));
		snprintf(d->majority, sizeof(d->majority), "no call");
		d->seq_low = (int64_t)align_run(&q->align, seq);
		inquiry_conclude(q, CLASS_EXTRA, loose ? "inconclusive" : "majority");
		return true;
	}
	if (split && all_wait_in_pairs(q))
		return false;
	if (all_wait_in_pairs(q) && acquit_pairs(q))
		return d->class == CLASS_MISMATCH;
	for (int i = 0; i < q->align.nranks; i++) {
		enum diagnosis_class one = q->guilty[i] ? missing_class(q, i, &makers) : class;

		class = class && one != class ? CLASS_MISSING : one;
	}
	if (class == CLASS_SKIPPED && split)
		return false;
	if (class == CLASS_SKIPPED && !(q->planned & bit))
		d->seq_low = (int64_t)align_run(&q->align, seq);
	if (class == CLASS_SKIPPED || class == CLASS_EARLY)
		confidence = say_past(q, seq);
	else if (class == CLASS_BLOCKED || class == CLASS_BUSY)
		confidence = say_own_pairs(q);
	inquiry_conclude(q, class, loose ? "inconclusive" : confidence);
	return true;
}

void say_missing_too(struct inquiry *q)
{
	struct inquiry other = *q;
	struct makers makers;
	char tail[64];
	uint64_t seq;

	other.guilty = calloc((size_t)q->align.nranks + 1, sizeof(*other.guilty));
	if (!other.guilty)
		return;
	other.nguilty = 0;
	seq = find_behind(&other, &makers);
	snprintf(tail, sizeof(tail), "; it lacks call %" PRIu64 "%s", seq,
		 q->d->seq_high == (int64_t)seq ? ", too" : "");
	for (int i = 0; i < q->align.nranks && q->d->nlines < DIAGNOSIS_LINES - 4; i++) {
		const struct evidence_rank *r = &q->evidence->ranks[i];

		if (other.guilty[i] && !q->guilty[i] && r->view.process < PROCESS_EXITED &&
		    !is_beyond(r, &makers))
			inquiry_say_rank(q, i, tail);
	}
	free(other.guilty);
}

/* Alive, with calls that are known and complete: it waits for something else. */
static bool is_outside(const struct inquiry *q, int rank)
{
	const struct rank_view *v = &q->evidence->ranks[rank].view;

	return q->align.tracks[rank].known && v->process == PROCESS_ALIVE && v->waiting &&
	       v->completed >= v->issued && v->comm_state != RECORD_COMM_INIT;
}

static bool same_place(const struct evidence_rank *a, const struct evidence_rank *b)
{
	return strcmp(a->syscall, b->syscall) == 0 && strcmp(a->view.what, b->view.what) == 0;
}

/* A line for all of `left` that are where `first` is: they are taken out of it. `there`: room
 * for as many marks. */
static void say_place(struct inquiry *q, bool *left, bool *there, int first)
{
	const struct evidence_rank *ranks = q->evidence->ranks, *r = &ranks[first];
	char names[64], call[48] = "in no system call";
	size_t n = 0;

	for (int i = 0; i < q->align.nranks; i++) {
		there[i] = left[i] && same_place(&ranks[i], r);
		left[i] = left[i] && !there[i];
		n += there[i];
	}
	if (r->syscall[0])
		snprintf(call, sizeof(call), "in system call %s", r->syscall);
	inquiry_words(q, there, names, sizeof(names));
	names[0] = 'R';
	inquiry_say(q->d, "%s wait%s in '%s', %s.", names, n == 1 ? "s" : "", r->view.what, call);
}

bool say_nobody_called(struct inquiry *q)
{
	const struct align *a = &q->align;
	bool *left = calloc(2 * (size_t)a->nranks + 1, sizeof(*left)), all = left != NULL;
	size_t n = 0;

	for (int i = 0; all && i < a->nranks; i++) {
		const struct evidence_rank *r = &q->evidence->ranks[i];

		left[i] = is_outside(q, i) && a->tracks[i].last == a->top;
		n += left[i];
		/* who stands aside has no part in it */
		all = left[i] || (r->present && r->view.phase == PHASE_SPARE);
	}
	all = all && n > 0;
	if (all)
		inquiry_say(q->d,
			    "Nobody has made call %" PRIu64
			    " of communicator %u: all %zu ranks wait "
			    "outside of calls.",
			    a->top + 1, a->comm, n);
	for (int i = 0; all && i < a->nranks && q->d->nlines < DIAGNOSIS_LINES / 2; i++)
		if (left[i])
			say_place(q, left, left + a->nranks, i);
	free(left);
	return all;
}
