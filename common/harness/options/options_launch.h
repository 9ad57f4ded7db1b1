/* options_launch.h: -g, -t and --share-gpu as a number of ranks. */
#pragma once

#include "options/options.h"
#include "process/launch.h"

/* Checks -g N and -t N under a launcher: 0 if they match, else -EINVAL with the -np line. */
int options_launch_check(const struct launch *launch, const struct options *options,
			 const char *program, struct error *err);

/* Returns the number of ranks of a bare start on a host with this many usable GPUs: -g x -t, else
 * one per GPU (at least 4 with --share-gpu), else one per core, from 2 to 8. -EINVAL with the error
 * set if -g exceeds the GPUs. */
int options_launch_ranks(const struct options *options, int devices, struct error *err);
