/* perf_folder.c: the folder of a run's evidence is made, or it is said why not. */
#include "perf_folder.h"

#include <sys/stat.h>
#include <time.h>

#include "base/clock.h"
#include "options/options_agree.h"
#include "perf_check.h"
#include "process/command.h"
#include "schedule/schedule.h"

#define RUNS "results/runs/"

/* Also where they are there. */
static bool make_parents(void)
{
	return (mkdir("results", 0777) == 0 || errno == EEXIST) &&
	       (mkdir("results/runs", 0777) == 0 || errno == EEXIST);
}

static void refuse(const struct program *program, const char *folder, int code)
{
	fprintf(stderr, "%s: no evidence can be saved in %s: %s\n", program->name, folder,
		strerror(code));
}

bool folder_make(char *path, size_t len, const struct program *program)
{
	time_t now = time(NULL);
	char date[32];
	struct tm tm;

	localtime_r(&now, &tm);
	strftime(date, sizeof(date), "%Y%m%d-%H%M%S", &tm);
	snprintf(path, len, RUNS "%s-%.40s-%.8s", date, program->name, program->launch->key);
	if (make_parents() && mkdir(path, 0777) == 0)
		return true;
	refuse(program, path, errno);
	path[0] = '\0';
	return false;
}

bool folder_take(char *path, size_t len, const char *told, const struct program *program)
{
	bool below = strncmp(told, RUNS, strlen(RUNS)) == 0;
	const char *name = below ? told + strlen(RUNS) : ".";

	path[0] = '\0';
	if (name[0] == '\0' || name[0] == '.' || strchr(name, '/') || strlen(told) >= len)
		return false; /* it came over the network */
	if (!make_parents() || (mkdir(told, 0777) < 0 && errno != EEXIST)) {
		refuse(program, told, errno);
		return false;
	}
	snprintf(path, len, "%s", told);
	return true;
}

void folder_describe(const struct program *program, struct evidence *evidence)
{
	const char *schedule = program_schedule(program);
	char command[COMMAND_MAX];
	int n = snprintf(evidence->options, sizeof(evidence->options), "schedule %.40s",
			 schedule ? schedule : "plain");

	command_join(command, sizeof(command), program->argc, (const char *const *)program->argv);
	evidence_blind_command(command, evidence->command, sizeof(evidence->command));
	options_agree_text(program->options, program->collective->irregular, evidence->options + n,
			   sizeof(evidence->options) - (size_t)n);
}

int folder_keep_twin(const struct program *program, int rank, int nranks, const char *backend,
		     struct error *err)
{
	const char *dir = program->options->out;
	struct evidence e = { .nranks = nranks,
			      .steps = SCHEDULE_STEPS,
			      .warmup = SCHEDULE_WARMUP };
	int rc = -ENOMEM;

	if (!dir || program->options->nfaults == 0 || program->injector)
		return 0;
	e.ranks = must(calloc((size_t)nranks, sizeof(*e.ranks)));
	if (evidence_take_calls(&e.ranks[rank], program->memory) == 0) {
		e.ranks[rank].present = true;
		view_read(&e.ranks[rank].view, program->memory, clock_ns());
		evidence_identify(&e, &program->memory->header);
		snprintf(e.backend, sizeof(e.backend), "%s", backend);
		folder_describe(program, &e);
		rc = rank == 0 ? evidence_save(&e, dir, err)
			       : evidence_save_rank(&e.ranks[rank], rank, dir);
	}
	evidence_release(&e);
	if (rc == 0 || rank > 0) /* a host that does not share the folder has none */
		return 0;
	return error_set(err, OUTCOME_INTERNAL, rc, "cannot keep the healthy run in %s: %s", dir,
			 strerror(-rc));
}
