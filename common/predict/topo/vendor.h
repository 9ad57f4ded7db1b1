/* vendor.h: vendor_specs.csv: vendors' figures, a source per row; and the best of a run beside them
 * (--vendor). */
#pragma once

#include "topo/topo.h"

struct vendor_row {
	const char *category; /* "nvlink_gpu_unidir", "memory_bandwidth", ... */
	const char *item;     /* "H100/H200 SXM5" */
	const char *value;    /* mostly a number */
	const char *unit, *source;
	const char *verified; /* "yes", "partly" or "no" */
	const char *note;
};

/* Hands each row of `path` (NULL: vendor_specs.csv above the folder of specs) to `each`, which
 * returns 0 to go on. The texts live until then. Other lines are passed over. Returns 0, the value
 * of `each`, or -errno with the error set: no file, or no row in it. */
int vendor_each(const char *path, int (*each)(void *ctx, const struct vendor_row *row), void *ctx,
		struct error *err);

/* "verified", "partly verified" or "NOT verified". */
const char *vendor_mark(const struct vendor_row *row);

struct vendor_run {
	const char *device;	       /* product name, "NVIDIA H200"; or of a CPU */
	const struct topo_system *sys; /* the node's links; NULL: unknown */
	/* of the rows so far, GB/s; 0: none */
	double measured, predicted;
	uint64_t measured_size, predicted_size; /* bytes */
};

/* Take a row into account: its size in bytes, its measured and predicted bus bandwidth in GB/s; NaN:
 * none. */
void vendor_run_row(struct vendor_run *run, uint64_t size, double measured, double predicted);

/* Prints a line of the reached speed, then one for each figure of NVLink, memory, PCIe and NIC of
 * such a GPU: GB/s, the reached percent, and whether it is verified. An unknown GPU gets one line
 * that names the known ones. `path` is as for vendor_each. Returns 0, the value of `line`, or
 * -errno with the error set. */
int vendor_run_lines(const struct vendor_run *run, const char *path,
		     int (*line)(void *ctx, const char *text), void *ctx, struct error *err);

/* Returns true when the row is about this machine: its GPU's links and memory, its PCIe, its NICs.
 * `sys` has passed topo_check. */
bool vendor_row_about(const struct topo_system *sys, const struct vendor_row *row);
