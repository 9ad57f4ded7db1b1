/* comm_set.c: members of communicators. */
#include "backend/comm_set.h"

static int add(struct comm_set *set, int first, int n)
{
	if (set->n == COMM_SET_MAX)
		return -E2BIG;
	set->spans[set->n++] = (struct comm_span){ .first = first, .n = n };
	return 0;
}

int comm_set_make(struct comm_set *set, enum comm_family family, int group_size)
{
	int half = group_size / 2, rc;

	*set = (struct comm_set){ .group_size = group_size };
	rc = add(set, 0, group_size);
	if (family != COMMS_WORLD && group_size < (family == COMMS_RING ? 3 : 2))
		return -EINVAL;
	if (family == COMMS_HALVES) {
		add(set, 0, half);
		add(set, half, group_size - half);
	}
	for (int i = 0; family == COMMS_PAIRS && rc == 0 && i + 1 < group_size; i += 2)
		rc = add(set, i, 2);
	for (int i = 0; family == COMMS_RING && rc == 0 && i < group_size; i++)
		rc = add(set, i, 2);
	return rc;
}

int comm_set_member(const struct comm_set *set, uint32_t comm, int member)
{
	return (set->spans[comm].first + member) % set->group_size;
}

int comm_set_rank(const struct comm_set *set, uint32_t comm, int rank)
{
	int member = (rank - set->spans[comm].first + set->group_size) % set->group_size;

	return member < set->spans[comm].n ? member : -1;
}

int comm_set_next(const struct comm_set *set, int from, int rank)
{
	for (int comm = from; comm < set->n; comm++)
		if (comm_set_rank(set, (uint32_t)comm, rank) >= 0)
			return comm;
	return -1;
}
