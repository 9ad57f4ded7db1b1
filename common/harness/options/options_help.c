/* options_help.c: --help. */
#include <argp.h>

#include "options/options_table.h"

/* The text before the options, and after \v the text behind them. */
static const char help_text[] =
	"Measures one collective over a range of sizes and checks its data. Options, columns, "
	"algbw and busbw are those of nccl-tests, with three differences:\n"
	"  - sizes are multiplied by 2 from step to step; nccl-tests adds 1 MiB (-i 1M)\n"
	"  - the time is the slowest rank's (-a 3); nccl-tests prints the mean (-a 1)\n"
	"  - a rank is a process with one GPU: -g N and -t N start processes, and under mpirun or "
	"srun a -g above 1 is an error that names the equivalent -np\n"
	"Without a launcher the program starts itself under mpirun."
	"\vExit codes: 0 ok, 1 internal failure, 2 wrong usage, 10 hang, 11 error of NCCL, CUDA or "
	"MPI, 12 wrong data, 13 below the required bandwidth, 14 a rank died, 15 slow rank, 16 "
	"ranks diverged, 20 a fault did not fire, 77 this machine lacks a requirement. Of "
	"several the first of 14, 11, 10, 12, 16, 15, 13.";

static bool makes_sense(const struct option_row *row, const struct option_target *target)
{
	if (!target)
		return true;
	switch (row->scope) {
	case SCOPE_REDUCES:
		return target->reduces;
	case SCOPE_ROOTED:
		return target->rooted;
	case SCOPE_IRREGULAR:
		return target->irregular;
	default:
		return true;
	}
}

/* The row's help, its words unless the value's name lists them, and its default. */
static void describe(const struct option_row *row, char *buf, size_t len)
{
	bool list = row->words && row->words[1] && row->arg && !strchr(row->arg, '|');

	snprintf(buf, len, "%s", row->help);
	for (int i = 0; list && row->words[i]; i++)
		text_add(buf, len, "%s%s", i ? ", " : "; one of ", row->words[i]);
	if (row->initial && (row->arg || row->env))
		text_add(buf, len, " (default: %s)", row->initial);
}

void options_print_help(FILE *out, const struct option_target *target, const char *program)
{
	struct argp_option options[OPTION_ROWS_MAX + GROUP_END + 1] = { 0 };
	const struct argp argp = { .options = options, .doc = help_text };
	char texts[OPTION_ROWS_MAX][OPTION_TEXT_MAX], name[64];
	size_t i, n = 0;
	int group = 0;

	for (i = 0; i < option_row_count; i++) {
		const struct option_row *row = &option_rows[i];

		if (!makes_sense(row, target))
			continue;
		if ((int)row->group != group) {
			group = (int)row->group;
			options[n++] = (struct argp_option){ .doc = option_group_titles[group],
							     .group = group };
		}
		describe(row, texts[i], sizeof(texts[i]));
		options[n++] = (struct argp_option){
			.name = row->name,
			.key = row->letter ? row->letter : 0x100 + (int)i,
			.arg = row->arg,
			.flags = row->env ? OPTION_DOC | OPTION_NO_USAGE : OPTION_NO_USAGE,
			.doc = texts[i],
			.group = group,
		};
	}
	snprintf(name, sizeof(name), "%s", basename(program));
	argp_help(&argp, out, ARGP_HELP_SHORT_USAGE | ARGP_HELP_LONG | ARGP_HELP_DOC, name);
}
