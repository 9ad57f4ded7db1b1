/* nvml.h: the library of the NVIDIA driver that tells of GPUs, where it is installed. */
#ifndef HANGAR_NVML_H
#define HANGAR_NVML_H

#include <stdbool.h>
#include <stdint.h>

/* NVML's functions and structs as its ABI has them (API reference, "NVML API"; unchanged since
 * CUDA 11), so that neither its header nor the library is needed to build. Any but the first
 * three may be NULL. All return 0 for success. */
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

struct nvml {
	void *library; /* dlopen's */
	char why[96];  /* why it is not there */
	int (*init)(void);
	int (*shutdown)(void);
	int (*by_bus)(const char *bus, nvml_device *device);
	int (*link_state)(nvml_device device, unsigned link, unsigned *active);
	int (*link_errors)(nvml_device device, unsigned link, unsigned counter,
			   unsigned long long *count);
	int (*pcie_width)(nvml_device device, unsigned *lanes);
	int (*pcie_gen)(nvml_device device, unsigned *gen);
	int (*pcie_max_width)(nvml_device device, unsigned *lanes);
	int (*pcie_max_gen)(nvml_device device, unsigned *gen);
	int (*clock)(nvml_device device, unsigned type, unsigned *mhz);
	int (*max_clock)(nvml_device device, unsigned type, unsigned *mhz);
	int (*reasons)(nvml_device device, unsigned long long *reasons);
	int (*violation)(nvml_device device, unsigned policy, struct nvml_violation *time);
	int (*ecc_errors)(nvml_device device, unsigned kind, unsigned counter,
			  unsigned long long *count);
	int (*processes)(nvml_device device, unsigned *n, struct nvml_process *processes);
	int (*p2p)(nvml_device a, nvml_device b, unsigned index, unsigned *status);
	int (*count)(unsigned *n);
	int (*by_index)(unsigned index, nvml_device *device);
	int (*pcie_replays)(nvml_device device, unsigned *count);
	int (*remapped_rows)(nvml_device device, unsigned *corrected, unsigned *uncorrected,
			     unsigned *pending, unsigned *failed);
	int (*temperature)(nvml_device device, unsigned sensor, unsigned *celsius);
	int (*power)(nvml_device device, unsigned *milliwatt);
	int (*power_limit)(nvml_device device, unsigned *milliwatt);
	int (*utilization)(nvml_device device, struct nvml_utilization *utilization);
	int (*memory)(nvml_device device, struct nvml_memory *memory);
	int (*pci)(nvml_device device, struct nvml_pci *pci);
	int (*driver)(char *version, unsigned len);
};

/* Load and initialise; false with `why` where there is none. Closed by nvml_close either way. */
bool nvml_open(struct nvml *nvml);
void nvml_close(struct nvml *nvml);

#endif
