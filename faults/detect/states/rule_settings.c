/* rule_settings.c: the rule about ranks with other settings or libraries. */

#include "finding/rule.h"
#include "states/settings_differ.h"
#include "settings/settings.h"

_Static_assert(SETTINGS_BYTES == RECORD_SETTINGS, "the recorder has room for a rank's settings");
_Static_assert(SETTING_NAME <= sizeof(((struct answer *)0)->field), "a field may be a setting");

#define SURVEY_RANKS 256

/* Ranks' settings by their numbers in the run, and in what they differ. */
struct survey {
	const char **texts;
	int n;
	struct setting_difference found[SETTINGS_DIFFERENCES];
	size_t nfound;
};

static const char *text_of(const struct evidence_rank *rank)
{
	bool known = rank->present && rank->recorder && rank->recorder->settings_hash;

	return known ? rank->recorder->settings : NULL;
}

static void survey_take(struct survey *s, const struct evidence *e)
{
	bool alike = e->nranks >= SURVEY_RANKS;

	s->n = s->nfound = 0;
	s->texts = NULL;
	/* the texts of a large run are on disk, a page and more of memory a rank: they are not looked at where what must be alike is */
	for (int i = 1; i < e->nranks && alike; i++)
		alike = e->ranks[i].view.settings == e->ranks[0].view.settings;
	if (alike)
		return;
	for (int i = 0; i < e->nranks; i++)
		s->n = rank_number(e, i) >= s->n ? rank_number(e, i) + 1 : s->n;
	s->texts = must(calloc((size_t)s->n + 1, sizeof(*s->texts)));
	for (int i = 0; i < e->nranks; i++)
		if (rank_number(e, i) >= 0)
			s->texts[rank_number(e, i)] = text_of(&e->ranks[i]);
	s->nfound = settings_compare(s->texts, s->n, SETTING_MAY, s->found);
}

/* Returns true if the rank has another value there than most. */
static bool is_odd(const struct rule_ctx *ctx, const struct survey *s,
		   const struct setting_difference *d, int rank)
{
	const char *text = text_of(&ctx->evidence->ranks[rank]);

	return text && !settings_like(text, s->texts[d->rank], d->name);
}

/* Marks the minority of the first difference. Returns false if no value has a majority, or if another
 * setting of the same weight makes it others. */
static bool mark_all(const struct rule_ctx *ctx, const struct survey *s, struct rank_set *culprits)
{
	const struct setting_difference *first = &s->found[0], *d = first;
	bool same = first->rank >= 0;

	for (int i = 0; same && i < ctx->evidence->nranks; i++)
		if (is_odd(ctx, s, first, i))
			rank_set_add(culprits, i);
	while (same && ++d < first + s->nfound && d->weight == first->weight) {
		same = d->rank >= 0;
		for (int i = 0; same && i < ctx->evidence->nranks; i++)
			same = is_odd(ctx, s, d, i) == culprits->in[i];
	}
	if (!same)
		rank_set_clear(culprits);
	return culprits->n > 0;
}

/* Returns true if something came of it: a rank waits, an error came, data are wrong. */
static bool anything_wrong(const struct rule_ctx *ctx)
{
	if (ctx->outcome == OUTCOME_HANG)
		return progress_count_in_init(ctx->comm) > 0 || progress_hang_point(ctx->comm) >= 0;
	return ctx->outcome == OUTCOME_ERROR || ctx->outcome == OUTCOME_WRONG_DATA;
}

static void conclude(const struct rule_ctx *ctx, const struct survey *s, struct finding *f)
{
	const struct setting_difference *d = &s->found[0];
	bool named = mark_all(ctx, s, &f->culprits);

	place_init(f, false);
	if (ctx->outcome == OUTCOME_HANG)
		f->answer.hang_seq =
			progress_count_in_init(ctx->comm) > 0 ? 0 : progress_hang_point(ctx->comm);
	finding_differ(f, d->name, d->theirs, d->most);
	note(f, "Nothing in the calls says for whom ranks wait or what went wrong; settings that "
		"must be alike differ.");
	if (!named)
		note(f,
		     d->rank < 0
			     ? "No value has a majority: either side may be the one that is wrong."
			     : "Several settings differ, and not on the same ranks: any may be the "
			       "one that is wrong.");
	f->reasons |= reason_if(!named, REASON_NO_MAJORITY);
	finding_conclude(ctx, f, CLASS_SETTINGS, CONFIDENCE_MAJORITY);
}

/* Returns true if settings of this weight, or more, differ; concludes `f` with them, NULL: nothing. */
static bool differ(const struct rule_ctx *ctx, struct finding *f, enum setting_weight least)
{
	struct survey survey;
	bool found;

	survey_take(&survey, ctx->evidence);
	found = survey.nfound > 0 && survey.found[0].weight >= least;
	if (found && f)
		conclude(ctx, &survey, f);
	free(survey.texts);
	return found;
}

bool rule_settings(const struct rule_ctx *ctx, struct finding *f)
{
	return anything_wrong(ctx) && differ(ctx, f, SETTING_MATTERS);
}

bool settings_break(const struct rule_ctx *ctx)
{
	return differ(ctx, NULL, SETTING_BREAKS);
}

void note_settings(const struct evidence *evidence, struct answer *d)
{
	struct survey survey;
	char words[236];

	if (d->outcome == OUTCOME_OK)
		return;
	survey_take(&survey, evidence);
	for (size_t i = 0; i < survey.nfound; i++)
		answer_note(d, "Settings differ: %s.",
			    settings_words(&survey.found[i], 1, words, sizeof(words)));
	free(survey.texts);
}
