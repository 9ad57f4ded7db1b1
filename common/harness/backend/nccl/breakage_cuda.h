/* breakage_cuda.h: the C face of breakage_cuda.cu. `stream` is a cudaStream_t; every function returns a
 * cudaError_t as int, 0 for success, and waits for nothing. */
#pragma once

#ifdef __cplusplus
extern "C" {
#endif

/* Launch a kernel of one thread that ends when *word (device address) is `until` or more, and after `ns`
 * whatever happens: then it writes `until` there itself. */
int breakage_cuda_hold(void *stream, uint32_t *word, uint32_t until, uint64_t ns);

/* Launch a kernel that writes to an address which nobody has mapped. */
int breakage_cuda_bad_access(void *stream);

#ifdef __cplusplus
}
#endif
