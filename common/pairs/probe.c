/* probe.c: messages between pairs: one pair at a time, disjoint pairs, all at once. */
#include "pairs/probe.h"

#include "base/clock.h"

#define PEERS_AT_ONCE 128
#define PING_PONG     65536.0 /* bytes: up to here one message waits for the one before */
#define MOST_CALLS    50      /* between two waits: half the recorder's ring, of each peer */
#define STEP_SECONDS  30.0    /* no step takes as long, first use of a peer included */
#define TRIES	      3
#define SLICE	      ((size_t)8 << 20)
#define SLICES	      8

enum way { WAY_OUT = 1, WAY_IN = 2, WAY_BOTH = 3, WAY_PONG = 4 };

static int message(const struct pair_probe *p, enum call_kind kind, int peer, size_t bytes,
		   size_t index)
{
	size_t stride = (bytes + 511) / 512 * 512, at = index % (p->pool / stride) * stride;
	struct call call = {
		.kind = kind,
		.send = kind == CALL_SEND ? p->send + at : NULL,
		.recv = kind == CALL_SEND ? NULL : p->recv + at,
		.count = bytes,
		.dtype = DT_INT8,
		.op = OP_NONE,
		.peer = peer,
		.offset = at,
	};

	return chain_call(p->chain, &call);
}

/* To and from each of the peers at once. */
static int exchange(const struct pair_probe *p, const int *peers, int n, int ways, size_t bytes,
		    size_t index)
{
	int rc = chain_group_begin(p->chain), end;

	for (int i = 0; rc == 0 && i < n; i++) {
		size_t slot = index * (size_t)n + (size_t)i;

		if (ways & WAY_OUT)
			rc = message(p, CALL_SEND, peers[i], bytes, slot);
		if (rc == 0 && ways & WAY_IN)
			rc = message(p, CALL_RECV, peers[i], bytes, slot);
	}
	end = chain_group_end(p->chain);
	return rc < 0 ? rc : end;
}

static int wait(const struct pair_probe *p)
{
	int rc = p->chain->backend->ops->wait(p->chain->backend);

	if (rc == 0)
		watch_completed(p->chain->watch);
	return rc;
}

/* Microseconds of an exchange, of `calls` of them one after the other, in the best of three tries: a rank
 * that was not let run says nothing of links. Of a message there and, when it has come, back: half. */
static int timed(const struct pair_probe *p, const int *peers, int n, int ways, size_t bytes,
		 int calls, double *us)
{
	bool pong = ways & WAY_PONG;
	int rc = 0, each = (calls + TRIES - 1) / TRIES;

	*us = INFINITY;
	watch_enter(p->watch, "messages between pairs", STEP_SECONDS);
	for (int try = 0; rc == 0 && try < (calls < TRIES ? 1 : TRIES); try++) {
		double begin = clock_seconds();

		for (int i = 0; i < each && rc == 0; i++) {
			size_t slot = (size_t)(try * each + i);

			rc = exchange(p, peers, n, ways, bytes, slot);
			if (pong && rc == 0)
				rc = exchange(p, peers, n, ~ways, bytes, slot);
		}
		if (rc == 0)
			rc = wait(p);
		*us = fmin(*us, (clock_seconds() - begin) / each * (pong ? .5e6 : 1e6));
	}
	watch_leave(p->watch);
	return rc;
}

/* One size of one matrix. */
struct step {
	const struct pair_probe *p;
	struct pair_matrix *m;
	int size, calls;
	size_t bytes;
};

static int other(const struct pair *pair, int rank)
{
	return pair->a == rank ? pair->b : pair->a;
}

/* The pairs of each round at once; `slowest`: of this rank's. The last times are kept. */
static int rounds_of(const struct step *s, int calls, double *slowest)
{
	const struct pair_plan *plan = &s->m->plan;
	int rc = 0;

	*slowest = 0;
	for (int round = 0; rc == 0 && round < plan->nrounds; round++) {
		int mine = pair_plan_find(plan, round, s->p->job->rank), peer;
		double us = 0;

		rc = job_barrier(s->p->job, "the start of a round of pairs");
		if (rc < 0 || mine < 0)
			continue;
		peer = other(&plan->pairs[mine], s->p->job->rank);
		rc = timed(s->p, &peer, 1, WAY_BOTH, s->bytes, calls, &us);
		*slowest = fmax(*slowest, us);
		for (int back = 0; back < 2; back++)
			*pair_us(s->m, PAIR_DISJOINT, s->size, mine, back) = us;
	}
	return rc;
}

static int pair_alone(const struct step *s, int i)
{
	const struct pair_probe *p = s->p;
	const struct pair *pair = &s->m->plan.pairs[i];
	bool first = pair->a == p->job->rank;
	int pong = (double)s->bytes <= PING_PONG ? WAY_PONG : 0;
	int peer = other(pair, p->job->rank), rc = job_barrier(p->job, "the turn of a pair");

	if (rc < 0 || (!first && pair->b != p->job->rank))
		return rc;
	for (int back = 0; rc == 0 && back < 2; back++)
		rc = timed(p, &peer, 1, pong | (first != back ? WAY_OUT : WAY_IN), s->bytes,
			   s->calls, pair_us(s->m, PAIR_ALONE, s->size, i, back));
	if (rc < 0 || p->brief)
		return rc;
	rc = timed(p, &peer, 1, WAY_BOTH, s->bytes, s->calls,
		   pair_us(s->m, PAIR_BOTH, s->size, i, 0));
	*pair_us(s->m, PAIR_BOTH, s->size, i, 1) = *pair_us(s->m, PAIR_BOTH, s->size, i, 0);
	return rc;
}

/* All peers in one group; a message has taken as long as the group. */
static int all_pairs(const struct step *s)
{
	const struct pair_plan *plan = &s->m->plan;
	int peers[PEERS_AT_ONCE], n = 0, rank = s->p->job->rank, rc, calls;
	double us = 0;

	for (int k = 1; plan->n <= PEERS_AT_ONCE && k < plan->n; k++)
		peers[n++] = (rank + k) % plan->n;
	for (int i = 0; plan->n > PEERS_AT_ONCE && i < plan->npairs && n < PEERS_AT_ONCE; i++)
		if (plan->pairs[i].a == rank || plan->pairs[i].b == rank)
			peers[n++] = other(&plan->pairs[i], rank);
	calls = (int)fmax(TRIES, s->calls / fmax(1, n));
	rc = job_barrier(s->p->job, "all pairs at once");
	if (rc == 0)
		rc = timed(s->p, peers, n, WAY_BOTH, s->bytes, 1, &us);
	if (rc == 0)
		rc = job_barrier(s->p->job, "all pairs at once");
	if (rc == 0)
		rc = timed(s->p, peers, n, WAY_BOTH, s->bytes, calls, &us);
	for (int i = 0; i < 2 * plan->npairs; i++)
		if (plan->pairs[i / 2].a == rank || plan->pairs[i / 2].b == rank)
			*pair_us(s->m, PAIR_ALL, s->size, i / 2, i % 2) = us;
	return rc;
}

/* The first messages connect, then one exchange says how many fit into the time. */
static int one_size(struct step *s)
{
	double us = 0;
	int rc = rounds_of(s, 1, &us);

	if (rc == 0)
		rc = rounds_of(s, 2, &us);
	if (rc == 0)
		rc = job_max(s->p->job, &us, 1);
	s->calls = (int)fmin(MOST_CALLS, fmax(TRIES, ceil(s->p->seconds * 1e6 / fmax(us, .1))));
	if (rc == 0)
		rc = rounds_of(s, s->calls, &us);
	for (int i = 0; rc == 0 && i < s->m->plan.npairs; i++)
		rc = pair_alone(s, i);
	return rc < 0 ? rc : all_pairs(s);
}

/* What a rank's own memory gives while all others use theirs, as reductions do: the best slice. */
static int own_memory(const struct pair_probe *p, bool add, double *gbs)
{
	size_t slice = p->pool < SLICE ? p->pool : SLICE;
	int rc = job_barrier(p->job, "adding and copying");
	double least = INFINITY;

	for (int k = 0; rc == 0 && k < SLICES; k++) {
		size_t at = (size_t)k % (p->pool / slice) * slice;
		const float *from = (const float *)(const void *)(p->send + at);
		float *to = (float *)(void *)(p->recv + at);
		double begin = clock_seconds();

		for (size_t i = 0; add && i < slice / sizeof(float); i++)
			to[i] += from[i];
		if (!add)
			memcpy(to, from, slice);
		least = fmin(least, clock_seconds() - begin);
	}
	rc = rc < 0 ? rc : job_max(p->job, &least, 1);
	*gbs = (double)slice / least / 1e9;
	return rc;
}

int pair_probe_run(const struct pair_probe *p, struct pair_matrix *m)
{
	struct step step = { .p = p, .m = m };
	struct job_time former = job_unhurry(p->job, STEP_SECONDS);
	int rc = 0;

	for (step.size = 0; rc == 0 && step.size < m->nsizes; step.size++) {
		step.bytes = (size_t)m->bytes[step.size];
		rc = one_size(&step);
	}
	if (rc == 0 && p->host_memory)
		rc = own_memory(p, false, &m->copy_gbs);
	if (rc == 0 && p->host_memory)
		rc = own_memory(p, true, &m->reduce_gbs);
	if (rc == 0)
		rc = job_max(p->job, m->us, (int)pair_places(m));
	job_hurry(p->job, former);
	return rc;
}
