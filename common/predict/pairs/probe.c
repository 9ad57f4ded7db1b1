/* probe.c: messages between pairs: one pair at a time, disjoint pairs, all at once. */
#include "pairs/probe.h"

#include "base/clock.h"
#include "base/stats.h"

#define PEERS_AT_ONCE 128
#define PING_PONG     65536 /* bytes: up to here one message waits for the one before */
#define MOST_CALLS    50    /* between two waits: half the recorder's ring, of each peer */
#define STEP_SECONDS  30.0  /* no step takes as long, first use of a peer included */
#define ROTATION      64    /* slots that messages rotate through, as calls of a batch do */
#define ROUNDS	      5	    /* of which the median counts */

enum way { WAY_OUT = 1, WAY_IN = 2, WAY_BOTH = 3, WAY_PONG = 4 };

/* One size of one matrix, and where the next message lies in the pools. */
struct step {
	const struct pair_probe *p;
	struct pair_matrix *m;
	enum pair_load load;
	int size, calls;
	size_t bytes, at;
};

static int message(struct step *s, int peer, bool out)
{
	struct call call = { .kind = out ? CALL_SEND : CALL_RECV,
			     .send = out ? s->p->send + s->at : NULL,
			     .recv = out ? NULL : s->p->recv + s->at,
			     .count = s->bytes,
			     .dtype = DT_INT8,
			     .op = OP_NONE,
			     .peer = peer,
			     .offset = s->at };

	return chain_call(s->p->chain, &call);
}

/* One message to and from each of the peers at once. */
static int exchange(struct step *s, const int *peers, int n, int ways)
{
	size_t stride = (s->bytes + 511) / 512 * 512;
	size_t room = ROTATION * stride < s->p->pool ? ROTATION * stride : s->p->pool;
	int rc = chain_group_begin(s->p->chain), end;

	for (int i = 0; rc == 0 && i < n; i++) {
		if (s->at + stride > room) /* also of a size before */
			s->at = 0;
		if (ways & WAY_OUT)
			rc = message(s, peers[i], true);
		if (rc == 0 && ways & WAY_IN)
			rc = message(s, peers[i], false);
		s->at += stride;
	}
	end = chain_group_end(s->p->chain);
	return rc < 0 ? rc : end;
}

/* Microseconds of an exchange, as the median of rounds: an interruption makes one of them
 * long. `calls` exchanges fill all rounds. A ping-pong counts half. */
static int timed(struct step *s, const int *peers, int n, int ways, int calls, double *us)
{
	struct backend *be = s->p->chain->backend;
	bool pong = ways & WAY_PONG;
	int rc = 0, each = (calls + ROUNDS - 1) / ROUNDS;
	double took[ROUNDS];

	watch_enter(s->p->watch, "messages between pairs", STEP_SECONDS);
	for (int round = 0; rc == 0 && round < ROUNDS; round++) {
		double begin = clock_seconds();

		for (int i = 0; i < each && rc == 0; i++) {
			rc = exchange(s, peers, n, ways);
			if (pong && rc == 0)
				rc = exchange(s, peers, n, ~ways);
		}
		if (rc == 0)
			rc = be->ops->wait(be);
		if (rc == 0)
			watch_completed(s->p->chain->watch);
		took[round] = (clock_seconds() - begin) / each * (pong ? .5e6 : 1e6);
	}
	*us = rc == 0 ? sort_median(took, ROUNDS) : 0;
	watch_leave(s->p->watch);
	return rc;
}

static int other(const struct pair *pair, int rank)
{
	return pair->a == rank ? pair->b : pair->a;
}

/* Keeps a time of both directions. */
static void keep(const struct step *s, int pair, double us)
{
	for (int back = 0; back < 2; back++)
		*pair_us(s->m, s->load, s->size, pair, back) = us;
}

/* Measures the pairs of each round of the plan at once. The last times are kept. `slowest` is this
 * rank's longest time. */
static int disjoint(struct step *s, int calls, double *slowest)
{
	const struct pair_plan *plan = &s->m->plan;
	int rc = 0;

	s->load = PAIR_DISJOINT;
	*slowest = 0;
	for (int round = 0; rc == 0 && round < plan->nrounds; round++) {
		int mine = pair_plan_find(plan, round, s->p->job->rank), peer;
		double us = 0;

		rc = job_barrier(s->p->job, "the start of a round of pairs");
		if (rc < 0 || mine < 0)
			continue;
		peer = other(&plan->pairs[mine], s->p->job->rank);
		rc = timed(s, &peer, 1, WAY_BOTH, calls, &us);
		*slowest = fmax(*slowest, us);
		keep(s, mine, us);
	}
	return rc;
}

static int pair_alone(struct step *s, int i)
{
	const struct pair *pair = &s->m->plan.pairs[i];
	bool first = pair->a == s->p->job->rank;
	int pong = s->bytes <= PING_PONG ? WAY_PONG : 0;
	int peer = other(pair, s->p->job->rank), rc = job_barrier(s->p->job, "the turn of a pair");
	double us;

	if (rc < 0 || (!first && pair->b != s->p->job->rank))
		return rc;
	s->load = PAIR_ALONE;
	for (int back = 0; rc == 0 && back < 2; back++)
		rc = timed(s, &peer, 1, pong | (first != back ? WAY_OUT : WAY_IN), s->calls,
			   pair_us(s->m, PAIR_ALONE, s->size, i, back));
	if (rc < 0 || s->p->alone)
		return rc;
	s->load = PAIR_BOTH;
	rc = timed(s, &peer, 1, WAY_BOTH, s->calls, &us);
	keep(s, i, us);
	return rc;
}

/* All peers are in one group. A message takes as long as the group. */
static int all_pairs(struct step *s)
{
	const struct pair_plan *plan = &s->m->plan;
	int peers[PEERS_AT_ONCE], n = 0, rank = s->p->job->rank, rc = 0;
	int calls[] = { 1, (int)fmax(ROUNDS, s->calls / fmax(1, plan->n - 1)) };
	double us = 0;

	for (int k = 1; plan->n <= PEERS_AT_ONCE && k < plan->n; k++)
		peers[n++] = (rank + k) % plan->n;
	for (int i = 0; plan->n > PEERS_AT_ONCE && i < plan->npairs && n < PEERS_AT_ONCE; i++)
		if (plan->pairs[i].a == rank || plan->pairs[i].b == rank)
			peers[n++] = other(&plan->pairs[i], rank);
	s->load = PAIR_ALL;
	for (int k = 0; rc == 0 && k < 2; k++) { /* the first connects */
		rc = job_barrier(s->p->job, "all pairs at once");
		if (rc == 0)
			rc = timed(s, peers, n, WAY_BOTH, calls[k], &us);
	}
	for (int i = 0; i < plan->npairs; i++)
		if (plan->pairs[i].a == rank || plan->pairs[i].b == rank)
			keep(s, i, us);
	return rc;
}

/* The first messages connect; the next decide how many fit into the time. */
static int one_size(struct step *s)
{
	double us = 0;
	int rc = disjoint(s, 1, &us);

	if (rc == 0 && !s->p->alone)
		rc = disjoint(s, 1, &us);
	if (rc == 0) /* ranks that made unlike numbers of calls would wait for each other */
		rc = job_max(s->p->job, &us, 1);
	s->calls = (int)fmin(MOST_CALLS, fmax(ROUNDS, ceil(s->p->seconds * 1e6 / fmax(us, .1))));
	if (rc == 0 && !s->p->alone)
		rc = disjoint(s, s->calls, &us);
	for (int i = 0; rc == 0 && !s->p->brief && i < s->m->plan.npairs; i++)
		rc = pair_alone(s, i);
	return rc < 0 || s->p->brief || s->p->alone ? rc : all_pairs(s);
}

int pair_probe_run(const struct pair_probe *p, struct pair_matrix *m)
{
	struct step step = { .p = p, .m = m };
	struct job_time former = job_extend_deadline(p->job, STEP_SECONDS);
	int rc = 0;

	for (step.size = 0; rc == 0 && step.size < m->nsizes; step.size++) {
		step.bytes = (size_t)m->bytes[step.size];
		rc = one_size(&step);
	}
	if (rc == 0)
		rc = job_max(p->job, m->us, (int)pair_places(m));
	job_restore_deadline(p->job, former);
	return rc;
}
