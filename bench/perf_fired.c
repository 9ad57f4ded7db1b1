/* perf_fired.c: what a rank and its supervisor know of faults; the diagnoser never hears of it. */
#include "perf_fired.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define LOOK_MS 20 /* the launcher ends everybody soon after the first supervisor is gone */

static void write_line(const struct fired_log *log, uint64_t fired_ns)
{
	char path[4096], line[64];
	int len = snprintf(line, sizeof(line), "%d %" PRIu64 "\n",
			   atomic_load(&log->program->memory->header.rank), fired_ns);
	int fd;

	snprintf(path, sizeof(path), "%s/fired.txt", log->folder);
	fd = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0644);
	/* one write: supervisors share the file */
	if (fd < 0 || write(fd, line, (size_t)len) != len)
		fprintf(stderr, "hangar: HANGAR_FAULT_LOG: cannot write %s\n", path);
	if (fd >= 0)
		close(fd);
}

static size_t fired_fds(void *ctx, struct pollfd *fds, size_t room)
{
	struct fired_log *log = ctx;

	return log->hooks.fds(log->hooks.ctx, fds, room);
}

/* The --fault that was to fire on this rank and has not; NULL: none. */
static const char *unfired(const struct program *program)
{
	int number =
		program->injector ? inject_unfired(program->injector, program->fault_record) : -1;

	return number < 0 ? NULL : program->injector->specs[number].text;
}

/* The log before the monitor's step, which may be the last. What never fired is told at once when
 * that ends the run: the launcher soon listens to nobody. */
static bool fired_step(void *ctx, const struct supervised *child, int *exit_code)
{
	struct fired_log *log = ctx;
	const struct program *program = log->program;
	uint64_t fired_ns = atomic_load(&program->fault_record->fired_ns);
	const char *missed;
	bool ended;

	if (log->folder && !log->done && fired_ns > 0) {
		write_line(log, fired_ns);
		log->done = true;
	}
	ended = log->hooks.step(log->hooks.ctx, child, exit_code);
	missed = ended ? unfired(program) : NULL;
	if (missed)
		fprintf(stderr, "%s: rank %d: --fault=%s did not fire: it shows nothing\n",
			program->name, atomic_load(&program->memory->header.rank), missed);
	return ended;
}

static int fired_interval(void *ctx)
{
	struct fired_log *log = ctx;
	int ms = log->hooks.interval_ms(log->hooks.ctx);

	return log->folder && !log->done && ms > LOOK_MS ? LOOK_MS : ms;
}

void fired_wrap(struct fired_log *log, struct supervisor_hooks *hooks,
		const struct program *program)
{
	*log = (struct fired_log){ *hooks, program, getenv("HANGAR_FAULT_LOG"), false };
	if (!program->fault_record)
		return;
	hooks->ctx = log;
	hooks->fds = fired_fds;
	hooks->step = fired_step;
	hooks->interval_ms = fired_interval;
}

int fired_judge(const struct program *program, int code)
{
	return program->options->expect && code == OUTCOME_OK && unfired(program) ? 1 : code;
}
