/* devices.c: assigns devices to ranks. */
#include "measure/devices.h"

/* The devices that a rank sees, for comparison on its host. */
struct sight {
	int32_t devices;
	char first[DEVICE_NAME]; /* name of device 0 */
};

/* NCCL refuses two ranks of a host with one bus id, also if each has a MIG instance of its own. */
static bool same_place(const char *a, const char *b)
{
	size_t n = strcspn(a, " ");

	return n == strcspn(b, " ") && strncmp(a, b, n) == 0;
}

static bool all_bound(const struct sight *sights, int n)
{
	for (int i = 0; i < n; i++) {
		if (sights[i].devices != 1)
			return false;
		for (int j = 0; j < i; j++)
			if (same_place(sights[i].first, sights[j].first))
				return false;
	}
	return n > 1;
}

int devices_choose(struct job *job, const struct backend_ops *ops, const struct options *options,
		   struct device_choice *choice)
{
	int first = options->device_first > 0 ? options->device_first : 0;
	struct sight mine = { .devices = ops->devices() }, *all;
	int local = 0, n = 0, usable;

	memset(choice, 0, sizeof(*choice));
	if (!ops->device_name)
		return 0; /* host memory: every rank takes part */
	ops->device_name(0, mine.first, sizeof(mine.first));
	all = job_gather_host(job, &mine, sizeof(mine), &local, &n);
	if (!all)
		return -EIO;
	usable = mine.devices - first;
	if (options->device_first < 0 && all_bound(all, n)) {
		choice->device = 0;
	} else if (usable <= 0) {
		free(all);
		return error_set(job->err, OUTCOME_USAGE, -EINVAL,
				 "NCCL_TESTS_DEVICE=%d: this host has devices 0 to %d", first,
				 mine.devices - 1);
	} else {
		choice->shared_gpu = choice->over_sockets = options->share_gpu;
		choice->device = first + local % usable;
		choice->take_part = options->share_gpu ? 0 : usable;
	}
	free(all);
	return 0;
}

static int compare_names(const void *a, const void *b)
{
	return strcmp(a, b);
}

int devices_between_hosts(struct job *job, const struct backend_ops *ops,
			  struct device_choice *choice)
{
	size_t n = job->rank == 0 ? (size_t)job->nranks : 1;
	char(*all)[DEVICE_NAME], mine[DEVICE_NAME] = "";
	int shared = choice->shared_gpu, rc;

	if (!ops->device_name || job->nnodes < 2)
		return 0;
	ops->device_name(choice->device, mine, sizeof(mine));
	all = must(calloc(n, sizeof(*all)));
	rc = job_gather(job, mine, sizeof(mine), all);
	if (job->rank == 0)
		qsort(all, n, sizeof(*all), compare_names);
	for (size_t i = 1; i < n; i++)
		shared |= all[i][0] && strcmp(all[i], all[i - 1]) == 0;
	free(all);
	if (rc == 0)
		rc = job_bcast(job, &shared, sizeof(shared));
	choice->shared_gpu = shared;
	return rc;
}

void devices_share_gpu(const struct job *job, const char *key)
{
	char id[64];

	snprintf(id, sizeof(id), "hangar-%s-%d", key, job->rank);
	setenv("NCCL_HOSTID", id, 0);
	setenv("NCCL_NET", "Socket", 0);
	if (job->nnodes == 1)
		setenv("NCCL_SOCKET_IFNAME", "lo", 0);
}
