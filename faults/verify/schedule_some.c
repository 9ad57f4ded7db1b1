/* schedule_some.c: a schedule of some ranks and calls of another one. */
#include "verify/reduce.h"

/* Copies what is left of the groups. `place`: of each group and old place the new one, -1: none. Groups that have lost all
 * members but one, or all, have no calls left. */
static int **copy_groups(struct schedule *part, const struct schedule *s, const int *number)
{
	int **place = must(calloc(s->ngroups + 1, sizeof(*place)));

	for (size_t g = 0; g < s->ngroups; g++) {
		const struct schedule_group *from = &s->groups[g];
		int *ranks = must(malloc(((size_t)from->n + 1) * sizeof(*ranks))), n = 0;

		place[g] = must(malloc(((size_t)from->n + 1) * sizeof(**place)));
		for (int i = 0; i < from->n; i++) {
			place[g][i] = number[from->ranks[i]] < 0 ? -1 : n;
			if (number[from->ranks[i]] >= 0)
				ranks[n++] = number[from->ranks[i]];
		}
		schedule_add_group(part, from->name, ranks, n);
	}
	return place;
}

static void copy_step(struct schedule *part, const struct schedule *s, int *const *place, int rank,
		      const struct step *from)
{
	struct step step = *from;

	if (part->groups[from->group].n < 2 && s->groups[from->group].n > 1)
		return;
	step.site = s->sites[from->site] ? schedule_site(part, s->sites[from->site]) : 0;
	if (from->peer >= 0 && from->peer < s->groups[from->group].n) {
		step.peer = place[from->group][from->peer];
		if (step.peer < 0 && call_is_pair(from->kind))
			return;
		step.peer = step.peer < 0 ? 0 : step.peer; /* another root */
	}
	schedule_add_step(part, rank, step);
}

/* Groups without calls go; the others keep their order. */
static void drop_groups(struct schedule *part)
{
	size_t *to = must(calloc(part->ngroups + 1, sizeof(*to))), n = 0;

	for (int i = 0; i < part->nranks; i++)
		for (size_t k = 0; k < part->ranks[i].n; k++)
			to[part->ranks[i].steps[k].group] = 1;
	for (size_t g = 0; g < part->ngroups; g++) {
		if (!to[g]) {
			free(part->groups[g].ranks);
			continue;
		}
		to[g] = n;
		part->groups[n++] = part->groups[g];
	}
	part->ngroups = n;
	for (int i = 0; i < part->nranks; i++)
		for (size_t k = 0; k < part->ranks[i].n; k++)
			part->ranks[i].steps[k].group = (uint16_t)to[part->ranks[i].steps[k].group];
	free(to);
}

void schedule_some(struct schedule *part, const struct schedule *s, const bool *ranks,
		   const bool *steps, int *was)
{
	int *number = must(malloc(((size_t)s->nranks + 1) * sizeof(*number))), **place, n = 0;
	size_t at = 0;

	for (int i = 0; i < s->nranks; i++) {
		number[i] = ranks[i] ? n : -1;
		if (ranks[i])
			was[n++] = i;
	}
	schedule_init(part, n);
	part->ahead = s->ahead;
	part->streams = s->streams;
	place = copy_groups(part, s, number);
	for (int i = 0; i < s->nranks; i++) {
		for (size_t k = 0; k < s->ranks[i].n; k++, at++)
			if (ranks[i] && steps[at])
				copy_step(part, s, place, number[i], &s->ranks[i].steps[k]);
		if (ranks[i]) {
			part->ranks[number[i]].known = s->ranks[i].known;
			part->ranks[number[i]].undated = s->ranks[i].undated;
		}
	}
	drop_groups(part);
	for (size_t g = 0; g < s->ngroups; g++)
		free(place[g]);
	free(place);
	free(number);
}
