/* check_cuda.cu: the two kernels of the data check. One instance per element width. All other
 * parameters of a plan are uniform over the grid: their branches are cheap beside the hashes, and
 * the binary stays small. */
#include <cuda_runtime_api.h>

#include "check/check_cuda.h"

#define THREADS	   256
#define MAX_BLOCKS 2048 /* about two waves on the largest GPUs; threads loop over the rest */

static unsigned int blocks_for(size_t count)
{
	size_t blocks = (count + THREADS - 1) / THREADS;

	return blocks < MAX_BLOCKS ? (unsigned int)blocks : MAX_BLOCKS;
}

/* Change of check_turn over `stride` elements. */
__device__ static uint32_t turn_step(const struct check_plan *p, uint64_t stride)
{
	return (uint32_t)(stride % p->nranks * p->step % p->nranks);
}

template <typename element>
__global__ void fill_kernel(const struct check_plan plan, uint32_t rank, uint64_t index,
			    size_t count, element *dst)
{
	size_t stride = (size_t)gridDim.x * THREADS, i = (size_t)blockIdx.x * THREADS + threadIdx.x;
	uint32_t turn = check_turn(&plan, index + i), step = turn_step(&plan, stride);

	for (; i < count; i += stride) {
		dst[i] = (element)check_element_at(&plan, rank, index + i, turn);
		turn = check_next_turn(&plan, turn, step);
	}
}

template <typename element>
__global__ void verify_kernel(const struct check_plan plan, const struct segment segment,
			      uint64_t index, const element *recv, struct check_cuda_result *result)
{
	size_t stride = (size_t)gridDim.x * THREADS, i = (size_t)blockIdx.x * THREADS + threadIdx.x;
	size_t first = 0;
	uint32_t turn = check_turn(&plan, index + i), step = turn_step(&plan, stride);
	unsigned long long wrong = 0;
	uint64_t expected;

	for (; i < segment.count; i += stride) {
		if (segment.kind == SEGMENT_REDUCE)
			expected = check_reduced_at(&plan, index + i, turn);
		else if (segment.kind == SEGMENT_COPY)
			expected = check_element_at(&plan, (uint32_t)segment.from, index + i, turn);
		else
			expected = plan.poison;
		turn = check_next_turn(&plan, turn, step);
		if (recv[segment.at + i] != (element)expected && wrong++ == 0)
			first = i;
	}
	if (wrong) {
		atomicAdd(&result->wrong, wrong);
		atomicMin(&result->first, (unsigned long long)(segment.at + first));
	}
}

/* Evaluates the expression with `element` as the type of this width. */
#define BY_WIDTH(width, expression)                                                                \
	do {                                                                                       \
		if ((width) == 1) {                                                                \
			typedef uint8_t element;                                                   \
			expression;                                                                \
		} else if ((width) == 2) {                                                         \
			typedef uint16_t element;                                                  \
			expression;                                                                \
		} else if ((width) == 4) {                                                         \
			typedef uint32_t element;                                                  \
			expression;                                                                \
		} else {                                                                           \
			typedef uint64_t element;                                                  \
			expression;                                                                \
		}                                                                                  \
	} while (0)

extern "C" int check_cuda_fill(void *stream, const struct check_plan *plan, int rank,
			       uint64_t index, size_t count, void *dst)
{
	if (count == 0)
		return cudaSuccess;
	BY_WIDTH(plan->width, (fill_kernel<<<blocks_for(count), THREADS, 0, (cudaStream_t)stream>>>(
				      *plan, (uint32_t)rank, index, count, (element *)dst)));
	return cudaGetLastError();
}

extern "C" int check_cuda_reset(void *stream, struct check_cuda_result *result)
{
	cudaError_t rc =
		cudaMemsetAsync(&result->wrong, 0, sizeof(result->wrong), (cudaStream_t)stream);

	if (rc == cudaSuccess)
		rc = cudaMemsetAsync(&result->first, 0xff, sizeof(result->first),
				     (cudaStream_t)stream);
	return rc;
}

extern "C" int check_cuda_verify(void *stream, const struct check_plan *plan,
				 const struct segment *segment, uint64_t base, const void *recv,
				 struct check_cuda_result *result)
{
	if (segment->count == 0)
		return cudaSuccess;
	BY_WIDTH(plan->width,
		 (verify_kernel<<<blocks_for(segment->count), THREADS, 0, (cudaStream_t)stream>>>(
			 *plan, *segment, base + segment->from_at, (const element *)recv, result)));
	return cudaGetLastError();
}
