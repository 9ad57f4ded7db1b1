/* task.c: children with a pipe and a deadline each, and a deadline for all. */
#include "process/task.h"

#include <sys/prctl.h>

#include "base/error.h"
#include "base/clock.h"
#include "process/child.h"

#define REAP_NS 50000000ull /* time to wait for a killed child */

static _Noreturn void be_child(const struct task *task, int fd, pid_t parent)
{
	sigset_t none;

	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	descriptors_close(fd); /* a hung child must not hold the run's folder, sockets or output */
	if (getppid() == parent)
		task->run(fd, task->arg);
	_exit(0); /* without a flush of the parent's streams */
}

static bool begin(struct task *task)
{
	pid_t parent = getpid();
	int ends[2];

	task->text = must(calloc(1, task->limit + 1));
	if (pipe2(ends, O_CLOEXEC) < 0)
		return false;
	task->pid = fork();
	if (task->pid == 0)
		be_child(task, ends[1], parent);
	close(ends[1]);
	if (task->pid < 0) {
		close(ends[0]);
		return false;
	}
	fcntl(ends[0], F_SETFL, O_NONBLOCK);
	task->fd = ends[0];
	task->started = clock_ns();
	return true;
}

static void finish(struct task *task, bool cut)
{
	uint64_t give_up = clock_ns() + REAP_NS;
	int status = 0;
	pid_t got;

	if (cut)
		kill(task->pid, SIGKILL);
	while ((got = waitpid(task->pid, &status, WNOHANG)) == 0 && clock_ns() < give_up)
		clock_sleep(0.0005);
	if (got == 0 && !cut) { /* its pipe is closed, and it still runs */
		finish(task, true);
		return;
	}
	close(task->fd);
	task->fd = -1;
	task->seconds = (double)(clock_ns() - task->started) * 1e-9;
	if (cut)
		task->end = TASK_CUT;
	else
		task->end = got == task->pid && status == 0 ? TASK_DONE : TASK_BROKEN;
}

/* Reads the available text. */
static void take_text(struct task *task)
{
	for (;;) {
		size_t room = task->limit - task->bytes;
		char spare;
		ssize_t n =
			read(task->fd, room ? task->text + task->bytes : &spare, room ? room : 1);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && errno == EAGAIN)
			return;
		if (n <= 0 || room == 0) {
			finish(task, n > 0);
			return;
		}
		task->bytes += (size_t)n;
	}
}

/* Sets the result of a task that has not started. */
static void reset(struct task *task)
{
	*task = (struct task){ .run = task->run, .arg = task->arg, .limit = task->limit, .fd = -1 };
}

int task_begin(struct task *task)
{
	reset(task);
	return begin(task) ? 0 : -EAGAIN;
}

void task_end(struct task *task)
{
	if (task->pid > 0 && task->fd >= 0)
		take_text(task);
	if (task->pid > 0 && task->fd >= 0)
		finish(task, true);
}

/* One round over the running tasks. Returns their number, 0 at the end. */
static size_t wait_round(struct task *tasks, size_t n, struct pollfd *fds, uint64_t each,
			 uint64_t deadline)
{
	uint64_t next = deadline;
	size_t running = 0;

	for (size_t i = 0; i < n; i++) {
		fds[i] = (struct pollfd){ .fd = tasks[i].fd, .events = POLLIN };
		running += tasks[i].fd >= 0;
		if (tasks[i].fd >= 0 && tasks[i].started + each < next)
			next = tasks[i].started + each;
	}
	if (running == 0)
		return 0;
	if (poll(fds, n, clock_ms_until(next)) < 0 && errno != EINTR)
		clock_sleep(0.001);
	for (size_t i = 0; i < n; i++) {
		struct task *task = &tasks[i];
		uint64_t now = clock_ns();

		if (task->fd >= 0 && fds[i].revents)
			take_text(task);
		if (task->fd >= 0 && (now >= deadline || now >= task->started + each))
			finish(task, true);
	}
	return running;
}

void tasks_run(struct task *tasks, size_t n, size_t parallel, double each, double all)
{
	uint64_t deadline = clock_ns() + (uint64_t)(all * 1e9);
	struct pollfd *fds = must(calloc(n + 1, sizeof(*fds)));
	size_t next = 0, running = 0;

	for (size_t i = 0; i < n; i++)
		reset(&tasks[i]);
	for (;;) {
		for (; next < n && running < parallel && clock_ns() < deadline; next++)
			running += begin(&tasks[next]);
		if (wait_round(tasks, next, fds, (uint64_t)(each * 1e9), deadline) == 0)
			break;
		running = 0;
		for (size_t i = 0; i < next; i++)
			running += tasks[i].fd >= 0;
	}
	free(fds);
}
