/* kernel_cost.h: the current cost of an empty kernel, and of a call, on this host. */
#pragma once

/* Medians in microseconds: host time per launch in a row, and from a launch on an idle stream until
 * the host sees its end; the device's own rate does not show: the host is slower. call_us: host time
 * to enqueue an all_reduce of 8 bytes in a row of them; 0: not measured. */
struct kernel_cost {
	double host_us, latency_us, call_us;
};

/* A run's note on its launches, for --calibrate; "%.2f us, %.2f us to its end, an all_reduce of 8 B
 * %.2f us" follows. */
#define KERNEL_COST_SAID "a launch takes the host "
