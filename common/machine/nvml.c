/* nvml.c: the driver's library, loaded where it is. */
#include "machine/nvml.h"

#include <dlfcn.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

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
	SYMBOL(temperature, "nvmlDeviceGetTemperature", NULL),
	SYMBOL(power, "nvmlDeviceGetPowerUsage", NULL),
	SYMBOL(power_limit, "nvmlDeviceGetEnforcedPowerLimit", NULL),
	SYMBOL(utilization, "nvmlDeviceGetUtilizationRates", NULL),
	SYMBOL(memory, "nvmlDeviceGetMemoryInfo", NULL),
	SYMBOL(pci, "nvmlDeviceGetPciInfo_v3", NULL),
	SYMBOL(driver, "nvmlSystemGetDriverVersion", NULL),
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
