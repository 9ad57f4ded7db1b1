/* hang_diagnose.c: evidence of a run in, verdict and report out; works long after the job died. */
#include "base/arguments.h"
#include "base/error.h"
#include "find/find.h"
#include "answer/postmortem.h"
#include "answer/counter_delta.h"

struct arguments {
	const char **dirs; /* owned: room for all of argv */
	size_t ndirs;
	bool dry_run, torch, log, json;
};

static void take_folder(struct argp_state *state, void *into, char *text)
{
	struct arguments *arguments = into;

	arguments->dirs[arguments->ndirs++] = text;
}

static void check(struct argp_state *state, void *into)
{
	const struct arguments *arguments = into;

	if (arguments->ndirs == 0)
		argument_refuse(state, arguments->log ? "which log?" : "which evidence folder?");
	if (arguments->torch && arguments->log)
		argument_refuse(state, "--torch takes a folder, --log takes files");
	if (arguments->torch && arguments->ndirs > 1)
		argument_refuse(state, "--torch takes one folder: bring all dumps together");
}

static const struct argument rows[] = {
	{ "dry-run", 'n', NULL, ARGUMENT(FLAG, struct arguments, dry_run) },
	{ "json", 'j', NULL, ARGUMENT(FLAG, struct arguments, json) },
	{ "log", 'l', NULL, ARGUMENT(FLAG, struct arguments, log) },
	{ "torch", 't', NULL, ARGUMENT(FLAG, struct arguments, torch) },
};

static const struct argument_table table = {
	.program = "hang_diagnose",
	.values = "DIR [DIR...]",
	.rows = rows,
	.n = LENGTH(rows),
	.word = take_folder,
	.check = check,
};

static int load(struct evidence *evidence, const struct arguments *arguments, struct error *err)
{
	int rc;

	if (arguments->log)
		return evidence_load_logs(evidence, arguments->dirs, arguments->ndirs,
					  arguments->json, err);
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
	struct answer answer;
	char page[PATH_MAX] = "";
	int code = OUTCOME_INTERNAL;
	bool dry_run = arguments->dry_run || arguments->log;

	if (load(&evidence, arguments, err) < 0) {
		code = evidence.said ? (int)OUTCOME_ERROR : (int)err->outcome;
		fputs(evidence.said ? evidence.said : "", stdout);
		goto out;
	}
	if (evidence.said) {
		fputs(evidence.said, stdout);
		code = evidence.calm ? OUTCOME_OK : OUTCOME_ERROR;
		goto out;
	}
	find_answer(&evidence, NULL, &answer);
	probe_note(&evidence, &answer);
	report_describe(&answer, &evidence);
	if (!dry_run)
		snprintf(page, sizeof(page), "%s/postmortem.md", arguments->dirs[0]);
	if (arguments->json)
		answer_print_json(stdout, &answer, &evidence);
	else
		answer_print_whole(stdout, &answer, &evidence, page);
	if (dry_run || answer_save(&answer, &evidence, arguments->dirs[0], err) >= 0)
		code = answer.outcome;
out:
	evidence_release(&evidence);
	return code;
}

int main(int argc, char **argv)
{
	struct arguments arguments = { .dirs = must(calloc((size_t)argc + 1, sizeof(char *))) };
	struct error err = { .rank = -1 };
	int code;

	arguments_read(&table, argc, argv, &arguments);
	code = diagnose_folders(&arguments, &err);
	if (err.code)
		error_print(&err, "hang_diagnose");
	free(arguments.dirs);
	return code;
}
