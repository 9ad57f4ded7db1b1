/* diagnose.c: the driver: asks the rules in their order and makes the diagnosis of what one
 * found. */

#include "base/rank_list.h"
#include "find/find.h"
#include "find/plans.h"
#include "states/settings_differ.h"
#include "answer/meaning.h"

struct walk {
	struct rule_ctx ctx;
	struct progress progress;
	struct members_list comms;
	struct plan *plans;	      /* of each of these */
	struct evidence part;	      /* of the members at hand, unless these are all ranks */
	struct progress_comm made[2]; /* the last one that was made: plain, strict */
	const struct members *made_of[2];
	struct finding finding;
	struct rank_set named; /* of the run */
	struct answer *d;
};

static enum outcome find_outcome(const struct evidence *e)
{
	enum outcome worst = OUTCOME_OK;

	for (int i = 0; i < e->nranks; i++) {
		const struct rank_view *v = &e->ranks[i].view;

		if (!e->ranks[i].present)
			continue;
		worst = outcome_worse(worst, v->lost >= LOST_MONITOR	? OUTCOME_DIED
					     : v->lost && !view_died(v) ? OUTCOME_HANG
									: view_outcome(v));
	}
	return worst;
}

/* Makes the context that of these members and their communicator; NULL: of all ranks and no
 * communicator. */
static struct rule_ctx *look_at(struct walk *w, const struct members *members, bool strict)
{
	enum compare how = strict ? COMPARE_STRICT : COMPARE_CALLS;
	struct progress_comm *comm = members ? &w->made[strict] : NULL;

	w->ctx.evidence = w->ctx.run;
	w->ctx.plan = NULL;
	w->ctx.comm = comm;
	if (members && members->ranks && w->ctx.members != members)
		evidence_part_take(&w->part, w->ctx.run, members);
	if (members && members->ranks)
		w->ctx.evidence = &w->part;
	w->ctx.members = members;
	if (!members)
		return &w->ctx;
	w->ctx.plan = &w->plans[members - w->comms.list];
	if (!strict && w->ctx.in_pairs && !w->ctx.plan->followed)
		how = COMPARE_COLLECTIVES;
	if (!comm->tracks || w->made_of[strict] != members) {
		progress_comm_release(comm);
		progress_comm_init(comm, &w->progress, members, how);
	}
	w->made_of[strict] = members;
	return &w->ctx;
}

/* The next members that has calls, from this one on; NULL: none. Without any it is the first. */
static const struct members *next_team(const struct walk *w, const struct members *members)
{
	const struct members *end = w->comms.list + w->comms.n;

	if (members == w->comms.list && w->comms.n > 1 && !members_called(members, &w->progress))
		members++;
	return members < end ? members : NULL;
}

/* The first members of all ranks that has calls. */
static const struct members *first_whole(const struct walk *w)
{
	const struct members *members = next_team(w, w->comms.list);

	return members->ranks ? w->comms.list : members;
}

static bool is_settled(struct walk *w)
{
	const struct evidence *e = w->ctx.run;

	if (w->ctx.outcome != OUTCOME_OK && w->ctx.outcome != OUTCOME_WRONG_DATA)
		return false;
	for (int i = 0; i < e->nranks; i++)
		if (!e->ranks[i].present || !view_finished(&e->ranks[i].view))
			return false;
	for (const struct members *t = next_team(w, w->comms.list); t; t = next_team(w, t + 1))
		if (!progress_settled(look_at(w, t, false)->comm))
			return false;
	return true;
}

static void write_notes(struct answer *d, const struct finding *f)
{
	for (size_t i = 0; i < f->answer.nnotes; i++)
		answer_note(d, "%s", f->answer.notes[i]);
}

/* Returns true if the answer is in what the rule finds, from a clean sheet, about what is at
 * hand. A remark's finding is only written down. */
static bool ask(struct walk *w, const struct rule *rule)
{
	struct finding *f = &w->finding;

	f->culprits.nranks = w->ctx.run->nranks;
	finding_reset(f);
	f->culprits.nranks = w->ctx.evidence->nranks;
	if (!rule->f(&w->ctx, f))
		return false;
	if (rule->flags & RULE_REMARK)
		write_notes(w->d, f);
	return !(rule->flags & RULE_REMARK);
}

/* Writes the culprits, and the ranks named before, to the diagnosis. */
static void name_culprits(struct walk *w)
{
	const struct rank_set *found = &w->finding.culprits;

	for (int i = 0; i < found->nranks; i++) {
		int rank = w->ctx.members ? members_rank(w->ctx.members, i) : i;

		if (found->in[i] && rank >= 0)
			rank_set_add(&w->named, rank);
	}
	culprits_list(w->ctx.run, &w->named, w->d->ranks, sizeof(w->d->ranks));
}

/* The first culprit whose calls are known; where there is none, the first such rank. */
static int numbering_rank(const struct progress_comm *a, const struct rank_set *culprits)
{
	int first = -1;

	for (int i = a->nranks - 1; i >= 0; i--)
		if (a->tracks[i].known && (first < 0 || culprits->in[i] || !culprits->in[first]))
			first = i;
	return first;
}

/* A finding whose numbers count collectives gets that rank's own numbers of these calls. */
static void renumber(const struct progress_comm *a, struct finding *f)
{
	int64_t *const numbers[] = { &f->answer.seq_low, &f->answer.seq_high, &f->answer.hang_seq };
	int rank = f->collectives ? numbering_rank(a, &f->culprits) : -1;

	for (size_t i = 0; i < 3 && rank >= 0; i++)
		if (*numbers[i] > 0)
			*numbers[i] = (int64_t)progress_own_number(a, rank, (uint64_t)*numbers[i]);
}

static void write_diagnosis(struct walk *w, const struct rule *rule)
{
	struct finding *f = &w->finding;
	struct answer *d = w->d;

	f->answer.outcome = d->outcome;
	if (rule->flags & RULE_DIVERGED)
		f->answer.outcome = outcome_worse(d->outcome, OUTCOME_DIVERGED);
	f->answer.confidence = confidence_of(f->answer.confidence, f->reasons);
	if (w->ctx.comm)
		renumber(w->ctx.comm, f);
	memcpy(d, &f->answer, offsetof(struct answer, notes)); /* these stand behind the remarks */
	name_culprits(w);
	write_notes(d, f);
	if (w->ctx.evidence != w->ctx.run)
		answer_note(d, "Communicator %u is that of %s.", w->ctx.members->comm,
			    ranks_words(w->ctx.evidence, NULL, 128));
}

/* Asks the same rule on further communicators: its culprits there are named, too. */
static void ask_others(struct walk *w, const struct rule *rule, const struct members *members)
{
	for (; members; members = next_team(w, members + 1)) {
		look_at(w, members, rule->flags & RULE_STRICT);
		if (!ask(w, rule) || w->finding.answer.class != w->d->class)
			continue;
		name_culprits(w);
		write_notes(w->d, &w->finding);
		if (w->d->confidence == CONFIDENCE_PROVED)
			w->d->confidence =
				confidence_of(w->finding.answer.confidence, w->finding.reasons);
	}
}

/* Returns true if the answer is in what the row finds in its communicators; it is in the
 * diagnosis. */
static bool ask_row(struct walk *w, const struct rule *rule)
{
	const struct members *members = rule->comms == COMMS_EACH    ? next_team(w, w->comms.list)
					: rule->comms == COMMS_FIRST ? first_whole(w)
								     : w->comms.list;
	bool found = false;

	if (rule->flags & RULE_STRICT && !w->ctx.in_pairs)
		return false;
	while (members && !found) {
		look_at(w, rule->comms == COMMS_NONE ? NULL : members, rule->flags & RULE_STRICT);
		found = ask(w, rule);
		if (found)
			write_diagnosis(w, rule);
		members = rule->comms == COMMS_EACH ? next_team(w, members + 1) : NULL;
	}
	if (found && rule->flags & RULE_JOINS)
		ask_others(w, rule, members);
	return found;
}

static enum rule_outcomes outcome_bit(enum outcome outcome)
{
	return outcome == OUTCOME_HANG	  ? ON_HANG
	       : outcome == OUTCOME_ERROR ? ON_ERROR
	       : outcome == OUTCOME_DIED  ? ON_DIED
					  : ON_OTHER;
}

static bool any_pairs(const struct evidence *e)
{
	for (int i = 0; i < e->nranks; i++)
		for (size_t k = 0; k < RECORD_COMMS / 64; k++)
			if (e->ranks[i].index.pairs.words[k])
				return true;
	return false;
}

/* The calls name other ranks than one in no call that is awaited: that one may be the culprit. */
static void doubt_idle(struct walk *w)
{
	int idle = -1;

	for (int i = 0; i < w->ctx.run->nranks; i++)
		if (progress_is_awaited(&w->progress, i)) {
			if (w->named.in[i])
				return;
			idle = i;
		}
	if (idle < 0)
		return;
	w->d->confidence = confidence_of(w->d->confidence, 1u << REASON_OTHER_IDLE);
	answer_note(w->d, "Rank %d is in no call, and others wait for it: it may be the one.",
		    rank_number(w->ctx.run, idle));
}

/* After its record ended a culprit in no call may have made the next one, and its device may
 * have come to one. */
static void doubt_undated(struct walk *w)
{
	for (int i = 0; i < w->ctx.run->nranks; i++) {
		const struct evidence_rank *r = &w->ctx.run->ranks[i];

		if (!w->named.in[i] || !r->recorder || !r->recorder->undated ||
		    (r->view.waiting && w->d->class != CLASS_GPU_STUCK))
			continue;
		w->d->undated = true;
		w->d->confidence = confidence_of(w->d->confidence, 1u << REASON_UNDATED);
		answer_note(w->d,
			    r->recorder->undated == RECORD_LINES
				    ? "Rank %d's lines may end before its calls do: a log holds "
				      "what was written when it was copied."
				    : "Rank %d's dump may be older than the others', or cut: "
				      "its file's "
				      "time does not tell. Copy dumps with their times (cp -p, "
				      "rsync -t).",
			    rank_number(w->ctx.run, i));
		return;
	}
}

/* Returns true if the finding rests on a call that a rank lacks, or on the rank's being outside
 * of all calls. */
static bool rests_on_absence(enum answer_class class)
{
	return class == CLASS_MISSING || class == CLASS_SKIPPED || class == CLASS_EARLY ||
	       class == CLASS_SKIPPED_OR_EARLY || class == CLASS_UNMATCHED || class == CLASS_BUSY ||
	       class == CLASS_BLOCKED;
}

/* NCCL leaves out some calls, and set-ups, that it tells its plugin of: that none was told is no
 * proof that none was made, and ranks that stand together may be in one. A rank that reads a
 * known file is in none. */
static void doubt_untold(struct walk *w)
{
	size_t told = 0;
	int first = -1;

	for (int i = 0; rests_on_absence(w->d->class) && i < w->ctx.run->nranks; i++) {
		const struct evidence_rank *r = &w->ctx.run->ranks[i];

		if (!w->named.in[i] || !r->recorder || !r->recorder->told ||
		    (w->d->class == CLASS_BLOCKED && r->file[0]))
			continue;
		first = first < 0 ? i : first;
		told++;
	}
	if (told == 0)
		return;
	w->d->confidence =
		confidence_of(w->d->confidence,
			      1u << REASON_UNTOLD |
				      reason_if(told > 1 && 2 * told >= (size_t)w->ctx.run->nranks,
						REASON_UNTOLD_TOGETHER));
	answer_note(w->d,
		    "NCCL's profiler tells of no call without elements, no put or signal and no "
		    "set-up that waits: rank %d may be in one.",
		    rank_number(w->ctx.run, first));
}

static void walk_rows(struct walk *w, const struct rule *table, size_t n)
{
	enum rule_outcomes outcome = outcome_bit(w->ctx.outcome);
	const struct members *members = next_team(w, w->comms.list);

	w->ctx.in_pairs = any_pairs(w->ctx.run);
	if (w->comms.n > 1 || w->ctx.in_pairs) { /* waits take more than one look */
		progress_play(&w->progress, &w->comms);
		w->ctx.played = &w->progress;
	}
	for (; members && w->ctx.in_pairs; members = next_team(w, members + 1))
		w->plans[members - w->comms.list] = progress_plan(look_at(w, members, true)->comm);
	w->ctx.settled = is_settled(w);
	for (size_t i = 0; i < n; i++)
		if ((table[i].outcomes & outcome) && ask_row(w, &table[i])) {
			if (w->ctx.played && w->named.n > 0 && outcome == ON_HANG &&
			    table[i].flags & (RULE_DIVERGED | RULE_JOINS))
				doubt_idle(w);
			doubt_undated(w);
			doubt_untold(w);
			break;
		}
}

/* The diagnosis says this where no row says anything. */
static void begin(struct answer *d, enum outcome outcome)
{
	answer_blank(d);
	d->outcome = outcome;
	d->class = CLASS_UNEXPLAINED;
	d->confidence = outcome == OUTCOME_OK ? CONFIDENCE_PROVED : CONFIDENCE_INCONCLUSIVE;
	snprintf(d->ranks, sizeof(d->ranks), "-");
}

void rules_walk(const struct rule *table, size_t n, const struct evidence *evidence,
		struct answer *d)
{
	size_t room = 2 * (size_t)evidence->nranks + 1; /* place_claims: twice the members */
	struct walk w = {
		.ctx = { .run = evidence, .evidence = evidence, .outcome = find_outcome(evidence) },
		.finding.culprits.in = must(calloc(room, sizeof(bool))),
		.named = { .in = must(calloc(room, sizeof(bool))), .nranks = evidence->nranks },
		.d = d
	};

	begin(d, w.ctx.outcome);
	evidence_progress(evidence, &w.progress);
	w.ctx.progress = &w.progress;
	progress_members(&w.progress, &w.comms);
	w.plans = must(calloc(w.comms.n, sizeof(*w.plans)));
	walk_rows(&w, table, n);
	progress_comm_release(&w.made[0]);
	progress_comm_release(&w.made[1]);
	evidence_part_release(&w.part);
	evidence_progress_release(&w.progress);
	members_list_release(&w.comms);
	free(w.plans);
	free(w.finding.culprits.in);
	free(w.named.in);
}

#define RULE_ROW(...) { __VA_ARGS__ },
const struct rule rules[] = { RULES(RULE_ROW) };
const size_t rules_count = LENGTH(rules);

bool find_lines(const struct evidence *evidence, struct answer *d)
{
	static const struct rule rows[] = { { rule_sites, ON_ANY, COMMS_EACH, 0 },
					    { rule_deviation, ON_ANY, COMMS_EACH, RULE_DIVERGED } };

	rules_walk(rows, LENGTH(rows), evidence, d);
	return d->class != CLASS_UNEXPLAINED;
}

/* Weighs how much a finding says: a death explains why others hang. */
static int weight(const struct answer *d)
{
	if (d->outcome == OUTCOME_OK)
		return 0;
	return d->outcome == OUTCOME_DIED      ? 4
	       : d->class == CLASS_UNEXPLAINED ? 1
	       : strcmp(d->ranks, "-") == 0    ? 2
					       : 3;
}

/* One investigation for each group of ranks with a communicator of its own (NCCL_TESTS_SPLIT),
 * the others' ranks left out: calls of another one say nothing. The finding that says most is
 * left in `d`. Returns false, `d` as it was, unless there are two groups or more, each complete. */
static bool investigate_groups(const struct evidence *all, struct answer *d)
{
	struct answer *one = must(malloc(sizeof(*one)));
	struct evidence part = { .numbers = NULL };
	struct members_list groups;
	struct progress progress;
	char names[128] = "";
	bool found;

	evidence_progress(all, &progress);
	progress_groups(&progress, &groups);
	evidence_progress_release(&progress);
	found = groups.n > 0;
	for (size_t i = 0; i < groups.n; i++) {
		evidence_part_take(&part, all, &groups.list[i]);
		rules_walk(rules, rules_count, &part, one);
		if (i > 0 && weight(one) <= weight(d))
			continue;
		*d = *one;
		strcpy(names, ranks_words(&part, NULL, sizeof(names)));
	}
	if (found && d->outcome != OUTCOME_OK)
		answer_note(d, "There are %zu groups with a communicator each; this is of %s.",
			    groups.n, names);
	evidence_part_release(&part);
	members_list_release(&groups);
	free(one);
	return found;
}

/* A note of the ranks of which nothing is known. Returns how many. */
static size_t note_absent(const struct evidence *e, struct answer *d)
{
	bool *absent = must(calloc((size_t)e->nranks + 1, sizeof(*absent)));
	char names[128];
	size_t n = 0;

	for (int i = 0; i < e->nranks; i++) {
		absent[i] = !e->ranks[i].present && !e->ranks[i].view.pid;
		n += absent[i];
	}
	if (n > 0 && e->uncounted)
		answer_note(d, "What was given holds nothing of %s.",
			    rank_list_words(absent, e->nranks, names, sizeof(names)));
	else if (n > 0)
		answer_note(d, "Nothing is known of %s (%zu of %d ranks).",
			    rank_list_words(absent, e->nranks, names, sizeof(names)), n, e->nranks);
	free(absent);
	return n;
}

/* A divergence in one call may do its damage in a later one. The records of a large run are on
 * disk: they are not looked at where no check found wrong data. */
static void find_damage(const struct evidence *e, struct answer *d)
{
	for (int i = 0; i < e->nranks; i++) {
		const struct record_wrong *w;
		uint32_t n;

		if (e->ranks[i].mapped && d->outcome != OUTCOME_WRONG_DATA)
			continue;
		w = evidence_wrongs(&e->ranks[i], &n);
		for (uint32_t k = 0; k < n; k++, w++) {
			int64_t seq = (int64_t)w->seq;

			if (w->comm == d->comm && seq > 0 && w->seq <= w->seq_last &&
			    (d->wrong_seq < 0 || seq < d->wrong_seq))
				d->wrong_seq = seq;
		}
	}
}

/* Missing evidence speaks against the finding. A run without fault in what is known may have
 * one. */
static void doubt(const struct evidence *e, size_t absent, struct answer *d)
{
	unsigned reasons = reasons_of_run(e, absent, d->outcome == OUTCOME_OK);

	d->confidence = confidence_of(d->confidence, reasons);
	if (d->outcome != OUTCOME_OK || !reasons)
		return;
	d->outcome = OUTCOME_INTERNAL;
	d->class = CLASS_UNEXPLAINED;
	answer_note(d, "Nothing is wrong in what is known: what became of the run is not.");
}

/* Facts about the first culprit that has left any. */
static void know_culprit(const struct evidence *e, struct answer *a)
{
	for (int i = 0; i < e->nranks; i++) {
		const struct evidence_rank *r = &e->ranks[i];

		if ((!r->present && !r->view.pid) || !rank_list_has(a->ranks, i))
			continue;
		evidence_doing(r, a->doing, sizeof(a->doing));
		memcpy(a->said, r->said, sizeof(a->said));
		return;
	}
}

void find_answer(const struct evidence *evidence, const struct answer *seen, struct answer *a)
{
	struct meaning meaning;
	size_t absent;

	if (!investigate_groups(evidence, a))
		rules_walk(rules, rules_count, evidence, a);
	note_settings(evidence, a);
	find_damage(evidence, a);
	absent = note_absent(evidence, a);
	if (evidence->uncounted)
		answer_note(a, "How many ranks there were is not known: at least %d.",
			    evidence->nranks);
	doubt(evidence, absent, a);
	answer_meaning(a, &meaning);
	a->side = meaning.side;
	a->detect_ms = evidence->detect_ms;
	know_culprit(evidence, a);
	if (seen)
		answer_settle(a, seen);
}
