/* observation_json.c: an observation as a JSON file, and back. */
#include "machine/observation_fields.h"

#include <jansson.h>

#include "base/json_value.h"

#define FORMAT	   2
#define MOST_HOSTS 65536
#define MOST_RANKS (1 << 20)

/* ---- writing ------------------------------------------------------------------------------ */

/* NULL: not seen, or no memory. */
static json_t *value_of(const struct observed_field *field, const char *at)
{
	int64_t number;

	if (field->type == OBSERVED_TEXT)
		return *at ? json_value_text(at) : NULL;
	if (field->type == OBSERVED_REAL)
		return isfinite(*(const double *)(const void *)at)
			       ? json_real(*(const double *)(const void *)at)
			       : NULL;
	number = field->type == OBSERVED_INT ? *(const int *)(const void *)at
					     : *(const int64_t *)(const void *)at;
	return number == -1 ? NULL : json_integer(number);
}

static json_t *object_of(const struct observed_shape *shape, const void *what)
{
	json_t *object = json_object();

	for (size_t i = 0; i < shape->n && object; i++) {
		const struct observed_field *field = &shape->fields[i];
		json_t *value = value_of(field, (const char *)what + field->offset);

		if (value && json_object_set_new(object, field->name, value) < 0) {
			json_decref(object);
			object = NULL;
		}
	}
	return object;
}

static json_t *array_of(const struct observed_shape *shape, const void *items, int n)
{
	json_t *array = json_array();

	for (int i = 0; i < n; i++)
		json_array_append_new(array, object_of(shape, (const char *)items +
								      (size_t)i * shape->size));
	return array;
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
	json_t *top = json_object(), *nccl = object_of(&observed_nccl_shape, &o->nccl);
	int rc;

	json_object_set_new(top, "format", json_integer(FORMAT));
	json_object_set_new(top, "run", object_of(&observed_run_shape, &o->run));
	json_object_set_new(nccl, "findings",
			    array_of(&observed_finding_shape, o->nccl.findings, o->nccl.nfindings));
	json_object_set_new(top, "nccl", nccl);
	json_object_set_new(top, "hosts_before", hosts_array(o->before, o->nhosts));
	json_object_set_new(top, "hosts_after", hosts_array(o->after, o->nhosts));
	json_object_set_new(top, "ranks_before",
			    array_of(&observed_rank_shape, o->ranks_before, o->nranks));
	json_object_set_new(top, "ranks_after",
			    array_of(&observed_rank_shape, o->ranks_after, o->nranks));
	rc = json_object_size(top) == 7 ? 0 : -ENOMEM; /* every set takes NULL for a failure */
	if (rc == 0)
		rc = json_value_save(top, path, JSON_INDENT(1));
	json_decref(top);
	return rc;
}

/* ---- reading ------------------------------------------------------------------------------ */

static int refuse(struct error *err, const char *where, const char *what)
{
	return error_set(err, OUTCOME_USAGE, -EINVAL, "observation: %.60s: %s", where, what);
}

static int read_number(const struct observed_field *field, const json_t *value, char *at,
		       struct error *err)
{
	json_int_t number = json_integer_value(value);

	if (field->type == OBSERVED_REAL) {
		if (!json_is_number(value))
			return refuse(err, field->name, "must be a number");
		*(double *)(void *)at = json_number_value(value);
		return 0;
	}
	if (!json_is_integer(value) || number < -1 ||
	    (field->type == OBSERVED_INT && number > INT_MAX))
		return refuse(err, field->name, "must be a whole number from 0 on");
	if (field->type == OBSERVED_INT)
		*(int *)(void *)at = (int)number;
	else
		*(int64_t *)(void *)at = number;
	return 0;
}

static int read_object(const struct observed_shape *shape, const json_t *object, void *what,
		       struct error *err)
{
	int rc = 0;

	observed_clear(shape, what);
	if (!json_is_object(object))
		return refuse(err, shape->fields[0].name, "is not inside an object");
	for (size_t i = 0; i < shape->n && rc == 0; i++) {
		const struct observed_field *field = &shape->fields[i];
		const json_t *value = json_object_get(object, field->name);
		char *at = (char *)what + field->offset;

		if (!value)
			continue;
		if (field->type != OBSERVED_TEXT)
			rc = read_number(field, value, at, err);
		else if (!json_is_string(value) || json_string_length(value) >= field->size)
			rc = refuse(err, field->name, "must be a text, and not so long");
		else
			make_printable(strcpy(at, json_string_value(value)));
	}
	return rc;
}

/* At most `room` of them. */
static int read_array(const struct observed_shape *shape, const json_t *object, const char *name,
		      void *items, size_t room, int *n, struct error *err)
{
	const json_t *array = json_object_get(object, name);
	int rc = 0;

	*n = 0;
	if (!array)
		return 0;
	if (!json_is_array(array) || json_array_size(array) > room)
		return refuse(err, name, "must be an array, and not so long");
	for (size_t i = 0; i < json_array_size(array) && rc == 0; i++) {
		rc = read_object(shape, json_array_get(array, i), (char *)items + i * shape->size,
				 err);
		*n = (int)i + 1;
	}
	return rc;
}

static int read_hosts(const json_t *top, const char *name, struct reading *hosts, int n,
		      struct error *err)
{
	for (int i = 0; i < n; i++)
		if (reading_take(&hosts[i], json_array_get(json_object_get(top, name), (size_t)i)) <
		    0)
			return refuse(err, name, "is not a list of hosts");
	return 0;
}

static int read_all(struct observation *o, const json_t *top, struct error *err)
{
	const json_t *nccl = json_object_get(top, "nccl"), *run = json_object_get(top, "run");
	int rc = 0, n;

	if (run)
		rc = read_object(&observed_run_shape, run, &o->run, err);
	if (rc == 0 && nccl)
		rc = read_object(&observed_nccl_shape, nccl, &o->nccl, err);
	if (rc == 0 && nccl)
		rc = read_array(&observed_finding_shape, nccl, "findings", o->nccl.findings,
				OBSERVED_FINDINGS, &o->nccl.nfindings, err);
	if (rc == 0)
		rc = read_hosts(top, "hosts_before", o->before, o->nhosts, err);
	if (rc == 0)
		rc = read_hosts(top, "hosts_after", o->after, o->nhosts, err);
	if (rc == 0)
		rc = read_array(&observed_rank_shape, top, "ranks_before", o->ranks_before,
				(size_t)o->nranks, &n, err);
	if (rc == 0)
		rc = read_array(&observed_rank_shape, top, "ranks_after", o->ranks_after,
				(size_t)o->nranks, &n, err);
	return rc;
}

int observation_read(struct observation *o, const char *path, struct error *err)
{
	json_error_t where;
	json_t *top = json_load_file(path, JSON_REJECT_DUPLICATES, &where);
	size_t hosts = json_array_size(json_object_get(top, "hosts_before"));
	size_t ranks = json_array_size(json_object_get(top, "ranks_before"));
	int rc;

	if (!top && where.line < 1) /* it could not be opened */
		return error_set(err, OUTCOME_USAGE, -EINVAL, "%s", where.text);
	if (!top)
		return error_set(err, OUTCOME_USAGE, -EINVAL, "%.200s: line %d: %s", path,
				 where.line, where.text);
	if (json_integer_value(json_object_get(top, "format")) != FORMAT)
		rc = refuse(err, "format", "is not 2");
	else if (hosts > MOST_HOSTS || ranks > MOST_RANKS ||
		 json_array_size(json_object_get(top, "hosts_after")) != hosts)
		rc = refuse(err, "hosts_after", "must be as many as hosts_before");
	else if (observation_init(o, (int)hosts, (int)ranks) < 0)
		rc = error_set(err, OUTCOME_INTERNAL, -ENOMEM, "out of memory");
	else if ((rc = read_all(o, top, err)) < 0)
		observation_release(o);
	json_decref(top);
	return rc;
}
