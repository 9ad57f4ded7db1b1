/* preflight_start.h: a pre-flight without a launcher: it starts itself, and finds bad hosts by halves. */
#pragma once

#include "machine/health.h"

struct preflight_arguments {
	const char *backend, *hostfile, *hostfile_out, *junit, *metrics, *size;
	const char *save; /* the findings, for the process that started this one */
	bool json, drain_list, no_calls;
	bool only_calls; /* of a half: the rest was looked at */
	int local;	 /* ranks of a host, 0: not given */
	double patience;
};

extern const char preflight_rules[];			  /* preflight_rules.txt */
extern const char *const preflight_words[HEALTH_WEIGHTS]; /* that begin a finding's line */

/* Starts argv under mpirun on this host, on those of the hostfile, or on Slurm's allocation. Where
 * calls hang or are slow there and no host is named for it, halves of the hosts (of the GPUs of one
 * host) are tried. Returns the exit code of the worst line. */
int preflight_start(const struct preflight_arguments *arguments, char **argv);
