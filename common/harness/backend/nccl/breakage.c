/* breakage.c: faults on a stream: a hold, or a kernel that breaks the context. A hold ends on
 * release and after its time: a kernel writes the word, too. */
#include <dlfcn.h>

#include "backend/nccl/kernels_cuda.h"
#include "backend/nccl/ops.h"

#define CONTEND_BYTES ((size_t)512 << 20)

enum { WAIT_GEQ = 0 }; /* CU_STREAM_WAIT_VALUE_GEQ */

typedef int wait_value_fn(cudaStream_t, unsigned long long, unsigned, unsigned);

/* Finds the driver's cuStreamWaitValue32, NULL: absent. The runtime has loaded the driver. */
static wait_value_fn *find_wait_value(void)
{
	static const char *const names[] = { "cuStreamWaitValue32_v2", "cuStreamWaitValue32" };
	void *driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
	wait_value_fn *found = NULL;

	for (size_t i = 0; driver && !found && i < LENGTH(names); i++)
		found = (wait_value_fn *)dlsym(driver, names[i]);
	if (driver)
		dlclose(driver); /* the runtime still holds it */
	return found;
}

/* Prepares the word, in host memory that the device can read. It only grows: waits stay ended. */
static cudaError_t arm(struct nccl *nccl)
{
	struct nccl_hold *hold = &nccl->hold;
	cudaError_t rc = cudaSuccess;

	if (!hold->word) {
		rc = cudaHostAlloc((void **)&hold->word, 2 * sizeof(*hold->word),
				   cudaHostAllocMapped);
		if (rc == cudaSuccess)
			rc = cudaHostGetDevicePointer((void **)&hold->on_device, (void *)hold->word,
						      0);
		if (rc == cudaSuccess)
			hold->word[0] = hold->word[1] = 0;
	}
	hold->until++;
	return rc;
}

static cudaError_t hold_stream(struct nccl *nccl, cudaStream_t stream, double seconds)
{
	return (cudaError_t)kernels_cuda_hold(stream, nccl->hold.on_device, nccl->hold.until,
					      (uint64_t)(seconds * 1e9));
}

int nccl_spin(struct backend *be, double seconds)
{
	struct nccl *nccl = to_nccl(be);
	cudaError_t rc = arm(nccl);

	if (rc == cudaSuccess)
		rc = hold_stream(nccl, nccl->stream, seconds);
	return rc == cudaSuccess ? 0 : nccl_cuda_fail(nccl, "launching a kernel", rc);
}

/* A kernel on another stream writes the word when the time is over. */
int nccl_wait_word(struct backend *be, double seconds)
{
	struct nccl *nccl = to_nccl(be);
	struct nccl_hold *hold = &nccl->hold;
	wait_value_fn *wait_value = find_wait_value();
	cudaError_t rc = cudaSuccess;

	if (!wait_value)
		return nccl_spin(be, seconds);
	rc = arm(nccl);
	if (rc == cudaSuccess && !hold->aside)
		rc = cudaStreamCreateWithFlags(&hold->aside, cudaStreamNonBlocking);
	if (rc == cudaSuccess)
		rc = hold_stream(nccl, hold->aside, seconds);
	if (rc == cudaSuccess)
		rc = (cudaError_t)wait_value(nccl->stream, (uintptr_t)hold->on_device, hold->until,
					     WAIT_GEQ);
	return rc == cudaSuccess ? 0 : nccl_cuda_fail(nccl, "cuStreamWaitValue32", rc);
}

int nccl_bad_access(struct backend *be)
{
	struct nccl *nccl = to_nccl(be);
	cudaError_t rc = (cudaError_t)kernels_cuda_bad_access(nccl->stream);

	return rc == cudaSuccess ? 0 : nccl_cuda_fail(nccl, "launching a kernel", rc);
}

int nccl_contend(struct backend *be, bool memory, double part, double seconds)
{
	struct nccl *nccl = to_nccl(be);
	struct nccl_hold *hold = &nccl->hold;
	cudaError_t rc = arm(nccl);

	if (rc == cudaSuccess && !hold->contend)
		rc = cudaStreamCreateWithFlags(&hold->contend, cudaStreamNonBlocking);
	if (rc == cudaSuccess && memory && !hold->memory)
		rc = cudaMalloc(&hold->memory, CONTEND_BYTES);
	if (rc == cudaSuccess)
		rc = (cudaError_t)kernels_cuda_contend(hold->contend, hold->on_device + 1,
						       (uint64_t)(seconds * 1e9), part,
						       hold->memory, memory ? CONTEND_BYTES : 0);
	return rc == cudaSuccess ? 0 : nccl_cuda_fail(nccl, "launching a kernel", rc);
}

void nccl_let_go(struct backend *be)
{
	struct nccl_hold *hold = &to_nccl(be)->hold;

	if (!hold->word)
		return;
	__atomic_store_n(hold->word, hold->until, __ATOMIC_RELEASE);
	__atomic_store_n(hold->word + 1, 1, __ATOMIC_RELEASE);
}

void nccl_breakage_release(struct nccl *nccl)
{
	nccl_let_go(&nccl->be);
	if (nccl->hold.aside)
		cudaStreamDestroy(nccl->hold.aside);
	if (nccl->hold.contend)
		cudaStreamDestroy(nccl->hold.contend);
	if (nccl->hold.memory)
		cudaFree(nccl->hold.memory);
	if (nccl->hold.word)
		cudaFreeHost((void *)nccl->hold.word);
	nccl->hold = (struct nccl_hold){ 0 };
}
