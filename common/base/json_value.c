/* json_value.c: jansson values from C values that JSON can't hold as they are. */
#include "base/json_value.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "report/sink.h"
#include "base/output.h"

json_t *json_value_text(const char *text)
{
	json_t *value;
	char *clean;

	if (!text)
		return json_null();
	value = json_string(text);
	if (value)
		return value;
	clean = strdup(text);
	if (!clean)
		return NULL;
	for (char *c = clean; *c; c++)
		if ((unsigned char)*c > 0x7f)
			*c = '?';
	value = json_string(clean);
	free(clean);
	return value;
}

json_t *json_value_real(double value)
{
	return isfinite(value) ? json_real(value) : json_null();
}

int json_value_save(const json_t *value, const char *path, size_t flags)
{
	FILE *f = fopen(path, "we");
	int failed, rc;

	if (!f)
		return -errno;
	failed = json_dumpf(value, f, flags | JSON_REAL_PRECISION(15));
	rc = written_close(f);
	return failed && rc == 0 ? -EIO : rc;
}

json_t *json_value_texts(char *const *texts, int n)
{
	json_t *list = json_array();

	for (int i = 0; list && i < n; i++) {
		if (json_array_append_new(list, json_value_text(texts[i])) < 0) {
			json_decref(list);
			return NULL;
		}
	}
	return list;
}

static int add_variable(json_t *to, const char *variable, const char *equals)
{
	char *name = strndup(variable, (size_t)(equals - variable));
	int rc = 0;

	if (!name)
		return -1;
	if (!sink_env_allowed(name))
		goto out;
	if (json_is_array(to))
		rc = json_array_append_new(to, json_value_text(variable));
	else
		rc = json_object_set_new(to, name, json_value_text(equals + 1));
out:
	free(name);
	return rc;
}

json_t *json_value_environment(bool list)
{
	json_t *to = list ? json_array() : json_object();

	for (char **variable = environ; to && variable && *variable; variable++) {
		const char *equals = strchr(*variable, '=');

		if (equals && add_variable(to, *variable, equals) < 0) {
			json_decref(to);
			return NULL;
		}
	}
	return to;
}

json_t *json_value_column(const struct column *column, const struct row *row)
{
	const void *field = (const char *)row + column->offset;

	switch (column->type) {
	case COLUMN_INT32:
		return json_integer(*(const int32_t *)field);
	case COLUMN_INT64:
		return json_integer(*(const int64_t *)field);
	case COLUMN_UINT64:
		return json_integer((json_int_t) * (const uint64_t *)field);
	case COLUMN_DOUBLE:
		return json_value_real(*(const double *)field);
	case COLUMN_STRING:
		return json_value_text(*(const char *const *)field);
	case COLUMN_TEXT:
		return json_value_text(field);
	}
	return json_null();
}
