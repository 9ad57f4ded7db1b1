/* absent.c: a rank does not come to a call, comes late, or makes more or fewer calls than the others. */

#include "backend/call.h"
#include "inject/fault.h"

_Noreturn static int stay_idle(const struct fault_act *act)
{
	const struct timespec hour = { .tv_sec = 3600 };

	for (;;)
		clock_nanosleep(CLOCK_MONOTONIC, 0, &hour, NULL);
}

const struct fault fault_drop_rank = {
	.name = "drop-rank",
	FAULT_ANY_MOMENT,
	FAULT_ENDS("hang"),
	.fire = stay_idle,
};

const struct fault fault_init_missing = {
	.name = "init-missing",
	.where = FAULT_AT_INIT,
	FAULT_ENDS("hang"),
	.fire = stay_idle,
};

static int come_late(const struct fault_act *act)
{
	const double delay = fault_real(act->spec, "delay", 0.2);
	struct timespec left = { .tv_sec = (time_t)delay, .tv_nsec = (long)(fmod(delay, 1) * 1e9) };

	while (clock_nanosleep(CLOCK_MONOTONIC, 0, &left, &left) == EINTR)
		;
	return FAULT_PASS;
}

const struct fault fault_late_rank = {
	.name = "late-rank",
	.args = "delay=SECONDS",
	FAULT_ANY_MOMENT,
	FAULT_ENDS("ok|hang"),
	.fire = come_late,
};

const struct fault fault_skip_call = {
	.name = "skip-call",
	/* Open MPI calls the longer one of two shifted messages truncated. */
	.mpi = "hang|error|died|wrong-data",
	.nccl = "hang|wrong-data",
	.fire = fault_swallow,
};

const struct fault fault_early_exit = {
	.name = "early-exit",
	.sticky = true,
	/* A rank that only sends to the absent one may get through; that one's check sees it. */
	FAULT_ENDS("hang|wrong-data"),
	.fire = fault_swallow,
};

static int call_twice(const struct fault_act *act)
{
	return chain_emit(act->chain, act->call);
}

const struct fault fault_extra_call = {
	.name = "extra-call",
	/* Open MPI calls the longer one of two shifted messages truncated. A rank that only sends a
	 * small message is through before another rank receives. */
	.mpi = "hang|error|died|wrong-data|diverged|ok",
	.nccl = "hang|wrong-data",
	.fire = call_twice,
};

static int call_another(const struct fault_act *act)
{
	const struct call *call = act->call;
	const bool reduces = call->kind == CALL_ALL_REDUCE;
	/* In place, one byte of the buffer that the rank's own call is about to write (a send has
	 * none; its byte changes only if another rank answers). */
	void *byte = call->recv ? call->recv : (void *)call->send;
	struct call extra = {
		.comm = call->comm,
		/* Both need an answer: a broadcast's root could be through without one. */
		.kind = reduces ? CALL_REDUCE : CALL_ALL_REDUCE,
		.send = byte,
		.recv = byte,
		.count = 1,
		.dtype = DT_UINT8,
		.op = OP_SUM,
		.peer = reduces ? comm_set_rank(act->comms, call->comm, act->rank) : -1,
		.stream = call->stream,
		.offset = call->offset,
	};

	return byte ? chain_emit(act->chain, &extra) : -EINVAL;
}

const struct fault fault_conditional_call = {
	.name = "conditional-call",
	.mpi = "hang",
	.nccl = "hang|wrong-data",
	.fire = call_another,
};

/* Later calls would be on a communicator that is gone, so none is made. */
static int abort_comm(const struct fault_act *act)
{
	struct backend *be = act->chain->backend;

	return fault_swallowed(be->ops->comm_abort(be));
}

const struct fault fault_abort_one = {
	.name = "abort-one",
	.needs = { .machine = NEED_GPU },
	.sticky = true,
	/* Over sockets the end of a connection tells the neighbours. */
	.nccl = "hang|error|wrong-data",
	.fire = abort_comm,
};
