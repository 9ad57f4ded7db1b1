/* memory.c: buffers on the GPU: allocated, registered, filled, copied and verified. */
#include "backend/nccl/ops.h"

#include "check/check.h"
#include "backend/collective.h"

enum { ALIGNMENT = 4096 };

/* Sets the error of a failed allocation: too large for the device, or another cause. */
static int alloc_fail(struct nccl *nccl, size_t bytes, cudaError_t cuda, ncclResult_t result)
{
	size_t free_bytes = 0, total = 0;

	(void)cudaGetLastError();
	cudaMemGetInfo(&free_bytes, &total);
	if (cuda == cudaErrorMemoryAllocation || bytes > free_bytes)
		return error_set(
			nccl->be.err, OUTCOME_USAGE, -ENOMEM,
			"%zu bytes of buffers do not fit: %zu of the GPU's %zu bytes are free",
			bytes, free_bytes, total);
	if (cuda != cudaSuccess)
		return nccl_cuda_fail(nccl, "cudaMalloc", cuda);
	return nccl_fail(nccl, "ncclMemAlloc", result);
}

/* cudaMalloc, which ncclMemAlloc may fall back to, aligns to 256 bytes: align here. */
int nccl_alloc(struct backend *be, size_t bytes, size_t used, void **ptr)
{
	struct nccl *nccl = to_nccl(be);
	struct nccl_memory *memory = must(calloc(1, sizeof(*memory)));
	ncclResult_t result = ncclSuccess;
	cudaError_t cuda = cudaSuccess;

	(void)used; /* all of it is committed at once */
	*ptr = NULL;
	if (bytes > SIZE_MAX - ALIGNMENT)
		cuda = cudaErrorMemoryAllocation;
	else if (be->config.alloc == ALLOC_NCCL)
		result = nccl_api.MemAlloc(&memory->base, bytes + ALIGNMENT);
	else
		cuda = cudaMalloc(&memory->base, bytes + ALIGNMENT);
	if (cuda != cudaSuccess || result != ncclSuccess) {
		free(memory);
		return alloc_fail(nccl, bytes, cuda, result);
	}
	memory->bytes = bytes;
	memory->ptr = (void *)(((uintptr_t)memory->base + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT);
	memory->next = nccl->memory;
	nccl->memory = memory;
	*ptr = memory->ptr;
	return 0;
}

void nccl_release(struct backend *be, void *ptr, size_t bytes, size_t used)
{
	struct nccl *nccl = to_nccl(be);

	for (struct nccl_memory **at = &nccl->memory; ptr && *at; at = &(*at)->next) {
		struct nccl_memory *memory = *at;

		if (memory->ptr != ptr)
			continue;
		*at = memory->next;
		nccl_deregister(nccl, memory);
		if (be->config.alloc == ALLOC_NCCL)
			nccl_api.MemFree(memory->base);
		else
			cudaFree(memory->base);
		free(memory);
		return;
	}
}

/* ncclMemAlloc's memory starts on a 2 MiB page: `ptr` has one offset on all ranks, for windows. */
int nccl_register(struct backend *be, void *ptr, size_t bytes)
{
	struct nccl *nccl = to_nccl(be);
	struct nccl_memory *memory = nccl->memory;
	ncclResult_t result;

	if (be->config.local_register == 0)
		return 0;
	while (memory && memory->ptr != ptr)
		memory = memory->next;
	if (!memory || memory->handle || bytes > memory->bytes)
		return error_set(be->err, OUTCOME_INTERNAL, -EINVAL,
				 "this buffer can't be registered");
	memory->window = be->config.local_register == 2;
	if (!memory->window) {
		if (!nccl_api.CommRegister)
			return error_set(be->err, OUTCOME_UNSUPPORTED, -ENOTSUP,
					 "-R 1 needs NCCL 2.19 or later, this is %d",
					 nccl->version);
		result = nccl_api.CommRegister(nccl->comms[0].comm, ptr, bytes, &memory->handle);
		return result == ncclSuccess ? 0 : nccl_fail(nccl, "ncclCommRegister", result);
	}
	if (!nccl_api.CommWindowRegister || !nccl_api.CommWindowDeregister)
		return error_set(be->err, OUTCOME_UNSUPPORTED, -ENOTSUP,
				 "-R 2 needs NCCL 2.27 or later, this is %d", nccl->version);
	nccl_enter(be, "ncclCommWindowRegister", NCCL_INIT_SECONDS);
	result = nccl_api.CommWindowRegister(nccl->comms[0].comm, ptr, bytes, &memory->handle,
					     1 /* COLL_SYMMETRIC */);
	watch_leave(be->watch);
	return result == ncclSuccess ? 0 : nccl_fail(nccl, "ncclCommWindowRegister", result);
}

int nccl_fill(struct backend *be, void *ptr, const struct check_data *data, int rank, uint64_t base,
	      size_t count)
{
	struct nccl *nccl = to_nccl(be);
	struct check_plan plan;
	cudaError_t rc;

	check_plan(data, &plan);
	rc = (cudaError_t)check_cuda_fill(nccl->stream, &plan, rank, base, count, ptr);
	return rc == cudaSuccess ? 0 : nccl_cuda_fail(nccl, "filling a buffer", rc);
}

int nccl_poison(struct backend *be, void *ptr, size_t bytes)
{
	struct nccl *nccl = to_nccl(be);
	cudaError_t rc = cudaMemsetAsync(ptr, CHECK_POISON, bytes, nccl->stream);

	return rc == cudaSuccess ? 0 : nccl_cuda_fail(nccl, "cudaMemsetAsync", rc);
}

static int copy_async(struct nccl *nccl, void *dst, const void *src, size_t bytes,
		      enum cudaMemcpyKind kind)
{
	cudaError_t rc = cudaMemcpyAsync(dst, src, bytes, kind, nccl->stream);

	return rc == cudaSuccess ? 0 : nccl_cuda_fail(nccl, "cudaMemcpyAsync", rc);
}

int nccl_copy(struct backend *be, void *dst, const void *src, size_t bytes)
{
	return copy_async(to_nccl(be), dst, src, bytes, cudaMemcpyDeviceToDevice);
}

/* From pageable memory the call returns once the data are staged: callers may reuse them. */
int nccl_store(struct backend *be, void *dst, const void *host, size_t bytes)
{
	return copy_async(to_nccl(be), dst, host, bytes, cudaMemcpyHostToDevice);
}

/* The copy waits inside CUDA, so work that may hang is waited for first. */
int nccl_fetch(struct backend *be, void *host, const void *src, size_t bytes)
{
	int rc = nccl_wait(be);

	if (!rc)
		rc = copy_async(to_nccl(be), host, src, bytes, cudaMemcpyDeviceToHost);
	return rc ? rc : nccl_wait(be);
}

int nccl_verify(struct backend *be, const void *recv, const struct segment *segments, int n,
		const struct check_data *data, uint64_t base, struct verify_result *result)
{
	struct nccl *nccl = to_nccl(be);
	struct check_cuda_result verdict = { 0 };
	struct check_plan plan;
	int cuda, rc;

	nccl_let_go(be); /* CUDA may load the kernel, which waits for all that run */
	check_plan(data, &plan);
	cuda = check_cuda_reset(nccl->stream, nccl->verdict);
	for (int i = 0; cuda == cudaSuccess && i < n; i++)
		cuda = check_cuda_verify(nccl->stream, &plan, &segments[i], base, recv,
					 nccl->verdict);
	if (cuda != cudaSuccess)
		return nccl_cuda_fail(nccl, "verifying a buffer", (cudaError_t)cuda);
	rc = nccl_fetch(be, &verdict, nccl->verdict, sizeof(verdict));
	*result = (struct verify_result){ .wrong = verdict.wrong,
					  .first = verdict.wrong ? verdict.first : 0 };
	return rc;
}
