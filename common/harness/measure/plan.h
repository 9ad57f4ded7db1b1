/* plan.h: one point in one placement, ready to run: shape, slots, expected data and calls. */
#pragma once

#include "measure/bench.h"
#include "check/check.h"
#include "measure/sweep.h"

/* Lower bound of any host's rate of preparing or comparing data, per rank; for deadlines. */
#define CHECK_BYTES_PER_SECOND 50e6

struct plan {
	struct bench *bench;
	const struct collective *collective;
	uint32_t comm;
	struct geometry geometry; /* rank and nranks in the communicator */
	struct shape shape;
	struct check_data data;
	bool in_place;
	size_t slot_bytes;	  /* bytes of a pool per call, with the misalignment of -u */
	size_t shift_bytes;	  /* -u */
	struct segment *segments; /* expected content of the receive buffer; owned */
	int nsegments;
};

/* Returns the geometry of a point on rank `rank` of the group; plan_init uses the own. */
struct geometry plan_geometry(const struct bench *bench, const struct point *point, int rank);

/* Returns 0, -ENODATA if the size gives a rank nothing, or a negative errno with the error set. */
int plan_init(struct plan *plan, struct bench *bench, const struct point *point, bool in_place);
void plan_release(struct plan *plan);

/* Issues the call once, on slot `index` of the rotation. */
int plan_issue(struct plan *plan, size_t index);

struct checked_slot {
	size_t index;
	bool spare;   /* in place, with fewer slots than calls: a slot of the send pool */
	bool crowded; /* earlier calls of the batch write next to it, so guards cannot be checked */
};

/* Returns a slot that no call of a batch of `calls` uses before the last one, if there is room. */
struct checked_slot plan_last_slot(const struct plan *plan, size_t calls);

/* Poisons the receive side with its guards, and fills in the send data. */
int plan_prepare(struct plan *plan, struct checked_slot slot);
/* Fills the slot of the send pool, guards included, with this plan's data only. */
int plan_fill(struct plan *plan, struct checked_slot slot);
int plan_issue_checked(struct plan *plan, struct checked_slot slot);
/* Compares all buffers of a completed slot; `report` as from check_call. */
int plan_check(struct plan *plan, struct checked_slot slot, struct check_report *report);
