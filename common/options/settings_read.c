/* settings_read.c: the environment and NCCL's configuration files, as NCCL 2.28 reads them
 * (misc/param.cc). */
#include "options/settings_read.h"

#include <pwd.h>

#include "base/error.h"

enum { ENTRIES_MOST = 512 };

struct entries {
	char *texts[ENTRIES_MOST]; /* "NAME=VALUE", owned */
	size_t n;
};

static size_t name_length(const char *text)
{
	return strcspn(text, "=");
}

static bool has_name(const struct entries *e, const char *text)
{
	size_t len = name_length(text);

	for (size_t i = 0; i < e->n; i++)
		if (strncmp(e->texts[i], text, len + 1) == 0)
			return true;
	return false;
}

static enum setting_weight weight_of(const char *text)
{
	char name[SETTING_NAME];

	snprintf(name, sizeof(name), "%.*s", (int)name_length(text), text);
	return setting_weight(name);
}

static void add(struct entries *e, const char *text)
{
	if (!strchr(text, '=') || weight_of(text) == SETTING_FREE || has_name(e, text) ||
	    e->n == ENTRIES_MOST)
		return;
	e->texts[e->n++] = must(strdup(text));
}

static void add_file(struct entries *e, const char *path)
{
	FILE *f = fopen(path, "re");
	char *line = NULL;
	size_t room = 0;

	while (f && getline(&line, &room, f) >= 0) {
		line[strcspn(line, "\n")] = '\0';
		if (line[0] != '#')
			add(e, line);
	}
	free(line);
	if (f)
		fclose(f);
}

static int by_text(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static void put_all(struct settings *s, const struct entries *e, enum setting_weight weight)
{
	char name[SETTING_NAME];

	for (size_t i = 0; i < e->n; i++) {
		if (weight_of(e->texts[i]) != weight)
			continue;
		snprintf(name, sizeof(name), "%.*s", (int)name_length(e->texts[i]), e->texts[i]);
		settings_put(s, name, e->texts[i] + name_length(e->texts[i]) + 1);
	}
}

void settings_read(struct settings *s, char *const *environment, const char *const *files)
{
	struct entries *e = must(calloc(1, sizeof(*e)));

	for (; *environment; environment++)
		add(e, *environment);
	for (; *files; files++)
		add_file(e, *files);
	qsort(e->texts, e->n, sizeof(e->texts[0]), by_text);
	put_all(s, e, SETTING_BREAKS);
	put_all(s, e, SETTING_MATTERS);
	put_all(s, e, SETTING_MAY);
	for (size_t i = 0; i < e->n; i++)
		free(e->texts[i]);
	free(e);
}

void settings_read_own(struct settings *s)
{
	const char *named = getenv("NCCL_CONF_FILE"), *files[3] = { named }, **next = files;
	const struct passwd *user = getpwuid(getuid());
	char home[4096];

	if (named && *named) {
		next++;
	} else if (user && user->pw_dir) {
		snprintf(home, sizeof(home), "%s/.nccl.conf", user->pw_dir);
		*next++ = home;
	}
	*next++ = "/etc/nccl.conf";
	*next = NULL;
	settings_read(s, environ, files);
}
