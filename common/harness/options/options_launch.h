/* options_launch.h: what -g, -t and --share-gpu ask of the launcher. */
#pragma once

#include "options/options.h"
#include "process/launch.h"

/* -g N and -t N under a launcher: 0 if they ask for nothing else than what was launched, else
 * -EINVAL with the equivalent -np line. */
int options_launch_check(const struct launch *launch, const struct options *options,
			 const char *program, struct error *err);

/* Returns how many ranks a bare start runs on a host with so many usable GPUs: -g x -t, else one
 * per GPU (at least 4 with --share-gpu), else one per core, but at least 2 and at most 8; -EINVAL
 * with the error set when -g asks for more GPUs than there are. */
int options_launch_ranks(const struct options *options, int devices, struct error *err);
