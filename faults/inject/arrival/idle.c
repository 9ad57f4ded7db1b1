/* idle.c: what several faults share: ways to fire, and which calls they are about. */
#include <time.h>

#include "inject/fault.h"

int fault_idle(const struct fault_act *act)
{
	const struct timespec hour = { .tv_sec = 3600 };
	int rc;

	do
		rc = clock_nanosleep(CLOCK_MONOTONIC, 0, &hour, NULL);
	while (rc == 0 || rc == EINTR);
	return -rc;
}

int fault_swallow(const struct fault_act *act)
{
	return FAULT_SWALLOW;
}

int fault_hold(const struct fault_act *act)
{
	return FAULT_HOLD;
}

bool fault_ungrouped(const struct planned_call *call)
{
	return !call->grouped;
}
