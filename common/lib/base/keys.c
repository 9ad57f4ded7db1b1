/* keys.c: kinds of values of a fault's keys. */
#include "base/keys.h"

#include "base/parse.h"

#define PACE_PERCENT 1000.0
#define PACE_SECONDS 60.0

/* Kinds of values: numbers have a range, texts are any but an empty one. */
static const struct key_kind {
	const char *name, *help;
	int64_t min, max;
	bool real;
} kinds[] = {
	{ "SECONDS", "seconds from 0 to 86400", 0, 86400, true },
	{ "STATUS", "an exit status from 0 to 255", 0, 255, false },
	{ "NUMBER", "a number", -1000000000, 1000000000, false },
	{ "ELEMENT", "an element's number, from 0", 0, INT64_MAX, false },
	{ "BIT", "a bit from 0 to 63", 0, 63, false },
	{ "COUNT", "a number from 1 to 1000000", 1, 1000000, false },
	{ "RANK", "a rank, from 0", 0, INT_MAX, false },
	{ "SHARE", "a share from 0 to 1", 0, 1, true },
	{ "MINUTE", "seconds from 0 to 60", 0, 60, true },
	{ "VALUE", NULL, 0, 0, false },
	{ "PATH", NULL, 0, 0, false },
};

const char *keys_values(const char *keys, const char *key, char *buf, size_t len)
{
	for (const char *at = keys; at && *at; at += strspn(at, " ")) {
		size_t name = strcspn(at, "*="), end = strcspn(at, " ");
		const char *value = at + strcspn(at, "=") + 1;

		if (strncmp(at, key, name) == 0 && (at[name] == '*') == (key[name] != '\0')) {
			snprintf(buf, len, "%.*s", (int)(at + end - value), value);
			return buf;
		}
		at += end;
	}
	return NULL;
}

const char *keys_refused(const char *values, const char *value)
{
	const struct key_kind *kind = kinds, *end = kinds + LENGTH(kinds);
	double real, share;
	int64_t number;

	if (strcmp(values, "PACE") == 0)
		return keys_pace(value, &share, &real) == 0 ? NULL
							    : "a share of the step to 1000%, or a "
							      "time to 60s: 10%, 5ms, 200us";
	while (kind < end && strcmp(kind->name, values) != 0)
		kind++;
	if (kind == end)
		return names_find(values, value) >= 0 ? NULL : values;
	if (!kind->help)
		return NULL;
	if (kind->real ? parse_real(value, (double)kind->min, (double)kind->max, &real) == 0
		       : parse_int(value, kind->min, kind->max, &number) == 0)
		return NULL;
	return kind->help;
}

int keys_pace(const char *text, double *share, double *seconds)
{
	static const struct {
		const char *unit;
		double factor;
	} units[] = { { "%", 0.01 }, { "us", 1e-6 }, { "ms", 1e-3 }, { "s", 1 }, { "", 1 } };
	const size_t len = strlen(text);
	char number[32];
	double value;

	for (size_t i = 0; i < LENGTH(units); i++) {
		size_t unit = strlen(units[i].unit);
		double most = i == 0 ? PACE_PERCENT : PACE_SECONDS / units[i].factor;

		if (len <= unit || len - unit >= sizeof(number) ||
		    strcmp(text + len - unit, units[i].unit) != 0)
			continue;
		snprintf(number, sizeof(number), "%.*s", (int)(len - unit), text);
		if (parse_real(number, 0, most, &value) < 0)
			return -EINVAL;
		*share = i == 0 ? value * units[i].factor : 0;
		*seconds = i == 0 ? 0 : value * units[i].factor;
		return 0;
	}
	return -EINVAL;
}
