/* scheme.c: the schemes, and what they come to on a rank. */
#include "schedule/scheme.h"

const struct scheme schemes[] = {
	{ .name = "plain", .always = { { 0 } }, .nalways = 1 },
	{ .name = "mixed",
	  .always = { { 0 } },
	  .nalways = 1,
	  .turns = { { "all_reduce", false },
		     { "broadcast", false },
		     { "all_gather", false },
		     { "sendrecv", false },
		     { "alltoall", false },
		     { "reduce_scatter", false } },
	  .nturns = 6 },
	{ .name = "halves",
	  .family = COMMS_HALVES,
	  .always = { { 0 }, { NULL, true } },
	  .nalways = 2 },
	{ .name = "pairs",
	  .family = COMMS_PAIRS,
	  .always = { { 0 }, { NULL, true } },
	  .nalways = 2 },
	{ .name = "ring", .family = COMMS_RING, .always = { { NULL, true } }, .nalways = 1 },
	{ .name = "p2p", .always = { { 0 }, { "handoff", false } }, .nalways = 2 },
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

/* Neighbours in a ring have different ones, which takes three where it is odd. */
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

	for (int i = 0; i < scheme->nalways + (scheme->nturns > 0); i++) {
		const struct scheme_part *part = i < scheme->nalways
							 ? &scheme->always[i]
							 : &scheme->turns[step % scheme->nturns];

		if (!part->family)
			add(&parts, part->collective ? by_name(known, part->collective) : own, 0,
			    i);
		for (int c = comm_set_next(comms, 1, rank); part->family && c >= 0;
		     c = comm_set_next(comms, c + 1, rank))
			add(&parts, part->collective ? by_name(known, part->collective) : inner,
			    (uint32_t)c, scheme->family == COMMS_RING ? ring_slot(comms, c) : i);
	}
	return parts.n;
}
