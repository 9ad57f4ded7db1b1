/* perf_fired.c: the fault record of a rank and its supervisor; the diagnoser does not see it. */
#include "perf_rank.h"

#include <stdatomic.h>

#define LOOK_MS 20 /* the launcher ends all ranks soon after the first supervisor exits */

static size_t fired_fds(void *ctx, struct pollfd *fds, size_t room)
{
	struct fired_watch *watch = ctx;

	return watch->hooks.fds(watch->hooks.ctx, fds, room);
}

/* Returns the --fault that should have fired on this rank and has not; NULL: none. */
static const char *unfired(const struct program *program)
{
	int number =
		program->injector ? inject_unfired(program->injector, program->fault_record) : -1;

	return number < 0 ? NULL : program->injector->specs[number].text;
}

/* Calls the program's hook once: when a fault has fired, and its command has ended or the run has. */
static void log_fired(struct fired_watch *watch, bool ended)
{
	const struct program *program = watch->program;
	struct fault_record *record = program->fault_record;

	if (!program->hooks.fired || watch->done || atomic_load(&record->fired_ns) == 0 ||
	    (!ended && atomic_load(&record->command) == COMMAND_RUNS))
		return;
	program->hooks.fired(atomic_load(&program->memory->header.rank), record);
	watch->done = true;
}

/* Runs before the monitor's step, which may be the last. At the end of the run it reports faults
 * that did not fire at once, before the launcher stops forwarding output. */
static bool fired_step(void *ctx, const struct supervised *child, int *exit_code)
{
	struct fired_watch *watch = ctx;
	const struct program *program = watch->program;
	const char *missed;
	bool ended;

	log_fired(watch, false);
	ended = watch->hooks.step(watch->hooks.ctx, child, exit_code);
	if (ended)
		log_fired(watch, true);
	missed = ended ? unfired(program) : NULL;
	if (missed)
		fprintf(stderr, "%s: rank %d: --fault=%s did not fire: the run proves nothing\n",
			program->name, atomic_load(&program->memory->header.rank), missed);
	return ended;
}

static int fired_interval(void *ctx)
{
	struct fired_watch *watch = ctx;
	int ms = watch->hooks.interval_ms(watch->hooks.ctx);

	return watch->program->hooks.fired && !watch->done && ms > LOOK_MS ? LOOK_MS : ms;
}

static bool fired_ending(void *ctx)
{
	struct fired_watch *watch = ctx;

	return watch->hooks.ending && watch->hooks.ending(watch->hooks.ctx);
}

void fired_wrap(struct fired_watch *watch, struct supervisor_hooks *hooks,
		const struct program *program)
{
	*watch = (struct fired_watch){ *hooks, program, false };
	if (!program->fault_record)
		return;
	hooks->ctx = watch;
	hooks->fds = fired_fds;
	hooks->step = fired_step;
	hooks->interval_ms = fired_interval;
	hooks->ending = fired_ending;
}

int fired_exit_code(const struct program *program, int code)
{
	return program->options->expect && code == OUTCOME_OK && unfired(program) ? 1 : code;
}
