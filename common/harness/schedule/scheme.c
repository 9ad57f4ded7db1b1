/* scheme.c: the schemes, and their parts on a rank. */
#include "schedule/scheme.h"

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

struct parts {
	struct step_part *at;
	int n;
};

static void add(struct parts *parts, const struct collective *collective, uint32_t comm, int slot)
{
	if (collective && parts->n < SCHEME_PARTS)
		parts->at[parts->n++] = (struct step_part){ collective, comm, slot };
}

/* Neighbours in a ring have different slots; an odd ring needs three. */
static int ring_slot(const struct comm_set *comms, int comm)
{
	return comm == comms->group_size && comm % 2 == 1 ? 2 : comm % 2;
}

int scheme_parts(const struct scheme *scheme, const struct collective *own,
		 const struct collective *const *known, const struct comm_set *comms, int rank,
		 int step, struct step_part at[SCHEME_PARTS])
{
	const struct collective *inner = own->irregular ? by_name(known, "alltoall") : own;
	struct parts parts = { .at = at };
	int turns = 0;

	if (!scheme->apart)
		add(&parts, own, 0, 0);
	if (scheme->family != COMMS_WORLD)
		for (int c = comm_set_next(comms, 1, rank); c >= 0;
		     c = comm_set_next(comms, c + 1, rank))
			add(&parts, inner, (uint32_t)c,
			    scheme->family == COMMS_RING ? ring_slot(comms, c) : 1);
	while (scheme->turns[turns])
		turns++;
	if (turns > 0)
		add(&parts, by_name(known, scheme->turns[step % turns]), 0, 1);
	return parts.n;
}
