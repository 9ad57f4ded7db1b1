/* perf_folder.c: describes a run in its evidence. */
#include "perf_folder.h"

#include "options/options_agree.h"
#include "perf_check.h"
#include "process/command.h"

void folder_describe(void *arg, struct evidence *evidence)
{
	const struct program *program = arg;
	const char *schedule = program_schedule(program);
	char command[COMMAND_MAX];
	int n = snprintf(evidence->options, sizeof(evidence->options), "schedule %.40s",
			 schedule ? schedule : "plain");

	command_join(command, sizeof(command), program->argc, (const char *const *)program->argv);
	evidence_blind_command(command, evidence->command, sizeof(evidence->command));
	options_agree_text(program->options, program->collective->irregular, evidence->options + n,
			   sizeof(evidence->options) - (size_t)n);
}

void folder_again(void *arg, char *command, size_t len, int nranks)
{
	const struct program *p = arg;
	char parent[32];

	snprintf(parent, sizeof(parent), "/proc/%d/cmdline", (int)getppid());
	command_again(command, len, p->launch, nranks, p->argc, (const char *const *)p->argv,
		      parent);
}
