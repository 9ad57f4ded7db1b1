/* kernel_cuda.h: the C face of kernel_cuda.cu. */
#pragma once

#ifdef __cplusplus
extern "C" {
#endif

/* Launch a kernel that does nothing, of the size and with the arguments (4 KiB) of a small one
 * of NCCL's, and where `clusters` (compute capability 9.0 and newer) with its attributes.
 * `stream` is a cudaStream_t. Returns a cudaError_t as int, 0 for success. */
int kernel_cuda_launch(void *stream, int clusters);

#ifdef __cplusplus
}
#endif
