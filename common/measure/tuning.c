/* tuning.c: one more iteration of a point, and what it shows. */
#include "measure/tuning.h"

#include "nccl_log/nccl_choice.h"
#include "topo/model.h"

/* Kinds that are not made of sends and receives: what can be estimated. */
enum {
	COLLECTIVES = 1u << CALL_ALL_REDUCE | 1u << CALL_ALL_GATHER | 1u << CALL_REDUCE_SCATTER |
		      1u << CALL_BROADCAST | 1u << CALL_REDUCE
};

/* Filter: passes every call on and notes its kind. */
static int note_kind(void *state, const struct call *call, struct chain *chain)
{
	*(unsigned *)state |= 1u << call->kind;
	return chain_emit(chain, call);
}

/* Into the row's used fields. */
static void note_used(const struct backend_used *used, struct row *row)
{
	struct nccl_choice choice = { .algo = used->p2p ? model_algo_names[MODEL_P2P] : NULL,
				      .channels = -1 };

	if (used->log)
		nccl_choice_read(&choice, used->log, used->len);
	row->used_algo = choice.algo;
	row->used_proto = choice.proto;
	row->used_channels = choice.channels;
}

/* *kinds: the kinds of calls that an iteration is made of. Its deadline is that of a first call: what
 * logs may be slow. */
static int use(struct timing *t, const struct checked_slot *checked, unsigned *kinds,
	       struct row *row)
{
	struct bench *bench = t->plan->bench;
	struct backend *be = bench->backend;
	const struct call_filter *filter = bench->chain.filter,
				 note = { .state = kinds, .issue = note_kind };
	struct backend_used used = { .log = NULL };
	int rc = be->ops->tuning->begin(be), end;

	bench->chain.filter = &note;
	if (rc == 0)
		rc = timing_once(t, checked, timing_deadline(0, 0));
	bench->chain.filter = filter;
	end = be->ops->tuning->end(be, *kinds, &used);
	rc = rc < 0 ? rc : end;
	if (rc == 0)
		note_used(&used, row);
	free(used.log);
	return rc;
}

/* Not recorded: these calls are never carried out. */
static int estimate(struct timing *t, struct row *row)
{
	struct bench *bench = t->plan->bench;
	struct backend *be = bench->backend;
	struct chain chain = bench->chain;
	double us = NAN;
	int rc, end;

	watch_enter(bench->watch, "the library's estimate", timing_deadline(0, 0));
	bench->chain.watch = NULL;
	rc = be->ops->tuning->estimate_begin(be);
	if (rc == 0) {
		rc = timing_issue(t, 0, NULL);
		end = be->ops->tuning->estimate_end(be, &us);
		rc = rc < 0 ? rc : end;
	}
	bench->chain = chain;
	watch_leave(bench->watch);
	row->nccl_estimate_us = us / bench->options->agg_iters;
	return rc;
}

int tuning_probe(struct timing *t, const struct checked_slot *checked, struct row *row)
{
	const struct backend_ops *ops = t->plan->bench->backend->ops;
	unsigned kinds = 0;
	int rc;

	row_nothing_used(row);
	if (!ops->tuning)
		return checked ? timing_once(t, checked, 0) : 0;
	rc = use(t, checked, &kinds, row);
	if (rc == 0 && kinds && !(kinds & ~(unsigned)COLLECTIVES))
		rc = estimate(t, row);
	return rc;
}
