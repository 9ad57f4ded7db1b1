/* evidence_join.c: evidence of several folders of one run, as its hosts keep it without a shared
 * file system; and what is said of a run as a whole. */
#include "evidence/evidence.h"

#include "base/rank_list.h"

struct evidence_rank *evidence_ranks_alloc(int n)
{
	struct evidence_rank *ranks = must(calloc((size_t)n + 1, sizeof(*ranks)));

	for (int i = 0; i < n; i++) {
		ranks[i].view = (struct rank_view){ .rank = i, .outcome = -1, .node = -1 };
		ranks[i].cpu_share = -1;
	}
	return ranks;
}

/* ---- folders of one run ---- */

/* Hosts that do not hear of each other name their folders by the time of each one's verdict:
 * DATE-TIME-PROGRAM-KEY. */
static const char *without_time(const char *name)
{
	unsigned int date, time;
	int n = 0;

	return sscanf(name, "%8u-%6u-%n", &date, &time, &n) == 2 && n == 16 ? name + n : name;
}

static bool same_fact(const char *x, const char *y, bool run)
{
	return strcmp(x, y) == 0 || (run && strcmp(without_time(x), without_time(y)) == 0);
}

#define DIFFERENT(err, dirs, fmt, ...)                                                             \
	error_set(err, OUTCOME_USAGE, -EINVAL, "%s and %s are of different runs: " fmt, (dirs)[0], \
		  (dirs)[1], __VA_ARGS__)

/* Two folders must agree on what both know, on the run's name alone where both know that. */
static int check_facts(const struct evidence *a, const struct evidence *b, const char *const *dirs,
		       struct error *err)
{
	if (!a->uncounted && !b->uncounted && a->nranks != b->nranks)
		return DIFFERENT(err, dirs, "nranks is %d and %d", a->nranks, b->nranks);
	for (size_t i = 0; i < EVIDENCE_FACTS; i++) {
		const char *x = (const char *)a + evidence_texts[i].at,
			   *y = (const char *)b + evidence_texts[i].at;

		if (!x[0] || !y[0])
			continue;
		if (!same_fact(x, y, i == 0))
			return DIFFERENT(err, dirs, "%s is \"%.80s\" and \"%.80s\"",
					 evidence_texts[i].name, x, y);
		if (i == 0)
			break;
	}
	return 0;
}

/* A rank's own clock, in nanoseconds, tells two runs apart as no other field does. */
static bool same_call(const struct record *a, const struct record *b)
{
	return a->comm == b->comm && a->seq == b->seq && a->kind == b->kind &&
	       a->count == b->count && a->dtype == b->dtype && a->op == b->op &&
	       a->peer == b->peer && a->enqueued_ns == b->enqueued_ns;
}

/* Ticket of the first call that both have and that differs, 0: none. */
static uint64_t differing_call(const struct evidence_rank *a, const struct evidence_rank *b)
{
	size_t i = 0, k = 0;

	while (i < a->ncalls && k < b->ncalls) {
		const struct record *x = &a->calls[i], *y = &b->calls[k];

		if (x->ticket == y->ticket && !same_call(x, y))
			return x->ticket;
		i += x->ticket <= y->ticket;
		k += y->ticket <= x->ticket;
	}
	return 0;
}

/* Rank `i` of two folders is one process, looked at twice. */
static int check_rank(const struct evidence_rank *a, const struct evidence_rank *b, int i,
		      const char *const *dirs, struct error *err)
{
	const struct rank_view *x = &a->view, *y = &b->view;
	uint64_t call;

	if ((x->pid > 0 && y->pid > 0 && x->pid != y->pid) ||
	    (x->host[0] && y->host[0] && strcmp(x->host, y->host) != 0))
		return DIFFERENT(err, dirs, "rank %d is process %d on %s and process %d on %s", i,
				 x->pid, x->host[0] ? x->host : "?", y->pid,
				 y->host[0] ? y->host : "?");
	call = differing_call(a, b);
	if (call > 0)
		return DIFFERENT(err, dirs, "call %" PRIu64 " of rank %d is not the same", call, i);
	return 0;
}

/* ---- joining ---- */

static void swap_texts(char **a, char **b)
{
	char *text = *a;

	*a = *b;
	*b = text;
}

/* Joins `from` into `to`; what is left in `from` is the caller's to release. */
static void join_rank(struct evidence_rank *to, struct evidence_rank *from)
{
	struct reading *counters = to->counters ? to->counters : from->counters;
	struct reading *others = to->counters ? from->counters : NULL;
	bool unread = to->unread || from->unread;
	bool parted = to->present && from->present && !to->view.lost != !from->view.lost;

	if (from->present && (!to->present || from->ncalls > to->ncalls)) {
		struct evidence_rank longer = *from;

		*from = *to;
		*to = longer;
	}
	if (parted) /* one folder is its own host's: it lived, and was not heard of */
		to->view.lost = LOST_PARTED;
	if (!to->stack || (from->stack && strlen(from->stack) > strlen(to->stack)))
		swap_texts(&to->stack, &from->stack);
	to->counters = counters;
	from->counters = others;
	to->unread = unread;
}

/* Facts that only one of them knows: the verdict's time stands on rank 0's host. */
static void join_facts(struct evidence *to, const struct evidence *from)
{
	for (size_t i = 0; i <= EVIDENCE_TIME; i++) {
		char *x = (char *)to + evidence_texts[i].at;

		if (!x[0]) /* of one field, so of one size */
			strcpy(x, (const char *)from + evidence_texts[i].at);
	}
	if (to->detect_ms <= 0)
		to->detect_ms = from->detect_ms;
	if (from->remarks[0] && !strstr(to->remarks, from->remarks))
		evidence_remark(to, "%s", from->remarks);
	to->uncounted = to->uncounted && from->uncounted;
}

/* dirs: of `to`, which is the first of its folders, and of `from`. */
static int join(struct evidence *to, struct evidence *from, const char *const *dirs,
		struct error *err)
{
	int rc = check_facts(to, from, dirs, err);

	for (int i = 0; rc == 0 && i < to->nranks && i < from->nranks; i++)
		if (to->ranks[i].present && from->ranks[i].present)
			rc = check_rank(&to->ranks[i], &from->ranks[i], i, dirs, err);
	if (rc < 0)
		return rc;
	if (from->nranks > to->nranks) {
		struct evidence_rank *more = evidence_ranks_alloc(from->nranks);

		memcpy(more, to->ranks, (size_t)to->nranks * sizeof(*more));
		free(to->ranks);
		to->ranks = more;
		to->nranks = from->nranks;
	}
	for (int i = 0; i < from->nranks; i++)
		join_rank(&to->ranks[i], &from->ranks[i]);
	if (!to->ras)
		swap_texts(&to->ras, &from->ras);
	join_facts(to, from);
	return 0;
}

/* ---- the whole ---- */

static bool is_missing(const struct evidence_rank *rank)
{
	return !rank->present && !rank->unread;
}

static void remark_whole(struct evidence *e, size_t nfolders)
{
	int missing = 0, first = -1, wrapped = 0;
	bool *in = must(calloc((size_t)e->nranks + 1, sizeof(*in)));
	char list[96];

	for (int i = 0; i < e->nranks; i++) {
		wrapped += e->ranks[i].wrapped;
		in[i] = is_missing(&e->ranks[i]);
		if (in[i])
			first = missing++ == 0 ? i : first;
	}
	rank_list_words(in, e->nranks, list, sizeof(list));
	free(in);
	if (missing > 0 && nfolders > 1)
		evidence_remark(e, "Of %s no folder has a file: nothing is known of %s.", list,
				missing > 1 ? "them" : "it");
	else if (missing == 1)
		evidence_remark(e, "rank-%d.fr is missing: nothing is known of that rank.", first);
	else if (missing > 1)
		evidence_remark(e,
				"rank-%d.fr and %d more are missing: nothing is known of those "
				"ranks.",
				first, missing - 1);
	if (wrapped > 0)
		evidence_remark(e, "Of %d ranks only the newest calls are left.", wrapped);
}

static bool any_present(const struct evidence *e)
{
	for (int i = 0; i < e->nranks; i++)
		if (e->ranks[i].present)
			return true;
	return false;
}

int evidence_load_all(struct evidence *evidence, const char *const *dirs, size_t n,
		      struct error *err)
{
	int rc = evidence_read_folder(evidence, dirs[0], err);

	for (size_t i = 1; rc == 0 && i < n; i++) {
		const char *const both[] = { dirs[0], dirs[i] };
		struct evidence more;

		rc = evidence_read_folder(&more, dirs[i], err);
		if (rc == 0)
			rc = join(evidence, &more, both, err);
		evidence_release(&more);
	}
	if (rc == 0) {
		remark_whole(evidence, n);
		if (!any_present(evidence))
			rc = error_set(err, OUTCOME_INTERNAL, -EINVAL, "%s: %s", dirs[0],
				       evidence->remarks);
	}
	if (rc < 0)
		evidence_release(evidence);
	return rc;
}

int evidence_load(struct evidence *evidence, const char *dir, struct error *err)
{
	return evidence_load_all(evidence, &dir, 1, err);
}
