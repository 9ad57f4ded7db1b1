/* rule_process.c: the rules about how a rank's process is: dead, stopped, out of device memory. */
#include <errno.h>
#include <signal.h>

#include "diagnose/host.h"
#include "diagnose/place.h"
#include "diagnose/rules.h"
#include "diagnose/words.h"
#include "record/verdict.h"

static enum diagnosis_class death_class(const struct rank_view *v)
{
	return v->process == PROCESS_EXITED ? CLASS_EXITED
	       : v->status != SIGKILL	    ? CLASS_CRASHED
	       : v->oom_kills > 0	    ? CLASS_OOM
					    : CLASS_KILLED;
}

bool rule_dead(const struct rule_ctx *ctx, struct finding *f)
{
	enum diagnosis_class class = CLASS_OUTCOME;
	bool mixed = false;

	for (int signals = 1; signals >= 0 && f->culprits.n == 0; signals--)
		for (int i = 0; i < ctx->evidence->nranks; i++) {
			const struct rank_view *v = &ctx->evidence->ranks[i].view;
			enum diagnosis_class how = death_class(v);

			if (!ctx->evidence->ranks[i].present || !view_died(v))
				continue;
			mixed = mixed || (class && class != how);
			if (signals && v->process != PROCESS_KILLED)
				continue; /* who merely exited may have followed */
			class = class ? class : how;
			mark_culprit(&f->culprits, i);
		}
	if (f->culprits.n == 0)
		return false;
	place_missing(ctx, f);
	finding_conclude(ctx, f, class, mixed ? "inconclusive" : "proved");
	note_missing_too(ctx, f);
	if (class == CLASS_OOM)
		finding_note(f, "The kernel counts a kill for lack of memory in its cgroup.");
	return true;
}

bool rule_stopped(const struct rule_ctx *ctx, struct finding *f)
{
	const struct evidence *e = ctx->evidence;

	for (int i = 0; i < e->nranks; i++)
		if (e->ranks[i].present && is_stopped(&e->ranks[i]))
			mark_culprit(&f->culprits, i);
	if (f->culprits.n == 0)
		return false;
	place_missing(ctx, f);
	finding_conclude(ctx, f, CLASS_STOPPED, "proved");
	note_missing_too(ctx, f);
	return true;
}

bool rule_device_memory(const struct rule_ctx *ctx, struct finding *f)
{
	for (int i = 0; i < ctx->evidence->nranks; i++) {
		const struct rank_view *v = &ctx->evidence->ranks[i].view;

		if (!ctx->evidence->ranks[i].present || !view_finished(v) ||
		    v->outcome != OUTCOME_ERROR || v->error_code != -ENOMEM)
			continue;
		mark_culprit(&f->culprits, i);
		if (f->culprits.n == 1)
			finding_note(f, "Rank %d gave up: %.200s", rank_number(ctx->evidence, i),
				     v->error);
	}
	if (f->culprits.n == 0)
		return false;
	place_missing(ctx, f);
	finding_conclude(ctx, f, CLASS_GPU_OOM, "proved");
	note_missing_too(ctx, f);
	return true;
}

bool rule_reported(const struct rule_ctx *ctx, struct finding *f)
{
	f->class = CLASS_OUTCOME;
	f->confidence = ctx->outcome == OUTCOME_OK ? "proved" : "inconclusive";
	for (int i = 0; i < ctx->evidence->nranks && ctx->outcome != OUTCOME_OK; i++) {
		const struct rank_view *v = &ctx->evidence->ranks[i].view;

		if (view_finished(v) && v->outcome == (int)ctx->outcome)
			mark_culprit(&f->culprits, i);
	}
	return true;
}
