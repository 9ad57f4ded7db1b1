/* check_call.h: the check of a finished call on this rank, and the combined result of all ranks. */
#pragma once

#include "backend/backend.h"
#include "backend/job.h"
#include "check/check.h"

/* The place of a buffer to check; addresses are the backend's. */
struct check_place {
	const void *recv; /* first element of the receive buffer */
	size_t recv_bytes;
	const void *send; /* first element of the send buffer; NULL in place, where it may change */
	size_t send_bytes;
	bool guards; /* CHECK_GUARD bytes around recv are poisoned, around send filled */
	const struct segment *segments;
	int nsegments;
	uint64_t base; /* pool index of the first send element */
};

/* Checks a finished call on this rank: receive buffer, guards, send buffer. Locates and names the
 * first wrong element. Returns 0 with report->wrong == 0 for correct data, 0 with a filled report
 * for wrong data, or a negative errno from the backend. Local, no communication. Sets
 * `report->rank` to `rank`. */
int check_call(struct backend *be, const struct check_data *data, int rank,
	       const struct check_place *place, struct check_report *report);

/* Input: this rank's report. Output, on all ranks: the report of the lowest rank with a failure,
 * its rank in the job, the number of such ranks, and the wrong elements of all. Returns 0 or a
 * negative errno with the error set. Collective. */
int check_gather(struct job *job, struct check_report *report, int64_t *wrong);
