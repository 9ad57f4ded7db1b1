/* tool_phase.c: sees the ranks of a run through their flight recorders, and signals one of its
 * processes in a phase of choice. */
#include <dirent.h>

#include "base/clock.h"
#include "record/record.h"
#include "process/watch.h"

#define MEMBERS	     64
#define POLL_SECONDS 20e-6

static const char usage[] =
	"usage: tool_phase TOKEN                           list the ranks of the run\n"
	"       tool_phase TOKEN PHASE SECONDS WHO SIGNAL  signal WHO when in PHASE\n"
	"\n"
	"TOKEN: the processes of the run have HANGAR_E2E=TOKEN in their environment\n"
	"PHASE: any, start, init, setup, warmup, timed, check, finalise\n"
	"WHO:   rank:R  supervisor:R  leader:R  launcher:R  leader  parent  member  launcher  "
	"guard\n"
	"SIGNAL: a number\n"
	"\n"
	"While it makes sure of the phase it stops the rank whose phase counts: R, or any. Exit 0\n"
	"with the signalled process id on standard output, 3 when the phase was not met.\n";

/* One rank of the run, in process ids of this namespace. */
struct member {
	pid_t supervisor, process;
	int rank;     /* as the launcher numbers it */
	pid_t leader; /* of this host, if this supervisor has forked it; 0: it has not */
	bool listens;
	const struct record_memory *memory;
};

struct run {
	const char *token;
	struct member members[MEMBERS];
	int n;
};

/* ---- /proc ---- */

static ssize_t read_file(pid_t pid, const char *name, char *buf, size_t len)
{
	char path[64];
	ssize_t n, have = 0;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -1;
	while ((n = read(fd, buf + have, len - 1 - (size_t)have)) > 0)
		have += n;
	close(fd);
	buf[have] = '\0';
	return have;
}

/* Fields 3 to 6 of /proc/PID/stat: state letter, ' ' when the process is gone; parent; group; session. */
static char read_stat(pid_t pid, int *parent, int *group, int *session)
{
	char buf[1024], state = ' ';
	const char *at;

	*parent = *group = *session = 0;
	if (read_file(pid, "stat", buf, sizeof(buf)) > 0 && (at = strrchr(buf, ')')))
		sscanf(at + 1, " %c %d %d %d", &state, parent, group, session);
	return state;
}

static char process_state(pid_t pid, pid_t *parent)
{
	int ppid, group, session;
	char state = read_stat(pid, &ppid, &group, &session);

	if (parent)
		*parent = ppid;
	return state;
}

/* A supervisor has other children than its rank, which alone makes a group of its own, and no session. */
static bool leads_group(pid_t pid)
{
	int parent, group, session;

	read_stat(pid, &parent, &group, &session);
	return group == pid && session != pid;
}

/* The value of an environment variable the process was started with, or NULL. */
static const char *variable(const char *environ_text, ssize_t len, const char *name)
{
	size_t n = strlen(name);

	for (const char *at = environ_text; at < environ_text + len; at += strlen(at) + 1)
		if (strncmp(at, name, n) == 0 && at[n] == '=')
			return at + n + 1;
	return NULL;
}

/* Does any line of /proc/PID/net/unix show a run's listening socket with this inode? */
static bool listens(pid_t pid, const char *inode)
{
	static char text[1 << 20];
	char *line, *rest;

	if (read_file(pid, "net/unix", text, sizeof(text)) <= 0)
		return false;
	for (line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
		char flags[16], number[32], path[128];

		if (sscanf(line, "%*s %*s %*s %15s %*s %*s %31s %127s", flags, number, path) == 3 &&
		    strcmp(flags, "00010000") == 0 && strcmp(number, inode) == 0 &&
		    strncmp(path, "@hangar-", 8) == 0)
			return true;
	}
	return false;
}

/* Maps the recorder that the process holds, and sees whether it listens as a monitor. */
static void open_descriptors(struct member *m)
{
	char path[64], link[512], target[256];
	struct dirent *entry;
	DIR *dir;

	snprintf(path, sizeof(path), "/proc/%d/fd", (int)m->supervisor);
	dir = opendir(path);
	while (dir && (entry = readdir(dir))) {
		ssize_t n;

		snprintf(link, sizeof(link), "%s/%s", path, entry->d_name);
		n = readlink(link, target, sizeof(target) - 1);
		if (n <= 0)
			continue;
		target[n] = '\0';
		if (!m->memory && strncmp(target, "/memfd:hangar-flight-recorder", 29) == 0) {
			int fd = open(link, O_RDONLY | O_CLOEXEC);
			struct stat st;
			void *map = MAP_FAILED;

			if (fd >= 0 && fstat(fd, &st) == 0 &&
			    st.st_size == (off_t)sizeof(*m->memory))
				map = mmap(NULL, sizeof(*m->memory), PROT_READ, MAP_SHARED, fd, 0);
			if (map != MAP_FAILED)
				m->memory = map;
			if (fd >= 0)
				close(fd);
		} else if (strncmp(target, "socket:[", 8) == 0) {
			target[n - 1] = '\0';
			m->listens |= listens(m->supervisor, target + 8);
		}
	}
	if (dir)
		closedir(dir);
}

/* ---- the run ---- */

static void forget(struct run *run)
{
	for (int i = 0; i < run->n; i++)
		munmap((void *)(uintptr_t)run->members[i].memory, sizeof(struct record_memory));
	run->n = 0;
}

/* Add the process if it belongs to the run and holds a recorder. */
static void consider(struct run *run, pid_t pid)
{
	static char text[1 << 18];
	ssize_t len = read_file(pid, "environ", text, sizeof(text));
	const char *token = len > 0 ? variable(text, len, "HANGAR_E2E") : NULL;
	const char *rank = token ? variable(text, len, "OMPI_COMM_WORLD_RANK") : NULL;
	struct member m = { .supervisor = pid };

	if (!rank || strcmp(token, run->token) || run->n == MEMBERS)
		return;
	m.rank = atoi(rank);
	open_descriptors(&m);
	if (m.memory || m.listens)
		run->members[run->n++] = m;
}

/* A supervisor's children inherit its recorder, but for the leader: those whose parent is one are no supervisors. */
static void join_ranks(struct run *run)
{
	int kept = 0;

	for (int i = 0; i < run->n; i++) {
		struct member *m = &run->members[i];
		bool is_child = false;
		pid_t parent;

		process_state(m->supervisor, &parent);
		for (int j = 0; j < run->n; j++) {
			if (run->members[j].supervisor != parent)
				continue;
			is_child = true;
			if (m->listens)
				run->members[j].leader = m->supervisor;
			else if (leads_group(m->supervisor))
				run->members[j].process = m->supervisor;
		}
		if (is_child && m->memory)
			munmap((void *)(uintptr_t)m->memory, sizeof(*m->memory));
		m->memory = is_child ? NULL : m->memory;
	}
	for (int i = 0; i < run->n; i++)
		if (run->members[i].memory)
			run->members[kept++] = run->members[i];
	run->n = kept;
}

static void find_run(struct run *run)
{
	DIR *proc = opendir("/proc");
	struct dirent *entry;

	forget(run);
	while (proc && (entry = readdir(proc)))
		if (atoi(entry->d_name) > 0)
			consider(run, atoi(entry->d_name));
	if (proc)
		closedir(proc);
	join_ranks(run);
}

static const char *phase_of(const struct member *m)
{
	return phase_name((enum phase)atomic_load(&m->memory->header.phase));
}

static int list(struct run *run)
{
	find_run(run);
	for (int i = 0; i < run->n; i++) {
		const struct member *m = &run->members[i];
		pid_t parent;

		process_state(m->supervisor, &parent);
		printf("rank=%d supervisor=%d pid=%d launcher=%d leader=%d phase=%s issued=%lu\n",
		       m->rank, (int)m->supervisor, (int)m->process, (int)parent, (int)m->leader,
		       phase_of(m), atomic_load(&m->memory->header.issued_ticket));
	}
	return run->n > 0 ? 0 : 3;
}

/* ---- the signal ---- */

/* Is there another supervisor, which can say that the leader is gone, and has each started its rank? */
static bool has_others(const struct run *run)
{
	for (int i = 0; i < run->n; i++)
		if (!run->members[i].process)
			return false;
	return run->n > 1;
}

/* The leader of this supervisor's host, whichever of the launcher's supervisors there has forked it; 0: none is known. */
static pid_t leader_of(const struct run *run, const struct member *m)
{
	pid_t launcher, other;

	process_state(m->supervisor, &launcher);
	for (int i = 0; i < run->n; i++) {
		process_state(run->members[i].supervisor, &other);
		if (other == launcher && run->members[i].leader)
			return run->members[i].leader;
	}
	return 0;
}

/* The process that is meant, or 0 while it is not known; *held is the member whose phase counts. */
static pid_t choose(const struct run *run, const char *who, const struct member **held)
{
	const char *colon = strchr(who, ':');
	pid_t parent, guard;

	for (int i = 0; i < run->n; i++) {
		const struct member *m = &run->members[i];

		*held = m;
		process_state(m->supervisor, &parent);
		process_state(parent, &guard);
		if (!m->process)
			continue;
		if (colon && atoi(colon + 1) == m->rank)
			return *who == 'r'     ? m->process
			       : who[1] == 'a' ? parent
			       : who[1] == 'e' ? leader_of(run, m)
					       : m->supervisor;
		if (strcmp(who, "leader") == 0 && m->leader && has_others(run))
			return m->leader;
		if ((strcmp(who, "parent") == 0 && m->leader && has_others(run)) ||
		    (strcmp(who, "member") == 0 && !m->leader && has_others(run)))
			return m->supervisor;
		if (strcmp(who, "launcher") == 0)
			return parent;
		if (strcmp(who, "guard") == 0)
			return guard;
	}
	return 0;
}

static bool in_phase(const struct member *m, const char *phase)
{
	return strcmp(phase, "any") == 0 ||
	       (strcmp(phase_of(m), phase) == 0 && atomic_load(&m->memory->header.outcome) < 0);
}

static bool gone(const struct member *m)
{
	char state = process_state(m->process, NULL);

	return state == ' ' || state == 'Z' || state == 'X';
}

/* Stop the rank, see that its phase is still the one, signal. False when it had moved on. */
static bool strike(const struct member *held, const char *phase, pid_t target, int number)
{
	bool still;

	kill(held->process, SIGSTOP);
	while (!gone(held) && process_state(held->process, NULL) != 'T')
		clock_sleep(POLL_SECONDS);
	still = !gone(held) && in_phase(held, phase) && kill(target, number) == 0;
	if (!still || target != held->process || number != SIGSTOP)
		kill(held->process, SIGCONT);
	return still;
}

/* Phases that tests make last are looked for without a core of their own. */
static double pause_of(const char *phase)
{
	bool lasts = strcmp(phase, "warmup") == 0 || strcmp(phase, "timed") == 0 ||
		     strcmp(phase, "check") == 0 || strcmp(phase, "any") == 0;

	return lasts ? 1e-3 : POLL_SECONDS;
}

static int hit(struct run *run, const char *phase, double seconds, const char *who, int number)
{
	double end = clock_seconds() + seconds;
	const struct member *held = NULL;
	pid_t target = 0;

	while (clock_seconds() < end) {
		if (!target) {
			find_run(run);
			target = choose(run, who, &held);
			clock_sleep(target ? 0 : 1e-3);
			continue;
		}
		if (in_phase(held, phase) && strike(held, phase, target, number)) {
			printf("%d\n", (int)target);
			return 0;
		}
		if (gone(held))
			break;
		clock_sleep(pause_of(phase));
	}
	return 3;
}

int main(int argc, char **argv)
{
	struct run run = { .token = argc > 1 ? argv[1] : NULL };
	int rc;

	if (argc != 2 && argc != 6) {
		fputs(usage, stderr);
		return 2;
	}
	rc = argc == 2 ? list(&run) : hit(&run, argv[2], atof(argv[3]), argv[4], atoi(argv[5]));
	forget(&run);
	return rc;
}
