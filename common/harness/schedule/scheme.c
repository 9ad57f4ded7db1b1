/* scheme.c: the schemes, and their parts on a rank. */
#include "schedule/schedule_parts.h"

const struct scheme schemes[] = {
	{ .name = "plain" },
	{ .name = "mixed",
	  .turns = { "all_reduce", "broadcast", "all_gather", "sendrecv", "alltoall",
		     "reduce_scatter" } },
	{ .name = "halves", .family = COMMS_HALVES },
	{ .name = "pairs", .family = COMMS_PAIRS },
	{ .name = "ring", .family = COMMS_RING, .apart = true },
	{ .name = "p2p", .turns = { "handoff" } },
	{ .name = NULL },
};

const struct scheme *scheme_find(const char *name)
{
	for (int i = 0; schemes[i].name; i++)
		if (!name || strcmp(schemes[i].name, name) == 0)
			return &schemes[i];
	return NULL;
}

static const struct collective *by_name(const struct collective *const *known, const char *name)
{
	if (strcmp(name, handoff.name) == 0)
		return &handoff;
	while (*known && strcmp((*known)->name, name) != 0)
		known++;
	return *known;
}

int schedule_parts(const struct schedule_setup *setup, int rank, int step,
		   struct step_part parts[SCHEME_PARTS])
{
	const struct scheme *scheme = setup->scheme;
	const struct collective *own = setup->collective, *inner = own, *turn = NULL;
	const struct comm_set *comms = &setup->comms;
	int n = 0, turns = 0;

	if (own->irregular)
		inner = by_name(setup->collectives, "alltoall");
	if (!scheme->apart)
		parts[n++] = schedule_part(setup, own, 0, 0, rank, step);
	for (int c = scheme->family != COMMS_WORLD && inner ? comm_set_next(comms, 1, rank) : -1;
	     c >= 0; c = comm_set_next(comms, c + 1, rank)) {
		/* neighbours in a ring have different slots; an odd ring needs three */
		int slot = scheme->family != COMMS_RING		  ? 1
			   : c == comms->group_size && c % 2 == 1 ? 2
								  : c % 2;

		parts[n++] = schedule_part(setup, inner, (uint32_t)c, slot, rank, step);
	}
	while (scheme->turns[turns])
		turns++;
	if (turns > 0)
		turn = by_name(setup->collectives, scheme->turns[step % turns]);
	if (turn)
		parts[n++] = schedule_part(setup, turn, 0, 1, rank, step);
	return n;
}
