/* sites.c: the lines of code that calls came from, side by side: a call left out, or one too many, pairs silently where its
 * neighbour is alike, and shows in the lines alone. Programs branch by role by right: lines that met and went on in step are
 * partners from there on. */
#include "compare/sites.h"

#define SHIFT_MAX  8  /* calls skipped or added in one place */
#define PURE_MIN   8  /* calls in which a line met only itself before others */
#define LONG_RUN   64 /* calls moved by as much: what comes later may have a cause of its own */
#define PARTNERS   64
#define PERIOD_MAX 64

struct lines {
	const struct progress_comm *a;
	uint32_t *ids;	/* by rank and call: of the line, 0: not known */
	uint32_t *most; /* by call: of most ranks */
	bool *clean;	/* by call: of all */
	size_t period;	/* that the lines of most have up to there; 0: none */
	size_t known; /* calls that most ranks have made; what most would make behind them is foretold */
	uint32_t partners[PARTNERS][2];
	size_t npartners;
};

/* How far a rank's lines from one call on are most ranks', moved. */
struct run {
	uint64_t alike, telling; /* calls; of these, such as are not alike unmoved */
	bool whole;		 /* to the end of what is known */
	bool foretold;		 /* against what most ranks have not made yet */
};

static uint32_t id_of(const struct lines *l, int rank, size_t k)
{
	return k < l->a->span ? l->ids[(size_t)rank * l->a->span + k] : 0;
}

static uint32_t most_of(const struct lines *l, size_t k)
{
	return k < l->a->span ? l->most[k] : 0;
}

static bool is_partner(const struct lines *l, uint32_t x)
{
	for (size_t i = 0; i < l->npartners; i++)
		if (l->partners[i][0] == x || l->partners[i][1] == x)
			return true;
	return false;
}

/* A line that is not known is like any. */
static bool lines_alike(const struct lines *l, uint32_t x, uint32_t y)
{
	bool alike = x == y || !x || !y;

	for (size_t i = 0; i < l->npartners && !alike; i++)
		alike = l->partners[i][0] == x && l->partners[i][1] == y;
	return alike;
}

/* 0 stands for 0 alone. */
static uint32_t hash_id(uint64_t hash)
{
	uint32_t id = (uint32_t)(hash ^ hash >> 32);

	return id ? id : hash != 0;
}

static uint32_t line_id(const struct progress_rank *rank, const struct record *r)
{
	return r->site > 0 && r->site < rank->nsites ? hash_id(rank->sites[r->site].hash) : 0;
}

static void take_rank(struct lines *l, int rank)
{
	const struct progress_rank *p = &l->a->ranks[rank];
	const struct track *t = &l->a->tracks[rank];
	uint64_t n = t->first;

	for (size_t i = 0; i < p->ncalls; i++) {
		const struct record *r = &p->calls[i];
		bool counts = r->comm == l->a->comm && !(t->own && call_is_pair(r->kind));
		uint64_t seq = t->own ? n : r->seq;

		n += counts;
		if (counts && seq >= l->a->base && seq - l->a->base < l->a->span)
			l->ids[(size_t)rank * l->a->span + (seq - l->a->base)] = line_id(p, r);
	}
}

/* Where there are two ranks the first one's line stands for most. */
static void vote_on(struct lines *l, size_t k)
{
	uint64_t votes = 0, total = 0, count = 0;
	uint32_t most = 0;

	for (int i = 0; i < 2 * l->a->nranks; i++) {
		uint32_t id = id_of(l, i % l->a->nranks, k);

		if (!id)
			continue;
		if (i >= l->a->nranks) {
			count += id == most;
			total++;
		} else if (votes == 0) {
			most = id;
			votes = 1;
		} else {
			votes += id == most ? 1 : -1ull;
		}
	}
	if (l->a->nranks == 2 && id_of(l, 0, k))
		most = id_of(l, 0, k);
	l->most[k] = (2 * count > total && total > 1) || l->a->nranks == 2 ? most : 0;
	l->clean[k] = count == total;
}

/* Where few ranks have gone on behind all others: what these would make, by the period that their lines have had. */
static bool foretell(struct lines *l)
{
	size_t n = 0;

	l->known = l->a->span;
	for (; l->known > 0 && 2 * n <= (size_t)l->a->nranks;
	     l->known -= 2 * n <= (size_t)l->a->nranks) {
		n = 0;
		for (int i = 0; i < l->a->nranks; i++)
			n += id_of(l, i, l->known - 1) > 0;
	}
	for (size_t p = 1; p <= PERIOD_MAX && l->a->nranks > 2 && 3 * p + PURE_MIN <= l->known;
	     p++) {
		size_t k = l->known;

		while (k > l->known - 2 * p - PURE_MIN && l->most[k - 1] &&
		       l->most[k - 1] == l->most[k - 1 - p])
			k--;
		if (k > l->known - 2 * p - PURE_MIN)
			continue;
		l->period = p;
		for (k = l->known; k < l->a->span; k++)
			l->most[k] = l->most[k - p];
		return l->known < l->a->span;
	}
	return false;
}

/* The rank's calls `at` and on against most ranks' calls, `shift` further on (left out) or back (too many). */
static struct run run_of(const struct lines *l, int rank, size_t at, int64_t shift)
{
	struct run run = { .whole = true };

	for (size_t k = at; k < l->a->span && run.alike < LONG_RUN; k++) {
		uint32_t own = id_of(l, rank, k), other = most_of(l, k + (size_t)shift);

		if (!lines_alike(l, own, other)) {
			run.whole = false;
			break;
		}
		run.alike += own && other;
		run.foretold |= l->known < l->a->span && k + (size_t)shift >= l->known;
		run.telling += own && other && !lines_alike(l, own, most_of(l, k));
	}
	return run;
}

/* Calls before `k` in which all ranks made the line. */
static uint64_t pure_before(const struct lines *l, uint32_t line, size_t k)
{
	uint64_t n = 0;

	while (k-- > 0)
		n += l->clean[k] && l->most[k] == line;
	return n;
}

static bool was_made(const struct lines *l, uint32_t line, size_t before)
{
	for (size_t k = 0; k < before; k++)
		for (int i = 0; i < l->a->nranks; i++)
			if (id_of(l, i, k) == line)
				return true;
	return false;
}

static size_t count_others(const struct lines *l, size_t k)
{
	size_t n = 0;

	for (int i = 0; i < l->a->nranks; i++)
		n += !lines_alike(l, id_of(l, i, k), l->most[k]);
	return n;
}

/* Returns true if the others have ended well, and the rank made `n` calls more than they. */
static bool is_ahead_of_ended(const struct lines *l, int rank, uint64_t n)
{
	for (int i = 0; i < l->a->nranks; i++) {
		const struct rank_view *v = l->a->ranks[i].view;

		if (i != rank && (v->process != PROCESS_EXITED || v->status != 0 ||
				  l->a->tracks[i].last + n != l->a->tracks[rank].last))
			return false;
	}
	return true;
}

/* Calls that this move explains, and unmoved are not explained; 0: it does not go to the end of what is known. */
static uint64_t explains(const struct lines *l, int rank, size_t k, int64_t shift)
{
	struct run run = run_of(l, rank, shift < 0 ? k + (size_t)-shift : k, shift);

	if (run.foretold && run.alike < PURE_MIN)
		return 0;
	return run.whole || run.alike >= LONG_RUN ? run.telling : 0;
}

/* Returns true if calls left out would do as well as those too many, though only what most would make next tells so. */
static bool may_be_skip(const struct lines *l, int rank, size_t k, int64_t shift)
{
	bool foretold = false;

	for (; k < l->a->span && id_of(l, rank, k); k++) {
		size_t at = k + (size_t)shift;

		if (at >= l->a->span)
			at = l->period ? at - l->period * ((at - l->a->span) / l->period + 1) : 0;
		foretold |= k + (size_t)shift >= l->known;
		if (!at || id_of(l, rank, k) != l->most[at])
			return false;
	}
	return foretold;
}

/* Calls left out or too many, whatever explains most. Where both do, the number of calls decides. */
static struct site_break find_move(const struct lines *l, int rank, size_t k)
{
	struct site_break best = { .kind = DEVIATION_NONE };
	bool is_new = !was_made(l, id_of(l, rank, k), k);

	for (int64_t n = 1; n <= SHIFT_MAX; n++) {
		uint64_t extra = explains(l, rank, k, -n), skip = explains(l, rank, k, n);
		bool ahead = is_ahead_of_ended(l, rank, (uint64_t)n), open;

		if (extra > 0 && (is_new || ahead))
			skip = 0;
		else if (l->a->tracks[rank].last < l->a->top && skip > 0)
			extra = 0;
		if (skip <= best.agreed && extra <= best.agreed)
			continue;
		open = skip == 0 && extra < PURE_MIN && !is_new && !ahead &&
		       may_be_skip(l, rank, k, n);
		best.kind = open	   ? DEVIATION_UNCLEAR
			    : skip > extra ? DEVIATION_SKIPPED
			    : extra > skip ? DEVIATION_EXTRA
					   : DEVIATION_UNCLEAR;
		best.shift = (uint64_t)n;
		best.agreed = skip > extra ? skip : extra;
	}
	if (best.kind == DEVIATION_NONE && is_new && is_ahead_of_ended(l, rank, 1) &&
	    run_of(l, rank, k + 1, -1).whole)
		best = (struct site_break){ .kind = DEVIATION_EXTRA, .shift = 1 };
	return best;
}

/* Returns true if that lines `own` and `most` met at `k` says anything. */
static bool tells(const struct lines *l, uint32_t own, size_t k, uint64_t agreed)
{
	uint64_t most_pure = pure_before(l, l->most[k], k), own_pure = pure_before(l, own, k);

	if (is_partner(l, own) || is_partner(l, l->most[k]))
		return false;
	if (most_pure >= PURE_MIN && (own_pure >= PURE_MIN || !was_made(l, own, k)))
		return true;
	return count_others(l, k) == 1 && most_pure + agreed >= PURE_MIN;
}

/* Ranks whose lines part in the same way there. */
static void mark_same(const struct lines *l, const struct site_break *b, size_t k,
		      struct rank_set *same)
{
	for (int i = 0; i < l->a->nranks; i++) {
		struct site_break one;

		if (id_of(l, i, k) != id_of(l, b->rank, k))
			continue;
		one = find_move(l, i, k);
		if (one.kind == b->kind && one.shift == b->shift)
			rank_set_add(same, i);
	}
}

/* The first rank whose line at `k` is another, and what its lines say from there on. False: all are alike, or partners. */
static bool look(struct lines *l, size_t k, struct site_break *found)
{
	for (int i = 0; i < l->a->nranks; i++) {
		uint32_t own = id_of(l, i, k);

		if (!l->most[k] || lines_alike(l, own, l->most[k]))
			continue;
		*found = find_move(l, i, k);
		found->rank = i;
		found->seq = l->a->base + k;
		if (found->kind != DEVIATION_NONE && tells(l, own, k, found->agreed))
			return true;
		if (l->npartners == PARTNERS)
			return false;
		l->partners[l->npartners][0] = own;
		l->partners[l->npartners++][1] = l->most[k];
	}
	return false;
}

/* Calls that all members have made. */
static uint64_t common_calls(const struct progress_comm *a)
{
	uint64_t least = UINT64_MAX;

	for (int i = 0; i < a->nranks; i++)
		least = a->tracks[i].last < least ? a->tracks[i].last : least;
	return least;
}

/* How often the rank made the line among its first `calls` calls; those behind are known. */
static int64_t times_made(const struct lines *l, int rank, uint32_t line, uint64_t calls)
{
	const struct progress_rank *p = &l->a->ranks[rank];
	int64_t n = 0;

	for (size_t i = 1; i < p->nsites; i++)
		if (p->sites[i].comm == l->a->comm && hash_id(p->sites[i].hash) == line)
			n += (int64_t)p->sites[i].calls;
	for (size_t k = calls + 1 - l->a->base; k < l->a->span; k++)
		n -= id_of(l, rank, k) == line;
	return n;
}

/* How often the line is among the last `n` of these calls, of a rank or (-1) of most. */
static int64_t among_last(const struct lines *l, int rank, uint32_t line, uint64_t calls,
			  uint64_t n)
{
	size_t end = calls + 1 - l->a->base, k = end > n ? end - n : 0;
	int64_t times = 0;

	for (; k < end; k++)
		times += (rank < 0 ? l->most[k] : id_of(l, rank, k)) == line;
	return times;
}

/* Compares how often two ranks made each line of `of`'s: but for the move of `b`, as often, or (*line) all but one. */
static bool fits_counts(const struct lines *l, struct site_break *b, int other, int of)
{
	const struct progress_rank *p = &l->a->ranks[of];
	int64_t n = b->kind == DEVIATION_SKIPPED ? -(int64_t)b->shift : (int64_t)b->shift;

	for (size_t i = 1; i < p->nsites; i++) {
		uint32_t line = hash_id(p->sites[i].hash);
		int64_t mine, theirs, more;

		if (p->sites[i].comm != l->a->comm)
			continue;
		mine = times_made(l, b->rank, line, b->of);
		theirs = times_made(l, other, line, b->of);
		more = mine - theirs;
		if (b->kind == DEVIATION_SKIPPED)
			more -= among_last(l, b->rank, line, b->of, b->shift);
		else if (b->kind == DEVIATION_EXTRA)
			more += among_last(l, -1, line, b->of, b->shift);
		if (more == 0 || (b->line && hash_id(b->line->hash) == line))
			continue;
		if (more != n || b->line)
			return false;
		b->line = &p->sites[i];
		b->mine = (uint64_t)mine;
		b->theirs = (uint64_t)theirs;
	}
	return true;
}

/* Returns true if all ranks outside of `same` made each line as often as `other`. */
static bool others_agree(const struct lines *l, const struct rank_set *same, int other, uint64_t of)
{
	for (int i = 0; i < l->a->nranks; i++) {
		struct site_break none = { .rank = i, .of = of };

		if (!same->in[i] && (!fits_counts(l, &none, other, i) ||
				     !fits_counts(l, &none, other, other) || none.line))
			return false;
	}
	return true;
}

/* The ranks' lines part where what is known begins: the shortest move that counters of all calls bear out, and its
 * line. Both kinds of it: it is not clear which. */
static void look_before(const struct lines *l, struct site_break *found,
			const struct rank_set *same)
{
	struct site_break best = *found;
	uint64_t of = common_calls(l->a);
	int other = 0, nfound = 0;

	found->before = true;
	while (other < l->a->nranks && same->in[other])
		other++;
	if (other == l->a->nranks || of < l->a->base || !others_agree(l, same, other, of))
		return;
	for (int64_t n = 1; n <= SHIFT_MAX && nfound == 0; n++)
		for (int64_t move = n; move >= -n; move -= 2 * n) {
			struct site_break b = {
				.kind = move > 0 ? DEVIATION_SKIPPED : DEVIATION_EXTRA,
				.rank = found->rank,
				.seq = found->seq,
				.shift = (uint64_t)n,
				.before = true,
				.of = of,
			};

			b.agreed = explains(l, b.rank, (size_t)(b.seq - l->a->base), move);
			if (b.agreed == 0 || !fits_counts(l, &b, other, b.rank) ||
			    !fits_counts(l, &b, other, other) || !b.line)
				continue;
			best = b;
			nfound++;
		}
	if (nfound > 0)
		*found = best;
	if (nfound == 2)
		found->kind = DEVIATION_UNCLEAR;
}

/* Returns true if earlier calls of some rank are not known any more, so that nothing is known to be alike before it. */
static bool is_first_known(const struct progress_comm *a, uint64_t seq)
{
	uint64_t first = 1;

	for (int i = 0; i < a->nranks; i++)
		first = a->tracks[i].first > first ? a->tracks[i].first : first;
	return first > 1 && seq <= first;
}

static bool has_sites(const struct progress_comm *a)
{
	bool any = false;

	for (int i = 0; i < a->nranks; i++) {
		any |= a->ranks[i].nsites > 0;
		if (progress_has_pairs(&a->ranks[i], a->comm) && !a->collectives)
			return false;
	}
	return any && a->span > 0 && !a->strict;
}

bool progress_path_of_one(const struct progress_comm *a, const struct rank_set *one, uint64_t seq)
{
	uint32_t line[2] = { 0 };

	for (int i = 0; i < a->nranks; i++)
		if (one->n != 1 || a->ranks[i].nsites < 2)
			return false;
	for (int i = 0; i < a->nranks; i++) {
		const struct record *r = progress_call(a, i, seq);
		uint32_t id = r ? line_id(&a->ranks[i], r) : 0;

		if (r && line[one->in[i]] && line[one->in[i]] != id)
			return false;
		line[one->in[i]] = id ? id : line[one->in[i]];
	}
	return a->nranks > 2 && line[0] && line[1] && line[0] != line[1];
}

struct site_break progress_site_break(const struct progress_comm *a, struct rank_set *same)
{
	struct lines l = { .a = a };
	struct site_break found = { .kind = DEVIATION_NONE };
	bool any = false;

	if (!has_sites(a))
		return found;
	l.ids = must(calloc((size_t)a->nranks * a->span, sizeof(*l.ids)));
	l.most = must(calloc(a->span, sizeof(*l.most)));
	l.clean = must(calloc(a->span, sizeof(*l.clean)));
	for (int i = 0; i < a->nranks; i++)
		take_rank(&l, i);
	for (size_t k = 0; k < a->span; k++)
		vote_on(&l, k);
	l.known = a->span;
	for (size_t k = 0; k < a->span && !any && l.npartners < PARTNERS; k++)
		any = look(&l, k, &found);
	if (!any && foretell(&l)) { /* the call that the others stand in is the one in question */
		l.npartners = 0;
		for (size_t k = 0; k + 1 < l.known && l.npartners < PARTNERS; k++)
			look(&l, k, &found);
		any = look(&l, l.known - 1, &found);
	}
	if (any)
		mark_same(&l, &found, (size_t)(found.seq - a->base), same);
	else
		found.kind = DEVIATION_NONE;
	if (any && !a->collectives && is_first_known(a, found.seq))
		look_before(&l, &found, same);
	free(l.ids);
	free(l.most);
	free(l.clean);
	return found;
}
