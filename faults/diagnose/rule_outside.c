/* rule_outside.c: the rule about ranks that wait for each other outside of calls, where one does
 * not come. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/backend_kind.h"
#include "diagnose/rule.h"
#include "process/watch.h"

/* Is its last call over, or at least not what it waits for? That it is over may not have been noted yet:
 * what has returned is, where calls block, and where they do not the rank says when it waits for its
 * device. But a group of sends and receives waits at its end. */
static bool is_over(const struct inquiry *q, int rank)
{
	const struct rank_view *v = &q->evidence->ranks[rank].view;
	const struct track *t = &q->align.tracks[rank];
	bool elsewhere = backend_lacks(q->evidence->backend, BACKEND_ASYNC) ||
			 v->device_wait == RECORD_DEVICE_LEFT;

	return v->completed >= v->issued || (elsewhere && !t->inside && !call_in_pairs(t->final));
}

/* Has it made as many calls as anybody, waits for none of them, and lives? */
static bool is_through(const struct inquiry *q, int rank)
{
	const struct track *t = &q->align.tracks[rank];

	return t->known && t->last > 0 && t->last == q->align.top && is_over(q, rank) &&
	       q->evidence->ranks[rank].view.process < PROCESS_EXITED;
}

/* The last rank to have come to where it waits, -1: not all ranks are through with their calls. */
static int find_last(const struct inquiry *q)
{
	int last = -1;

	for (int i = 0; i < q->align.nranks; i++) {
		const struct rank_view *v = &q->evidence->ranks[i].view;

		if (!is_through(q, i))
			return -1;
		if (v->waiting && (last < 0 || v->waited < q->evidence->ranks[last].view.waited))
			last = i;
	}
	return last;
}

/* How many wait where `last` does, all of whose calls have completed; *longest: since how many seconds
 * the first of them. 0: some wait there for a call. */
static size_t count_there(const struct inquiry *q, int last, double *longest)
{
	const char *what = q->evidence->ranks[last].view.what;
	size_t n = 0;

	*longest = 0;
	for (int i = 0; i < q->align.nranks; i++) {
		const struct rank_view *v = &q->evidence->ranks[i].view;

		if (!v->waiting || strcmp(v->what, what) != 0)
			continue;
		if (v->completed < v->issued)
			return 0;
		n++;
		*longest = v->waited > *longest ? v->waited : *longest;
	}
	return n;
}

/* In another place since before any of them came, in the midst of calls that have all ended: nothing
 * there takes long. Buffers and data checks are a rank's own work, and may. Who waits for its device has
 * more calls there than are noted: a graph repeats them. */
static bool stays_behind(const struct rank_view *v, const char *what, double longest)
{
	return (v->phase == PHASE_WARMUP || v->phase == PHASE_TIMED) && v->waiting &&
	       strcmp(v->what, what) != 0 && v->waited > longest &&
	       v->device_wait != RECORD_DEVICE_AWAITED;
}

static void place_behind(struct inquiry *q, const char *theirs, const char *what)
{
	struct diagnosis *d = q->d;

	d->comm = q->align.comm;
	d->seq_low = d->seq_high = (int64_t)q->align.top;
	d->hang_seq = -1;
	snprintf(d->field, sizeof(d->field), "place");
	snprintf(d->theirs, sizeof(d->theirs), "%s", theirs);
	snprintf(d->majority, sizeof(d->majority), "%s", what);
}

bool blame_behind(struct inquiry *q)
{
	const struct evidence_rank *ranks = q->evidence->ranks;
	int last = find_last(q), first = -1;
	enum diagnosis_class class = CLASS_OUTCOME;
	const char *what;
	double longest = 0;
	size_t there = last < 0 ? 0 : count_there(q, last, &longest);

	if (there == 0)
		return false;
	what = ranks[last].view.what;
	for (int i = 0; i < q->align.nranks; i++) {
		enum diagnosis_class one;

		if (!stays_behind(&ranks[i].view, what, longest))
			continue;
		one = inquiry_host_class(&ranks[i], CLASS_MISSING);
		class = class && one != class ? CLASS_MISSING : one;
		first = first < 0 ? i : first;
		inquiry_accuse(q, i);
	}
	/* where others are in yet other places, or most are behind, who waits for whom cannot be
	 * told; and who waits in MPI is busy, too */
	if (!class || there + q->nguilty != (size_t)q->align.nranks || there < q->nguilty ||
	    (there == q->nguilty && class == CLASS_BUSY))
		return false;
	place_behind(q, ranks[first].view.what, what);
	inquiry_say(q->d,
		    "Nobody waits for a call: those up to %" PRIu64
		    " of communicator %u have ended or returned. "
		    "%zu of %d ranks wait outside of calls, in '%s'; the other%s stayed behind.",
		    q->align.top, q->align.comm, there, q->align.nranks, what,
		    q->nguilty == 1 ? "" : "s");
	inquiry_conclude(q, class, there > q->nguilty ? "majority" : "inconclusive");
	return true;
}
