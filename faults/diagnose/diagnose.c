/* diagnose.c: which rule is asked when; the rules about who died and who stopped. */
#include "diagnose/diagnose.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "diagnose/meaning.h"
#include "diagnose/groups.h"
#include "diagnose/rule.h"
#include "base/rank_list.h"
#include "record/verdict.h"

static bool is_stopped(const struct evidence_rank *r)
{
	return r->view.process == PROCESS_STOPPED ||
	       (r->view.process == PROCESS_ALIVE && (r->state == 'T' || r->state == 't'));
}

static enum outcome find_outcome(const struct evidence *e)
{
	enum outcome worst = OUTCOME_OK;

	for (int i = 0; i < e->nranks; i++) {
		const struct rank_view *v = &e->ranks[i].view;

		if (!e->ranks[i].present)
			continue;
		if (inquiry_died(v))
			worst = outcome_worse(worst, OUTCOME_DIED);
		else if (view_finished(v))
			worst = outcome_worse(worst, (enum outcome)v->outcome);
		else if (v->overdue)
			worst = outcome_worse(worst, OUTCOME_HANG);
	}
	return worst;
}

static uint32_t comms_present(const struct evidence *e)
{
	uint32_t mask = 0;

	for (int i = 0; i < e->nranks; i++) {
		const struct evidence_rank *r = &e->ranks[i];

		mask |= r->index.comms;
		for (size_t k = 0; !r->index.sig && k < r->ncalls; k++)
			if (r->calls[k].comm < RECORD_COMMS)
				mask |= 1u << r->calls[k].comm;
	}
	return mask;
}

static bool blame_dead(struct inquiry *q)
{
	enum diagnosis_class class = CLASS_OUTCOME;
	bool mixed = false;

	for (int signals = 1; signals >= 0 && q->nguilty == 0; signals--)
		for (int i = 0; i < q->evidence->nranks; i++) {
			const struct rank_view *v = &q->evidence->ranks[i].view;
			enum diagnosis_class how = v->process == PROCESS_EXITED ? CLASS_EXITED
						   : v->status != SIGKILL	? CLASS_CRASHED
						   : v->oom_kills > 0		? CLASS_OOM
										: CLASS_KILLED;

			if (!q->evidence->ranks[i].present || !inquiry_died(v))
				continue;
			mixed = mixed || (class && class != how);
			if (signals && v->process != PROCESS_KILLED)
				continue; /* who merely exited may have followed */
			class = class ? class : how;
			inquiry_accuse(q, i);
		}
	if (!class)
		return false;
	inquiry_place_missing(q);
	inquiry_conclude(q, class, mixed ? "inconclusive" : "proved");
	say_missing_too(q);
	if (class == CLASS_OOM)
		inquiry_say(q->d, "The kernel counts a kill for lack of memory in its cgroup.");
	return true;
}

static bool blame_stopped(struct inquiry *q)
{
	for (int i = 0; i < q->evidence->nranks; i++)
		if (q->evidence->ranks[i].present && is_stopped(&q->evidence->ranks[i]))
			inquiry_accuse(q, i);
	if (q->nguilty == 0)
		return false;
	inquiry_place_missing(q);
	inquiry_conclude(q, CLASS_STOPPED, "proved");
	say_missing_too(q);
	return true;
}

/* Run `rule` on each communicator that has calls (or on 0) until one gives the answer. */
static bool try_comms(struct inquiry *q, uint32_t mask, bool (*rule)(struct inquiry *))
{
	bool found = false;

	for (uint32_t comm = 0; comm < RECORD_COMMS && !found; comm++) {
		if (!(mask & 1u << comm))
			continue;
		memset(q->guilty, 0, (size_t)q->evidence->nranks);
		q->nguilty = 0;
		/* the same communicator's layout serves all rules */
		if (!q->align.tracks || q->align.comm != comm || q->align.strict != q->closely) {
			align_release(&q->align);
			if (align_init(&q->align, q->evidence, comm, q->closely) < 0) {
				inquiry_say(q->d, "Too little memory to compare the calls.");
				align_release(&q->align);
				return false;
			}
		}
		found = rule(q);
	}
	return found;
}

static bool try_closely(struct inquiry *q, uint32_t mask, bool (*rule)(struct inquiry *))
{
	bool found;

	if (!try_comms(q, mask, is_in_pairs))
		return false;
	q->closely = true;
	found = try_comms(q, mask, rule);
	q->closely = false;
	return found;
}

/* Did every rank that died do so by a signal of its own making, within a call? Then the call may
 * have killed it: arguments that do not fit those of the others, met by a library that gives up. */
static bool died_in_calls(const struct evidence *e)
{
	static const int own[] = { SIGABRT, SIGSEGV, SIGBUS, SIGFPE, SIGILL };
	size_t dead = 0;

	for (int i = 0; i < e->nranks; i++) {
		const struct evidence_rank *r = &e->ranks[i];
		bool by_itself = false;

		if (!r->present || !inquiry_died(&r->view))
			continue;
		for (size_t k = 0; k < sizeof(own) / sizeof(own[0]); k++)
			by_itself |= r->view.process == PROCESS_KILLED && r->view.status == own[k];
		if (!by_itself || r->ncalls == 0 || r->calls[r->ncalls - 1].state != RECORD_ISSUING)
			return false;
		dead++;
	}
	return dead > 0;
}

/* Every rank came to its end by itself. */
static bool all_finished(const struct evidence *e)
{
	for (int i = 0; i < e->nranks; i++)
		if (!e->ranks[i].present || !view_finished(&e->ranks[i].view))
			return false;
	return true;
}

/* All came to their end, and nothing that they called was left without its counterpart: that some made
 * more calls than others is their right. */
static bool all_is_met(struct inquiry *q, uint32_t mask)
{
	return (q->d->outcome == OUTCOME_OK || q->d->outcome == OUTCOME_WRONG_DATA) &&
	       all_finished(q->evidence) && !try_comms(q, mask, lacks_meeting);
}

static void explain(struct inquiry *q, uint32_t mask)
{
	struct diagnosis *d = q->d;
	bool met;

	/* what went wrong at init explains whatever came of it */
	if (try_comms(q, 1, blame_init_arguments)) {
		d->outcome = outcome_worse(d->outcome, OUTCOME_DIVERGED);
		return;
	}
	if (d->outcome == OUTCOME_DIED && died_in_calls(q->evidence) &&
	    try_comms(q, mask, blame_deviation))
		return;
	if (d->outcome == OUTCOME_DIED && try_comms(q, mask & -mask, blame_dead))
		return;
	if (d->outcome == OUTCOME_HANG && try_comms(q, mask & -mask, blame_stopped))
		return;
	if (d->outcome == OUTCOME_ERROR && try_comms(q, mask & -mask, blame_device_memory))
		return;
	if ((d->outcome == OUTCOME_HANG || d->outcome == OUTCOME_ERROR) &&
	    (try_comms(q, 1, blame_absent_from_init) || try_comms(q, 1, blame_unreachable) ||
	     try_comms(q, 1, blame_aborted)))
		return;
	met = all_is_met(q, mask);
	if (try_closely(q, mask, blame_plan) || (!met && try_comms(q, mask, blame_deviation))) {
		d->outcome = outcome_worse(d->outcome, OUTCOME_DIVERGED);
		return;
	}
	if (d->outcome == OUTCOME_HANG && try_comms(q, mask, blame_missing))
		return;
	if (q->split && (d->outcome == OUTCOME_HANG || d->outcome == OUTCOME_ERROR) &&
	    try_closely(q, mask, blame_split))
		return;
	if (d->outcome == OUTCOME_ERROR && try_comms(q, mask, blame_unequal))
		return;
	if (!met && all_finished(q->evidence) && try_comms(q, mask, blame_missing)) {
		d->outcome = outcome_worse(d->outcome, OUTCOME_DIVERGED);
		return;
	}
	if (d->outcome == OUTCOME_HANG && try_comms(q, mask & -mask, blame_behind))
		return;
	if (d->outcome == OUTCOME_HANG) {
		d->class = CLASS_UNEXPLAINED;
		d->confidence = "inconclusive";
		d->comm = q->align.comm;
		d->hang_seq = q->align.tracks ? inquiry_hang_point(q) : -1;
		try_comms(q, mask & -mask, say_nobody_called);
		inquiry_say(d, "Ranks wait past their deadline, and nothing in the evidence says "
			       "for whom.");
		return;
	}
	d->class = CLASS_OUTCOME;
	for (int i = 0; i < q->evidence->nranks && d->outcome != OUTCOME_OK; i++)
		if (view_finished(&q->evidence->ranks[i].view) &&
		    q->evidence->ranks[i].view.outcome == (int)d->outcome)
			inquiry_accuse(q, i);
	inquiry_name_guilty(q);
}

/* Of whom nothing is known. Returns how many. */
static size_t say_absent(const struct evidence *e, struct diagnosis *d)
{
	bool *absent = calloc((size_t)e->nranks + 1, sizeof(*absent));
	char names[128];
	size_t n = 0;

	for (int i = 0; absent && i < e->nranks; i++) {
		absent[i] = !e->ranks[i].present;
		n += absent[i];
	}
	if (n > 0)
		inquiry_say(d, "Of %s nothing is known: %zu of %d.",
			    rank_list_words(absent, e->nranks, names, sizeof(names)), n, e->nranks);
	free(absent);
	return n;
}

static void investigate(const struct evidence *evidence, struct diagnosis *d)
{
	struct inquiry q = { .evidence = evidence, .d = d };
	uint32_t mask = comms_present(evidence);

	memset(d, 0, sizeof(*d));
	d->outcome = find_outcome(evidence);
	d->class = CLASS_UNEXPLAINED;
	d->confidence = d->outcome == OUTCOME_OK ? "proved" : "inconclusive";
	d->comm = d->seq_low = d->seq_high = d->hang_seq = -1;
	snprintf(d->ranks, sizeof(d->ranks), "-");
	q.guilty = calloc((size_t)evidence->nranks + 1, sizeof(*q.guilty));
	if (q.guilty)
		explain(&q, mask ? mask : 1);
	align_release(&q.align);
	free(q.guilty);
}

void diagnose(const struct evidence *evidence, struct diagnosis *d)
{
	size_t absent;

	if (!groups_investigate(evidence, investigate, d))
		investigate(evidence, d);
	absent = say_absent(evidence, d);
	if (evidence->uncounted)
		inquiry_say(d, "How many ranks there were is not known: at least %d.",
			    evidence->nranks);
	/* they may be guilty too, or instead */
	if ((absent > 0 || evidence->uncounted) && strcmp(d->confidence, "proved") == 0 &&
	    d->outcome != OUTCOME_OK)
		d->confidence = absent * 2 < (size_t)evidence->nranks ? "majority" : "inconclusive";
	class_explain(d);
}
