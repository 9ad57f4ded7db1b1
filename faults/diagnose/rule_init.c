/* rule_init.c: rules about communicators: who did not come to init, who came otherwise, who
 * gave up. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "diagnose/rule.h"
#include "watch/rendezvous.h"
#include "record/verdict.h"

static const struct rank_view *view_of(const struct inquiry *q, int rank)
{
	return &q->evidence->ranks[rank].view;
}

/* Init stands before call 1. */
static void place_init(struct diagnosis *d, bool hangs)
{
	d->comm = d->seq_low = d->seq_high = 0;
	d->hang_seq = hangs ? 0 : -1;
}

/* What init was called with: one of two values, as a number. */
static uint64_t argument(const struct rank_view *v, bool id)
{
	return id ? v->init_id : (uint64_t)(int64_t)v->init_nranks;
}

static void argument_text(const struct rank_view *v, bool id, char *buf, size_t len)
{
	if (id)
		snprintf(buf, len, "id %016" PRIx64, v->init_id);
	else
		snprintf(buf, len, "%d rank%s", v->init_nranks, v->init_nranks == 1 ? "" : "s");
}

/* The value that more than half of them have, in one of them; NULL: there is none. */
static const struct rank_view *majority_of(const struct rank_view *const *views, size_t n, bool id)
{
	const struct rank_view *most = NULL;
	size_t votes = 0, total = 0;

	for (size_t i = 0; i < n; i++) {
		if (votes == 0)
			most = views[i];
		votes += argument(views[i], id) == argument(most, id) ? 1 : (size_t)-1;
	}
	for (size_t i = 0; i < n; i++)
		total += argument(views[i], id) == argument(most, id);
	return total * 2 > n ? most : NULL;
}

/* The first of them that differs from the first, NULL: they are all alike. */
static const struct rank_view *other_than(const struct rank_view *const *views, size_t n,
					  const struct rank_view *than, bool id)
{
	for (size_t i = 0; i < n; i++)
		if (argument(views[i], id) != argument(than, id))
			return views[i];
	return NULL;
}

static void report_arguments(struct inquiry *q, const struct rank_view *const *views, size_t n,
			     bool id)
{
	const struct rank_view *most = majority_of(views, n, id);
	const struct rank_view *ours = most ? most : views[0];
	const struct rank_view *theirs = other_than(views, n, ours, id);
	struct diagnosis *d = q->d;
	char text[64];

	place_init(d, d->outcome == OUTCOME_HANG);
	snprintf(d->field, sizeof(d->field), "%s", id ? "id" : "nranks");
	argument_text(theirs, id, d->theirs, sizeof(d->theirs));
	argument_text(ours, id, d->majority, sizeof(d->majority));
	for (size_t i = 0; i < n && d->nlines < DIAGNOSIS_LINES / 2; i++) {
		if (most && argument(views[i], id) == argument(most, id))
			continue;
		argument_text(views[i], id, text, sizeof(text));
		inquiry_say(d, "Rank %d called communicator init with %s%s%s.", views[i]->rank,
			    text, most ? ", the others with " : "", most ? d->majority : "");
	}
	for (size_t i = 0; most && i < n; i++)
		if (argument(views[i], id) != argument(most, id))
			inquiry_accuse(q, views[i]->rank);
	inquiry_conclude(q, CLASS_INIT_MISMATCH, most ? "majority" : "inconclusive");
	if (!most)
		inquiry_say(d,
			    "No value has a majority: either side may be the one that is wrong.");
}

bool blame_init_arguments(struct inquiry *q)
{
	const struct rank_view **views = calloc((size_t)q->evidence->nranks + 1, sizeof(*views));
	bool found = false;
	size_t n = 0;

	for (int i = 0; views && i < q->evidence->nranks; i++)
		if (q->evidence->ranks[i].present)
			views[n++] = view_of(q, i);
	n = views ? rendezvous_incomplete(views, n) : 0;
	/* the number of ranks first: who asks for another one may have got another id with it */
	for (int id = 0; id <= 1 && n > 0 && !found; id++) {
		found = other_than(views, n, views[0], id) != NULL;
		if (found)
			report_arguments(q, views, n, id);
	}
	free(views);
	return found;
}

/* How many ranks are inside init now. */
static size_t count_inside(const struct inquiry *q)
{
	size_t n = 0;

	for (int i = 0; i < q->evidence->nranks; i++)
		n += q->evidence->ranks[i].present &&
		     view_of(q, i)->comm_state == RECORD_COMM_INIT &&
		     view_of(q, i)->process < PROCESS_EXITED;
	return n;
}

bool inquiry_place_init(struct inquiry *q)
{
	struct diagnosis *d = q->d;
	bool lacks = false;

	for (int i = 0; i < q->evidence->nranks; i++)
		lacks |= q->guilty[i] && view_of(q, i)->comm_state == RECORD_COMM_NONE;
	if (!lacks || count_inside(q) == 0)
		return false;
	place_init(d, true);
	snprintf(d->field, sizeof(d->field), "call");
	snprintf(d->theirs, sizeof(d->theirs), "no call");
	snprintf(d->majority, sizeof(d->majority), "communicator init");
	return true;
}

bool blame_absent_from_init(struct inquiry *q)
{
	size_t inside = count_inside(q);
	enum diagnosis_class class = CLASS_OUTCOME;

	for (int i = 0; inside > 0 && i < q->evidence->nranks; i++) {
		const struct evidence_rank *r = &q->evidence->ranks[i];
		enum diagnosis_class one = inquiry_host_class(r, CLASS_INIT_MISSING);

		if (!r->present || r->view.comm_state != RECORD_COMM_NONE ||
		    inquiry_died(&r->view) || view_finished(&r->view))
			continue;
		class = class && one != class ? CLASS_INIT_MISSING : one;
		inquiry_accuse(q, i);
	}
	if (!class)
		return false;
	inquiry_place_init(q);
	inquiry_say(q->d, "%zu of %d ranks %s inside communicator init.", inside,
		    q->evidence->nranks, inside == 1 ? "is" : "are");
	inquiry_conclude(q, class, "proved");
	return true;
}

/* Namespace numbers mean something within one host. */
static bool same_host(const struct inquiry *q)
{
	const char *host = NULL;

	for (int i = 0; i < q->evidence->nranks; i++) {
		if (!q->evidence->ranks[i].present)
			continue;
		if (host && strcmp(host, view_of(q, i)->host) != 0)
			return false;
		host = view_of(q, i)->host;
	}
	return true;
}

/* Alive and inside init. */
static bool waits_at_init(const struct inquiry *q, int rank)
{
	return q->evidence->ranks[rank].present &&
	       view_of(q, rank)->comm_state == RECORD_COMM_INIT &&
	       view_of(q, rank)->process < PROCESS_EXITED;
}

/* Did its init end with what the kernel says of an address that does not answer, or is not this
 * host's? NCCL hands on strerror's words. */
static bool cut_off_at_init(const struct inquiry *q, int rank)
{
	static const int reasons[] = { ENETUNREACH, EHOSTUNREACH, ECONNREFUSED,
				       ETIMEDOUT,   ENETDOWN,	  EADDRNOTAVAIL };
	const struct rank_view *v = view_of(q, rank);

	if (!q->evidence->ranks[rank].present || v->comm_state != RECORD_COMM_FAILED)
		return false;
	for (size_t i = 0; i < sizeof(reasons) / sizeof(reasons[0]); i++)
		if (strstr(v->error, strerror(reasons[i])))
			return true;
	return false;
}

/* Some got an error, the others wait inside: the fewer of the two are where the many do not
 * reach. */
static bool blame_cut_off(struct inquiry *q)
{
	size_t cut = 0, waiting = 0;
	bool few;

	for (int i = 0; i < q->evidence->nranks; i++) {
		cut += cut_off_at_init(q, i);
		waiting += waits_at_init(q, i);
	}
	if (cut == 0 || cut + waiting < (size_t)q->evidence->nranks)
		return false;
	few = cut < waiting;
	for (int i = 0; i < q->evidence->nranks; i++) {
		if (cut_off_at_init(q, i) && q->d->nlines < DIAGNOSIS_LINES / 2)
			inquiry_say(q->d, "Rank %d: %.200s", inquiry_number(q, i),
				    view_of(q, i)->error);
		if (cut != waiting && cut_off_at_init(q, i) == few)
			inquiry_accuse(q, i);
	}
	place_init(q->d, waiting > 0);
	inquiry_say(
		q->d,
		"%zu of %d ranks found no way to the others; %zu wait%s inside communicator init.",
		cut, q->evidence->nranks, waiting, waiting == 1 ? "s" : "");
	inquiry_conclude(q, CLASS_INIT_UNREACHABLE, q->nguilty ? "majority" : "inconclusive");
	return true;
}

/* Inside init, with a known network namespace. */
static bool has_network(const struct inquiry *q, int rank)
{
	return waits_at_init(q, rank) && q->evidence->ranks[rank].netns != 0;
}

static int compare_numbers(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

/* Network namespaces of those inside init. */
struct networks {
	size_t n;	  /* ranks inside init, their namespace known */
	size_t count;	  /* namespaces among them */
	uint64_t most;	  /* the one with most ranks */
	size_t members;	  /* these ranks */
	size_t runner_up; /* ranks of the one after that */
};

static int count_networks(const struct inquiry *q, struct networks *found)
{
	uint64_t *ids = malloc(((size_t)q->evidence->nranks + 1) * sizeof(*ids));
	size_t run;

	memset(found, 0, sizeof(*found));
	if (!ids)
		return -ENOMEM;
	for (int i = 0; i < q->evidence->nranks; i++)
		if (has_network(q, i))
			ids[found->n++] = q->evidence->ranks[i].netns;
	qsort(ids, found->n, sizeof(*ids), compare_numbers);
	for (size_t i = 0; i < found->n; i += run) {
		for (run = 1; i + run < found->n && ids[i + run] == ids[i];)
			run++;
		found->count++;
		if (run > found->members) {
			found->runner_up = found->members;
			found->members = run;
			found->most = ids[i];
		} else if (run > found->runner_up) {
			found->runner_up = run;
		}
	}
	free(ids);
	return 0;
}

/* Whoever of those inside init lives elsewhere than the largest group that can meet. Two of
 * equal size: nobody can say. All alone, as in containers: nothing strange about anyone, unless
 * there are but two. */
static bool blame_namespace(struct inquiry *q)
{
	struct networks networks;
	bool tie;

	if (!same_host(q) || count_networks(q, &networks) < 0 || networks.count < 2 ||
	    (networks.members == 1 && networks.n > 2))
		return false;
	tie = networks.members == networks.runner_up;
	for (int i = 0; !tie && i < q->evidence->nranks; i++)
		if (has_network(q, i) && q->evidence->ranks[i].netns != networks.most)
			inquiry_accuse(q, i);
	place_init(q->d, true);
	inquiry_say(q->d,
		    "All are inside communicator init with the same arguments, but in %zu network "
		    "namespaces, of which the largest holds %zu of them.",
		    networks.count, networks.members);
	inquiry_conclude(q, CLASS_INIT_UNREACHABLE,
			 networks.members * 2 > networks.n ? "majority" : "inconclusive");
	return true;
}

bool blame_unreachable(struct inquiry *q)
{
	return blame_cut_off(q) || blame_namespace(q);
}

/* After so many calls, also where what it broke is an earlier call of the others'. */
static void place_abort(struct diagnosis *d, uint64_t after)
{
	if (after >= INT64_MAX || d->seq_low == (int64_t)after + 1)
		return;
	d->seq_low = d->seq_high = (int64_t)after + 1;
	snprintf(d->field, sizeof(d->field), "call");
	snprintf(d->theirs, sizeof(d->theirs), "aborted before it");
	snprintf(d->majority, sizeof(d->majority), "not made yet");
}

bool blame_aborted(struct inquiry *q)
{
	uint64_t after = UINT64_MAX;
	int last = 0;

	for (int i = 0; i < q->evidence->nranks; i++) {
		const struct rank_view *v = view_of(q, i);

		/* who aborts after an error of its own follows the fault */
		if (!q->evidence->ranks[i].present || v->comm_state != RECORD_COMM_ABORTED ||
		    v->error_code != 0)
			continue;
		inquiry_accuse(q, i);
		last = i;
		after = v->aborted_after < after ? v->aborted_after : after;
	}
	if (q->nguilty == 0 || q->nguilty == (size_t)q->evidence->nranks)
		return false;
	inquiry_place_missing(q);
	place_abort(q->d, after);
	after = view_of(q, last)->aborted_after;
	inquiry_say(q->d, "Rank %d aborted communicator 0 after %" PRIu64 " call%s on it.",
		    inquiry_number(q, last), after, after == 1 ? "" : "s");
	inquiry_conclude(q, CLASS_ABORTED, "proved");
	return true;
}

bool blame_device_memory(struct inquiry *q)
{
	for (int i = 0; i < q->evidence->nranks; i++) {
		const struct rank_view *v = view_of(q, i);

		if (!q->evidence->ranks[i].present || !view_finished(v) ||
		    v->outcome != OUTCOME_ERROR || v->error_code != -ENOMEM)
			continue;
		inquiry_accuse(q, i);
		if (q->nguilty == 1)
			inquiry_say(q->d, "Rank %d gave up: %.200s", inquiry_number(q, i),
				    v->error);
	}
	if (q->nguilty == 0)
		return false;
	inquiry_place_missing(q);
	inquiry_conclude(q, CLASS_GPU_OOM, "proved");
	say_missing_too(q);
	return true;
}
