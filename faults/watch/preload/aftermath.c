/* aftermath.c: the ranks at the verdict beside the ranks now. */
#include "preload/aftermath.h"

#include "base/error.h"
#include "decide/decide_times.h"

#define SETTLE_NS (1000 * MS) /* an abort, and the process' end behind it, look like this before */

void aftermath_begin(struct aftermath *a, const struct decide_rank *ranks, size_t n, uint64_t now)
{
	aftermath_release(a);
	a->ranks = must(calloc(n + 1, sizeof(*a->ranks)));
	a->n = n;
	a->began_ns = now;
	for (size_t i = 0; i < n; i++) {
		const struct rank_view *v = &ranks[i].view;

		a->ranks[i] = (struct aftermath_rank){ v->pid, v->waiting ? v->since_ns : 0,
						       v->heartbeat, view_broke(v) };
		if (v->waiting && v->since_ns && v->since_ns < a->began_ns)
			a->began_ns = v->since_ns;
	}
}

void aftermath_release(struct aftermath *a)
{
	free(a->ranks);
	*a = (struct aftermath){ 0 };
}

static bool ended_well(const struct rank_view *view)
{
	return view->process == PROCESS_EXITED && view->status == 0;
}

static bool moved(const struct aftermath_rank *then, const struct rank_view *now)
{
	if (now->pid != then->pid || (view_broke(now) && !then->broke))
		return false;
	if (now->process != PROCESS_ALIVE)
		return ended_well(now);
	return then->since_ns ? now->since_ns != then->since_ns : now->heartbeat != then->heartbeat;
}

double aftermath_look(struct aftermath *a, const struct decide_rank *ranks, size_t n, uint64_t now)
{
	bool all = a->n > 0 && n >= a->n, over = true;

	for (size_t i = 0; all && i < a->n; i++) {
		all = moved(&a->ranks[i], &ranks[i].view);
		over &= ended_well(&ranks[i].view);
	}
	if (!all)
		a->moved_ns = 0;
	else if (a->moved_ns == 0)
		a->moved_ns = now;
	return all && (over || now - a->moved_ns >= SETTLE_NS)
		       ? ns_seconds(a->moved_ns - a->began_ns)
		       : 0;
}
