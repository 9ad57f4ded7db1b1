/* devices.h: the device of each rank of a host, and surplus ranks. */
#pragma once

#include "backend/backend.h"
#include "backend/job.h"
#include "options/options.h"

struct device_choice {
	int device;	   /* ordinal for this rank */
	int take_part;	   /* local ranks that have a device, 0: all */
	bool shared_gpu;   /* several ranks per device, also on hosts that are containers */
	bool over_sockets; /* ranks of one host share a device: devices_share_gpu must be called */
};

/* Chooses devices from the sight of each local rank. Under a launcher that binds one device to each
 * task every rank sees one device, and takes it; otherwise local rank r takes device first + r
 * (`first`: NCCL_TESTS_DEVICE). Collective over all processes, before job_select. Returns 0 or a
 * negative errno with the error set. */
int devices_choose(struct job *job, const struct backend_ops *ops, const struct options *options,
		   struct device_choice *choice);

/* Sets shared_gpu if ranks of several hosts (namespaces, containers, virtual machines) have one
 * device. Collective, after job_select. Returns 0 or a negative errno with the error set. */
int devices_between_hosts(struct job *job, const struct backend_ops *ops,
			  struct device_choice *choice);

/* Sets the environment that lets NCCL put several ranks on one device: a host id per rank and the
 * socket transport. The user's own variables stay. Call it before the backend is opened. */
void devices_share_gpu(const struct job *job, const char *key);
