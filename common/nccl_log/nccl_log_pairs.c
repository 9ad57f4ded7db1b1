/* nccl_log_pairs.c: every Send with its Recv. */
#include <errno.h>
#include <stdlib.h>

#include "nccl_log/nccl_log_raw.h"

/* A Send or Recv of a pair. */
struct entry {
	int from, to;
	bool recv;
	const struct nccl_call *call;
};

static int by_pair(const void *a, const void *b)
{
	const struct entry *x = a, *y = b;

	if (x->from != y->from)
		return x->from < y->from ? -1 : 1;
	if (x->to != y->to)
		return x->to < y->to ? -1 : 1;
	if (x->call->number != y->call->number)
		return x->call->number < y->call->number ? -1 : 1;
	return x->recv - y->recv;
}

static bool partners(const struct entry *a, const struct entry *b)
{
	return a->call->number == b->call->number && !a->recv && b->recv;
}

/* Returns true if calls of the rank are not kept. */
static bool dropped(const struct nccl_comm *comm, int rank)
{
	const struct nccl_member *member = nccl_comm_member(comm, rank);

	return member->made > member->n_calls;
}

/* A pair's calls by number. False when they match, or it cannot be told how many there were. */
static bool match_pair(const struct nccl_comm *comm, const struct entry *all, int n,
		       struct nccl_unmatched *pair)
{
	*pair = (struct nccl_unmatched){ .from = all->from, .to = all->to };
	for (int i = 0; i < n; i++)
		*(all[i].recv ? &pair->recvs : &pair->sends) = all[i].call->number;
	if ((pair->sends == 0 && dropped(comm, pair->from)) ||
	    (pair->recvs == 0 && dropped(comm, pair->to)))
		return false;
	for (int i = 0; i + 1 < n; i++)
		if (partners(&all[i], &all[i + 1]) &&
		    (all[i].call->count != all[i + 1].call->count ||
		     all[i].call->dtype != all[i + 1].call->dtype)) {
			pair->send = all[i].call;
			pair->recv = all[i + 1].call;
			return true;
		}
	for (int i = 0; i < n; i++)
		if (all[i].call->number > (all[i].recv ? pair->sends : pair->recvs)) {
			*(all[i].recv ? &pair->recv : &pair->send) = all[i].call;
			return true;
		}
	return false;
}

/* Appends a member's Sends and Recvs whose peers are here. */
static int list_member(const struct nccl_comm *comm, const struct nccl_member *member,
		       struct entry *all)
{
	int n = 0;

	for (int i = 0; i < member->n_calls; i++) {
		const struct nccl_call *call = &member->calls[i];
		enum nccl_call_kind kind = nccl_call_kind(call);

		if (kind == NCCL_SEND && nccl_comm_member(comm, call->root))
			all[n++] = (struct entry){ member->rank, call->root, false, call };
		else if (kind == NCCL_RECV && nccl_comm_member(comm, call->root))
			all[n++] = (struct entry){ call->root, member->rank, true, call };
	}
	return n;
}

int nccl_log_calls_unmatched(const struct nccl_comm *comm, struct nccl_unmatched **pairs, int *n)
{
	struct entry *all;
	size_t total = 1;
	int used = 0, end;

	*n = 0;
	for (int m = 0; m < comm->n_members; m++)
		total += (size_t)comm->members[m]->n_calls;
	all = malloc(total * sizeof(*all));
	for (int m = 0; m < comm->n_members && all; m++)
		used += list_member(comm, comm->members[m], all + used);
	*pairs = malloc(((size_t)used + 1) * sizeof(**pairs));
	if (all && used > 1)
		qsort(all, (size_t)used, sizeof(*all), by_pair);
	for (int i = 0; *pairs && i < used; i = end) {
		for (end = i + 1;
		     end < used && all[end].from == all[i].from && all[end].to == all[i].to;)
			end++;
		*n += match_pair(comm, &all[i], end - i, &(*pairs)[*n]);
	}
	free(all);
	return all && *pairs ? 0 : -ENOMEM;
}
