/* teams.c: ranks by communicator, and the evidence of those alone. */
#include "waits/teams.h"

#include "record/verdict.h"

int team_rank(const struct team *team, int place)
{
	if (place < 0 || place >= team->nranks)
		return -1;
	return team->ranks ? team->ranks[place] : place;
}

bool team_called(const struct team *team, const struct evidence *e)
{
	for (int i = 0; i < team->nranks; i++) {
		int rank = team_rank(team, i);

		if (rank >= 0 && record_set_has(&e->ranks[rank].index.comms, team->comm))
			return true;
	}
	return false;
}

/* Each at the place that it claims, where all fit and at least half are there: 0. Evidence may say
 * anything. */
static int place_claims(const struct claim *claims, int n, int *ranks)
{
	int nranks = claims[0].nranks;

	if (nranks < n || nranks > 2 * n)
		return -EINVAL;
	for (int i = 0; i < nranks; i++)
		ranks[i] = -1;
	for (int i = 0; i < n; i++) {
		int place = claims[i].place;

		if (claims[i].nranks != nranks || place < 0 || place >= nranks || ranks[place] >= 0)
			return -EINVAL;
		ranks[place] = claims[i].rank;
	}
	return nranks;
}

/* A team of those with one id; without a place for each they stand in the order of the run.
 * Returns how many of `ranks` it takes. */
static int add_team(struct teams *t, const struct evidence *e, uint32_t comm,
		    const struct claim *claims, int n, int *ranks)
{
	struct team team = { .comm = comm, .ranks = ranks };
	int placed = place_claims(claims, n, ranks);

	team.nranks = placed > 0 ? placed : n;
	for (int i = 0; placed < 0 && i < n; i++)
		ranks[i] = claims[i].rank;
	if (!team_called(&team, e))
		return 0;
	t->list[t->n++] = team;
	return team.nranks;
}

/* Behind the last claim with the id of the first. */
static size_t end_of(const struct claim *claims, size_t n, size_t first, size_t *end)
{
	for (*end = first; *end < n && claims[*end].id == claims[first].id;)
		++*end;
	return *end;
}

/* All teams of a communicator other than 0. Returns how many of `ranks` they take. */
static int add_comm(struct teams *t, const struct evidence *e, uint32_t comm, struct claim *claims,
		    int *ranks)
{
	size_t n = evidence_claims(e, comm, claims), end;
	int used = 0;

	if (n == 0)
		t->list[t->n++] = (struct team){ .comm = comm, .nranks = e->nranks };
	qsort(claims, n, sizeof(*claims), claims_by_id);
	for (size_t i = 0; i < n; i = end) {
		end_of(claims, n, i, &end);
		used += add_team(t, e, comm, claims + i, (int)(end - i), ranks + used);
	}
	return used;
}

void teams_init(struct teams *t, const struct evidence *e)
{
	size_t n = (size_t)e->nranks + 1, used = 0, comms = 1;
	struct claim *claims = must(malloc(n * sizeof(*claims)));
	struct record_set called = { { 0 } };

	memset(t, 0, sizeof(*t));
	for (int i = 0; i < e->nranks; i++)
		for (size_t k = 0; k < sizeof(called.words) / sizeof(called.words[0]); k++)
			called.words[k] |= e->ranks[i].index.comms.words[k];
	for (uint32_t c = 1; c < RECORD_COMMS; c++)
		comms += record_set_has(&called, c);
	t->list = must(calloc(comms == 1 ? 1 : comms * n, sizeof(*t->list)));
	/* place_claims: twice as many */
	t->ranks = must(malloc(comms * 2 * n * sizeof(*t->ranks)));
	t->list[t->n++] = (struct team){ .comm = 0, .nranks = e->nranks };
	for (uint32_t c = 1; c < RECORD_COMMS; c++)
		if (record_set_has(&called, c))
			used += (size_t)add_comm(t, e, c, claims, t->ranks + used);
	free(claims);
}

void teams_of_init(struct teams *t, const struct evidence *e)
{
	size_t room = (size_t)e->nranks + 1, n = 0, used = 0, end;
	struct claim *claims = must(malloc(room * sizeof(*claims)));
	bool whole = true;

	*t = (struct teams){ .list = must(calloc(room, sizeof(*t->list))),
			     .ranks = must(malloc(2 * room * sizeof(*t->ranks))) };
	for (int i = 0; i < e->nranks; i++) {
		const struct rank_view *v = &e->ranks[i].view;

		if (e->ranks[i].present && v->init_id)
			claims[n++] =
				(struct claim){ v->init_id, v->init_rank, v->init_nranks, i, 0, 0 };
		else if (e->ranks[i].present && view_died(v))
			whole = false;
	}
	qsort(claims, n, sizeof(*claims), claims_by_id);
	for (size_t i = 0; i < n && whole; i = end, t->n++) {
		int nranks = (int)(end_of(claims, n, i, &end) - i);

		t->list[t->n] = (struct team){ .nranks = nranks, .ranks = t->ranks + used };
		whole = place_claims(claims + i, nranks, t->ranks + used) == nranks;
		used += (size_t)nranks;
	}
	if (!whole || t->n < 2)
		t->n = 0;
	free(claims);
}

void teams_release(struct teams *t)
{
	free(t->list);
	free(t->ranks);
	memset(t, 0, sizeof(*t));
}

void team_part_take(struct team_part *part, const struct evidence *e, const struct team *team)
{
	size_t n = (size_t)team->nranks + 1;

	team_part_release(part);
	part->ranks = must(calloc(n, sizeof(*part->ranks)));
	part->numbers = must(calloc(n, sizeof(*part->numbers)));
	for (int i = 0; i < team->nranks; i++) {
		int rank = team_rank(team, i);

		part->ranks[i].cpu_share = -1;
		part->ranks[i].view = (struct rank_view){ .rank = i, .outcome = -1, .node = -1 };
		if (rank >= 0)
			part->ranks[i] = e->ranks[rank];
		part->numbers[i] = rank >= 0 && e->numbers ? e->numbers[rank] : rank;
	}
	part->evidence = *e;
	part->evidence.nranks = team->nranks;
	part->evidence.ranks = part->ranks;
	part->evidence.numbers = part->numbers;
}

void team_part_release(struct team_part *part)
{
	free(part->ranks);
	free(part->numbers);
	memset(part, 0, sizeof(*part));
}
