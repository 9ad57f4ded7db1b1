/* host_model.c: stages of messages to microseconds. */
#include "topo/host_model.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include "topo/host_stages.h"

const struct host_constants host_constants = {
	/* hangar's hooks, 91 ns (results/2026-11-21-recorder-h200x4), and entering a collective */
	.call_us = .15,
	/* one more message beside another: a request and a header on either side, some 500
	 * instructions at 2 to 3 per ns */
	.message_us = .2,
	/* Open MPI's rendezvous: ready, then (after the read) finished */
	.handshakes = 2,
};

/* ns per byte for each of `active` ranks of a host: as one alone, until all together reach what all
 * ranks reach. */
static double contended(const struct host_model *m, const double alone[HOST_SIZES],
			const double all[HOST_SIZES], double bytes, double active)
{
	double one = host_figure_at(alone, bytes);
	double many = host_figure_at(all, bytes) * active / m->ppn;

	return many > one ? many : one;
}

static bool read_directly(const struct host_model *m, double bytes)
{
	/* the limit counts the header */
	return m->library.path == HOST_SINGLE_COPY && bytes >= m->library.eager &&
	       isfinite(m->figures.read_all[0]);
}

/* ns per byte that a rank spends on what it gets in messages of `bytes`. Two copies: each rank of
 * an exchange makes both, one of what it sends and one of what it gets. */
static double copy_ns(const struct host_model *m, double bytes, double active)
{
	const struct host_figures *f = &m->figures;

	if (read_directly(m, bytes))
		return contended(m, f->read_alone, f->read_all, bytes, active);
	return 2 * contended(m, f->copy_alone, f->copy_all, bytes, active);
}

static double flag_us(const struct host_model *m, const struct host_stage *s)
{
	return s->active < m->nranks ? m->figures.hop_us : m->figures.step_us;
}

/* Add one stage to the prediction. */
static void add_stage(const struct host_model *m, const struct host_request *r,
		      const struct host_stage *s, struct host_prediction *p)
{
	double active = fmin(m->ppn, ceil(s->active / m->nnodes)); /* of one host */
	double each = s->messages > 0 ? s->bytes / s->messages : 0;
	double flags = read_directly(m, each) ? host_constants.handshakes : 1;
	double copy = 0, net = 0, latency = 0;

	if (s->messages > 0) {
		latency = flag_us(m, s) * flags +
			  (s->messages - 1) * host_constants.message_us * m->share;
		copy = s->bytes * copy_ns(m, each, active) / 1e3;
	}
	if (s->far > 0) {
		latency += m->net_us;
		net = s->bytes * s->far * active / m->net_gbs / 1e3;
		/* what crosses hosts is not copied between ranks; the two go on side by side */
		copy *= 1 - s->far;
		copy = copy > net ? copy - net : 0;
	}
	copy += s->local *
		contended(m, m->figures.copy_alone, m->figures.copy_all, s->local, active) / 1e3;
	copy += s->fresh * m->figures.fresh / 1e3;
	p->latency_us += s->repeat * latency;
	p->copy_us += s->repeat * copy;
	p->net_us += s->repeat * net;
	p->reduce_us +=
		s->repeat * s->reduce *
		fmax(m->figures.reduce[r->dtype][r->op],
		     contended(m, m->figures.copy_alone, m->figures.copy_all, s->reduce, active)) /
		1e3;
}

static void add_up(const struct host_model *m, const struct host_request *r,
		   const struct host_plan *plan, struct host_prediction *p)
{
	double largest = 0;

	*p = (struct host_prediction){ .algo = plan->name,
				       .latency_us = host_constants.call_us * m->share };
	for (int i = 0; i < plan->nstages; i++) {
		const struct host_stage *s = &plan->stages[i];

		add_stage(m, r, s, p);
		if (s->messages > 0)
			largest = fmax(largest, s->bytes / s->messages);
	}
	p->way = m->nnodes > 1 ? "net" : read_directly(m, largest) ? "cma" : "copy";
	p->time_us = p->latency_us + p->copy_us + p->net_us + p->reduce_us;
}

/* What one copy of each byte that busbw counts takes, made by all ranks at once. */
static double ceiling(const struct host_model *m, const struct host_request *r)
{
	double ns = host_figure_at(m->figures.copy_all, r->bytes), n = m->nranks, least;

	switch (r->collective) {
	case MODEL_BROADCAST: /* n - 1 copies of everything, by n ranks */
	case MODEL_REDUCE:
		least = (n - 1) / n;
		break;
	case MODEL_GATHER: /* busbw counts (n-1)/n of the bytes, which n ranks move */
	case MODEL_SCATTER:
		least = 1 / n;
		break;
	default:
		least = 1;
	}
	return 1 / (ns * least);
}

int host_predict(const struct host_model *m, const struct host_request *r,
		 struct host_prediction *p)
{
	struct host_plan plans[HOST_PLANS];
	struct host_prediction one;
	double factor;
	int n;

	memset(p, 0, sizeof(*p));
	if (m->nranks < 2 || !(r->bytes > 0))
		return -ERANGE;
	if (m->nnodes > 1 && !(m->net_gbs > 0))
		return -ENOTSUP;
	n = host_plans(m, r, plans);
	for (int i = 0; i < n; i++) {
		add_up(m, r, &plans[i], &one);
		if (i == 0 || one.time_us < p->time_us)
			*p = one;
	}
	if (n == 0 || !isfinite(p->time_us) || !(p->time_us > 0))
		return -ERANGE;
	factor = model_bus_factor(r->collective, m->nranks);
	p->busbw = r->bytes / p->time_us / 1e3 * factor;
	/* two copies of pieces that stay in a cache can beat one of everything */
	p->ceiling_busbw = fmax(ceiling(m, r), p->busbw);
	return 0;
}
