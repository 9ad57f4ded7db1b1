/* check_cuda.h: check_fill and check_verify for device memory, the C interface of check_cuda.cu.
 * Functions do not touch host memory and do not wait. They return a cudaError_t as int, 0 for
 * success; `stream` is a cudaStream_t. A verify hook calls reset, then check_cuda_verify per
 * segment, copies the result back and waits. */
#pragma once

#include "check/check_plan.h"

#ifdef __cplusplus
extern "C" {
#endif

/* In device memory. With wrong == 0 `first` has no meaning. */
struct check_cuda_result {
	unsigned long long wrong; /* elements that differ */
	unsigned long long first; /* the lowest element index among them, counted from `recv` */
};

/* The source of expected elements; values as in enum segment_kind. */
enum check_cuda_source { CHECK_CUDA_COPY, CHECK_CUDA_REDUCE, CHECK_CUDA_KEEP };

/* Writes `count` elements of `rank` from `index` on to `dst`. */
int check_cuda_fill(void *stream, const struct check_plan *plan, int rank, uint64_t index,
		    size_t count, void *dst);

/* Clears the result. */
int check_cuda_reset(void *stream, struct check_cuda_result *result);

/* Compares elements [at, at + count) of `recv` with `source`: rank `from`'s elements, or the
 * reduction, from pool index `index` on. Adds to `result`. */
int check_cuda_verify(void *stream, const struct check_plan *plan, int source, int from,
		      uint64_t index, const void *recv, uint64_t at, size_t count,
		      struct check_cuda_result *result);

#ifdef __cplusplus
}
#endif
