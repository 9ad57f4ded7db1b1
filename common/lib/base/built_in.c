/* built_in.c: lines of texts that are built into the programs. */
#include "base/built_in.h"

bool built_in_line(const char *text, const char *name, int number, char *to, size_t len)
{
	size_t n = strlen(name);
	const char *at = text;

	*to = '\0';
	while ((at = strstr(at, "\n\n")) &&
	       (strncmp(at + 2, name, n) != 0 || !strchr(" \n", at[2 + n])))
		at += 2;
	if (!at)
		return false;
	for (at += 2 + n; number > 0 && *at; number--)
		at += strcspn(at, "\n") + 1;
	snprintf(to, len, "%.*s", (int)strcspn(at, "\n"), at);
	return true;
}
