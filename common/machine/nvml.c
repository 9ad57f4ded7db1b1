/* observe_nvml.c: GPUs as the driver sees them. */
#include "machine/nvml.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#define LINKS	  18 /* NVML_NVLINK_MAX_LINKS */
#define PROCESSES 64

/* nvml.h: nvmlClockType_t, nvmlPerfPolicyType_t, nvmlGpuP2PCapsIndex_t, nvmlNvLinkErrorCounter_t */
enum { CLOCK_SM = 1 };
enum { POLICY_POWER = 0, POLICY_THERMAL = 1 };
enum { P2P_READ = 0, P2P_WRITE = 1 };
enum { LINK_REPLAY = 0, LINK_RECOVERY = 1, LINK_CRC_FLIT = 2, LINK_CRC_DATA = 3 };

struct symbol {
	const char *name, *older; /* what it was called before; NULL: the same */
	size_t offset;
};

#define SYMBOL(field, ...)                                                                         \
	{                                                                                          \
		__VA_ARGS__, .offset = offsetof(struct nvml, field)                                \
	}

static const struct symbol symbols[] = {
	SYMBOL(init, "nvmlInit_v2", NULL),
	SYMBOL(shutdown, "nvmlShutdown", NULL),
	SYMBOL(by_bus, "nvmlDeviceGetHandleByPciBusId_v2", NULL),
	SYMBOL(link_state, "nvmlDeviceGetNvLinkState", NULL),
	SYMBOL(link_errors, "nvmlDeviceGetNvLinkErrorCounter", NULL),
	SYMBOL(pcie_width, "nvmlDeviceGetCurrPcieLinkWidth", NULL),
	SYMBOL(pcie_gen, "nvmlDeviceGetCurrPcieLinkGeneration", NULL),
	SYMBOL(pcie_max_width, "nvmlDeviceGetMaxPcieLinkWidth", NULL),
	SYMBOL(pcie_max_gen, "nvmlDeviceGetMaxPcieLinkGeneration", NULL),
	SYMBOL(clock, "nvmlDeviceGetClockInfo", NULL),
	SYMBOL(max_clock, "nvmlDeviceGetMaxClockInfo", NULL),
	SYMBOL(reasons, "nvmlDeviceGetCurrentClocksEventReasons",
	       "nvmlDeviceGetCurrentClocksThrottleReasons"),
	SYMBOL(violation, "nvmlDeviceGetViolationStatus", NULL),
	SYMBOL(ecc_errors, "nvmlDeviceGetTotalEccErrors", NULL),
	SYMBOL(processes, "nvmlDeviceGetComputeRunningProcesses_v3", NULL),
	SYMBOL(p2p, "nvmlDeviceGetP2PStatus", NULL),
	SYMBOL(count, "nvmlDeviceGetCount_v2", NULL),
	SYMBOL(by_index, "nvmlDeviceGetHandleByIndex_v2", NULL),
	SYMBOL(pcie_replays, "nvmlDeviceGetPcieReplayCounter", NULL),
	SYMBOL(remapped_rows, "nvmlDeviceGetRemappedRows", NULL),
};

static void find_symbols(struct nvml *nvml)
{
	for (size_t i = 0; i < sizeof(symbols) / sizeof(symbols[0]); i++) {
		void *found = dlsym(nvml->library, symbols[i].name);

		if (!found && symbols[i].older)
			found = dlsym(nvml->library, symbols[i].older);
		memcpy((char *)nvml + symbols[i].offset, &found, sizeof(found));
	}
}

bool nvml_open(struct nvml *nvml)
{
	int rc;

	memset(nvml, 0, sizeof(*nvml));
	nvml->library = dlopen("libnvidia-ml.so.1", RTLD_LAZY | RTLD_LOCAL);
	if (!nvml->library) {
		snprintf(nvml->why, sizeof(nvml->why), "libnvidia-ml.so.1 is not here");
		return false;
	}
	find_symbols(nvml);
	if (!nvml->init || !nvml->shutdown || !nvml->by_bus) {
		snprintf(nvml->why, sizeof(nvml->why), "libnvidia-ml.so.1 is too old");
	} else if ((rc = nvml->init()) != 0) {
		snprintf(nvml->why, sizeof(nvml->why), "nvmlInit fails with %d", rc);
	} else {
		return true;
	}
	dlclose(nvml->library);
	memset(nvml, 0, offsetof(struct nvml, why));
	memset(&nvml->init, 0, sizeof(*nvml) - offsetof(struct nvml, init));
	return false;
}

void nvml_close(struct nvml *nvml)
{
	if (!nvml->library)
		return;
	nvml->shutdown();
	dlclose(nvml->library);
	nvml->library = NULL;
}

/* ---- one GPU ------------------------------------------------------------------------------ */

static int64_t counter(unsigned long long value)
{
	return value <= INT64_MAX ? (int64_t)value : -1;
}

static void take(int (*ask)(nvml_device device, unsigned *value), nvml_device device, int *to)
{
	unsigned value;

	if (ask && ask(device, &value) == 0 && value <= INT_MAX)
		*to = (int)value;
}

static void take_clock(int (*ask)(nvml_device device, unsigned type, unsigned *mhz),
		       nvml_device device, int *to)
{
	unsigned mhz;

	if (ask && ask(device, CLOCK_SM, &mhz) == 0 && mhz <= INT_MAX)
		*to = (int)mhz;
}

static void see_links(const struct nvml *nvml, nvml_device device, struct observed_gpu *gpu)
{
	unsigned active;

	if (!nvml->link_state)
		return;
	gpu->links = gpu->links_active = 0;
	for (unsigned link = 0; link < LINKS; link++) {
		if (nvml->link_state(device, link, &active) != 0)
			continue;
		gpu->links++;
		gpu->links_active += active == 1;
	}
}

/* Of all links together; unseen when no link tells. */
static int64_t link_errors(const struct nvml *nvml, nvml_device device, unsigned kind)
{
	int64_t sum = -1;

	for (unsigned link = 0; link < LINKS && nvml->link_errors; link++) {
		unsigned long long count;

		if (nvml->link_errors(device, link, kind, &count) == 0 && count < INT64_MAX / LINKS)
			sum = (sum < 0 ? 0 : sum) + (int64_t)count;
	}
	return sum;
}

/* Since the driver was loaded. */
static int64_t ecc_errors(const struct nvml *nvml, nvml_device device, unsigned kind)
{
	unsigned long long count;

	return nvml->ecc_errors && nvml->ecc_errors(device, kind, 0, &count) == 0 ? counter(count)
										  : -1;
}

static void see_errors(const struct nvml *nvml, nvml_device device, struct observed_gpu *gpu)
{
	int64_t flits = link_errors(nvml, device, LINK_CRC_FLIT);
	int64_t data = link_errors(nvml, device, LINK_CRC_DATA);

	gpu->link_replays = link_errors(nvml, device, LINK_REPLAY);
	gpu->link_recoveries = link_errors(nvml, device, LINK_RECOVERY);
	gpu->link_crc = flits < 0 ? data : data < 0 ? flits : flits + data;
	gpu->ecc_corrected = ecc_errors(nvml, device, 0);
	gpu->ecc_uncorrected = ecc_errors(nvml, device, 1);
}

static int64_t violation(const struct nvml *nvml, nvml_device device, unsigned policy)
{
	struct nvml_violation time;

	return nvml->violation && nvml->violation(device, policy, &time) == 0
		       ? counter(time.violation_ns)
		       : -1;
}

static void see_clocks(const struct nvml *nvml, nvml_device device, struct observed_gpu *gpu)
{
	unsigned long long reasons;

	take_clock(nvml->clock, device, &gpu->sm_mhz);
	take_clock(nvml->max_clock, device, &gpu->sm_max_mhz);
	if (nvml->reasons && nvml->reasons(device, &reasons) == 0)
		gpu->reasons = counter(reasons);
	gpu->power_ns = violation(nvml, device, POLICY_POWER);
	gpu->thermal_ns = violation(nvml, device, POLICY_THERMAL);
}

void nvml_observe_health(const struct nvml *nvml, nvml_device device, struct observed_gpu *gpu)
{
	see_clocks(nvml, device, gpu);
	see_errors(nvml, device, gpu);
}

/* Idle (0x1) and application clocks (0x2) are none. */
const char *nvml_held_by(int64_t bits)
{
	static const struct {
		int64_t bit;
		const char *name;
	} reasons[] = {
		{ 0x40, "heat (hardware)" },   { 0x20, "heat (driver)" }, { 0x80, "power brake" },
		{ 0x08, "hardware slowdown" }, { 0x04, "power cap" },	  { 0x10, "sync boost" },
		{ 0x100, "display clocks" },
	};

	for (size_t i = 0; bits > 0 && i < sizeof(reasons) / sizeof(reasons[0]); i++)
		if (bits & reasons[i].bit)
			return reasons[i].name;
	return NULL;
}

/* sysfs saw the link first, and the whole way to the CPU; virtual machines hide it there. */
static void see_pcie(const struct nvml *nvml, nvml_device device, struct observed_gpu *gpu)
{
	if (gpu->width < 0)
		take(nvml->pcie_width, device, &gpu->width);
	if (gpu->max_width < 0)
		take(nvml->pcie_max_width, device, &gpu->max_width);
	if (gpu->gen < 0)
		take(nvml->pcie_gen, device, &gpu->gen);
	if (gpu->max_gen < 0)
		take(nvml->pcie_max_gen, device, &gpu->max_gen);
}

static bool is_ours(const struct observed_rank *ranks, int nranks, int node, unsigned pid)
{
	for (int r = 0; r < nranks; r++)
		if (ranks[r].node == node && ranks[r].pid > 0 && (unsigned)ranks[r].pid == pid)
			return true;
	return false;
}

static void see_processes(const struct nvml *nvml, nvml_device device,
			  const struct observed_rank *ranks, int nranks, int node,
			  struct observed_gpu *gpu)
{
	struct nvml_process processes[PROCESSES] = { 0 };
	unsigned n = PROCESSES;

	if (!nvml->processes || nvml->processes(device, &n, processes) != 0 || n > PROCESSES)
		return;
	gpu->processes = (int)n;
	gpu->processes_ours = 0;
	gpu->foreign_bytes = 0;
	for (unsigned i = 0; i < n; i++) {
		if (is_ours(ranks, nranks, node, processes[i].pid)) {
			gpu->processes_ours++;
			continue;
		}
		gpu->foreign_pid = (int)(processes[i].pid & 0x7fffffff);
		if (processes[i].bytes < 1ull << 50) /* NVML_VALUE_NOT_AVAILABLE is all ones */
			gpu->foreign_bytes += (int64_t)processes[i].bytes;
	}
}

/* ---- peers -------------------------------------------------------------------------------- */

/* nvmlGpuP2PStatus_t; NULL: it does not know. */
static const char *refusal(unsigned status)
{
	static const char *const names[] = { "",
					     "the chipset does not support it",
					     "the GPU does not support it",
					     "the I/O hub's topology does not support it",
					     "the driver's settings disable it",
					     "it is not supported" };

	return status < sizeof(names) / sizeof(names[0]) ? names[status] : NULL;
}

/* Of reading and writing, what is refused first. */
static const char *ask_peer(const struct nvml *nvml, nvml_device a, nvml_device b)
{
	unsigned status;

	if (nvml->p2p(a, b, P2P_READ, &status) != 0)
		return NULL;
	if (status == 0 && nvml->p2p(a, b, P2P_WRITE, &status) != 0)
		return NULL;
	return refusal(status);
}

static void see_peers(const struct nvml *nvml, const nvml_device *devices, int i,
		      struct observed_host *host)
{
	struct observed_gpu *gpu = &host->gpus[i];

	if (!nvml->p2p)
		return;
	gpu->peers = gpu->peers_refused = 0;
	for (int j = 0; j < host->ngpus; j++) {
		const char *why;

		if (j == i || !devices[j])
			continue;
		why = ask_peer(nvml, devices[i], devices[j]);
		gpu->peers += why != NULL;
		gpu->peers_refused += why && *why;
		if (why && *why)
			snprintf(gpu->refusal, sizeof(gpu->refusal), "%s", why);
	}
}

void nvml_observe(const struct nvml *nvml, const struct observed_rank *ranks, int nranks,
		  struct observed_host *host)
{
	nvml_device devices[OBSERVED_GPUS] = { NULL };

	host->nvml = 0;
	snprintf(host->nvml_why, sizeof(host->nvml_why), "%s", nvml->why);
	if (!nvml->by_bus)
		return;
	host->nvml = 1;
	for (int i = 0; i < host->ngpus; i++) {
		struct observed_gpu *gpu = &host->gpus[i];

		if (nvml->by_bus(gpu->bus, &devices[i]) != 0) {
			devices[i] = NULL;
			continue;
		}
		see_links(nvml, devices[i], gpu);
		see_pcie(nvml, devices[i], gpu);
		nvml_observe_health(nvml, devices[i], gpu);
		see_processes(nvml, devices[i], ranks, nranks, host->node, gpu);
	}
	for (int i = 0; i < host->ngpus; i++)
		if (devices[i])
			see_peers(nvml, devices, i, host);
}
