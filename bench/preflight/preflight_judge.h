/* preflight_judge.h: hosts beside each other, and the host that bad pairs have in common. Pure. */
#pragma once

#include "machine/health_report.h"

/* Sets hosts beside each other: versions, limits, settings, GPUs. `first` and `local`: ranks. */
void preflight_compare(struct reading *hosts, int n);

/* Adds each pair to the host that is in more bad pairs than its other end, or to a host of its own
 * where both are in as many ("a or b", "several hosts"). Returns the number of hosts, `hosts` has room for two more. */
int preflight_blame(const struct health *health, struct reading *hosts, int n,
		    const struct reading *pairs, int npairs);
