/* evidence_comms.c: communicators that each rank numbered by itself get the run's numbers; evidence of one's members alone. */
#include "evidence/evidence.h"

#define NO_NUMBER RECORD_COMMS

static int compare_ranks(const void *a, const void *b)
{
	return ((const struct claim *)a)->rank - ((const struct claim *)b)->rank;
}

/* Communicators, by their first claims: in the order in which their lowest ranks made them. */
static int compare_births(const void *a, const void *b)
{
	const struct claim *x = *(struct claim *const *)a, *y = *(struct claim *const *)b;

	if (x->comm != y->comm)
		return x->comm < y->comm ? -1 : 1;
	return x->rank - y->rank;
}

/* The lowest from `number` on that none of the communicator's members has. */
static uint32_t free_number(const struct record_set *taken, const struct claim *first,
			    const struct claim *end, uint32_t number)
{
	for (const struct claim *c = first; number < RECORD_COMMS && c < end && c->id == first->id;
	     c++)
		if (record_set_has(&taken[c->rank], number))
			return free_number(taken, first, end, number + 1);
	return number;
}

/* Number 0 is for the first of all ranks, and for no other. Returns how many communicators got none. */
static size_t give_numbers(struct claim *claims, size_t n, struct claim **comms, int nranks,
			   struct record_set *taken)
{
	size_t ncomms = 0, without = 0;
	bool whole = false;

	for (size_t i = 0; i < n; i++)
		if (i == 0 || claims[i].id != claims[i - 1].id)
			comms[ncomms++] = &claims[i];
	qsort(comms, ncomms, sizeof(struct claim *), compare_births);
	for (size_t i = 0; i < ncomms; i++) {
		bool first = !whole && comms[i]->nranks == nranks;
		uint32_t number = first ? 0 : free_number(taken, comms[i], claims + n, 1);

		whole |= first;
		without += number == NO_NUMBER;
		for (struct claim *c = comms[i]; c < claims + n && c->id == comms[i]->id; c++) {
			c->number = number;
			if (number != NO_NUMBER)
				record_set_add(&taken[c->rank], number);
		}
	}
	return without;
}

/* To the run's numbers; `to` is by own number. */
static void renumber(struct evidence_rank *r, const uint32_t *to)
{
	struct record_header *h = r->recorder, *old = must(aligned_alloc(64, sizeof(*old)));
	size_t left = 0;

	memcpy(old, h, sizeof(*old));
	memset(h->inits, 0, sizeof(h->inits));
	memset(h->comms, 0, sizeof(h->comms));
	memset(h->pairs, 0, sizeof(h->pairs));
	for (uint32_t c = 0; c < RECORD_COMMS; c++) {
		if (to[c] == NO_NUMBER)
			continue;
		memcpy(&h->inits[to[c]], &old->inits[c], sizeof(h->inits[c]));
		if (old->inits[c].nranks <= RECORD_CHILD(0)) /* it holds the parent's number */
			h->inits[to[c]].nranks = RECORD_CHILD(
				to[(uint32_t)RECORD_CHILD(old->inits[c].nranks) % RECORD_COMMS]);
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
	for (size_t i = 0; i < r->nsites; i++)
		r->sites[i].comm = (uint16_t)to[r->sites[i].comm % RECORD_COMMS];
	if (r->view.last.ticket && to[r->view.last.comm % RECORD_COMMS] != NO_NUMBER)
		r->view.last.comm = (uint16_t)to[r->view.last.comm % RECORD_COMMS];
	view_read_init(&r->view, &h->inits[0]);
	evidence_index(r);
}

void evidence_number_comms(struct evidence *e)
{
	struct progress progress;
	size_t n, without;
	struct claim *claims, *of;
	struct claim **comms;
	struct record_set *taken = must(calloc((size_t)e->nranks + 1, sizeof(*taken)));

	evidence_progress(e, &progress);
	of = claims = progress_claims(&progress, -1, &n);
	comms = must(malloc((n + 1) * sizeof(struct claim *)));
	evidence_progress_release(&progress);
	without = give_numbers(claims, n, comms, e->nranks, taken);
	qsort(claims, n, sizeof(*claims), compare_ranks);
	for (int i = 0; i < e->nranks; i++) {
		uint32_t to[RECORD_COMMS];

		for (uint32_t c = 0; c < RECORD_COMMS; c++)
			to[c] = NO_NUMBER;
		for (; of < claims + n && of->rank == i; of++)
			to[of->comm] = of->number;
		if (e->ranks[i].recorder)
			renumber(&e->ranks[i], to);
	}
	if (without > 0)
		evidence_remark(
			e,
			"%zu communicators are more than a run can have: their calls are left out.",
			without);
	free(claims);
	free(comms);
	free(taken);
}

void evidence_part_release(struct evidence *part)
{
	free(part->ranks);
	free((void *)part->numbers);
	memset(part, 0, sizeof(*part));
}

void evidence_part_take(struct evidence *part, const struct evidence *e,
			const struct members *members)
{
	size_t n = (size_t)members->nranks + 1;
	int *numbers = must(calloc(n, sizeof(*numbers)));

	evidence_part_release(part);
	*part = *e;
	part->nranks = members->nranks;
	part->ranks = evidence_ranks_alloc(members->nranks);
	part->numbers = numbers;
	for (int i = 0; i < members->nranks; i++) {
		int rank = members_rank(members, i);

		if (rank >= 0)
			part->ranks[i] = e->ranks[rank];
		numbers[i] = rank >= 0 && e->numbers ? e->numbers[rank] : rank;
	}
}
