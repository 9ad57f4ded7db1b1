/* reconcile_main.c: reconcile, the program: observation.json in, causes out, long after the run. */
#include <argp.h>
#include <sys/stat.h>

#include "reconcile/causes.h"
#include "base/output.h"

struct arguments {
	const char *path;
	bool list;
};

static const struct argp_option options[] = {
	{ NULL, 'h', NULL, OPTION_HIDDEN, NULL, 0 }, /* as --help */
	{ "list", 'l', NULL, 0, "The causes that are looked for, and the fix of each", 0 },
	{ 0 },
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct arguments *arguments = state->input;

	if (key == 'l')
		arguments->list = true;
	else if (key == 'h')
		argp_state_help(state, stdout, ARGP_HELP_STD_HELP);
	else if (key == ARGP_KEY_ARG && arguments->path)
		argp_error(state, "one run at a time");
	else if (key == ARGP_KEY_ARG)
		arguments->path = arg;
	else if (key == ARGP_KEY_END && !arguments->path && !arguments->list)
		argp_error(state, "which run?");
	else
		return ARGP_ERR_UNKNOWN;
	return 0;
}

static const struct argp argp = {
	.options = options,
	.parser = parse,
	.args_doc = "DIR|FILE",
	.doc = "Say what made a run slower than predicted, from the observation.json that --out "
	       "DIR kept."
	       "\vThe exit code is 0 whatever is found, 2 for a file that is none.",
};

static int print_line(void *ctx, const char *text)
{
	return fprintf(ctx, "%s\n", text) < 0 ? -1 : 0;
}

static int tell(const char *path, struct error *err)
{
	struct observation observation;
	char file[4200], line[200];
	int64_t median;
	struct stat st;

	snprintf(file, sizeof(file), "%.4000s%s", path,
		 stat(path, &st) == 0 && S_ISDIR(st.st_mode) ? "/observation.json" : "");
	if (observation_read(&observation, file, err) < 0)
		return err->outcome;
	median = reading_value(&observation.run, "run", "median_ppm");
	if (median >= 0)
		printf("The median row from 1 MiB reaches %.1f %% of its prediction\n",
		       (double)median * 1e-4);
	if (causes_slowest(&observation, line, sizeof(line)))
		puts(line);
	if (causes_tell(&observation, print_line, stdout) < 0 &&
	    !ferror(stdout)) /* see output_guard */
		error_set(err, OUTCOME_INTERNAL, -1, "can't print");
	observation_release(&observation);
	return err->outcome;
}

int main(int argc, char **argv)
{
	struct arguments arguments = { .path = NULL };
	struct error err = { .rank = -1 };
	int code = 0;

	argp_err_exit_status = OUTCOME_USAGE;
	output_guard("reconcile");
	if (argp_parse(&argp, argc, argv, 0, NULL, &arguments) != 0)
		return OUTCOME_USAGE;
	for (size_t i = 0; i < cause_count && arguments.list; i++)
		printf("%-16s %s. Fix: %s\n", cause_table[i].name, cause_table[i].what,
		       cause_table[i].fix);
	if (arguments.path)
		code = tell(arguments.path, &err);
	if (err.code)
		error_print(&err, "reconcile");
	return code;
}
