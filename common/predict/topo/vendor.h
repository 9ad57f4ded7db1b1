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

/* Hand each row of `path` (NULL: vendor_specs.csv above the folder of specs) to `each`, which
 * returns 0 to go on; the texts are its only until then. Lines that are no rows are passed over.
 * 0, what `each` returned, or -errno with the error set: no file, or no row in it. */
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

/* One line for what was reached, then one for each figure of NVLink and memory of boards with this GPU,
 * of its PCIe and NIC: GB/s, what was reached of it in percent, and whether it is verified; or that
 * there is none. A GPU that nobody knows gets one line that names the known. `path` as for vendor_each. 0, what `line`
 * returned, or -errno with the error set. */
int vendor_run_lines(const struct vendor_run *run, const char *path,
		     int (*line)(void *ctx, const char *text), void *ctx, struct error *err);

/* Returns true when the row is about this machine: its GPU's links and memory, its PCIe, its NICs.
 * `sys` has passed topo_check. */
bool vendor_row_about(const struct topo_system *sys, const struct vendor_row *row);
