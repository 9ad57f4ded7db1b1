/* diagnose.c: the driver: asks the rules in their order and makes the diagnosis of what one found. */
#include "diagnose/diagnose.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/rank_list.h"
#include "diagnose/groups.h"
#include "diagnose/meaning.h"
#include "diagnose/pairs.h"
#include "diagnose/rules.h"
#include "record/verdict.h"

struct walk {
	struct rule_ctx ctx;
	struct align made[2]; /* the last one that was made: plain, strict */
	struct finding finding;
	struct diagnosis *d;
	uint32_t comms; /* those that have calls */
	bool poor;	/* there was too little memory to compare them */
};

void diagnosis_note(struct diagnosis *d, const char *fmt, ...)
{
	va_list args;

	if (d->nlines == DIAGNOSIS_LINES)
		return;
	va_start(args, fmt);
	vsnprintf(d->lines[d->nlines++], sizeof(d->lines[0]), fmt, args);
	va_end(args);
}

static enum outcome find_outcome(const struct evidence *e)
{
	enum outcome worst = OUTCOME_OK;

	for (int i = 0; i < e->nranks; i++) {
		const struct rank_view *v = &e->ranks[i].view;

		if (!e->ranks[i].present)
			continue;
		if (view_died(v))
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
	return mask ? mask : 1;
}

/* The context is about this communicator then. False without memory. */
static bool look_at(struct walk *w, uint32_t comm, bool strict)
{
	struct align *align = &w->made[strict];

	w->ctx.align = align;
	if (align->tracks && align->comm == comm)
		return true;
	align_release(align);
	if (align_init(align, w->ctx.evidence, comm, strict) == 0)
		return true;
	align_release(align);
	w->ctx.align = NULL;
	w->poor = true;
	return false;
}

/* The next communicator from `comm` on that has calls; RECORD_COMMS: none. */
static uint32_t next_comm(const struct walk *w, uint32_t comm)
{
	while (comm < RECORD_COMMS && !(w->comms & 1u << comm))
		comm++;
	return comm;
}

static void survey_pairs(struct walk *w)
{
	struct rule_ctx *ctx = &w->ctx;

	for (uint32_t c = next_comm(w, 0); c < RECORD_COMMS && !ctx->in_pairs;
	     c = next_comm(w, c + 1))
		ctx->in_pairs = look_at(w, c, false) && ranks_in_pairs(ctx);
	for (uint32_t c = next_comm(w, 0); c < RECORD_COMMS && ctx->in_pairs;
	     c = next_comm(w, c + 1))
		if (look_at(w, c, true))
			plans_add(ctx, &ctx->plans);
}

static bool is_settled(struct walk *w)
{
	const struct evidence *e = w->ctx.evidence;

	if (w->ctx.outcome != OUTCOME_OK && w->ctx.outcome != OUTCOME_WRONG_DATA)
		return false;
	for (int i = 0; i < e->nranks; i++)
		if (!e->ranks[i].present || !view_finished(&e->ranks[i].view))
			return false;
	for (uint32_t c = next_comm(w, 0); c < RECORD_COMMS; c = next_comm(w, c + 1))
		if (!look_at(w, c, false) || pairs_unmet(&w->ctx))
			return false;
	return true;
}

static void write_notes(struct diagnosis *d, const struct finding *f)
{
	for (size_t i = 0; i < f->nnotes; i++)
		diagnosis_note(d, "%s", f->notes[i]);
}

/* Returns true if the answer is in what the rule finds, from a clean sheet, about the
 * communicator at hand. A remark's finding is only written down. */
static bool ask(struct walk *w, const struct rule *rule)
{
	finding_reset(&w->finding);
	if (!rule->f(&w->ctx, &w->finding))
		return false;
	if (rule->remark)
		write_notes(w->d, &w->finding);
	return !rule->remark;
}

/* Returns true if the answer is in what the row finds, in the communicators that it looks at. */
static bool ask_row(struct walk *w, const struct rule *rule)
{
	uint32_t comm = rule->comms == COMMS_INIT ? 0 : next_comm(w, 0);

	if (rule->strict && !w->ctx.in_pairs)
		return false;
	if (rule->comms == COMMS_NONE) {
		w->ctx.align = NULL;
		return ask(w, rule);
	}
	for (; comm < RECORD_COMMS; comm = next_comm(w, comm + 1)) {
		if (!look_at(w, comm, rule->strict))
			return false;
		if (ask(w, rule))
			return true;
		if (rule->comms != COMMS_EACH)
			return false;
	}
	return false;
}

static void write_diagnosis(struct walk *w, const struct rule *rule)
{
	const struct finding *f = &w->finding;
	struct diagnosis *d = w->d;

	if (rule->diverged)
		d->outcome = outcome_worse(d->outcome, OUTCOME_DIVERGED);
	d->class = f->class;
	d->confidence = f->confidence;
	d->comm = f->comm;
	d->seq_low = f->seq_low;
	d->seq_high = f->seq_high;
	d->hang_seq = f->hang_seq;
	memcpy(d->field, f->field, sizeof(d->field));
	memcpy(d->theirs, f->theirs, sizeof(d->theirs));
	memcpy(d->majority, f->majority, sizeof(d->majority));
	culprits_list(&w->ctx, &f->culprits, d->ranks, sizeof(d->ranks));
	write_notes(d, f);
}

static enum rule_outcomes outcome_bit(enum outcome outcome)
{
	return outcome == OUTCOME_HANG	  ? ON_HANG
	       : outcome == OUTCOME_ERROR ? ON_ERROR
	       : outcome == OUTCOME_DIED  ? ON_DIED
					  : ON_OTHER;
}

static void walk_rows(struct walk *w, const struct rule *table, size_t n)
{
	enum rule_outcomes outcome = outcome_bit(w->ctx.outcome);

	survey_pairs(w);
	w->ctx.settled = is_settled(w);
	for (size_t i = 0; i < n; i++)
		if ((table[i].outcomes & outcome) && ask_row(w, &table[i])) {
			write_diagnosis(w, &table[i]);
			break;
		}
	if (w->poor)
		diagnosis_note(w->d, "Too little memory to compare the calls.");
}

/* The diagnosis says this where no row says anything, which takes a lack of memory. */
static void begin(struct diagnosis *d, enum outcome outcome)
{
	memset(d, 0, sizeof(*d));
	d->outcome = outcome;
	d->class = CLASS_UNEXPLAINED;
	d->confidence = outcome == OUTCOME_OK ? "proved" : "inconclusive";
	d->comm = d->seq_low = d->seq_high = d->hang_seq = -1;
	snprintf(d->ranks, sizeof(d->ranks), "-");
}

void rules_walk(const struct rule *table, size_t n, const struct evidence *evidence,
		struct diagnosis *d)
{
	struct walk w = { .ctx = { .evidence = evidence, .outcome = find_outcome(evidence) },
			  .d = d,
			  .comms = comms_present(evidence) };

	begin(d, w.ctx.outcome);
	w.finding.culprits.nranks = evidence->nranks;
	w.finding.culprits.in =
		calloc((size_t)evidence->nranks + 1, sizeof(*w.finding.culprits.in));
	if (w.finding.culprits.in)
		walk_rows(&w, table, n);
	align_release(&w.made[0]);
	align_release(&w.made[1]);
	free(w.finding.culprits.in);
}

static void investigate(const struct evidence *evidence, struct diagnosis *d)
{
	rules_walk(rules, rules_count, evidence, d);
}

/* Of whom nothing is known. Returns how many. */
static size_t note_absent(const struct evidence *e, struct diagnosis *d)
{
	bool *absent = calloc((size_t)e->nranks + 1, sizeof(*absent));
	char names[128];
	size_t n = 0;

	for (int i = 0; absent && i < e->nranks; i++) {
		absent[i] = !e->ranks[i].present;
		n += absent[i];
	}
	if (n > 0)
		diagnosis_note(d, "Of %s nothing is known: %zu of %d.",
			       rank_list_words(absent, e->nranks, names, sizeof(names)), n,
			       e->nranks);
	free(absent);
	return n;
}

void diagnose(const struct evidence *evidence, struct diagnosis *d)
{
	size_t absent;

	if (!groups_investigate(evidence, investigate, d))
		investigate(evidence, d);
	absent = note_absent(evidence, d);
	if (evidence->uncounted)
		diagnosis_note(d, "How many ranks there were is not known: at least %d.",
			       evidence->nranks);
	/* they may be culprits too, or instead */
	if ((absent > 0 || evidence->uncounted) && strcmp(d->confidence, "proved") == 0 &&
	    d->outcome != OUTCOME_OK)
		d->confidence = absent * 2 < (size_t)evidence->nranks ? "majority" : "inconclusive";
	class_explain(d);
}
