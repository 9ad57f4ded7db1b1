/* vendor.h: vendor_specs.csv: vendors' figures; the best of a run beside them (--vendor). */
#pragma once

#include "measure/run.h"
#include "topo/topo.h"

struct vendor_run {
	const char *device;	       /* product name, "NVIDIA H200"; or of a CPU */
	const struct topo_system *sys; /* the node's links; NULL: unknown */
	/* of the rows so far, GB/s; 0: none */
	double measured, predicted;
	uint64_t measured_size, predicted_size; /* bytes */
};

/* Take a row into account: its bytes, its measured and predicted busbw in GB/s; NaN: none. */
void vendor_run_row(struct vendor_run *run, uint64_t size, double measured, double predicted);

/* Prints a line of the reached speed, then one for each figure of NVLink, memory, PCIe and NIC of such
 * a GPU: GB/s, the reached percent, and whether it is verified. An unknown GPU gets one line that names
 * the known ones. `path` NULL is vendor_specs.csv above the folder of specs. Returns 0, the value of
 * `line`, or -errno with the error set: no file, or no row in it. */
int vendor_run_lines(const struct vendor_run *run, const char *path,
		     int (*line)(void *ctx, const char *text), void *ctx, struct error *err);

struct vendor_hook {
	struct vendor_run best;
	struct run_hook hook;
};

/* For struct run, on rank 0. `device` is the GPU's name, `sys` the node's links, NULL where
 * they are not known; `device` and `sys` live as long as the hook. */
const struct run_hook *vendor_hook_open(struct vendor_hook *vendor, const char *device,
					const struct topo_system *sys);
