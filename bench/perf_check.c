/* perf_check.c: a command line against what is known before ranks are started. */
#include "perf_check.h"

#include <errno.h>
#include <stdio.h>
#include <unistd.h>

#include "measure/schedule.h"
#include "base/output.h"
#include "record/classes.h"

int check_expect(const struct options *options, struct error *err)
{
	char class[64], names[400];

	if (!options->expect)
		return 0;
	expect_class(options->expect, class, sizeof(class));
	if (!class[0] || class_known(class))
		return 0;
	return error_set(err, OUTCOME_USAGE, -EINVAL,
			 "--expect %.60s: no class '%.40s'; there are %s, and the outcomes",
			 options->expect, class, class_list(names, sizeof(names)));
}

/* Whoever makes the files finds the same. */
static int check_out(const struct options *options, struct error *err)
{
	char path[4200];

	if (!options->out)
		return 0;
	snprintf(path, sizeof(path), "%.4000s/rows.csv", options->out);
	if (access(path, F_OK) < 0)
		return 0;
	return error_set(err, OUTCOME_USAGE, -EEXIST,
			 "--out %.400s: holds a run already; name a folder that does not",
			 options->out);
}

/* Checks the schedule before any rank starts; what groups of ranks, or a traffic matrix, make of
 * it the ranks find out themselves. */
static int check_schedule(const struct program *program, int ranks, struct error *err)
{
	const struct collective *collective = program->collective;
	struct inject_place place = {
		.nranks = ranks,
		.steps = SCHEDULE_STEPS,
		.step_calls = collective_calls(collective, ranks),
		.default_step = SCHEDULE_FAULT_STEP,
	};
	int rc = 0;

	if (program->options->nfaults == 0 || program->options->split_kind != SPLIT_NONE)
		return 0;
	if (program->injector)
		rc = inject_check(program->injector, &place, err);
	if (rc == 0 && !collective->irregular)
		rc = schedule_check(program->options, collective, ranks, NULL, err);
	return rc;
}

int check_start(const struct program *program, int ranks, struct error *err)
{
	int rc = check_out(program->options, err);

	if (rc == 0)
		rc = check_schedule(program, ranks, err);
	return rc < 0 ? rc : output_room(err);
}
