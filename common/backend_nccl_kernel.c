/* backend_nccl_kernel.c: what launching a kernel costs on this host, now. */
#include "backend_nccl.h"
#include "clock.h"
#include "kernel_cost.h"
#include "kernel_cuda.h"
#include "stats.h"

/* A few milliseconds; the first rounds load the module and wake host and device. ROW as many as a batch of small calls has
 * (timing.c): the host never waits for the queue. */
enum { ROUNDS = 24, WARM = 4, ROW = 64 };

struct series {
	double host[ROUNDS], device[ROUNDS], latency[ROUNDS];
};

static cudaError_t measure_row(struct nccl *nccl, cudaEvent_t before, cudaEvent_t after, double *host_us,
			       double *device_us)
{
	cudaError_t rc = cudaEventRecord(before, nccl->stream);
	double begin = clock_seconds();
	float ms = 0;

	for (int i = 0; i < ROW && rc == cudaSuccess; i++)
		rc = (cudaError_t)kernel_cuda_launch(nccl->stream);
	*host_us = (clock_seconds() - begin) * 1e6 / ROW;
	if (rc == cudaSuccess)
		rc = cudaEventRecord(after, nccl->stream);
	if (rc == cudaSuccess)
		rc = cudaEventSynchronize(after);
	if (rc == cudaSuccess)
		rc = cudaEventElapsedTime(&ms, before, after);
	*device_us = ms * 1e3 / ROW;
	return rc;
}

/* The host looks on as nccl_wait does. */
static cudaError_t measure_latency(struct nccl *nccl, double *latency_us)
{
	double begin = clock_seconds();
	cudaError_t rc = (cudaError_t)kernel_cuda_launch(nccl->stream);

	while (rc == cudaSuccess && (rc = cudaStreamQuery(nccl->stream)) == cudaErrorNotReady)
		rc = cudaSuccess;
	*latency_us = (clock_seconds() - begin) * 1e6;
	(void)cudaGetLastError(); /* "not ready" is kept as an error */
	return rc;
}

static double median(const double *values)
{
	struct stats stats;

	return stats_compute(values, ROUNDS, &stats) == 0 ? stats.median : 0;
}

int nccl_kernel_cost(struct backend *be, struct kernel_cost *cost)
{
	struct nccl *nccl = to_nccl(be);
	cudaEvent_t before = NULL, after = NULL;
	struct series series;
	cudaError_t rc = cudaEventCreate(&before);

	if (rc == cudaSuccess)
		rc = cudaEventCreate(&after);
	for (int i = -WARM; i < ROUNDS && rc == cudaSuccess; i++) {
		int at = i < 0 ? 0 : i;

		rc = measure_row(nccl, before, after, &series.host[at], &series.device[at]);
		if (rc == cudaSuccess)
			rc = measure_latency(nccl, &series.latency[at]);
	}
	if (before)
		cudaEventDestroy(before);
	if (after)
		cudaEventDestroy(after);
	if (rc != cudaSuccess)
		return nccl_cuda_fail(nccl, "measuring launches", rc);
	*cost = (struct kernel_cost){ .host_us = median(series.host),
				      .device_us = median(series.device),
				      .latency_us = median(series.latency) };
	return 0;
}
