/* kernels_cuda.cu: a kernel that holds a stream for a bounded time, one that breaks its context, and
 * an empty one. */
#include <cuda_runtime.h>

#include "backend/nccl/kernels_cuda.h"

static __device__ uint64_t now_ns(void)
{
	uint64_t ns;

	asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(ns));
	return ns;
}

__global__ void hold_kernel(volatile uint32_t *word, uint32_t until, uint64_t ns)
{
	const uint64_t begin = now_ns();

	while ((int32_t)(*word - until) < 0 && now_ns() - begin < ns)
		__nanosleep(1000);
	if ((int32_t)(*word - until) < 0)
		*word = until;
	__threadfence_system();
}

__global__ void bad_access_kernel(volatile int *nowhere)
{
	*nowhere = 1;
}

extern "C" int kernels_cuda_hold(void *stream, uint32_t *word, uint32_t until, uint64_t ns)
{
	hold_kernel<<<1, 1, 0, (cudaStream_t)stream>>>(word, until, ns);
	return cudaGetLastError();
}

extern "C" int kernels_cuda_bad_access(void *stream)
{
	bad_access_kernel<<<1, 1, 0, (cudaStream_t)stream>>>((int *)64);
	return cudaGetLastError();
}

/* NCCL passes a call's work in the arguments, 4 KiB since 2.22 (device.h, ncclDevKernelArgs4K). */
struct arguments {
	unsigned char bytes[4096];
};

enum { BLOCKS = 4, THREADS = 96 };

__global__ void empty_kernel(const __grid_constant__ struct arguments arguments)
{
	(void)arguments;
}

extern "C" int kernels_cuda_empty(void *stream, int clusters)
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
