/* inject.c: decides when a fault fires, as a filter in the call chain. */
#include "inject/inject.h"

#include <errno.h>
#include <stdatomic.h>
#include <string.h>

#include "base/clock.h"

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

/* Its ranks and its call, given or not, against the job's. */
static int check_spec(const struct fault_spec *spec, const struct inject_place *place,
		      struct error *err)
{
	const long calls = (long)place->steps * place->step_calls;
	const int last = spec->nranks ? spec->ranks[spec->nranks - 1] : place->nranks - 1;
	const long op = spec->op ? spec->op : (place->default_step - 1L) * place->step_calls + 1;

	if (place->nranks < spec->fault->needs.ranks)
		return error_set(err, OUTCOME_USAGE, -EINVAL,
				 "--fault=%.80s: %s needs %d ranks, the job has %d", spec->text,
				 spec->fault->name, spec->fault->needs.ranks, place->nranks);
	if (last >= place->nranks)
		return error_set(err, OUTCOME_USAGE, -EINVAL,
				 "--fault=%.80s: rank out of range: %d, the job has 0 to %d",
				 spec->text, last, place->nranks - 1);
	if (op > calls)
		return error_set(err, OUTCOME_USAGE, -EINVAL,
				 "--fault=%.80s: call %ld is never reached: the schedule has %ld "
				 "calls, %d in each of %d steps",
				 spec->text, op, calls, place->step_calls, place->steps);
	return 0;
}

int inject_check(const struct injector *injector, const struct inject_place *place,
		 struct error *err)
{
	int rc = 0;

	for (int i = 0; i < injector->nspecs && rc == 0; i++)
		rc = check_spec(&injector->specs[i], place, err);
	return rc;
}

static int place_spec(struct fault_spec *spec, const struct inject_place *place, struct error *err)
{
	char why[360];
	int rc = check_spec(spec, place, err);

	if (rc < 0)
		return rc;
	if (spec->nranks == 0)
		spec->ranks[spec->nranks++] = place->nranks - 1;
	if (spec->op == 0)
		spec->op = (place->default_step - 1L) * place->step_calls + 1;
	if (fault_runs(spec, &place->machine, why, sizeof(why)) < 0)
		return error_set(err, OUTCOME_UNSUPPORTED, -ENOTSUP, "--fault=%.80s: %s %s",
				 spec->text, spec->fault->name, why);
	return 0;
}

static bool spec_names(const struct fault_spec *spec, int rank)
{
	for (int i = 0; i < spec->nranks; i++)
		if (spec->ranks[i] == rank)
			return true;
	return false;
}

int inject_place(struct injector *injector, const struct inject_place *place, struct error *err)
{
	int rc = 0;

	for (int i = 0; i < injector->nspecs && rc == 0; i++)
		rc = place_spec(&injector->specs[i], place, err);
	if (rc < 0)
		return rc;
	injector->rank = place->rank;
	injector->nranks = place->nranks;
	injector->step_calls = place->step_calls;
	injector->machine = place->machine;
	injector->record = place->record;
	for (int i = 0; place->record && i < injector->nspecs; i++)
		if (spec_names(&injector->specs[i], place->rank))
			atomic_fetch_or(&place->record->due, 1u << i);
	return 0;
}

uint32_t inject_meets(const struct injector *injector)
{
	uint32_t steps = 0;
	int culprits = 0;

	for (int i = 0; i < injector->nspecs; i++) {
		const struct fault_spec *spec = &injector->specs[i];

		culprits += spec->nranks;
		if (spec->op >= 1)
			steps |= 1u << (spec->op - 1) / injector->step_calls;
	}
	return culprits > 1 ? steps : 0;
}

int inject_unfired(const struct injector *injector, const struct fault_record *record)
{
	uint32_t left = record ? atomic_load(&record->due) & ~atomic_load(&record->done) : 0;

	for (int i = 0; i < injector->nspecs; i++)
		if (left & 1u << i)
			return i;
	return -1;
}

bool inject_needs(const struct injector *injector, unsigned need)
{
	for (int i = 0; i < injector->nspecs; i++)
		if (injector->specs[i].fault->needs.machine & need)
			return true;
	return false;
}

bool inject_is_culprit(const struct injector *injector)
{
	for (int i = 0; i < injector->nspecs; i++)
		if (injector->rank >= 0 && spec_names(&injector->specs[i], injector->rank))
			return true;
	return false;
}

/* NULL: at init. */
static bool due(const struct injector *injector, const struct fault_spec *spec,
		const struct call *call)
{
	if (injector->rank < 0 || !spec_names(spec, injector->rank))
		return false;
	if (!call || spec->op == FAULT_OP_INIT)
		return !call && spec->op == FAULT_OP_INIT;
	if (spec->fault->sticky)
		return injector->calls >= (uint64_t)spec->op;
	return call->comm == 0 && injector->calls == (uint64_t)spec->op;
}

/* A reader that sees that it fired also sees when. */
static void note(struct fault_record *record, int number)
{
	uint64_t never = 0;

	if (!record)
		return;
	atomic_compare_exchange_strong(&record->fired_ns, &never, clock_ns());
	atomic_fetch_or(&record->done, 1u << number);
	atomic_fetch_add(&record->fired, 1);
}

/* Something is about to be done, or has been: a call, or init. */
struct moment {
	enum fault_when when;
	const struct call *call;
	const struct comm_request *request;
};

static int fire_one(struct injector *injector, const struct fault_spec *spec,
		    const struct moment *moment, struct chain *chain)
{
	struct fault_act act = {
		.spec = spec,
		.call = moment->call,
		.request = moment->request,
		.machine = &injector->machine,
		.chain = chain,
		.rank = injector->rank,
		.nranks = injector->nranks,
	};
	int rc;

	note(injector->record, (int)(spec - injector->specs));
	rc = spec->fault->fire(&act);
	/* the first error stands: the fault's own, or what the library said */
	if (rc < 0 && chain->backend && chain->backend->err)
		error_set(chain->backend->err, OUTCOME_INTERNAL, rc, "fault %s could not act: %s",
			  spec->fault->name, strerror(-rc));
	return rc;
}

/* All that is due fires, in the order of the command line. FAULT_SWALLOW when one of them
 * says so. */
static int fire(struct injector *injector, const struct moment *moment, struct chain *chain)
{
	int verdict = FAULT_PASS;

	for (int i = 0; i < injector->nspecs; i++) {
		const struct fault_spec *spec = &injector->specs[i];
		int rc;

		if (spec->when != moment->when || !due(injector, spec, moment->call))
			continue;
		rc = fire_one(injector, spec, moment, chain);
		if (rc < 0)
			return rc;
		if (rc == FAULT_SWALLOW)
			verdict = FAULT_SWALLOW;
	}
	return verdict;
}

/* Returns true if a fault is to fire while this call is in progress; only then is it waited for. */
static bool wants_flight(const struct injector *injector, const struct call *call)
{
	for (int i = 0; i < injector->nspecs; i++)
		if (injector->specs[i].when == FAULT_INFLIGHT &&
		    due(injector, &injector->specs[i], call))
			return true;
	return false;
}

static int inject_issue(void *state, const struct call *call, struct chain *chain)
{
	struct injector *injector = state;
	int rc;

	if (call->comm == 0)
		injector->calls++;
	rc = fire(injector, &(struct moment){ .when = FAULT_BEFORE, .call = call }, chain);
	if (rc != FAULT_PASS)
		return rc < 0 ? rc : 0;
	rc = chain_emit(chain, call);
	if (rc == 0 && wants_flight(injector, call)) {
		rc = chain_started(chain);
		if (rc == 0)
			rc = fire(injector,
				  &(struct moment){ .when = FAULT_INFLIGHT, .call = call }, chain);
	}
	if (rc >= 0)
		rc = fire(injector, &(struct moment){ .when = FAULT_AFTER, .call = call }, chain);
	return rc < 0 ? rc : 0;
}

static int inject_init_comm(void *state, const struct comm_request *request, struct chain *chain)
{
	struct injector *injector = state;
	int rc =
		fire(injector, &(struct moment){ .when = FAULT_BEFORE, .request = request }, chain);

	if (rc != FAULT_PASS)
		return rc < 0 ? rc : 0;
	rc = chain_emit_init(chain, request);
	if (rc == 0)
		rc = fire(injector, &(struct moment){ .when = FAULT_AFTER, .request = request },
			  chain);
	return rc < 0 ? rc : 0;
}

struct call_filter inject_filter(struct injector *injector)
{
	return (struct call_filter){
		.state = injector,
		.issue = inject_issue,
		.init = inject_init_comm,
	};
}
