/* kernel_cost.h: what an empty kernel costs on this host, now. */
#pragma once

/* Medians in microseconds: the host per launch in a row of them, and from before a launch on an
 * idle stream until the host has seen its end. (How fast the device gets through such a row does
 * not show: the host is slower.) */
struct kernel_cost {
	double host_us, latency_us;
};
