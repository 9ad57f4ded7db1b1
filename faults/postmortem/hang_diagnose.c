/* hang_diagnose.c: evidence of a run in, verdict and report out; works long after the job died,
 * and under mpirun (--gather) for hosts that share no file system. */
#include <argp.h>
#include <stdbool.h>
#include <stdio.h>

#include "diagnose/diagnose.h"
#include "base/error.h"
#include "evidence/evidence.h"
#include "evidence/gather.h"
#include "probe/probe.h"
#include "base/output.h"

struct arguments {
	const char *dir;
	bool dry_run, gather;
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct arguments *arguments = state->input;

	switch (key) {
	case 'n':
		arguments->dry_run = true;
		return 0;
	case 'g':
		arguments->gather = true;
		return 0;
	case 'h':
		argp_state_help(state, stdout, ARGP_HELP_STD_HELP);
		return 0;
	case ARGP_KEY_ARG:
		if (arguments->dir)
			argp_error(state, "one evidence folder at a time: %s", arg);
		arguments->dir = arg;
		return 0;
	case ARGP_KEY_END:
		if (!arguments->dir)
			argp_error(state, "which evidence folder?");
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp_option options[] = {
	{ NULL, 'h', NULL, OPTION_HIDDEN, NULL, 0 }, /* as --help */
	{ "dry-run", 'n', NULL, 0, "Print the report, write nothing", 0 },
	{ "gather", 'g', NULL, 0,
	  "Under mpirun, a process per host: bring the other hosts' DIR to rank 0's first", 0 },
	{ 0 },
};

static const struct argp argp = {
	.options = options,
	.parser = parse,
	.args_doc = "DIR",
	.doc = "Diagnose the evidence in DIR (rank-N.fr, run.json) and write verdict.json, "
	       "report.txt, postmortem.md, timeline.json and timeline.csv beside "
	       "it.\vThe exit code is the outcome's: 0 ok, 10 "
	       "hang, "
	       "11 error, 12 wrong data, 14 a rank died, 16 diverged; 1 unreadable evidence, 2 "
	       "usage.",
};

static int diagnose_folder(const struct arguments *arguments, struct error *err)
{
	struct evidence evidence;
	struct diagnosis diagnosis;
	int code = OUTCOME_INTERNAL;

	if (evidence_load(&evidence, arguments->dir, err) < 0) {
		err->outcome = OUTCOME_USAGE; /* the folder that was named is none */
		return OUTCOME_USAGE;
	}
	diagnose(&evidence, &diagnosis);
	probe_note(&evidence, &diagnosis);
	diagnosis_print(stdout, &diagnosis, &evidence);
	if (arguments->dry_run || diagnosis_save(&diagnosis, &evidence, arguments->dir, err) >= 0)
		code = diagnosis.outcome;
	evidence_release(&evidence);
	return code;
}

static int gather_and_diagnose(const struct arguments *arguments, struct error *err)
{
	struct gather gather;
	int code = OUTCOME_INTERNAL;

	if (gather_begin(&gather, arguments->dir, err) == 0 && gather.rank == 0) {
		printf("gathered    %d files from %d other folders\n", gather.files, gather.hosts);
		code = diagnose_folder(arguments, err);
		fflush(stdout);
	}
	return gather_end(code);
}

int main(int argc, char **argv)
{
	struct arguments arguments = { 0 };
	struct error err = { .rank = -1 };
	int code;

	argp_err_exit_status = OUTCOME_USAGE;
	output_guard("hang_diagnose");
	if (argp_parse(&argp, argc, argv, 0, NULL, &arguments) != 0)
		return OUTCOME_USAGE;
	code = arguments.gather ? gather_and_diagnose(&arguments, &err)
				: diagnose_folder(&arguments, &err);
	if (err.code)
		error_print(&err, "hang_diagnose");
	return code;
}
