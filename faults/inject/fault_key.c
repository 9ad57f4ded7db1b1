/* fault_key.c: the keys that a fault takes, as its row of the table words them. */
#include "inject/fault_key.h"

#include "base/parse.h"

bool fault_key_next(const char **args, struct key *key)
{
	const char *at = *args;
	size_t len;

	if (!at || !*at)
		return false;
	len = strcspn(at, " ");
	key->name = at;
	key->name_len = strcspn(at, "= ");
	key->value = at + key->name_len + (at[key->name_len] == '=');
	key->value_len = (size_t)(at + len - key->value);
	*args = at + len + (at[len] == ' ');
	return true;
}

/* "NCCL_*" is the key of all names that begin so. */
static bool key_takes(const struct key *key, const char *name, size_t len)
{
	size_t head = key->name_len - 1;

	if (key->name[head] == '*')
		return len > head && memcmp(key->name, name, head) == 0;
	return key->name_len == len && memcmp(key->name, name, len) == 0;
}

bool fault_key_find(const char *args, const char *name, size_t len, struct key *key)
{
	while (fault_key_next(&args, key))
		if (key_takes(key, name, len))
			return true;
	return false;
}

/* Kinds of values: numbers have a range, texts are any but an empty one. */
static const struct kind {
	const char *name, *help;
	int64_t min, max;
	bool real;
} kinds[] = {
	{ "SECONDS", "seconds from 0 to 86400", 0, 86400, true },
	{ "STATUS", "an exit status from 0 to 255", 0, 255, false },
	{ "NUMBER", "a number", -1000000000, 1000000000, false },
	{ "ELEMENT", "an element's number, from 0", 0, INT64_MAX, false },
	{ "BIT", "a bit from 0 to 63", 0, 63, false },
	{ "VALUE", NULL, 0, 0, false },
	{ "PATH", NULL, 0, 0, false },
};

static const struct kind *kind_of(const struct key *key)
{
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (key->value_len == strlen(kinds[i].name) &&
		    memcmp(key->value, kinds[i].name, key->value_len) == 0)
			return &kinds[i];
	return NULL;
}

bool fault_key_has_kind(const struct key *key)
{
	return kind_of(key) != NULL;
}

/* Returns true if `value` is one of the words of "lock|read". */
static bool word_of(const struct key *key, const char *value)
{
	const char *at = key->value, *end = key->value + key->value_len;
	size_t len = strlen(value);

	while (at < end) {
		size_t word = strcspn(at, "| ");

		if (word == len && memcmp(at, value, len) == 0)
			return true;
		at += word + 1;
	}
	return false;
}

bool fault_key_allows(const struct key *key, const char *value)
{
	const struct kind *kind = kind_of(key);
	int64_t number;
	double real;

	if (!kind)
		return word_of(key, value);
	if (!kind->help)
		return *value != '\0';
	return kind->real ? parse_real(value, (double)kind->min, (double)kind->max, &real) == 0
			  : parse_int(value, kind->min, kind->max, &number) == 0;
}

void fault_key_help(const struct key *key, char *buf, size_t len)
{
	const struct kind *kind = kind_of(key);

	if (kind && kind->help)
		snprintf(buf, len, "%s", kind->help);
	else
		snprintf(buf, len, "%.*s", (int)key->value_len, key->value);
}
