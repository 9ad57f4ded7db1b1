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

void folder_save_command(void *arg, const char *folder, int nranks)
{
	const struct program *p = arg;
	char path[256], command[COMMAND_MAX], parent[32];
	FILE *f;

	snprintf(parent, sizeof(parent), "/proc/%d/cmdline", (int)getppid());
	command_again(command, sizeof(command), p->launch, nranks, p->argc,
		      (const char *const *)p->argv, parent);
	snprintf(path, sizeof(path), "%s/command.txt", folder);
	f = fopen(path, "we");
	if (!f)
		return; /* the report says: unknown */
	fprintf(f, "%s\n", command);
	fclose(f);
}
