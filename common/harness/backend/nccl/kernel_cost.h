/* kernel_cost.h: what an empty kernel costs on this host, now. */
#pragma once

/* Medians in microseconds: the host per launch in a row of them, and from before a launch on an
 * idle stream until the host has seen its end. (How fast the device gets through such a row does
 * not show: the host is slower.) */
struct kernel_cost {
	double host_us, latency_us;
};

/* The remark of a run on its launches, which topo_predict --calibrate reads: then "%.2f us, %.2f us
 * to its end". */
#define KERNEL_COST_SAID "a launch takes the host "
