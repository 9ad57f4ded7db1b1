/* nvml.h: the library of the NVIDIA driver, where it is installed. */
#pragma once

/* NVML's functions and structs as in its ABI (API reference, "NVML API"; unchanged since CUDA 11):
 * neither its header nor the library is needed to build. Any but the first three may be NULL. All
 * return 0 for success. older_reasons is the former name of `reasons`. */
typedef void *nvml_device;

struct nvml_process { /* nvmlProcessInfo_v2_t */
	unsigned pid;
	unsigned long long bytes;
	unsigned gpu_instance, compute_instance;
};

struct nvml_violation { /* nvmlViolationTime_t */
	unsigned long long reference_us, violation_ns;
};

struct nvml_utilization { /* nvmlUtilization_t, percent of the last second or less */
	unsigned gpu, memory;
};

struct nvml_memory { /* nvmlMemory_t */
	unsigned long long total, free, used;
};

struct nvml_pci { /* nvmlPciInfo_t */
	char legacy_bus[16];
	unsigned domain, bus_number, device, id, subsystem;
	char bus[32];
};

/* F(field, the library's name, arguments) */
#define NVML_FUNCTIONS(F)                                                                          \
	F(init, nvmlInit_v2, (void))                                                               \
	F(shutdown, nvmlShutdown, (void))                                                          \
	F(by_bus, nvmlDeviceGetHandleByPciBusId_v2, (const char *bus, nvml_device *device))        \
	F(link_state, nvmlDeviceGetNvLinkState, (nvml_device, unsigned link, unsigned *active))    \
	F(link_errors, nvmlDeviceGetNvLinkErrorCounter,                                            \
	  (nvml_device, unsigned link, unsigned counter, unsigned long long *count))               \
	F(pcie_width, nvmlDeviceGetCurrPcieLinkWidth, (nvml_device, unsigned *lanes))              \
	F(pcie_gen, nvmlDeviceGetCurrPcieLinkGeneration, (nvml_device, unsigned *gen))             \
	F(pcie_max_width, nvmlDeviceGetMaxPcieLinkWidth, (nvml_device, unsigned *lanes))           \
	F(pcie_max_gen, nvmlDeviceGetMaxPcieLinkGeneration, (nvml_device, unsigned *gen))          \
	F(clock, nvmlDeviceGetClockInfo, (nvml_device, unsigned type, unsigned *mhz))              \
	F(max_clock, nvmlDeviceGetMaxClockInfo, (nvml_device, unsigned type, unsigned *mhz))       \
	F(reasons, nvmlDeviceGetCurrentClocksEventReasons,                                         \
	  (nvml_device, unsigned long long *reasons))                                              \
	F(violation, nvmlDeviceGetViolationStatus,                                                 \
	  (nvml_device, unsigned policy, struct nvml_violation *time))                             \
	F(ecc_errors, nvmlDeviceGetTotalEccErrors,                                                 \
	  (nvml_device, unsigned kind, unsigned counter, unsigned long long *count))               \
	F(processes, nvmlDeviceGetComputeRunningProcesses_v3,                                      \
	  (nvml_device, unsigned *n, struct nvml_process *processes))                              \
	F(p2p, nvmlDeviceGetP2PStatus,                                                             \
	  (nvml_device a, nvml_device b, unsigned index, unsigned *status))                        \
	F(ancestor, nvmlDeviceGetTopologyCommonAncestor,                                           \
	  (nvml_device a, nvml_device b, unsigned *level))                                         \
	F(link_remote, nvmlDeviceGetNvLinkRemotePciInfo_v2,                                        \
	  (nvml_device, unsigned link, struct nvml_pci *remote))                                   \
	F(count, nvmlDeviceGetCount_v2, (unsigned *n))                                             \
	F(by_index, nvmlDeviceGetHandleByIndex_v2, (unsigned index, nvml_device *device))          \
	F(pcie_replays, nvmlDeviceGetPcieReplayCounter, (nvml_device, unsigned *count))            \
	F(remapped_rows, nvmlDeviceGetRemappedRows,                                                \
	  (nvml_device, unsigned *corrected, unsigned *uncorrected, unsigned *pending,             \
	   unsigned *failed))                                                                      \
	F(temperature, nvmlDeviceGetTemperature,                                                   \
	  (nvml_device, unsigned sensor, unsigned *celsius))                                       \
	F(power, nvmlDeviceGetPowerUsage, (nvml_device, unsigned *milliwatt))                      \
	F(power_limit, nvmlDeviceGetEnforcedPowerLimit, (nvml_device, unsigned *milliwatt))        \
	F(utilization, nvmlDeviceGetUtilizationRates,                                              \
	  (nvml_device, struct nvml_utilization * utilization))                                    \
	F(memory, nvmlDeviceGetMemoryInfo, (nvml_device, struct nvml_memory * memory))             \
	F(pci, nvmlDeviceGetPciInfo_v3, (nvml_device, struct nvml_pci * pci))                      \
	F(persistence, nvmlDeviceGetPersistenceMode, (nvml_device, unsigned *on))                  \
	F(driver, nvmlSystemGetDriverVersion, (char *version, unsigned len))                       \
	F(older_reasons, nvmlDeviceGetCurrentClocksThrottleReasons,                                \
	  (nvml_device, unsigned long long *reasons))

struct nvml {
	void *library; /* dlopen's */
	char why[96];  /* why it is not there */
	bool missing;  /* the library itself is not there */
#define NVML_FIELD(field, symbol, arguments) int(*field) arguments;
	NVML_FUNCTIONS(NVML_FIELD)
#undef NVML_FIELD
};

/* Loads and initialises NVML. False with `why` where there is none. nvml_close closes it, too. */
bool nvml_open(struct nvml *nvml);
void nvml_close(struct nvml *nvml);
