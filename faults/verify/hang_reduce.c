/* hang_reduce.c: evidence of a hang in, the smallest schedule that hangs in the same way out, as a text or a program. */
#include "answer/describe.h"
#include "base/arguments.h"
#include "verify/input.h"
#include "verify/programs.h"
#include "verify/reduce.h"

struct arguments {
	struct input input; /* paths: room for all of argv */
	enum program form;
	double seconds;
	bool run;
};

static void take_path(struct argp_state *state, void *into, char *text)
{
	struct arguments *arguments = into;

	arguments->input.paths[arguments->input.n++] = text;
}

static void take_form(struct argp_state *state, void *into, const struct argument *row, char *text)
{
	struct arguments *arguments = into;

	for (arguments->form = 0; arguments->form < PROGRAM_COUNT; arguments->form++)
		if (strcmp(text, program_name(arguments->form)) == 0)
			return;
	argument_refuse(state, "--as: text, nccl, mpi or torch, not '%s'", text);
}

static void check(struct argp_state *state, void *into)
{
	const struct arguments *arguments = into;

	if (arguments->input.n == 0)
		argument_refuse(state, "evidence of which hang?");
}

static const struct argument rows[] = {
	{ "as", 'a', "FORM", ARGUMENT_OWN, .take = take_form },
	{ "log", 'l', NULL, ARGUMENT(FLAG, struct arguments, input.log) },
	{ "run", 'r', NULL, ARGUMENT(FLAG, struct arguments, run) },
	{ "seconds", 's', "S", ARGUMENT(REAL, struct arguments, seconds), .min = 1, .most = 3600 },
};

static const struct argument_table table = {
	.program = "hang_reduce",
	.values = "FILE|DIR...",
	.rows = rows,
	.n = LENGTH(rows),
	.word = take_path,
	.check = check,
};

/* The streams with which the schedule has the run's verdict: a text says one or each. */
static enum schedule_streams streams_of(const struct schedule *s, const struct answer *run,
					struct error *err)
{
	struct verify_how how = { STREAMS_EACH, 0 };
	struct verified v;
	bool fits;

	if (s->streams != STREAMS_GIVEN)
		return s->streams;
	fits = verify(&v, s, &how, err) == 0 && v.stands && v.answer.class == run->class;
	verified_release(&v);
	return fits ? STREAMS_EACH : STREAMS_ONE;
}

/* Lines for the beginning of a text or program. */
static void describe(const struct reduced *r, const struct arguments *arguments, char *buf,
		     size_t len)
{
	const struct answer *a = &r->answer;

	snprintf(buf, len, "hangs as %s: %s, %s %s; written by hang_reduce\n",
		 arguments->input.paths[0], class_name(a->class, a->outcome),
		 a->pair[0] && strcmp(a->ranks, "-") == 0 ? "pair" : "rank",
		 a->pair[0] && strcmp(a->ranks, "-") == 0 ? a->pair : a->ranks);
	for (int i = 0; i < r->schedule.nranks; i++)
		text_add(buf, len, "%srank %d was rank %d", i ? ", " : "", i, r->was[i]);
}

/* Runs it, and says on standard error what came of it. */
static int run(const struct reduced *r, const struct arguments *arguments, struct error *err)
{
	enum program_end end;
	bool unequal;

	if (program_run(&r->schedule, arguments->seconds, &end, err) < 0)
		return (int)err->outcome;
	unequal = r->answer.class == CLASS_PAIR_SIZE || r->answer.class == CLASS_MISMATCH;
	fprintf(stderr, "over MPI, %d ranks: %s\n", r->schedule.nranks,
		end == PROGRAM_HANGS ? "hangs the same way"
		: end == PROGRAM_COMPLETES && unequal
			? "completes: MPI takes less than was asked for; try --as nccl on a GPU"
		: end == PROGRAM_COMPLETES
			? "completes: then it was not the schedule: NCCL, a GPU, a wire or time"
			: "ends with an error: MPI tells of unlike calls; try --as nccl on a GPU");
	return end == PROGRAM_HANGS ? OUTCOME_OK : OUTCOME_DIVERGED;
}

static int reduce_all(const struct arguments *arguments, struct error *err)
{
	struct reduced reduced = { .was = NULL };
	struct schedule s;
	struct answer seen;
	struct verify_how how = { STREAMS_GIVEN, 0 };
	int code = 0;
	char head[1024];

	if (input_read(&arguments->input, &s, &seen, err) < 0)
		goto out;
	if (seen.class != CLASS_OUTCOME && !class_of_calls(seen.class)) {
		error_set(err, OUTCOME_UNSUPPORTED, -EINVAL,
			  "cannot reduce: the run's verdict is %s, and its calls are not the cause",
			  class_name(seen.class, seen.outcome));
		goto out;
	}
	if (schedule_unknown(&s) >= 0) {
		error_set(err, OUTCOME_UNSUPPORTED, -EINVAL,
			  "cannot reduce: nothing is known of rank %d", schedule_unknown(&s));
		goto out;
	}
	how.streams = streams_of(&s, &seen, err);
	if (err->code || reduce_schedule(&reduced, &s, &how, err) < 0)
		goto out;
	if (seen.class != CLASS_OUTCOME && seen.class != reduced.before.class) {
		error_set(err, OUTCOME_UNSUPPORTED, -EINVAL,
			  "cannot reduce: the run's verdict is %s, that of its calls alone %s",
			  class_name(seen.class, seen.outcome),
			  class_name(reduced.before.class, reduced.before.outcome));
		goto out;
	}
	describe(&reduced, arguments, head, sizeof(head));
	program_print(stdout, arguments->form, &reduced.schedule, head);
	fflush(stdout);
	fprintf(stderr, "%d ranks and %zu calls become %d and %zu\n", s.nranks, schedule_calls(&s),
		reduced.schedule.nranks, schedule_calls(&reduced.schedule));
	code = arguments->run ? run(&reduced, arguments, err) : OUTCOME_OK;
out:
	reduced_release(&reduced);
	schedule_release(&s);
	return err->code ? (int)err->outcome : code;
}

int main(int argc, char **argv)
{
	struct arguments arguments = { .input.paths =
					       must(calloc((size_t)argc + 1, sizeof(char *))),
				       .seconds = 10 };
	struct error err = { .rank = -1 };
	int code;

	arguments_read(&table, argc, argv, &arguments);
	code = reduce_all(&arguments, &err);
	if (err.code)
		error_print(&err, "hang_reduce");
	free(arguments.input.paths);
	return code;
}
