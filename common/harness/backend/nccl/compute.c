/* compute.c: kernels like a GEMM on a stream beside that of calls, as a framework has them. */
#include "backend/nccl/kernels_cuda.h"
#include "backend/nccl/ops.h"

enum { KERNELS = 1024 }; /* most of a step: compute and calls in turn */

#define CALIBRATION_TILES 2000
#define CALIBRATION_RUNS  3

struct nccl_compute {
	cudaStream_t stream;
	cudaEvent_t events[2 * KERNELS]; /* around each kernel; made on first use */
	cudaEvent_t joined;
	float *matrices;
	int n; /* kernels since `took` */
};

static int failed(struct backend *be, cudaError_t rc)
{
	return rc == cudaSuccess ? 0 : nccl_cuda_fail(to_nccl(be), "compute beside calls", rc);
}

static cudaError_t open_compute(struct nccl *nccl)
{
	struct nccl_compute *c = nccl->compute;
	cudaError_t rc = cudaSuccess;

	if (c)
		return cudaSuccess;
	c = nccl->compute = must(calloc(1, sizeof(*c)));
	rc = cudaStreamCreateWithFlags(&c->stream, cudaStreamNonBlocking);
	if (rc == cudaSuccess)
		rc = cudaEventCreateWithFlags(&c->joined, cudaEventDisableTiming);
	if (rc == cudaSuccess)
		rc = cudaMalloc((void **)&c->matrices, KERNELS_CUDA_MATRICES);
	return rc == cudaSuccess ? cudaMemset(c->matrices, 0, KERNELS_CUDA_MATRICES) : rc;
}

static cudaError_t record(struct nccl_compute *c, int number)
{
	cudaError_t rc = c->events[number] ? cudaSuccess : cudaEventCreate(&c->events[number]);

	return rc == cudaSuccess ? cudaEventRecord(c->events[number], c->stream) : rc;
}

static cudaError_t run(struct nccl_compute *c, int tiles)
{
	cudaError_t rc = c->n < KERNELS ? record(c, 2 * c->n) : cudaErrorInvalidValue;

	if (rc == cudaSuccess)
		rc = (cudaError_t)kernels_cuda_compute(c->stream, c->matrices, tiles);
	return rc == cudaSuccess ? record(c, 2 * c->n++ + 1) : rc;
}

static cudaError_t sum_up(struct nccl_compute *c, double *seconds)
{
	cudaError_t rc = cudaSuccess;
	float ms = 0;

	*seconds = 0;
	for (int i = 0; i < c->n && rc == cudaSuccess; i++) {
		rc = cudaEventElapsedTime(&ms, c->events[2 * i], c->events[2 * i + 1]);
		*seconds += ms * 1e-3;
	}
	c->n = 0;
	return rc;
}

int nccl_compute_rate(struct backend *be, double *per_second)
{
	struct nccl *nccl = to_nccl(be);
	cudaError_t rc = open_compute(nccl);
	double seconds = 1;

	/* the first runs load the kernel and raise the clocks */
	for (int i = 0; i <= CALIBRATION_RUNS && rc == cudaSuccess; i++) {
		rc = run(nccl->compute, CALIBRATION_TILES);
		if (rc == cudaSuccess)
			rc = cudaStreamSynchronize(nccl->compute->stream);
		if (rc == cudaSuccess)
			rc = sum_up(nccl->compute, &seconds);
	}
	*per_second = CALIBRATION_TILES / seconds;
	return failed(be, rc);
}

int nccl_compute_run(struct backend *be, double work)
{
	struct nccl *nccl = to_nccl(be);
	cudaError_t rc = open_compute(nccl);

	if (rc == cudaSuccess && work >= 0.5)
		rc = run(nccl->compute, (int)(work + 0.5));
	return failed(be, rc);
}

int nccl_compute_join(struct backend *be, bool calls)
{
	struct nccl *nccl = to_nccl(be);
	cudaError_t rc = open_compute(nccl);

	if (rc == cudaSuccess)
		rc = cudaEventRecord(nccl->compute->joined,
				     calls ? nccl->compute->stream : nccl->stream);
	if (rc == cudaSuccess)
		rc = cudaStreamWaitEvent(calls ? nccl->stream : nccl->compute->stream,
					 nccl->compute->joined, 0);
	return failed(be, rc);
}

int nccl_compute_took(struct backend *be, double *seconds)
{
	struct nccl *nccl = to_nccl(be);
	cudaError_t rc = open_compute(nccl);

	return failed(be, rc == cudaSuccess ? sum_up(nccl->compute, seconds) : rc);
}

void nccl_compute_release(struct nccl *nccl)
{
	struct nccl_compute *c = nccl->compute;

	for (int i = 0; c && i < 2 * KERNELS; i++)
		if (c->events[i])
			cudaEventDestroy(c->events[i]);
	if (c && c->joined)
		cudaEventDestroy(c->joined);
	if (c && c->stream)
		cudaStreamDestroy(c->stream);
	if (c)
		cudaFree(c->matrices);
	free(c);
	nccl->compute = NULL;
}
