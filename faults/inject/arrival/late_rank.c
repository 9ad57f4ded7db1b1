/* late_rank.c: the rank comes to the call late, and then makes it. */
#include <time.h>

#include "inject/fault.h"
#include "base/parse.h"

static int fire(const struct fault_act *act)
{
	const char *text = fault_arg(act->spec, "delay");
	struct timespec until;
	double delay = 0.2;
	int rc = text ? parse_real(text, 0, 86400, &delay) : 0;

	if (rc < 0)
		return rc;
	clock_gettime(CLOCK_MONOTONIC, &until);
	delay += (double)until.tv_nsec * 1e-9;
	until.tv_sec += (time_t)delay;
	until.tv_nsec = (long)((delay - (double)(time_t)delay) * 1e9);
	do
		rc = clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL);
	while (rc == EINTR);
	return rc ? -rc : FAULT_PASS;
}

const struct fault fault_late_rank = {
	.name = "late-rank",
	.help = "comes late (0.2 s): no fault under the deadline, a hang over it",
	.source = "meta-pytorch/torchtune#2093: a timeout while a checkpoint is saved",
	.args = "delay=SECONDS",
	.where = FAULT_AT_BOTH,
	.any_when = true,
	.mpi = "ok|hang",
	.nccl = "ok|hang",
	.fire = fire,
};
