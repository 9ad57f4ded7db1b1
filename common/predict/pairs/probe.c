/* probe.c: messages between pairs: one pair at a time, disjoint pairs, all at once. */
#include "pairs/probe.h"

#include <sys/mman.h>

#include "base/clock.h"
#include "base/stats.h"

#define PEERS_AT_ONCE 128
#define PING_PONG     65536 /* bytes: up to here one message waits for the one before */
#define MOST_CALLS    50    /* between two waits: half the recorder's ring, of each peer */
#define STEP_SECONDS  30.0  /* no step takes as long, first use of a peer included */
#define ROTATION      64    /* slots that messages rotate through, as calls of a batch do */
#define TRIES	      3
#define SLICE	      ((size_t)1 << 20) /* that is added up or copied */
#define SLICES	      64

enum way { WAY_OUT = 1, WAY_IN = 2, WAY_BOTH = 3, WAY_PONG = 4 };

/* One size of one matrix, and where the next message lies in the pools. */
struct step {
	const struct pair_probe *p;
	struct pair_matrix *m;
	enum pair_load load;
	int size, calls;
	size_t bytes, at;
	char *kept; /* room for two of the largest messages */
	bool turn;  /* of PAIR_READ, which sends what it has just got */
};

static int message(struct step *s, int peer, bool out, void *into)
{
	struct call call = { .kind = out ? CALL_SEND : CALL_RECV,
			     .send = !out		    ? NULL
				     : s->load == PAIR_KEPT ? s->kept + s->bytes
				     : s->load == PAIR_READ ? (s->turn ? s->p->recv : s->p->send)
							    : s->p->send + s->at,
			     .recv = out    ? NULL
				     : into ? into
					    : s->p->recv + s->at,
			     .count = s->bytes,
			     .dtype = DT_INT8,
			     .op = OP_NONE,
			     .peer = peer,
			     .offset = s->at };

	return chain_call(s->p->chain, &call);
}

/* As malloc gives large pieces, without its learning of this one's size. */
static void *new_memory(size_t bytes)
{
	void *map = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	return map == MAP_FAILED ? must(NULL) : map;
}

/* To and from each of the peers at once; what comes goes into the pool, or where the load says. */
static int exchange(struct step *s, const int *peers, int n, int ways)
{
	size_t stride = (s->bytes + 511) / 512 * 512;
	size_t room = ROTATION * stride < s->p->pool ? ROTATION * stride : s->p->pool;
	void *into = s->load == PAIR_KEPT   ? s->kept
		     : s->load != PAIR_READ ? NULL
		     : s->turn		    ? s->p->send
					    : s->p->recv;
	int rc, end;

	if (s->load == PAIR_NEW)
		into = new_memory(s->bytes);
	rc = chain_group_begin(s->p->chain);
	for (int i = 0; rc == 0 && i < n; i++) {
		if (s->at + stride > room) /* also of a size before */
			s->at = 0;
		if (ways & WAY_OUT)
			rc = message(s, peers[i], true, NULL);
		if (rc == 0 && ways & WAY_IN)
			rc = message(s, peers[i], false, into);
		s->at += stride;
	}
	end = chain_group_end(s->p->chain);
	s->turn = !s->turn;
	if (s->load == PAIR_NEW)
		munmap(into, s->bytes);
	return rc < 0 ? rc : end;
}

/* Microseconds of an exchange, of `calls` of them one after the other, in the best of three tries: a rank
 * that was not let run says nothing of links. Of a message there and, when it has come, back: half. */
static int timed(struct step *s, const int *peers, int n, int ways, int calls, double *us)
{
	struct backend *be = s->p->chain->backend;
	bool pong = ways & WAY_PONG;
	int rc = 0, each = (calls + TRIES - 1) / TRIES;

	*us = INFINITY;
	watch_enter(s->p->watch, "messages between pairs", STEP_SECONDS);
	for (int try = 0; rc == 0 && try < (calls < TRIES ? 1 : TRIES); try++) {
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
		*us = fmin(*us, (clock_seconds() - begin) / each * (pong ? .5e6 : 1e6));
	}
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

/* The pairs of each of the first rounds at once; `slowest`: of this rank's. The last times are kept. */
static int rounds_of(struct step *s, enum pair_load load, int calls, int most, double *slowest)
{
	const struct pair_plan *plan = &s->m->plan;
	int rc = 0;

	s->load = load;
	*slowest = 0;
	for (int round = 0; rc == 0 && round < plan->nrounds && round < most; round++) {
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
	if (rc < 0 || s->p->brief)
		return rc;
	s->load = PAIR_BOTH;
	rc = timed(s, &peer, 1, WAY_BOTH, s->calls, &us);
	keep(s, i, us);
	return rc;
}

/* All peers in one group; a message has taken as long as the group. */
static int all_pairs(struct step *s)
{
	const struct pair_plan *plan = &s->m->plan;
	int peers[PEERS_AT_ONCE], n = 0, rank = s->p->job->rank, rc = 0;
	int calls[] = { 1, (int)fmax(TRIES, s->calls / fmax(1, plan->n - 1)) };
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

/* The first messages connect, the next say how many fit into the time. */
static int one_size(struct step *s)
{
	double us = 0;
	int own = s->p->brief ? 2 : INT_MAX; /* rounds of what hosts have alike */
	int rc = rounds_of(s, PAIR_DISJOINT, 1, INT_MAX, &us);

	if (rc == 0)
		rc = rounds_of(s, PAIR_DISJOINT, 2, INT_MAX, &us);
	if (rc == 0)
		rc = job_max(s->p->job, &us, 1);
	s->calls = (int)fmin(MOST_CALLS, fmax(2 * TRIES, ceil(s->p->seconds * 1e6 / fmax(us, .1))));
	if (rc == 0)
		rc = rounds_of(s, PAIR_DISJOINT, s->calls, INT_MAX, &us);
	for (int load = PAIR_KEPT; rc == 0 && s->p->host_memory && load < PAIR_LOADS; load++)
		rc = rounds_of(s, (enum pair_load)load, s->calls, own, &us);
	for (int i = 0; rc == 0 && i < s->m->plan.npairs; i++)
		rc = pair_alone(s, i);
	return rc < 0 ? rc : all_pairs(s);
}

/* Its first byte makes a page. */
static void touch(void)
{
	char *fresh = new_memory(SLICE);

	for (size_t i = 0; i < SLICE; i += 4096)
		fresh[i] = 1;
	munmap(fresh, SLICE);
}

/* GB/s that a rank's own memory gives while all others use theirs: copying, adding to it what lies in a
 * cache, as what has just come does, or being new. The slowest rank's median. */
enum use { COPY, ADD, FRESH };

static int own_memory(const struct pair_probe *p, enum use use, double *gbs)
{
	int rc = job_barrier(p->job, "adding and copying");
	bool add = use == ADD;
	struct stats stats;
	double seconds[SLICES];

	for (int k = 0; rc == 0 && k < SLICES; k++) {
		size_t at = (size_t)k * SLICE % (p->pool - SLICE + 1);
		const float *from = (const float *)(const void *)(p->send + (add ? 0 : at));
		float *to = (float *)(void *)(p->recv + at);
		double begin = clock_seconds();

		for (size_t i = 0; add && i < SLICE / sizeof(float); i++)
			to[i] += from[i];
		if (use == COPY)
			memcpy(to, from, SLICE);
		if (use == FRESH)
			touch();
		seconds[k] = clock_seconds() - begin;
	}
	if (rc == 0)
		(void)stats_compute(seconds, SLICES, &stats);
	rc = rc < 0 ? rc : job_max(p->job, &stats.median, 1);
	*gbs = (double)SLICE / stats.median / 1e9;
	return rc;
}

int pair_probe_run(const struct pair_probe *p, struct pair_matrix *m)
{
	struct step step = { .p = p, .m = m };
	struct job_time former = job_unhurry(p->job, STEP_SECONDS);
	size_t kept = 2 * (size_t)m->bytes[m->nsizes - 1];
	int rc = 0;

	if (p->host_memory)
		step.kept = new_memory(kept);
	for (step.size = 0; rc == 0 && step.size < m->nsizes; step.size++) {
		step.bytes = (size_t)m->bytes[step.size];
		rc = one_size(&step);
	}
	if (step.kept)
		munmap(step.kept, kept);
	if (rc == 0 && p->host_memory)
		rc = own_memory(p, COPY, &m->copy_gbs);
	if (rc == 0 && p->host_memory)
		rc = own_memory(p, ADD, &m->reduce_gbs);
	if (rc == 0 && p->host_memory)
		rc = own_memory(p, FRESH, &m->fresh_gbs);
	if (rc == 0)
		rc = job_max(p->job, m->us, (int)pair_places(m));
	job_hurry(p->job, former);
	return rc;
}
