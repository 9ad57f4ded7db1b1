/* observation.c: an observation of a run as a JSON file, and back. */
#include "machine/observation.h"

#include <jansson.h>

#include "base/file.h"
#include "base/json_value.h"

#define OBSERVATION_BYTES (256 << 20)

#define FORMAT	   3
#define MOST_HOSTS 65536

void observation_init(struct observation *o, int nhosts)
{
	*o = (struct observation){ .nhosts = nhosts };
	o->before = must(calloc((size_t)nhosts + 1, sizeof(*o->before)));
	o->after = must(calloc((size_t)nhosts + 1, sizeof(*o->after)));
}

void observation_release(struct observation *o)
{
	reading_release(&o->run);
	for (int i = 0; i < o->nhosts; i++) {
		reading_release(&o->before[i]);
		reading_release(&o->after[i]);
	}
	free(o->before);
	free(o->after);
	*o = (struct observation){ .nhosts = 0 };
}

static json_t *hosts_array(const struct reading *hosts, int n)
{
	json_t *array = json_array();

	for (int i = 0; i < n; i++)
		json_array_append_new(array, reading_json(&hosts[i]));
	return array;
}

int observation_write(const struct observation *o, const char *path)
{
	json_t *top =
		must(json_pack("{si so so so}", "format", FORMAT, "run", reading_json(&o->run),
			       "hosts_before", hosts_array(o->before, o->nhosts), "hosts_after",
			       hosts_array(o->after, o->nhosts)));
	int rc = json_value_save(top, path, JSON_INDENT(1));

	json_decref(top);
	return rc;
}

/* Returns what is wrong; NULL: nothing. */
static const char *read_all(struct observation *o, const json_t *top)
{
	const json_t *before = json_object_get(top, "hosts_before");
	const json_t *after = json_object_get(top, "hosts_after");
	size_t hosts = json_array_size(before);

	if (json_integer_value(json_object_get(top, "format")) != FORMAT)
		return "format: is not 3";
	if (hosts > MOST_HOSTS || json_array_size(after) != hosts)
		return "hosts_after: must be as many as hosts_before";
	observation_init(o, (int)hosts);
	if (reading_take(&o->run, json_object_get(top, "run")) < 0)
		return "run: is not what was seen of one";
	for (size_t i = 0; i < hosts; i++)
		if (reading_take(&o->before[i], json_array_get(before, i)) < 0 ||
		    reading_take(&o->after[i], json_array_get(after, i)) < 0)
			return "hosts: are not what was seen of them";
	return NULL;
}

int observation_read(struct observation *o, const char *path, struct error *err)
{
	json_error_t where;
	const char *wrong;
	FILE *in = file_open(path, OBSERVATION_BYTES, &wrong);
	json_t *top = in ? json_loadf(in, JSON_REJECT_DUPLICATES, &where) : NULL;

	if (in)
		fclose(in);
	else
		where.line = -1;
	wrong = top ? NULL : in ? where.text : wrong;
	*o = (struct observation){ .nhosts = 0 };
	if (top)
		wrong = read_all(o, top);
	if (wrong && !top && where.line > 0)
		error_usage(err, "%.200s: line %d: %s", path, where.line, wrong);
	else if (wrong)
		error_usage(err, "%.200s: %s", path, wrong);
	if (wrong)
		observation_release(o);
	json_decref(top);
	return wrong ? -EINVAL : 0;
}
