/* observation.c: what was seen of a run's machines: its fields, one that has seen nothing, and as a
 * JSON file, and back. */
#include "machine/observation.h"

#include <jansson.h>

#include "base/json_value.h"

#define FORMAT	   2
#define MOST_HOSTS 65536
#define MOST_RANKS (1 << 20)

enum observed_type { OBSERVED_INT, OBSERVED_INT64, OBSERVED_REAL, OBSERVED_TEXT /* char[size] */ };

struct observed_field {
	const char *name;
	enum observed_type type;
	size_t offset, size;
};

/* A struct: its fields, and how large it is. */
struct observed_shape {
	const struct observed_field *fields;
	size_t n, size;
};

#define SIZE_OF(s, f) sizeof(((struct s *)NULL)->f)
#define FIELD(s, f, t)                                                                             \
	{                                                                                          \
		.name = #f, .type = t, .offset = offsetof(struct s, f), .size = SIZE_OF(s, f)      \
	}
#define INT(s, f)   FIELD(s, f, OBSERVED_INT)
#define INT64(s, f) FIELD(s, f, OBSERVED_INT64)
#define REAL(s, f)  FIELD(s, f, OBSERVED_REAL)
#define TEXT(s, f)  FIELD(s, f, OBSERVED_TEXT)
#define SHAPE(s)                                                                                   \
	static const struct observed_shape s##_shape = {                                           \
		.fields = s##_fields,                                                              \
		.n = sizeof(s##_fields) / sizeof(s##_fields[0]),                                   \
		.size = sizeof(struct s),                                                          \
	}

/* clang-format off */
static const struct observed_field observed_run_fields[] = {
	TEXT(observed_run, backend), TEXT(observed_run, collective), INT(observed_run, ranks),
	INT(observed_run, nodes), INT(observed_run, shared_gpu), TEXT(observed_run, gpu),
	INT(observed_run, links), INT(observed_run, links_found), TEXT(observed_run, hop),
	TEXT(observed_run, transport), REAL(observed_run, nic_gbps), 	REAL(observed_run, worst_percent), REAL(observed_run, good_percent),
	REAL(observed_run, median_percent),
	INT64(observed_run, worst_bytes), TEXT(observed_run, worst_algo),
	TEXT(observed_run, worst_proto), INT(observed_run, worst_channels),
	TEXT(observed_run, used_algo), TEXT(observed_run, used_proto),
	INT(observed_run, used_channels),
};
SHAPE(observed_run);

static const struct observed_field observed_nccl_fields[] = {
	INT(observed_nccl, logs), TEXT(observed_nccl, why),
	TEXT(observed_nccl, network), INT(observed_nccl, gdr), INT(observed_nccl, nvls), INT(observed_nccl, coll_channels),
	INT(observed_nccl, p2p), INT(observed_nccl, shm),
	INT(observed_nccl, net), INT(observed_nccl, far), INT(observed_nccl, far_gdr), INT(observed_nccl, far_pxn),
	TEXT(observed_nccl, shm_example), TEXT(observed_nccl, net_example),
	TEXT(observed_nccl, far_example),
};
SHAPE(observed_nccl);

static const struct observed_field observed_finding_fields[] = { TEXT(observed_finding, text) };
SHAPE(observed_finding);

static const struct observed_field observed_rank_fields[] = {
	INT(observed_rank, rank), INT(observed_rank, node), INT(observed_rank, pid),
	TEXT(observed_rank, bus), TEXT(observed_rank, cpus),
	INT64(observed_rank, cpu_ns), INT64(observed_rank, wait_ns),
};
SHAPE(observed_rank);
/* clang-format on */

/* All fields unseen. */
static void observed_clear(const struct observed_shape *shape, void *what)
{
	memset(what, 0, shape->size);
	for (size_t i = 0; i < shape->n; i++) {
		const struct observed_field *field = &shape->fields[i];
		char *at = (char *)what + field->offset;

		if (field->type == OBSERVED_INT)
			*(int *)(void *)at = -1;
		else if (field->type == OBSERVED_INT64)
			*(int64_t *)(void *)at = -1;
		else if (field->type == OBSERVED_REAL)
			*(double *)(void *)at = NAN;
	}
}

void observed_rank_clear(struct observed_rank *rank)
{
	observed_clear(&observed_rank_shape, rank);
}

void observation_init(struct observation *o, int nhosts, int nranks)
{
	*o = (struct observation){ .nhosts = nhosts, .nranks = nranks };
	observed_clear(&observed_run_shape, &o->run);
	observed_clear(&observed_nccl_shape, &o->nccl);
	o->before = must(calloc((size_t)nhosts + 1, sizeof(*o->before)));
	o->after = must(calloc((size_t)nhosts + 1, sizeof(*o->after)));
	o->ranks_before = must(calloc((size_t)nranks + 1, sizeof(*o->ranks_before)));
	o->ranks_after = must(calloc((size_t)nranks + 1, sizeof(*o->ranks_after)));
	for (int i = 0; i < nranks; i++) {
		observed_rank_clear(&o->ranks_before[i]);
		observed_rank_clear(&o->ranks_after[i]);
	}
}

void observation_release(struct observation *observation)
{
	for (int i = 0; i < observation->nhosts; i++) {
		reading_release(&observation->before[i]);
		reading_release(&observation->after[i]);
	}
	free(observation->before);
	free(observation->after);
	free(observation->ranks_before);
	free(observation->ranks_after);
	memset(observation, 0, sizeof(*observation));
}

/* ---- writing ------------------------------------------------------------------------------ */

/* NULL: not seen. */
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

	for (size_t i = 0; i < shape->n; i++) {
		const struct observed_field *field = &shape->fields[i];
		json_t *value = value_of(field, (const char *)what + field->offset);

		if (value)
			json_object_set_new(object, field->name, value);
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
	json_t *nccl = object_of(&observed_nccl_shape, &o->nccl), *top;
	int rc;

	json_object_set_new(nccl, "findings",
			    array_of(&observed_finding_shape, o->nccl.findings, o->nccl.nfindings));
	top = must(json_pack("{si so so so so so so}", "format", FORMAT, "run",
			     object_of(&observed_run_shape, &o->run), "nccl", nccl, "hosts_before",
			     hosts_array(o->before, o->nhosts), "hosts_after",
			     hosts_array(o->after, o->nhosts), "ranks_before",
			     array_of(&observed_rank_shape, o->ranks_before, o->nranks),
			     "ranks_after",
			     array_of(&observed_rank_shape, o->ranks_after, o->nranks)));
	rc = json_value_save(top, path, JSON_INDENT(1));
	json_decref(top);
	return rc;
}

/* ---- reading ------------------------------------------------------------------------------ */

static bool refuse(struct error *err, const char *where, const char *what)
{
	error_set(err, OUTCOME_USAGE, -EINVAL, "observation: %.60s: %s", where, what);
	return false;
}

static bool read_number(const struct observed_field *field, const json_t *value, char *at,
			struct error *err)
{
	json_int_t number = json_integer_value(value);

	if (field->type == OBSERVED_REAL) {
		*(double *)(void *)at = json_number_value(value);
		return json_is_number(value) || refuse(err, field->name, "must be a number");
	}
	if (!json_is_integer(value) || number < -1 ||
	    (field->type == OBSERVED_INT && number > INT_MAX))
		return refuse(err, field->name, "must be a whole number from 0 on");
	if (field->type == OBSERVED_INT)
		*(int *)(void *)at = (int)number;
	else
		*(int64_t *)(void *)at = number;
	return true;
}

static bool read_object(const struct observed_shape *shape, const json_t *object, void *what,
			struct error *err)
{
	bool read = true;

	observed_clear(shape, what);
	if (object && !json_is_object(object))
		return refuse(err, shape->fields[0].name, "is not inside an object");
	for (size_t i = 0; i < shape->n && read; i++) {
		const struct observed_field *field = &shape->fields[i];
		const json_t *value = json_object_get(object, field->name);
		char *at = (char *)what + field->offset;

		if (!value)
			continue;
		if (field->type != OBSERVED_TEXT)
			read = read_number(field, value, at, err);
		else if (!json_is_string(value) || json_string_length(value) >= field->size)
			read = refuse(err, field->name, "must be a text, and not so long");
		else
			make_printable(strcpy(at, json_string_value(value)));
	}
	return read;
}

/* At most `room` of them. */
static bool read_array(const struct observed_shape *shape, const json_t *object, const char *name,
		       void *items, int room, struct error *err)
{
	const json_t *array = json_object_get(object, name), *item;
	size_t i;

	if (array && (!json_is_array(array) || json_array_size(array) > (size_t)room))
		return refuse(err, name, "must be an array, and not so long");
	json_array_foreach(array, i,
			   item) if (!read_object(shape, item, (char *)items + i * shape->size,
						  err)) return false;
	return true;
}

static bool read_hosts(const json_t *top, const char *name, struct reading *hosts, int n,
		       struct error *err)
{
	const json_t *array = json_object_get(top, name);

	for (int i = 0; i < n; i++)
		if (reading_take(&hosts[i], json_array_get(array, (size_t)i)) < 0)
			return refuse(err, name, "is not a list of hosts");
	return true;
}

static bool read_all(struct observation *o, const json_t *top, struct error *err)
{
	const json_t *nccl = json_object_get(top, "nccl");
	bool read = read_object(&observed_run_shape, json_object_get(top, "run"), &o->run, err) &&
		    read_object(&observed_nccl_shape, nccl, &o->nccl, err) &&
		    read_array(&observed_finding_shape, nccl, "findings", o->nccl.findings,
			       OBSERVED_FINDINGS, err) &&
		    read_hosts(top, "hosts_before", o->before, o->nhosts, err) &&
		    read_hosts(top, "hosts_after", o->after, o->nhosts, err) &&
		    read_array(&observed_rank_shape, top, "ranks_before", o->ranks_before,
			       o->nranks, err) &&
		    read_array(&observed_rank_shape, top, "ranks_after", o->ranks_after, o->nranks,
			       err);

	o->nccl.nfindings = (int)json_array_size(json_object_get(nccl, "findings"));
	return read;
}

int observation_read(struct observation *o, const char *path, struct error *err)
{
	json_error_t where;
	json_t *top = json_load_file(path, JSON_REJECT_DUPLICATES, &where);
	size_t hosts = json_array_size(json_object_get(top, "hosts_before"));
	size_t ranks = json_array_size(json_object_get(top, "ranks_before"));
	bool read = false;

	if (!top && where.line < 1) { /* it could not be opened */
		error_set(err, OUTCOME_USAGE, -EINVAL, "%s", where.text);
	} else if (!top) {
		error_set(err, OUTCOME_USAGE, -EINVAL, "%.200s: line %d: %s", path, where.line,
			  where.text);
	} else if (json_integer_value(json_object_get(top, "format")) != FORMAT) {
		refuse(err, "format", "is not 2");
	} else if (hosts > MOST_HOSTS || ranks > MOST_RANKS ||
		   json_array_size(json_object_get(top, "hosts_after")) != hosts) {
		refuse(err, "hosts_after", "must be as many as hosts_before");
	} else {
		observation_init(o, (int)hosts, (int)ranks);
		read = read_all(o, top, err);
		if (!read)
			observation_release(o);
	}
	json_decref(top);
	return read ? 0 : -EINVAL;
}
