/* read.c: the readers of a host in their order; the environment, and one rank. */
#include "machine/read.h"

#include <sched.h>

#include "base/clock.h"
#include "machine/cpu_list.h"
#include "base/file.h"
#include "base/nccl_library.h"
#include "base/parse.h"
#include "settings/environment.h"

/* True for a variable that changes speed and is no secret; hangar's own NCCL_TESTS_* do not. */
static bool is_setting(const char *name)
{
	return names_find("NCCL_* TORCH_NCCL_* TORCH_DISTRIBUTED_* CUDA_LAUNCH_* CUDA_DEVICE_* "
			  "CUDA_VISIBLE_*",
			  name) >= 0 &&
	       strncmp(name, "NCCL_TESTS_", 11) != 0 && environment_recorded(name);
}

static void read_settings(const struct read_request *request, struct reading *m)
{
	int left = 64;

	for (char *const *at = request->environment; at && *at && left > 0; at++) {
		char name[48], value[96];
		size_t len = strcspn(*at, "=");

		if ((*at)[len] != '=' || len >= sizeof(name))
			continue;
		snprintf(name, sizeof(name), "%.*s", (int)len, *at);
		if (!is_setting(name))
			continue;
		snprintf(value, sizeof(value), "%s", *at + len + 1);
		reading_say(m, "environment", name, value);
		left--;
	}
}

/* Those of the job's ranks on this host, each once. */
static void read_gpus(const struct read_request *request, struct reading *m)
{
	for (int r = 0; r < request->nranks; r++) {
		const struct observed_rank *rank = &request->ranks[r];
		char part[sizeof(rank->bus) + 4];

		if (rank->node != request->node || !rank->bus[0])
			continue;
		snprintf(part, sizeof(part), "GPU %s", rank->bus);
		reading_say(m, part, "bus", rank->bus);
	}
}

static void read_nccl(const struct read_request *request, struct reading *m)
{
	const struct nccl_library *nccl = nccl_library_load(NULL);
	char text[32];

	nccl_version_text(nccl->version, text, sizeof(text));
	if (nccl->handle)
		reading_say(m, "NCCL", "version", text);
}

/* Readers of few and important values come first: a full list takes no more. */
static const struct reader {
	unsigned bit;
	reader_fn *read;
} readers[] = {
	{ READ_TCP, read_tcp },	      { READ_CPU, read_cpu },
	{ READ_CPU, read_memory },    { READ_SETTINGS, read_settings },
	{ READ_GPUS, read_gpus },     { READ_NVML, read_nvml },
	{ READ_GPUS, read_pci },      { READ_GPUS, read_driver },
	{ READ_XIDS, read_xids },     { READ_NICS | READ_TRAFFIC, read_nics },
	{ READ_NCCL, read_nccl },     { READ_CONTAINER, read_container },
	{ READ_LIMITS, read_limits },
};

void read_host(const struct read_request *request, struct reading *m)
{
	char name[sizeof(m->host)] = "";

	gethostname(name, sizeof(name) - 1);
	reading_part(m->host, sizeof(m->host), name);
	m->seconds = clock_seconds();
	for (size_t i = 0; i < LENGTH(readers); i++)
		if (request->readers & readers[i].bit)
			readers[i].read(request, m);
}

void read_rank(const char *root, struct observed_rank *rank)
{
	char text[128];
	struct cpu_list mine = { 0 };
	struct timespec used;
	int64_t ran;

	rank->pid = getpid();
	rank->cpu_ns = rank->wait_ns = -1;
	if (sched_getaffinity(0, sizeof(mine), mine.sets) == 0)
		cpu_list_text(&mine, rank->cpus, sizeof(rank->cpus));
	if (clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used) == 0)
		rank->cpu_ns = (int64_t)used.tv_sec * 1000000000 + used.tv_nsec;
	if (file_text(root, text, sizeof(text), "/proc/self/schedstat") > 0 &&
	    !file_next(file_next(text, &ran), &rank->wait_ns))
		rank->wait_ns = -1;
}

void reading_rank(struct reading *m, const struct observed_rank *rank)
{
	char part[16], gpu[sizeof(rank->bus) + 4];

	snprintf(part, sizeof(part), "rank %d", rank->rank);
	reading_state(m, part, "pid", rank->pid);
	snprintf(gpu, sizeof(gpu), "GPU %s", rank->bus);
	if (rank->bus[0])
		reading_say(m, part, "gpu", gpu);
	reading_say(m, part, "cpus", rank->cpus);
	reading_count(m, part, "cpu_ns", rank->cpu_ns);
	reading_count(m, part, "wait_ns", rank->wait_ns);
}

void reading_tell(int fd, const struct read_request *request, double seconds)
{
	struct reading before = { .list = NULL }, after = before, delta = before;
	char *text;

	if (seconds > 0) {
		read_host(request, &before);
		clock_sleep(seconds);
	}
	read_host(request, &after);
	if (seconds > 0)
		counter_delta(&before, &after, &delta);
	text = reading_dump(seconds > 0 ? &delta : &after, false);
	dprintf(fd, "%s\n", text);
	free(text);
	reading_release(&before);
	reading_release(&after);
	reading_release(&delta);
}
