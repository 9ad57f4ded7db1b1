/* reading_json.c: {"version": 2, "host": "vm", "seconds": 3.5, "why": "", "parts": {"eth0":
 * {"counters": {"rx_bytes": 7}, "states": {"mtu": 1500, "link": "Ethernet"}}}}, and back. */
#include "machine/reading.h"

#include "base/error.h"
#include "base/json_value.h"

#define VERSION 2

/* The object of this name in `in`, made where there is none. */
static json_t *member(json_t *in, const char *name)
{
	if (!json_object_get(in, name))
		json_object_set_new(in, name, json_object());
	return json_object_get(in, name);
}

json_t *reading_json(const struct reading *m)
{
	json_t *parts = json_object();

	for (size_t i = 0; i < m->n; i++) {
		const struct reading_entry *e = &m->list[i];
		const char *kind = e->kind == READING_COUNTER ? "counters" : "states";

		json_object_set_new(member(member(parts, e->part), kind), e->name,
				    e->text ? json_value_text(e->text)
					    : json_integer((json_int_t)e->value));
	}
	return json_pack("{s:i s:o s:o s:o s:o}", "version", VERSION, "host",
			 json_value_text(m->host), "seconds", json_value_real(m->seconds), "why",
			 json_value_text(m->why), "parts", parts);
}

char *reading_dump(const struct reading *m, bool indent)
{
	json_t *top = reading_json(m);
	char *text = must(json_dumps(top, (indent ? JSON_INDENT(1) : JSON_COMPACT) |
						  JSON_REAL_PRECISION(15)));

	json_decref(top);
	return text;
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

/* Texts end up on a terminal, one to a line. */
static int take_entry(struct reading *m, const char *part, const char *name, const json_t *value,
		      bool states)
{
	int64_t number = json_integer_value(value);

	if (!name[0] || !is_printable(name))
		return -EINVAL;
	if (states && json_is_string(value)) {
		char *text = make_printable(must(strdup(json_string_value(value))));

		reading_say(m, part, name, text);
		free(text);
		return 0;
	}
	if (!json_is_integer(value) || number < 0)
		return -EINVAL;
	reading_set(m, part, name, states ? READING_STATE : READING_COUNTER, number, NULL);
	return 0;
}

/* A part's counters and states, in their order; other members are another version's. */
static int take_part(struct reading *m, const char *part, json_t *from)
{
	const char *kind, *name;
	json_t *entries, *value;
	int rc = json_is_object(from) && part[0] && is_printable(part) ? 0 : -EINVAL;

	json_object_foreach(from, kind, entries)
	{
		bool states = strcmp(kind, "states") == 0;

		if (rc < 0 || (!states && strcmp(kind, "counters") != 0))
			continue;
		if (!json_is_object(entries))
			rc = -EINVAL;
		json_object_foreach(entries, name, value)
		{
			if (rc == 0)
				rc = take_entry(m, part, name, value, states);
		}
	}
	return rc;
}

int reading_take(struct reading *m, const json_t *top)
{
	double seconds = json_number_value(json_object_get(top, "seconds"));
	json_t *parts = json_object_get(top, "parts"), *from;
	const char *part;
	int rc = 0;

	if (json_integer_value(json_object_get(top, "version")) != VERSION ||
	    !json_is_object(parts) || !isfinite(seconds) || seconds < 0 ||
	    take_text(top, "host", m->host, sizeof(m->host)) < 0 ||
	    take_text(top, "why", m->why, sizeof(m->why)) < 0)
		return -EINVAL;
	m->seconds = seconds;
	json_object_foreach(parts, part, from)
	{
		rc = take_part(m, part, from);
		if (rc < 0)
			break;
	}
	return rc;
}

int reading_parse(struct reading *m, const char *text)
{
	int rc = strlen(text) > READING_BYTES ? -EINVAL : 0;

	text += strspn(text, " \t\r\n");
	if (!*text)
		return -EINVAL;
	while (rc == 0 && *text) {
		json_error_t error;
		json_t *top =
			json_loads(text, JSON_DISABLE_EOF_CHECK | JSON_REJECT_DUPLICATES, &error);

		rc = top ? reading_take(m, top) : -EINVAL;
		json_decref(top);
		if (rc == 0)
			text += error.position;
		text += strspn(text, " \t\r\n");
	}
	return rc;
}
