/* mpi_test_devices.c: devices of ranks, for each way in which a host may show its devices. */
/* ranks: 3 */
#include "rig/unit.h"

#include "rig/job_rig.h"

#include "measure/devices.h"

static struct error err;
static struct job job;

/* A host in the view of one of its ranks. */
static struct {
	int devices;
	enum {
		TOGETHER,
		BOUND,
		INSTANCES
	} show; /* each rank sees all, one of its own, or an instance */
} host;

static int host_devices(void)
{
	return host.devices;
}

static void host_name(int device, char *buf, size_t len)
{
	if (host.show == INSTANCES)
		snprintf(buf, len, "0000:3b:00 MIG-%d", job.rank);
	else
		snprintf(buf, host.devices ? len : 1, "GPU-%d", host.show ? job.rank : device);
}

static const struct backend_ops with_devices = { .devices = host_devices,
						 .device_name = host_name };
static const struct backend_ops without = { .devices = host_devices };

UNIT_TEST(test_choices, "choices")
{
	static const struct {
		int devices;
		int show;
		int first; /* NCCL_TESTS_DEVICE */
		bool share;
		int device[3], take_part;
		bool shared;
	} cases[] = {
		{ 8, TOGETHER, -1, false, { 0, 1, 2 }, 8, false },
		{ 3, TOGETHER, -1, false, { 0, 1, 2 }, 3, false },
		{ 2, TOGETHER, -1, false, { 0, 1, 0 }, 2, false }, /* rank 2 is surplus */
		{ 1, TOGETHER, -1, false, { 0, 0, 0 }, 1, false }, /* the same one for all */
		{ 1, BOUND, -1, false, { 0, 0, 0 }, 0, false },	   /* one each, by the launcher */
		{ 1, INSTANCES, -1, false, { 0, 0, 0 }, 1, false },
		{ 1, INSTANCES, -1, true, { 0, 0, 0 }, 0, true },
		{ 8, TOGETHER, 2, false, { 2, 3, 4 }, 6, false },
		{ 8, TOGETHER, 7, false, { 7, 7, 7 }, 1, false },
		{ 1, TOGETHER, -1, true, { 0, 0, 0 }, 0, true },
		{ 2, TOGETHER, -1, true, { 0, 1, 0 }, 0, true },
		{ 8, TOGETHER, 6, true, { 6, 7, 6 }, 0, true },
	};

	UNIT_ROWS(c, cases) {
		const struct options options = { .device_first = c->first, .share_gpu = c->share };
		struct device_choice choice;

		host.devices = c->devices;
		host.show = c->show;
		UNIT_ALL(devices_choose(&job, &with_devices, &options, &choice) == 0,
			 choice.device == c->device[job.rank], choice.take_part == c->take_part,
			 choice.shared_gpu == c->shared, choice.over_sockets == c->shared,
			 err.outcome == OUTCOME_OK);
	}
}

UNIT_TEST(test_no_devices, "a backend without devices")
{
	const struct options options = { .device_first = -1 };
	struct device_choice choice = { .device = 5, .take_part = 5 };

	host.devices = 1;
	UNIT_ALL(devices_choose(&job, &without, &options, &choice) == 0, choice.device == 0,
		 choice.take_part == 0, !choice.shared_gpu);
}

UNIT_TEST(test_out_of_range, "NCCL_TESTS_DEVICE out of range")
{
	const struct options options = { .device_first = 4 };
	struct device_choice choice;

	host.devices = 4;
	host.show = TOGETHER;
	CU_ASSERT_EQUAL(devices_choose(&job, &with_devices, &options, &choice), -EINVAL);
	CU_ASSERT_EQUAL(err.outcome, OUTCOME_USAGE);
	CU_ASSERT_STRING_EQUAL(err.text, "NCCL_TESTS_DEVICE=4: this host has devices 0 to 3");
	err = (struct error){ .rank = job.rank };
}

UNIT_TEST(test_sharing, "sharing")
{
	static const char *const names[] = { "NCCL_HOSTID", "NCCL_NET", "NCCL_SOCKET_IFNAME" };
	char id[64];

	for (int i = 0; i < 3; i++)
		unsetenv(names[i]);
	devices_share_gpu(&job, "key");
	snprintf(id, sizeof(id), "hangar-key-%d", job.rank);
	UNIT_ALL(!strcmp(getenv("NCCL_HOSTID"), id), !strcmp(getenv("NCCL_NET"), "Socket"),
		 !strcmp(getenv("NCCL_SOCKET_IFNAME"), "lo"));
	for (int i = 0; i < 3; i++)
		setenv(names[i], "mine", 1);
	devices_share_gpu(&job, "key");
	for (int i = 0; i < 3; i++) {
		CU_ASSERT_STRING_EQUAL(getenv(names[i]), "mine");
		unsetenv(names[i]);
	}
}

UNIT_TEST(test_between_hosts, "between hosts")
{
	static const struct {
		int devices, nnodes;
		int show;
		bool shared;
	} cases[] = {
		{ 1, 2, TOGETHER, true }, /* all have the first one */
		{ 1, 2, BOUND, false },	   { 1, 2, INSTANCES, false },
		{ 0, 2, TOGETHER, false }, /* without a name */
		{ 1, 1, TOGETHER, false }, /* one host: its ranks have compared already */
	};

	UNIT_ROWS(c, cases) {
		struct device_choice choice = { .device = 0 };

		host.devices = c->devices;
		host.show = c->show;
		job.nnodes = c->nnodes;
		UNIT_ALL(devices_between_hosts(&job, &with_devices, &choice) == 0,
			 choice.shared_gpu == c->shared, !choice.over_sockets);
	}
	job.nnodes = 1;
	UNIT_ALL(devices_between_hosts(&job, &without, &(struct device_choice){ 0 }) == 0);
}

int main(void)
{
	int rc;

	if (rig_job_open(&job, NULL, &err) < 0)
		return 1;
	rc = unit_main();
	job_release(&job);
	return rc;
}
