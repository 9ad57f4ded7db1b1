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

/* Each block holds a multiprocessor: it takes all shared memory that one may have. With `bytes` blocks also move memory. */
__global__ void contend_kernel(volatile uint32_t *word, uint64_t ns, uint4 *memory, size_t bytes)
{
	const size_t half = bytes / sizeof(*memory) / 2, stride = (size_t)gridDim.x * blockDim.x;
	const uint64_t begin = now_ns();
	__shared__ int over;

	for (;;) {
		if (threadIdx.x == 0)
			over = *word != 0 || now_ns() - begin >= ns;
		__syncthreads();
		if (over)
			return;
		for (size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x; i < half;
		     i += stride)
			memory[half + i] = memory[i];
		if (half == 0)
			__nanosleep(2000);
		__syncthreads();
	}
}

enum { TILE = 32, MATRIX = 1 << 20 }; /* floats */

/* Products of 32 x 32 tiles, summed up, as a GEMM's inner loop has them. */
__global__ void compute_kernel(float *matrices, int tiles)
{
	__shared__ float a[TILE][TILE + 1], b[TILE][TILE + 1];
	const int x = threadIdx.x, y = threadIdx.y;
	float sum = 0;

	for (int t = 0; t < tiles; t++) {
		const size_t at =
			((size_t)(blockIdx.x * 7 + t) * TILE * TILE + y * TILE + x) % MATRIX;

		a[y][x] = matrices[at];
		b[y][x] = matrices[MATRIX + at];
		__syncthreads();
		for (int k = 0; k < TILE; k++)
			sum += a[y][k] * b[k][x];
		__syncthreads();
	}
	matrices[2 * (size_t)MATRIX + ((size_t)blockIdx.x * TILE * TILE + y * TILE + x) % MATRIX] =
		sum;
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

enum { STATIC_SHARED = 1024 }; /* the kernel's own, and what CUDA reserves */

extern "C" int kernels_cuda_contend(void *stream, uint32_t *word, uint64_t ns, double part,
				    void *memory, size_t bytes)
{
	int device = 0, units = 0, shared = 0, rc = cudaGetDevice(&device);

	if (rc == cudaSuccess)
		rc = cudaDeviceGetAttribute(&units, cudaDevAttrMultiProcessorCount, device);
	if (rc == cudaSuccess)
		rc = cudaDeviceGetAttribute(&shared, cudaDevAttrMaxSharedMemoryPerBlockOptin,
					    device);
	if (rc == cudaSuccess)
		rc = cudaFuncSetAttribute(contend_kernel,
					  cudaFuncAttributeMaxDynamicSharedMemorySize,
					  shared - STATIC_SHARED);
	if (rc != cudaSuccess)
		return rc;
	units = (int)(units * part + 0.5);
	units = units > 1 ? units : 1;
	shared -= STATIC_SHARED;
	contend_kernel<<<units, 512, shared, (cudaStream_t)stream>>>(word, ns, (uint4 *)memory,
								     bytes);
	return cudaGetLastError();
}

extern "C" int kernels_cuda_compute(void *stream, float *matrices, int tiles)
{
	int device = 0, units = 0, rc = cudaGetDevice(&device);

	if (rc == cudaSuccess)
		rc = cudaDeviceGetAttribute(&units, cudaDevAttrMultiProcessorCount, device);
	if (rc != cudaSuccess)
		return rc;
	compute_kernel<<<units * 2 * 8, dim3(TILE, TILE), 0, (cudaStream_t)stream>>>(matrices,
										     tiles);
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
