/* evidence_aside.c: a rank's evidence that is another run's, or older than what others did with the rank, is set aside. */
#include "evidence/evidence.h"

#include "base/call_value.h"
#include "base/stats.h"
#include "process/watch.h"

#define OLD_NS 60000000000ull /* ranks of one host are looked at within this time */

/* Forgets the rank's evidence, but for the communicators that it made where the file is of this run. */
static void set_aside(struct evidence *e, int i, bool same_run)
{
	struct evidence_rank *r = &e->ranks[i];
	struct record_header *recorder = NULL;
	char *stack = r->stack;

	if (same_run && r->recorder) {
		recorder = must(aligned_alloc(64, sizeof(*recorder)));
		memcpy(recorder, r->recorder, sizeof(*recorder));
		memset(recorder->comms, 0, sizeof(recorder->comms));
		memset(recorder->pairs, 0, sizeof(recorder->pairs));
	}
	evidence_rank_release(r);
	*r = (struct evidence_rank){ .recorder = recorder,
				     .stack = stack,
				     .unread = true,
				     .cpu_share = -1,
				     .view = { .rank = i, .outcome = -1, .node = -1 } };
}

/* ---- communicator 0 and those that made it ---- */

static bool made_with(const struct evidence_rank *r, uint64_t id)
{
	return r->present && r->view.init_id == id;
}

static bool is_made(const struct rank_view *v)
{
	return v->comm_state == RECORD_COMM_READY || v->comm_state == RECORD_COMM_LEFT;
}

/* A rank of those that made communicator 0 as most did, where it takes more ranks than these and those of which
 * nothing is known; NULL: there is none. */
static const struct rank_view *find_incomplete(const struct evidence *e, uint64_t *ids, size_t n)
{
	struct vote vote = vote_words(ids, n);
	const struct rank_view *one = NULL;

	for (int i = 0; i < e->nranks && vote.votes * 2 > n && vote.most != 0 && !one; i++)
		if (made_with(&e->ranks[i], vote.most) && is_made(&e->ranks[i].view))
			one = &e->ranks[i].view;
	return one && one->init_nranks > (int64_t)vote.votes + (e->nranks - (int64_t)n) &&
			       one->init_nranks <= e->nranks
		       ? one
		       : NULL;
}

/* All members of a communicator that was made came to its init. A file without that is not of this run. */
static void set_strangers_aside(struct evidence *e)
{
	uint64_t *ids = must(calloc((size_t)e->nranks + 1, sizeof(*ids)));
	const struct rank_view *one;
	uint64_t id;
	size_t n = 0;

	for (int i = 0; i < e->nranks; i++)
		if (e->ranks[i].present)
			ids[n++] = e->ranks[i].view.init_id;
	one = find_incomplete(e, ids, n);
	free(ids);
	if (!one)
		return;
	id = one->init_id;
	for (int i = 0; i < e->nranks; i++) {
		const struct rank_view *v = &e->ranks[i].view;
		bool unknown = v->init_id == 0 && v->issued > 0;

		if (!e->ranks[i].present || v->init_id == id || unknown || v->phase == PHASE_SPARE)
			continue;
		set_aside(e, i, false);
		evidence_remark(e,
				"Rank %d's file is of another run: this one's ranks, it among "
				"them, made a communicator that the file does not know. It is not "
				"read.",
				i);
	}
}

/* ---- age ---- */

/* Ranks that live and that can be seen: what they do goes on, so that evidence of them may be old. */
struct live {
	struct evidence *e;
	int *ranks; /* owned */
	size_t n;
};

static struct live find_live(struct evidence *e)
{
	struct live live = { .e = e, .ranks = must(calloc((size_t)e->nranks + 1, sizeof(int))) };

	for (int i = 0; i < e->nranks; i++) {
		const struct evidence_rank *r = &e->ranks[i];

		if (r->present && !r->view.lost && r->view.process <= PROCESS_STOPPED &&
		    r->view.phase != PHASE_SPARE)
			live.ranks[live.n++] = i;
	}
	return live;
}

static const struct rank_view *live_view(const struct live *live, size_t i)
{
	return &live->e->ranks[live->ranks[i]].view;
}

static bool same_host(const struct rank_view *a, const struct rank_view *b)
{
	return a->node == b->node && strcmp(a->host, b->host) == 0;
}

/* Marks the ranks of one host, of which `first` is one, that were not looked at when most of these were. `seen`: room for
 * all ranks. */
static void find_unlike(const struct live *live, size_t first, bool *looked, bool *unlike,
			uint64_t *seen)
{
	const struct rank_view *one = live_view(live, first);
	uint64_t median;
	size_t n = 0;

	for (size_t i = first; i < live->n; i++)
		if (same_host(one, live_view(live, i)))
			seen[n++] = live_view(live, i)->seen_ns;
	sort_words(seen, n);
	median = seen[n / 2];
	for (size_t i = first; i < live->n; i++) {
		uint64_t then = live_view(live, i)->seen_ns;

		if (!same_host(one, live_view(live, i)))
			continue;
		looked[i] = true;
		unlike[i] = then > 0 && (then > median ? then - median : median - then) > OLD_NS;
	}
}

static void set_aside_by_age(const struct live *live)
{
	uint64_t *seen = must(calloc(live->n + 1, sizeof(*seen)));
	bool *looked = must(calloc(2 * live->n + 1, sizeof(*looked))), *unlike = looked + live->n;

	for (size_t i = 0; i < live->n; i++)
		if (!looked[i])
			find_unlike(live, i, looked, unlike, seen);
	for (size_t i = 0; i < live->n; i++) {
		if (!unlike[i])
			continue;
		set_aside(live->e, live->ranks[i], false);
		evidence_remark(live->e,
				"Rank %d's file is not of the moment when the other ranks of its "
				"host were looked at: it is older, or another run's, and not read.",
				live->ranks[i]);
	}
	free(looked);
	free(seen);
}

/* ---- calls that others completed with it ---- */

/* No rank leaves such a call before all have come to it. */
static bool keeps_all(const struct record *r)
{
	return r->count > 0 && (r->kind == CALL_ALL_REDUCE || r->kind == CALL_ALL_GATHER ||
				r->kind == CALL_REDUCE_SCATTER || r->kind == CALL_ALLTOALL);
}

/* Collectives that the rank has made on the communicator; its recorder may be on disk, the view is not. */
static uint64_t made(const struct evidence_rank *r, const struct claim *claim)
{
	return r->view.comms[claim->comm].calls;
}

/* The communicator's number in the rank's records, RECORD_COMMS: none. */
static uint32_t number_of(const struct evidence_rank *r, uint64_t id)
{
	uint32_t c = 0;

	while (r->recorder && c < RECORD_COMMS && r->recorder->inits[c].id != id)
		c++;
	return r->recorder ? c : RECORD_COMMS;
}

/* The newest call that a rank which waits has completed with all, NULL: none; *n: its number among the collectives. */
static const struct record *newest_with_all(const struct evidence_rank *r,
					    const struct claim *claim, uint64_t *n)
{
	uint32_t comm = number_of(r, claim->id);

	*n = made(r, claim);
	for (size_t i = r->ncalls; i-- > 0 && *n > 0;) {
		const struct record *call = &r->calls[i];

		if (call->comm != comm || call_is_pair(call->kind))
			continue;
		if (keeps_all(call) && record_done(call, r->view.completed))
			return call;
		--*n;
	}
	return NULL;
}

/* Both know their calls on the communicator by number, and all that both know are alike. */
static bool is_alike(const struct evidence_rank *a, const struct evidence_rank *b, uint64_t id)
{
	uint32_t ca = number_of(a, id), cb = number_of(b, id);
	size_t i = 0, k = 0;

	if (ca == RECORD_COMMS || cb == RECORD_COMMS)
		return false;
	if ((a->wrapped || b->wrapped) &&
	    (record_set_has(&a->index.pairs, ca) || record_set_has(&b->index.pairs, cb)))
		return false;
	while (i < a->ncalls && k < b->ncalls) {
		const struct record *x = &a->calls[i], *y = &b->calls[k];

		if (x->comm != ca || y->comm != cb || x->seq != y->seq) {
			i += x->comm != ca || (y->comm == cb && x->seq < y->seq);
			k += y->comm != cb || (x->comm == ca && y->seq < x->seq);
			continue;
		}
		if (call_signature(x) != call_signature(y))
			return false;
		i++;
		k++;
	}
	return true;
}

/* Members of a communicator that live, and the one of them that completed most calls of all with others. */
struct together {
	const struct live *live;
	const struct claim *claims;
	size_t n;
	uint64_t least;		     /* collectives that any has made */
	const struct claim *witness; /* NULL: there is none */
	const struct record *call;   /* the newest that it completed with all, and its number */
	uint64_t nth;
};

static struct evidence_rank *rank_of(const struct together *t, const struct claim *claim)
{
	return &t->live->e->ranks[t->live->ranks[claim->rank]];
}

/* Records are looked at where numbers leave it open: they may be on disk. */
static void find_witness(struct together *t)
{
	t->least = UINT64_MAX;
	t->witness = NULL;
	t->nth = 0;
	for (size_t i = 0; i < t->n; i++) {
		const struct evidence_rank *r = rank_of(t, &t->claims[i]);

		if (r->present && made(r, &t->claims[i]) < t->least)
			t->least = made(r, &t->claims[i]);
	}
	for (size_t i = 0; i < t->n; i++) {
		const struct claim *c = &t->claims[i];
		const struct evidence_rank *r = rank_of(t, c);
		const struct record *call;
		uint64_t n, open = r->index.plain ? r->view.issued - r->view.completed : 0;

		if (!r->present || !r->view.overdue || made(r, c) <= t->least + open ||
		    r->index.last_ticket < r->view.issued)
			continue;
		call = newest_with_all(r, c, &n);
		if (!call || n <= t->least || n <= t->nth)
			continue;
		t->witness = c;
		t->call = call;
		t->nth = n;
	}
}

static size_t find_behind(const struct together *t, bool *behind)
{
	const struct evidence_rank *w = rank_of(t, t->witness);
	size_t found = 0;

	for (size_t i = 0; i < t->n; i++) {
		const struct claim *c = &t->claims[i];
		const struct evidence_rank *r = rank_of(t, c);

		behind[i] = r->present && made(r, c) < t->nth && is_alike(w, r, c->id);
		found += behind[i];
	}
	return found;
}

static void set_witness_aside(const struct together *t)
{
	int rank = t->live->ranks[t->witness->rank];
	uint64_t seq = t->call->seq;

	set_aside(t->live->e, rank, true);
	evidence_remark(t->live->e,
			"Rank %d's file says that call %" PRIu64
			" was completed, which most others have not made: it is of another "
			"moment, and not read.",
			rank, seq);
}

static void set_behind_aside(const struct together *t, const bool *behind)
{
	uint64_t seq = t->call->seq;

	for (size_t i = 0; i < t->n; i++) {
		const struct claim *c = &t->claims[i];
		struct evidence_rank *r = rank_of(t, c);
		uint64_t last;

		if (!behind[i])
			continue;
		last = r->view.comms[c->comm].seq;
		set_aside(t->live->e, t->live->ranks[c->rank], true);
		evidence_remark(t->live->e,
				"Rank %d's file ends at call %" PRIu64 " of communicator %u, but "
				"rank %d completed call %" PRIu64
				" with it: it is older, and not read.",
				t->live->ranks[c->rank], last, c->comm,
				t->live->ranks[t->witness->rank], seq);
	}
}

/* Where more than half of the members would have to be set aside it is the witness, and the next one is asked. */
static void look_together(struct together *t)
{
	bool *behind = must(calloc(t->n + 1, sizeof(*behind)));
	size_t n;

	do {
		find_witness(t);
		n = t->witness ? find_behind(t, behind) : 0;
		if (n * 2 > t->n)
			set_witness_aside(t);
		else if (n > 0)
			set_behind_aside(t, behind);
	} while (n > 0);
	free(behind);
}

static void set_aside_by_calls(const struct live *live)
{
	struct progress progress = { .nranks = (int)live->n,
				     .ranks = must(calloc(live->n + 1, sizeof(*progress.ranks))) };
	struct claim *claims;
	size_t n, end;

	for (size_t i = 0; i < live->n; i++) {
		const struct evidence_rank *r = &live->e->ranks[live->ranks[i]];

		progress.ranks[i].view = &r->view;
	}
	claims = progress_claims(&progress, -1, &n);
	for (size_t first = 0; first < n; first = end) {
		struct together t = { .live = live, .claims = claims + first };

		end = claims_end(claims, n, first);
		t.n = end - first;
		if (t.claims->id != 0)
			look_together(&t);
	}
	free(claims);
	free(progress.ranks);
}

void evidence_set_aside(struct evidence *e)
{
	struct live live;

	set_strangers_aside(e);
	live = find_live(e);
	set_aside_by_age(&live);
	set_aside_by_calls(&live);
	free(live.ranks);
}
