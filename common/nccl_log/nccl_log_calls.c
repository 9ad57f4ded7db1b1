/* nccl_log_calls.c: the ranks' calls on one communicator side by side. */
#include <errno.h>
#include <stdlib.h>

#include "nccl_log/nccl_log_raw.h"

/* So many calls of a tail must agree to call it the majority's sequence moved by one. */
#define TAIL 64

/* The collective calls of each member that are kept. */
struct sequences {
	const struct nccl_comm *comm;
	int64_t *base; /* of each member's first one: calls before it */
	int64_t start; /* from here on all are kept, or ended */
	int members;
};

static uint64_t field_of(const struct nccl_call *call, enum nccl_field field)
{
	switch (field) {
	case NCCL_FUNCTION:
		return (uintptr_t)call->function;
	case NCCL_COUNT:
		return call->count;
	case NCCL_DTYPE:
		return (uint64_t)(int64_t)call->dtype;
	case NCCL_OP:
		return (uint64_t)(int64_t)call->op;
	case NCCL_ROOT:
		return (uint64_t)(int64_t)call->root;
	default:
		return call->history;
	}
}

bool nccl_field_same(const struct nccl_call *a, const struct nccl_call *b, enum nccl_field field)
{
	return field_of(a, field) == field_of(b, field);
}

bool nccl_call_same(const struct nccl_call *a, const struct nccl_call *b)
{
	for (int f = 0; f < NCCL_FIELDS; f++)
		if (!nccl_field_same(a, b, (enum nccl_field)f))
			return false;
	return true;
}

static int sequences_init(struct sequences *s, const struct nccl_comm *comm)
{
	*s = (struct sequences){ .comm = comm, .members = comm->n_members };
	s->base = calloc((size_t)comm->n_members + 1, sizeof(*s->base));
	for (int m = 0; m < s->members && s->base; m++) {
		s->base[m] = comm->members[m]->collectives - comm->members[m]->n_calls;
		s->start = s->base[m] > s->start ? s->base[m] : s->start;
	}
	return s->base ? 0 : -ENOMEM;
}

static int64_t end_of(const struct sequences *s, int member)
{
	return s->base[member] + s->comm->members[member]->n_calls;
}

static const struct nccl_call *call_at(const struct sequences *s, int member, int64_t index)
{
	return index >= s->base[member] && index < end_of(s, member)
		       ? &s->comm->members[member]->calls[index - s->base[member]]
		       : NULL;
}

/* The index in a member's kept calls of the first one behind launch `op` (`of`: of it); -1: none. */
static int find_launch(const struct nccl_member *member, uint64_t op, bool of)
{
	for (int i = 0; i < member->n_calls; i++)
		if (of ? member->calls[i].op_count == op : member->calls[i].op_count > op)
			return i;
	return -1;
}

/* Where logs begin after opCount 0 their heads are missing: calls then count from the first launch
 * that all have whole. 0: all have their heads. False where opCount does not align them. */
static bool align(struct sequences *s, uint64_t *launch)
{
	*launch = 0;
	for (int m = 0; m < s->members; m++) {
		const struct nccl_member *member = s->comm->members[m];
		int i = member->begins ? find_launch(member, member->begins, false) : 0;

		if (i < 0)
			return false;
		if (member->begins && member->calls[i].op_count > *launch)
			*launch = member->calls[i].op_count;
	}
	for (int m = 0; m < s->members && *launch; m++) {
		const struct nccl_member *member = s->comm->members[m];
		int i = member->n_calls ? find_launch(member, *launch, true) : 0;

		if (i < 0)
			return false;
		s->base[m] = -i;
	}
	if (*launch > 0)
		s->start = 0;
	return true;
}

/* What those who made call `index` have in one field of it. */
static void vote_field(const struct sequences *s, int64_t index, enum nccl_field field,
		       struct nccl_vote *vote)
{
	const struct nccl_call *candidate = NULL, *call;
	int lead = 0, voters = 0;

	*vote = (struct nccl_vote){ .votes = 0 };
	for (int m = 0; m < s->members; m++) {
		call = call_at(s, m, index);
		if (!call)
			continue;
		voters++;
		if (lead == 0)
			candidate = call;
		lead += nccl_field_same(candidate, call, field) ? 1 : -1;
	}
	for (int m = 0; m < s->members; m++) {
		call = call_at(s, m, index);
		vote->votes += call && nccl_field_same(candidate, call, field);
	}
	vote->most = 2 * vote->votes > voters ? candidate : NULL;
}

/* True when the call is what most have in each field. */
static bool agrees(const struct nccl_log_calls *calls, const struct nccl_call *call)
{
	for (int f = 0; f < NCCL_FIELDS; f++)
		if (!calls->votes[f].most ||
		    !nccl_field_same(call, calls->votes[f].most, (enum nccl_field)f))
			return false;
	return true;
}

/* True when not all who made call `index` agree in it; or (`before`) in those before it. */
static bool differ_at(const struct sequences *s, int64_t index, bool before)
{
	const struct nccl_call *first = NULL, *call;

	for (int m = 0; m < s->members; m++) {
		call = call_at(s, m, index);
		first = first ? first : call;
		if (call &&
		    (before ? call->history != first->history : !nccl_call_same(first, call)))
			return true;
	}
	return false;
}

static void vote(const struct sequences *s, struct nccl_log_calls *calls, int64_t index)
{
	calls->index = index;
	calls->voters = 0;
	for (int f = 0; f <= NCCL_HISTORY; f++)
		vote_field(s, index, (enum nccl_field)f, &calls->votes[f]);
	for (int f = 0; f < NCCL_FIELDS; f++)
		calls->tie |= !calls->votes[f].most;
	for (int m = 0; m < s->members; m++) {
		const struct nccl_call *call = call_at(s, m, index);

		calls->voters += call != NULL;
		if (call && !calls->majority && agrees(calls, call))
			calls->majority = call;
	}
}

/* True when a's calls from i on are b's from j on, as far as both go, and there are some. */
static bool tails_agree(const struct sequences *s, int a, int64_t i, int b, int64_t j)
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

/* True when a's calls i and i + 1 are b's in the other order. */
static bool swapped(const struct sequences *s, int a, int b, int64_t i)
{
	const struct nccl_call *first = call_at(s, a, i), *second = call_at(s, a, i + 1);
	const struct nccl_call *x = call_at(s, b, i), *y = call_at(s, b, i + 1);

	return second && y && nccl_call_same(first, y) && nccl_call_same(second, x);
}

static enum nccl_odd_how how_odd(const struct sequences *s, const struct nccl_log_calls *calls,
				 int member)
{
	int64_t i = calls->index;
	int reference = -1;

	for (int m = 0; m < s->members && calls->majority && reference < 0; m++)
		if (call_at(s, m, i) == calls->majority)
			reference = m;
	if (reference < 0)
		return NCCL_ODD_OTHER;
	/* Other arguments in one call: the calls after it agree as they stand. */
	if (tails_agree(s, member, i + 1, reference, i + 1))
		return NCCL_ODD_OTHER;
	if (swapped(s, member, reference, i))
		return NCCL_ODD_SWAPPED;
	if (tails_agree(s, member, i, reference, i + 1))
		return NCCL_ODD_LEFT_OUT;
	if (tails_agree(s, member, i + 1, reference, i))
		return NCCL_ODD_EXTRA;
	return NCCL_ODD_OTHER;
}

static void find_odd(const struct sequences *s, struct nccl_log_calls *calls)
{
	const struct nccl_call *history = calls->votes[NCCL_HISTORY].most;
	bool before = calls->verdict == NCCL_CALLS_BEFORE;

	for (int m = 0; m < s->members; m++) {
		const struct nccl_call *call = call_at(s, m, calls->index);
		struct nccl_odd odd = { .member = m, .call = call };

		if (call && (before ? history && nccl_field_same(call, history, NCCL_HISTORY)
				    : agrees(calls, call)))
			continue;
		if (!call && (before || calls->index < s->base[m]))
			continue; /* it is not about this one, or its line is not kept */
		odd.how = before ? NCCL_ODD_OTHER : call ? how_odd(s, calls, m) : NCCL_ODD_ENDED;
		if (!call)
			odd.call = call_at(s, m, end_of(s, m) - 1);
		calls->odd[calls->n_odd++] = odd;
	}
}

static void compare(struct sequences *s, struct nccl_log_calls *calls)
{
	const struct nccl_comm *comm = s->comm;
	int64_t i;

	calls->verdict = NCCL_CALLS_UNKNOWN;
	if ((comm->guessed && comm->nranks > 0 && comm->n_members > comm->nranks) ||
	    !align(s, &calls->launch))
		return;
	for (int m = 0; m < s->members; m++) {
		calls->most = end_of(s, m) > calls->most ? end_of(s, m) : calls->most;
		calls->fewest =
			m == 0 || end_of(s, m) < calls->fewest ? end_of(s, m) : calls->fewest;
	}
	i = s->start;
	if (i > 0 && differ_at(s, i, true)) {
		calls->verdict = NCCL_CALLS_BEFORE;
	} else {
		while (i < calls->most && !differ_at(s, i, false))
			i++;
		if (calls->launch > 0 && i == 0 && i < calls->most)
			return; /* one opCount, and not one call: it does not align them */
		calls->verdict = i < calls->most	       ? NCCL_CALLS_DIFFER
				 : calls->fewest < calls->most ? NCCL_CALLS_FEWER
							       : NCCL_CALLS_SAME;
	}
	if (calls->verdict == NCCL_CALLS_SAME)
		return;
	vote(s, calls, i < calls->most ? i : calls->fewest);
	find_odd(s, calls);
}

int nccl_log_calls_compare(const struct nccl_comm *comm, struct nccl_log_calls *calls)
{
	struct sequences s;
	int64_t total = 0;

	*calls = (struct nccl_log_calls){ .index = -1 };
	for (int m = 0; m < comm->n_members; m++)
		total += comm->members[m]->collectives;
	if (total == 0)
		return 0;
	calls->odd = malloc((size_t)comm->n_members * sizeof(*calls->odd));
	if (!calls->odd || sequences_init(&s, comm) < 0) {
		nccl_log_calls_release(calls);
		return -ENOMEM;
	}
	compare(&s, calls);
	free(s.base);
	return 0;
}

void nccl_log_calls_release(struct nccl_log_calls *calls)
{
	free(calls->odd);
	*calls = (struct nccl_log_calls){ .index = -1 };
}
