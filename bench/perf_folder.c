/* perf_folder.c: describes a run in its evidence; stores a healthy twin. */
#include "perf_folder.h"

#include "base/clock.h"
#include "options/options_agree.h"
#include "perf_check.h"
#include "process/command.h"
#include "schedule/schedule.h"

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

int folder_keep_twin(const struct program *program, int rank, int nranks, const char *backend,
		     struct error *err)
{
	const char *dir = program->options->out;
	struct evidence e = { .nranks = nranks,
			      .steps = SCHEDULE_STEPS,
			      .warmup = SCHEDULE_WARMUP };
	int rc;

	if (!dir || program->options->nfaults == 0 || program->injector)
		return 0;
	e.ranks = must(calloc((size_t)nranks, sizeof(*e.ranks)));
	evidence_take_calls(&e.ranks[rank], program->memory);
	e.ranks[rank].present = true;
	view_read(&e.ranks[rank].view, program->memory, clock_ns());
	evidence_identify(&e, &program->memory->header);
	snprintf(e.backend, sizeof(e.backend), "%s", backend);
	folder_describe((void *)program, &e);
	rc = rank == 0 ? evidence_save(&e, dir, err)
		       : evidence_save_rank(&e.ranks[rank], rank, dir);
	evidence_release(&e);
	if (rc == 0 || rank > 0) /* a host without the shared folder stores none */
		return 0;
	return error_set(err, OUTCOME_INTERNAL, rc, "cannot keep the healthy run in %s: %s", dir,
			 strerror(-rc));
}
