/* run_monitor.h: the monitor of a host beside a program that is not ours: in a session of its
 * own, so that what ends the program does not end it. */
#pragma once

#include "preload/run_meter.h"

#define RUN_KEY "HANGAR_RUN" /* in the environment: names the run */

enum on_hang { ON_HANG_REPORT, ON_HANG_ABORT, ON_HANG_KILL };

struct run_settings {
	char key[48];
	double timeout; /* seconds: struct patience's `hang` */
	enum on_hang on_hang;
	const char *out;   /* folder for the evidence, NULL: a new one below results/runs/ */
	const char *fault; /* armed in a rank, NULL: none */
	bool quiet;
	const char *on_verdict;	   /* run_hook_start's command, NULL: none */
	const char *meeting_point; /* HOST:PORT for the hosts' leaders; NULL: as ranks say */
	double slow_percent, slow_seconds; /* as struct monitor_config has them */
	bool fail_slow;
	int wait_fd; /* run_wait's, -1: nothing waits */
	bool apart; /* a rank has started it (library/watcher.c), and no command: it ends after the last rank */
	struct meter_settings meter;
	int argc; /* the command */
	char **argv;
};

/* The run's name: the launcher's, which is the same on all its hosts, or (NULL) a new one. */
void run_key(char *key, size_t len, const char *launcher);

/* Starts it, or finds one, which libhangar.so can reach when this returns. It watches this process,
 * also after exec, and those that join it. 0 or a negative errno, which was printed. */
int run_monitor_start(const struct run_settings *settings);
