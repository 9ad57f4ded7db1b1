/* breakage_cuda.h: the C interface of breakage_cuda.cu. `stream` is a cudaStream_t; functions
 * return a cudaError_t as int, 0 for success, and do not wait. */
#pragma once

#ifdef __cplusplus
extern "C" {
#endif

/* Launches a kernel of one thread that ends when *word (device address) is `until` or more, and
 * after `ns` in any case, when it writes `until` there itself. */
int breakage_cuda_hold(void *stream, uint32_t *word, uint32_t until, uint64_t ns);

/* Launches a kernel that writes to an unmapped address. */
int breakage_cuda_bad_access(void *stream);

#ifdef __cplusplus
}
#endif
