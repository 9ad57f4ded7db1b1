/* irregular.h: counts and call of an exchange that follows a traffic matrix (alltoallv). */
#pragma once

#include "backend/collective.h"

/* Returns the elements from one rank to another, of whole slices, as other split collectives. */
size_t irregular_count(const struct geometry *geometry, int from, int to);

/* Computes the elements that a rank sends and receives; `self` includes those to itself. */
void irregular_totals(const struct geometry *geometry, int rank, bool self, size_t *send,
		      size_t *recv);

/* Returns the largest total of any rank in either direction, elements. */
size_t irregular_busiest(const struct geometry *geometry, bool self);

/* NCCL_TESTS_ALLTOALLV_PRINT_SUMMARY: writes one line with the bytes that one rank sent and
 * received, itself included, and the rate over its own `us` microseconds: of the larger direction,
 * and of its part that left the rank. */
void irregular_summary(const struct geometry *geometry, int rank, double us, char *buf, size_t len);

/* The `run` of a collective: a CALL_ALLTOALLV with this rank's row and column of the matrix. */
int irregular_run(struct chain *chain, const struct invocation *invocation);
