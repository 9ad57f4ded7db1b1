/* nccl_log_main.c: nccl_log, the program: NCCL's log in, rings, warnings and a verdict out. */
#include <argp.h>

#include "nccl_log/nccl_log.h"
#include "base/parse.h"
#include "base/output.h"
#include "topo/topo.h"

struct arguments {
	struct nccl_log log;
	struct error err; /* the first file that can't be read */
	int files, rank;  /* -r RANK holds for the files after it */
	const char *topo;
};

static const struct argp_option options[] = {
	{ "topo", 't', "FILE", 0,
	  "Check rings against this NCCL topology (XML, as NCCL_TOPO_DUMP_FILE writes it) of every "
	  "host",
	  0 },
	{ "rank", 'r', "RANK", 0,
	  "Whose log the next files are, where their lines don't say it (no Init lines); -1: "
	  "unknown",
	  0 },
	{ NULL, 'h', NULL, OPTION_HIDDEN, NULL, 0 }, /* as --help */
	{ 0 },
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct arguments *arguments = state->input;
	int64_t rank;

	if (key == 't')
		arguments->topo = arg;
	else if (key == 'r' && parse_int(arg, -1, NCCL_LOG_RANKS - 1, &rank) < 0)
		argp_error(state, "no rank: %s", arg);
	else if (key == 'r')
		arguments->rank = (int)rank;
	else if (key == 'h')
		argp_state_help(state, stdout, ARGP_HELP_STD_HELP);
	else if (key == ARGP_KEY_ARG && ++arguments->files)
		nccl_log_read_file(&arguments->log, arg, arguments->rank, &arguments->err);
	else if (key == ARGP_KEY_END && arguments->files == 0)
		argp_error(state, "which log? (- is standard input)");
	else
		return ARGP_ERR_UNKNOWN;
	return 0;
}

static const struct argp argp = {
	.options = options,
	.parser = parse,
	.args_doc = "FILE...",
	.doc = "Read NCCL_DEBUG=INFO output of one or many ranks, with whatever a launcher put "
	       "before the lines, and print versions, rings and trees, transports, algorithms, "
	       "warnings, and whether the rings are rational."
	       "\vMost is there with NCCL_DEBUG_SUBSYS=INIT,BOOTSTRAP,ENV,GRAPH,TUNING,COLL,NET. "
	       "The exit code is 0 whatever the verdict; 1 no memory or output, 2 usage or "
	       "unreadable files, 77 no NCCL line in them.",
};

int main(int argc, char **argv)
{
	struct arguments arguments = { .rank = -1, .err = { .rank = -1 } };
	struct error *err = &arguments.err;
	static struct topo_system topo; /* large */

	argp_err_exit_status = OUTCOME_USAGE;
	output_guard("nccl_log");
	nccl_log_init(&arguments.log);
	argp_parse(&argp, argc, argv, ARGP_IN_ORDER, NULL, &arguments);
	nccl_log_finish(&arguments.log);
	if (err->code == 0 && arguments.topo)
		topo_read_xml(&topo, arguments.topo, err);
	if (err->code == 0 && arguments.log.nccl_lines == 0 && !arguments.log.version)
		error_set(err, OUTCOME_UNSUPPORTED, -1, "no NCCL line in what was read");
	if (err->code == 0) /* where printing fails, output_guard tells of it */
		nccl_log_print(stdout, &arguments.log, arguments.topo ? &topo : NULL);
	error_print(err, "nccl_log");
	nccl_log_release(&arguments.log);
	return err->outcome;
}
