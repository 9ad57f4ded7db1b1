/* sink_value.c: what the JSON sinks make of a column and of the environment. */

#include "base/json_value.h"
#include "report/sink.h"
#include "report/sink_shared.h"

json_t *sink_environment(bool list)
{
	json_t *to = list ? json_array() : json_object();

	for (char **variable = environ; variable && *variable; variable++) {
		size_t len = strcspn(*variable, "=");
		char *name = must(strndup(*variable, len));

		if (!(*variable)[len] || !sink_env_allowed(name))
			; /* none, or none of ours */
		else if (list)
			json_array_append_new(to, json_value_text(*variable));
		else
			json_object_set_new(to, name, json_value_text(*variable + len + 1));
		free(name);
	}
	return to;
}

json_t *sink_column_value(const struct column *column, const struct row *row)
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
	case COLUMN_WRONG:
		return json_value_text(wrong_kind_name(*(const enum wrong_kind *)field));
	}
	return json_null();
}
