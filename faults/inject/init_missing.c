/* init_missing.c: the rank never calls communicator init. */
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

const struct fault fault_init_missing = {
	.name = "init-missing",
	.help = "alive, never calls communicator init: the others wait in it",
	.source = "NVIDIA/nccl#582: an exception on one rank before init, all others wait in "
		  "bootstrap",
	.needs = { .ranks = 2, .communicators = 1 },
	.where = FAULT_AT_INIT,
	.only_before = true,
	.mpi = "hang",
	.nccl = "hang",
	.fire = fire,
};
