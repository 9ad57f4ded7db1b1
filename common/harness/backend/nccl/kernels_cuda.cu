/* breakage_cuda.cu: a kernel that holds a stream for a bounded time, and one that breaks its
 * context. */
#include <cuda_runtime.h>

#include "backend/nccl/breakage_cuda.h"

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

extern "C" int breakage_cuda_hold(void *stream, uint32_t *word, uint32_t until, uint64_t ns)
{
	hold_kernel<<<1, 1, 0, (cudaStream_t)stream>>>(word, until, ns);
	return cudaGetLastError();
}

extern "C" int breakage_cuda_bad_access(void *stream)
{
	bad_access_kernel<<<1, 1, 0, (cudaStream_t)stream>>>((int *)64);
	return cudaGetLastError();
}
