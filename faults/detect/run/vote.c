/* vote.c: the sequence that most ranks made: voted on call by call; ties; excluded ranks. */
#include "run/comm_parts.h"

#include "base/call_value.h"

#define ROUNDS 4 /* of voting: each removes ranks that have left the majority */

/* Boyer and Moore's vote for every call number at once, then a count of the ranks that agree: two passes
 * over the tracks. Returns the first number without majority, 0: there is none. */
static uint64_t vote(struct progress_comm *a, const bool *in)
{
	uint64_t *votes = a->work, *total = a->work + a->span, from, to;

	memset(a->reference, 0, a->span * sizeof(*a->reference));
	for (int r = 0; r < 2 * a->nranks; r++) {
		const struct track *t = &a->tracks[r % a->nranks];
		bool count = r >= a->nranks; /* the second pass */

		if (r % a->nranks == 0)
			memset(a->work, 0, 2 * a->span * sizeof(*a->work));
		if (!in[r % a->nranks] || !comm_clip(a, t, &from, &to))
			continue;
		for (uint64_t s = from; s <= to; s++) {
			uint64_t sig = t->sig[s - t->first], k = s - a->base;

			if (sig && !count && votes[k] == 0)
				a->reference[k] = sig;
			if (sig)
				votes[k] += sig == a->reference[k] ? 1 : count ? 0 : -1ull;
			total[k] += sig != 0;
		}
	}
	for (size_t k = a->span; k-- > 0;)
		if (total[k] && votes[k] * 2 <= total[k])
			a->reference[k] = 0;
	for (size_t k = 0; k < a->span; k++)
		if (total[k] && !a->reference[k])
			return a->base + k;
	return 0;
}

/* Returns true if `less` is what `more` is without its call `at`. */
static bool is_without(const struct progress_comm *a, int less, int more, uint64_t at)
{
	uint64_t compared = 0;

	for (uint64_t s = at; s <= a->tracks[less].last && s < a->tracks[more].last; s++) {
		uint64_t x = progress_sig(a, less, s), y = progress_sig(a, more, s + 1);

		if (x && y && x != y)
			return false;
		compared += x && y;
	}
	return compared > 0;
}

bool progress_again(const struct progress_comm *a, int rank, uint64_t at)
{
	const struct record *r = progress_call(a, rank, at), *b = progress_call(a, rank, at - 1);

	return r && b && r->peer == b->peer && comm_alike(a, rank, at, at - 1);
}

/* And it was the first such call. */
static bool is_new_again(const struct progress_comm *a, int rank, uint64_t at)
{
	return progress_again(a, rank, at) && !comm_alike(a, rank, at - 1, at - 2);
}

/* The rank made no other call like `at`, whatever the count. */
static bool is_foreign(const struct progress_comm *a, int rank, uint64_t at)
{
	const struct record *r = progress_call(a, rank, at);
	struct record same;

	for (uint64_t s = a->tracks[rank].first; r && s <= a->tracks[rank].last; s++) {
		const struct record *other = s == at ? NULL : progress_call(a, rank, s);

		if (!other)
			continue;
		same = *other;
		same.count = r->count;
		if (progress_signed(a, &same) == progress_signed(a, r))
			return false;
	}
	return true;
}

bool progress_again_in_pairs(const struct progress_comm *a, int rank, uint64_t at)
{
	for (uint64_t s = at > 2 ? at - 2 : at; s <= at; s += 2) {
		const struct record *r[3];
		bool pairs = true;

		for (uint64_t i = 0; i < 3; i++) {
			r[i] = progress_call(a, rank, s + i);
			pairs = pairs && r[i] && r[i]->kind >= CALL_SEND;
		}
		if (pairs && r[0]->peer == r[2]->peer && comm_alike(a, rank, s, s + 2))
			return true;
		/* compared as one call, any of the exchange may be the one */
		if (pairs && !a->strict && s < at && r[0]->peer == r[1]->peer &&
		    comm_alike(a, rank, s, s + 1))
			return true;
	}
	return false;
}

/* At call `at` two sides differ, those of ranks x and y: the signature that the sequences
 * themselves call right, 0: they do not say. */
static uint64_t right_side(const struct progress_comm *a, int x, int y, uint64_t at)
{
	uint64_t sx = progress_sig(a, x, at), sy = progress_sig(a, y, at),
		 next = comm_next_expected(a, at - 1);
	bool x_short = is_without(a, x, y, at), y_short = is_without(a, y, x, at);
	int more = x_short ? y : x;
	bool again;

	if (next && (next == sx || next == sy))
		return next;
	if (comm_is_step(a, x, at, at - 1, 1) != comm_is_step(a, y, at, at - 1, 1))
		return comm_is_step(a, x, at, at - 1, 1) ? sx : sy;
	if (x_short == y_short && progress_sig(a, x, at + 1) &&
	    progress_sig(a, x, at + 1) == progress_sig(a, y, at + 1))
		return 0; /* neither made one more */
	if (at > 2 && x_short == y_short && is_new_again(a, x, at) != is_new_again(a, y, at))
		return is_new_again(a, x, at) ? sy : sx;
	again = progress_again_in_pairs(a, more, at);
	if (x_short == y_short ||
	    (!again && (progress_swapped(a, x, y, at) || is_foreign(a, more, at))))
		return 0;
	/* The longer side's call is one too many if it repeats the one before it, else the
	 * other one is missing it. */
	again = again || comm_alike(a, more, at, at - 1);
	return again == x_short ? sx : sy;
}

bool progress_speaks_for(const struct progress_comm *a, int rank, uint64_t at)
{
	uint64_t mine = progress_sig(a, rank, at), ref = comm_reference_sig(a, at);

	for (int r = 0; mine && ref && r < a->nranks; r++)
		if (progress_sig(a, r, at) == ref)
			return mine != ref && right_side(a, rank, r, at) == mine;
	return false;
}

/* Keep one side of the tie at `at` in the vote. False when neither is right. */
static bool take_side(struct progress_comm *a, bool *in, uint64_t at)
{
	int x = -1, y = -1;
	uint64_t right = 0;

	for (int r = 0; r < a->nranks; r++) {
		uint64_t sig = in[r] ? progress_sig(a, r, at) : 0;

		if (!sig)
			continue;
		if (x < 0)
			x = r;
		else if (y < 0 && sig != progress_sig(a, x, at))
			y = r;
		else if (y >= 0 && sig != progress_sig(a, x, at) && sig != progress_sig(a, y, at))
			return false; /* more than two opinions */
	}
	if (x >= 0 && y >= 0)
		right = right_side(a, x, y, at);
	for (int r = 0; right && r < a->nranks; r++) {
		uint64_t sig = progress_sig(a, r, at);

		in[r] = in[r] && (!sig || sig == right);
	}
	return right != 0;
}

/* Ranks that have left the majority before `tie` (0: anywhere) do not vote on later calls. */
static bool exclude(const struct progress_comm *a, bool *in, uint64_t tie)
{
	bool any = false;

	for (int r = 0; r < a->nranks; r++) {
		uint64_t at = in[r] ? comm_first_difference(a, r) : 0;

		if (at && (!tie || at < tie)) {
			in[r] = false;
			any = true;
		}
	}
	return any;
}

void comm_vote(struct progress_comm *a)
{
	bool *in = must(malloc((size_t)a->nranks + 1));

	memset(in, 1, (size_t)a->nranks + 1);
	for (int round = 0; round < ROUNDS; round++) {
		uint64_t tie = vote(a, in);

		if (exclude(a, in, tie))
			continue;
		if (!tie)
			break;
		if (!a->tie)
			a->tie = tie;
		if (!take_side(a, in, tie))
			break;
		a->tie_side = a->tie == tie || a->tie_side;
	}
	free(in);
}
