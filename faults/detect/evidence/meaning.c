/* meaning.c: the reader of meanings.txt. */
#include "evidence/words.h"

#include "base/built_in.h"

BUILT_IN(meanings, "faults/detect/evidence/meanings.txt");

/* The rest of the line with the name; NULL: there is no such class. */
static const char *find(const char *name)
{
	size_t len = strlen(name);
	const char *at = meanings;

	while ((at = strstr(at, "\n\n"))) {
		at += 2;
		if (strncmp(at, name, len) == 0 && strchr(" \n", at[len]))
			return at + len;
	}
	return NULL;
}

/* The next line. Returns its end. */
static const char *take_line(const char *at, char *to, size_t len)
{
	size_t n = strcspn(++at, "\n");

	snprintf(to, len, "%.*s", (int)n, at);
	return at + n;
}

bool class_meaning(const char *name, struct class_meaning *m)
{
	const char *at = find(name);

	*m = (struct class_meaning){ .side = SIDE_NOT_SHOWN };
	if (!at)
		return false;
	for (enum fault_side i = SIDE_HOST; i <= SIDE_UNKNOWN; i++)
		if (at[0] == ' ' && strncmp(at + 1, side_name(i), strlen(side_name(i))) == 0)
			m->side = i;
	at = take_line(at + strcspn(at, "\n"), m->cause, sizeof(m->cause));
	at = take_line(at, m->fix, sizeof(m->fix));
	take_line(at, m->prevention, sizeof(m->prevention));
	return true;
}
