/* rule_sites.c: the rule about calls that are alike and come from other lines of code than most ranks'. */
#include "base/error.h"
#include "compare/sites.h"
#include "finding/rule.h"

/* Returns true if calls themselves differ before that one: these say more. */
static bool calls_differ_before(const struct progress_comm *a, uint64_t seq)
{
	if (a->tie && a->tie < seq)
		return true;
	for (int i = 0; i < a->nranks; i++) {
		struct deviation one = progress_deviation(a, i);

		if (one.kind != DEVIATION_NONE && one.high < seq)
			return true;
	}
	return false;
}

/* A rank whose line there is most ranks': not the culprits', and known. */
static int find_other(const struct rule_ctx *ctx, const struct finding *f, uint64_t seq)
{
	int other = -1;

	for (int i = ctx->comm->nranks - 1; i >= 0; i--) {
		const struct record *r = progress_call(ctx->comm, i, seq);

		if (r && r->site && !f->culprits.in[i])
			other = i;
	}
	return other;
}

static const char *without_folder(const char *site)
{
	const char *folder = strchr(site, '/');

	return folder ? folder + 1 : site;
}

/* "AllReduce count 64 float sum, train.py:88 (step)" */
static void name_call(const struct rule_ctx *ctx, const struct record *r, const char *site,
		      char *buf, size_t len)
{
	snprintf(buf, len, "%s, %s", call_words(ctx->evidence, r), without_folder(site));
}

/* Two ranks, of which either may be the one: both are named, and none is the culprit. */
static void report_two(const struct rule_ctx *ctx, struct finding *f, const struct site_break *b,
		       const char *theirs, const char *ours)
{
	int rank = rank_number(ctx->evidence, b->rank),
	    other = rank_number(ctx->evidence, !b->rank);
	const char *line = b->line ? without_folder(b->line->text) : "";

	finding_differ(f, "line", theirs, ours);
	if (!b->before)
		finding_note(f, "Lines part at call %lu: rank %d at %.*s, rank %d at %.*s.", b->seq,
			     rank, (int)strcspn(theirs, " "), theirs, other,
			     (int)strcspn(ours, " "), ours);
	else if (b->line)
		finding_note(f,
			     "Before call %lu: %.*s called %lu times in rank %d, %lu in rank %d.",
			     b->seq, (int)strcspn(line, " "), line, b->mine, rank, b->theirs,
			     other);
	else
		finding_note(f, "Lines part before call %lu.", b->seq);
	make_printable(f->answer.notes[f->answer.nnotes - 1]);
	f->answer.seq_low = b->before ? 1 : f->answer.seq_low;
	rank_set_clear(&f->culprits);
	f->reasons |= 1u << REASON_NO_MAJORITY;
}

static void note_move(struct finding *f, const struct site_break *b)
{
	finding_note(f,
		     b->kind == DEVIATION_UNCLEAR
			     ? "From there on calls met that come from lines apart by %lu: the one "
			       "was left out, or the other made once too often."
			     : "From there on calls met that come from lines apart by %lu.",
		     b->shift);
}

/* The calls that parted have left the rings: the line that was made less or more often is named. */
static void report_before(const struct rule_ctx *ctx, struct finding *f, const struct site_break *b)
{
	char site[sizeof(b->line->text)];

	f->answer.seq_low = 1;
	f->reasons |= reason_if(!b->line, REASON_UNCLEAR);
	if (!b->line) {
		finding_note(f, "The calls in which that began are no longer known.");
		return;
	}
	snprintf(site, sizeof(site), "%.*s", (int)sizeof(site) - 1, b->line->text);
	make_printable(site);
	finding_differ(f, b->kind == DEVIATION_UNCLEAR ? "line" : "call",
		       b->kind == DEVIATION_SKIPPED ? "no call" : without_folder(site),
		       b->kind == DEVIATION_EXTRA ? "no call" : without_folder(site));
	finding_note(f,
		     "Among the first %lu calls are %lu of %s that were made at %s, %lu of each "
		     "other rank.",
		     b->of, b->mine, ranks_words(ctx->evidence, f->culprits.in, 80), site,
		     b->theirs);
}

bool rule_sites(const struct rule_ctx *ctx, struct finding *f)
{
	const struct progress_comm *a = ctx->comm;
	struct site_break b = progress_site_break(a, &f->culprits);
	const struct record *theirs, *ours;
	char site[2][sizeof(((struct record_site *)0)->text)], call[2][160];
	int other;

	if (b.kind == DEVIATION_NONE || calls_differ_before(a, b.seq) ||
	    (other = find_other(ctx, f, b.seq)) < 0)
		return false;
	theirs = progress_call(a, b.rank, b.seq);
	ours = progress_call(a, other, b.seq);
	evidence_site(&ctx->evidence->ranks[b.rank], theirs, site[0], sizeof(site[0]));
	evidence_site(&ctx->evidence->ranks[other], ours, site[1], sizeof(site[1]));
	name_call(ctx, theirs, site[0], call[0], sizeof(call[0]));
	name_call(ctx, ours, site[1], call[1], sizeof(call[1]));
	finding_place(f, a->comm, b.seq, b.seq, progress_hang_point(a));
	f->collectives = a->collectives;
	f->answer.agreed = b.agreed;
	if (a->nranks == 2)
		report_two(ctx, f, &b, without_folder(site[0]), without_folder(site[1]));
	else if (b.kind == DEVIATION_UNCLEAR)
		finding_differ(f, "line", without_folder(site[0]), without_folder(site[1]));
	else
		finding_differ(f, "call", b.kind == DEVIATION_EXTRA ? call[0] : "no call",
			       b.kind == DEVIATION_EXTRA ? "no call" : call[1]);
	if (a->nranks > 2)
		finding_note(f, "Call %lu of communicator %u: %s made it at %s, rank %d at %s.",
			     b.seq, a->comm, ranks_words(ctx->evidence, f->culprits.in, 80),
			     site[0], rank_number(ctx->evidence, other), site[1]);
	note_move(f, &b);
	if (b.before && a->nranks > 2)
		report_before(ctx, f, &b);
	finding_conclude(ctx, f,
			 b.kind == DEVIATION_UNCLEAR || a->nranks == 2 ? CLASS_MISMATCH
			 : b.kind == DEVIATION_EXTRA		       ? CLASS_EXTRA
								       : CLASS_SKIPPED,
			 CONFIDENCE_MAJORITY);
	return true;
}
