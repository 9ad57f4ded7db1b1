/* p2p_unmatched.c: a send that nobody receives, or a receive to which nobody sends. */

#include "inject/calls/change.h"

/* The other half of what the call is: what it reads or writes is its own buffer. */
static int fire(const struct fault_act *act)
{
	const char *how = fault_arg(act->spec, "how");
	struct call call = *act->call;
	void *buffer = call.recv ? call.recv : (void *)call.send;
	int rc;

	call.kind = !how ? call.kind : strcmp(how, "send") == 0 ? CALL_SEND : CALL_RECV;
	call.send = call.kind == CALL_SEND ? buffer : NULL;
	call.recv = call.kind == CALL_RECV ? buffer : NULL;
	rc = chain_emit(act->chain, &call);
	return rc < 0 ? rc : FAULT_PASS;
}

const struct fault fault_p2p_unmatched = {
	.name = "p2p-unmatched",
	.help = "makes one send or receive more, to which its partner has no part",
	.source = "NCCL user guide, point-to-point communication: each send has its receive",
	.args = "how=send|recv",
	.schedule = "p2p",
	.kinds = KIND_PAIR,
	.mpi = "hang|error|wrong-data|diverged|ok|died",
	.nccl = "hang|error|wrong-data|diverged|ok",
	.fire = fire,
};
