/* order.c: calls in another order, in other groups or graphs, or that do not meet their partners. */
#include "inject/fault.h"

static int hold(const struct fault_act *act)
{
	return FAULT_HOLD;
}

static bool ungrouped(const struct planned_call *call)
{
	return !call->grouped;
}

static bool swaps_behind(const struct call *held, const struct call *next)
{
	return next->comm == held->comm;
}

const struct fault fault_swap_calls = {
	.name = "swap-calls",
	.applies = ungrouped,
	.behind = swaps_behind,
	FAULT_PARTS,
	.fire = hold,
};

static bool order_swap_behind(const struct call *held, const struct call *next)
{
	return next->comm != held->comm;
}

const struct fault fault_order_swap = {
	.name = "order-swap",
	.schedule = "pairs",
	.applies = ungrouped,
	.behind = order_swap_behind,
	FAULT_ENDS("hang|diverged|ok"),
	.fire = hold,
};

static bool group_unbalanced_applies(const struct planned_call *planned)
{
	return planned->grouped;
}

const struct fault fault_group_unbalanced = {
	.name = "group-unbalanced",
	.schedule = "mixed",
	.applies = group_unbalanced_applies,
	.mpi = "hang|wrong-data|diverged",
	.nccl = "hang|error|wrong-data|diverged",
	.fire = fault_swallow,
};

/* The op is the first call of the graph: from there on ranks differ. */
static bool graph_replay_applies(const struct planned_call *planned)
{
	return planned->step > SCHEDULE_WARMUP && planned->opens;
}

static enum launch_verdict graph_replay_launch(const struct fault_spec *spec)
{
	return fault_says(spec, "how", "other") ? LAUNCH_OTHER : LAUNCH_NOTHING;
}

const struct fault fault_graph_replay = {
	.name = "graph-replay",
	.args = "how=less|other",
	.needs = { .machine = NEED_GPU, .graph = true },
	.applies = graph_replay_applies,
	.launch = graph_replay_launch,
	.nccl = "hang|error|wrong-data|diverged",
};

/* The other half of what the call is: what it reads or writes is its own buffer. */
static int p2p_unmatched_fire(const struct fault_act *act)
{
	struct call call = *act->call;
	void *buffer = call.recv ? call.recv : (void *)call.send;

	if (fault_arg(act->spec, "how"))
		call.kind = fault_says(act->spec, "how", "send") ? CALL_SEND : CALL_RECV;
	call.send = call.kind == CALL_SEND ? buffer : NULL;
	call.recv = call.kind == CALL_RECV ? buffer : NULL;
	return chain_emit(act->chain, &call);
}

const struct fault fault_p2p_unmatched = {
	.name = "p2p-unmatched",
	.args = "how=send|recv",
	.schedule = "p2p",
	.kinds = KIND_PAIR,
	.mpi = "hang|error|wrong-data|diverged|ok|died",
	.nccl = "hang|error|wrong-data|diverged|ok",
	.fire = p2p_unmatched_fire,
};

static bool p2p_peer_applies(const struct planned_call *planned)
{
	return planned->nranks > 2;
}

/* The next rank that is neither itself nor the right one. */
static int p2p_peer_fire(const struct fault_act *act)
{
	struct call call = *act->call;
	int n = act->comms->spans[call.comm].n;
	int self = comm_set_rank(act->comms, call.comm, act->rank);

	do
		call.peer = (call.peer + 1) % n;
	while (call.peer == self);
	return fault_replace(act, &call);
}

const struct fault fault_p2p_peer = {
	.name = "p2p-peer",
	.needs = { .ranks = 3 },
	.schedule = "p2p",
	.kinds = KIND_PAIR,
	.applies = p2p_peer_applies,
	FAULT_PARTS,
	.fire = p2p_peer_fire,
};

static bool p2p_deadlock_behind(const struct call *held, const struct call *next)
{
	return next->comm == held->comm && call_is_pair(next->kind) && next->kind != held->kind &&
	       next->peer == held->peer;
}

const struct fault fault_p2p_deadlock = {
	.name = "p2p-deadlock",
	.schedule = "p2p",
	.kinds = KIND_PAIR,
	.applies = ungrouped,
	.behind = p2p_deadlock_behind,
	.args = "outcome=hang|silent",
	FAULT_ENDS("hang|diverged|ok"),
	.fire = hold,
};
