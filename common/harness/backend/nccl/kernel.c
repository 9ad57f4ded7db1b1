/* kernel.c: the current cost of a kernel launch on this host. */
#include "backend/nccl/ops.h"
#include "base/clock.h"
#include "backend/nccl/kernel_cost.h"
#include "backend/nccl/kernels_cuda.h"
#include "base/stats.h"

/* Takes a few milliseconds; the first rounds load the module and wake host and device. ROW is the
 * number of launches in a batch of small calls (timing.c): the host never waits for the queue. */
enum { ROUNDS = 24, WARM = 4, ROW = 64 };

static cudaError_t launch(struct nccl *nccl)
{
	return (cudaError_t)kernels_cuda_empty(nccl->stream, nccl->capability >= 90);
}

static cudaError_t measure_row(struct nccl *nccl, double *host_us)
{
	double begin = clock_seconds();
	cudaError_t rc = cudaSuccess;

	for (int i = 0; i < ROW && rc == cudaSuccess; i++)
		rc = launch(nccl);
	*host_us = (clock_seconds() - begin) * 1e6 / ROW;
	return rc == cudaSuccess ? cudaStreamSynchronize(nccl->stream) : rc;
}

/* The host polls as nccl_wait does. */
static cudaError_t measure_latency(struct nccl *nccl, double *latency_us)
{
	double begin = clock_seconds();
	cudaError_t rc = launch(nccl);

	while (rc == cudaSuccess && (rc = cudaStreamQuery(nccl->stream)) == cudaErrorNotReady)
		rc = cudaSuccess;
	*latency_us = (clock_seconds() - begin) * 1e6;
	(void)cudaGetLastError(); /* "not ready" is stored as an error */
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
	double host[ROUNDS], latency[ROUNDS];
	cudaError_t rc = cudaSuccess;

	for (int i = -WARM; i < ROUNDS && rc == cudaSuccess; i++) {
		int at = i < 0 ? 0 : i;

		rc = measure_row(nccl, &host[at]);
		if (rc == cudaSuccess)
			rc = measure_latency(nccl, &latency[at]);
	}
	if (rc != cudaSuccess)
		return nccl_cuda_fail(nccl, "measuring launches", rc);
	*cost = (struct kernel_cost){ .host_us = median(host), .latency_us = median(latency) };
	return 0;
}
