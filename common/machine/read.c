/* observe.c: one host, one rank. */
#include "machine/read.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "machine/cpu_list.h"
#include "machine/file.h"
#include "report/sink.h"

/* The GPUs of the job's ranks on this host, each once. */
static void find_gpus(const struct observe_request *request, struct observed_host *host)
{
	for (int r = 0; r < request->nranks; r++) {
		const struct observed_rank *rank = &request->ranks[r];
		int i = 0;

		if (rank->node != request->node || !rank->bus[0])
			continue;
		while (i < host->ngpus && strcmp(host->gpus[i].bus, rank->bus) != 0)
			i++;
		if (i < host->ngpus || i == OBSERVED_GPUS)
			continue;
		observed_gpu_clear(&host->gpus[i]);
		memcpy(host->gpus[i].bus, rank->bus, sizeof(rank->bus));
		host->ngpus++;
	}
}

/* What changes speed and is no secret; hangar's own NCCL_TESTS_* do not. */
static bool is_setting(const char *name)
{
	static const char *const prefixes[] = { "NCCL_", "CUDA_LAUNCH_", "CUDA_DEVICE_",
						"CUDA_VISIBLE_" };

	for (size_t i = 0; i < sizeof(prefixes) / sizeof(prefixes[0]); i++)
		if (strncmp(name, prefixes[i], strlen(prefixes[i])) == 0)
			return strncmp(name, "NCCL_TESTS_", 11) != 0 && sink_env_allowed(name);
	return false;
}

void observe_settings(char *const *environment, struct observed_host *host)
{
	for (char *const *at = environment; at && *at && host->nsettings < OBSERVED_SETTINGS;
	     at++) {
		struct observed_setting *setting = &host->settings[host->nsettings];
		size_t name = strcspn(*at, "=");

		if ((*at)[name] != '=' || name >= sizeof(setting->name))
			continue;
		snprintf(setting->name, sizeof(setting->name), "%.*s", (int)name, *at);
		if (!is_setting(setting->name))
			continue;
		snprintf(setting->value, sizeof(setting->value), "%s", *at + name + 1);
		host->nsettings++;
	}
}

void observe_host(const struct observe_request *request, struct observed_host *host)
{
	observed_host_clear(host);
	gethostname(host->name, sizeof(host->name) - 1);
	host->node = request->node;
	host->at_s = clock_seconds();
	find_gpus(request, host);
	observe_settings(request->environment, host);
	observe_cpu(request->root, host);
	observe_net(request->root, host);
	for (int i = 0; i < host->ngpus; i++)
		observe_pci_gpu(request->root, &host->gpus[i]);
	if (request->nvml)
		nvml_observe(request->nvml, request->ranks, request->nranks, host);
}

static void see_affinity(struct observed_rank *rank)
{
	size_t size = CPU_ALLOC_SIZE(CPU_LIST_MOST);
	cpu_set_t *mask = CPU_ALLOC(CPU_LIST_MOST);
	struct cpu_set *set = calloc(1, sizeof(*set));

	if (mask && set && sched_getaffinity(0, size, mask) == 0) {
		for (int cpu = 0; cpu < CPU_LIST_MOST; cpu++) {
			set->has[cpu] = CPU_ISSET_S(cpu, size, mask) != 0;
			set->n += set->has[cpu];
		}
		cpu_list_text(set, rank->cpus, sizeof(rank->cpus));
	}
	free(set);
	CPU_FREE(mask);
}

void observe_rank(const char *root, struct observed_rank *rank)
{
	char text[128];
	struct timespec used;
	int64_t ran, waited;

	rank->pid = getpid();
	see_affinity(rank);
	if (clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used) == 0)
		rank->cpu_ns = (int64_t)used.tv_sec * 1000000000 + used.tv_nsec;
	if (observe_text(root, text, sizeof(text), "/proc/self/schedstat") > 0 &&
	    observe_next(observe_next(text, &ran), &waited))
		rank->wait_ns = waited;
}
