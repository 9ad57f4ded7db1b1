/* kernels_cuda.h: the C interface of kernels_cuda.cu. `stream` is a cudaStream_t; functions
 * return a cudaError_t as int, 0 for success, and do not wait. */
#pragma once

#ifdef __cplusplus
extern "C" {
#endif

/* Launches a kernel of one thread that ends when *word (device address) is `until` or more, and
 * after `ns` in any case, when it writes `until` there itself. */
int kernels_cuda_hold(void *stream, uint32_t *word, uint32_t until, uint64_t ns);

/* Launches a kernel that holds `part` (0 to 1) of the multiprocessors until *word (device address) is not 0, and for
 * `ns` at most. It copies the first half of `memory` to the second over and over; 0 bytes: it sleeps. */
int kernels_cuda_contend(void *stream, uint32_t *word, uint64_t ns, double part, void *memory,
			 size_t bytes);

/* Launches a kernel that multiplies tiles of `matrices`, KERNELS_CUDA_MATRICES bytes of device memory. Its time is
 * proportional to `tiles`. It has eight times the blocks that the GPU runs at once, so that other kernels find room. */
#define KERNELS_CUDA_MATRICES (12u << 20)
int kernels_cuda_compute(void *stream, float *matrices, int tiles);

/* Launches a kernel that writes to an unmapped address. */
int kernels_cuda_bad_access(void *stream);

/* Launches an empty kernel with the size and arguments (4 KiB) of a small one of NCCL's. `clusters`
 * (compute capability 9.0 and newer) adds its attributes. */
int kernels_cuda_empty(void *stream, int clusters);

#ifdef __cplusplus
}
#endif
