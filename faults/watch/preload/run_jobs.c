/* run_jobs.c: which monitor a rank belongs to, and the messages between those of a host. */
#include "preload/run_jobs.h"

#include "base/error.h"
#include "base/proc_stat.h"

#define GENERATIONS 16

static bool is_same(const struct run_job *a, const struct run_job *b)
{
	return strcmp(a->name, b->name) == 0 || (a->agent > 0 && a->agent == b->agent);
}

/* Returns true if a rank here has started the process. */
static bool is_descendant(const struct monitor *m, pid_t pid)
{
	struct proc_stat stat;

	for (int i = 0; i < GENERATIONS && pid > 1 && proc_stat_read(&stat, pid, 0); i++) {
		pid = stat.parent;
		for (size_t k = 0; k < m->nranks; k++)
			if (m->ranks[k].view.pid == pid)
				return true;
	}
	return false;
}

int run_jobs_place(struct run_jobs *jobs, const struct monitor *m, const struct run_job *job)
{
	if (!job->name[0])
		return JOB_HERE;
	for (size_t i = 0; i < jobs->n; i++)
		if (!jobs->others[i].leaving && is_same(&jobs->others[i].job, job))
			return (int)i;
	if (m->nranks == 0 || !jobs->own.name[0])
		jobs->own = *job;
	return is_same(&jobs->own, job) || is_descendant(m, job->pid) ? JOB_HERE : JOB_UNSEEN;
}

int run_jobs_next(const struct run_jobs *jobs)
{
	for (int nth = 2; nth <= LINK_JOBS; nth++) {
		bool taken = false;

		for (size_t i = 0; i < jobs->n; i++)
			taken |= jobs->others[i].nth == nth;
		if (!taken)
			return nth;
	}
	return 0;
}

int run_jobs_add(struct run_jobs *jobs, const struct run_job *job, int nth, int fd)
{
	size_t bytes = (jobs->n + 1) * sizeof(*jobs->others);
	struct run_other *other;

	jobs->others = must(realloc(jobs->others, bytes));
	other = &jobs->others[jobs->n];
	*other = (struct run_other){ .job = *job, .nth = nth };
	link_init(&other->link, fd);
	return (int)jobs->n++;
}

static void forget(struct run_jobs *jobs, size_t i)
{
	link_release(&jobs->others[i].link);
	memmove(&jobs->others[i], &jobs->others[i + 1], (--jobs->n - i) * sizeof(*jobs->others));
}

bool run_jobs_pass(struct run_jobs *jobs, int which, int fd)
{
	struct run_other *other = &jobs->others[which];

	if (link_send(&other->link, MESSAGE_HELLO, NULL, 0, fd) < 0) {
		forget(jobs, (size_t)which);
		return false;
	}
	other->passed++;
	return true;
}

void run_jobs_tell(struct run_jobs *jobs)
{
	for (size_t i = 0; i < jobs->n; i++)
		link_send(&jobs->others[i].link, MESSAGE_SIGNAL, NULL, 0, -1);
}

/* Agrees to the other's end where it offers that, and has all that was handed over. Returns true if it is gone. */
static bool is_gone(struct run_other *other)
{
	struct link_message message;
	int rc;

	while ((rc = link_receive(&other->link, &message)) == 1)
		if (message.bytes == sizeof(other->passed) &&
		    memcmp(message.payload, &other->passed, sizeof(other->passed)) == 0)
			other->leaving = link_send(&other->link, MESSAGE_END, NULL, 0, -1) == 0;
	return rc < 0;
}

static void take(struct run_jobs *jobs, struct monitor *m, uint32_t type)
{
	if (type == MESSAGE_HELLO && jobs->up.passed_fd >= 0) {
		monitor_admit(m, jobs->up.passed_fd);
		jobs->up.passed_fd = -1;
		jobs->taken++;
	}
	if (type == MESSAGE_SIGNAL)
		monitor_tell(m, -1);
	jobs->agreed |= type == MESSAGE_END;
}

void run_jobs_look(struct run_jobs *jobs, struct monitor *m)
{
	struct link_message message;
	int rc = 0;

	for (size_t i = jobs->n; i-- > 0;)
		if (is_gone(&jobs->others[i]))
			forget(jobs, i);
	while (jobs->second && (rc = link_receive(&jobs->up, &message)) == 1)
		take(jobs, m, message.type);
	jobs->agreed |= rc < 0;
}

bool run_jobs_may_end(struct run_jobs *jobs)
{
	if (jobs->second && !jobs->agreed && jobs->offered != jobs->taken + 1) {
		link_send(&jobs->up, MESSAGE_END, &jobs->taken, sizeof(jobs->taken), -1);
		jobs->offered = jobs->taken + 1;
	}
	return jobs->second ? jobs->agreed : jobs->n == 0;
}

size_t run_jobs_fds(const struct run_jobs *jobs, struct pollfd *fds, size_t room)
{
	size_t n = 0;

	for (size_t i = 0; i < jobs->n && n < room; i++)
		fds[n++] = (struct pollfd){ .fd = jobs->others[i].link.fd, .events = POLLIN };
	if (jobs->second && !jobs->agreed && n < room)
		fds[n++] = (struct pollfd){ .fd = jobs->up.fd, .events = POLLIN };
	return n;
}

void run_jobs_release(struct run_jobs *jobs)
{
	while (jobs->n > 0)
		forget(jobs, jobs->n - 1);
	free(jobs->others);
	jobs->others = NULL;
	if (jobs->second)
		link_release(&jobs->up);
}

static char *join(const char *path, size_t n, const char *between, const char *job,
		  const char *rest)
{
	char *text = NULL;

	if (asprintf(&text, "%.*s%sjob-%s%s", (int)n, path, between, job, rest) < 0)
		text = NULL;
	text = must(text);
	for (char *p = text + n; *p; p++) /* scp takes HOST:PATH */
		*p = *p == ':' ? '-' : *p;
	return text;
}

char *run_jobs_file(const char *path, const char *job)
{
	const char *slash = path ? strrchr(path, '/') : NULL,
		   *dot = path ? strrchr(slash ? slash : path, '.') : NULL;
	size_t n = path ? strlen(path) : 0;

	if (dot && dot > (slash ? slash + 1 : path))
		n = (size_t)(dot - path);
	return path ? join(path, n, ".", job, path + n) : NULL;
}

char *run_jobs_folder(const char *path, const char *job)
{
	return path && *path ? join(path, strlen(path), "/", job, "") : NULL;
}
