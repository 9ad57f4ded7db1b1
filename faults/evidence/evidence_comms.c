/* evidence_comms.c: communicators that each rank numbered by itself get the run's numbers. */
#include "evidence/evidence.h"

/* A rank's number for a communicator. */
struct claim {
	uint64_t id;
	int nranks, rank;
	uint32_t own;
};

/* A communicator: claims with one id. */
struct comm_claims {
	const struct claim *first;
	size_t n;
	uint32_t number;
};

#define NO_NUMBER RECORD_COMMS

static int compare_claims(const void *a, const void *b)
{
	const struct claim *x = a, *y = b;

	if (x->id != y->id)
		return x->id < y->id ? -1 : 1;
	return (x->rank > y->rank) - (x->rank < y->rank);
}

/* In the order in which their lowest ranks made them. */
static int compare_comms(const void *a, const void *b)
{
	const struct claim *x = ((const struct comm_claims *)a)->first,
			   *y = ((const struct comm_claims *)b)->first;

	if (x->own != y->own)
		return x->own < y->own ? -1 : 1;
	return (x->rank > y->rank) - (x->rank < y->rank);
}

static size_t collect(const struct evidence *e, struct claim *claims)
{
	size_t n = 0;

	for (int i = 0; i < e->nranks; i++)
		for (uint32_t c = 0; e->ranks[i].recorder && c < RECORD_COMMS; c++) {
			const struct record_init *init = &e->ranks[i].recorder->inits[c];

			if (init->state == RECORD_COMM_NONE)
				continue;
			if (claims)
				claims[n] = (struct claim){ init->id, init->nranks, i, c };
			n++;
		}
	return n;
}

static size_t group(const struct claim *claims, size_t n, struct comm_claims *comms)
{
	size_t found = 0;

	for (size_t i = 0; i < n; i++)
		if (i > 0 && claims[i].id == claims[i - 1].id)
			comms[found - 1].n++;
		else
			comms[found++] = (struct comm_claims){ &claims[i], 1, NO_NUMBER };
	return found;
}

static bool is_taken(const struct record_set *taken, const struct comm_claims *comm,
		     uint32_t number)
{
	for (size_t i = 0; i < comm->n; i++)
		if (record_set_has(&taken[comm->first[i].rank], number))
			return true;
	return false;
}

/* Number 0 is for the first of all ranks, and for no other. Returns how many got none. */
static size_t give_numbers(struct comm_claims *comms, size_t n, int nranks,
			   struct record_set *taken)
{
	bool whole = false;
	size_t without = 0;

	for (size_t i = 0; i < n; i++) {
		uint32_t number = 1;

		if (!whole && comms[i].first->nranks == nranks) {
			whole = true;
			number = 0;
		}
		while (number < RECORD_COMMS && is_taken(taken, &comms[i], number))
			number++;
		comms[i].number = number;
		without += number == NO_NUMBER;
		for (size_t k = 0; number != NO_NUMBER && k < comms[i].n; k++)
			record_set_add(&taken[comms[i].first[k].rank], number);
	}
	return without;
}

/* To the run's numbers; `to` is by own number. */
static int renumber(struct evidence_rank *r, const uint32_t *to)
{
	struct record_header *h = r->recorder, *old = aligned_alloc(64, sizeof(*old));
	size_t left = 0;

	if (!old)
		return -ENOMEM;
	memcpy(old, h, sizeof(*old));
	memset(h->inits, 0, sizeof(h->inits));
	memset(h->comms, 0, sizeof(h->comms));
	memset(h->pairs, 0, sizeof(h->pairs));
	for (uint32_t c = 0; c < RECORD_COMMS; c++) {
		if (to[c] == NO_NUMBER)
			continue;
		memcpy(&h->inits[to[c]], &old->inits[c], sizeof(h->inits[c]));
		memcpy(&h->comms[to[c]], &old->comms[c], sizeof(h->comms[c]));
		h->pairs[to[c]] = old->pairs[c];
	}
	free(old);
	for (size_t i = 0; i < r->ncalls; i++) {
		uint32_t number = to[r->calls[i].comm % RECORD_COMMS];

		if (number == NO_NUMBER)
			continue;
		if (left != i)
			memcpy(&r->calls[left], &r->calls[i], sizeof(r->calls[i]));
		r->calls[left++].comm = (uint16_t)number;
	}
	r->ncalls = left;
	if (r->view.last.ticket && to[r->view.last.comm % RECORD_COMMS] != NO_NUMBER)
		r->view.last.comm = (uint16_t)to[r->view.last.comm % RECORD_COMMS];
	r->view.comm_state = h->inits[0].state;
	r->view.init_rank = h->inits[0].rank;
	r->view.init_nranks = h->inits[0].nranks;
	r->view.init_id = h->inits[0].id;
	r->view.aborted_after = h->inits[0].aborted_after;
	evidence_index(r);
	return 0;
}

int evidence_number_comms(struct evidence *e)
{
	size_t n = collect(e, NULL), ncomms, without;
	struct claim *claims = malloc((n + 1) * sizeof(*claims));
	struct comm_claims *comms = malloc((n + 1) * sizeof(*comms));
	struct record_set *taken = calloc((size_t)e->nranks + 1, sizeof(*taken));
	uint32_t(*to)[RECORD_COMMS] = malloc(((size_t)e->nranks + 1) * sizeof(*to));
	int rc = claims && comms && taken && to ? 0 : -ENOMEM;

	if (rc < 0)
		goto out;
	collect(e, claims);
	qsort(claims, n, sizeof(*claims), compare_claims);
	ncomms = group(claims, n, comms);
	qsort(comms, ncomms, sizeof(*comms), compare_comms);
	without = give_numbers(comms, ncomms, e->nranks, taken);
	for (int i = 0; i < e->nranks; i++)
		for (uint32_t c = 0; c < RECORD_COMMS; c++)
			to[i][c] = NO_NUMBER;
	for (size_t i = 0; i < ncomms; i++)
		for (size_t k = 0; k < comms[i].n; k++)
			to[comms[i].first[k].rank][comms[i].first[k].own] = comms[i].number;
	for (int i = 0; rc == 0 && i < e->nranks; i++)
		if (e->ranks[i].recorder)
			rc = renumber(&e->ranks[i], to[i]);
	if (without > 0)
		evidence_remark(
			e,
			"%zu communicators are more than a run can have: their calls are left out.",
			without);
out:
	free(claims);
	free(comms);
	free(taken);
	free(to);
	return rc;
}
