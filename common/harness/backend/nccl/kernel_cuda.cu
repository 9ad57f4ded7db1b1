/* kernel_cuda.cu: an empty kernel. */
#include <cuda_runtime.h>

#include "backend/nccl/kernel_cuda.h"

/* NCCL passes a call's work in the arguments, 4 KiB since 2.22 (device.h, ncclDevKernelArgs4K). */
struct arguments {
	unsigned char bytes[4096];
};

enum { BLOCKS = 4, THREADS = 96 };

__global__ void empty_kernel(const __grid_constant__ struct arguments arguments)
{
	(void)arguments;
}

extern "C" int kernel_cuda_launch(void *stream, int clusters)
{
	static struct arguments nothing;
	void *arguments[] = { &nothing };
	cudaLaunchAttribute attributes[2] = {};
	cudaLaunchConfig_t config = {};

	attributes[0].id = cudaLaunchAttributeClusterDimension;
	attributes[0].val.clusterDim.x = BLOCKS;
	attributes[0].val.clusterDim.y = attributes[0].val.clusterDim.z = 1;
	attributes[1].id = cudaLaunchAttributeMemSyncDomain;
	attributes[1].val.memSyncDomain = cudaLaunchMemSyncDomainRemote;
	config.gridDim = dim3(BLOCKS);
	config.blockDim = dim3(THREADS);
	config.stream = (cudaStream_t)stream;
	config.attrs = attributes;
	config.numAttrs = clusters ? 2 : 0;
	return cudaLaunchKernelExC(&config, (const void *)empty_kernel, arguments);
}
