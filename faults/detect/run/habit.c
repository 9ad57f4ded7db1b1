/* habit.c: a rank's own calls: what has always followed the same calls before, and where that rank left it. Ranks with plans
 * of their own have nothing else to be compared with. */
#include "run/progress.h"

#include "base/call_value.h"

#define NEWEST	  1024 /* calls of a rank that are looked at */
#define LEAST	  2    /* times that a call followed the same calls before */
#define HITS	  6 /* calls that came as they always did, before one that did not says anything */
#define STEADY	  4 /* so many calls came as they always did for each one that did not */
#define SHIFT_MAX 8 /* calls skipped or added in one place */

struct own {
	const struct progress *progress;
	int rank;
	const struct record *calls;
	size_t n;
	uint64_t *signs; /* equal for calls that are alike */
	uint16_t *alike; /* by call: how many up to it are those up to the call at hand */
	size_t hits, misses;
	const struct record *asked;
	bool asked_usual;
};

static uint64_t mix(uint64_t hash, uint64_t word)
{
	hash = (hash ^ word) * 0x9e3779b97f4a7c15ull;
	return hash ^ hash >> 29;
}

static uint64_t sign_of(const struct progress_rank *r, const struct record *c, bool amounts)
{
	uint64_t site = c->site < r->nsites ? r->sites[c->site].hash : 0;
	uint64_t hash = mix(mix(mix(site, c->comm), c->kind), (uint64_t)c->peer);

	return amounts ? mix(mix(mix(hash, c->count), c->dtype), (uint64_t)c->op) : hash;
}

/* Calls of a rank on one communicator: its collectives, or its sends or receives with a partner. */
struct like {
	uint32_t comm;
	int kind, peer;
};

static bool is_like(const struct record *c, const struct like *like)
{
	return c->comm == like->comm &&
	       (call_is_pair(like->kind) ? c->kind == like->kind && c->peer == like->peer
					 : !call_is_pair(c->kind));
}

static struct like like_call(const struct record *call)
{
	return (struct like){ call->comm, call->kind, call->peer };
}

/* The calls of a partner at this place that meet such ones. */
static struct like met_by(const struct record *call, int place)
{
	int kind = call->kind == CALL_SEND ? CALL_RECV : CALL_SEND;

	return (struct like){ call->comm, call_is_pair(call->kind) ? kind : call->kind, place };
}

/* How many such calls the rank made between its collective `after` on the communicator and the next one. */
static size_t count_between(const struct progress *p, int rank, const struct like *like,
			    uint64_t after)
{
	const struct progress_rank *r = &p->ranks[rank];
	const struct rank_comm *part = progress_part(p, rank, like->comm);
	uint64_t now = part ? part->made : 0;
	size_t n = 0;

	for (size_t i = r->ncalls; i-- > 0 && now >= after;) {
		const struct record *c = &r->calls[i];

		n += now == after && is_like(c, like);
		now -= c->comm == like->comm && !call_is_pair(c->kind);
	}
	return n;
}

/* The number of the rank's collectives on the call's communicator that came before it. */
static uint64_t collectives_before(const struct progress *p, int rank, const struct record *call)
{
	const struct progress_rank *r = &p->ranks[rank];
	const struct rank_comm *part = progress_part(p, rank, call->comm);
	uint64_t n = part ? part->made : 0;

	for (const struct record *c = r->calls + r->ncalls; c-- > call;)
		n -= c->comm == call->comm && !call_is_pair(c->kind);
	return n;
}

/* Returns 1 if the rank made more calls like this one, where call `at` is, than a rank that has a part in them, -1: fewer, 0:
 * neither. Collectives part sends and receives: these meet between two of them. */
static int balance(const struct own *o, const struct record *call, const struct record *at)
{
	const struct progress *p = o->progress;
	const struct progress_rank *own = &p->ranks[o->rank];
	const struct rank_comm *part = progress_part(p, o->rank, call->comm);
	const struct like mine = like_call(call), met = met_by(call, part ? part->place : 0);
	bool pair = call_is_pair(call->kind);
	uint64_t after =
		collectives_before(p, o->rank,
				   at->comm == call->comm ? at : own->calls + own->ncalls - 1);
	size_t made = pair ? count_between(p, o->rank, &mine, after) : part->made;
	int more = 0;

	for (int i = 0; part && i < part->members->nranks; i++) {
		int rank = members_rank(part->members, i);
		const struct rank_comm *other =
			progress_known(p, rank) ? progress_part(p, rank, call->comm) : NULL;
		size_t theirs;

		if (!other || rank == o->rank || (pair && i != call->peer))
			continue;
		theirs = pair ? count_between(p, rank, &met, after) : other->made;
		more = made > theirs ? 1 : made < theirs && more == 0 ? -1 : more;
	}
	return more;
}

/* The nth of such calls (from 0), NULL: there are not so many. */
static const struct record *nth_like(const struct progress_rank *r, const struct like *like,
				     size_t nth)
{
	for (const struct record *c = r->calls; c < r->calls + r->ncalls; c++)
		if (is_like(c, like) && nth-- == 0)
			return c;
	return NULL;
}

/* Returns true if what met this call is of another amount, type or kind. */
static bool is_unequal(const struct own *o, const struct record *call)
{
	const struct progress *p = o->progress;
	const struct rank_comm *part = progress_part(p, o->rank, call->comm);
	const struct like mine = like_call(call), like = met_by(call, part ? part->place : 0);
	bool pair = call_is_pair(call->kind);
	size_t nth = 0;

	for (const struct record *c = p->ranks[o->rank].calls; c < call; c++)
		nth += is_like(c, &mine);
	for (int i = 0; part && i < part->members->nranks; i++) {
		int rank = members_rank(part->members, i);
		const struct record *met;

		if (!progress_known(p, rank) || rank == o->rank || (pair && i != call->peer))
			continue;
		met = nth_like(&p->ranks[rank], &like, nth);
		if (met && (met->count != call->count || met->dtype != call->dtype ||
			    (!pair && met->kind != call->kind)))
			return true;
	}
	return false;
}

/* Returns true if the calls from `a` on are those from `b` on, as far as `a` is known: so many at least. */
static bool goes_on(const struct own *o, size_t a, size_t b, size_t least)
{
	size_t n = 0;

	while (a + n < o->n && b + n < o->n && o->signs[a + n] == o->signs[b + n])
		n++;
	return n >= least && (a + n == o->n || n >= SHIFT_MAX);
}

/* Returns true if what others did bears it out. */
static bool is_borne_out(const struct own *o, const struct habit_break *b)
{
	int made = balance(o, b->made, b->made);

	switch (b->kind) {
	case HABIT_SKIPPED:
		return balance(o, b->usual, b->made) < 0;
	case HABIT_EXTRA:
		return is_unequal(o, b->made) || (made > 0 && call_is_pair(b->made->kind));
	case HABIT_FIELD:
		return b->made->peer != b->usual->peer ? made > 0 : is_unequal(o, b->made);
	default:
		return call_is_pair(b->made->kind) ? made > 0 && balance(o, b->usual, b->made) < 0
						   : is_unequal(o, b->made);
	}
}

static struct habit_break try_kind(const struct own *o, struct habit_break *b, int kind,
				   size_t shift)
{
	b->kind = kind;
	b->shift = shift;
	if (!is_borne_out(o, b))
		b->kind = HABIT_KEPT;
	return *b;
}

/* How call `at` differs from call `usual`, which was expected; HABIT_KEPT: in no way that what others did bears out. */
static struct habit_break classify(const struct own *o, size_t at, size_t usual)
{
	struct habit_break b = { .made = &o->calls[at], .usual = &o->calls[usual] };
	bool same = b.made->kind == b.usual->kind && b.made->comm == b.usual->comm, open = true;

	if (same && (is_unequal(o, b.made) || goes_on(o, at + 1, usual + 1, 1)))
		return try_kind(o, &b, HABIT_FIELD, 0);
	for (size_t n = 1; n <= SHIFT_MAX; n++) {
		if (at + n < o->n && goes_on(o, at + n, usual, 1)) {
			open = false;
			if (try_kind(o, &b, HABIT_EXTRA, n).kind != HABIT_KEPT)
				return b;
		}
		if (usual + n < at && goes_on(o, at, usual + n, 1)) {
			open = false;
			if (try_kind(o, &b, HABIT_SKIPPED, n).kind != HABIT_KEPT)
				return b;
		}
	}
	return open ? try_kind(o, &b, same ? HABIT_FIELD : HABIT_OTHER, 0) : b;
}

/* The call before that went on from the same calls as `at`, far back; *times: how often. `at` itself: none did. */
static size_t usual_before(const struct own *o, size_t at, size_t *times)
{
	size_t most = 0, other = 0, usual = at;

	for (size_t j = 1; j < at; j++)
		if (o->alike[j - 1] >= most && o->alike[j - 1] > 0) {
			most = o->alike[j - 1];
			usual = j;
		}
	for (size_t j = 1; j < at; j++)
		if (o->signs[j] != o->signs[usual] && o->alike[j - 1] > other)
			other = o->alike[j - 1];
	*times = 0;
	for (size_t j = 1; j < at; j++)
		*times += o->signs[j] == o->signs[usual] && o->alike[j - 1] > other;
	return usual;
}

static void step(struct own *o, size_t at)
{
	for (size_t j = at; j-- > 0;)
		o->alike[j] = o->signs[j] != o->signs[at] ? 0
			      : j == 0			  ? 1
							  : (uint16_t)(o->alike[j - 1] + 1);
}

static struct habit_break look(struct own *o)
{
	struct habit_break none = { .kind = HABIT_KEPT }, b;

	for (size_t at = 1; at < o->n; at++) {
		size_t times, usual;

		step(o, at - 1);
		usual = usual_before(o, at, &times);
		if (times == 0)
			continue;
		if (times < LEAST || o->signs[usual] == o->signs[at]) {
			o->hits += o->signs[usual] == o->signs[at];
			o->asked_usual |= &o->calls[at] == o->asked && times >= LEAST &&
					  o->signs[usual] == o->signs[at] &&
					  o->signs[at - 1] != o->signs[at];
			o->misses += o->signs[usual] != o->signs[at];
			continue;
		}
		b = classify(o, at, usual);
		b.times = times;
		if (o->hits >= HITS && o->misses * 4 <= o->hits && b.kind != HABIT_KEPT)
			return b;
		o->misses++;
	}
	return none;
}

/* Returns true if the rank has made the call and not started it: it is no cause of what the rank waits in. */
static bool is_queued(const struct progress *p, int rank, const struct record *call)
{
	const struct rank_calls *calls = &p->pending[rank];

	for (size_t i = calls->first; call && i < calls->n; i++)
		if (calls->calls[i].call == call)
			return calls->calls[i].state == CALL_QUEUED;
	return false;
}

struct habit_break progress_habit(const struct progress *p, int rank, const struct record *asked)
{
	const struct progress_rank *r = &p->ranks[rank];
	struct habit_break b = { .kind = HABIT_KEPT };
	struct own o = { .progress = p, .rank = rank, .asked = asked };

	if (!progress_known(p, rank))
		return b;
	o.n = r->ncalls < NEWEST ? r->ncalls : NEWEST;
	o.calls = r->calls + (r->ncalls - o.n);
	o.signs = must(calloc(o.n + 1, sizeof(*o.signs)));
	o.alike = must(calloc(o.n + 1, sizeof(*o.alike)));
	for (int amounts = 1; amounts >= 0 && b.kind == HABIT_KEPT; amounts--) {
		for (size_t i = 0; i < o.n; i++)
			o.signs[i] = sign_of(r, &o.calls[i], amounts);
		memset(o.alike, 0, o.n * sizeof(*o.alike));
		o.hits = o.misses = 0;
		b = look(&o);
	}
	if (is_queued(p, rank, b.made))
		b = (struct habit_break){ .kind = HABIT_KEPT };
	b.asked_usual = o.asked_usual;
	b.steady = o.misses * STEADY <= o.hits;
	free(o.signs);
	free(o.alike);
	return b;
}

/* How many calls up to `a` are like those up to `b`, which is later. */
static size_t alike_up_to(const struct record *calls, size_t a, size_t b)
{
	size_t n = 0;

	while (n <= a) {
		const struct like like = like_call(&calls[b - n]);

		if (!is_like(&calls[a - n], &like) || calls[a - n].kind != calls[b - n].kind)
			break;
		n++;
	}
	return n;
}

bool progress_expects(const struct progress *p, int rank, const struct record *call)
{
	const struct progress_rank *r = &p->ranks[rank];
	size_t n = r->ncalls < NEWEST ? r->ncalls : NEWEST, most = 0, next = 0;
	const struct record *calls = r->calls + (r->ncalls - n);
	const struct like like = like_call(call);

	for (size_t i = 0; i + 1 < n; i++) {
		size_t alike = alike_up_to(calls, i, n - 1);

		if (alike > 0 && alike >= most) {
			most = alike;
			next = i + 1;
		}
	}
	return most > 0 && is_like(&calls[next], &like) && !is_like(&calls[n - 1], &like);
}
