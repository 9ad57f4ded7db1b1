/* read_nvml.c: GPUs as the driver sees them. */
#include "machine/read.h"

#define LINKS	  18 /* NVML_NVLINK_MAX_LINKS */
#define PROCESSES 64

/* nvml.h: nvmlClockType_t, nvmlPerfPolicyType_t, nvmlGpuP2PCapsIndex_t, nvmlNvLinkErrorCounter_t */
enum { CLOCK_SM = 1, CLOCK_MEMORY = 2 };
enum { POLICY_POWER = 0, POLICY_THERMAL = 1 };
enum { P2P_READ = 0, P2P_WRITE = 1, P2P_NVLINK = 2 };
enum { LINK_REPLAY = 0, LINK_RECOVERY = 1, LINK_CRC_FLIT = 2, LINK_CRC_DATA = 3 };

#define GPUS	      64 /* of a host */
#define NO_PERMISSION 4	 /* NVML_ERROR_NO_PERMISSION: a GPU that a container was not given */

struct gpu {
	const struct nvml *nvml;
	nvml_device device;
	char part[40];
	struct reading *m;
};

/* True when this function is there, and answers. */
#define ASK(gpu, function, ...)                                                                    \
	((gpu)->nvml->function && (gpu)->nvml->function((gpu)->device, __VA_ARGS__) == 0)

static int64_t counter(unsigned long long value)
{
	return value <= INT64_MAX ? (int64_t)value : -1;
}

static void state(const struct gpu *gpu, const char *name, unsigned long long value)
{
	reading_state(gpu->m, gpu->part, name, counter(value));
}

static void count(const struct gpu *gpu, const char *name, unsigned long long value)
{
	reading_count(gpu->m, gpu->part, name, counter(value));
}

/* Reads the last argument of an NVML function: `put` is state or count. */
#define TAKE(gpu, put, name, type, function, ...)                                                  \
	do {                                                                                       \
		type taken;                                                                        \
                                                                                                   \
		if (ASK(gpu, function, __VA_ARGS__ __VA_OPT__(, ) & taken))                        \
			put(gpu, name, taken);                                                     \
	} while (0)

/* ---- its health --------------------------------------------------------------------------- */

/* The sum of all links; ULLONG_MAX, which is not taken, when no link tells. */
static unsigned long long link_errors(const struct gpu *gpu, unsigned kind)
{
	unsigned long long errors, sum = ULLONG_MAX;

	for (unsigned link = 0; link < LINKS; link++)
		if (ASK(gpu, link_errors, link, kind, &errors) && errors < INT64_MAX / LINKS)
			sum = (sum == ULLONG_MAX ? 0 : sum) + errors;
	return sum;
}

static void read_errors(const struct gpu *gpu)
{
	unsigned long long flits = link_errors(gpu, LINK_CRC_FLIT);
	unsigned long long data = link_errors(gpu, LINK_CRC_DATA);
	unsigned corrected, uncorrected, pending, failed;

	/* since the driver was loaded */
	TAKE(gpu, count, "ecc_uncorrected", unsigned long long, ecc_errors, 1, 0);
	TAKE(gpu, state, "ecc_uncorrected_total", unsigned long long, ecc_errors, 1, 0);
	TAKE(gpu, count, "ecc_corrected", unsigned long long, ecc_errors, 0, 0);
	count(gpu, "link_replays", link_errors(gpu, LINK_REPLAY));
	count(gpu, "link_recoveries", link_errors(gpu, LINK_RECOVERY));
	count(gpu, "link_crc",
	      flits == ULLONG_MAX  ? data
	      : data == ULLONG_MAX ? flits
				   : flits + data);
	TAKE(gpu, count, "pcie_replays", unsigned, pcie_replays);
	if (ASK(gpu, remapped_rows, &corrected, &uncorrected, &pending, &failed)) {
		count(gpu, "rows_remapped", corrected);
		count(gpu, "rows_remapped_uncorrected", uncorrected);
		state(gpu, "remap_pending", pending != 0);
		state(gpu, "remap_failed", failed != 0);
	}
}

/* Clocks and what holds them down, heat, power, use. */
static void read_load(const struct gpu *gpu)
{
	struct nvml_utilization busy;
	struct nvml_violation time;
	struct nvml_memory memory;

	TAKE(gpu, state, "sm_mhz", unsigned, clock, CLOCK_SM);
	TAKE(gpu, state, "sm_max_mhz", unsigned, max_clock, CLOCK_SM);
	TAKE(gpu, state, "memory_mhz", unsigned, clock, CLOCK_MEMORY);
	if (ASK(gpu, violation, POLICY_POWER, &time))
		count(gpu, "power_ns", time.violation_ns);
	if (ASK(gpu, violation, POLICY_THERMAL, &time))
		count(gpu, "thermal_ns", time.violation_ns);
	TAKE(gpu, state, "clock_reasons", unsigned long long, reasons);
	TAKE(gpu, state, "temperature_c", unsigned, temperature, 0);
	TAKE(gpu, state, "power_mw", unsigned, power);
	TAKE(gpu, state, "power_limit_mw", unsigned, power_limit);
	if (ASK(gpu, utilization, &busy))
		state(gpu, "busy_percent", busy.gpu);
	if (ASK(gpu, memory, &memory)) {
		state(gpu, "memory_bytes", memory.total);
		state(gpu, "memory_used_bytes", memory.used);
	}
}

/* The GPU's own PCIe link. /sys, which virtual machines hide, knows the whole way to the CPU. */
static void read_setup(const struct gpu *gpu)
{
	unsigned links = 0, up = 0, value;

	for (unsigned link = 0; link < LINKS; link++)
		if (ASK(gpu, link_state, link, &value)) {
			links++;
			up += value == 1;
		}
	if (gpu->nvml->link_state) {
		state(gpu, "links", links);
		state(gpu, "links_active", up);
	}
	TAKE(gpu, state, "persistence", unsigned, persistence);
	TAKE(gpu, state, "width", unsigned, pcie_width);
	TAKE(gpu, state, "max_width", unsigned, pcie_max_width);
	TAKE(gpu, state, "gen", unsigned, pcie_gen);
	TAKE(gpu, state, "max_gen", unsigned, pcie_max_gen);
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
	unsigned long long ours = 0, foreign = 0;

	if (!ASK(gpu, processes, &n, processes) || n > PROCESSES)
		return;
	for (unsigned i = 0; i < n; i++) {
		if (is_ours(request, processes[i].pid)) {
			ours++;
			continue;
		}
		state(gpu, "foreign_pid", processes[i].pid & 0x7fffffff);
		if (processes[i].bytes < 1ull << 50) /* NVML_VALUE_NOT_AVAILABLE is all ones */
			foreign += processes[i].bytes;
	}
	state(gpu, "processes", n);
	state(gpu, "processes_ours", ours);
	state(gpu, "foreign_bytes", foreign);
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

	return status < LENGTH(names) ? names[status] : NULL;
}

/* The first refusal of reading and writing. */
static const char *ask_peer(const struct nvml *nvml, nvml_device a, nvml_device b)
{
	unsigned status;

	if (nvml->p2p(a, b, P2P_READ, &status) != 0)
		return NULL;
	if (status == 0 && nvml->p2p(a, b, P2P_WRITE, &status) != 0)
		return NULL;
	return refusal(status);
}

void gpu_pair_read(const struct nvml *nvml, const char *bus_a, const char *bus_b,
		   struct gpu_pair *pair)
{
	/* nvmlGpuTopologyLevel_t, tens of it; nvidia-smi's names */
	static const char *const names[] = { "X", "PIX", "PXB", "PHB", "NODE", "SYS" };
	unsigned level, up, links = 0;
	struct nvml_pci remote, far;
	nvml_device a, b;

	*pair = (struct gpu_pair){ .refused = NULL };
	if (!nvml->by_bus || nvml->by_bus(bus_a, &a) != 0 || nvml->by_bus(bus_b, &b) != 0)
		return;
	if (nvml->ancestor && nvml->ancestor(a, b, &level) == 0 && level / 10 < 6)
		snprintf(pair->link, sizeof(pair->link), "%s", names[level / 10]);
	if (!nvml->p2p || strcmp(bus_a, bus_b) == 0)
		return;
	pair->refused = ask_peer(nvml, a, b);
	if (pair->refused && !*pair->refused)
		pair->refused = NULL;
	if (!nvml->link_state || !nvml->pci || !nvml->link_remote || nvml->pci(b, &far) != 0 ||
	    nvml->p2p(a, b, P2P_NVLINK, &up) != 0 || up != 0)
		return;
	for (unsigned link = 0, direct = 0; link < LINKS; link++) {
		if (nvml->link_state(a, link, &up) != 0 || up != 1 ||
		    nvml->link_remote(a, link, &remote) != 0)
			continue;
		if (strcmp(remote.bus, far.bus) == 0 && direct++ == 0)
			links = 0; /* those to a switch, or to others, do not count then */
		links += direct == 0 || strcmp(remote.bus, far.bus) == 0;
	}
	if (links > 0)
		snprintf(pair->link, sizeof(pair->link), "NV%u", links);
}

static void read_peers(const struct gpu *gpus, int n, int i)
{
	const struct gpu *gpu = &gpus[i];
	unsigned peers = 0, refused = 0;

	if (!gpu->nvml->p2p)
		return;
	for (int j = 0; j < n; j++) {
		const char *why = j == i ? NULL : ask_peer(gpu->nvml, gpu->device, gpus[j].device);

		peers += why != NULL;
		refused += why && *why;
		if (why && *why)
			reading_say(gpu->m, gpu->part, "refusal", why);
	}
	state(gpu, "peers", peers);
	state(gpu, "peers_refused", refused);
}

/* ---- all of them -------------------------------------------------------------------------- */

/* Reads the GPUs with a "bus" in the list, the job's. Returns how many answer. */
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

/* All GPUs of the host. */
static int find_by_number(const struct nvml *nvml, struct reading *m, struct gpu gpus[GPUS])
{
	unsigned count = 0;
	struct nvml_pci pci;
	int n = 0, rc;

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
		rc = nvml->by_index(i, &gpus[n].device);
		state(&gpus[n], "lost", rc != 0 && rc != NO_PERMISSION);
		if (rc != 0)
			continue;
		/* the kernel, and CUDA, write a domain of four digits */
		if (ASK(&gpus[n], pci, &pci))
			reading_say(m, gpus[n].part, "bus",
				    pci.bus + (strncmp(pci.bus, "0000", 4) ? 0 : 4));
		n++;
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
	n = request->ranks ? find_by_bus(nvml, m, gpus) : find_by_number(nvml, m, gpus);
	if (nvml->driver && nvml->driver(driver, sizeof(driver)) == 0)
		reading_say(m, "NVML", "driver", driver);
	for (int i = 0; i < n; i++) {
		read_errors(&gpus[i]);
		read_load(&gpus[i]);
		if (!setup)
			continue;
		read_setup(&gpus[i]);
		read_processes(&gpus[i], request);
		read_peers(gpus, n, i);
	}
}
