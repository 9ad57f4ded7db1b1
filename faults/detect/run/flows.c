/* flows.c: sends and receives by partner. */
#include "run/flows.h"

/* By kind, partner, time. */
static int compare_calls(const void *a, const void *b)
{
	const struct record *x = *(const struct record *const *)a;
	const struct record *y = *(const struct record *const *)b;

	if (x->kind != y->kind)
		return x->kind < y->kind ? -1 : 1;
	if (x->peer != y->peer)
		return x->peer < y->peer ? -1 : 1;
	return (x->seq > y->seq) - (x->seq < y->seq);
}

void flows_init(struct flows *f, const struct progress *p, const struct members *members)
{
	size_t room = 1, n = 0;

	*f = (struct flows){ .nranks = members->nranks };
	for (int i = 0; i < p->nranks; i++)
		room += progress_has_pairs(&p->ranks[i], members->comm) ? p->ranks[i].ncalls : 0;
	f->calls = must(malloc(room * sizeof(*f->calls)));
	f->first = must(calloc((size_t)f->nranks + 1, sizeof(*f->first)));
	for (int i = 0; i < f->nranks; i++) {
		int rank = members_rank(members, i);
		const struct progress_rank *r = rank >= 0 ? &p->ranks[rank] : NULL;
		bool pairs = r && progress_has_pairs(r, members->comm);

		f->first[i] = n;
		for (size_t k = 0; pairs && k < r->ncalls; k++)
			if (r->calls[k].comm == members->comm && call_is_pair(r->calls[k].kind))
				f->calls[n++] = &r->calls[k];
		qsort(f->calls + f->first[i], n - f->first[i], sizeof(*f->calls), compare_calls);
	}
	f->first[f->nranks] = n;
}

void flows_release(struct flows *f)
{
	free(f->calls);
	free(f->first);
	memset(f, 0, sizeof(*f));
}

/* The first of the rank's calls that is not before this kind and partner. */
static size_t find_first(const struct flows *f, int rank, int kind, int64_t peer)
{
	size_t low = f->first[rank], high = f->first[rank + 1];

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		const struct record *r = f->calls[middle];

		if (r->kind < kind || (r->kind == kind && r->peer < peer))
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

struct flow progress_flow(const struct flows *f, int rank, int kind, int peer)
{
	size_t first = find_first(f, rank, kind, peer);

	return (struct flow){ f->calls + first,
			      find_first(f, rank, kind, (int64_t)peer + 1) - first };
}

const struct record *progress_flow_match(const struct flows *f, int rank, const struct record *call)
{
	struct flow own = progress_flow(f, rank, call->kind, call->peer);
	struct flow theirs = { NULL, 0 };
	size_t nth = 0;

	if (call->peer >= 0 && call->peer < f->nranks)
		theirs = progress_flow(f, call->peer, flow_other(call->kind), rank);
	while (own.calls[nth] != call)
		nth++;
	return nth < theirs.n ? theirs.calls[nth] : NULL;
}

bool progress_fits(const struct record *a, const struct record *b)
{
	return a->count == b->count && a->dtype == b->dtype;
}

bool flows_next(const struct flows *f, struct link *l)
{
	while (l->rank < f->nranks) {
		const struct record *r = f->calls[l->next];
		int rank = l->rank;
		struct flow own, theirs;

		if (l->next == f->first[rank + 1]) {
			l->rank++;
			continue;
		}
		own = progress_flow(f, rank, r->kind, r->peer);
		l->next += own.n;
		if (r->peer < 0 || r->peer >= f->nranks)
			continue;
		theirs = progress_flow(f, r->peer, flow_other(r->kind), rank);
		if (r->kind == CALL_RECV && theirs.n > 0)
			continue; /* it comes, or has come, as the other's */
		l->from = r->kind == CALL_SEND ? rank : r->peer;
		l->to = r->kind == CALL_SEND ? r->peer : rank;
		l->sent = r->kind == CALL_SEND ? own : theirs;
		l->received = r->kind == CALL_SEND ? theirs : own;
		return true;
	}
	return false;
}
