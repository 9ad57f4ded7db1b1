/* json_value.c: jansson values from C values that JSON cannot hold. */
#include "base/json_value.h"

#include "base/error.h"
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
	clean = must(strdup(text));
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
	char *text = must(json_dumps(value, flags | JSON_REAL_PRECISION(15)));
	int rc = output_whole(path, text, strlen(text));

	free(text);
	return rc;
}

json_t *json_value_texts(char *const *texts, int n)
{
	json_t *list = json_array();

	for (int i = 0; i < n; i++)
		json_array_append_new(list, json_value_text(texts[i]));
	return list;
}

void json_value_print(FILE *out, const json_t *value)
{
	json_dumpf(value, out, JSON_INDENT(1) | JSON_REAL_PRECISION(15));
	putc('\n', out);
}

json_t *json_value_lines(const char *text)
{
	json_t *list = json_array();

	for (size_t n; *text; text += n + (text[n] == '\n')) {
		char *line = strndup(text, n = strcspn(text, "\n"));

		json_array_append_new(list, json_value_text(line));
		free(line);
	}
	return list;
}
