/* drop_rank.c: the rank stays alive and idle, and never calls again. */
#include <errno.h>
#include <time.h>

#include "fault.h"

static int fire(const struct fault_act *act)
{
	const struct timespec hour = { .tv_sec = 3600 };
	int rc;

	(void)act;
	do
		rc = clock_nanosleep(CLOCK_MONOTONIC, 0, &hour, NULL);
	while (rc == 0 || rc == EINTR);
	return -rc;
}

const struct fault fault_drop_rank = {
	.name = "drop-rank",
	.help = "alive, idle, never calls again",
	.source = "jax-ml/jax#38503: one rank alive but out of the collective, all others wait for "
		  "ever",
	.needs = { .ranks = 2, .communicators = 1 },
	.where = FAULT_AT_CALL | FAULT_AT_INIT,
	.mpi = "hang",
	.nccl = "hang",
	.fire = fire,
};
