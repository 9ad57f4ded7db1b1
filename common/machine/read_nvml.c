/* read_nvml.c: GPUs as the driver sees them. */
#include "machine/read.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

#define LINKS	  18 /* NVML_NVLINK_MAX_LINKS */
#define PROCESSES 64

/* nvml.h: nvmlClockType_t, nvmlPerfPolicyType_t, nvmlGpuP2PCapsIndex_t, nvmlNvLinkErrorCounter_t */
enum { CLOCK_SM = 1, CLOCK_MEMORY = 2 };
enum { POLICY_POWER = 0, POLICY_THERMAL = 1 };
enum { P2P_READ = 0, P2P_WRITE = 1 };
enum { LINK_REPLAY = 0, LINK_RECOVERY = 1, LINK_CRC_FLIT = 2, LINK_CRC_DATA = 3 };

#define GPUS 64 /* of a host */

/* A GPU that is asked, and the part that it is in the list. */
struct gpu {
	const struct nvml *nvml;
	nvml_device device;
	char part[40];
	struct reading *m;
};

static int64_t counter(unsigned long long value)
{
	return value <= INT64_MAX ? (int64_t)value : -1;
}

/* ---- its health --------------------------------------------------------------------------- */

/* Of all links together; -1 when no link tells. */
static int64_t link_errors(const struct gpu *gpu, unsigned kind)
{
	int64_t sum = -1;

	for (unsigned link = 0; link < LINKS && gpu->nvml->link_errors; link++) {
		unsigned long long count;

		if (gpu->nvml->link_errors(gpu->device, link, kind, &count) == 0 &&
		    count < INT64_MAX / LINKS)
			sum = (sum < 0 ? 0 : sum) + (int64_t)count;
	}
	return sum;
}

/* Since the driver was loaded. */
static int64_t ecc_errors(const struct gpu *gpu, unsigned kind)
{
	unsigned long long count;

	return gpu->nvml->ecc_errors && gpu->nvml->ecc_errors(gpu->device, kind, 0, &count) == 0
		       ? counter(count)
		       : -1;
}

static void read_errors(const struct gpu *gpu)
{
	int64_t flits = link_errors(gpu, LINK_CRC_FLIT), data = link_errors(gpu, LINK_CRC_DATA);

	/* what moved, and that there was any */
	reading_count(gpu->m, gpu->part, "ecc_uncorrected", ecc_errors(gpu, 1));
	reading_state(gpu->m, gpu->part, "ecc_uncorrected_total", ecc_errors(gpu, 1));
	reading_count(gpu->m, gpu->part, "ecc_corrected", ecc_errors(gpu, 0));
	reading_count(gpu->m, gpu->part, "link_replays", link_errors(gpu, LINK_REPLAY));
	reading_count(gpu->m, gpu->part, "link_recoveries", link_errors(gpu, LINK_RECOVERY));
	reading_count(gpu->m, gpu->part, "link_crc",
		      flits < 0	 ? data
		      : data < 0 ? flits
				 : flits + data);
}

static int64_t violation(const struct gpu *gpu, unsigned policy)
{
	struct nvml_violation time;

	return gpu->nvml->violation && gpu->nvml->violation(gpu->device, policy, &time) == 0
		       ? counter(time.violation_ns)
		       : -1;
}

static void read_clocks(const struct gpu *gpu)
{
	static const struct {
		unsigned type;
		const char *now, *most;
	} clocks[] = { { CLOCK_SM, "sm_mhz", "sm_max_mhz" },
		       { CLOCK_MEMORY, "memory_mhz", "memory_max_mhz" } };
	const struct nvml *nvml = gpu->nvml;
	unsigned long long reasons;
	unsigned value;

	for (size_t i = 0; i < sizeof(clocks) / sizeof(clocks[0]); i++) {
		if (nvml->clock && nvml->clock(gpu->device, clocks[i].type, &value) == 0)
			reading_state(gpu->m, gpu->part, clocks[i].now, value);
		if (nvml->max_clock && nvml->max_clock(gpu->device, clocks[i].type, &value) == 0)
			reading_state(gpu->m, gpu->part, clocks[i].most, value);
	}
	reading_count(gpu->m, gpu->part, "power_ns", violation(gpu, POLICY_POWER));
	reading_count(gpu->m, gpu->part, "thermal_ns", violation(gpu, POLICY_THERMAL));
	if (gpu->nvml->reasons && gpu->nvml->reasons(gpu->device, &reasons) == 0)
		reading_state(gpu->m, gpu->part, "clock_reasons", counter(reasons));
}

/* Heat, power, use. */
static void read_load(const struct gpu *gpu)
{
	const struct nvml *nvml = gpu->nvml;
	struct nvml_utilization busy;
	struct nvml_memory memory;
	unsigned value;

	if (nvml->temperature && nvml->temperature(gpu->device, 0, &value) == 0)
		reading_state(gpu->m, gpu->part, "temperature_c", value);
	if (nvml->power && nvml->power(gpu->device, &value) == 0)
		reading_state(gpu->m, gpu->part, "power_mw", value);
	if (nvml->power_limit && nvml->power_limit(gpu->device, &value) == 0)
		reading_state(gpu->m, gpu->part, "power_limit_mw", value);
	if (nvml->utilization && nvml->utilization(gpu->device, &busy) == 0)
		reading_state(gpu->m, gpu->part, "busy_percent", busy.gpu);
	if (nvml->memory && nvml->memory(gpu->device, &memory) == 0) {
		reading_state(gpu->m, gpu->part, "memory_bytes", counter(memory.total));
		reading_state(gpu->m, gpu->part, "memory_used_bytes", counter(memory.used));
	}
}

static void read_rows(const struct gpu *gpu)
{
	unsigned replays, corrected, uncorrected, pending, failed;

	if (gpu->nvml->pcie_replays && gpu->nvml->pcie_replays(gpu->device, &replays) == 0)
		reading_count(gpu->m, gpu->part, "pcie_replays", replays);
	if (gpu->nvml->remapped_rows &&
	    gpu->nvml->remapped_rows(gpu->device, &corrected, &uncorrected, &pending, &failed) ==
		    0) {
		reading_count(gpu->m, gpu->part, "rows_remapped", corrected);
		reading_count(gpu->m, gpu->part, "rows_remapped_uncorrected", uncorrected);
		reading_state(gpu->m, gpu->part, "remap_pending", pending != 0);
		reading_state(gpu->m, gpu->part, "remap_failed", failed != 0);
	}
}

static void read_health(const struct gpu *gpu)
{
	read_errors(gpu);
	read_clocks(gpu);
	read_load(gpu);
	read_rows(gpu);
}

/* ---- how it is set up --------------------------------------------------------------------- */

/* /sys saw the link first, and the whole way to the CPU; virtual machines hide it there. */
static void read_pcie(const struct gpu *gpu)
{
	const struct {
		int (*ask)(nvml_device device, unsigned *value);
		const char *name;
	} links[] = {
		{ gpu->nvml->pcie_width, "width" },
		{ gpu->nvml->pcie_max_width, "max_width" },
		{ gpu->nvml->pcie_gen, "gen" },
		{ gpu->nvml->pcie_max_gen, "max_gen" },
	};
	unsigned value;

	for (size_t i = 0; i < sizeof(links) / sizeof(links[0]); i++)
		if (reading_value(gpu->m, gpu->part, links[i].name) < 0 && links[i].ask &&
		    links[i].ask(gpu->device, &value) == 0)
			reading_state(gpu->m, gpu->part, links[i].name, value);
}

static void read_setup(const struct gpu *gpu)
{
	const struct nvml *nvml = gpu->nvml;
	int links = 0, up = 0;
	unsigned value;

	for (unsigned link = 0; link < LINKS && nvml->link_state; link++) {
		if (nvml->link_state(gpu->device, link, &value) != 0)
			continue;
		links++;
		up += value == 1;
	}
	if (nvml->link_state) {
		reading_state(gpu->m, gpu->part, "links", links);
		reading_state(gpu->m, gpu->part, "links_active", up);
	}
	read_pcie(gpu);
}

/* ---- who is on it ------------------------------------------------------------------------- */

static bool is_ours(const struct read_request *request, unsigned pid)
{
	for (int r = 0; r < request->nranks; r++)
		if (request->ranks[r].node == request->node && request->ranks[r].pid > 0 &&
		    (unsigned)request->ranks[r].pid == pid)
			return true;
	return false;
}

static void read_processes(const struct gpu *gpu, const struct read_request *request)
{
	struct nvml_process processes[PROCESSES] = { 0 };
	unsigned n = PROCESSES;
	int64_t ours = 0, foreign = 0;

	if (!gpu->nvml->processes || gpu->nvml->processes(gpu->device, &n, processes) != 0 ||
	    n > PROCESSES)
		return;
	for (unsigned i = 0; i < n; i++) {
		if (is_ours(request, processes[i].pid)) {
			ours++;
			continue;
		}
		reading_state(gpu->m, gpu->part, "foreign_pid", processes[i].pid & 0x7fffffff);
		if (processes[i].bytes < 1ull << 50) /* NVML_VALUE_NOT_AVAILABLE is all ones */
			foreign += (int64_t)processes[i].bytes;
	}
	reading_state(gpu->m, gpu->part, "processes", n);
	reading_state(gpu->m, gpu->part, "processes_ours", ours);
	reading_state(gpu->m, gpu->part, "foreign_bytes", foreign);
}

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

static void read_peers(const struct gpu *gpus, int n, int i)
{
	const struct gpu *gpu = &gpus[i];
	int peers = 0, refused = 0;

	if (!gpu->nvml->p2p)
		return;
	for (int j = 0; j < n; j++) {
		const char *why = j == i ? NULL : ask_peer(gpu->nvml, gpu->device, gpus[j].device);

		peers += why != NULL;
		refused += why && *why;
		if (why && *why)
			reading_say(gpu->m, gpu->part, "refusal", why);
	}
	reading_state(gpu->m, gpu->part, "peers", peers);
	reading_state(gpu->m, gpu->part, "peers_refused", refused);
}

/* ---- all of them -------------------------------------------------------------------------- */

/* Those that have a "bus" in the list: the job's. Returns how many answer. */
static int find_by_bus(const struct nvml *nvml, struct reading *m, struct gpu gpus[GPUS])
{
	const char *part;
	size_t at = 0;
	int n = 0;

	while (n < GPUS && (part = reading_next(m, "bus", &at))) {
		struct gpu *gpu = &gpus[n];

		*gpu = (struct gpu){ .nvml = nvml, .m = m };
		snprintf(gpu->part, sizeof(gpu->part), "%s", part);
		n += nvml->by_bus(reading_text(m, part, "bus"), &gpu->device) == 0;
	}
	reading_state(m, "NVML", "gpus", n);
	return n;
}

/* All that there are, whoever uses them. */
static int find_by_number(const struct nvml *nvml, struct reading *m, struct gpu gpus[GPUS])
{
	unsigned count = 0;
	int n = 0;

	if (!nvml->count || !nvml->by_index)
		return 0;
	if (nvml->count(&count) != 0) {
		snprintf(m->why, sizeof(m->why), "NVML does not count GPUs");
		return 0;
	}
	reading_state(m, "NVML", "gpus", count);
	for (unsigned i = 0; i < count && i < GPUS; i++) {
		gpus[n] = (struct gpu){ .nvml = nvml, .m = m };
		snprintf(gpus[n].part, sizeof(gpus[n].part), "GPU %u", i);
		n += nvml->by_index(i, &gpus[n].device) == 0;
	}
	return n;
}

void read_nvml(const struct read_request *request, struct reading *m)
{
	const struct nvml *nvml = request->nvml;
	bool setup = request->ranks || request->readers & READ_GPUS;
	char driver[80] = ""; /* NVML_SYSTEM_DRIVER_VERSION_BUFFER_SIZE */
	struct gpu gpus[GPUS];
	int n;

	if (!nvml)
		return;
	snprintf(m->why, sizeof(m->why), "%s", nvml->why);
	if (!nvml->by_bus)
		return;
	n = setup ? find_by_bus(nvml, m, gpus) : find_by_number(nvml, m, gpus);
	if (nvml->driver && nvml->driver(driver, sizeof(driver)) == 0)
		reading_say(m, "NVML", "driver", driver);
	for (int i = 0; i < n; i++) {
		read_health(&gpus[i]);
		if (!setup)
			continue;
		read_setup(&gpus[i]);
		read_processes(&gpus[i], request);
		read_peers(gpus, n, i);
	}
}
