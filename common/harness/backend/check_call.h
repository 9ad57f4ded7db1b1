/* check_call.h: the check of one finished call on this rank, and what all ranks' come to. */
#pragma once

#include "backend/backend.h"
#include "backend/job.h"
#include "check/check.h"

/* A buffer to be checked lies here; addresses are the backend's. */
struct check_place {
	const void *recv; /* first element of the receive buffer */
	size_t recv_bytes;
	const void *send; /* first element of the send buffer, NULL in place (nothing
	                      * must stay) */
	size_t send_bytes;
	bool guards; /* CHECK_GUARD bytes on each side of recv were poisoned; likewise
	                      * around send filled */
	const struct segment *segments;
	int nsegments;
	uint64_t base; /* pool index of the first send element */
};

/* Check one finished call on this rank: receive buffer, guards, send buffer; on a failure find
 * and name the first wrong element. Returns 0 with report->wrong == 0 when all is right, 0 with
 * the report filled when not, or a negative errno from the backend. Local, no communication.
 * `report->rank` is set to `rank`. */
int check_call(struct backend *be, const struct check_data *data, int rank,
	       const struct check_place *place, struct check_report *report);

/* In: this rank's report. Out, on all ranks: the report of the first rank that found something, with its
 * rank in the job and how many ranks did, and the wrong elements of all. 0 or a negative errno with the
 * error set. Collective. */
int check_gather(struct job *job, struct check_report *report, int64_t *wrong);
