/* reduce.c: leaves out ranks and calls of a schedule as long as its verdict stays. */
#include "verify/reduce.h"

/* ---- the verdict, but for numbers ---- */

/* The kind of the call in which ranks stand, where timelines parted if there is one; CALL_KIND_COUNT: none. */
static int standing_kind(const struct verified *v)
{
	const struct answer *a = &v->answer;
	int64_t seq = a->seq_low > 0 ? a->seq_low : a->hang_seq;
	int kind = CALL_KIND_COUNT, from, to;

	if (sscanf(a->pair, "%d>%d", &from, &to) == 2)
		return CALL_SEND; /* and its receive */
	for (int i = v->evidence.nranks - 1; i >= 0; i--) {
		const struct evidence_rank *r = &v->evidence.ranks[i];

		for (size_t k = 0; k < r->ncalls; k++)
			if (r->calls[k].comm == a->comm && (int64_t)r->calls[k].seq == seq &&
			    !rank_list_has(a->ranks, i))
				kind = r->calls[k].kind;
	}
	for (int i = 0; kind == CALL_KIND_COUNT && i < v->evidence.nranks; i++)
		if (v->evidence.ranks[i].view.oldest.ticket)
			kind = v->evidence.ranks[i].view.oldest.kind;
	return kind;
}

/* Returns true if the ranks that the part names were named before, by the numbers that they had. */
static bool named_before(const struct answer *whole, const struct answer *part, const int *was,
			 int n)
{
	for (int i = 0; i < n; i++)
		if (rank_list_has(part->ranks, i) && !rank_list_has(whole->ranks, was[i]))
			return false;
	return true;
}

/* Returns true if the part's pair is the one of before, or has a rank that was named: with fewer calls before it a pair may be
 * all that can be told. */
static bool paired_before(const struct answer *whole, const struct answer *part, const int *was,
			  int n)
{
	int from, to, a = -1, b = -1;

	if (sscanf(part->pair, "%d>%d", &from, &to) != 2 || from >= n || to >= n)
		return !whole->pair[0] && rank_list_count(whole->ranks) == 0;
	sscanf(whole->pair, "%d>%d", &a, &b);
	return (was[from] == a && was[to] == b) || rank_list_has(whole->ranks, was[from]) ||
	       rank_list_has(whole->ranks, was[to]);
}

bool reduced_alike(const struct verified *whole, const struct verified *part, const int *was)
{
	const struct answer *a = &whole->answer, *b = &part->answer;
	int n = part->evidence.nranks;

	return part->stands && a->outcome == b->outcome && a->class == b->class &&
	       (b->confidence >= a->confidence || b->pair[0]) && strcmp(a->field, b->field) == 0 &&
	       standing_kind(whole) == standing_kind(part) &&
	       (rank_list_count(b->ranks) ? named_before(a, b, was, n)
					  : paired_before(a, b, was, n));
}

/* ---- what is left ---- */

/* A search. A call's column: the same collective of all members, or a send and its receive. */
struct search {
	const struct schedule *schedule;
	const struct verify_how *how;
	struct verified whole;
	struct error *err;
	bool *ranks, *steps; /* that are left; of each call */
	uint32_t *column;
	size_t ncalls, ncolumns;
	int *was;
};

/* Returns true if what is marked has the verdict. */
static bool holds(struct search *s)
{
	struct schedule part;
	struct verified v;
	bool alike;

	schedule_some(&part, s->schedule, s->ranks, s->steps, s->was);
	alike = part.nranks > 0 && schedule_calls(&part) > 0 &&
		verify(&v, &part, s->how, s->err) == 0;
	if (alike) {
		alike = reduced_alike(&s->whole, &v, s->was);
		verified_release(&v);
	}
	schedule_release(&part);
	return alike;
}

/* A column's key: group, kind of column, partners and number. */
struct key {
	uint64_t group, partners, nth;
	size_t call;
};

static int compare_keys(const void *a, const void *b)
{
	const struct key *x = a, *y = b;

	if (x->group != y->group)
		return x->group < y->group ? -1 : 1;
	if (x->partners != y->partners)
		return x->partners < y->partners ? -1 : 1;
	if (x->nth != y->nth)
		return x->nth < y->nth ? -1 : 1;
	return (x->call > y->call) - (x->call < y->call);
}

static uint64_t partners_of(const struct schedule *s, const struct step *step, int rank)
{
	uint64_t own = (uint64_t)rank,
		 other = call_is_pair(step->kind)
				 ? (uint64_t)s->groups[step->group].ranks[step->peer]
				 : 0;

	if (!call_is_pair(step->kind))
		return 0;
	return 1 + (step->kind == CALL_SEND ? own << 31 | other : other << 31 | own);
}

/* Fills the keys of a rank's calls, of which the first is the schedule's call `at`. */
static void number_keys(const struct schedule *s, int rank, struct key *keys, size_t at)
{
	const struct schedule_rank *r = &s->ranks[rank];

	for (size_t k = 0; k < r->n; k++)
		keys[k] = (struct key){ r->steps[k].group, partners_of(s, &r->steps[k], rank), 0,
					at + k };
	qsort(keys, r->n, sizeof(*keys), compare_keys);
	for (size_t k = 1; k < r->n; k++)
		if (keys[k].group == keys[k - 1].group && keys[k].partners == keys[k - 1].partners)
			keys[k].nth = keys[k - 1].nth + 1;
}

/* Numbers the columns: by group, partners and time. */
static void find_columns(struct search *s)
{
	const struct schedule *from = s->schedule;
	struct key *keys = must(malloc((s->ncalls + 1) * sizeof(*keys)));
	size_t at = 0;

	for (int i = 0; i < from->nranks; at += from->ranks[i++].n)
		number_keys(from, i, keys + at, at);
	qsort(keys, s->ncalls, sizeof(*keys), compare_keys);
	for (size_t i = 0; i < s->ncalls; i++) {
		s->ncolumns += i > 0 && (keys[i].group != keys[i - 1].group ||
					 keys[i].partners != keys[i - 1].partners ||
					 keys[i].nth != keys[i - 1].nth);
		s->column[keys[i].call] = (uint32_t)s->ncolumns;
	}
	s->ncolumns += s->ncalls > 0;
	free(keys);
}

static void mark_columns(struct search *s, size_t first, size_t end, bool *columns, bool left)
{
	for (size_t c = first; c < end; c++)
		columns[c] = left;
	for (size_t i = 0; i < s->ncalls; i++)
		s->steps[i] = columns[s->column[i]];
}

/* Leaves out columns: halves first, then smaller parts. */
static void drop_columns(struct search *s)
{
	bool *columns = must(malloc(s->ncolumns + 1)), *before = must(malloc(s->ncolumns + 1));

	memset(columns, true, s->ncolumns);
	for (size_t size = s->ncolumns / 2; size > 0 && s->err->code == 0; size /= 2)
		for (size_t first = 0; first < s->ncolumns; first += size) {
			size_t end = first + size < s->ncolumns ? first + size : s->ncolumns;
			bool any = memchr(columns + first, true, end - first) != NULL;

			memcpy(before, columns, s->ncolumns);
			if (!any)
				continue;
			mark_columns(s, first, end, columns, false);
			if (holds(s))
				continue;
			memcpy(columns, before, s->ncolumns);
			mark_columns(s, 0, 0, columns, false);
		}
	free(columns);
	free(before);
}

/* Leaves out calls one by one, until none can go. Returns true if any could. */
static bool drop_calls(struct search *s)
{
	bool any = false, again = true;

	while (again && s->err->code == 0) {
		again = false;
		for (size_t i = s->ncalls; i-- > 0;) {
			if (!s->steps[i])
				continue;
			s->steps[i] = false;
			if (holds(s))
				any = again = true;
			else
				s->steps[i] = true;
		}
	}
	return any;
}

/* Marks the calls of ranks that are left out, so that none of them is tried. */
static void drop_steps_of_ranks(struct search *s)
{
	size_t at = 0;

	for (int i = 0; i < s->schedule->nranks; i++)
		for (size_t k = 0; k < s->schedule->ranks[i].n; k++)
			s->steps[at++] &= s->ranks[i];
}

/* Leaves out ranks one by one. Returns true if any could go. */
static bool drop_ranks(struct search *s)
{
	bool any = false;

	for (int i = s->schedule->nranks - 1; i >= 0 && s->err->code == 0; i--) {
		if (!s->ranks[i])
			continue;
		s->ranks[i] = false;
		if (holds(s))
			any = true;
		else
			s->ranks[i] = true;
	}
	return any;
}

/* Marks the ranks that the verdict names, and so many others that wait. Returns how many are marked. */
static int mark_some(struct search *s, int others)
{
	const struct answer *a = &s->whole.answer;
	int from = -1, to = -1, n = 0;

	sscanf(a->pair, "%d>%d", &from, &to);
	for (int i = 0; i < s->schedule->nranks; i++) {
		bool named = rank_list_has(a->ranks, i) || i == from || i == to;
		const struct rank_view *v = &s->whole.evidence.ranks[i].view;
		bool there = v->waiting && (a->comm < 0 || v->oldest.comm == a->comm);

		s->ranks[i] = named || (there && others-- > 0);
		n += s->ranks[i];
	}
	return n;
}

/* Few of many ranks that have the verdict; all of them where few have not. */
static void choose_ranks(struct search *s)
{
	int n = s->schedule->nranks;

	for (int others = 1; others < n; others *= 2)
		if (mark_some(s, others) < n && holds(s))
			return;
	memset(s->ranks, true, (size_t)n);
}

static int check_whole(const struct search *s)
{
	const struct answer *a = &s->whole.answer;

	if (!s->whole.stands)
		return error_set(
			s->err, OUTCOME_UNSUPPORTED, -EINVAL,
			"cannot reduce: the schedule completes: then it was not the schedule, "
			"but NCCL, a GPU, a wire or time");
	if (a->confidence == CONFIDENCE_INCONCLUSIVE && !a->pair[0])
		return error_set(
			s->err, OUTCOME_UNSUPPORTED, -EINVAL,
			"cannot reduce: it hangs, and the verdict (%s) is inconclusive and "
			"names no pair",
			class_name(a->class, a->outcome));
	return 0;
}

static void search(struct search *s)
{
	choose_ranks(s);
	if (s->schedule->nranks <= 64 || rank_list_count(s->whole.answer.ranks) < 64)
		drop_ranks(s);
	drop_steps_of_ranks(s);
	find_columns(s);
	drop_columns(s);
	drop_steps_of_ranks(s);
	do {
		drop_calls(s);
	} while (drop_ranks(s) && (drop_steps_of_ranks(s), true));
}

int reduce_schedule(struct reduced *r, const struct schedule *schedule,
		    const struct verify_how *how, struct error *err)
{
	struct search s = {
		.schedule = schedule, .how = how, .err = err, .ncalls = schedule_calls(schedule)
	};
	struct verified v = { .stands = false };

	memset(r, 0, sizeof(*r));
	s.ranks = must(malloc((size_t)schedule->nranks + 1));
	s.steps = must(malloc(s.ncalls + 1));
	s.column = must(calloc(s.ncalls + 1, sizeof(*s.column)));
	s.was = must(malloc(((size_t)schedule->nranks + 1) * sizeof(*s.was)));
	memset(s.ranks, true, (size_t)schedule->nranks);
	memset(s.steps, true, s.ncalls);
	if (verify(&s.whole, schedule, how, err) == 0 && check_whole(&s) == 0) {
		search(&s);
		schedule_some(&r->schedule, schedule, s.ranks, s.steps, s.was);
		r->schedule.streams = how->streams;
		r->before = s.whole.answer;
		r->was = s.was;
		s.was = NULL;
		if (err->code == 0 && verify(&v, &r->schedule, how, err) == 0)
			r->answer = v.answer;
		verified_release(&v);
	}
	verified_release(&s.whole);
	free(s.ranks);
	free(s.steps);
	free(s.column);
	free(s.was);
	return err->code;
}

void reduced_release(struct reduced *r)
{
	schedule_release(&r->schedule);
	free(r->was);
}
