/* parse.c: text to value, as a whole or not at all. */
#include "base/parse.h"

static bool digit(const char *p)
{
	return isdigit((unsigned char)*p);
}

/* Log2 of a size suffix, 0 without one. Moves *p behind it. */
static int take_suffix(const char **p)
{
	static const char letters[] = "KMGT";
	const char *found = **p ? strchr(letters, toupper((unsigned char)**p)) : NULL;

	if (!found)
		return 0;
	(*p)++;
	if (strncasecmp(*p, "iB", 2) == 0)
		*p += 2;
	else if (strncasecmp(*p, "B", 1) == 0)
		*p += 1;
	return 10 * (int)(found - letters + 1);
}

int parse_size(const char *text, size_t *value)
{
	long double size;
	char *rest;
	const char *end;

	/* strtold would also take blanks, signs, exponents and names such as "nan" */
	if (!digit(text + (*text == '.')))
		return -EINVAL;
	end = text + strspn(text, "0123456789.");
	size = strtold(text, &rest);
	if (rest != end || end[-1] == '.')
		return -EINVAL;
	size = ldexpl(size, take_suffix(&end));
	if (*end || size != floorl(size))
		return -EINVAL;
	if (size > (long double)SIZE_MAX)
		return -ERANGE;
	*value = (size_t)size;
	return 0;
}

int parse_int(const char *text, int64_t min, int64_t max, int64_t *value)
{
	const char *p = *text == '-' ? text + 1 : text;
	long long number;
	char *end;

	if (!digit(p) || (*p == '0' && (p[1] || p != text)))
		return -EINVAL;
	errno = 0;
	number = strtoll(text, &end, 10);
	if (*end)
		return -EINVAL;
	if (errno == ERANGE || number < min || number > max)
		return -ERANGE;
	*value = number;
	return 0;
}

int parse_real(const char *text, double min, double max, double *value)
{
	const char *p = *text == '-' ? text + 1 : text;
	double number;
	char *end;

	/* strtod would also take blanks, '+', hexadecimal and names such as "nan" */
	if (!digit(p + (*p == '.')) || text[strspn(text, "0123456789.eE+-")])
		return -EINVAL;
	errno = 0;
	number = strtod(text, &end);
	if (*end)
		return -EINVAL;
	if (!isfinite(number) || number < min || number > max)
		return -ERANGE;
	*value = number;
	return 0;
}

int parse_unsigned(const char *text, int base, uint64_t max, uint64_t *value)
{
	unsigned long long number;
	const char *digits;

	if ((base == 0 || base == 2) && strncasecmp(text, "0b", 2) == 0) {
		text += 2;
		base = 2;
	} else if ((base == 0 || base == 16) && strncasecmp(text, "0x", 2) == 0) {
		text += 2;
		base = 16;
	} else if (base == 0) {
		base = 10;
	}
	/* strtoull would also take blanks, a sign and a second prefix */
	digits = base == 2 ? "01" : base == 10 ? "0123456789" : "0123456789abcdefABCDEF";
	if (*text == '\0' || text[strspn(text, digits)])
		return -EINVAL;
	errno = 0;
	number = strtoull(text, NULL, base);
	if (errno == ERANGE || number > max)
		return -ERANGE;
	*value = number;
	return 0;
}

int names_find(const char *names, const char *name)
{
	for (int i = 0; *names; i++, names += strspn(names, " |")) {
		size_t n = strcspn(names, "* |");

		if (strncmp(names, name, n) == 0 && (names[n] == '*' || name[n] == '\0'))
			return i;
		names += strcspn(names, " |");
	}
	return -1;
}

char *text_trim(char *text)
{
	char *end = text + strlen(text);

	while (end > text && isspace((unsigned char)end[-1]))
		*--end = '\0';
	return text + strspn(text, " \t");
}

const char *environment_get(char *const *environment, const char *name)
{
	size_t n = strlen(name);

	for (; *environment; environment++)
		if (strncmp(*environment, name, n) == 0 && (*environment)[n] == '=')
			return *environment + n + 1;
	return NULL;
}

int environment_number(char *const *environment, const char *names, int missing)
{
	char name[64];
	int at = 0;

	for (; sscanf(names, "%63s%n", name, &at) == 1; names += at) {
		const char *text = environment_get(environment, name);
		char *end;
		long n = text ? strtol(text, &end, 10) : -1;

		if (text && end != text && n >= 0 && n < 1 << 30)
			return (int)n;
	}
	return missing;
}

char *number_text(double value, char *buf, size_t len)
{
	double size = fabs(value);

	snprintf(buf, len, size >= 999999.5 && size < 1e15 ? "%.0f" : "%.6g",
		 isnan(value) ? NAN : value);
	return buf;
}
