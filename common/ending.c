/* ending.c: flags and exit status of /proc/PID/stat. */
#include "ending.h"

#include <stdio.h>
#include <string.h>

#define EXITING 0x4 /* PF_EXITING of the kernel's sched.h */

/* Fields 9 and 52; the name, field 2, may hold anything, a parenthesis too. */
static bool parse(const char *stat, unsigned *flags, int *status)
{
	const char *rest = strrchr(stat, ')');
	int field = 2;

	if (!rest || sscanf(rest, ") %*c %*d %*d %*d %*d %*d %u", flags) != 1)
		return false;
	while (rest && field < 52) {
		rest = strchr(rest + 1, ' ');
		field++;
	}
	return rest && sscanf(rest, "%d", status) == 1;
}

bool ending_seen(pid_t pid, bool *again, int *wait_status)
{
	char path[40], text[1024];
	unsigned flags;
	size_t n;
	FILE *file;
	int status;

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	file = fopen(path, "re");
	if (!file)
		return false;
	n = fread(text, 1, sizeof(text) - 1, file);
	fclose(file);
	text[n] = '\0';
	if (!parse(text, &flags, &status) || !(flags & EXITING))
		return false;
	if (status == 0 && !*again) {
		*again = true;
		return false;
	}
	*wait_status = status;
	return true;
}
