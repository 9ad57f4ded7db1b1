/* plan.h: one point in one placement, made ready: shape, slots, oracle, and how to issue it. */
#pragma once

#include "measure/bench.h"
#include "check/check.h"
#include "measure/sweep.h"

/* No host is slower than this at preparing or comparing data, per rank: deadlines go by it. */
#define CHECK_BYTES_PER_SECOND 50e6

struct plan {
	struct bench *bench;
	const struct collective *collective;
	uint32_t comm;
	struct geometry geometry; /* rank and nranks are the communicator's */
	struct shape shape;
	struct check_data data;
	bool in_place;
	size_t slot_bytes;	  /* what a call takes of a pool, misalignment (-u) included */
	size_t shift_bytes;	  /* -u */
	struct segment *segments; /* what the receive buffer must hold; owned */
	int nsegments;
};

/* Shape of a point on rank `rank` of the bench's group; `plan_init` uses the own one. */
struct geometry plan_geometry(const struct bench *bench, const struct point *point, int rank);

/* 0, or -ENODATA when the size is too small to give every rank something, or another negative errno
 * with the error set. */
int plan_init(struct plan *plan, struct bench *bench, const struct point *point, bool in_place);
void plan_release(struct plan *plan);

/* Issue the call once, on slot `index` of the rotation. */
int plan_issue(struct plan *plan, size_t index);

/* A call that is to be checked runs here. */
struct checked_slot {
	size_t index;
	bool spare;   /* in place, and the rotation is shorter than the batch: a slot of the
	                * send pool */
	bool crowded; /* earlier calls of the batch write next to it: guards can't be told
	                * from those */
};

/* A slot that no call of a batch of `calls` touches before its last one, if the pool has room. */
struct checked_slot plan_last_slot(const struct plan *plan, size_t calls);

/* Poison the receive side, guards included, and put the data to send in place. */
int plan_prepare(struct plan *plan, struct checked_slot slot);
/* Fill the slot of the send pool, guards included, with this plan's data alone. */
int plan_fill(struct plan *plan, struct checked_slot slot);
int plan_issue_checked(struct plan *plan, struct checked_slot slot);
/* Compare everything; `report` as from check_call. The slot must have completed. */
int plan_check(struct plan *plan, struct checked_slot slot, struct check_report *report);
