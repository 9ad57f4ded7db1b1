/* ops.c: device, waits and graphs on NCCL and CUDA. memory.c has the buffers, calls.c the calls,
 * comm.c the communicator. */
#include "backend/nccl/ops.h"

#include <sched.h>

#include "base/clock.h"
#include "base/nccl_library.h"

/* Stream queries (1 us each) between two checks of the communicator. */
enum { POLLS_PER_LOOK = 200 };

/* NCCL reports a failed allocation as a CUDA failure; its text has the details. */
static bool lacks_memory(ncclResult_t rc, const char *detail)
{
	return rc == ncclUnhandledCudaError &&
	       (strstr(detail, cudaGetErrorString(cudaErrorMemoryAllocation)) ||
		strstr(detail, "Failed to CUDA calloc") || strstr(detail, "Failed to CUDA malloc"));
}

/* A broken kernel breaks the context: every later call returns this error. */
static bool is_sticky(cudaError_t rc)
{
	switch (rc) {
	case cudaErrorIllegalAddress:
	case cudaErrorMisalignedAddress:
	case cudaErrorInvalidAddressSpace:
	case cudaErrorInvalidPc:
	case cudaErrorIllegalInstruction:
	case cudaErrorHardwareStackError:
	case cudaErrorLaunchFailure:
	case cudaErrorLaunchTimeout:
	case cudaErrorAssert:
	case cudaErrorECCUncorrectable:
	case cudaErrorNvlinkUncorrectable:
		return true;
	default:
		return false;
	}
}

static int code_of(cudaError_t rc)
{
	return rc == cudaErrorMemoryAllocation ? -ENOMEM : is_sticky(rc) ? -EFAULT : -EIO;
}

/* The error of this rank's device, after at most a tenth of a second: errors of other ranks may
 * arrive before the device reports a broken kernel. */
static cudaError_t device_state(struct nccl *nccl)
{
	const uint64_t give_up = clock_ns() + 100000000u;
	cudaError_t rc;

	do
		rc = cudaStreamQuery(nccl->stream);
	while (rc == cudaErrorNotReady && clock_ns() < give_up);
	(void)cudaGetLastError();
	return rc;
}

int nccl_fail(struct nccl *nccl, const char *what, ncclResult_t rc)
{
	const char *detail = nccl_api.GetLastError(nccl->comms[0].comm) ?: "";
	cudaError_t cuda = device_state(nccl);

	nccl_let_go(&nccl->be);
	nccl->broken = nccl->comms[0].comm != NULL;
	return error_set(nccl->be.err, OUTCOME_ERROR,
			 lacks_memory(rc, detail) ? -ENOMEM : code_of(cuda), "%s failed: %s (%.*s)",
			 what, nccl_api.GetErrorString(rc),
			 (int)strcspn(detail, "\r\n") /* of several lines */, detail);
}

int nccl_cuda_fail(struct nccl *nccl, const char *what, cudaError_t rc)
{
	nccl_let_go(&nccl->be);
	nccl->broken = nccl->comms[0].comm != NULL;
	return error_set(nccl->be.err, OUTCOME_ERROR, code_of(rc), "%s failed: %s: %s", what,
			 cudaGetErrorName(rc), cudaGetErrorString(rc));
}

static int nccl_devices(void)
{
	const char *visible = getenv("CUDA_VISIBLE_DEVICES");
	int n = 0;

	if (visible && !*visible)
		return 0; /* checked before the driver starts */
	if (cudaGetDeviceCount(&n) != cudaSuccess) {
		(void)cudaGetLastError();
		return 0;
	}
	return n;
}

static void nccl_device_name(int device, char *buf, size_t len)
{
	struct cudaDeviceProp properties = { 0 };
	size_t at;

	buf[0] = '\0';
	if (cudaGetDeviceProperties(&properties, device) != cudaSuccess) {
		(void)cudaGetLastError();
		return;
	}
	at = (size_t)snprintf(buf, len, "%04x:%02x:%02x ", (unsigned)properties.pciDomainID,
			      (unsigned)properties.pciBusID, (unsigned)properties.pciDeviceID);
	for (size_t i = 0; i < sizeof(properties.uuid.bytes) && at + 2 < len; i++)
		at += (size_t)snprintf(buf + at, len - at, "%02x",
				       (unsigned)(unsigned char)properties.uuid.bytes[i]);
}

static int device_open(struct nccl *nccl)
{
	int device = nccl->be.config.device, count = nccl_devices(), major = 0, minor = 0;
	cudaError_t rc;

	if (device < 0 || device >= count)
		return error_set(nccl->be.err, OUTCOME_USAGE, -ENODEV,
				 "GPU %d requested: there are %d, counted from 0", device, count);
	rc = cudaSetDevice(device);
	if (rc == cudaSuccess)
		rc = cudaFree(NULL); /* makes the context */
	if (rc == cudaSuccess)
		rc = cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device);
	if (rc == cudaSuccess)
		rc = cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor, device);
	if (rc == cudaSuccess && !nccl->be.config.stream_null)
		rc = cudaStreamCreateWithFlags(&nccl->stream, cudaStreamNonBlocking);
	if (rc == cudaSuccess)
		rc = cudaMalloc((void **)&nccl->verdict, sizeof(*nccl->verdict));
	if (rc == cudaSuccess && nccl->be.config.record_devices)
		rc = device_clock_open(&nccl->clock, nccl->stream, nccl->be.watch);
	if (rc != cudaSuccess)
		return nccl_cuda_fail(nccl, "opening the GPU", rc);
	nccl->capability = 10 * major + minor;
	return 0;
}

static void nccl_close(struct backend *be);

static int nccl_open(struct job *job, const struct watch *watch, struct error *err,
		     const struct backend_config *config, struct backend **out)
{
	struct nccl *nccl = must(calloc(1, sizeof(*nccl)));
	int rc;

	nccl->be = (struct backend){
		.ops = &backend_nccl,
		.job = job,
		.watch = watch,
		.err = err,
		.config = *config,
	};
	rc = nccl_api_load(&nccl->version, err);
	if (!rc)
		rc = device_open(nccl);
	if (!nccl_api.MemAlloc)
		nccl->be.config.alloc = ALLOC_CUDA; /* before NCCL 2.19; the run's header says so */
	if (rc)
		nccl_close(&nccl->be);
	else
		*out = &nccl->be;
	return rc;
}

static void nccl_close(struct backend *be)
{
	struct nccl *nccl;

	if (!be)
		return;
	nccl = to_nccl(be);
	nccl_comm_close(be);
	nccl_breakage_release(nccl);
	nccl_compute_release(nccl);
	while (nccl->memory)
		nccl_release(be, nccl->memory->ptr, 0, 0);
	nccl_marks_release(nccl);
	device_clock_close(nccl->clock);
	if (nccl->verdict)
		cudaFree(nccl->verdict);
	if (nccl->stream)
		cudaStreamDestroy(nccl->stream);
	free(nccl);
}

static void config_text(const struct backend_config *config, char *text, size_t len)
{
	static const char *const registers[] = { "none", "comm", "window" };
	int n = snprintf(text, len, "blocking=1 nvlinkCentricSched=%d alloc=%s register=%s",
			 config->nvlink_centric, config->alloc == ALLOC_NCCL ? "nccl" : "cuda",
			 registers[config->local_register > 2 ? 2 : config->local_register]);

	if (config->cta_policy >= 0 && n > 0 && (size_t)n < len)
		snprintf(text + n, len - (size_t)n, " CTAPolicy=%d", config->cta_policy);
}

static void nccl_facts(struct backend *be, struct backend_facts *facts)
{
	struct nccl *nccl = to_nccl(be);
	int runtime = 0, driver = 0, device = be->config.device;
	char version[32];
	struct cudaDeviceProp properties;

	*facts = (struct backend_facts){ .device_index = device, .library_code = nccl->version };
	nccl_version_text(nccl->version, version, sizeof(version));
	snprintf(facts->library, sizeof(facts->library), "NCCL %s", version);
	snprintf(facts->library_path, sizeof(facts->library_path), "%.255s",
		 nccl_library_load(NULL)->path);
	cudaRuntimeGetVersion(&runtime);
	cudaDriverGetVersion(&driver);
	snprintf(facts->runtime, sizeof(facts->runtime), "CUDA runtime %d.%d, driver %d.%d",
		 runtime / 1000, runtime % 1000 / 10, driver / 1000, driver % 1000 / 10);
	if (cudaGetDeviceProperties(&properties, device) == cudaSuccess) {
		snprintf(facts->device, sizeof(facts->device), "%.63s", properties.name);
		facts->device_memory = properties.totalGlobalMem;
	}
	cudaDeviceGetPCIBusId(facts->bus_id, sizeof(facts->bus_id), device);
	config_text(&be->config, facts->config, sizeof(facts->config));
}

/* Moving float8 needs a library with the types, reducing it Hopper (NCCL 2.24 release notes). */
static bool nccl_supports(struct backend *be, enum dtype dtype, enum redop op, char *why,
			  size_t len)
{
	struct nccl *nccl = to_nccl(be);

	if (dtype != DT_F8E4M3 && dtype != DT_F8E5M2)
		return true;
	if (nccl->version < NCCL_WITH_FLOAT8) {
		snprintf(why, len, "type %s needs NCCL 2.24 or later, this is %d",
			 dtype_name(dtype), nccl->version);
		return false;
	}
	if (op != OP_NONE && nccl->capability < 90) {
		snprintf(why, len,
			 "reducing %s needs compute capability 9.0 or higher, this GPU has %d.%d",
			 dtype_name(dtype), nccl->capability / 10, nccl->capability % 10);
		return false;
	}
	return true;
}

/* Reports an error of the communicator from another rank or the network. */
static int async_error(struct nccl *nccl)
{
	for (uint32_t i = 0; i < COMM_SET_MAX; i++) {
		ncclResult_t state = ncclSuccess, rc;

		if (!nccl->comms[i].comm)
			continue;
		rc = nccl_api.CommGetAsyncError(nccl->comms[i].comm, &state);
		if (rc != ncclSuccess)
			return nccl_fail(nccl, "ncclCommGetAsyncError", rc);
		state = state == ncclInProgress ? ncclSuccess : state;
		watch_asked(nccl->be.watch, i, (int)state);
		if (state != ncclSuccess)
			return nccl_fail(nccl, "the communicator", state);
	}
	return 0;
}

/* Known only for calls with device times: the event before the last call has passed. */
static int nccl_started(struct backend *be)
{
	struct nccl *nccl = to_nccl(be);
	cudaError_t rc = nccl->clock ? device_clock_started(nccl->clock) : cudaSuccess;

	(void)cudaGetLastError(); /* not-ready is stored as CUDA's last error */
	return rc == cudaSuccess ? 0 : nccl_cuda_fail(nccl, "reading an event", rc);
}

static int stream_wait(struct nccl *nccl)
{
	for (unsigned polls = 1;; polls++) {
		cudaError_t rc = cudaStreamQuery(nccl->stream);
		int error;

		if (rc != cudaErrorNotReady)
			return rc == cudaSuccess ? 0
						 : nccl_cuda_fail(nccl, "waiting for the GPU", rc);
		if (polls % POLLS_PER_LOOK)
			continue;
		error = async_error(nccl);
		if (error)
			return error;
		rc = nccl->clock ? device_clock_harvest(nccl->clock) : cudaSuccess;
		if (rc != cudaSuccess)
			return nccl_cuda_fail(nccl, "reading an event", rc);
		sched_yield(); /* ranks may share a core */
	}
}

/* Not-ready is stored as CUDA's last error and would look like a later launch's. */
int nccl_wait(struct backend *be)
{
	struct nccl *nccl = to_nccl(be);
	cudaError_t cuda = cudaSuccess;
	int rc;

	watch_device(be->watch, true);
	rc = stream_wait(nccl);
	watch_device(be->watch, false);
	(void)cudaGetLastError();
	if (!rc)
		rc = async_error(nccl);
	if (rc || !nccl->clock)
		return rc;
	cuda = device_clock_harvest(nccl->clock);
	if (cuda == cudaSuccess)
		cuda = device_clock_refresh(nccl->clock);
	return cuda == cudaSuccess ? 0 : nccl_cuda_fail(nccl, "reading an event", cuda);
}

static int nccl_graph_begin(struct backend *be)
{
	struct nccl *nccl = to_nccl(be);
	cudaError_t rc;

	if (!nccl->stream)
		return error_set(be->err, OUTCOME_USAGE, -EINVAL,
				 "-G: CUDA can't capture the NULL stream (-y 1)");
	rc = cudaStreamBeginCapture(nccl->stream, cudaStreamCaptureModeThreadLocal);
	if (rc != cudaSuccess)
		return nccl_cuda_fail(nccl, "cudaStreamBeginCapture", rc);
	nccl->capturing = true;
	return 0;
}

static int nccl_graph_end(struct backend *be, void **graph)
{
	struct nccl *nccl = to_nccl(be);
	cudaGraphExec_t exec = NULL;
	cudaGraph_t captured = NULL;
	cudaError_t rc;

	*graph = NULL;
	nccl->capturing = false;
	rc = cudaStreamEndCapture(nccl->stream, &captured);
	if (rc == cudaSuccess)
		rc = cudaGraphInstantiateWithFlags(&exec, captured, 0);
	if (captured)
		cudaGraphDestroy(captured);
	if (rc == cudaSuccess)
		rc = cudaGraphUpload(exec, nccl->stream);
	if (rc != cudaSuccess) {
		if (exec)
			cudaGraphExecDestroy(exec);
		return nccl_cuda_fail(nccl, "making a CUDA graph", rc);
	}
	*graph = exec;
	return 0;
}

static int nccl_graph_launch(struct backend *be, void *graph)
{
	struct nccl *nccl = to_nccl(be);
	cudaError_t rc = cudaGraphLaunch(graph, nccl->stream);

	return rc == cudaSuccess ? 0 : nccl_cuda_fail(nccl, "cudaGraphLaunch", rc);
}

static void nccl_graph_free(struct backend *be, void *graph)
{
	if (graph)
		cudaGraphExecDestroy(graph);
}

static size_t nccl_memory_used(struct backend *be)
{
	size_t free_bytes = 0, total = 0;

	cudaMemGetInfo(&free_bytes, &total);
	return total - free_bytes;
}

static const struct backend_graph nccl_graph = {
	.begin = nccl_graph_begin,
	.end = nccl_graph_end,
	.launch = nccl_graph_launch,
	.release = nccl_graph_free,
};

static const struct backend_marks nccl_marks = { .mark = nccl_mark, .between = nccl_between };

static const struct backend_breakage nccl_breakage = {
	.spin = nccl_spin,
	.wait_word = nccl_wait_word,
	.bad_access = nccl_bad_access,
	.contend = nccl_contend,
	.let_go = nccl_let_go,
};

static const struct backend_compute nccl_compute = {
	.rate = nccl_compute_rate,
	.run = nccl_compute_run,
	.join = nccl_compute_join,
	.took = nccl_compute_took,
};

const struct backend_ops backend_nccl = {
	.name = "nccl",
	.flags = BACKEND_FLAGS_NCCL,
	.devices = nccl_devices,
	.device_name = nccl_device_name,
	.open = nccl_open,
	.close = nccl_close,
	.facts = nccl_facts,
	.supports = nccl_supports,
	.comm_id = nccl_comm_id,
	.comm_open = nccl_comm_open,
	.comm_close = nccl_comm_close,
	.comm_abort = nccl_comm_abort,
	.alloc = nccl_alloc,
	.release = nccl_release,
	.register_memory = nccl_register,
	.fill = nccl_fill,
	.poison = nccl_poison,
	.copy = nccl_copy,
	.store = nccl_store,
	.fetch = nccl_fetch,
	.verify = nccl_verify,
	.issue = nccl_issue,
	.group_begin = nccl_group_begin,
	.group_end = nccl_group_end,
	.started = nccl_started,
	.wait = nccl_wait,
	.memory_used = nccl_memory_used,
	.kernel_cost = nccl_kernel_cost,
	.graph = &nccl_graph,
	.marks = &nccl_marks,
	.breakage = &nccl_breakage,
	.compute = &nccl_compute,
};
