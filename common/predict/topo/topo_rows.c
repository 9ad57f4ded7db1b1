/* topo_rows.c: rows that were measured, as against.py reads them. */
#include "topo/topo.h"

#include <fcntl.h>
#include <jansson.h>
#include <sys/wait.h>

#include "base/built_in.h"

BUILT_IN(against_py, "common/predict/command/against.py");

/* Starts python3 on the file, and returns the reading end of its standard output. */
static int start(const char *path, pid_t *pid, struct error *err)
{
	int ends[2];

	if (pipe2(ends, O_CLOEXEC) != 0)
		return error_set(err, OUTCOME_INTERNAL, -errno, "pipe");
	*pid = fork();
	if (*pid == 0) {
		dup2(ends[1], STDOUT_FILENO);
		execlp("python3", "python3", "-I", "-B", "-c", against_py, "--rows", path, NULL);
		_exit(127);
	}
	close(ends[1]);
	if (*pid > 0)
		return ends[0];
	close(ends[0]);
	return error_set(err, OUTCOME_INTERNAL, -errno, "fork");
}

int topo_rows_read(const char *path, json_t **rows, struct error *err)
{
	const char *wrong;
	int from, status = 0;
	pid_t pid = 0;

	from = start(path, &pid, err);
	if (from < 0)
		return from;
	*rows = json_loadfd(from, 0, NULL);
	close(from);
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	if (WIFEXITED(status) && WEXITSTATUS(status) == 127)
		return error_set(err, OUTCOME_UNSUPPORTED, -ENOENT,
				 "rows are read by python3, which is not on PATH");
	wrong = json_string_value(json_object_get(*rows, "wrong"));
	if (*rows && !wrong)
		return 0;
	error_usage(err, "%.200s: %.200s", path, wrong ? wrong : "it cannot be read");
	json_decref(*rows);
	return -EINVAL;
}
