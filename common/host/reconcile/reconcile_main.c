/* reconcile_main.c: reconcile, the program: observation.json in, causes out, long after the run. */

#include "base/arguments.h"
#include "reconcile/causes.h"

struct arguments {
	const char *path;
	bool list;
};

static void take_path(struct argp_state *state, void *into, char *text)
{
	struct arguments *arguments = into;

	if (arguments->path)
		argument_refuse(state, "one run at a time");
	arguments->path = text;
}

static void check(struct argp_state *state, void *into)
{
	const struct arguments *arguments = into;

	if (!arguments->path && !arguments->list)
		argument_refuse(state, "which run?");
}

static const struct argument rows[] = {
	{ "list", 'l', NULL, ARGUMENT(FLAG, struct arguments, list) },
};

static const struct argument_table table = {
	.program = "reconcile",
	.values = "DIR|FILE",
	.rows = rows,
	.n = LENGTH(rows),
	.word = take_path,
	.check = check,
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
	/* see output_guard */
	if (causes_tell(&observation, false, print_line, stdout) < 0 && !ferror(stdout))
		error_set(err, OUTCOME_INTERNAL, -1, "can't print");
	observation_release(&observation);
	return err->outcome;
}

int main(int argc, char **argv)
{
	struct arguments arguments = { .path = NULL };
	struct error err = { .rank = -1 };
	char what[CAUSE_LINE], fix[CAUSE_LINE];
	int code = 0;

	arguments_read(&table, argc, argv, &arguments);
	for (size_t i = 0; i < cause_count && arguments.list; i++)
		printf("%-16s %s. Fix: %s\n", cause_table[i].name,
		       cause_says(&cause_table[i], CAUSE_WHAT, what),
		       cause_says(&cause_table[i], CAUSE_FIX, fix));
	if (arguments.path)
		code = tell(arguments.path, &err);
	if (err.code)
		error_print(&err, "reconcile");
	return code;
}
