/* proc_stat.c: fields 2 to 4, 9, 10, 22 and 52 of /proc/PID/stat; /proc/PID/schedstat. */
#include "base/proc_stat.h"

#include "base/error.h"
#include "base/file.h"

/* Field 2, the name, may hold any byte, also a parenthesis. */
static bool parse(struct proc_stat *stat, char *text)
{
	char *open = strchr(text, '('), *close = strrchr(text, ')');
	const char *rest = close;
	int field = 2;

	if (!open || !close || close < open ||
	    sscanf(close,
		   ") %c %d %*d %*d %*d %*d %u %lu %*u %*u %*u %*u %*u %*d %*d %*d %*d %*d %*d %lu",
		   &stat->state, &stat->parent, &stat->flags, &stat->faults, &stat->started) != 5)
		return false;
	while (rest && field < 52) {
		rest = strchr(rest + 1, ' ');
		field++;
	}
	if (!rest || sscanf(rest, "%d", &stat->exit_code) != 1)
		return false;
	*close = '\0';
	snprintf(stat->name, sizeof(stat->name), "%s", open + 1);
	make_printable(stat->name); /* a program can give a thread any name */
	return true;
}

bool proc_stat_read(struct proc_stat *stat, pid_t pid, pid_t tid)
{
	char text[1024];
	int n = tid > 0 ? file_text("", text, sizeof(text), "/proc/%d/task/%d/stat", (int)pid,
				    (int)tid)
			: file_text("", text, sizeof(text), "/proc/%d/stat", (int)pid);

	return n > 0 && parse(stat, text);
}

bool proc_account_read(struct proc_account *account, pid_t pid)
{
	char text[128];
	int n = pid ? file_text("", text, sizeof(text), "/proc/%d/schedstat", (int)pid)
		    : file_text("", text, sizeof(text), "/proc/thread-self/schedstat");

	return n > 0 && sscanf(text, "%lu %lu", &account->ran_ns, &account->waited_ns) == 2;
}

static uint64_t moved_of(pid_t pid)
{
	uint64_t reads = 0, writes = 0;
	struct proc_stat stat;
	char text[1024];

	if (file_text("", text, sizeof(text), "/proc/%d/io", (int)pid) > 0)
		sscanf(text, "rchar: %lu wchar: %lu", &reads, &writes);
	return reads + writes + (proc_stat_read(&stat, pid, 0) ? 4096 * stat.faults : 0);
}

/* The same of its children; `left`: so many processes more. */
static uint64_t children_moved(pid_t pid, int generations, int *left)
{
	char text[1024], *at = text, *end;
	uint64_t moved = 0;

	if (file_text("", text, sizeof(text), "/proc/%d/task/%d/children", (int)pid, (int)pid) <= 0)
		return 0;
	for (long child; *left > 0 && (child = strtol(at, &end, 10)) > 0 && *end == ' '; at = end) {
		*left -= 1;
		moved += moved_of((pid_t)child);
		if (generations > 1)
			moved += children_moved((pid_t)child, generations - 1, left);
	}
	return moved;
}

uint64_t proc_moved_read(pid_t pid)
{
	int left = 32;

	return moved_of(pid) + children_moved(pid, 3, &left);
}

static bool is_frozen(pid_t pid)
{
	char text[8 << 10], *rest = text, *line, state[256];
	bool frozen = false;

	file_text("", text, sizeof(text), "/proc/%d/cgroup", (int)pid);
	while (!frozen && (line = strsep(&rest, "\n"))) {
		const char *group = strchr(line, '/');

		if (group && strstr(line, ":freezer:"))
			frozen = file_text("", state, sizeof(state),
					   "/sys/fs/cgroup/freezer%s/freezer.state", group) > 0 &&
				 strcmp(state, "FROZEN") == 0;
		else if (group && strncmp(line, "0::", 3) == 0)
			frozen = (file_text("", state, sizeof(state),
					    "/sys/fs/cgroup%s/cgroup.events", group) > 0 ||
				  file_text("", state, sizeof(state),
					    "/sys/fs/cgroup/unified%s/cgroup.events", group) > 0) &&
				 strstr(state, "frozen 1");
	}
	return frozen;
}

bool proc_gone(pid_t pid)
{
	return pid > 0 && kill(pid, 0) < 0 && errno == ESRCH;
}

pid_t proc_tracer(pid_t pid)
{
	char text[1024];
	const char *line;

	if (file_text("", text, sizeof(text), "/proc/%d/status", (int)pid) <= 0)
		return 0;
	line = strstr(text, "\nTracerPid:");
	return line ? atoi(line + strlen("\nTracerPid:")) : 0;
}

enum proc_hold proc_hold_read(pid_t pid)
{
	struct proc_stat stat;

	if (!proc_stat_read(&stat, pid, 0))
		return proc_gone(pid) ? HOLD_GONE : HOLD_NONE;
	if (stat.state == 'Z' || stat.state == 'X')
		return HOLD_GONE;
	return stat.state == 'T'   ? HOLD_STOPPED
	       : stat.state == 't' ? HOLD_TRACED
	       : is_frozen(pid)	   ? HOLD_FROZEN
				   : HOLD_NONE;
}

const char *proc_hold_hint(enum proc_hold hold)
{
	static const char *const hints[HOLD_GONE + 1] = {
		[HOLD_STOPPED] = "is stopped: continue it (kill -CONT)",
		[HOLD_TRACED] = "is held by a debugger: detach that",
		[HOLD_FROZEN] =
			"is frozen with its cgroup: thaw that (cgroup.freeze, docker unpause)",
	};

	return hints[hold];
}

/* PF_* of the kernel's sched.h: it exits; a thread writes a core file; a signal ended it. */
enum { EXITING = 0x4, DUMPED_BY_ANOTHER = 0x8, DUMPS = 0x200, SIGNALLED = 0x400 };

bool exit_seen(pid_t pid, bool *again, int *wait_status)
{
	struct proc_stat stat;

	if (!proc_stat_read(&stat, pid, 0))
		return false;
	if (!(stat.flags & EXITING)) {
		*wait_status = stat.exit_code; /* only the signal so far */
		return stat.exit_code != 0 &&
		       (stat.flags & (DUMPED_BY_ANOTHER | DUMPS | SIGNALLED));
	}
	if (stat.exit_code == 0 && !*again) {
		*again = true;
		return false;
	}
	*wait_status = stat.exit_code;
	return true;
}
