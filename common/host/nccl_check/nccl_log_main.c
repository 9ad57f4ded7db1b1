/* nccl_log_main.c: nccl_log, the program: NCCL's log in, rings, warnings and a verdict out. */
#include "base/arguments.h"
#include "nccl_check/nccl_check.h"
#include "topo/topo.h"

struct arguments {
	struct nccl_log log;
	struct error err; /* the first file that can't be read */
	int files, rank;  /* -r RANK holds for the files after it */
	const char *topo;
	bool json;
};

static void read_file(struct argp_state *state, void *into, char *text)
{
	struct arguments *arguments = into;

	arguments->files++;
	nccl_log_read_file(&arguments->log, text, arguments->rank, &arguments->err);
}

static void take_table(struct argp_state *state, void *into, const struct argument *row, char *text)
{
	struct arguments *arguments = into;
	bool lines = strcmp(row->name, "lines") == 0;

	if (arguments->files)
		argument_refuse(state, "--%s stands before the files", row->name);
	if ((lines ? nccl_log_read_lines : nccl_log_read_causes)(&arguments->log, text,
								 &arguments->err) < 0)
		argument_refuse(state, "%s", arguments->err.text);
}

static void check(struct argp_state *state, void *into)
{
	const struct arguments *arguments = into;

	if (arguments->files == 0)
		argument_refuse(state, "which log? (- is standard input)");
}

static const struct argument rows[] = {
	{ "topo", 't', "FILE", ARGUMENT(TEXT, struct arguments, topo) },
	{ "causes", 'c', "FILE", .kind = ARGUMENT_OWN, .take = take_table },
	{ "lines", 'l', "FILE", .kind = ARGUMENT_OWN, .take = take_table },
	{ "json", 'j', NULL, ARGUMENT(FLAG, struct arguments, json) },
	{ "rank", 'r', "RANK", ARGUMENT(WHOLE, struct arguments, rank), .min = -1,
	  .most = NCCL_LOG_RANKS - 1 },
};

static const struct argument_table table = {
	.program = "nccl_log",
	.values = "FILE...",
	.rows = rows,
	.n = LENGTH(rows),
	.word = read_file,
	.check = check,
};

/* Neither NCCL's lines nor its watchdog's, nor a failure of a table's row. */
static bool is_empty(const struct nccl_log *log)
{
	return log->nccl_lines == 0 && !log->version && !log->n_waits && !log->n_ras &&
	       !log->n_warnings && !log->traceback_ended;
}

int main(int argc, char **argv)
{
	struct arguments arguments = { .rank = -1, .err = { .rank = -1 } };
	struct error *err = &arguments.err;
	static struct topo_system topo; /* large */
	int code;

	nccl_log_init(&arguments.log);
	arguments_read(&table, argc, argv, &arguments);
	nccl_log_finish(&arguments.log);
	if (err->code == 0 && arguments.topo)
		topo_read_xml(&topo, arguments.topo, err);
	if (err->code == 0 && is_empty(&arguments.log))
		error_set(err, OUTCOME_UNSUPPORTED, -1, "no NCCL line in what was read");
	if (err->code == 0 && arguments.json) /* where printing fails, output_guard tells of it */
		nccl_log_print_json(stdout, &arguments.log);
	else if (err->code == 0)
		nccl_log_print(stdout, &arguments.log, arguments.topo ? &topo : NULL);
	code = err->code			 ? (int)err->outcome
	       : nccl_log_failed(&arguments.log) ? OUTCOME_ERROR
						 : OUTCOME_OK;
	error_print(err, "nccl_log");
	nccl_log_release(&arguments.log);
	return code;
}
