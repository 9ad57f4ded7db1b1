/* meaning.c: the reader of meanings.txt. */
#include "diagnose/rule.h"

extern const char meanings[];
__asm__(".section .rodata\n"
	".global meanings\n"
	"meanings:\n"
	".incbin \"faults/detect/diagnose/meanings.txt\"\n"
	".byte 0\n"
	".previous\n");

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

void class_explain(struct diagnosis *d)
{
	bool call = strcmp(d->field, "kind") == 0 || strcmp(d->field, "call") == 0;
	const char *name = class_name(d->class, d->outcome), *at;

	if (call && d->class == CLASS_MISMATCH)
		name = "mismatch-call";
	if (d->outcome == OUTCOME_INTERNAL && d->class == CLASS_UNEXPLAINED)
		name = "not-known";
	at = find(name);
	if (!at)
		at = find(d->outcome == OUTCOME_OK ? "ok" : "reported");
	d->side = SIDE_NOT_SHOWN;
	for (enum fault_side i = SIDE_HOST; i <= SIDE_UNKNOWN; i++)
		if (at[0] == ' ' && strncmp(at + 1, side_name(i), strlen(side_name(i))) == 0)
			d->side = i;
	if (d->class == CLASS_INIT_MISSING && strcmp(d->ranks, "-") == 0)
		d->side = SIDE_UNKNOWN; /* a missing rank may be behind a link */
	at = take_line(at + strcspn(at, "\n"), d->cause, sizeof(d->cause));
	at = take_line(at, d->fix, sizeof(d->fix));
	take_line(at, d->prevention, sizeof(d->prevention));
}
