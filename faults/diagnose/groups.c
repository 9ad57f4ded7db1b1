/* groups.c: one investigation for each group of ranks. */
#include "diagnose/rule.h"

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

bool groups_investigate(const struct evidence *all,
			void (*investigate)(const struct evidence *, struct diagnosis *),
			struct diagnosis *d)
{
	struct diagnosis *one = must(malloc(sizeof(*one)));
	struct team_part part = { .numbers = NULL };
	struct teams groups;
	char names[128] = "";
	bool found;

	teams_of_init(&groups, all);
	found = groups.n > 0;
	for (size_t i = 0; i < groups.n; i++) {
		team_part_take(&part, all, &groups.list[i]);
		investigate(&part.evidence, one);
		if (i > 0 && weight(one) <= weight(d))
			continue;
		*d = *one;
		ranks_words(&part.evidence, NULL, names, sizeof(names));
	}
	if (found && d->outcome != OUTCOME_OK)
		diagnosis_note(d, "There are %zu groups with a communicator each; this is of %s.",
			       groups.n, names);
	team_part_release(&part);
	teams_release(&groups);
	free(one);
	return found;
}
