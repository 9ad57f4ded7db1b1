/* inject.c: decides when a fault fires, as a filter in the call chain. */
#include "inject.h"

#include <errno.h>
#include <stdatomic.h>
#include <string.h>

#include "clock.h"

int inject_init(struct injector *injector, const char *const *texts, int n, struct error *err)
{
	int rc = 0;

	*injector = (struct injector){ .rank = -1 };
	if (n > INJECT_MAX)
		return error_set(err, OUTCOME_USAGE, -EINVAL, "--fault: given %d times, at most %d",
				 n, INJECT_MAX);
	for (int i = 0; i < n && rc == 0; i++)
		rc = fault_parse(&injector->specs[i], texts[i], err);
	injector->nspecs = rc == 0 && n > 0 ? n : 0;
	return rc;
}

static int place_spec(struct fault_spec *spec, int nranks, long default_op, struct error *err)
{
	int last;

	if (nranks < spec->fault->min_ranks)
		return error_set(err, OUTCOME_USAGE, -EINVAL,
				 "--fault=%.80s: %s needs %d ranks, the job has %d", spec->text,
				 spec->fault->name, spec->fault->min_ranks, nranks);
	if (spec->nranks == 0)
		spec->ranks[spec->nranks++] = nranks - 1;
	if (spec->op == 0)
		spec->op = default_op;
	last = spec->ranks[spec->nranks - 1];
	if (last >= nranks)
		return error_set(err, OUTCOME_USAGE, -EINVAL,
				 "--fault=%.80s: rank out of range: %d, the job has 0 to %d",
				 spec->text, last, nranks - 1);
	return 0;
}

int inject_place(struct injector *injector, int rank, int nranks, long default_op,
		 struct fault_record *record, struct error *err)
{
	int rc = 0;

	for (int i = 0; i < injector->nspecs && rc == 0; i++)
		rc = place_spec(&injector->specs[i], nranks, default_op, err);
	if (rc < 0)
		return rc;
	injector->rank = rank;
	injector->nranks = nranks;
	injector->default_op = default_op;
	injector->record = record;
	return 0;
}

static bool spec_names(const struct fault_spec *spec, int rank)
{
	for (int i = 0; i < spec->nranks; i++)
		if (spec->ranks[i] == rank)
			return true;
	return false;
}

bool inject_guilty(const struct injector *injector)
{
	for (int i = 0; i < injector->nspecs; i++)
		if (injector->rank >= 0 && spec_names(&injector->specs[i], injector->rank))
			return true;
	return false;
}

static bool due(const struct injector *injector, const struct fault_spec *spec,
		const struct call *call)
{
	if (injector->rank < 0 || spec->op < 1 || !spec_names(spec, injector->rank))
		return false;
	if (spec->fault->sticky)
		return injector->calls >= (uint64_t)spec->op;
	return call->comm == 0 && injector->calls == (uint64_t)spec->op;
}

/* Who sees that it fired also sees when. */
static void note(struct fault_record *record)
{
	uint64_t never = 0;

	if (!record)
		return;
	atomic_compare_exchange_strong(&record->fired_ns, &never, clock_ns());
	atomic_fetch_add(&record->fired, 1);
}

/* All that is due fires, in the order of the command line. FAULT_SWALLOW when one of them says so. */
static int fire(struct injector *injector, enum fault_when when, const struct call *call,
		struct chain *chain)
{
	int verdict = FAULT_PASS;

	for (int i = 0; i < injector->nspecs; i++) {
		const struct fault_spec *spec = &injector->specs[i];
		struct fault_act act = { spec, call, chain, injector->rank, injector->nranks };
		int rc;

		if (spec->when != when || !due(injector, spec, call))
			continue;
		note(injector->record);
		rc = spec->fault->fire(&act);
		if (rc < 0) {
			if (chain->backend && chain->backend->err)
				error_set(chain->backend->err, OUTCOME_INTERNAL, rc,
					  "fault %s could not act: %s", spec->fault->name,
					  strerror(-rc));
			return rc;
		}
		if (rc == FAULT_SWALLOW)
			verdict = FAULT_SWALLOW;
	}
	return verdict;
}

static int inject_issue(void *state, const struct call *call, struct chain *chain)
{
	struct injector *injector = state;
	int rc;

	if (call->comm == 0)
		injector->calls++;
	rc = fire(injector, FAULT_BEFORE, call, chain);
	if (rc < 0)
		return rc;
	if (rc == FAULT_SWALLOW)
		return 0;
	rc = chain_emit(chain, call);
	if (rc < 0)
		return rc;
	rc = fire(injector, FAULT_AFTER, call, chain);
	return rc < 0 ? rc : 0;
}

struct call_filter inject_filter(struct injector *injector)
{
	return (struct call_filter){ .state = injector, .issue = inject_issue };
}
