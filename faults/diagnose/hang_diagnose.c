/* hang_diagnose.c: evidence of a run in, verdict and report out; works long after the job died. */
#include <argp.h>
#include <stdbool.h>
#include <stdio.h>

#include "diagnose.h"
#include "error.h"
#include "evidence.h"
#include "witness.h"

struct arguments {
	const char *dir;
	bool dry_run;
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct arguments *arguments = state->input;

	switch (key) {
	case 'n':
		arguments->dry_run = true;
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
	{ "dry-run", 'n', NULL, 0, "Print the report, write nothing", 0 },
	{ 0 },
};

static const struct argp argp = {
	.options = options,
	.parser = parse,
	.args_doc = "DIR",
	.doc = "Diagnose the evidence in DIR (rank-N.fr, rank-N.json, run.json) and write "
	       "verdict.json, report.txt, postmortem.md, timeline.json and timeline.csv beside "
	       "it.\vThe exit code is the outcome's: 0 ok, 10 "
	       "hang, "
	       "11 error, 12 wrong data, 14 a rank died, 16 diverged; 1 unreadable evidence, 2 "
	       "usage.",
};

int main(int argc, char **argv)
{
	struct arguments arguments = { 0 };
	struct error err = { .rank = -1 };
	struct evidence evidence;
	struct diagnosis diagnosis;
	int code = OUTCOME_INTERNAL;

	argp_err_exit_status = OUTCOME_USAGE;
	if (argp_parse(&argp, argc, argv, 0, NULL, &arguments) != 0)
		return OUTCOME_USAGE;
	if (evidence_load(&evidence, arguments.dir, &err) < 0)
		goto out;
	diagnose(&evidence, &diagnosis);
	witness_note(&evidence, &diagnosis);
	diagnosis_print(stdout, &diagnosis, &evidence);
	if (arguments.dry_run || diagnosis_save(&diagnosis, &evidence, arguments.dir, &err) == 0)
		code = diagnosis.outcome;
	evidence_release(&evidence);
out:
	if (err.code)
		error_print(&err, "hang_diagnose");
	return code;
}
