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
