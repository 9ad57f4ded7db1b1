/* run_status.h: a run prints its status: for hangar_run --status, and on SIGUSR1. */
#pragma once

#include "preload/status.h"
#include "watch/monitor.h"

struct run_status {
	struct status_counts *counts; /* of this host's ranks */
	size_t n;
	uint64_t looked_ns;  /* when the status was last asked for, 0: no rank has come yet */
	uint64_t counted_ns; /* when it was last counted */
};

/* At each tick of the monitor: how the ranks are is counted. */
void run_status_count(struct run_status *status, const struct monitor *monitor, uint64_t now);
/* Says how it is, to `fd` (which is closed; -1: to standard output); the ranks' stacks are
 * looked at for 0.7 s at most. `title` begins the first line. */
void run_status_answer(struct run_status *status, struct monitor *monitor, int fd,
		       const char *title);
void run_status_release(struct run_status *status);

/* A path from the root on, there or not. Returns buf, of PATH_MAX bytes. */
const char *run_absolute(const char *path, char *buf);

/* Asks the monitors of this user on this host and prints their answers. `which`: a process of the
 * run, or its folder; NULL: all runs. `json`: a line of JSON a run. Returns the exit code: 1 without an answer. */
int run_status_ask(const char *which, bool json);
