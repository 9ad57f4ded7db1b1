/* hang_verify.c: the calls of all ranks in, whether they come to an end out; before the job runs, without a GPU. */
#include "answer/postmortem.h"
#include "base/arguments.h"
#include "base/parse.h"
#include "verify/input.h"
#include "verify/verify.h"

struct arguments {
	struct input input; /* paths: room for all of argv */
	uint64_t eager;
	enum schedule_streams streams;
	bool assume, json, chosen;
};

static void take_path(struct argp_state *state, void *into, char *text)
{
	struct arguments *arguments = into;

	arguments->input.paths[arguments->input.n++] = text;
}

static void take_eager(struct argp_state *state, void *into, const struct argument *row, char *text)
{
	size_t value;

	if (parse_size(text, &value))
		argument_refuse(state, "--eager: bytes, as 64K, not '%s'", text);
	((struct arguments *)into)->eager = value;
}

static void take_streams(struct argp_state *state, void *into, const struct argument *row,
			 char *text)
{
	struct arguments *arguments = into;

	if (strcmp(text, "one") != 0 && strcmp(text, "each") != 0)
		argument_refuse(state, "--streams: one or each, not '%s'", text);
	arguments->streams = strcmp(text, "one") == 0 ? STREAMS_ONE : STREAMS_EACH;
	arguments->chosen = true;
}

static void check(struct argp_state *state, void *into)
{
	const struct arguments *arguments = into;

	if (arguments->input.n == 0)
		argument_refuse(state, "which schedule?");
}

static const struct argument rows[] = {
	{ "assume", 'a', NULL, ARGUMENT(FLAG, struct arguments, assume) },
	{ "eager", 'e', "BYTES", ARGUMENT_OWN, .take = take_eager },
	{ "json", 'j', NULL, ARGUMENT(FLAG, struct arguments, json) },
	{ "log", 'l', NULL, ARGUMENT(FLAG, struct arguments, input.log) },
	{ "streams", 's', "one|each", ARGUMENT_OWN, .take = take_streams },
};

static const struct argument_table table = {
	.program = "hang_verify",
	.values = "FILE|DIR...",
	.rows = rows,
	.n = LENGTH(rows),
	.word = take_path,
	.check = check,
};

/* Returns the error of ranks whose calls are not known. */
static int know_all(struct schedule *s, const struct arguments *arguments, const char *path,
		    struct error *err)
{
	int rank, lack = arguments->assume ? schedule_assume(s) : 0;

	rank = schedule_unknown(s);
	if (rank < 0)
		return 0;
	return error_set(err,
			 arguments->input.log || s->streams == STREAMS_GIVEN ? OUTCOME_UNSUPPORTED
									     : OUTCOME_USAGE,
			 -EINVAL, "%s: cannot tell: nothing is known of rank %d%s", path, rank,
			 lack > 0 ? ", and no rank has its groups and collectives alone"
				  : ": --assume gives it the calls of a peer");
}

static void print(const struct verified *v, const struct schedule *s, const char *depends, int code)
{
	printf("%s: %d ranks, %zu calls\n",
	       code == OUTCOME_OK	  ? "completes"
	       : code == OUTCOME_DIVERGED ? "completes with unlike calls"
					  : "would hang",
	       s->nranks, schedule_calls(s));
	report_folded(stdout, "depends", depends);
	if (code != OUTCOME_OK)
		answer_print_whole(stdout, &v->answer, &v->evidence, "");
	else
		report_folded(stdout, "known", s->remarks);
}

/* A rank in no call, whose calls may go on behind the end of what is known, where that leaves the verdict open; -1: there is
 * none. */
static int cut_rank(const struct schedule *s, const struct verified *v)
{
	for (int i = 0; v->answer.confidence == CONFIDENCE_INCONCLUSIVE && i < s->nranks; i++)
		if (s->ranks[i].undated && !v->evidence.ranks[i].view.waiting)
			return i;
	return -1;
}

static int tell(struct verified *v, const struct schedule *s, const struct arguments *arguments,
		struct error *err)
{
	struct verify_how how = { arguments->chosen ? arguments->streams : s->streams,
				  arguments->eager };
	int code, cut;
	char depends[400];

	if (verify(v, s, &how, err) < 0)
		return (int)err->outcome;
	cut = cut_rank(s, v);
	code = v->stands ? OUTCOME_HANG : (int)v->answer.outcome;
	if (code != OUTCOME_OK && cut >= 0)
		code = OUTCOME_UNSUPPORTED;
	if (code == OUTCOME_UNSUPPORTED) {
		error_set(err, OUTCOME_UNSUPPORTED, -EINVAL,
			  "cannot tell: rank %d's calls may go on behind the end of what is known",
			  cut);
		return code;
	}
	verify_depends(s, &how, arguments->chosen, v->stands, depends, sizeof(depends), err);
	report_describe(&v->answer, &v->evidence);
	if (arguments->json && depends[0])
		evidence_remark(&v->evidence, "%s", depends);
	if (arguments->json)
		answer_print_json(stdout, &v->answer, &v->evidence);
	else
		print(v, s, depends, code);
	return code;
}

static int verify_all(const struct arguments *arguments, struct error *err)
{
	const char *path = arguments->input.paths[0];
	struct verified verified = { .stands = false };
	struct schedule schedule;
	struct answer run;
	int code = OUTCOME_INTERNAL;

	if (input_read(&arguments->input, &schedule, &run, err) < 0 ||
	    know_all(&schedule, arguments, path, err) < 0)
		code = (int)err->outcome;
	else
		code = tell(&verified, &schedule, arguments, err);
	verified_release(&verified);
	schedule_release(&schedule);
	return code;
}

int main(int argc, char **argv)
{
	struct arguments arguments = { .input.paths =
					       must(calloc((size_t)argc + 1, sizeof(char *))) };
	struct error err = { .rank = -1 };
	int code;

	arguments_read(&table, argc, argv, &arguments);
	code = verify_all(&arguments, &err);
	if (err.code)
		error_print(&err, "hang_verify");
	free(arguments.input.paths);
	return code;
}
