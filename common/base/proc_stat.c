/* proc_stat.c: fields 2, 3, 9 and 52 of /proc/PID/stat; /proc/PID/schedstat. */
#include "base/proc_stat.h"

#include "base/error.h"

/* The name, field 2, may hold anything, a parenthesis too. */
static bool parse(struct proc_stat *stat, char *text)
{
	char *open = strchr(text, '('), *close = strrchr(text, ')');
	const char *rest = close;
	int field = 2;

	if (!open || !close || close < open ||
	    sscanf(close, ") %c %*d %*d %*d %*d %*d %u", &stat->state, &stat->flags) != 2)
		return false;
	while (rest && field < 52) {
		rest = strchr(rest + 1, ' ');
		field++;
	}
	if (!rest || sscanf(rest, "%d", &stat->exit_code) != 1)
		return false;
	*close = '\0';
	snprintf(stat->name, sizeof(stat->name), "%s", open + 1);
	make_printable(stat->name); /* a program calls its threads what it likes */
	return true;
}

bool proc_stat_read(struct proc_stat *stat, pid_t pid, pid_t tid)
{
	char path[64], text[1024];
	size_t n;
	FILE *file;

	if (tid > 0)
		snprintf(path, sizeof(path), "/proc/%d/task/%d/stat", (int)pid, (int)tid);
	else
		snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	file = fopen(path, "re");
	if (!file)
		return false;
	n = fread(text, 1, sizeof(text) - 1, file);
	fclose(file);
	text[n] = '\0';
	return parse(stat, text);
}

bool proc_account_read(struct proc_account *account, pid_t pid)
{
	char path[40] = "/proc/thread-self/schedstat";
	FILE *file;
	int n;

	if (pid != 0)
		snprintf(path, sizeof(path), "/proc/%d/schedstat", (int)pid);
	file = fopen(path, "re");
	if (!file)
		return false;
	n = fscanf(file, "%" SCNu64 " %" SCNu64, &account->ran_ns, &account->waited_ns);
	fclose(file);
	return n == 2;
}

/* Returns true if a line of that file of the cgroup begins so. */
static bool says_frozen(const char *root, const char *group, const char *name, const char *frozen)
{
	char path[PATH_MAX], word[64];
	bool is = false;
	FILE *file;

	snprintf(path, sizeof(path), "/sys/fs/cgroup%s%s/%s", root, group, name);
	file = fopen(path, "re");
	while (file && !is && fgets(word, sizeof(word), file))
		is = strncmp(word, frozen, strlen(frozen)) == 0;
	if (file)
		fclose(file);
	return is;
}

static bool is_frozen(pid_t pid)
{
	char path[40], line[PATH_MAX];
	bool frozen = false;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/cgroup", (int)pid);
	file = fopen(path, "re");
	while (file && !frozen && fgets(line, sizeof(line), file)) {
		char *group = strchr(line, '/'), *v1 = strstr(line, ":freezer:");

		line[strcspn(line, "\n")] = '\0';
		if (group && v1)
			frozen = says_frozen("/freezer", group, "freezer.state", "FROZEN");
		else if (group && strncmp(line, "0::", 3) == 0)
			frozen = says_frozen("", group, "cgroup.events", "frozen 1");
	}
	if (file)
		fclose(file);
	return frozen;
}

enum proc_hold proc_hold_read(pid_t pid)
{
	struct proc_stat stat;

	if (!proc_stat_read(&stat, pid, 0) || stat.state == 'Z' || stat.state == 'X')
		return HOLD_GONE;
	return stat.state == 'T'   ? HOLD_STOPPED
	       : stat.state == 't' ? HOLD_TRACED
	       : is_frozen(pid)	   ? HOLD_FROZEN
				   : HOLD_NONE;
}
