/* check_cuda.h: check_fill and check_verify for device memory: the C face of check_cuda.cu.
 *
 * Host memory is never touched and nothing is waited for. Every function returns a cudaError_t as
 * int, 0 for success; `stream` is a cudaStream_t. A verify hook: reset, one check_cuda_verify per
 * segment, copy the result back, wait. */
#pragma once

#include "check/check_plan.h"

#ifdef __cplusplus
extern "C" {
#endif

/* In device memory. With wrong == 0 `first` is meaningless. */
struct check_cuda_result {
	unsigned long long wrong; /* elements that differ */
	unsigned long long first; /* the lowest element index among them, counted from `recv` */
};

/* A stretch must hold one of these; the values are those of enum segment_kind. */
enum check_cuda_source { CHECK_CUDA_COPY, CHECK_CUDA_REDUCE, CHECK_CUDA_KEEP };

/* The elements of `rank` at `index` and on, to `count` elements at `dst`. */
int check_cuda_fill(void *stream, const struct check_plan *plan, int rank, uint64_t index,
		    size_t count, void *dst);

/* No wrong element yet. */
int check_cuda_reset(void *stream, struct check_cuda_result *result);

/* Compare elements [at, at + count) of `recv` with what `source` says: rank `from`'s elements, or
 * the reduction, at pool index `index` and on. Adds to `result`. */
int check_cuda_verify(void *stream, const struct check_plan *plan, int source, int from,
		      uint64_t index, const void *recv, uint64_t at, size_t count,
		      struct check_cuda_result *result);

#ifdef __cplusplus
}
#endif
