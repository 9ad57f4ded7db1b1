/* options_launch.c: the number of ranks that a command line requests. */
#include "options/options_launch.h"

#define SHARED_RANKS 4 /* ranks of a bare start with --share-gpu */
#define MOST_RANKS   8 /* most ranks of a bare start without a GPU */

int options_launch_check(const struct launch *launch, const struct options *options,
			 const char *program, struct error *err)
{
	int threads = options->threads ? options->threads : 1;
	int gpus = options->gpus ? options->gpus : 1;

	if (!launch->launched || launch->own || threads * gpus <= 1)
		return 0;
	return error_set(err, OUTCOME_USAGE, -EINVAL,
			 launch->numbered
				 ? "-%c %d where RANK and WORLD_SIZE are set: every rank is "
				   "a process here; WORLD_SIZE=%d and %s for each RANK, or "
				   "unset both"
				 : "-%c %d under a launcher: every rank is a process "
				   "here; start mpirun -np %d %s instead",
			 gpus > 1 ? 'g' : 't', gpus > 1 ? gpus : threads,
			 (launch->announced ? launch->announced : 1) * threads * gpus, program);
}

int options_launch_ranks(const struct options *options, int devices, struct error *err)
{
	int asked = 0;

	if (options->gpus || options->threads)
		asked = (options->gpus ? options->gpus : 1) *
			(options->threads ? options->threads : 1);
	if (devices > 0 && asked > devices && !options->share_gpu)
		return error_set(err, OUTCOME_USAGE, -EINVAL,
				 "-g %d: this host has %d GPU%s (--share-gpu puts several ranks "
				 "on one)",
				 asked, devices, devices == 1 ? "" : "s");
	if (asked)
		return asked;
	if (devices > 0 && !options->share_gpu)
		return devices;
	if (devices > 0)
		return devices > SHARED_RANKS ? devices : SHARED_RANKS;
	return launch_cores() < 2 ? 2 : launch_cores() > MOST_RANKS ? MOST_RANKS : launch_cores();
}
