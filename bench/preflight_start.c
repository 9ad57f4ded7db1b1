/* preflight_start.c: launches of all hosts, and of halves of them. */
#include "preflight_start.h"

#include "backend/backend.h"
#include "options/options_launch.h"
#include "process/launch.h"

int preflight_start(const struct preflight_arguments *a, char **argv)
{
	const struct backend_ops *ops = backend_find(a->backend);
	struct options options = { .gpus = a->local };
	struct error err = { .rank = -1 };
	int devices = ops && ops->flags & BACKEND_DEVICE ? launch_count(ops->devices) : 0;
	int ranks = options_launch_ranks(&options, devices, &err), code;

	if (ranks < 0) {
		error_print(&err, "preflight");
		return (int)err.outcome;
	}
	code = launch_self(ranks, argv, &(struct launch_guard){ .seconds = 0 }, &err);
	if (err.code)
		error_print(&err, "preflight");
	return err.code ? (int)err.outcome : code;
}
