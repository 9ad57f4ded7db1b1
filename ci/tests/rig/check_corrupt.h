/* check_corrupt.h: the bytes that a wrong result of a given kind would leave. */
#pragma once

#include "check/check.h"

/* Write to `dst` what the receive buffer's elements [at, at+count) would hold; `good` is what they
 * hold now, `culprit` the rank for missing and doubled. Host memory. Returns 0, or -EINVAL where
 * the kind cannot be told from right data for this type and operator. */
int check_corrupt(const struct check_data *data, enum wrong_kind kind,
		  const struct segment *segment, uint64_t base, int culprit, const void *good,
		  size_t at, size_t count, void *dst);
