/* host_stages.c: the algorithms that Open MPI 4.1 uses, as stages. Ranks are numbered host by host.
 *
 * n ranks, S bytes (the size column), b = S / n. Step counts: Thakur, Rabenseifner and Gropp,
 * "Optimization of collective communication operations in MPICH" (2005). Which of them Open MPI
 * uses at all: its coll_tuned_decision_fixed.c, of which only the sets are taken, not the sizes: up
 * to 64 ranks, none of them in pieces. */
#include "topo/host_stages.h"

#include <math.h>
#include <string.h>

enum { SCATTER_GATHER_FROM = 16 }; /* ranks: Open MPI 4.1's choice for broadcasts */

struct shape {
	double n, ppn, bytes, share; /* share: a rank's part */
	double steps;		     /* log2 n, rounded up */
	bool several;		     /* hosts */
};

static struct host_plan *begin(struct host_plan *plan, const char *name)
{
	memset(plan, 0, sizeof(*plan));
	plan->name = name;
	return plan;
}

static struct host_stage *add(struct host_plan *plan, double repeat, double active, double messages,
			      double bytes)
{
	struct host_stage *s = &plan->stages[plan->nstages];

	if (plan->nstages < HOST_STAGES - 1)
		plan->nstages++;
	*s = (struct host_stage){
		.repeat = repeat, .active = active, .messages = messages, .bytes = bytes
	};
	return s;
}

/* Bytes that a rank copies to itself. */
static void add_local(struct host_plan *plan, double active, double bytes)
{
	if (bytes > 0)
		add(plan, 1, active, 0, 0)->local = bytes;
}

/* Share of ranks whose partner at that distance sits on another host. */
static double far(const struct shape *h, double distance)
{
	return !h->several ? 0 : distance >= h->ppn ? 1 : distance / h->ppn;
}

/* The same of all partners. */
static double far_any(const struct shape *h)
{
	return (h->n - h->ppn) / (h->n - 1);
}

/* Memory below this is kept by the C library from call to call (M_MMAP_THRESHOLD). */
static double fresh(double bytes)
{
	return bytes >= 128 << 10 ? bytes : 0;
}

/* Exchanges with partners at distances 1, 2, 4...: bytes first, then `ratio` times as many each;
 * each combined with the rank's own when `reduce`. A number of ranks that is no power of two costs
 * two more steps of all bytes. */
static void doubling(struct host_plan *plan, const struct shape *h, double first, double ratio,
		     bool reduce)
{
	double bytes = first, largest = first;

	for (double distance = 1; distance < h->n; distance *= 2) {
		double rest = h->n - distance; /* the last step of a gather moves what is left */
		double now = ratio > 1 && rest < distance ? first * rest : bytes;
		struct host_stage *s = add(plan, 1, h->n, 1, now);

		s->far = far(h, ratio < 1 ? h->n / 2 / distance : distance);
		s->reduce = reduce ? now : 0;
		largest = now > largest ? now : largest;
		bytes *= ratio;
	}
	if (reduce && exp2(floor(log2(h->n))) < h->n) {
		struct host_stage *s = add(plan, 2, h->n / 2, 1, largest);

		s->far = far(h, 1);
		s->reduce = largest / 2; /* in the first of the two */
	}
}

static void ring(struct host_plan *plan, const struct shape *h, bool reduce)
{
	struct host_stage *s = add(plan, h->n - 1, h->n, 1, h->share);

	s->far = far(h, 1);
	s->reduce = reduce ? h->share : 0;
}

/* All bytes down or up a tree: twice as many ranks in each step. */
static void binomial(struct host_plan *plan, const struct shape *h, bool reduce)
{
	for (double active = 1; active < h->n; active *= 2) {
		struct host_stage *s = add(plan, 1, fmin(active, h->n - active), 1, h->bytes);

		s->far = h->several && active * 2 > h->ppn ? 1 : 0;
		s->reduce = reduce ? h->bytes : 0;
	}
}

static int all_reduce(const struct shape *h, const struct host_request *r, struct host_plan *plans)
{
	double own = r->in_place ? 0 : h->bytes;
	struct host_plan *p = begin(&plans[0], "doubling");

	add_local(p, h->n, own);
	doubling(p, h, h->bytes, 1, true);
	p = begin(&plans[1], "ring");
	add_local(p, h->n, own);
	ring(p, h, true);
	ring(p, h, false);
	p = begin(&plans[2], "halving");
	add_local(p, h->n, own);
	doubling(p, h, h->bytes / 2, .5, true);
	doubling(p, h, h->share, 2, false);
	return 3;
}

static int all_gather(const struct shape *h, const struct host_request *r, struct host_plan *plans)
{
	double own = r->in_place ? 0 : h->share;
	struct host_plan *p = begin(&plans[0], "doubling");

	add_local(p, h->n, own);
	doubling(p, h, h->share, 2, false);
	p = begin(&plans[1], "ring");
	add_local(p, h->n, own);
	ring(p, h, false);
	return 2;
}

/* Open MPI has no ring for equal parts. Its operands are copied to memory taken for the call (seen:
 * 1,000 page faults a rank and call of 4 MiB), which other collectives reuse. */
static int reduce_scatter(const struct shape *h, const struct host_request *r,
			  struct host_plan *plans)
{
	struct host_plan *p = begin(&plans[0], "halving");

	(void)r;
	add_local(p, h->n, h->bytes);
	p->stages[0].fresh = fresh(h->bytes);
	doubling(p, h, h->bytes / 2, .5, true);
	add_local(p, h->n, h->share);
	return 1;
}

/* Who gets the data reads them: from one, all others at once. */
static int broadcast(const struct shape *h, const struct host_request *r, struct host_plan *plans)
{
	double own = r->in_place ? 0 : h->bytes; /* the root's, after the call */
	struct host_plan *p = begin(&plans[0], "binomial");

	binomial(p, h, false);
	add_local(p, 1, own);
	p = begin(&plans[1], "linear");
	add(p, 1, h->n - 1, 1, h->bytes)->far = far_any(h);
	add_local(p, 1, own);
	if (h->n < SCATTER_GATHER_FROM)
		return 2;
	p = begin(&plans[2], "scatter-gather");
	doubling(p, h, h->bytes / 2, .5, false);
	doubling(p, h, h->share, 2, false);
	add_local(p, 1, own);
	return 3;
}

static int reduce(const struct shape *h, const struct host_request *r, struct host_plan *plans)
{
	struct host_plan *p = begin(&plans[0], "binomial");
	struct host_stage *s;

	(void)r;
	binomial(p, h, true);
	p = begin(&plans[1], "linear");
	s = add(p, 1, 1, h->n - 1, h->bytes * (h->n - 1));
	s->far = far_any(h);
	s->reduce = h->bytes * (h->n - 1);
	return 2;
}

static int alltoall(const struct shape *h, const struct host_request *r, struct host_plan *plans)
{
	struct host_plan *p = begin(&plans[0], "pairwise");
	struct host_stage *s;

	(void)r;
	add_local(p, h->n, h->share);
	s = add(p, h->n - 1, h->n, 1, h->share);
	s->far = far_any(h);
	p = begin(&plans[1], "linear");
	add_local(p, h->n, h->share);
	s = add(p, 1, h->n, h->n - 1, h->share * (h->n - 1));
	s->far = far_any(h);
	p = begin(&plans[2], "bruck");
	add_local(p, h->n, 2 * h->bytes); /* turned before and after */
	s = add(p, h->steps, h->n, 1, h->bytes / 2);
	s->far = far_any(h);
	return 3;
}

/* The root gets all, or gives it. Who reads does the work: the root of a gather, the others of a
 * scatter. */
static int rooted(const struct shape *h, const struct host_request *r, struct host_plan *plans)
{
	bool gathers = r->collective == MODEL_GATHER;
	double own = r->in_place ? 0 : h->share;
	struct host_plan *p = begin(&plans[0], "linear");
	struct host_stage *s = add(p, 1, gathers ? 1 : h->n - 1, gathers ? h->n - 1 : 1,
				   h->share * (gathers ? h->n - 1 : 1));

	s->far = far_any(h);
	add_local(p, 1, own);
	p = begin(&plans[1], "binomial");
	for (double part = 1, active = h->n / 2; part < h->n; part *= 2, active /= 2) {
		s = add(p, 1, active < 1 ? 1 : active, 1, h->share * fmin(part, h->n - part));
		s->far = h->several && part * 2 > h->ppn ? 1 : 0;
	}
	add_local(p, 1, own);
	return 2;
}

static int sendrecv(const struct shape *h, struct host_plan *plans)
{
	add(begin(&plans[0], "exchange"), 1, h->n, 1, h->bytes)->far = far(h, 1);
	return 1;
}

static int hypercube(const struct shape *h, const struct host_request *r, struct host_plan *plans)
{
	struct host_plan *p = begin(&plans[0], "doubling");

	add_local(p, h->n, r->in_place ? 0 : h->share);
	doubling(p, h, h->share, 2, false);
	return 1;
}

int host_plans(const struct host_model *m, const struct host_request *r,
	       struct host_plan plans[HOST_PLANS])
{
	struct shape h = {
		.n = m->nranks,
		.ppn = m->ppn,
		.bytes = r->bytes,
		.share = r->bytes / m->nranks,
		.steps = ceil(log2(m->nranks)),
		.several = m->nnodes > 1,
	};

	switch (r->collective) {
	case MODEL_ALL_REDUCE:
		return all_reduce(&h, r, plans);
	case MODEL_ALL_GATHER:
		return all_gather(&h, r, plans);
	case MODEL_REDUCE_SCATTER:
		return reduce_scatter(&h, r, plans);
	case MODEL_BROADCAST:
		return broadcast(&h, r, plans);
	case MODEL_REDUCE:
		return reduce(&h, r, plans);
	case MODEL_ALLTOALL:
	case MODEL_ALLTOALLV:
		return alltoall(&h, r, plans);
	case MODEL_GATHER:
	case MODEL_SCATTER:
		return rooted(&h, r, plans);
	case MODEL_SENDRECV:
		return sendrecv(&h, plans);
	case MODEL_HYPERCUBE:
		return hypercube(&h, r, plans);
	case MODEL_COLLS:
		break;
	}
	return 0;
}
