/* nccl_match.c: a small sscanf whose numbers can't overflow. */
#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "nccl_log/nccl_log_raw.h"

static const char *match_integer(const char *p, int64_t min, int64_t max, int64_t *value)
{
	char *end;

	if (!isdigit((unsigned char)p[*p == '-']))
		return NULL;
	errno = 0;
	*value = strtoll(p, &end, 10);
	return errno || *value < min || *value > max ? NULL : end;
}

static const char *match_hex(const char *p, uint64_t *value)
{
	char *end;

	if (strncmp(p, "(nil)", 5) == 0) {
		*value = 0;
		return p + 5;
	}
	if (p[0] == '0' && p[1] == 'x')
		p += 2;
	if (!isxdigit((unsigned char)*p))
		return NULL;
	errno = 0;
	*value = strtoull(p, &end, 16);
	return errno ? NULL : end;
}

static const char *match_real(const char *p, double *value)
{
	char *end;

	if (!isdigit((unsigned char)p[*p == '-']))
		return NULL;
	*value = strtod(p, &end);
	return isfinite(*value) ? end : NULL;
}

static const char *match_word(const char *p, char *word)
{
	size_t n = strcspn(p, " ,:)");

	if (n == 0 || n > 63)
		return NULL;
	memcpy(word, p, n);
	word[n] = '\0';
	return p + n;
}

static const char *match_one(const char *p, char kind, va_list *args)
{
	int64_t integer;
	int *small;

	switch (kind) {
	case 'd':
		small = va_arg(*args, int *);
		p = match_integer(p, INT_MIN, INT_MAX, &integer);
		if (p)
			*small = (int)integer;
		return p;
	case 'l':
		return match_integer(p, INT64_MIN, INT64_MAX, va_arg(*args, int64_t *));
	case 'x':
		return match_hex(p, va_arg(*args, uint64_t *));
	case 'f':
		return match_real(p, va_arg(*args, double *));
	case 'w':
		return match_word(p, va_arg(*args, char *));
	}
	return NULL;
}

const char *nccl_match(const char *text, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	for (; text && *format; format++) {
		if (*format == ' ')
			text += strspn(text, " ");
		else if (*format == '%')
			text = match_one(text, *++format, &args);
		else
			text = *text == *format ? text + 1 : NULL;
	}
	va_end(args);
	return text;
}
