/* run_apart.c: where the lines of a monitor go that a rank has started. */
#include "preload/run_apart.h"

#include <argz.h>
#include <sys/syscall.h>

#include "base/error.h"
#include "base/file.h"
#include "base/proc_stat.h"
#include "diagnoser/folder.h"
#include "watch/monitor.h"

#define LINE_MOST 4096 /* a pipe takes so much at once */

static const struct monitor *watched;
static const struct run_settings *own;
static int log_fd = -1;
static pid_t launcher; /* of the newest rank: torchrun, a shell */

/* Opens it at the first line: a run without one leaves nothing behind. */
static void open_log(void)
{
	const char *folder = own->out && *own->out ? own->out : folder_runs();
	char path[PATH_MAX + 64];

	if (log_fd >= 0 || file_folders(folder) < 0)
		return;
	snprintf(path, sizeof(path), "%s/hangar-%s.log", folder, own->key);
	log_fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
}

/* Returns a copy of the rank's standard error, which shares its place in a file; a negative
 * errno. */
static int copy_of_error(pid_t pid)
{
	int process = (int)syscall(SYS_pidfd_open, pid, 0), fd = -ESRCH;
	char path[64];
	struct stat st;

	if (process >= 0) {
		fd = (int)syscall(SYS_pidfd_getfd, process, STDERR_FILENO, 0);
		close(process);
	}
	if (fd >= 0)
		return fd;
	/* without that right or system call: a file that is opened again has another place, and
	 * would be overwritten */
	snprintf(path, sizeof(path), "/proc/%d/fd/2", (int)pid);
	if (stat(path, &st) < 0 || S_ISREG(st.st_mode))
		return -EPERM;
	return open(path, O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
}

/* Returns true if it is written. A reader that does not read stops no monitor. */
static bool put_in(int fd, const char *text, size_t bytes)
{
	struct pollfd p = { .fd = fd, .events = POLLOUT };

	return poll(&p, 1, 100) == 1 && p.revents & POLLOUT &&
	       write(fd, text, bytes < LINE_MOST ? bytes : LINE_MOST) > 0;
}

static bool put_to(pid_t pid, const char *text, size_t bytes)
{
	int fd = copy_of_error(pid);
	bool done = fd >= 0 && put_in(fd, text, bytes);

	if (fd >= 0)
		close(fd);
	return done;
}

static ssize_t put(void *unused, const char *text, size_t bytes)
{
	bool done = false;

	(void)unused;
	open_log();
	if (log_fd >= 0 && write(log_fd, text, bytes) < 0)
		log_fd = -1;
	for (size_t i = 0; i < watched->nranks && !done; i++) {
		const struct rank_view *view = &watched->ranks[i].view;

		done = view->process < PROCESS_EXITED && put_to(view->pid, text, bytes);
	}
	if (!done && launcher > 1)
		put_to(launcher, text, bytes);
	return (ssize_t)bytes;
}

void run_apart_look(void)
{
	static size_t seen;
	struct proc_stat stat;

	if (watched->nranks > seen && proc_stat_read(&stat, watched->ranks[seen].view.pid, 0))
		launcher = stat.parent;
	seen = watched->nranks;
}

void run_apart(const struct monitor *monitor, const struct run_settings *settings)
{
	const cookie_io_functions_t functions = { .write = put };
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	FILE *lines = must(fopencookie(NULL, "w", functions));

	watched = monitor;
	own = settings;
	log_fd = -1; /* a further job's monitor has the first one's */
	setvbuf(lines, NULL, _IOLBF, LINE_MOST);
	stdout = stderr = lines;
	for (int fd = 0; null >= 0 && fd <= STDERR_FILENO; fd++)
		dup2(null, fd);
}

char **run_apart_command(int *argc)
{
	static char text[65536];
	char path[64], **words;
	size_t bytes = 0, n = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/cmdline", (int)getppid());
	f = fopen(path, "re");
	if (f) {
		bytes = fread(text, 1, sizeof(text) - 1, f);
		fclose(f);
	}
	if (bytes == 0)
		bytes = (size_t)snprintf(text, sizeof(text), "hangar_run") + 1;
	words = must(calloc(argz_count(text, bytes) + 2, sizeof(*words)));
	argz_extract(text, bytes, words);
	while (words[n])
		n++;
	*argc = (int)n;
	return words;
}

char **run_apart_options(int *argc, char **argv)
{
	const char *options = getenv("HANGAR_OPTIONS");
	char *text = NULL, **words;
	size_t bytes = 0, n = 0;

	if (options && argz_create_sep(options, ' ', &text, &bytes) != 0)
		bytes = 0;
	words = must(calloc((size_t)*argc + argz_count(text, bytes) + 1, sizeof(*words)));
	words[n++] = argv[0];
	for (int i = 1; i < *argc; i++)
		words[n++] = argv[i];
	for (char *word = NULL; (word = argz_next(text, bytes, word));)
		words[n++] = word;
	*argc = (int)n;
	return words;
}
