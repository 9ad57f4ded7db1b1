/* fault_key.c: the keys that a fault takes, as its row of the table words them. */
#include "inject/fault_key.h"

#include <stdio.h>
#include <string.h>

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

bool fault_key_is(const struct key *key, const char *kind)
{
	return key->value_len == strlen(kind) && memcmp(key->value, kind, key->value_len) == 0;
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
	int64_t number;
	double seconds;

	if (fault_key_is(key, "SECONDS"))
		return parse_real(value, 0, 86400, &seconds) == 0;
	if (fault_key_is(key, "STATUS"))
		return parse_int(value, 0, 255, &number) == 0;
	if (fault_key_is(key, "NUMBER"))
		return parse_int(value, -1000000000, 1000000000, &number) == 0;
	if (fault_key_is(key, "VALUE") || fault_key_is(key, "PATH"))
		return *value != '\0';
	if (fault_key_is(key, "ELEMENT"))
		return parse_int(value, 0, INT64_MAX, &number) == 0;
	if (fault_key_is(key, "BIT"))
		return parse_int(value, 0, 63, &number) == 0;
	return word_of(key, value);
}

void fault_key_help(const struct key *key, char *buf, size_t len)
{
	if (fault_key_is(key, "SECONDS"))
		snprintf(buf, len, "seconds from 0 to 86400");
	else if (fault_key_is(key, "STATUS"))
		snprintf(buf, len, "an exit status from 0 to 255");
	else if (fault_key_is(key, "NUMBER"))
		snprintf(buf, len, "a number");
	else if (fault_key_is(key, "ELEMENT"))
		snprintf(buf, len, "an element's number, from 0");
	else if (fault_key_is(key, "BIT"))
		snprintf(buf, len, "a bit from 0 to 63");
	else
		snprintf(buf, len, "%.*s", (int)key->value_len, key->value);
}
