/* rule_deviation.c: the rules about calls that are other than most ranks'. */
#include <signal.h>

#include "diagnose/rule.h"
#include "record/verdict.h"

bool rule_plan(const struct rule_ctx *ctx, struct finding *f)
{
	return ctx->plan->followed && ctx->plan->few && report_differences(ctx, f);
}

bool rule_deviation(const struct rule_ctx *ctx, struct finding *f)
{
	return !ctx->settled && report_differences(ctx, f);
}

/* Returns true if the rank went on behind call `seq` of a captured graph: its wait for it is over, it launched
 * a later one, ended, or waits for its device. */
static bool went_on(const struct rule_ctx *ctx, int rank, uint64_t seq)
{
	const struct rank_view *v = &ctx->evidence->ranks[rank].view;
	const struct record *r = progress_call(ctx->comm, rank, seq);

	if (record_done(r, v->completed))
		return true;
	while ((r = progress_call(ctx->comm, rank, ++seq)))
		if (r->replays > 0)
			return true;
	if (view_finished(v))
		return v->outcome != OUTCOME_ERROR || v->error_code == 0;
	return v->device_wait == RECORD_DEVICE_AWAITED;
}

/* Marks the ranks that launched call `seq` less often than the others, and went on. `least`: how often, of one of
 * them. */
static void mark_fewer(const struct rule_ctx *ctx, struct finding *f, uint64_t seq, uint32_t *most,
		       uint32_t *least)
{
	const struct record *r;

	*most = *least = 0;
	for (int i = 0; i < ctx->comm->nranks; i++) {
		r = progress_call(ctx->comm, i, seq);
		*most = r && r->replays > *most ? r->replays : *most;
	}
	for (int i = 0; i < ctx->comm->nranks; i++) {
		r = progress_call(ctx->comm, i, seq);
		if (!r || r->replays == *most || !went_on(ctx, i, seq))
			continue;
		*least = r->replays;
		rank_set_add(&f->culprits, i);
	}
}

static bool any_replays(const struct evidence *e)
{
	for (int i = 0; i < e->nranks; i++)
		if (e->ranks[i].view.last.ticket && e->ranks[i].view.last.replays > 0)
			return true;
	return false;
}

bool rule_replays(const struct rule_ctx *ctx, struct finding *f)
{
	const struct progress_comm *a = ctx->comm;
	uint64_t seq = a->base, end = any_replays(ctx->evidence) ? a->base + a->span : 0;
	uint32_t most = 0, least = 0;
	char times[16], others[16];
	bool tie;

	while (seq < end && f->culprits.n == 0)
		mark_fewer(ctx, f, seq++, &most, &least);
	if (f->culprits.n == 0)
		return false;
	seq--;
	tie = 2 * f->culprits.n >= (size_t)a->nranks;
	finding_place(f, a->comm, seq, seq, progress_hang_point(ctx->comm));
	snprintf(times, sizeof(times), "%u", least);
	snprintf(others, sizeof(others), "%u", most);
	finding_differ(f, "replays", times, others);
	finding_note(f,
		     "The graph of call %" PRIu64
		     " of communicator %u: launched %u times, by others %u "
		     "times.",
		     seq, a->comm, least, most);
	if (tie)
		rank_set_clear(&f->culprits);
	f->reasons |= reason_if(tie, REASON_NO_MAJORITY);
	finding_conclude(ctx, f, CLASS_REPLAY, CONFIDENCE_MAJORITY);
	return true;
}

/* Returns true if every rank that died did so by a signal of its own making, within a call or when it
 * cleaned up behind an error that it reported. Then the call may have killed it: arguments that do not fit those of the others, met by a library
 * that gives up. */
static bool died_in_calls(const struct evidence *e)
{
	static const int own[] = { SIGABRT, SIGSEGV, SIGBUS, SIGFPE, SIGILL };
	size_t dead = 0;

	for (int i = 0; i < e->nranks; i++) {
		const struct evidence_rank *r = &e->ranks[i];
		bool by_itself = false;

		if (!r->present || !view_died(&r->view))
			continue;
		for (size_t k = 0; k < sizeof(own) / sizeof(own[0]); k++)
			by_itself |= r->view.process == PROCESS_KILLED && r->view.status == own[k];
		if (!by_itself || r->ncalls == 0 ||
		    (r->calls[r->ncalls - 1].state != RECORD_ISSUING && !r->view.error[0]))
			return false;
		dead++;
	}
	return dead > 0;
}

bool rule_died_in_call(const struct rule_ctx *ctx, struct finding *f)
{
	return died_in_calls(ctx->run) && report_differences(ctx, f);
}
