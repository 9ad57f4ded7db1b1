/* nccl_log_main.c: nccl_log, the program: NCCL's log in, rings, calls, warnings and a verdict
 * out. */
#include <argp.h>
#include <stdlib.h>
#include <string.h>

#include "nccl_log/nccl_log.h"
#include "nccl_log/nccl_log_topo.h"
#include "base/parse.h"
#include "base/output.h"

struct arguments {
	char **files; /* as in argv; -r RANK holds for the files after it */
	int *ranks;
	int n, rank;
	bool json;
	const char *topo;
};

static const struct argp_option options[] = {
	{ "json", 'j', NULL, 0, "All of it as one JSON object", 0 },
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

static error_t add_file(struct arguments *arguments, char *name)
{
	arguments->files[arguments->n] = name;
	arguments->ranks[arguments->n++] = arguments->rank;
	return 0;
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct arguments *arguments = state->input;
	int64_t rank;

	switch (key) {
	case 'j':
		arguments->json = true;
		return 0;
	case 't':
		arguments->topo = arg;
		return 0;
	case 'r':
		if (parse_int(arg, -1, NCCL_LOG_RANKS - 1, &rank) < 0)
			argp_error(state, "no rank: %s", arg);
		arguments->rank = (int)rank;
		return 0;
	case 'h':
		argp_state_help(state, stdout, ARGP_HELP_STD_HELP);
		return 0;
	case ARGP_KEY_ARG:
		return add_file(arguments, arg);
	case ARGP_KEY_END:
		if (arguments->n == 0)
			argp_error(state, "which log? (- is standard input)");
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp argp = {
	.options = options,
	.parser = parse,
	.args_doc = "FILE...",
	.doc = "Read NCCL_DEBUG=INFO output of one or many ranks, with whatever a launcher put "
	       "before the lines, and print versions, rings and trees, transports, algorithms, "
	       "calls compared across ranks, warnings, and whether the rings are rational."
	       "\vMost is there with NCCL_DEBUG_SUBSYS=INIT,BOOTSTRAP,ENV,GRAPH,TUNING,COLL,NET. "
	       "The exit code is 0 whatever the verdict; 1 no memory or output, 2 usage or "
	       "unreadable files, 77 no NCCL line in them.",
};

static int print(const struct nccl_log *log, const struct arguments *arguments,
		 const struct topo_system *topo)
{
	int rc = arguments->json ? nccl_log_print_json(stdout, log, topo)
				 : nccl_log_print(stdout, log, topo);

	return ferror(stdout) ? 0 : rc; /* output_guard tells of that */
}

static enum outcome report(const struct arguments *arguments, const struct topo_system *topo,
			   struct error *err)
{
	enum outcome outcome = OUTCOME_INTERNAL;
	struct nccl_log log;

	if (nccl_log_init(&log, err) < 0)
		return err->outcome;
	for (int i = 0; i < arguments->n; i++)
		if (nccl_log_read_file(&log, arguments->files[i], arguments->ranks[i], err) < 0)
			goto out;
	if (nccl_log_finish(&log, err) < 0)
		goto out;
	if (log.nccl_lines == 0 && !log.version)
		error_set(err, OUTCOME_UNSUPPORTED, -1, "no NCCL line in what was read");
	else if (print(&log, arguments, topo) < 0)
		error_set(err, OUTCOME_INTERNAL, -1, "can't print");
	else
		outcome = OUTCOME_OK;
out:
	nccl_log_release(&log);
	return err->code ? err->outcome : outcome;
}

int main(int argc, char **argv)
{
	struct arguments arguments = { .rank = -1 };
	struct error err = { .rank = -1 };
	enum outcome outcome = OUTCOME_INTERNAL;
	static struct topo_system topo; /* large */

	argp_err_exit_status = OUTCOME_USAGE;
	output_guard("nccl_log");
	arguments.files = calloc((size_t)argc + 1, sizeof(*arguments.files));
	arguments.ranks = calloc((size_t)argc + 1, sizeof(*arguments.ranks));
	if (!arguments.files || !arguments.ranks)
		goto out;
	if (argp_parse(&argp, argc, argv, ARGP_IN_ORDER, NULL, &arguments) != 0) {
		outcome = OUTCOME_USAGE;
		goto out;
	}
	if (arguments.topo && topo_read_xml(&topo, arguments.topo, &err) < 0)
		outcome = err.outcome;
	else
		outcome = report(&arguments, arguments.topo ? &topo : NULL, &err);
	if (err.code)
		error_print(&err, "nccl_log");
out:
	free(arguments.files);
	free(arguments.ranks);
	return outcome;
}
