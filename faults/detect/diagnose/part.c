/* part.c: evidence of some ranks alone. */
#include "diagnose/part.h"

void evidence_part_take(struct evidence_part *part, const struct evidence *e,
			const struct members *members)
{
	size_t n = (size_t)members->nranks + 1;

	evidence_part_release(part);
	part->ranks = must(calloc(n, sizeof(*part->ranks)));
	part->numbers = must(calloc(n, sizeof(*part->numbers)));
	for (int i = 0; i < members->nranks; i++) {
		int rank = members_rank(members, i);

		part->ranks[i].cpu_share = -1;
		part->ranks[i].view = (struct rank_view){ .rank = i, .outcome = -1, .node = -1 };
		if (rank >= 0)
			part->ranks[i] = e->ranks[rank];
		part->numbers[i] = rank >= 0 && e->numbers ? e->numbers[rank] : rank;
	}
	part->evidence = *e;
	part->evidence.nranks = members->nranks;
	part->evidence.ranks = part->ranks;
	part->evidence.numbers = part->numbers;
}

void evidence_part_release(struct evidence_part *part)
{
	free(part->ranks);
	free(part->numbers);
	memset(part, 0, sizeof(*part));
}
