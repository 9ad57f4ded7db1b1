/* devices.h: which rank of a host takes which device, and which ranks are too many. */
#pragma once

#include "backend/backend.h"
#include "backend/job.h"
#include "options/options.h"

struct device_choice {
	int device;    /* ordinal for this rank */
	int take_part; /* local ranks that have a device, 0: all */
	bool shared_gpu; /* several ranks per device, as --share-gpu wants or on hosts that are containers */
	bool over_sockets; /* ranks of a host do: devices_share_gpu has to be called */
};

/* Decide from what each local rank sees. A launcher that binds one device to each task (they see
 * one each, and not the same) gives everybody its own; else local rank r takes device first + r,
 * where `first` is NCCL_TESTS_DEVICE. Collective over all processes, before job_select. 0 or a
 * negative errno with the error set. */
int devices_choose(struct job *job, const struct backend_ops *ops, const struct options *options,
		   struct device_choice *choice);

/* Whether ranks of several hosts have the same device, as namespaces, containers and virtual machines may: sets
 * shared_gpu then. Collective, after job_select. 0, or a negative errno with the error set. */
int devices_between_hosts(struct job *job, const struct backend_ops *ops,
			  struct device_choice *choice);

/* Environment that lets NCCL put several ranks on one device: a host id of its own per rank and the
 * socket transport. What the user has set stays. After job_select, before the backend is opened. */
void devices_share_gpu(const struct job *job, const char *key);
