/* members.c: which ranks share a communicator, by what each one's recorder says of its init. */
#include "run/progress.h"

int members_rank(const struct members *members, int place)
{
	if (place < 0 || place >= members->nranks)
		return -1;
	return members->ranks ? members->ranks[place] : place;
}

bool members_called(const struct members *members, const struct progress *p)
{
	uint32_t c = members->comm;

	for (int i = 0; i < members->nranks; i++) {
		int rank = members_rank(members, i);
		const struct progress_rank *r = rank >= 0 ? &p->ranks[rank] : NULL;

		if (r && (r->index ? record_set_has(&r->index->comms, c)
				   : c < VIEW_COMMS && r->view->comms[c].seq > 0))
			return true;
	}
	return false;
}

static int compare_claims(const void *a, const void *b)
{
	const struct claim *x = a, *y = b;

	if (x->id != y->id)
		return x->id < y->id ? -1 : 1;
	return (x->rank > y->rank) - (x->rank < y->rank);
}

/* The rank's claim to communicator `comm`, by its recorder; live by its view. False: it makes none. */
static bool take_claim(const struct progress *p, int rank, uint32_t comm, struct claim *claim)
{
	const struct progress_rank *r = &p->ranks[rank];
	const struct view_comm *live =
		r->index || comm >= VIEW_COMMS ? NULL : &r->view->comms[comm];
	const struct record_init *in = r->index && r->recorder ? &r->recorder->inits[comm] : NULL;

	if (in && in->state != RECORD_COMM_NONE)
		*claim = (struct claim){ in->id, in->rank, in->nranks, rank, comm, 0 };
	else if (live && (live->id || live->seq))
		*claim = (struct claim){ live->id, live->rank, live->nranks, rank, comm, 0 };
	else
		return false;
	return true;
}

struct claim *progress_claims(const struct progress *p, int64_t comm, size_t *n)
{
	uint32_t first = comm < 0 ? 0 : (uint32_t)comm, end = comm < 0 ? RECORD_COMMS : first + 1;
	size_t room = ((size_t)p->nranks + 1) * (end - first);
	struct claim *claims = must(malloc(room * sizeof(*claims)));

	*n = 0;
	for (int i = 0; i < p->nranks; i++)
		for (uint32_t c = first; c < end; c++)
			*n += take_claim(p, i, c, &claims[*n]);
	qsort(claims, *n, sizeof(*claims), compare_claims);
	return claims;
}

/* The claims to the init of communicator 0 as each rank's view has them. */
static struct claim *init_claims(const struct progress *p, size_t *n)
{
	struct claim *claims = must(malloc(((size_t)p->nranks + 1) * sizeof(*claims)));

	*n = 0;
	for (int i = 0; i < p->nranks; i++) {
		const struct rank_view *v = p->ranks[i].view;

		if (p->ranks[i].present && v->init_id)
			claims[(*n)++] =
				(struct claim){ v->init_id, v->init_rank, v->init_nranks, i, 0, 0 };
	}
	qsort(claims, *n, sizeof(*claims), compare_claims);
	return claims;
}

/* Each at the place that it claims, if all fit and half are there; else in the run's order, and false. */
static bool place_claims(struct members *m, const struct claim *claims, int n)
{
	int nranks = claims[0].nranks;
	bool fit = nranks >= n && nranks <= 2 * n;

	*m = (struct members){ .comm = claims[0].comm, .nranks = fit ? nranks : n };
	m->ranks = must(malloc((size_t)m->nranks * sizeof(*m->ranks)));
	for (int i = 0; i < m->nranks; i++)
		m->ranks[i] = -1;
	for (int i = 0; i < n && fit; i++) {
		int place = claims[i].place;

		fit = claims[i].nranks == nranks && place >= 0 && place < nranks &&
		      m->ranks[place] < 0;
		if (fit)
			m->ranks[place] = claims[i].rank;
	}
	m->nranks = fit ? nranks : n;
	for (int i = 0; i < n && !fit; i++)
		m->ranks[i] = claims[i].rank;
	return fit;
}

static void add_members(struct members_list *l, struct members one)
{
	if ((l->n & (l->n - 1)) == 0)
		l->list = must(realloc(l->list, (2 * l->n + 1) * sizeof(*l->list)));
	l->list[l->n++] = one;
}

size_t claims_end(const struct claim *claims, size_t n, size_t first)
{
	size_t end = first;

	while (end < n && claims[end].id == claims[first].id)
		end++;
	return end;
}

/* All members of a communicator other than 0 that have made calls on it. */
static void add_comm(struct members_list *l, const struct progress *p, uint32_t comm)
{
	size_t n, end;
	struct claim *claims = progress_claims(p, comm, &n);
	struct members one = { .comm = comm, .nranks = p->nranks };

	if (n == 0)
		add_members(l, one);
	for (size_t i = 0; i < n; i = end) {
		end = claims_end(claims, n, i);
		place_claims(&one, claims + i, (int)(end - i));
		if (members_called(&one, p))
			add_members(l, one);
		else
			free(one.ranks);
	}
	free(claims);
}

void progress_members(const struct progress *p, struct members_list *l)
{
	struct members all = { .nranks = p->nranks };

	*l = (struct members_list){ .n = 0 };
	add_members(l, all);
	for (all.comm = 1; all.comm < RECORD_COMMS; all.comm++)
		if (members_called(&all, p))
			add_comm(l, p, all.comm);
}

void progress_groups(const struct progress *p, struct members_list *l)
{
	size_t n, end;
	struct claim *claims = init_claims(p, &n);
	struct members one;
	bool whole = true;

	*l = (struct members_list){ .n = 0 };
	for (int i = 0; i < p->nranks; i++) {
		const struct rank_view *v = p->ranks[i].view;

		whole &= !p->ranks[i].present || v->init_id || !view_died(v);
	}
	for (size_t i = 0; i < n && whole; i = end) {
		end = claims_end(claims, n, i);
		whole = place_claims(&one, claims + i, (int)(end - i)) &&
			one.nranks == (int)(end - i);
		add_members(l, one);
	}
	if (!whole || l->n < 2)
		members_list_release(l);
	free(claims);
}

/* By announced number of ranks, then by rank. */
static int compare_announced(const void *a, const void *b)
{
	const struct claim *x = a, *y = b;

	if (x->nranks != y->nranks)
		return x->nranks < y->nranks ? -1 : 1;
	return (x->rank > y->rank) - (x->rank < y->rank);
}

size_t progress_init_unequal(const struct progress *p, const struct rank_view **views)
{
	size_t n, left = 0, end;
	struct claim *claims = init_claims(p, &n);

	for (size_t i = 0; i < n; i = end) {
		end = claims_end(claims, n, i);
		qsort(claims + i, end - i, sizeof(*claims), compare_announced);
		if (claims[i].nranks == claims[end - 1].nranks &&
		    claims[i].nranks == (int)(end - i))
			continue;
		for (size_t k = i; k < end; k++, left++)
			if (views)
				views[left] = p->ranks[claims[k].rank].view;
	}
	free(claims);
	return left;
}

void members_list_release(struct members_list *l)
{
	for (size_t i = 0; i < l->n; i++)
		free(l->list[i].ranks);
	free(l->list);
	memset(l, 0, sizeof(*l));
}
