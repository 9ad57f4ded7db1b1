/* hang_diagnose.c: evidence of a run in, verdict and report out; works long after the job died. */
#include <argp.h>

#include "base/error.h"
#include "base/output.h"
#include "evidence/evidence.h"
#include "postmortem/postmortem.h"
#include "probe/probe.h"

struct arguments {
	const char **dirs; /* owned: room for all of argv */
	size_t ndirs;
	bool dry_run, torch;
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct arguments *arguments = state->input;

	switch (key) {
	case 'n':
		arguments->dry_run = true;
		return 0;
	case 't':
		arguments->torch = true;
		return 0;
	case 'h':
		argp_state_help(state, stdout, ARGP_HELP_STD_HELP);
		return 0;
	case ARGP_KEY_ARG:
		arguments->dirs[arguments->ndirs++] = arg;
		return 0;
	case ARGP_KEY_END:
		if (arguments->ndirs == 0)
			argp_error(state, "which evidence folder?");
		if (arguments->torch && arguments->ndirs > 1)
			argp_error(state, "--torch takes one folder: bring all dumps together");
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp_option options[] = {
	{ NULL, 'h', NULL, OPTION_HIDDEN, NULL, 0 }, /* as --help */
	{ "dry-run", 'n', NULL, 0, "Print the diagnosis, write nothing", 0 },
	{ "torch", 't', NULL, 0, "DIR holds dumps of PyTorch's Flight Recorder, one a rank", 0 },
	{ 0 },
};

static const struct argp argp = {
	.options = options,
	.parser = parse,
	.args_doc = "DIR [DIR...]",
	.doc = "Diagnose the evidence in DIR (rank-N.fr, run.json) and write verdict.json, "
	       "postmortem.md, timeline.json and timeline.csv beside it. Several DIR, of the "
	       "hosts of one run, are joined; what is written goes to the first.\v"
	       "The exit code is the outcome's: 0 ok, 10 hang, 11 error, 12 wrong data, 14 a rank "
	       "died, 16 diverged; 1 unreadable evidence, or too little of it, 2 usage.",
};

static int load(struct evidence *evidence, const struct arguments *arguments, struct error *err)
{
	int rc;

	if (arguments->torch) {
		rc = evidence_load_torch(evidence, arguments->dirs[0], err);
		return rc < 0 || arguments->dry_run
			       ? rc
			       : evidence_save(evidence, arguments->dirs[0], err);
	}
	rc = evidence_load_all(evidence, arguments->dirs, arguments->ndirs, err);
	if (rc < 0)
		err->outcome = OUTCOME_USAGE; /* a folder that was named is none of this run */
	return rc;
}

static int diagnose_folders(const struct arguments *arguments, struct error *err)
{
	struct evidence evidence;
	struct diagnosis diagnosis;
	int code = OUTCOME_INTERNAL;

	if (load(&evidence, arguments, err) < 0) {
		code = (int)err->outcome;
		goto out;
	}
	diagnose(&evidence, &diagnosis);
	probe_note(&evidence, &diagnosis);
	diagnosis_print(stdout, &diagnosis, &evidence);
	if (arguments->dry_run ||
	    diagnosis_save(&diagnosis, &evidence, arguments->dirs[0], err) >= 0)
		code = diagnosis.outcome;
out:
	evidence_release(&evidence);
	return code;
}

int main(int argc, char **argv)
{
	struct arguments arguments = { .dirs = must(calloc((size_t)argc + 1, sizeof(char *))) };
	struct error err = { .rank = -1 };
	int code = OUTCOME_USAGE;

	argp_err_exit_status = OUTCOME_USAGE;
	output_guard("hang_diagnose");
	if (argp_parse(&argp, argc, argv, 0, NULL, &arguments) == 0)
		code = diagnose_folders(&arguments, &err);
	if (err.code)
		error_print(&err, "hang_diagnose");
	free(arguments.dirs);
	return code;
}
