/* kernel_cuda.h: the C interface of kernel_cuda.cu. */
#pragma once

#ifdef __cplusplus
extern "C" {
#endif

/* Launches an empty kernel with the size and arguments (4 KiB) of a small one of NCCL's. `clusters`
 * (compute capability 9.0 and newer) adds its attributes. `stream` is a cudaStream_t. Returns a
 * cudaError_t as int, 0 for success. */
int kernel_cuda_launch(void *stream, int clusters);

#ifdef __cplusplus
}
#endif
