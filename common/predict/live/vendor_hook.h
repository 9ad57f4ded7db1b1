/* vendor_hook.h: --vendor of a run: its best row beside vendors' figures of its links. */
#pragma once

#include "measure/run.h"
#include "live/vendor.h"

struct vendor_hook {
	struct vendor_run best;
	struct run_hook hook;
};

/* For struct run, on rank 0. `device` is the GPU's name, `sys` the node's links, NULL where
 * they are not known; `device` and `sys` live as long as the hook. */
const struct run_hook *vendor_hook_open(struct vendor_hook *vendor, const char *device,
					const struct topo_system *sys);
