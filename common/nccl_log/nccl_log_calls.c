/* nccl_log_calls.c: the ranks' calls on one communicator side by side. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "nccl_log/nccl_log.h"

/* So many calls of a tail must agree to call it the majority's sequence moved by one. */
#define TAIL 64

/* The collective calls of each member. */
struct sequences {
	const struct nccl_call **calls; /* all of them, member by member */
	int *first, *n;
	int members;
};

static bool is_p2p(const struct nccl_call *call)
{
	return strcmp(call->function, "Send") == 0 || strcmp(call->function, "Recv") == 0;
}

bool nccl_call_same(const struct nccl_call *a, const struct nccl_call *b)
{
	return a->function == b->function && a->count == b->count && a->dtype == b->dtype &&
	       a->op == b->op && a->root == b->root;
}

static void sequences_release(struct sequences *s)
{
	free(s->calls);
	free(s->first);
	free(s->n);
}

static int sequences_init(struct sequences *s, const struct nccl_comm *comm)
{
	size_t total = 0;
	int at = 0;

	for (int m = 0; m < comm->n_members; m++)
		total += (size_t)comm->members[m]->n_calls;
	*s = (struct sequences){ .members = comm->n_members };
	s->calls = malloc(total * sizeof(struct nccl_call *) + 1);
	s->first = calloc((size_t)comm->n_members + 1, sizeof(*s->first));
	s->n = calloc((size_t)comm->n_members + 1, sizeof(*s->n));
	if (!s->calls || !s->first || !s->n) {
		sequences_release(s);
		return -ENOMEM;
	}
	for (int m = 0; m < comm->n_members; m++) {
		s->first[m] = at;
		for (int i = 0; i < comm->members[m]->n_calls; i++)
			if (!is_p2p(&comm->members[m]->calls[i]))
				s->calls[at++] = &comm->members[m]->calls[i];
		s->n[m] = at - s->first[m];
	}
	return 0;
}

static const struct nccl_call *call_at(const struct sequences *s, int member, int index)
{
	return index >= 0 && index < s->n[member] ? s->calls[s->first[member] + index] : NULL;
}

/* The call that more than half of those who made call `index` made, or NULL; *differ: not all. */
static const struct nccl_call *majority_at(const struct sequences *s, int index, bool *differ)
{
	const struct nccl_call *candidate = NULL, *call;
	int votes = 0, voters = 0;

	*differ = false;
	for (int m = 0; m < s->members; m++) {
		call = call_at(s, m, index);
		if (!call)
			continue;
		voters++;
		if (votes == 0)
			candidate = call;
		votes += nccl_call_same(candidate, call) ? 1 : -1;
	}
	votes = 0;
	for (int m = 0; m < s->members; m++) {
		call = call_at(s, m, index);
		votes += call && nccl_call_same(candidate, call);
	}
	*differ = votes != voters;
	return 2 * votes > voters ? candidate : NULL;
}

/* True when a's calls from i on are b's from j on, as far as both go, and there are some. */
static bool tails_agree(const struct sequences *s, int a, int i, int b, int j)
{
	const struct nccl_call *x, *y;

	for (int n = 0; n < TAIL; n++) {
		x = call_at(s, a, i + n);
		y = call_at(s, b, j + n);
		if (!x || !y)
			return n > 0;
		if (!nccl_call_same(x, y))
			return false;
	}
	return true;
}

static enum nccl_odd_how how_odd(const struct sequences *s, const struct nccl_log_calls *calls,
				 int member)
{
	int reference = -1;

	if (!call_at(s, member, calls->index))
		return NCCL_ODD_ENDED;
	for (int m = 0; m < s->members && calls->majority && reference < 0; m++) {
		const struct nccl_call *call = call_at(s, m, calls->index);

		if (call && nccl_call_same(call, calls->majority))
			reference = m;
	}
	if (reference < 0)
		return NCCL_ODD_OTHER;
	/* Other arguments in one call: the calls after it agree as they stand. */
	if (tails_agree(s, member, calls->index + 1, reference, calls->index + 1))
		return NCCL_ODD_OTHER;
	if (tails_agree(s, member, calls->index, reference, calls->index + 1))
		return NCCL_ODD_LEFT_OUT;
	if (tails_agree(s, member, calls->index + 1, reference, calls->index))
		return NCCL_ODD_EXTRA;
	return NCCL_ODD_OTHER;
}

static int find_odd(const struct sequences *s, struct nccl_log_calls *calls)
{
	calls->odd = malloc((size_t)s->members * sizeof(*calls->odd) + 1);
	if (!calls->odd)
		return -ENOMEM;
	for (int m = 0; m < s->members; m++) {
		const struct nccl_call *call = call_at(s, m, calls->index);

		if (call && calls->majority && nccl_call_same(call, calls->majority))
			continue;
		calls->odd[calls->n_odd++] =
			(struct nccl_odd){ .member = m, .how = how_odd(s, calls, m), .call = call };
	}
	return 0;
}

int nccl_log_calls_compare(const struct nccl_comm *comm, struct nccl_log_calls *calls)
{
	struct sequences s;
	bool differ = false;
	int rc = 0;

	*calls = (struct nccl_log_calls){ .index = -1 };
	if (sequences_init(&s, comm) < 0)
		return -ENOMEM;
	for (int m = 0; m < s.members; m++) {
		calls->most = s.n[m] > calls->most ? s.n[m] : calls->most;
		calls->fewest = m == 0 || s.n[m] < calls->fewest ? s.n[m] : calls->fewest;
	}
	if (calls->most == 0)
		goto out;
	calls->verdict = NCCL_CALLS_UNKNOWN;
	if (comm->guessed && comm->nranks > 0 && comm->n_members > comm->nranks)
		goto out;
	calls->verdict = NCCL_CALLS_SAME;
	for (int i = 0; i < calls->most && !differ; i++) {
		calls->majority = majority_at(&s, i, &differ);
		calls->index = i;
	}
	if (differ)
		calls->verdict = NCCL_CALLS_DIFFER;
	else if (calls->fewest < calls->most)
		calls->verdict = NCCL_CALLS_FEWER;
	calls->index = differ ? calls->index : calls->fewest < calls->most ? calls->fewest : -1;
	if (calls->index < 0)
		calls->majority = NULL;
	else
		calls->majority = majority_at(&s, calls->index, &differ);
	if (calls->index >= 0)
		rc = find_odd(&s, calls);
out:
	sequences_release(&s);
	return rc;
}

void nccl_log_calls_release(struct nccl_log_calls *calls)
{
	free(calls->odd);
	*calls = (struct nccl_log_calls){ .index = -1 };
}

/* ---- Send and Recv ------------------------------------------------------------------------ */

static int by_pair(const void *a, const void *b)
{
	const struct nccl_unmatched *x = a, *y = b;

	if (x->from != y->from)
		return x->from < y->from ? -1 : 1;
	return x->to < y->to ? -1 : x->to > y->to;
}

int nccl_log_calls_unmatched(const struct nccl_comm *comm, struct nccl_unmatched **pairs, int *n)
{
	struct nccl_unmatched *all;
	size_t total = 0;
	int used = 0, kept = 0, end;

	*pairs = NULL;
	*n = 0;
	for (int m = 0; m < comm->n_members; m++)
		total += (size_t)comm->members[m]->n_calls;
	all = malloc(total * sizeof(*all) + 1);
	if (!all)
		return -ENOMEM;
	for (int m = 0; m < comm->n_members; m++) {
		const struct nccl_member *member = comm->members[m];

		for (int i = 0; i < member->n_calls; i++) {
			const struct nccl_call *call = &member->calls[i];
			bool send = strcmp(call->function, "Send") == 0;

			if (!is_p2p(call) || !nccl_comm_member(comm, call->root))
				continue;
			all[used++] =
				send ? (struct nccl_unmatched){ member->rank, call->root, 1, 0 }
				     : (struct nccl_unmatched){ call->root, member->rank, 0, 1 };
		}
	}
	qsort(all, (size_t)used, sizeof(*all), by_pair);
	for (int i = 0; i < used; i = end) {
		struct nccl_unmatched pair = all[i];

		for (end = i + 1; end < used && by_pair(&all[end], &pair) == 0; end++) {
			pair.sends += all[end].sends;
			pair.recvs += all[end].recvs;
		}
		if (pair.sends != pair.recvs)
			all[kept++] = pair;
	}
	if (kept == 0)
		free(all);
	else
		*pairs = all;
	*n = kept;
	return 0;
}
