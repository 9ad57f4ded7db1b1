/* observe.h: looks at this host and this rank: /proc, /sys, the environment, NVML. It judges
 * nothing and changes nothing. */
#ifndef HANGAR_OBSERVE_H
#define HANGAR_OBSERVE_H

#include "machine/observation.h"
#include "machine/nvml.h"

struct observe_request {
	const char *root;		   /* before /proc and /sys; "" outside of tests */
	char *const *environment;	   /* as environ; NULL: none */
	const struct nvml *nvml;	   /* NULL: none is asked */
	const struct observed_rank *ranks; /* of the whole job */
	int nranks;
	int node; /* this host's number */
};

/* Everything about this host. What can't be seen is left unseen; nothing fails. */
void observe_host(const struct observe_request *request, struct observed_host *host);

/* This process: its CPUs and what its main thread got of them. rank, node and bus are the
 * caller's. */
void observe_rank(const char *root, struct observed_rank *rank);

/* Parts of observe_host. */
void observe_cpu(const char *root, struct observed_host *host);
void observe_net(const char *root, struct observed_host *host);
void observe_pci_gpu(const char *root, struct observed_gpu *gpu);
/* Lanes and generations of the slowest link between a device, named by its folder below /sys,
 * and the CPU. */
void observe_pci_link(const char *root, const char *folder, int link[4]);
void observe_settings(char *const *environment, struct observed_host *host);

#endif
