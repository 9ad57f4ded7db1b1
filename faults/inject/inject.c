/* inject.c: decides when a fault fires, as a filter in the call chain. */
#include "inject/inject.h"

#include <stdatomic.h>

#include "base/clock.h"

#define SHORTEST_DEADLINE 0.5 /* seconds (measure/timing.h) */
#define COMMAND_SECONDS	  2.0 /* in which a user's command ends, and a rank is late */

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

/* Compares the spec's ranks and needs with the job. */
static int check_ranks(const struct fault_spec *spec, const struct inject_place *place,
		       struct error *err)
{
	const struct fault *fault = spec->fault;
	const int last = spec->nranks ? spec->ranks[spec->nranks - 1] : place->nranks - 1;
	const bool graph = place->schedule->options->mode == MODE_GRAPH;

	if (place->nranks < fault_ranks(fault))
		return fault_usage(err, spec, "%s needs %d ranks, the job has %d", fault->name,
				   fault_ranks(fault), place->nranks);
	if (last >= place->nranks)
		return fault_usage(err, spec, "rank out of range: %d, the job has 0 to %d", last,
				   place->nranks - 1);
	if (fault->needs.graph && !graph)
		return fault_usage(err, spec, "%s needs --mode graph", fault->name);
	if (graph && spec->when != FAULT_BEFORE)
		return fault_usage(err, spec,
				   "when= is about calls as they run, not in --mode graph");
	if (place->schedule->options->split_kind != SPLIT_NONE &&
	    (fault->kinds || fault->applies || fault->behind))
		return fault_usage(err, spec, "%s can't be combined with NCCL_TESTS_SPLIT",
				   fault->name);
	if (spec->slow.to >= place->nranks)
		return fault_usage(err, spec, "to=%d is no rank of the job, which has 0 to %d",
				   spec->slow.to, place->nranks - 1);
	if (fault->slow && spec->slow.to >= 0 && fault_names(spec, spec->slow.to, place->nranks))
		return fault_usage(err, spec, "to=%d is the rank itself", spec->slow.to);
	if ((fault->needs.stream || spec->slow.on_gpu) && graph)
		return fault_usage(err, spec, "%s acts on calls as they run, not in --mode graph",
				   fault->name);
	return 0;
}

static bool applies(const struct fault *fault, const struct agenda *agenda, int i)
{
	const struct planned_call *call = &agenda->calls[i];
	bool followed = !fault->behind;

	/* a rank that is alone cannot differ from others */
	if (call->nranks == 1 && (fault->kinds || fault->applies || !followed))
		return false;
	if ((fault->kinds && !(fault->kinds & 1u << call->call.kind)) ||
	    (fault->applies && !fault->applies(call)))
		return false;
	for (int k = i + 1; k < agenda->n && !followed; k++)
		followed = fault->behind(&call->call, &agenda->calls[k].call);
	return followed;
}

/* The first call from `step` on that the fault applies to; -1: none. */
static int find_call(const struct fault *fault, const struct agenda *agenda, int step)
{
	for (int i = 0; i < agenda->n; i++)
		if (agenda->calls[i].step >= step && applies(fault, agenda, i))
			return i;
	return -1;
}

/* The number from 0 of the call of `rank` at which the spec fires; or -EINVAL with the error. */
static int check_op(const struct fault_spec *spec, const struct inject_place *place, int rank,
		    const struct agenda *agenda, struct error *err)
{
	const struct fault *fault = spec->fault;
	int at = spec->op ? (int)(spec->op - 1) : find_call(fault, agenda, place->default_step);

	if (spec->op > agenda->n)
		return fault_usage(err, spec,
				   "call %ld is never reached: rank %d makes %d calls in the "
				   "schedule",
				   spec->op, rank, agenda->n);
	if (at >= 0 && applies(fault, agenda, at))
		return at;
	if (at < 0)
		return fault_usage(err, spec,
				   "%s applies to none of the %d calls that rank %d makes from "
				   "step %d on (another --schedule may have such calls)",
				   fault->name, agenda->n, rank, place->default_step);
	return fault_usage(err, spec,
			   "%s does not apply to call %ld of rank %d; the first that it applies "
			   "to: %d (0: none)",
			   fault->name, spec->op, rank, find_call(fault, agenda, 1) + 1);
}

static int lacking(const struct fault_spec *spec, const char *why, struct error *err)
{
	return error_set(err, OUTCOME_UNSUPPORTED, -ENOTSUP, "--fault=%.80s: %s %s", spec->text,
			 spec->fault->name, why);
}

/* The last rank, or all of them; of more than FAULT_MAX_RANKS the last. */
static void default_ranks(struct fault_spec *spec, int nranks)
{
	int n = !spec->fault->everywhere ? 1 : nranks < FAULT_MAX_RANKS ? nranks : FAULT_MAX_RANKS;

	for (; spec->nranks < n; spec->nranks++)
		spec->ranks[spec->nranks] = nranks - n + spec->nranks;
}

static uint64_t calls_of_step(const struct agenda *agenda, int at)
{
	uint64_t n = 0;

	for (int i = 0; i < agenda->n; i++)
		n += agenda->calls[i].step == agenda->calls[at].step;
	return n;
}

/* Finds the call and the way of every culprit: fills in op (that of place->rank, if it is one), way, and the step's
 * bit in *meets. `runs`: the needs of the machine are checked, too. */
static int resolve(struct fault_spec *spec, const struct inject_place *place, bool runs,
		   uint32_t *meets, struct error *err)
{
	const long given = spec->op;
	long op = given;
	char why[360];
	int rc = check_ranks(spec, place, err);

	if (rc == 0 && runs && fault_runs(spec, &place->machine, why, sizeof(why)) < 0)
		rc = lacking(spec, why, err);
	if (rc == 0 && spec->nranks == 0)
		default_ranks(spec, place->nranks);
	for (int i = 0; i < spec->nranks && rc == 0 && given != FAULT_OP_INIT; i++) {
		struct agenda agenda;
		int at;

		/* all groups of NCCL_TESTS_SPLIT have the same agenda */
		if (place->agenda)
			place->agenda(place->ctx, spec->ranks[i], &agenda);
		else
			schedule_agenda(place->schedule,
					spec->ranks[i] % place->schedule->comms.group_size,
					&agenda);
		at = check_op(spec, place, spec->ranks[i], &agenda, err);
		rc = at < 0 ? at : 0;
		if (rc == 0) {
			/* a slow rank keeps no other culprit from its call */
			if (!spec->fault->slow && agenda.calls[at].step <= SCHEDULE_STEPS)
				*meets |= 1u << (agenda.calls[at].step - 1);
			if (i == 0 || spec->ranks[i] == place->rank) {
				op = at + 1;
				spec->step_calls = calls_of_step(&agenda, at);
			}
		}
		if (rc == 0 && place->machine.transport &&
		    fault_choose_way(spec, &place->machine, &agenda.calls[at], why, sizeof(why)) <
			    0)
			rc = lacking(spec, why, err);
		agenda_release(&agenda);
	}
	spec->op = op;
	return rc;
}

/* Resolves all specs. A rank can hold back one call only. */
static int resolve_all(struct injector *injector, const struct inject_place *place, bool runs,
		       uint32_t *meets, struct error *err)
{
	int n = 0, rc = 0;

	for (int i = 0; i < injector->nspecs; i++)
		n += injector->specs[i].fault->behind != NULL;
	if (n > 1)
		return error_usage(
			err, "--fault: %d of them make calls in another order; at most one can", n);
	*meets = 0;
	for (int i = 0; i < injector->nspecs && rc == 0; i++)
		rc = resolve(&injector->specs[i], place, runs, meets, err);
	return rc;
}

int inject_check(const struct injector *injector, const struct inject_place *place,
		 struct error *err)
{
	struct injector copy = *injector;
	uint32_t meets;

	return resolve_all(&copy, place, false, &meets, err);
}

int inject_place(struct injector *injector, const struct inject_place *place, struct error *err)
{
	int culprits = 0, rc = resolve_all(injector, place, true, &injector->meets, err);

	if (rc < 0)
		return rc;
	for (int i = 0; i < injector->nspecs; i++)
		culprits += injector->specs[i].nranks;
	injector->rank = place->rank;
	injector->nranks = place->nranks;
	injector->meets = culprits > 1 ? injector->meets : 0;
	injector->machine = place->machine;
	injector->comms = place->schedule->comms;
	injector->record = place->record;
	for (int i = 0; place->record && i < injector->nspecs; i++)
		if (fault_names(&injector->specs[i], place->rank, place->nranks))
			atomic_fetch_or(&place->record->due, 1u << i);
	return 0;
}

char *inject_describe(const struct injector *injector, int i, char *buf, size_t len)
{
	const struct fault_spec *spec = &injector->specs[i];

	snprintf(buf, len, "%s: rank %d%s", spec->fault->name, spec->ranks[0],
		 spec->nranks > 1 ? " and others" : "");
	if (spec->op != FAULT_OP_INIT)
		text_add(buf, len, ", %scall %ld", spec->fault->slow ? "from " : "", spec->op);
	for (int k = 0; k < spec->nargs; k++)
		text_add(buf, len, ", %s=%s", spec->args[k].key, spec->args[k].value);
	if (spec->way.outcome[0] && !(spec->way.transports & WAY_UNSURE))
		text_add(buf, len, ": should come to outcome=%s", spec->way.outcome);
	return buf;
}

int inject_unfired(const struct injector *injector, const struct fault_record *record)
{
	uint32_t left = record ? atomic_load(&record->due) & ~atomic_load(&record->done) : 0;

	for (int i = 0; i < injector->nspecs; i++)
		if (left & 1u << i)
			return i;
	return -1;
}

double inject_patience(const struct injector *injector)
{
	double factor = 1;

	for (int i = 0; i < injector->nspecs; i++) {
		if (injector->specs[i].fault->slow) /* two pauses may meet in one wait */
			factor += injector->specs[i].slow.share +
				  2 * injector->specs[i].slow.seconds / SHORTEST_DEADLINE;
		if (strcmp(injector->specs[i].fault->name, "command") == 0)
			factor += COMMAND_SECONDS / SHORTEST_DEADLINE;
	}
	return factor;
}

bool inject_slows(const struct injector *injector)
{
	for (int i = 0; i < injector->nspecs; i++)
		if (!injector->specs[i].fault->slow)
			return false;
	return injector->nspecs > 0;
}

bool inject_needs(const struct injector *injector, unsigned need)
{
	for (int i = 0; i < injector->nspecs; i++)
		if (injector->specs[i].fault->needs.machine & need)
			return true;
	return false;
}

/* A slow link delays sends to its other end, which is the next rank unless to= is given. */
static bool slows(const struct injector *injector, const struct fault_spec *spec,
		  const struct call *call)
{
	const struct slowdown *slow = &spec->slow;
	int to = slow->to >= 0 ? slow->to : (injector->rank + 1) % injector->nranks;

	if (slow->kind == SLOW_LINK &&
	    (call->kind != CALL_SEND ||
	     comm_set_member(&injector->comms, call->comm, call->peer) != to))
		return false;
	return slowdown_due(slow, injector->calls - (uint64_t)spec->op, spec->step_calls,
			    injector->rank, injector->nranks);
}

/* Returns true if the spec fires at this call (NULL: init). */
static bool due(const struct injector *injector, const struct fault_spec *spec,
		const struct call *call)
{
	if (injector->rank < 0 || !fault_names(spec, injector->rank, injector->nranks))
		return false;
	if (!call || spec->op == FAULT_OP_INIT)
		return !call && spec->op == FAULT_OP_INIT;
	if (spec->fault->slow)
		return injector->calls >= (uint64_t)spec->op && slows(injector, spec, call);
	if (spec->fault->sticky)
		return injector->calls >= (uint64_t)spec->op;
	return injector->calls == (uint64_t)spec->op;
}

/* Notes the call at which the first fault fires. */
static void note_place(const struct injector *injector)
{
	struct fault_record *record = injector->record;

	if (!record || atomic_load(&record->fired_ns) != 0)
		return;
	atomic_store(&record->comm, injector->comm);
	atomic_store(&record->seq, injector->made[injector->comm]);
}

/* The place and time are stored before the count: a reader of the count finds them. */
static void note(const struct injector *injector, int number)
{
	struct fault_record *record = injector->record;

	if (!record)
		return;
	if (!injector->specs[number].fault->launch)
		note_place(injector);
	if (atomic_load(&record->fired_ns) == 0)
		atomic_store(&record->fired_ns, clock_ns());
	atomic_fetch_or(&record->done, 1u << number);
	atomic_fetch_add(&record->fired, 1);
}

/* A call or init that is about to be made, is in progress, or has been made. */
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
		.record = injector->record,
		.comms = &injector->comms,
		.chain = chain,
		.rank = injector->rank,
		.nranks = injector->nranks,
		.since = injector->left > 0 ? clock_seconds() - injector->left : 0,
	};
	int rc;

	note(injector, (int)(spec - injector->specs));
	rc = spec->fault->fire(&act);
	/* the first error stands: that of the fault or of the library */
	if (rc < 0 && chain->backend && chain->backend->err)
		error_set(chain->backend->err, OUTCOME_INTERNAL, rc, "fault %s could not act: %s",
			  spec->fault->name, strerror(-rc));
	return rc;
}

/* A call that is held back until another one has been made. */
struct held {
	const struct fault *fault;
	struct call call;
	size_t counts[]; /* alltoallv's four arrays, which the caller takes back */
};

static void hold(struct injector *injector, const struct fault *fault, const struct call *call)
{
	const size_t *arrays[] = { call->send_counts, call->send_at, call->recv_counts,
				   call->recv_at };
	size_t n = call->kind == CALL_ALLTOALLV ? (size_t)injector->nranks : 0;
	struct held *held = must(malloc(sizeof(*held) + 4 * n * sizeof(held->counts[0])));

	*held = (struct held){ .fault = fault, .call = *call };
	for (size_t i = 0; i < 4 && n > 0; i++)
		memcpy(held->counts + i * n, arrays[i], n * sizeof(held->counts[0]));
	held->call.send_counts = held->counts;
	held->call.send_at = held->counts + n;
	held->call.recv_counts = held->counts + 2 * n;
	held->call.recv_at = held->counts + 3 * n;
	injector->held = held;
}

/* `call` has just been made: makes the held call, if it waited for this one. */
static int let_go(struct injector *injector, const struct call *call, struct chain *chain)
{
	struct held *held = injector->held;
	int rc;

	if (!held || !held->fault->behind(&held->call, call))
		return 0;
	injector->held = NULL;
	rc = chain_emit(chain, &held->call);
	free(held);
	return rc;
}

/* Fires all faults that are due, in the order of the command line. FAULT_SWALLOW if one does. */
static int fire(struct injector *injector, const struct moment *moment, struct chain *chain)
{
	int verdict = FAULT_PASS;

	for (int i = 0; i < injector->nspecs; i++) {
		const struct fault_spec *spec = &injector->specs[i];
		int rc;

		if (spec->when != moment->when || !due(injector, spec, moment->call))
			continue;
		if (spec->fault->launch) { /* at the launch of its graph */
			note_place(injector);
			continue;
		}
		rc = fire_one(injector, spec, moment, chain);
		if (rc < 0)
			return rc;
		if (rc == FAULT_HOLD)
			hold(injector, spec->fault, moment->call);
		if (rc == FAULT_HOLD || rc == FAULT_SWALLOW)
			verdict = FAULT_SWALLOW;
	}
	return verdict;
}

/* Returns true if a fault fires while this call is in progress. Only then its start is waited for. */
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
	bool waits;
	int rc;

	injector->calls++;
	injector->comm = call->comm;
	injector->made[call->comm]++;
	waits = injector->held != NULL;
	rc = fire(injector, &(struct moment){ .when = FAULT_BEFORE, .call = call }, chain);
	injector->left = clock_seconds();
	if (rc < 0)
		return rc;
	/* the held call waited for this one, also if it is not made */
	if (rc != FAULT_PASS)
		return waits ? let_go(injector, call, chain) : 0;
	rc = chain_emit(chain, call);
	if (rc == 0)
		rc = let_go(injector, call, chain);
	if (rc == 0 && wants_flight(injector, call)) {
		rc = chain->backend->ops->started(chain->backend);
		if (rc == 0)
			rc = fire(injector,
				  &(struct moment){ .when = FAULT_INFLIGHT, .call = call }, chain);
	}
	if (rc >= 0)
		rc = fire(injector, &(struct moment){ .when = FAULT_AFTER, .call = call }, chain);
	return rc < 0 ? rc : 0;
}

/* Decides about a launch of the graph that was captured last. */
static enum launch_verdict inject_launch(void *state)
{
	struct injector *injector = state;
	enum launch_verdict verdict = LAUNCH_IT;

	for (int i = 0; i < injector->nspecs; i++) {
		const struct fault_spec *spec = &injector->specs[i];

		if (!spec->fault->launch || injector->rank < 0 ||
		    !fault_names(spec, injector->rank, injector->nranks) ||
		    spec->op <= injector->launched || spec->op > (long)injector->calls)
			continue;
		note(injector, i);
		verdict = spec->fault->launch(spec);
	}
	injector->launched = (long)injector->calls;
	return verdict;
}

/* Faults at init break the communicator of all ranks. */
static int inject_init_comm(void *state, const struct comm_request *request, struct chain *chain)
{
	struct injector *injector = state;
	int rc = request->comm ? FAULT_PASS
			       : fire(injector,
				      &(struct moment){ .when = FAULT_BEFORE, .request = request },
				      chain);

	if (rc != FAULT_PASS)
		return rc < 0 ? rc : 0;
	rc = chain_emit_init(chain, request);
	if (rc == 0 && !request->comm)
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
		.launch = inject_launch,
	};
}

int inject_start(const struct injector *injector, int rank, int nranks, size_t bytes,
		 struct error *err)
{
	int again = 0;

	for (int i = 0; i < injector->nspecs; i++) {
		const struct fault_spec *spec = &injector->specs[i];
		int rc = 0;

		if (spec->fault->start && fault_names(spec, rank, nranks))
			rc = spec->fault->start(spec, bytes);
		if (rc < 0)
			return error_set(err, OUTCOME_USAGE, rc, "--fault=%.200s: %s", spec->text,
					 strerror(-rc));
		again |= rc == FAULT_AGAIN;
	}
	return again;
}
