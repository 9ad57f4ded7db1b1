/* options_help.c: --help. */
#include "base/built_in.h"
#include "options/options_table.h"

BUILT_IN(options_built_in, "common/harness/options/options.txt");

enum { TEXT_COLUMN = 29, WIDTH = 79 };

static const char head[] =
	"Measures %s over a range of sizes and checks its data. Options, columns, algbw and busbw "
	"are those of nccl-tests, with three differences:\n"
	"  - sizes are multiplied by 2 from step to step; nccl-tests adds 1 MiB (-i 1M)\n"
	"  - the time is the slowest rank's (-a 3); nccl-tests prints the mean (-a 1)\n"
	"  - a rank is a process with one GPU: -g N and -t N start processes, and under mpirun or "
	"srun a -g above 1 is an error that names the equivalent -np\n"
	"Without a launcher the program starts itself under mpirun.\n";

static const char head_pairs[] =
	"Measures the latency and bandwidth of every pair of ranks: alone, both ways at once, and "
	"beside other pairs, with messages of 8 bytes to -e. A rank is a process with one GPU. "
	"Without a launcher the program starts itself under mpirun.\n";

static const char head_step[] = "Measures a training step without a framework: compute, and calls "
				"as a recipe makes them, each alone and both "
				"together. A row per recipe; its messages have -b bytes (1M). A "
				"rank is a process with one GPU. Without a launcher "
				"the program starts itself under mpirun.\n";

static const char tail[] =
	"\nExit codes: 0 ok, 1 internal failure, 2 wrong usage, 10 hang, 11 error of NCCL, CUDA or "
	"MPI, 12 wrong data, 13 below the required bandwidth, 14 a rank died, 15 slow rank, 16 "
	"ranks diverged, 20 a fault did not fire, 77 this machine lacks a requirement. Of "
	"several the first of 14, 11, 10, 12, 16, 15, 13.\n";

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
		return !option_misplaced(row, target);
	}
}

/* Prints words from column `at` on. Lines that would be too long go on in column `indent`, or below
 * the text of an item that begins with "  - ". */
static void put_words(FILE *out, const char *text, int at, int indent)
{
	while (*text) {
		int blanks = (int)strspn(text, " "), len = (int)strcspn(text + blanks, " \n");
		bool full = at > indent && at + blanks + len > WIDTH;

		if (full) {
			fputc('\n', out);
			at = 0;
		}
		at += fprintf(out, "%*s%.*s", full ? indent : blanks, "", len, text + blanks);
		text += blanks + len;
		if (*text != '\n')
			continue;
		fputc(*text++, out);
		at = 0;
		indent = strncmp(text, "  - ", 4) == 0 ? 4 : 0;
	}
}

const char *option_help(const struct option_row *row, char *buf, size_t len)
{
	built_in_line(options_built_in, row->name, 1, buf, len);
	return buf;
}

/* The row's help, its words unless the value's name lists them, and its default. */
static void describe(const struct option_row *row, char *buf, size_t len)
{
	bool list = row->words && row->words[1] && row->arg && !strchr(row->arg, '|');

	option_help(row, buf, len);
	for (int i = 0; list && row->words[i]; i++)
		text_add(buf, len, "%s%s", i ? ", " : "; one of ", row->words[i]);
	if (row->initial && (row->arg || row->env))
		text_add(buf, len, " (default: %s)", row->initial);
	text_add(buf, len, "\n");
}

/* "  -b, --minbytes=SIZE        smallest size (default: 32M)" */
static void put_row(FILE *out, const struct option_row *row)
{
	char letter[] = { '-', (char)row->letter, ',', '\0' }, text[2 * OPTION_TEXT_MAX];
	const char *arg = row->arg ? row->arg : "";
	int at = row->env ? fprintf(out, "  %s", row->name)
			  : fprintf(out, "  %3s --%s%s%s%s", row->letter ? letter : "", row->name,
				    !row->arg	? ""
				    : row->flag ? "[="
						: "=",
				    arg, row->arg && row->flag ? "]" : "");

	describe(row, text, sizeof(text));
	if (at >= TEXT_COLUMN) {
		fputc('\n', out);
		at = 0;
	}
	fprintf(out, "%*s", TEXT_COLUMN - at, "");
	put_words(out, text, TEXT_COLUMN, TEXT_COLUMN);
}

void options_print_help(FILE *out, const struct option_target *target, const char *program)
{
	const char *name = target ? target->name : "one collective";
	enum option_part part = option_part_of(target);
	char text[1024];

	snprintf(text, sizeof(text),
		 part == PART_PAIRS  ? head_pairs
		 : part == PART_STEP ? head_step
				     : head,
		 name);
	fprintf(out, "Usage: %s [OPTION...]\n", basename(program));
	put_words(out, text, 0, 0);
	for (int group = 1; group < GROUP_END; group++) {
		bool any = false;

		for (size_t i = 0; i < option_row_count; i++) {
			const struct option_row *row = &option_rows[i];

			if ((int)row->group != group || !makes_sense(row, target))
				continue;
			if (!any)
				fprintf(out, "\n%s\n", option_group_titles[group]);
			any = true;
			put_row(out, row);
		}
	}
	put_words(out, tail, 0, 0);
}
