/* reading.c: the list, and what lies between two of them. */
#include "machine/reading.h"

#include "base/error.h"

void reading_release(struct reading *m)
{
	for (size_t i = 0; i < m->n; i++)
		free(m->list[i].text);
	free(m->list);
	*m = (struct reading){ .list = NULL };
}

/* `name` NULL: any of the part. */
struct reading_entry *reading_find(const struct reading *m, const char *part, const char *name)
{
	for (size_t i = 0; i < m->n; i++)
		if ((!name || strcmp(m->list[i].name, name) == 0) &&
		    strcmp(m->list[i].part, part) == 0)
			return &m->list[i];
	return NULL;
}

/* An entry of this part belongs here: behind those that there are. */
static size_t behind(const struct reading *m, const char *part)
{
	for (size_t i = m->n; i > 0; i--)
		if (strcmp(m->list[i - 1].part, part) == 0)
			return i;
	return m->n;
}

/* The entry, new or not; NULL: no room, or too long a name. */
static struct reading_entry *place(struct reading *m, const char *part, const char *name)
{
	struct reading_entry *entry = reading_find(m, part, name);
	size_t at;

	if (entry || m->n >= READING_MOST || strlen(part) >= sizeof(entry->part) ||
	    strlen(name) >= sizeof(entry->name))
		return entry;
	if (m->n % 64 == 0)
		m->list = must(realloc(m->list, (m->n + 64) * sizeof(*m->list)));
	at = behind(m, part);
	entry = &m->list[at];
	memmove(entry + 1, entry, (m->n++ - at) * sizeof(*entry));
	*entry = (struct reading_entry){ .value = -1 };
	strcpy(entry->part, part);
	strcpy(entry->name, name);
	return entry;
}

/* `text` NULL: a number. */
void reading_set(struct reading *m, const char *part, const char *name, enum reading_kind kind,
		 int64_t value, const char *text)
{
	struct reading_entry *entry = value < 0 && !text ? NULL : place(m, part, name);

	if (!entry)
		return;
	free(entry->text);
	entry->text = text ? must(strdup(text)) : NULL;
	entry->kind = kind;
	entry->value = value;
}

void reading_append(struct reading *to, const struct reading *from, const char *part)
{
	for (size_t i = 0; i < from->n; i++)
		if (!part || strcmp(from->list[i].part, part) == 0)
			reading_set(to, from->list[i].part, from->list[i].name, from->list[i].kind,
				    from->list[i].value, from->list[i].text);
}

void reading_part(char *part, size_t len, const char *name)
{
	snprintf(part, len, "%s", name);
	make_printable(part);
}

int64_t reading_value(const struct reading *m, const char *part, const char *name)
{
	const struct reading_entry *entry = reading_find(m, part, name);

	return entry ? entry->value : -1;
}

const char *reading_text(const struct reading *m, const char *part, const char *name)
{
	const struct reading_entry *entry = reading_find(m, part, name);

	return entry && entry->text ? entry->text : "";
}

const char *reading_next(const struct reading *m, const char *name, size_t *at)
{
	while (*at < m->n) {
		const struct reading_entry *entry = &m->list[(*at)++];

		if (strcmp(entry->name, name) == 0)
			return entry->part;
	}
	return NULL;
}

int64_t reading_step(const struct reading *earlier, const struct reading *later, const char *part,
		     const char *name)
{
	int64_t before = reading_value(earlier, part, name);
	int64_t after = reading_value(later, part, name);

	return before < 0 || after < before ? -1 : after - before;
}

/* Another part shows that these were looked at; parts of other kinds come and go. */
static void add_gone(const struct reading *earlier, const struct reading *later,
		     struct reading *delta)
{
	for (size_t i = 0; i < earlier->n; i++) {
		const char *part = earlier->list[i].part;
		const char *asked = strncmp(part, "GPU ", 4) == 0    ? "NVML"
				    : strncmp(part, "RDMA ", 5) == 0 ? "TCP"
								     : NULL;

		if (asked && reading_find(later, asked, NULL) && !reading_find(later, part, NULL))
			reading_state(delta, part, "gone", 1);
	}
}

void counter_delta(const struct reading *earlier, const struct reading *later,
		   struct reading *delta)
{
	*delta = (struct reading){ .list = NULL };
	memcpy(delta->host, later->host, sizeof(delta->host));
	memcpy(delta->why, later->why, sizeof(delta->why));
	if (earlier->n > 0 && later->seconds > earlier->seconds)
		delta->seconds = later->seconds - earlier->seconds;
	for (size_t i = 0; i < later->n; i++) {
		const struct reading_entry *e = &later->list[i];
		bool link = strcmp(e->name, "gen") == 0 || strcmp(e->name, "width") == 0;
		int64_t before = link ? reading_value(earlier, e->part, e->name) : -1;

		if (e->kind == READING_COUNTER)
			reading_count(delta, e->part, e->name,
				      reading_step(earlier, later, e->part, e->name));
		else if (e->kind == READING_STATE)
			reading_state(delta, e->part, e->name,
				      before > e->value ? before : e->value);
		else
			reading_say(delta, e->part, e->name, e->text);
	}
	add_gone(earlier, later, delta);
}
