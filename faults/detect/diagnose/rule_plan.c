/* rule_plan.c: sends and receives, told apart by kind and amount, where all ranks follow one plan. */
#include "diagnose/rule.h"

#define POINTED_MAX 8 /* ranks for whom is asked who waits for them */

/* Returns true if the deviation of one rank may be that from a plan. Where each follows one of
 * its own it says nothing. */
static bool is_of_plan(const struct rule_ctx *ctx, const struct deviation *one, int rank,
		       size_t odd)
{
	if (one->kind != DEVIATION_SKIPPED && one->kind != DEVIATION_EXTRA)
		return false;
	return one->agreed >= PLAN_MIN ||
	       (odd < POINTED_MAX &&
		progress_points_at(ctx->comm, rank, one->kind == DEVIATION_EXTRA));
}

void plan_find(const struct rule_ctx *ctx, struct plan *plan)
{
	const struct progress_comm *a = ctx->comm;
	size_t odd = 0;

	if (a->tie && (a->tie < a->base + PLAN_MIN || !a->sided))
		return;
	for (int i = 0; i < a->nranks; i++) {
		struct deviation one = progress_deviation(a, i);

		if (one.kind == DEVIATION_NONE)
			continue;
		if (!is_of_plan(ctx, &one, i, odd))
			return;
		odd++;
	}
	plan->followed = true;
	plan->few = odd * 2 < (size_t)a->nranks + a->sided;
}

bool rule_plan(const struct rule_ctx *ctx, struct finding *f)
{
	return ctx->plan->followed && ctx->plan->few && find_deviation(ctx, f);
}
