/* monitor_end.c: from something that is wrong to a verdict, its evidence, and the end of the
 * run. */
#include "watch/monitor_end.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "watch/monitor_rendezvous.h"
#include "watch/monitor_members.h"
#include "watch/monitor_nodes.h"
#include "watch/monitor_deadline.h"
#include "record/verdict.h"

#define SLOW_NS (2500 * MS) /* the other nodes' slow evidence, after the verdict, in this time */

void monitor_send_end(struct monitor *m, int32_t code)
{
	for (size_t i = 0; i < m->npeers; i++)
		if (m->peers[i].memory && m->peers[i].link.fd >= 0)
			link_send(&m->peers[i].link, MESSAGE_END, &code, sizeof(code), -1);
	nodes_send_all(m, MESSAGE_END, &code, sizeof(code));
}

/* A rank that knows more about its own outcome (wrong data: whose) has left class and ranks. */
static void refine(struct monitor *m, struct verdict *verdict)
{
	for (size_t i = 0; i < m->npeers; i++) {
		struct record_header *h = m->peers[i].memory ? &m->peers[i].memory->header : NULL;

		if (!h || h->outcome != (int32_t)verdict->outcome || !h->guilty[0])
			continue;
		snprintf(verdict->ranks, sizeof(verdict->ranks), "%.63s", h->guilty);
		return;
	}
}

static bool speaks(enum outcome outcome)
{
	return outcome != OUTCOME_OK && outcome != OUTCOME_USAGE && outcome != OUTCOME_UNSUPPORTED;
}

static int compare_views(const void *a, const void *b)
{
	const struct rank_view *x = a, *y = b;

	return x->rank != y->rank ? (x->rank > y->rank) - (x->rank < y->rank)
				  : (x->local > y->local) - (x->local < y->local);
}

static const struct record_memory *memory_of(const struct monitor *m, const struct rank_view *view)
{
	for (size_t i = 0; i < m->npeers; i++)
		if (m->peers[i].memory && view->pid == m->peers[i].view.pid &&
		    view->rank == m->peers[i].view.rank)
			return m->peers[i].memory;
	return NULL;
}

/* Let the diagnoser see what this node has, if there is one and something is wrong. */
static void sharpen(struct monitor *m, struct verdict *verdict, const struct rank_view *views,
		    size_t n)
{
	const struct monitor_client *client = &m->config.client;
	const struct record_memory **memories;

	if (!client->refine)
		return;
	memories = calloc(n ? n : 1, sizeof(*memories));
	if (!memories)
		return;
	for (size_t i = 0; i < n; i++)
		memories[i] = memory_of(m, &views[i]);
	client->refine(client->ctx, views, memories, n, verdict);
	free(memories);
}

static bool unexpected_end(enum outcome outcome)
{
	return outcome == OUTCOME_HANG || outcome == OUTCOME_DIED || outcome == OUTCOME_ERROR;
}

/* The run came to its end: did all make the same calls? Their numbers tell, and on this host the
 * rolling hashes. */
static bool calls_differ(const struct monitor *m, const struct rank_view *views, size_t n)
{
	const struct record_memory *first = NULL;
	const struct rank_view *other = NULL;

	for (size_t i = 0; i < n; i++) {
		const struct record_memory *memory = memory_of(m, &views[i]);

		if (views[i].rank < 0)
			continue;
		if (other && views[i].issued != other->issued)
			return true;
		if (first && memory && memory->header.comms[0].hash != first->header.comms[0].hash)
			return true;
		other = &views[i];
		first = memory ? memory : first;
	}
	return false;
}

/* Is there something that the diagnoser should look at? */
static bool is_strange(const struct monitor *m, enum outcome outcome, const struct rank_view *views,
		       size_t n)
{
	if (outcome == OUTCOME_OK || outcome == OUTCOME_WRONG_DATA)
		/* or made communicators otherwise than the others, and got through */
		return calls_differ(m, views, n) || rendezvous_mismatched(views, n);
	return unexpected_end(outcome);
}

/* The other nodes keep their evidence and send what is slow to find out; so does this one
 * meanwhile. */
static void gather_slow(struct monitor *m, const char *folder)
{
	const struct monitor_client *client = &m->config.client;
	uint64_t until = clock_ns() + SLOW_NS;

	for (size_t i = 0; i < m->nnodes; i++)
		m->nodes[i].silent = !m->nodes[i].answered;
	nodes_ask(m, MESSAGE_SLOW, folder);
	if (client->collect_slow)
		client->collect_slow(client->ctx);
	do
		nodes_receive(m, clock_ns());
	while (!nodes_answered(m) && clock_ns() < until && (clock_nap(0.002), true));
	if (client->save)
		client->save(client->ctx);
}

/* Who has waited longest past a deadline; NULL: nobody. */
static const struct rank_view *longest_wait(const struct rank_view *views, size_t n)
{
	const struct rank_view *longest = NULL;

	for (size_t i = 0; i < n; i++)
		if (views[i].overdue && (!longest || views[i].waited > longest->waited))
			longest = &views[i];
	return longest;
}

/* The diagnoser found no cause, or one that may be the host's doing: does the run get more time? */
static bool doubted(struct monitor *m, const struct verdict *verdict, const struct rank_view *views,
		    size_t n)
{
	bool unexplained = m->config.extensions && verdict->class == CLASS_UNEXPLAINED;
	const struct rank_view *longest = longest_wait(views, n);
	uint64_t now = clock_ns(), more;
	uint64_t excused = unexplained ? 0 : deadline_excuse(m, verdict->ranks, now);

	if (verdict->class == CLASS_UNEXPLAINED && rendezvous_dismiss(m)) {
		m->stage = STAGE_WATCH;
		return true;
	}
	if (!m->config.client.refine || verdict->outcome != OUTCOME_HANG ||
	    (!unexplained && now >= excused) ||
	    !extension_grant(&m->extension, unexplained && longest ? longest->waited : 0, excused,
			     now))
		return false;
	if (m->extension.wait_ns == 0 && longest) {
		m->extension.rank = longest->rank;
		m->extension.wait_ns = longest->since_ns;
	}
	more = m->extension.until_ns - now;
	nodes_send_all(m, MESSAGE_EXTENSION, &more, sizeof(more));
	m->stage_until = m->extension.until_ns;
	m->stage = STAGE_WATCH;
	return true;
}

/* --expect: what the exit code comes from. */
static void print_expected(const char *expected, const struct verdict *verdict, int exit_code)
{
	if (!expected)
		return;
	if (exit_code == 0)
		printf("# as expected: %s\n", expected);
	else
		printf("# expected %s, came %s:%s%s%s: exit %d\n", expected,
		       outcome_name(verdict->outcome), class_name(verdict->class, verdict->outcome),
		       strcmp(verdict->ranks, "-") ? ":" : "",
		       strcmp(verdict->ranks, "-") ? verdict->ranks : "", exit_code);
	fflush(stdout);
}

/* Say so, and end the run everywhere; unless a closer look gives it more time. */
static void end(struct monitor *m, struct verdict *verdict, const struct rank_view *views, size_t n)
{
	const struct monitor_client *client = &m->config.client;
	enum diagnosis_class class = verdict->class;
	enum outcome outcome = verdict->outcome;
	bool closer = unexpected_end(verdict->outcome);
	uint64_t began = clock_ns();

	if (is_strange(m, verdict->outcome, views, n))
		sharpen(m, verdict, views, n);
	closer = closer || verdict->class != class || verdict->outcome != outcome;
	if (doubted(m, verdict, views, n))
		return;
	/* A closer look takes its time. To 0.1 ms: line and files say one figure. */
	verdict->detect_ms += (double)(clock_ns() - began) * 1e-6;
	verdict->detect_ms = round(10 * verdict->detect_ms) / 10;
	if (closer && client->reserve_folder)
		client->reserve_folder(client->ctx, verdict);
	if (speaks(verdict->outcome))
		verdict_print(stdout, verdict, views, n);
	if (closer)
		gather_slow(m, strcmp(verdict->evidence, "-") ? verdict->evidence : "");
	m->exit_code = expect_exit_code(m->config.expect, verdict->outcome,
					class_name(verdict->class, verdict->outcome),
					strcmp(verdict->ranks, "-") ? verdict->ranks : "");
	print_expected(m->config.expect, verdict, m->exit_code);
	monitor_send_end(m, m->exit_code);
	m->stage = STAGE_END;
}

/* Seconds from `then` to `now`; 0 where it never was. */
static double since(uint64_t then, uint64_t now)
{
	return then ? (double)(now - then) * 1e-9 : 0;
}

/* Does the wait that is doubted, if any is, still go on? */
static bool waits_still(const struct extension *doubt, const struct rank_view *views, size_t n)
{
	if (doubt->wait_ns == 0)
		return false;
	for (size_t i = 0; i < n; i++)
		if (views[i].rank == doubt->rank && views[i].since_ns == doubt->wait_ns)
			return true;
	return false;
}

/* Doubt is about one wait, and another one is doubted anew; so is this one when nobody is overdue any more,
 * unless that is but a moment's excuse. What moves on other hosts is not known here. */
static void renew_doubt(struct monitor *m, const struct rank_view *views, size_t n, bool unfinished)
{
	bool excused = members_nnodes(m) <= 1 && deadline_waits_since(m, m->extension.since_ns);

	if (!waits_still(&m->extension, views, n) || (unfinished && !excused))
		m->extension = (struct extension){ 0 };
}

void monitor_conclude(struct monitor *m, bool root_lost, uint64_t now)
{
	struct rank_view *views = NULL;
	size_t n = monitor_all_views(m, &views);
	bool unfinished = !members_all_done(m) && !views_abnormal(views, n, m->config.deadlines);
	struct verdict verdict;

	if (n > 0)
		qsort(views, n, sizeof(*views), compare_views);
	verdict_make(&verdict, views, n, since(m->death_ns, now), since(m->error_ns, now));
	refine(m, &verdict);
	renew_doubt(m, views, n, unfinished);
	if (unfinished && root_lost) { /* and rank 0 with it */
		verdict.outcome = OUTCOME_DIED;
		verdict.class = CLASS_DIED;
		verdict.confidence = "inconclusive";
	}
	if (unfinished && !root_lost) {
		m->stage = STAGE_WATCH;
		m->reported = false;
	} else {
		end(m, &verdict, views, n);
	}
	free(views);
}
