/* command.c: a command of the user's, run at the call and on the host of a rank. */
#include <stdatomic.h>
#include <sys/file.h>
#include <sys/prctl.h>

#include "base/clock.h"
#include "inject/fault.h"
#include "process/child.h"
#include "process/leftovers.h"

#define LOOK_SECONDS 0.002
#define END_SECONDS  5.0 /* a process in a dead file system cannot be killed */
#define UNDO_SECONDS 60.0
#define NO_SHELL     127

/* Starts a shell in a session of its own. Its output goes to `out`. */
static pid_t shell(const char *command, int out)
{
	pid_t pid = fork();
	sigset_t none;

	if (pid != 0)
		return pid;
	setsid();
	for (int number = 1; number < NSIG; number++)
		signal(number, SIG_DFL);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	if (dup2(out, STDOUT_FILENO) >= 0 && dup2(out, STDERR_FILENO) >= 0)
		execl("/bin/sh", "sh", "-c", command, NULL);
	_exit(NO_SHELL);
}

/* Every process of the run holds a lock on its folder. */
static bool run_is_over(int folder)
{
	if (folder < 0)
		return true;
	if (flock(folder, LOCK_EX | LOCK_NB) < 0)
		return false;
	flock(folder, LOCK_UN);
	return true;
}

/* The first line of what the command printed, and its exit status or 128 + its signal. */
static void report(struct fault_record *record, int out, int status)
{
	ssize_t n = pread(out, record->command_text, sizeof(record->command_text) - 1, 0);

	record->command_text[n > 0 ? n : 0] = '\0';
	record->command_text[strcspn(record->command_text, "\n")] = '\0';
	atomic_store(&record->command,
		     1 + (WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status)));
}

/* Kills children until there are none, also those that left their parents (subreaper). */
static void end_children(void)
{
	const double give_up = clock_seconds() + END_SECONDS;
	char path[64];
	int pid;

	snprintf(path, sizeof(path), "/proc/self/task/%d/children", (int)getpid());
	while (waitpid(-1, NULL, WNOHANG) >= 0 && clock_seconds() < give_up) {
		FILE *list = fopen(path, "re");

		while (list && fscanf(list, "%d", &pid) == 1)
			kill(pid, SIGKILL);
		if (list)
			fclose(list);
		clock_sleep(LOOK_SECONDS);
	}
}

/* Outlives the rank: when the run is over on this host it ends what `run` started, and runs `undo`. */
static _Noreturn void keep(const struct fault_act *act)
{
	const char *undo = fault_arg(act->spec, "undo"), *run = act->machine->run;
	int folder, out, status;
	pid_t pid;

	child_detach();
	signal(SIGCHLD, SIG_DFL);
	prctl(PR_SET_NAME, "hangar-command");
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	folder = open(run ? run : "", O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	out = memfd_create("output", MFD_CLOEXEC);
	pid = shell(fault_arg(act->spec, "run"), out);
	if (pid < 0)
		atomic_store(&act->record->command, 1 + NO_SHELL);
	do {
		pid_t ended = waitpid(-1, &status, WNOHANG);

		if (ended == pid && pid > 0)
			report(act->record, out, status);
		clock_sleep(LOOK_SECONDS);
	} while (!run_is_over(folder));
	end_children();
	if (undo && (pid = shell(undo, out)) > 0)
		for (double n = UNDO_SECONDS; waitpid(pid, NULL, WNOHANG) == 0 && n > 0;
		     n -= LOOK_SECONDS)
			clock_sleep(LOOK_SECONDS);
	end_children();
	if (run)
		run_folder_remove(run);
	_exit(0);
}

static int run_command(const struct fault_act *act)
{
	struct fault_record *record = act->record;
	pid_t keeper;
	int status;

	if (!record)
		return -ENOMEM;
	atomic_store(&record->command, COMMAND_RUNS);
	keeper = fork();
	if (keeper == 0)
		keep(act);
	if (keeper < 0)
		return -errno;
	if (fault_says(act->spec, "how", "start"))
		return FAULT_PASS;
	while ((status = atomic_load(&record->command)) == COMMAND_RUNS) {
		if (waitpid(keeper, NULL, WNOHANG) != 0)
			return -EIO;
		clock_sleep(LOOK_SECONDS);
	}
	if (status == 1)
		return FAULT_PASS;
	/* a command says with status 77 that this machine cannot do it */
	return error_set(act->chain->backend->err,
			 status - 1 == OUTCOME_UNSUPPORTED ? OUTCOME_UNSUPPORTED : OUTCOME_USAGE,
			 -EIO, "fault command could not act: \"%.120s\" ended with status %d: %s",
			 fault_arg(act->spec, "run"), status - 1, record->command_text);
}

const struct fault fault_command = {
	.name = "command",
	.args = "run=VALUE undo=VALUE how=wait|start",
	.required = "run",
	FAULT_ANY_MOMENT,
	FAULT_ENDS("ok|hang|error|died|wrong-data|diverged"),
	.fire = run_command,
};
