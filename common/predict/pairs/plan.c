/* plan.c: a tournament of all pairs, or a sample that leaves no rank out. */
#include "pairs/plan.h"

#include "base/error.h"

static void add(struct pair_plan *plan, int a, int b, int round, const int *node_of)
{
	plan->pairs[plan->npairs++] =
		(struct pair){ a < b ? a : b, a < b ? b : a, round, node_of[a] != node_of[b] };
	plan->nrounds = round >= plan->nrounds ? round + 1 : plan->nrounds;
}

/* Adds round number `turn` of the circle method as the plan's next one. The last seat stays, the
 * others go round. One rank of an odd number has no partner. */
static void add_turn(struct pair_plan *plan, int turn, const int *node_of)
{
	int seats = plan->n + plan->n % 2, round = plan->nrounds;

	for (int k = 0; k < seats / 2; k++) {
		int a = k == 0 ? seats - 1 : (turn + k) % (seats - 1);
		int b = (turn + seats - 1 - k) % (seats - 1);

		if (a < plan->n && b < plan->n)
			add(plan, a, b, round, node_of);
	}
}

static bool has_pair(const struct pair_plan *plan, int rank, bool far)
{
	for (int i = 0; i < plan->npairs; i++)
		if ((plan->pairs[i].a == rank || plan->pairs[i].b == rank) &&
		    plan->pairs[i].far == far)
			return true;
	return false;
}

/* Gives a rank a pair of that kind, with the next that fits, in the first round free for both. */
static void cover(struct pair_plan *plan, int rank, bool far, const int *node_of)
{
	int other = -1, round = 0;

	for (int k = 1; k < plan->n && other < 0; k++)
		if ((node_of[(rank + k) % plan->n] != node_of[rank]) == far)
			other = (rank + k) % plan->n;
	if (other < 0 || has_pair(plan, rank, far))
		return;
	while (pair_plan_find(plan, round, rank) >= 0 || pair_plan_find(plan, round, other) >= 0)
		round++;
	add(plan, rank, other, round, node_of);
}

static void sample(struct pair_plan *plan, const int *node_of, int most, uint32_t seed)
{
	int turns = plan->n + plan->n % 2 - 1, *order = must(calloc((size_t)turns, sizeof(*order)));
	unsigned short state[3] = { 0x330e, (unsigned short)seed, (unsigned short)(seed >> 16) };

	for (int i = 0; i < turns; i++) { /* a random order, from the inside out */
		int j = (int)(nrand48(state) % (i + 1));

		order[i] = order[j];
		order[j] = i;
	}
	for (int i = 0; i < turns && (i == 0 || plan->npairs + plan->n / 2 <= most); i++)
		add_turn(plan, order[i], node_of);
	for (int rank = 0; rank < plan->n; rank++) {
		cover(plan, rank, false, node_of);
		cover(plan, rank, true, node_of);
	}
	free(order);
}

void pair_plan_make(struct pair_plan *plan, int n, const int *node_of, int most, uint32_t seed)
{
	int all = n * (n - 1) / 2;

	*plan = (struct pair_plan){ .n = n, .sampled = all > most };
	plan->pairs = must(calloc(plan->sampled ? (size_t)(most + 3 * n) : (size_t)all + 1,
				  sizeof(*plan->pairs)));
	if (plan->sampled)
		sample(plan, node_of, most, seed);
	for (int turn = 0; !plan->sampled && turn < n + n % 2 - 1; turn++)
		add_turn(plan, turn, node_of);
}

void pair_plan_release(struct pair_plan *plan)
{
	free(plan->pairs);
	*plan = (struct pair_plan){ 0 };
}

int pair_plan_find(const struct pair_plan *plan, int round, int rank)
{
	for (int i = 0; i < plan->npairs; i++)
		if (plan->pairs[i].round == round &&
		    (plan->pairs[i].a == rank || plan->pairs[i].b == rank))
			return i;
	return -1;
}

int pair_plan_of(const struct pair_plan *plan, int a, int b)
{
	for (int i = 0; i < plan->npairs; i++)
		if (plan->pairs[i].a == (a < b ? a : b) && plan->pairs[i].b == (a < b ? b : a))
			return i;
	return -1;
}
