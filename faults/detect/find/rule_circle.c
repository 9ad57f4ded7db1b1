/* rule_circle.c: the rule about ranks that wait for each other in a circle: over communicators in
 * which they make calls in other orders, and in sends or receives that none of them groups. */

#include "base/call_value.h"
#include "finding/rule.h"

#define CIRCLE_MAX 64
#define PERIOD_MAX 64

/* Ranks in a circle. Each made the call that it is in before the one that the rank before it waits for. */
struct circle {
	const struct pending_call *calls[CIRCLE_MAX];
	size_t n;
};

static const struct pending_call *owed_by(const struct circle *c, size_t i)
{
	return c->calls[(i + c->n - 1) % c->n];
}

/* The first culprit in the circle; where none is one, the last rank. */
static size_t first_culprit(const struct finding *f, const struct circle *c)
{
	size_t i = 0;

	while (i + 1 < c->n && !f->culprits.in[c->calls[i]->rank])
		i++;
	return i;
}

/* "Rank 0 waits in AllReduce call 8 of communicator 1 for rank 2, which waits in ... for rank 0." */
static void note_circle(const struct rule_ctx *ctx, struct finding *f, const struct circle *c)
{
	char line[256], hop[96];

	snprintf(line, sizeof(line), "Rank %d", rank_number(ctx->run, c->calls[0]->rank));
	for (size_t i = 0; i < c->n; i++) {
		const struct record *call = c->calls[i]->call;
		int next = c->calls[(i + 1) % c->n]->rank;

		snprintf(hop, sizeof(hop),
			 "%s waits in %s call %lu of communicator %u for rank %d%s",
			 i ? " which" : "", call_kind_name((enum call_kind)call->kind), call->seq,
			 call->comm, rank_number(ctx->run, next), i + 1 == c->n ? "." : ",");
		if (strlen(line) + strlen(hop) >= sizeof(line)) {
			note(f, "%s", line);
			line[0] = '\0';
		}
		strcat(line, line[0] ? hop : hop + 1);
	}
	note(f, "%s", line);
}

/* Returns true if it is any program with sends and receives: ranks come to other calls than before by right (rule_habit looks closer). */
static bool is_any_program(const struct rule_ctx *ctx)
{
	const struct record_header *h = ctx->run->ranks[0].recorder;

	return ctx->in_pairs && h && h->preloaded;
}

/* Marks the ranks with another order of two calls in the circle than most. */
static void mark_minority(const struct rule_ctx *ctx, const struct circle *c, bool alike,
			  struct rank_set *culprits)
{
	for (size_t i = 0; i < c->n; i++) {
		const struct pending_call *in = c->calls[i], *owed = owed_by(c, i);
		int with = 0, against = 0;

		if (call_in_pairs(in->call) || call_in_pairs(owed->call) ||
		    in->members == owed->members)
			continue;
		for (int v = 0; v < ctx->run->nranks; v++) {
			int order = progress_order(ctx->played, v, in, owed, in->rank, alike);

			with += order > 0;
			against += order < 0;
		}
		for (int v = 0; v < ctx->run->nranks && with < against; v++)
			if (progress_order(ctx->played, v, in, owed, in->rank, alike) > 0)
				rank_set_add(culprits, v);
	}
}

static bool same_turn(const struct record *a, const struct record *b, bool kinds)
{
	return a->comm == b->comm && (!kinds || a->kind == b->kind);
}

/* Returns 1 if the rank's communicators (and `kinds` of calls) have followed each other in a period, up
 * to the call that it is in; -1: up to the one before that; 0: in none. */
static int keeps_period(const struct rule_ctx *ctx, const struct pending_call *in, bool kinds)
{
	const struct record *calls = ctx->run->ranks[in->rank].calls;
	size_t at = (size_t)(in->call - calls);

	for (size_t p = 1; p <= PERIOD_MAX && at >= 2 * p; p++) {
		size_t need = p < 3 ? 3 : p, i = 1;

		while (i <= need && at >= i + p &&
		       same_turn(&calls[at - i], &calls[at - i - p], kinds))
			i++;
		if (i > need)
			return same_turn(&calls[at], &calls[at - p], kinds) ? 1 : -1;
	}
	return 0;
}

/* Marks the ranks in the same call as this one, out of their own order. Where these are several in a collective, and half of the
 * members, their order has another part from there on, and none is marked. */
static void mark_alike(const struct rule_ctx *ctx, const struct pending_call *one, bool kinds,
		       struct rank_set *culprits)
{
	bool *alike = must(calloc((size_t)ctx->run->nranks + 1, sizeof(*alike)));
	bool few;
	int n = 0;

	for (int v = 0; v < ctx->run->nranks; v++) {
		const struct pending_call *in = progress_at(ctx->played, v);

		alike[v] = in && in->members == one->members && in->nth == one->nth &&
			   keeps_period(ctx, in, kinds) < 0;
		n += alike[v];
	}
	few = n <= 2 || 2 * n < one->members->nranks || call_in_pairs(one->call);
	for (int v = 0; v < ctx->run->nranks; v++)
		if (few && alike[v])
			rank_set_add(culprits, v);
	free(alike);
}

/* Marks the ranks that have left their own order, where others in the circle have kept theirs. */
static void mark_changed(const struct rule_ctx *ctx, const struct circle *c, bool kinds,
			 struct rank_set *culprits)
{
	size_t changed = 0;

	for (size_t i = 0; i < c->n; i++) {
		int keeps = keeps_period(ctx, c->calls[i], kinds);

		if (keeps == 0)
			return;
		changed += keeps < 0;
	}
	for (size_t i = 0; i < c->n && changed < c->n; i++)
		if (keeps_period(ctx, c->calls[i], kinds) < 0)
			mark_alike(ctx, c->calls[i], kinds, culprits);
}

/* Writes which call came first; of one communicator each rank has numbers of its own, and the kinds tell. */
static void write_first(char *text, size_t len, const struct record *call, bool kind)
{
	snprintf(text, len, "%s%scall %lu of communicator %u first",
		 kind ? call_kind_name((enum call_kind)call->kind) : "", kind ? " " : "", call->seq,
		 call->comm);
}

/* Between the call that culprit `i` (none: the first rank) owes, and the one that it made before. */
static void place_order(struct finding *f, const struct circle *c)
{
	const struct record *owed, *made;
	char theirs[96], right[96];
	size_t i = f->culprits.n ? first_culprit(f, c) : 0;
	bool one;

	owed = owed_by(c, i)->call;
	made = c->calls[i]->call;
	one = owed->comm == made->comm;
	finding_place(f, owed->comm, owed->seq, owed->seq, (int64_t)owed->seq);
	write_first(theirs, sizeof(theirs), made, one);
	write_first(right, sizeof(right), owed, one);
	finding_differ(f, "order", theirs, right);
}

/* Returns true if the rank has made the same call just before, and another one before: one too many? */
static bool is_again(const struct rule_ctx *ctx, const struct pending_call *in)
{
	const struct record *calls = ctx->run->ranks[in->rank].calls, *r = in->call;
	uint64_t sig = call_signature_strict(r);

	return r > calls + 1 && r[-1].comm == r->comm && r[-1].peer == r->peer &&
	       call_signature_strict(r - 1) == sig &&
	       (r[-2].comm != r->comm || call_signature_strict(r - 2) != sig);
}

/* Returns true if the rank has made the call that it owes behind the one that it is in, and no more calls there than another
 * member: none is too many. */
static bool made_both(const struct rule_ctx *ctx, const struct circle *c, size_t i)
{
	const struct pending_call *in = c->calls[i], *owed = owed_by(c, i);
	const struct rank_comm *part = progress_part(ctx->played, in->rank, in->call->comm), *other;

	if (call_in_pairs(owed->call) || call_in_pairs(in->call) ||
	    !progress_collective(ctx->played, in->rank, owed->call->comm, owed->nth))
		return false;
	for (int k = 0; k < in->members->nranks; k++) {
		int rank = members_rank(in->members, k);

		other = rank != in->rank && progress_known(ctx->played, rank)
				? progress_part(ctx->played, rank, in->call->comm)
				: NULL;
		if (other && other->made >= part->made)
			return true;
	}
	return false;
}

static void name_again(const struct rule_ctx *ctx, struct finding *f, const struct pending_call *in,
		       enum answer_class class)
{
	f->answer.class = class;
	finding_place(f, in->call->comm, in->call->seq - 1, in->call->seq, (int64_t)in->call->seq);
	snprintf(f->answer.field, sizeof(f->answer.field), "call");
	note(f, "Rank %d made this call twice, one after the other: one of them is too many.",
	     rank_number(ctx->run, in->rank));
}

static bool is_of_one(const struct circle *c)
{
	size_t i = 1;

	while (i < c->n && c->calls[i]->members == c->calls[0]->members)
		i++;
	return i == c->n;
}

/* Names the pair of the first send or receive in the circle whose other half is not made, else of the first. */
static void name_first_pair(const struct rule_ctx *ctx, struct finding *f, const struct circle *c)
{
	const struct pending_call *first = NULL;

	for (size_t i = 0; i < c->n; i++)
		if (call_in_pairs(c->calls[i]->call) &&
		    (!first || (first->theirs && !c->calls[i]->theirs)))
			first = c->calls[i];
	if (first)
		name_pair(ctx, f, first->rank, first->call->kind, first->partner);
}

/* Returns true if each is inside a call of the same kind, and no group holds them. */
static bool none_grouped(const struct circle *c)
{
	for (size_t i = 0; i < c->n; i++)
		if ((c->calls[i]->call->state != RECORD_ISSUING &&
		     !(c->calls[i]->call->flags & RECORD_ALONE)) ||
		    c->calls[i]->call->kind != c->calls[0]->call->kind)
			return false;
	return c->n > 0;
}

/* Without its call the rank's calls are the other halves of the other's: it may be too many. */
static bool is_too_many(const struct rule_ctx *ctx, const struct pending_call *in,
			const struct pending_call *other)
{
	const struct evidence_rank *ranks = ctx->run->ranks;
	const struct record *own = in->call + 1, *theirs = other->call;
	const struct record *end = ranks[in->rank].calls + ranks[in->rank].ncalls;
	size_t n = (size_t)(end - own);

	if (n < 2 || theirs + n != ranks[other->rank].calls + ranks[other->rank].ncalls)
		return false;
	for (; own < end; own++, theirs++)
		if (!call_in_pairs(own) || !call_in_pairs(theirs) || own->comm != theirs->comm ||
		    own->kind == theirs->kind || own->count != theirs->count)
			return false;
	return true;
}

/* Finds a call too many: one of two ranks that wait for each other made the calls that the other expects, behind one more. */
static void find_too_many(const struct rule_ctx *ctx, struct finding *f, const struct circle *c)
{
	size_t i;

	if (c->n != 2)
		return;
	i = is_too_many(ctx, c->calls[1], c->calls[0]);
	if (!is_too_many(ctx, c->calls[i], c->calls[1 - i]))
		return;
	rank_set_clear(&f->culprits);
	rank_set_add(&f->culprits, c->calls[i]->rank);
	f->answer.class = CLASS_UNMATCHED;
	snprintf(f->answer.field, sizeof(f->answer.field), "call");
	note(f, "Without this call rank %d's are those that rank %d's expect.",
	     rank_number(ctx->run, c->calls[i]->rank),
	     rank_number(ctx->run, c->calls[1 - i]->rank));
}

/* Some make calls of several communicators in another order. */
static void report_order(const struct rule_ctx *ctx, struct finding *f, const struct circle *c,
			 const char *why)
{
	place_order(f, c);
	if (!why)
		name_first_pair(ctx, f, c);
	f->answer.class = CLASS_CYCLE;
	for (size_t i = 0; i < c->n && f->answer.class == CLASS_CYCLE; i++)
		if (f->culprits.in[c->calls[i]->rank] && is_again(ctx, c->calls[i]) &&
		    !made_both(ctx, c, i))
			name_again(ctx, f, c->calls[i], CLASS_EXTRA);
	if (f->answer.class == CLASS_CYCLE && !why)
		note(f, "As many ranks make the one call first as the other: either order may be "
			"the wrong one.");
	else if (f->answer.class == CLASS_CYCLE)
		note(f, "By %s %s should have made %s, and made %s.", why,
		     ranks_words(ctx->run, f->culprits.in, 80), f->answer.majority,
		     f->answer.theirs);
}

/* All send, or receive, first, in no group. Where nothing tells the culprits each may be the one. */
static void report_first(const struct rule_ctx *ctx, struct finding *f, const struct circle *c,
			 const char *why)
{
	const struct pending_call *in;

	if (why)
		note(f, "By %s the %s of %s should have come first.", why,
		     call_kind_name(c->calls[0]->call->kind == CALL_SEND ? CALL_RECV : CALL_SEND),
		     ranks_words(ctx->run, f->culprits.in, 80));
	for (size_t i = 0; i < c->n && !why; i++)
		rank_set_add(&f->culprits, c->calls[i]->rank);
	in = c->calls[first_culprit(f, c)];
	finding_place(f, in->call->comm, in->call->seq, in->call->seq, (int64_t)in->call->seq);
	snprintf(f->answer.field, sizeof(f->answer.field), "order");
	name_pair(ctx, f, in->rank, in->call->kind, in->partner);
	f->answer.class = CLASS_PAIR_DEADLOCK;
	if (is_any_program(ctx))
		rank_set_clear(&f->culprits); /* each waits, and any of them may go first */
	else if (why && is_again(ctx, in))
		name_again(ctx, f, in, CLASS_UNMATCHED);
	else if (!why)
		find_too_many(ctx, f, c);
}

bool rule_circle(const struct rule_ctx *ctx, struct finding *f)
{
	static const char *const whys[] = { "the order of most", "the order so far",
					    "the order of most", NULL };
	struct circle c;
	bool pairs;
	int by = -1;

	if (!ctx->played)
		return false;
	c.n = progress_circle(ctx->played, true, c.calls, CIRCLE_MAX);
	pairs = none_grouped(&c);
	if (!pairs)
		c.n = progress_circle(ctx->played, false, c.calls, CIRCLE_MAX);
	if (c.n == 0)
		return false;
	/* numbers of communicators (2) say less than what a rank did before (1) */
	while (f->culprits.n == 0 && ++by < 3)
		if (by == 1)
			mark_changed(ctx, &c, pairs || is_of_one(&c), &f->culprits);
		else
			mark_minority(ctx, &c, by == 2, &f->culprits);
	f->reasons |= reason_if(!whys[by], REASON_NO_MAJORITY) |
		      reason_if(by > 0 && is_any_program(ctx), REASON_OWN_PLANS);
	note_circle(ctx, f, &c);
	(pairs ? report_first : report_order)(ctx, f, &c, whys[by]);
	f->answer.confidence = CONFIDENCE_MAJORITY;
	return true;
}
