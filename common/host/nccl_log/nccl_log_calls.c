/* nccl_log_calls.c: the ranks' calls on one communicator side by side. */

#include "nccl_log/nccl_log_raw.h"

/* So many calls of a tail must agree to call it the majority's sequence moved by one. */
#define TAIL 64

bool nccl_call_same(const struct nccl_call *a, const struct nccl_call *b)
{
	return a->function == b->function && a->count == b->count && a->dtype == b->dtype &&
	       a->op == b->op && a->root == b->root;
}

static const struct nccl_call *call_at(const struct nccl_member *member, int index)
{
	return index < member->n_calls ? &member->calls[index] : NULL;
}

/* Without its head a log's calls can't be counted; of a guessed communicator with more members than
 * ranks there are several. */
static bool comparable(const struct nccl_comm *comm)
{
	for (int m = 0; m < comm->n_members; m++)
		if (comm->members[m]->begins > 0)
			return false;
	return !comm->guessed || !comm->nranks || comm->n_members <= comm->nranks;
}

/* True when not all who made call `index` agree in it. */
static bool differ_at(const struct nccl_comm *comm, int index)
{
	const struct nccl_call *first = NULL, *call;

	for (int m = 0; m < comm->n_members; m++) {
		call = call_at(comm->members[m], index);
		first = first ? first : call;
		if (call && !nccl_call_same(first, call))
			return true;
	}
	return false;
}

/* What more than half of those who made call `index` made of it (Boyer and Moore). Returns whose
 * call it is, or NULL. */
static const struct nccl_member *vote(const struct nccl_comm *comm, struct nccl_log_calls *calls)
{
	const struct nccl_member *candidate = NULL;
	const struct nccl_call *most = NULL, *call;
	int lead = 0;

	for (int m = 0; m < comm->n_members; m++) {
		call = call_at(comm->members[m], calls->index);
		calls->voters += call != NULL;
		if (call && lead == 0) {
			candidate = comm->members[m];
			most = call;
		}
		lead += !call ? 0 : nccl_call_same(call, most) ? 1 : -1;
	}
	for (int m = 0; m < comm->n_members; m++) {
		call = call_at(comm->members[m], calls->index);
		calls->votes += call && nccl_call_same(call, most);
	}
	calls->majority = 2 * calls->votes > calls->voters ? most : NULL;
	return calls->majority ? candidate : NULL;
}

/* True when a's calls from i on are b's from j on, as far as both go, and there are some. */
static bool tails_agree(const struct nccl_member *a, int i, const struct nccl_member *b, int j)
{
	const struct nccl_call *x, *y;

	for (int n = 0; n < TAIL; n++) {
		x = call_at(a, i + n);
		y = call_at(b, j + n);
		if (!x || !y)
			return n > 0;
		if (!nccl_call_same(x, y))
			return false;
	}
	return true;
}

/* True when a's calls i and i + 1 are b's in the other order. */
static bool swapped(const struct nccl_member *a, const struct nccl_member *b, int i)
{
	const struct nccl_call *second = call_at(a, i + 1), *y = call_at(b, i + 1);

	return second && y && nccl_call_same(&a->calls[i], y) &&
	       nccl_call_same(second, &b->calls[i]);
}

/* `most`: one that made the majority's call, or NULL. Other arguments in one call: the calls after
 * it agree as they stand. */
static enum nccl_odd_how how_odd(const struct nccl_member *member, const struct nccl_member *most,
				 int i)
{
	if (!call_at(member, i))
		return NCCL_ODD_ENDED;
	if (!most || tails_agree(member, i + 1, most, i + 1))
		return NCCL_ODD_OTHER;
	if (swapped(member, most, i))
		return NCCL_ODD_SWAPPED;
	if (tails_agree(member, i, most, i + 1))
		return NCCL_ODD_LEFT_OUT;
	if (tails_agree(member, i + 1, most, i))
		return NCCL_ODD_EXTRA;
	return NCCL_ODD_OTHER;
}

static void find_odd(const struct nccl_comm *comm, struct nccl_log_calls *calls)
{
	const struct nccl_member *most = vote(comm, calls);

	for (int m = 0; m < comm->n_members; m++) {
		const struct nccl_member *member = comm->members[m];
		const struct nccl_call *call = call_at(member, calls->index);

		if (call && calls->majority && nccl_call_same(call, calls->majority))
			continue;
		raw_add(calls->odd, calls->n_odd,
			(struct nccl_odd){ .member = member,
					   .how = how_odd(member, most, calls->index),
					   .call = call ? call
						   : member->n_calls
							   ? &member->calls[member->n_calls - 1]
							   : NULL });
	}
}

void nccl_log_calls_compare(const struct nccl_comm *comm, struct nccl_log_calls *calls)
{
	int i = 0;

	*calls = (struct nccl_log_calls){ .index = -1 };
	for (int m = 0; m < comm->n_members; m++) {
		int n = comm->members[m]->n_calls;

		calls->most = n > calls->most ? n : calls->most;
		calls->fewest = m == 0 || n < calls->fewest ? n : calls->fewest;
	}
	if (calls->most == 0)
		return;
	calls->verdict = NCCL_CALLS_UNKNOWN;
	if (!comparable(comm))
		return;
	while (i < calls->most && !differ_at(comm, i))
		i++;
	calls->verdict = i < calls->most	       ? NCCL_CALLS_DIFFER
			 : calls->fewest < calls->most ? NCCL_CALLS_FEWER
						       : NCCL_CALLS_SAME;
	if (calls->verdict == NCCL_CALLS_SAME)
		return;
	calls->index = i < calls->most ? i : calls->fewest;
	find_odd(comm, calls);
}

void nccl_log_calls_release(struct nccl_log_calls *calls)
{
	free(calls->odd);
	*calls = (struct nccl_log_calls){ .index = -1 };
}
