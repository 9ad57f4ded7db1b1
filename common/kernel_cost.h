/* kernel_cost.h: what an empty kernel costs on this host, now. */
#ifndef HANGAR_KERNEL_COST_H
#define HANGAR_KERNEL_COST_H

/* Medians in microseconds: the host per launch in a row of them, the device per kernel in such a row, and from before a
 * launch on an idle stream until the host has seen its end. */
struct kernel_cost {
	double host_us, device_us, latency_us;
};

#endif
