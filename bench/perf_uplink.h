/* perf_uplink.h: how the monitors of a run's hosts find each other. */
#pragma once

#include "perf_report.h"

/* Passes the address of rank 0's monitor to those of the other hosts, through their ranks. The
 * launcher's network carries it if possible, so that the monitors know each other before ranks rely
 * on MPI's network. Call it between job_open and job_join. Not collective. */
void uplink_meet(struct rank *r);

/* The same over MPI, to all ranks of a run on several hosts. Collective. Returns 0 or a negative
 * errno with the error set. */
int uplink_spread(struct rank *r);
