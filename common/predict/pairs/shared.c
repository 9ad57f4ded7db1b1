/* shared.c: the things on the way of pairs that slow pairs alone have. */
#include "pairs/shared.h"

#include "base/error.h"

enum { NETWORK = PAIR_THINGS, KINDS }; /* a host's, where its NICs are not known */

static const char *const kinds[KINDS] = {
	[PAIR_NIC] = "NIC", [PAIR_SWITCH] = "switch", [PAIR_SOCKET] = "socket",
	[PAIR_GPU] = "",    [PAIR_HOST] = "host",     [NETWORK] = "the network of host",
};

/* On ties the narrower comes first. */
static const int order[KINDS] = {
	PAIR_NIC, NETWORK, PAIR_SWITCH, PAIR_SOCKET, PAIR_GPU, PAIR_HOST
};

static const char *name_of(const struct pair_end *end, int kind)
{
	return end->name[kind == NETWORK ? PAIR_HOST : kind];
}

static bool on_way(const struct pair *p, const struct pair_end *ends, int kind, const char *name)
{
	bool a = strcmp(name_of(&ends[p->a], kind), name) == 0;
	bool b = strcmp(name_of(&ends[p->b], kind), name) == 0;

	if (kind == PAIR_NIC || kind == NETWORK)
		return p->far && (a || b);
	return kind == PAIR_SWITCH || kind == PAIR_SOCKET ? !p->far && a != b : a || b;
}

/* Returns the number of slow pairs (`left`) of a thing. 0: a fast pair has it, or one pair. */
static int accounts(const struct pair_plan *plan, const struct pair_end *ends, const bool *slow,
		    const bool *left, int kind, const char *name)
{
	int all = 0, n = 0;

	for (int i = 0; i < plan->npairs; i++) {
		if (!on_way(&plan->pairs[i], ends, kind, name))
			continue;
		if (!slow[i])
			return 0;
		all++;
		n += left[i];
	}
	return all > 1 ? n : 0;
}

/* Returns the thing that accounts for most pairs; 0: none. */
static int best(const struct pair_plan *plan, const struct pair_end *ends, const bool *slow,
		const bool *left, int *kind, const char **name)
{
	int most = 0;

	for (int k = 0; k < KINDS; k++)
		for (int rank = 0; rank < plan->n; rank++) {
			const char *candidate = name_of(&ends[rank], order[k]);
			int n = *candidate ? accounts(plan, ends, slow, left, order[k], candidate)
					   : 0;

			if (n <= most)
				continue;
			most = n;
			*kind = order[k];
			*name = candidate;
		}
	return most;
}

int pair_shared(const struct pair_plan *plan, const struct pair_end *ends, const bool *slow,
		char *text, size_t len)
{
	bool *left = must(malloc((size_t)plan->npairs + 1));
	const char *name = "";
	int kind = 0, n, none = 0;
	size_t used = 0;

	memcpy(left, slow, (size_t)plan->npairs);
	*text = '\0';
	while (used < len && (n = best(plan, ends, slow, left, &kind, &name)) > 0) {
		used += (size_t)snprintf(text + used, len - used, "%s%s%s%s (%d slow pairs)",
					 used ? ", " : "", kinds[kind], *kinds[kind] ? " " : "",
					 name, n);
		for (int i = 0; i < plan->npairs; i++)
			left[i] &= !on_way(&plan->pairs[i], ends, kind, name);
	}
	for (int i = 0; i < plan->npairs; i++)
		none += left[i];
	free(left);
	return none;
}
