/* vendor.h: vendor_specs.csv: vendors' figures, a source per row. */
#pragma once

#include "base/error.h"

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
