/* counters.h: what a host's network, RDMA ports and GPUs have counted: read at one moment, and what
 * lies between two. */
#ifndef HANGAR_COUNTERS_H
#define HANGAR_COUNTERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct nvml;

enum {
	COUNTERS_MOST = 1024,	    /* entries; more are left out */
	COUNTERS_BYTES = 128 << 10, /* as JSON; longer texts are not ours */
};

/* Parts that are not interfaces: "TCP"; "RDMA mlx5_0:1", a device's port; "NVML"; "GPU 2", in the
 * order of nvidia-smi. */
struct counter {
	char part[40]; /* interfaces by their names: "eth0" */
	char name[24]; /* "rx_dropped" */
	int64_t value; /* from 0 on; what a machine does not tell is not in the list */
};

struct counters {
	char host[64];
	/* of a reading: CLOCK_MONOTONIC; of a difference: between the two, 0: there was but one */
	double seconds;
	char why[96];	      /* why nothing of GPUs is here; "": it is, or nobody asked for it */
	struct counter *list; /* owned */
	size_t n;
};

void counters_release(struct counters *counters);

/* The value, or -1. */
int64_t counters_value(const struct counters *counters, const char *part, const char *name);

/* Add an entry or change it; a negative value, or too long a name, is none. 0 or -ENOMEM. */
int counters_set(struct counters *counters, const char *part, const char *name, int64_t value);

/* Add what can be read now, and when; `root` is put before /proc and /sys: "" outside of tests.
 * What cannot be read is left out. TCP and interfaces are those of this process' network
 * namespace. */
void counters_read_host(struct counters *counters, const char *root);

/* The same of all GPUs that NVML shows, whoever uses them; `nvml` as nvml_open left it. Asking a
 * driver that is stuck may take for ever. */
void counters_read_gpus(struct counters *counters, const struct nvml *nvml);

/* What happened between two readings of one host: counters that both have, the later one's less
 * the earlier one's, without those that ran backwards; and what is no counter but a state
 * ("clock_reasons": NVML's bits, "remap_pending" and "remap_failed": 0 or 1, "gpus": how many), as
 * it was later. A GPU or RDMA port that tells nothing any more, though it was asked, has "gone" 1:
 * interfaces of containers come and go, so theirs say nothing. `earlier` may be empty. The caller
 * releases what is in `between`. 0 or -ENOMEM. */
int counters_between(const struct counters *earlier, const struct counters *later,
		     struct counters *between);

/* As JSON, version 1, in one line or `indent`ed; the caller frees; NULL without memory. */
char *counters_text(const struct counters *counters, bool indent);

/* Add what stands in one or several such texts. Nothing in them is trusted: 0; -EINVAL: cut off, or
 * no such text; what stood before that has been added; -ENOMEM. */
int counters_parse(struct counters *counters, const char *text);

#endif
