/* check_cuda.h: check_fill and check_verify for device memory, the C interface of check_cuda.cu.
 * Functions do not touch host memory and do not wait. They return a cudaError_t as int, 0 for
 * success; `stream` is a cudaStream_t. A verify hook calls reset, then check_cuda_verify per
 * segment, copies the result back and waits. */
#pragma once

#include "check/check_plan.h"
#include "check/segment.h"

#ifdef __cplusplus
extern "C" {
#endif

/* In device memory. With wrong == 0 `first` has no meaning. */
struct check_cuda_result {
	unsigned long long wrong; /* elements that differ */
	unsigned long long first; /* the lowest element index among them, counted from `recv` */
};

/* Writes `count` elements of `rank` from `index` on to `dst`. */
int check_cuda_fill(void *stream, const struct check_plan *plan, int rank, uint64_t index,
		    size_t count, void *dst);

int check_cuda_reset(void *stream, struct check_cuda_result *result);

/* Compares a stretch of `recv` with its content; `base` is the pool index of the first element of
 * the send buffers. Adds to `result`. */
int check_cuda_verify(void *stream, const struct check_plan *plan, const struct segment *segment,
		      uint64_t base, const void *recv, struct check_cuda_result *result);

#ifdef __cplusplus
}
#endif
