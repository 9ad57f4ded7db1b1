/* counters.c: lists of counters: what lies between two, and their JSON. */
#include "machine/reading.h"

#include <ctype.h>
#include <errno.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json_value.h"

#define VERSION 1

void counters_release(struct counters *c)
{
	free(c->list);
	*c = (struct counters){ .list = NULL };
}

static struct counter *find(const struct counters *c, const char *part, const char *name)
{
	for (size_t i = 0; i < c->n; i++)
		if (strcmp(c->list[i].part, part) == 0 &&
		    (!name || strcmp(c->list[i].name, name) == 0))
			return &c->list[i];
	return NULL;
}

int64_t counters_value(const struct counters *c, const char *part, const char *name)
{
	const struct counter *counter = find(c, part, name);

	return counter ? counter->value : -1;
}

int counters_set(struct counters *c, const char *part, const char *name, int64_t value)
{
	struct counter *counter = find(c, part, name), *list;

	if (value < 0 || strlen(part) >= sizeof(counter->part) ||
	    strlen(name) >= sizeof(counter->name) || (!counter && c->n >= COUNTERS_MOST))
		return 0;
	if (!counter) {
		list = c->n % 64 ? c->list : realloc(c->list, (c->n + 64) * sizeof(*list));
		if (!list)
			return -ENOMEM;
		c->list = list;
		counter = &list[c->n++];
		strcpy(counter->part, part);
		strcpy(counter->name, name);
	}
	counter->value = value;
	return 0;
}

/* ---- between two readings ------------------------------------------------------------------- */

static bool is_state(const char *name)
{
	static const char *const states[] = { "clock_reasons", "remap_pending", "remap_failed",
					      "gpus" };

	for (size_t i = 0; i < sizeof(states) / sizeof(states[0]); i++)
		if (strcmp(name, states[i]) == 0)
			return true;
	return false;
}

/* What tells that parts of this kind were looked at; NULL: of this kind some come and go. */
static const char *kind_asked(const char *part)
{
	if (strncmp(part, "GPU ", 4) == 0)
		return "NVML";
	return strncmp(part, "RDMA ", 5) == 0 ? "TCP" : NULL;
}

static int add_gone(const struct counters *earlier, const struct counters *later,
		    struct counters *between)
{
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < earlier->n; i++) {
		const char *part = earlier->list[i].part, *kind = kind_asked(part);

		if (kind && find(later, kind, NULL) && !find(later, part, NULL))
			rc = counters_set(between, part, "gone", 1);
	}
	return rc;
}

int counters_between(const struct counters *earlier, const struct counters *later,
		     struct counters *between)
{
	int rc = 0;

	*between = (struct counters){ .list = NULL };
	memcpy(between->host, later->host, sizeof(between->host));
	memcpy(between->why, later->why, sizeof(between->why));
	if (earlier->n > 0 && later->seconds > earlier->seconds)
		between->seconds = later->seconds - earlier->seconds;
	for (size_t i = 0; rc == 0 && i < later->n; i++) {
		const struct counter *counter = &later->list[i];
		int64_t before = is_state(counter->name)
					 ? 0
					 : counters_value(earlier, counter->part, counter->name);

		if (before >= 0 && counter->value >= before)
			rc = counters_set(between, counter->part, counter->name,
					  counter->value - before);
	}
	rc = rc < 0 ? rc : add_gone(earlier, later, between);
	if (rc < 0)
		counters_release(between);
	return rc;
}

/* ---- JSON ----------------------------------------------------------------------------------- */

/* {"TCP": {"resent": 3}, "eth0": {...}} */
static json_t *list_json(const struct counters *c)
{
	json_t *all = json_object();

	for (size_t i = 0; all && i < c->n; i++) {
		json_t *part = json_object_get(all, c->list[i].part);

		if (!part) {
			part = json_object();
			json_object_set_new(all, c->list[i].part, part);
		}
		json_object_set_new(part, c->list[i].name,
				    json_integer((json_int_t)c->list[i].value));
	}
	return all;
}

char *counters_text(const struct counters *c, bool indent)
{
	json_t *top = json_pack("{s:i s:o s:o s:o s:o}", "version", VERSION, "host",
				json_value_text(c->host), "seconds", json_value_real(c->seconds),
				"why", json_value_text(c->why), "counters", list_json(c));
	char *text = top ? json_dumps(top, (indent ? JSON_INDENT(1) : JSON_COMPACT) |
						   JSON_REAL_PRECISION(15))
			 : NULL;

	json_decref(top);
	return text;
}

static bool is_printable(const char *text)
{
	while (isprint((unsigned char)*text) && (unsigned char)*text < 0x7f)
		text++;
	return *text == '\0';
}

/* A text of `len` at most, printable. */
static int take_text(const json_t *from, const char *key, char *to, size_t len)
{
	const char *text = json_string_value(json_object_get(from, key));

	if (!text || strlen(text) >= len || !is_printable(text))
		return -EINVAL;
	strcpy(to, text);
	return 0;
}

static int take_part(struct counters *c, const char *part, json_t *from)
{
	const char *name;
	json_t *value;
	int rc = json_is_object(from) && part[0] && is_printable(part) ? 0 : -EINVAL;

	if (rc == 0)
		json_object_foreach(from, name, value)
		{
			bool sound = json_is_integer(value) && json_integer_value(value) >= 0 &&
				     name[0] && is_printable(name);

			rc = sound ? counters_set(c, part, name, json_integer_value(value))
				   : -EINVAL;
			if (rc < 0)
				break;
		}
	return rc;
}

static int take(struct counters *c, const json_t *top)
{
	double seconds = json_number_value(json_object_get(top, "seconds"));
	json_t *all = json_object_get(top, "counters"), *part;
	const char *name;
	int rc = 0;

	if (json_integer_value(json_object_get(top, "version")) != VERSION ||
	    !json_is_object(all) || !isfinite(seconds) || seconds < 0 ||
	    take_text(top, "host", c->host, sizeof(c->host)) < 0 ||
	    take_text(top, "why", c->why, sizeof(c->why)) < 0)
		return -EINVAL;
	c->seconds = seconds;
	json_object_foreach(all, name, part)
	{
		rc = take_part(c, name, part);
		if (rc < 0)
			break;
	}
	return rc;
}

int counters_parse(struct counters *c, const char *text)
{
	int rc = strlen(text) > COUNTERS_BYTES ? -EINVAL : 0;

	text += strspn(text, " \t\r\n");
	if (!*text)
		return -EINVAL;
	while (rc == 0 && *text) {
		json_error_t error;
		json_t *top =
			json_loads(text, JSON_DISABLE_EOF_CHECK | JSON_REJECT_DUPLICATES, &error);

		rc = top ? take(c, top) : -EINVAL;
		json_decref(top);
		if (rc == 0)
			text += error.position;
		text += strspn(text, " \t\r\n");
	}
	return rc;
}
