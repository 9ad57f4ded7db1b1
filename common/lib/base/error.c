/* error.c: the first error of a process. */
#include "base/error.h"

/* Replaces control characters: the text holds values that users typed, and stays one line. */
static void one_line(char *text)
{
	for (; *text; text++) {
		if (iscntrl((unsigned char)*text))
			*text = '?';
	}
}

int error_set_at(struct error *err, enum outcome outcome, int code, const char *file, int line,
		 const char *fmt, ...)
{
	va_list args;

	if (err->outcome != OUTCOME_OK)
		return code;
	/* an error with OUTCOME_OK would be lost */
	err->outcome = outcome == OUTCOME_OK ? OUTCOME_INTERNAL : outcome;
	err->code = code;
	err->file = file;
	err->line = line;
	va_start(args, fmt);
	vsnprintf(err->text, sizeof(err->text), fmt, args);
	va_end(args);
	one_line(err->text);
	return code;
}

/* One fprintf per line: standard error is unbuffered, and lines of several ranks must not mix. */
void error_print(const struct error *err, const char *program)
{
	switch (err->outcome) {
	case OUTCOME_OK:
		break;
	case OUTCOME_USAGE:
	case OUTCOME_UNSUPPORTED:
		fprintf(stderr, "%s: %s\n", program, err->text);
		break;
	default:
		if (err->rank < 0)
			fprintf(stderr, "%s: %s (%s:%d)\n", program, err->text, err->file,
				err->line);
		else
			fprintf(stderr, "%s: rank %d: %s (%s:%d)\n", program, err->rank, err->text,
				err->file, err->line);
	}
}

bool is_printable(const char *text)
{
	while (*text >= ' ' && *text <= '~')
		text++;
	return *text == '\0';
}

char *make_printable(char *text)
{
	for (char *c = text; *c; c++)
		if (*c < ' ' || *c > '~')
			*c = '?';
	return text;
}

void text_add(char *text, size_t size, const char *fmt, ...)
{
	size_t at = strlen(text);
	va_list args;

	va_start(args, fmt);
	vsnprintf(text + at, size - at, fmt, args);
	va_end(args);
}

void *must(void *memory)
{
	if (memory)
		return memory;
	fputs("out of memory\n", stderr);
	exit(OUTCOME_INTERNAL);
}

void *must_room(void *array, int n, size_t size)
{
	if (n & (n - 1) || (n > 0 && n < 8))
		return array;
	return must(realloc(array, (n < 8 ? 8 : 2 * (size_t)n) * size));
}
