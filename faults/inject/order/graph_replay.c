/* graph_replay.c: the rank launches a captured graph once less, or another one. */

#include "inject/fault.h"

/* Its op is the first call that the graph holds: from there on ranks differ. */
static bool applies(const struct planned_call *planned)
{
	return planned->step > SCHEDULE_WARMUP && planned->opens;
}

static enum launch_verdict launch(const struct fault_spec *spec)
{
	const char *how = fault_arg(spec, "how");

	return how && strcmp(how, "other") == 0 ? LAUNCH_OTHER : LAUNCH_NOTHING;
}

const struct fault fault_graph_replay = {
	.name = "graph-replay",
	.help = "launches a captured graph once less than the others, or the one of the step "
		"before",
	.source = "Meta's NCCLX counts graph replays in its trace for it",
	.args = "how=less|other",
	.needs = { .machine = NEED_GPU, .graph = true },
	.applies = applies,
	.launch = launch,
	.nccl = "hang|error|wrong-data|diverged",
	.why_not = "it has no graphs",
};
