/* kernel_cost.h: the current cost of an empty kernel on this host. */
#pragma once

/* Medians in microseconds: host time per launch in a row, and from a launch on an idle stream until
 * the host sees its end. The device's own rate does not show: the host is slower. */
struct kernel_cost {
	double host_us, latency_us;
};

/* A run's note on its launches, for --calibrate; "%.2f us, %.2f us to its end" follows. */
#define KERNEL_COST_SAID "a launch takes the host "
