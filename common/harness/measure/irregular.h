/* irregular.h: counts and call of an exchange that follows a traffic matrix (alltoallv). */
#pragma once

#include "backend/collective.h"

/* Elements from one rank to another. The size is cut to whole slices first, as for the other
 * split collectives. */
size_t irregular_count(const struct geometry *geometry, int from, int to);

/* Computes what a rank sends and receives, elements; `self` counts what it sends to itself. */
void irregular_totals(const struct geometry *geometry, int rank, bool self, size_t *send,
		      size_t *recv);

/* The largest of all ranks' totals in either direction, elements. */
size_t irregular_busiest(const struct geometry *geometry, bool self);

/* NCCL_TESTS_ALLTOALLV_PRINT_SUMMARY: what one rank sent and received, itself included as in the
 * matrix, and at which rate, in `us` microseconds of its own: the larger direction, and what of
 * it left the rank. One line into buf. */
void irregular_summary(const struct geometry *geometry, int rank, double us, char *buf, size_t len);

/* struct collective's run: one CALL_ALLTOALLV with this rank's row and column of the matrix. */
int irregular_run(struct chain *chain, const struct invocation *invocation);
