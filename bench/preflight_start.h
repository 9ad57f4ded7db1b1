/* preflight_start.h: a pre-flight without a launcher: it starts itself, and finds bad hosts by halves. */
#pragma once

struct preflight_arguments {
	const char *backend, *hostfile, *hostfile_out, *junit, *metrics, *size;
	bool json, drain_list, no_calls;
	bool only_calls; /* of a half: the rest was looked at */
	int local;	 /* ranks of a host, 0: not given */
	double patience;
};

/* Starts argv under mpirun on this host or those of the hostfile. Where calls hang or are slow there,
 * and no host is named, halves are tried. Returns the exit code of the worst line. */
int preflight_start(const struct preflight_arguments *arguments, char **argv);
