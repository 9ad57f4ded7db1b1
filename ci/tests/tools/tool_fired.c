/* tool_fired.c: the *_perf program by whose name it is called (build/tests/fired/NAME_perf), which
 * also notes when a fault fired: past the diagnoser, for ci/faults/matrix.
 *
 * HANGAR_FAULT_LOG=FOLDER: the rank's supervisor appends "RANK NANOSECONDS COMM SEQ STATUS" (CLOCK_MONOTONIC,
 * of the first time; the communicator, and the number of the call on it; the exit status of the fault's command, -1:
 * none or it runs on) to FOLDER/fired.txt. */
#include <stdatomic.h>

#include "bench/perf_main.h"

static void write_line(int rank, const struct fault_record *record)
{
	const char *folder = getenv("HANGAR_FAULT_LOG");
	int32_t command = atomic_load(&record->command);
	char path[4096], line[80];
	int len = snprintf(line, sizeof(line), "%d %lu %u %lu %d\n", rank,
			   atomic_load(&record->fired_ns), atomic_load(&record->comm),
			   atomic_load(&record->seq), command > 0 ? command - 1 : -1),
	    fd;

	if (!folder)
		return;
	snprintf(path, sizeof(path), "%s/fired.txt", folder);
	fd = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0644);
	/* one write: supervisors share the file */
	if (fd < 0 || write(fd, line, (size_t)len) != len)
		fprintf(stderr, "HANGAR_FAULT_LOG: cannot write %s\n", path);
	if (fd >= 0)
		close(fd);
}

int main(int argc, char **argv)
{
	const struct perf_hooks hooks = { .fired = write_line };
	const char *slash = strrchr(argv[0], '/'), *name = slash ? slash + 1 : argv[0];

	for (int i = 0; collectives[i]; i++) {
		const struct collective *collective = collectives[i];
		size_t len = strlen(collective->name);

		if (strncmp(name, collective->name, len) == 0 && strcmp(name + len, "_perf") == 0)
			return perf_main_hooked(collective, &hooks, argc, argv);
	}
	fprintf(stderr, "%s: no collective has this name\n", name);
	return 2;
}
