/* groups.c: one investigation for each group of ranks. */
#include "diagnose/groups.h"

#include "waits/teams.h"
#include "watch/rendezvous.h"
#include "base/rank_list.h"
#include "record/verdict.h"

/* Weighs how much a finding says: a death explains why others hang. */
static int weight(const struct diagnosis *d)
{
	if (d->outcome == OUTCOME_OK)
		return 0;
	return d->outcome == OUTCOME_DIED      ? 4
	       : d->class == CLASS_UNEXPLAINED ? 1
	       : strcmp(d->ranks, "-") == 0    ? 2
					       : 3;
}

/* All ranks that called init, sorted by group, to `views`. Returns how many they are, 0 unless they are
 * several groups, all complete, and nobody died outside of them. */
static size_t sort_groups(const struct evidence *e, const struct rank_view **views)
{
	size_t n = 0;

	for (int i = 0; i < e->nranks; i++) {
		const struct rank_view *v = &e->ranks[i].view;

		if (e->ranks[i].present && v->init_id != 0)
			views[n++] = v;
		else if (e->ranks[i].present && view_died(v))
			return 0;
	}
	if (n == 0 || rendezvous_incomplete(views, n) > 0)
		return 0;
	return views[0]->init_id == views[n - 1]->init_id ? 0 : n;
}

/* Room for one group. */
struct part {
	struct team_part of;
	int *ranks; /* of the run, by their number in the group */
	bool *in;   /* of the run's ranks: true for those of the group */
};

/* Evidence from elsewhere may say anything of itself: a rank is where it lies. */
static int index_of(const struct evidence *all, const struct rank_view *view)
{
	const char *rank = (const char *)view - offsetof(struct evidence_rank, view);

	return (int)((const struct evidence_rank *)rank - all->ranks);
}

/* The `n` ranks of a group, whose numbers in calls are those that they gave init. */
static void take_group(struct part *part, const struct evidence *all,
		       const struct rank_view *const *views, int n)
{
	struct team team = { .nranks = n, .ranks = part->ranks };
	bool ordered = true;

	memset(part->in, 0, (size_t)all->nranks);
	for (int i = 0; i < n; i++)
		part->ranks[i] = -1;
	for (int i = 0; i < n; i++) {
		int place = views[i]->init_rank;

		ordered = ordered && place >= 0 && place < n && part->ranks[place] < 0;
		if (ordered)
			part->ranks[place] = index_of(all, views[i]);
	}
	for (int i = 0; i < n; i++) {
		if (!ordered) /* two said to be the same one */
			part->ranks[i] = index_of(all, views[i]);
		part->in[part->ranks[i]] = true;
	}
	team_part_take(&part->of, all, &team);
}

/* One group after the other; the finding that says most to `d`. */
static void investigate_each(const struct evidence *all, const struct rank_view *const *views,
			     size_t n, struct part *part,
			     void (*investigate)(const struct evidence *, struct diagnosis *),
			     struct diagnosis *d, struct diagnosis *one)
{
	size_t groups = 0, end;
	char names[128] = "";

	for (size_t i = 0; i < n; i = end) {
		for (end = i; end < n && views[end]->init_id == views[i]->init_id;)
			end++;
		take_group(part, all, views + i, (int)(end - i));
		investigate(&part->of.evidence, one);
		if (groups++ > 0 && weight(one) <= weight(d))
			continue;
		*d = *one;
		rank_list_words(part->in, all->nranks, names, sizeof(names));
	}
	if (d->outcome != OUTCOME_OK)
		diagnosis_note(d, "There are %zu groups with a communicator each; this is of %s.",
			       groups, names);
}

bool groups_investigate(const struct evidence *evidence,
			void (*investigate)(const struct evidence *, struct diagnosis *),
			struct diagnosis *d)
{
	size_t room = (size_t)evidence->nranks + 1, n;
	const struct rank_view **views = must(calloc(room, sizeof(*views)));
	struct diagnosis *one = must(malloc(sizeof(*one)));
	struct part part = { .ranks = must(calloc(room, sizeof(*part.ranks))),
			     .in = must(calloc(room, sizeof(*part.in))) };

	n = sort_groups(evidence, views);
	if (n > 0)
		investigate_each(evidence, views, n, &part, investigate, d, one);
	team_part_release(&part.of);
	free(part.ranks);
	free(part.in);
	free(one);
	free(views);
	return n > 0;
}
