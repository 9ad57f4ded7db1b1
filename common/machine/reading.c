/* reading.c: the list, and what lies between two of them. */
#include "machine/reading.h"

void reading_release(struct reading *m)
{
	for (size_t i = 0; i < m->n; i++)
		free(m->list[i].text);
	free(m->list);
	*m = (struct reading){ .list = NULL };
}

/* `name` NULL: any of the part. */
static struct reading_entry *find(const struct reading *m, const char *part, const char *name)
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

/* The entry, new or not; NULL: no room, and *rc says whether for want of memory. */
static struct reading_entry *place(struct reading *m, const char *part, const char *name, int *rc)
{
	struct reading_entry *entry = find(m, part, name), *list;
	size_t at;

	*rc = 0;
	if (entry || m->n >= READING_MOST || strlen(part) >= sizeof(entry->part) ||
	    strlen(name) >= sizeof(entry->name))
		return entry;
	list = m->n % 64 ? m->list : realloc(m->list, (m->n + 64) * sizeof(*list));
	if (!list) {
		*rc = -ENOMEM;
		return NULL;
	}
	m->list = list;
	at = behind(m, part);
	entry = &list[at];
	memmove(entry + 1, entry, (m->n++ - at) * sizeof(*entry));
	*entry = (struct reading_entry){ .value = -1 };
	strcpy(entry->part, part);
	strcpy(entry->name, name);
	return entry;
}

static int set_number(struct reading *m, const char *part, const char *name, enum reading_kind kind,
		      int64_t value)
{
	struct reading_entry *entry;
	int rc = 0;

	entry = value < 0 ? NULL : place(m, part, name, &rc);
	if (entry) {
		free(entry->text);
		entry->text = NULL;
		entry->kind = kind;
		entry->value = value;
	}
	return rc;
}

int reading_count(struct reading *m, const char *part, const char *name, int64_t value)
{
	return set_number(m, part, name, READING_COUNTER, value);
}

int reading_state(struct reading *m, const char *part, const char *name, int64_t value)
{
	return set_number(m, part, name, READING_STATE, value);
}

int reading_say(struct reading *m, const char *part, const char *name, const char *text)
{
	char *copy = strdup(text);
	struct reading_entry *entry;
	int rc;

	if (!copy)
		return -ENOMEM;
	entry = place(m, part, name, &rc);
	if (!entry) {
		free(copy);
		return rc;
	}
	free(entry->text);
	entry->kind = READING_TEXT;
	entry->value = -1;
	entry->text = copy;
	return 0;
}

void reading_part(char *part, size_t len, const char *name)
{
	snprintf(part, len, "%s", name);
	for (; *part; part++)
		if (*part < ' ' || *part > '~')
			*part = '?';
}

const struct reading_entry *reading_find(const struct reading *m, const char *part,
					 const char *name)
{
	return find(m, part, name);
}

bool reading_has(const struct reading *m, const char *part)
{
	return find(m, part, NULL) != NULL;
}

int64_t reading_value(const struct reading *m, const char *part, const char *name)
{
	const struct reading_entry *entry = find(m, part, name);

	return entry ? entry->value : -1;
}

const char *reading_text(const struct reading *m, const char *part, const char *name)
{
	const struct reading_entry *entry = find(m, part, name);

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

/* ---- between two readings ------------------------------------------------------------------- */

int64_t reading_step(const struct reading *earlier, const struct reading *later, const char *part,
		     const char *name)
{
	int64_t before = reading_value(earlier, part, name);
	int64_t after = reading_value(later, part, name);

	return before < 0 || after < before ? -1 : after - before;
}

/* Names the part that shows that parts of this kind were looked at; NULL: of this kind some come
 * and go. */
static const char *kind_asked(const char *part)
{
	if (strncmp(part, "GPU ", 4) == 0)
		return "NVML";
	return strncmp(part, "RDMA ", 5) == 0 ? "TCP" : NULL;
}

static int add_gone(const struct reading *earlier, const struct reading *later,
		    struct reading *delta)
{
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < earlier->n; i++) {
		const char *part = earlier->list[i].part, *kind = kind_asked(part);

		if (kind && find(later, kind, NULL) && !find(later, part, NULL))
			rc = reading_state(delta, part, "gone", 1);
	}
	return rc;
}

static int64_t state_of(const struct reading *earlier, const struct reading_entry *later)
{
	bool link = strcmp(later->name, "gen") == 0 || strcmp(later->name, "width") == 0;
	int64_t before = link ? reading_value(earlier, later->part, later->name) : -1;

	return before > later->value ? before : later->value;
}

int counter_delta(const struct reading *earlier, const struct reading *later, struct reading *delta)
{
	int rc = 0;

	*delta = (struct reading){ .list = NULL };
	memcpy(delta->host, later->host, sizeof(delta->host));
	memcpy(delta->why, later->why, sizeof(delta->why));
	if (earlier->n > 0 && later->seconds > earlier->seconds)
		delta->seconds = later->seconds - earlier->seconds;
	for (size_t i = 0; rc == 0 && i < later->n; i++) {
		const struct reading_entry *e = &later->list[i];

		if (e->kind == READING_COUNTER)
			rc = reading_count(delta, e->part, e->name,
					   reading_step(earlier, later, e->part, e->name));
		else if (e->kind == READING_STATE)
			rc = reading_state(delta, e->part, e->name, state_of(earlier, e));
		else
			rc = reading_say(delta, e->part, e->name, e->text);
	}
	rc = rc < 0 ? rc : add_gone(earlier, later, delta);
	if (rc < 0)
		reading_release(delta);
	return rc;
}
