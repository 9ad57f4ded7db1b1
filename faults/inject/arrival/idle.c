/* idle.c: what a rank does that stays alive and does nothing more. */
#include <errno.h>
#include <time.h>

#include "inject/fault.h"

int fault_idle(const struct fault_act *act)
{
	const struct timespec hour = { .tv_sec = 3600 };
	int rc;

	(void)act;
	do
		rc = clock_nanosleep(CLOCK_MONOTONIC, 0, &hour, NULL);
	while (rc == 0 || rc == EINTR);
	return -rc;
}
