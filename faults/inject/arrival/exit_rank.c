/* exit_rank.c: the rank's process ends in an orderly way, in the middle of the run. */

#include "inject/fault.h"
#include "base/parse.h"

static int fire(const struct fault_act *act)
{
	const char *text = fault_arg(act->spec, "code");
	int64_t code = 0;
	int rc = text ? parse_int(text, 0, 255, &code) : 0;

	if (rc < 0)
		return rc;
	/* Not exit(): handlers of MPI and CUDA would tell the others, or wait for them. */
	_exit((int)code);
}

const struct fault fault_exit_rank = {
	.name = "exit-rank",
	.help = "its process exits (status 0)",
	.source = "NCCL 2.31 docs/examples/08_ras/01_fault_detection --type exit",
	.args = "code=STATUS",
	.where = FAULT_AT_BOTH,
	.any_when = true,
	.mpi = "died",
	.nccl = "died",
	.fire = fire,
};
