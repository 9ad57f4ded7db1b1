/* comm.c: ranks' call sequences side by side: laid out, and looked up. */
#include "run/comm_parts.h"
#include "base/stats.h"

#include "base/call_value.h"
#include "process/watch.h"

#define WINDOW	65536		  /* further from the median rank than this is not compared */
#define SEQ_MAX (UINT64_MAX >> 2) /* sums of call numbers do not overflow */

/* The newest record, or its copy in the view where there is one: to look at the record itself costs
 * a page of a mapped file, and the pages around it. */
static const struct record *newest(const struct progress_rank *rank, const struct record *final)
{
	const struct record *last = &rank->view->last;

	return rank->mapped && last->ticket && last->ticket == rank->index->last_ticket &&
			       final == &rank->calls[rank->ncalls - 1]
		       ? last
		       : final;
}

/* A rank whose index says it all. False: its records must be walked. */
static bool measure_plain(struct track *track, const struct progress_rank *rank,
			  const struct progress_comm *a)
{
	const struct call_index *x = rank->index;

	if (!x || !x->plain || x->comm != a->comm || x->first_seq > SEQ_MAX)
		return false;
	track->plain = track->whole = true;
	track->sig = a->strict ? NULL : x->sig;
	track->first = x->first_seq;
	track->last = x->first_seq + rank->ncalls - 1;
	track->final = &rank->calls[rank->ncalls - 1];
	return true;
}

/* First, last and final record on the communicator; what goes backwards ends the track. */
static void walk_track(struct track *track, const struct progress_rank *rank, uint32_t comm)
{
	uint64_t room = rank->ncalls > RECORD_RING ? rank->ncalls : RECORD_RING;

	if (!record_set_has(&rank->index->comms, comm))
		return;
	for (size_t i = 0; i < rank->ncalls; i++) {
		const struct record *r = &rank->calls[i];

		if (r->comm != comm)
			continue;
		if (r->seq <= track->last || r->seq > SEQ_MAX)
			return;
		track->whole = !track->final || (track->whole && r->seq == track->last + 1);
		if (!track->final || r->seq - track->first >= room)
			track->first = r->seq;
		track->last = r->seq;
		track->final = r;
	}
}

static void measure_track(struct track *track, const struct progress_rank *rank,
			  const struct progress_comm *a)
{
	memset(track, 0, sizeof(*track));
	track->oldest = rank->calls;
	if (!measure_plain(track, rank, a))
		walk_track(track, rank, a->comm);
	if (track->final) {
		track->inside = newest(rank, track->final)->state == RECORD_ISSUING;
		track->last_kind = newest(rank, track->final)->kind;
	}
	/* a spare rank makes no calls by right; one without a recorder is known to be a member of communicator 0 alone */
	track->known =
		rank->present &&
		(track->final || a->comm == 0 ||
		 (rank->recorder && rank->recorder->inits[a->comm].state != RECORD_COMM_NONE)) &&
		rank->view->phase != PHASE_SPARE &&
		(rank->index ? rank->index->last_ticket : 0) >= rank->view->issued;
}

uint64_t progress_signed(const struct progress_comm *a, const struct record *record)
{
	return a->strict ? call_signature_strict(record) : call_signature(record);
}

/* `sig`: room for first..last, zero. */
static void fill_track(struct track *track, uint32_t *sig, const struct progress_rank *rank,
		       const struct progress_comm *a)
{
	uint64_t at = 0, n = track->last - track->first + 1;

	track->sig = sig;
	for (size_t i = 0; track->final && i < rank->ncalls; i++) {
		const struct record *r = &rank->calls[i];

		while (track->own && r->comm == a->comm && at < n && track->own[at] < r->seq)
			at++;
		at = track->own ? at : r->seq - track->first; /* from before it: huge */
		if (r->comm == a->comm && at < n)
			sig[at] = a->strict ? call_signature_strict(r) : rank->index->sig[i];
		if (r == track->final)
			break;
	}
}

/* Counts the rank's collectives alone. Those before what is known are the recorder's account. */
static void number_collectives(const struct progress_comm *a, struct track *t,
			       const struct progress_rank *rank)
{
	const struct record_header *h = rank->recorder;
	uint64_t n = 0, before = 0;

	if (!t->final || !progress_has_pairs(rank, a->comm))
		return;
	t->own = must(malloc(rank->ncalls * sizeof(*t->own)));
	for (const struct record *r = t->oldest; r <= t->final; r++)
		if (r->comm == a->comm && !call_is_pair(r->kind))
			t->own[n++] = r->seq;
	if (t->first > 1 && h && h->comms[a->comm].seq == t->last)
		before = t->last - h->pairs[a->comm] - n;
	else if (t->first > 1 || !t->whole)
		t->known = false; /* there may be any number before it */
	t->first = before + 1;
	t->last = before + n;
	t->plain = false;
	t->sig = NULL;
}

/* The numbers that are compared: a hostile rank's must not make everyone else's disappear. */
static void set_window(struct progress_comm *a)
{
	uint64_t *lasts = must(malloc(((size_t)a->nranks + 1) * sizeof(*lasts)));
	uint64_t low = UINT64_MAX, high = 0, median;
	size_t n = 0;

	for (int i = 0; i < a->nranks; i++)
		if (a->tracks[i].final)
			lasts[n++] = a->tracks[i].last;
	sort_words(lasts, n);
	median = n ? lasts[n / 2] : 0;
	free(lasts);
	for (int i = 0; i < a->nranks; i++) {
		const struct track *t = &a->tracks[i];

		if (!t->final || t->last + WINDOW < median || t->first > median + WINDOW)
			continue;
		low = t->first < low ? t->first : low;
		high = t->last > high ? t->last : high;
	}
	if (low + WINDOW < median)
		low = median - WINDOW;
	if (high > median + WINDOW)
		high = median + WINDOW;
	a->base = n ? low : 1;
	a->span = n ? (size_t)(high - low + 1) : 0;
}

uint64_t progress_sig(const struct progress_comm *a, int rank, uint64_t seq)
{
	const struct track *t = &a->tracks[rank];

	return t->final && seq >= t->first && seq <= t->last ? t->sig[seq - t->first] : 0;
}

bool comm_clip(const struct progress_comm *a, const struct track *t, uint64_t *from, uint64_t *to)
{
	uint64_t end = a->base + a->span - 1;

	if (!t->final || a->span == 0 || t->last < a->base || t->first > end)
		return false;
	*from = t->first > a->base ? t->first : a->base;
	*to = t->last < end ? t->last : end;
	return true;
}

const struct record *progress_call(const struct progress_comm *a, int rank, uint64_t seq)
{
	const struct track *t = &a->tracks[rank];

	if (!t->final || seq < t->first || seq > t->last)
		return NULL;
	if (t->plain)
		return t->final - (t->last - seq);
	if (t->own && (seq = t->own[seq - t->first]) == 0)
		return NULL;
	/* backwards from the newest: what is asked for stands near the end */
	for (const struct record *r = t->final;; r--) {
		if (r->comm == a->comm && r->seq == seq)
			return r;
		if (r == t->oldest)
			return NULL;
	}
}

const struct record *progress_reference(const struct progress_comm *a, uint64_t seq)
{
	uint64_t sig = comm_reference_sig(a, seq);

	for (int r = 0; sig && r < a->nranks; r++)
		if (progress_sig(a, r, seq) == sig)
			return progress_call(a, r, seq);
	return NULL;
}

/* The members' ranks in their order; one that no rank says to be is not there. */
static void take_ranks(struct progress_comm *a)
{
	static const struct rank_view unknown = { .outcome = -1, .node = -1 };
	static const struct call_index none;

	a->ranks = a->progress->ranks;
	if (!a->members->ranks)
		return;
	a->own_ranks = must(calloc((size_t)a->nranks + 1, sizeof(*a->own_ranks)));
	a->ranks = a->own_ranks;
	for (int i = 0; i < a->nranks; i++) {
		int rank = members_rank(a->members, i);

		a->own_ranks[i] =
			rank >= 0 ? a->progress->ranks[rank]
				  : (struct progress_rank){ .view = &unknown, .index = &none };
	}
}

/* Lays out the signatures of all tracks that have none yet. */
static void fill_tracks(struct progress_comm *a)
{
	size_t words = 0, at = 0;

	for (int i = 0; i < a->nranks; i++)
		if (a->tracks[i].final && !a->tracks[i].sig)
			words += (size_t)(a->tracks[i].last - a->tracks[i].first + 1);
	a->arena = must(calloc(words + 1, sizeof(*a->arena)));
	for (int i = 0; i < a->nranks; i++) {
		if (a->tracks[i].sig || !a->tracks[i].final)
			continue;
		fill_track(&a->tracks[i], a->arena + at, &a->ranks[i], a);
		at += (size_t)(a->tracks[i].last - a->tracks[i].first + 1);
	}
}

/* Returns true if it is any program, or some members send and receive and others do not: numbers of calls differ by right. */
static bool has_own_plans(const struct progress_comm *a)
{
	int with = 0, without = 0;

	for (int i = 0; i < a->nranks; i++) {
		with += progress_has_pairs(&a->ranks[i], a->comm);
		without += a->tracks[i].known && a->tracks[i].final &&
			   !progress_has_pairs(&a->ranks[i], a->comm);
	}
	return with > 0 && (without > 0 || a->any_program);
}

uint64_t progress_own_number(const struct progress_comm *a, int rank, uint64_t seq)
{
	const struct track *t = &a->tracks[rank];

	if (!t->own || seq < t->first)
		return seq;
	return seq <= t->last ? t->own[seq - t->first] : t->final->seq + seq - t->last;
}

void progress_comm_init(struct progress_comm *a, const struct progress *progress,
			const struct members *members, enum compare how)
{
	const struct record_header *first = NULL;

	*a = (struct progress_comm){ .progress = progress,
				     .members = members,
				     .comm = members->comm,
				     .nranks = members->nranks,
				     .strict = how == COMPARE_STRICT };
	take_ranks(a);
	a->tracks = must(calloc((size_t)a->nranks + 1, sizeof(*a->tracks)));
	for (int i = 0; i < a->nranks; i++) {
		measure_track(&a->tracks[i], &a->ranks[i], a);
		first = first ? first : a->ranks[i].recorder;
	}
	a->any_program = first && first->preloaded; /* the others' may be on disk */
	a->collectives = how == COMPARE_COLLECTIVES && has_own_plans(a);
	for (int i = 0; i < a->nranks && a->collectives; i++)
		number_collectives(a, &a->tracks[i], &a->ranks[i]);
	set_window(a);
	fill_tracks(a);
	a->reference = must(calloc(a->span + 1, sizeof(*a->reference)));
	a->work = must(calloc(2 * a->span + 1, sizeof(*a->work)));
	for (int i = 0; i < a->nranks; i++)
		if (a->tracks[i].known && a->tracks[i].last > a->top)
			a->top = a->tracks[i].last;
	comm_vote(a);
}

void progress_comm_release(struct progress_comm *a)
{
	for (int i = 0; a->tracks && i < a->nranks; i++)
		free(a->tracks[i].own);
	free(a->tracks);
	free(a->own_ranks);
	free(a->arena);
	free(a->reference);
	free(a->work);
	memset(a, 0, sizeof(*a));
}

uint64_t progress_run_start(const struct progress_comm *a, uint64_t seq)
{
	const struct record *last = progress_reference(a, seq);
	bool pairs = last && last->kind >= CALL_SEND; /* else signatures say it all */

	while (seq > a->base && comm_reference_sig(a, seq) &&
	       comm_reference_sig(a, seq - 1) == comm_reference_sig(a, seq) &&
	       (!pairs || comm_alike(a, -1, seq - 1, seq)))
		seq--;
	return seq;
}

bool progress_made_alike(const struct progress_comm *a, int rank, uint64_t seq,
			 const struct record *ours)
{
	const struct track *t = &a->tracks[rank];
	uint64_t sig = progress_sig(a, rank, seq);

	return t->known && t->last >= seq && (!sig || sig == progress_signed(a, ours));
}

bool progress_made_by_few(const struct progress_comm *a, uint64_t seq)
{
	const struct record *reference = progress_reference(a, seq);
	uint64_t sig = reference ? progress_signed(a, reference) : 0;
	int n = 0;

	for (int i = 0; i < a->nranks; i++)
		n += sig && progress_sig(a, i, seq) == sig;
	return 2 * n <= a->nranks;
}
