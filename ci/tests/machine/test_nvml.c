/* test_nvml.c: what NVML's answers become, with a library made of functions below. */
#include "rig/unit.h"

#include "machine/read.h"
#include "rig/tree.h"

/* Two GPUs: the second has lost link 3, refuses P2P, and has another process on it. */
static int devices[2];

/* A function that does so, and succeeds. */
#define ANSWERS(name, arguments, ...)                                                              \
	static int name arguments                                                                  \
	{                                                                                          \
		__VA_ARGS__;                                                                       \
		return 0;                                                                          \
	}

static int by_bus(const char *bus, nvml_device *device)
{
	if (strcasecmp(bus, "0000:18:00.0") == 0)
		*device = &devices[0];
	else if (strcasecmp(bus, "0000:2a:00.0") == 0)
		*device = &devices[1];
	else
		return 6; /* NVML_ERROR_NOT_FOUND */
	return 0;
}

static int link_state(nvml_device device, unsigned link, unsigned *active)
{
	if (link >= 4)
		return 2; /* NVML_ERROR_INVALID_ARGUMENT */
	*active = !(device == &devices[1] && link == 3);
	return 0;
}

static int link_errors(nvml_device device, unsigned link, unsigned counter,
		       unsigned long long *count)
{
	if (link >= 4 || counter == 1)
		return 3; /* NVML_ERROR_NOT_SUPPORTED */
	*count = device == &devices[1] ? 10 * (counter + 1) : 0;
	return 0;
}

ANSWERS(width, (nvml_device device, unsigned *lanes), *lanes = 16)
ANSWERS(clock_mhz, (nvml_device device, unsigned type, unsigned *mhz),
	*mhz = type == 1   ? 1980
	       : type == 2 ? 3201
			   : 1)
ANSWERS(event_reasons, (nvml_device device, unsigned long long *reasons), *reasons = 4)

static int violation(nvml_device device, unsigned policy, struct nvml_violation *time)
{
	time->reference_us = 1;
	time->violation_ns =
		policy == 0 ? 123456 : UINT64_MAX; /* the latter: more than a counter holds */
	return 0;
}

ANSWERS(ecc_errors,
	(nvml_device device, unsigned kind, unsigned counter, unsigned long long *count),
	*count = 100 + 10 * kind + counter)

static int processes(nvml_device device, unsigned *n, struct nvml_process *list)
{
	if (*n < 2)
		return 7; /* NVML_ERROR_INSUFFICIENT_SIZE */
	list[0] = (struct nvml_process){ .pid = 100, .bytes = 5 };
	list[1] = (struct nvml_process){ .pid = 4711,
					 .bytes = device == &devices[1] ? 3 : UINT64_MAX };
	*n = 2;
	return 0;
}

ANSWERS(p2p, (nvml_device a, nvml_device b, unsigned index, unsigned *status),
	*status = a == &devices[1] && index == 1 ? 4 : 0)
ANSWERS(celsius, (nvml_device device, unsigned sensor, unsigned *value),
	*value = device == &devices[1] && sensor == 0 ? 86 : 40)
ANSWERS(busy, (nvml_device device, struct nvml_utilization *utilization),
	*utilization = (struct nvml_utilization){ .gpu = 97, .memory = 12 })
ANSWERS(memory, (nvml_device device, struct nvml_memory *bytes),
	*bytes = (struct nvml_memory){ .total = 1000, .free = 800, .used = 200 })

static int rows(nvml_device device, unsigned *corrected, unsigned *uncorrected, unsigned *pending,
		unsigned *failed)
{
	*corrected = 0;
	*uncorrected = 2;
	*pending = device == &devices[1];
	*failed = 0;
	return 0;
}

ANSWERS(count, (unsigned *n), *n = 3)

/* Number 1 is another, which is lost. */
static int by_index(unsigned index, nvml_device *device)
{
	*device = &devices[index / 2];
	return index == 1 ? 15 : 0; /* NVML_ERROR_GPU_IS_LOST */
}

ANSWERS(pci, (nvml_device device, struct nvml_pci *to),
	strcpy(to->bus, device == &devices[1] ? "00000000:2A:00.0" : "00000000:18:00.0"))
ANSWERS(driver, (char *version, unsigned len), snprintf(version, len, "580.95.05"))

static const struct nvml whole = {
	.by_bus = by_bus,
	.link_state = link_state,
	.link_errors = link_errors,
	.pcie_width = width,
	.clock = clock_mhz,
	.max_clock = clock_mhz,
	.reasons = event_reasons,
	.violation = violation,
	.ecc_errors = ecc_errors,
	.processes = processes,
	.p2p = p2p,
	.temperature = celsius,
	.power_limit = width,
	.pcie_replays = width,
	.utilization = busy,
	.memory = memory,
	.remapped_rows = rows,
	.count = count,
	.by_index = by_index,
	.pci = pci,
	.driver = driver,
	.persistence = width,
};

static struct reading host;
static struct observed_rank ranks[4];

/* Ranks 0 to 2 are here, one on a GPU that NVML does not know; process 4711 is none of ours. */
static void look(const struct nvml *nvml)
{
	static const char *const buses[] = { "0000:18:00.0", "0000:2a:00.0", "0000:ff:00.0", "" };
	const struct read_request request = { .readers = READ_GPUS | READ_NVML,
					      .root = "/no/such/root",
					      .nvml = nvml,
					      .ranks = ranks,
					      .nranks = 4,
					      .node = 0 };

	reading_release(&host);
	for (int i = 0; i < 4; i++) {
		ranks[i] = (struct observed_rank){ .cpu_ns = -1 };
		strcpy(ranks[i].bus, buses[i]);
		ranks[i].node = i == 3;
		ranks[i].pid = i == 3 ? 4711 : 100 + i;
	}
	read_host(&request, &host);
}

static int64_t value(int gpu, const char *name)
{
	static const char *const parts[] = { "GPU 0000:18:00.0", "GPU 0000:2a:00.0",
					     "GPU 0000:ff:00.0" };

	return reading_value(&host, parts[gpu], name);
}

UNIT_TEST(test_whole, "a library that tells everything")
{
	look(&whole);
	UNIT_ALL(reading_value(&host, "NVML", "gpus") == 2, value(0, "links_active") == 4,
		 value(1, "links") == 4, value(1, "links_active") == 3);
	CU_ASSERT_EQUAL(value(1, "link_replays"), 40);	  /* 10 of each of 4 links */
	CU_ASSERT_EQUAL(value(1, "link_recoveries"), -1); /* not supported */
	UNIT_ALL(value(1, "link_crc") == 4 * 30 + 4 * 40, value(1, "width") == 16);
	CU_ASSERT_EQUAL(value(1, "gen"), -1); /* no such function */
	UNIT_ALL(value(1, "sm_mhz") == 1980, value(1, "memory_mhz") == 3201,
		 value(0, "temperature_c") == 40, value(1, "temperature_c") == 86);
	CU_ASSERT_EQUAL(value(1, "power_mw"), -1); /* no such function */
	UNIT_ALL(value(1, "power_limit_mw") == 16, value(1, "pcie_replays") == 16,
		 value(1, "busy_percent") == 97, value(1, "memory_used_bytes") == 200,
		 value(1, "rows_remapped_uncorrected") == 2, value(0, "remap_pending") == 0,
		 value(1, "remap_pending") == 1,
		 !strcmp(reading_text(&host, "NVML", "driver"), "580.95.05"),
		 value(1, "clock_reasons") == 4, value(1, "power_ns") == 123456);
	UNIT_ALL(value(1, "thermal_ns") == -1, value(1, "ecc_corrected") == 100,
		 value(1, "ecc_uncorrected") == 110, value(1, "ecc_uncorrected_total") == 110,
		 value(1, "processes") == 2, value(1, "processes_ours") == 1,
		 value(1, "foreign_pid") == 4711, value(1, "foreign_bytes") == 3);
	CU_ASSERT_EQUAL(value(0, "foreign_bytes"), 0); /* not available */
	UNIT_ALL(value(1, "peers") == 1, value(1, "peers_refused") == 1,
		 !strcmp(reading_text(&host, "GPU 0000:2a:00.0", "refusal"),
			 "the driver's settings disable it"),
		 value(0, "peers_refused") == 0);
	/* a GPU that NVML does not know */
	UNIT_ALL(value(2, "links") == -1, value(2, "peers") == -1);
}

/* All GPUs of a host, by number, and what the kernel's log says of them. */
UNIT_TEST(test_all, "all of a host")
{
	static const struct tree_file files[] = {
		{ "/sys/bus/pci/devices/0000:2a:00.0@", "../../../devices/pci0000:00/0000:2a:00.0",
		  0 },
		{ "/sys/devices/pci0000:00/0000:2a:00.0/current_link_width", "8\n", 0 },
		{ "/dev/kmsg",
		  "6,1,5,-;NVRM: Xid (PCI:0000:2a:00): 31, pid=7\n"
		  "6,2,6,-;NVRM: Xid (PCI:0000:2a:00): 79, pid='<unknown>', GPU has fallen off the "
		  "bus.\n6,3,7,-;NVRM: Xid (PCI:0000:99:00): 48\n6,4,8,-;NVRM: Xid (PCI:",
		  0 },
		{ NULL, NULL, 0 },
	};
	struct read_request request = { .readers = READ_GPUS | READ_NVML | READ_XIDS,
					.root = tree_make(files),
					.nvml = &whole };

	reading_release(&host);
	read_host(&request, &host);
	tree_remove();
	CU_ASSERT_EQUAL(reading_value(&host, "NVML", "gpus"), 3);
	CU_ASSERT_STRING_EQUAL(reading_text(&host, "GPU 2", "bus"), "0000:2A:00.0");
	CU_ASSERT_EQUAL(reading_value(&host, "GPU 0", "width"), 16);
	CU_ASSERT_EQUAL(reading_value(&host, "GPU 2", "width"), 8); /* /sys has the last word */
	UNIT_ALL(reading_value(&host, "GPU 2", "links_active") == 3,
		 reading_value(&host, "GPU 0", "xids") == 0,
		 reading_value(&host, "GPU 2", "xids") == 2,
		 reading_value(&host, "GPU 2", "xid_last") == 79,
		 reading_value(&host, "GPU 2", "xid_31") == 1,
		 reading_value(&host, "GPU 2", "xid_48") == -1,
		 reading_value(&host, "GPU 1", "lost") == 1,
		 reading_value(&host, "GPU 2", "lost") == 0);
	/* what a hang's counters need */
	request.readers = READ_NVML;
	reading_release(&host);
	read_host(&request, &host);
	CU_ASSERT_EQUAL(reading_value(&host, "GPU 2", "ecc_uncorrected"), 110);
	CU_ASSERT_EQUAL(reading_value(&host, "GPU 2", "links"), -1);
}

/* An old library, or one that refuses, leaves everything unseen. */
UNIT_TEST(test_nothing, "one that tells nothing")
{
	struct nvml bare = { .by_bus = by_bus }, none = { .why = "libnvidia-ml.so.1 is not here" };

	look(&bare);
	UNIT_ALL(reading_value(&host, "NVML", "gpus") == 2, value(0, "links") == -1,
		 value(0, "processes") == -1, value(0, "power_ns") == -1,
		 value(0, "link_replays") == -1);
	look(&none);
	CU_ASSERT_EQUAL(reading_value(&host, "NVML", "gpus"), -1);
	CU_ASSERT_STRING_EQUAL(host.why, "libnvidia-ml.so.1 is not here");
	reading_release(&host);
	read_host(&(struct read_request){ .readers = READ_NVML, .root = "", .nvml = &bare }, &host);
	CU_ASSERT_EQUAL(host.n, 0); /* it can't count GPUs */
	reading_release(&host);
}

UNIT_TEST(test_open, "opening it")
{
	struct nvml nvml;

	if (nvml_open(&nvml)) {
		UNIT_ALL(nvml.by_bus != NULL, !strcmp(nvml.why, ""));
	} else {
		UNIT_ALL(nvml.library == NULL, nvml.why[0] != '\0');
		CU_ASSERT_PTR_NULL(nvml.by_bus); /* nothing of a library that is closed */
	}
	nvml_close(&nvml);
	nvml_close(&nvml);
}
