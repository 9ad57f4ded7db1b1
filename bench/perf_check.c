/* perf_check.c: checks a command line before ranks are started. */
#include "perf_check.h"

#include "live/predict.h"
#include "schedule/schedule.h"
#include "measure/sweep.h"
#include "report/report.h"
#include "base/output.h"
#include "answer/classes.h"
#include "step_recipe.h"

#define COLLECTIVE_REFER(name) &name,
const struct collective *const collectives[] = { COLLECTIVES(COLLECTIVE_REFER) NULL };

int check_expect(const struct options *options, struct error *err)
{
	char class[64], names[640];

	if (!options->expect)
		return 0;
	expect_class(options->expect, class, sizeof(class));
	if (!class[0] || class_known(class))
		return 0;
	return error_set(err, OUTCOME_USAGE, -EINVAL,
			 "--expect %.60s: no such class; there are %s, and outcomes",
			 options->expect, class_list(names, sizeof(names)));
}

const char *program_schedule(const struct program *program)
{
	const struct injector *injector = program->injector;

	for (int i = 0; !program->options->schedule && injector && i < injector->nspecs; i++)
		if (injector->specs[i].fault->schedule)
			return injector->specs[i].fault->schedule;
	return program->options->schedule;
}

int check_schedule(const struct program *program, int ranks, const struct traffic *traffic,
		   struct schedule_setup *setup, struct error *err)
{
	int rc;

	*setup = (struct schedule_setup){
		.options = program->options,
		.collective = program->collective,
		.collectives = collectives,
		.traffic = program->collective->irregular ? traffic : NULL,
	};
	rc = schedule_setup(setup, program_schedule(program), ranks, err);
	return rc < 0 ? rc : schedule_check(setup, err);
}

static int check_faults(const struct program *program, int ranks, const struct traffic *traffic,
			struct error *err)
{
	struct schedule_setup setup;
	struct inject_place place = {
		.nranks = ranks,
		.schedule = &setup,
		.default_step = SCHEDULE_FAULT_STEP,
	};
	int rc;

	if (program->options->nfaults == 0 && program->collective != &step)
		return 0;
	if (program->collective == &step) {
		struct recipe_job job = { program->options, &setup.comms, traffic };

		setup = (struct schedule_setup){ .options = program->options,
						 .collective = program->collective };
		rc = recipe_comms(&setup.comms, program->options, ranks, err);
		if (rc == 0 && recipes_check(&job, err) < 0)
			rc = -EINVAL;
		recipe_place(&place, &job);
		return rc == 0 && program->injector ? inject_check(program->injector, &place, err)
						    : rc;
	}
	rc = check_schedule(program, ranks, traffic, &setup, err);
	return rc == 0 && program->injector ? inject_check(program->injector, &place, err) : rc;
}

/* Checks roots, number of ranks, traffic matrix and schedule; ranks check what groups change. */
static int check_calls(const struct program *program, int ranks, struct error *err)
{
	const struct options *o = program->options;
	struct traffic traffic = { .nranks = ranks };
	struct sweep sweep;
	int rc;

	if (o->split_kind != SPLIT_NONE)
		return 0;
	sweep_init(&sweep, o, program->collective, NULL, ranks);
	rc = sweep_check(&sweep, err);
	if (rc == 0 && program->collective->irregular)
		rc = traffic_init(&traffic, o, ranks, err);
	if (rc == 0)
		rc = check_faults(program, ranks, &traffic, err);
	traffic_release(&traffic);
	return rc;
}

int check_start(const struct program *program, int ranks, struct error *err)
{
	int rc = report_check(program->options, err);
	bool host;

	if (rc == 0)
		rc = predict_check_topology(program->options->topo, &host, err);
	if (rc == 0)
		rc = check_calls(program, ranks, err);
	return rc < 0 ? rc : output_room(err);
}

void warn_unwatched(const struct program *program)
{
	const struct launch *launch = program->launch;

	if (program->options->watch || !program->injector || launch->own || launch->rank > 0)
		return;
	fprintf(stderr, "hangar: --fault with --no-watch: a hang is not detected, and the run "
			"will not end by itself\n");
}
