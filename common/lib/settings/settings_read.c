/* settings_read.c: the environment and NCCL's configuration files, as NCCL 2.28 reads them. */
#include "settings/settings_read.h"

#include <envz.h>
#include <pwd.h>

#include "base/error.h"
#include "base/file.h"

#define SETTINGS_BYTES (1 << 20) /* of a configuration file */

static enum setting_weight weight_of(const char *text)
{
	char name[SETTING_NAME];

	snprintf(name, sizeof(name), "%.*s", (int)strcspn(text, "="), text);
	return setting_weight(name);
}

/* Entries "NAME=VALUE", each ended by a NUL (argz.h). */
struct entries {
	char *texts;
	size_t len;
};

/* Adds an entry unless its name is present. */
static void add(struct entries *e, const char *text)
{
	if (strchr(text, '=') && weight_of(text) != SETTING_FREE &&
	    !envz_entry(e->texts, e->len, text))
		argz_add(&e->texts, &e->len, text);
}

static void add_file(struct entries *e, const char *path)
{
	const char *why;
	FILE *f = file_open(path, SETTINGS_BYTES, &why);
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

void settings_read(struct settings *s, char *const *environment, const char *const *files)
{
	struct entries e = { .texts = NULL };
	char **texts;
	size_t n;

	for (; *environment; environment++)
		add(&e, *environment);
	for (; *files; files++)
		add_file(&e, *files);
	n = argz_count(e.texts, e.len);
	texts = must(calloc(n + 1, sizeof(*texts)));
	argz_extract(e.texts, e.len, texts);
	qsort(texts, n, sizeof(*texts), by_text);
	for (int weight = SETTING_BREAKS; weight > SETTING_FREE; weight--)
		for (size_t i = 0; i < n; i++) {
			char *value = strchr(texts[i], '=');

			if ((int)weight_of(texts[i]) != weight)
				continue;
			*value = '\0';
			settings_put(s, texts[i], value + 1);
		}
	free(texts);
	free(e.texts);
}

void settings_read_of(struct settings *s, char *const *environment)
{
	const char *named = environment_get(environment, "NCCL_CONF_FILE"), *files[3] = { named },
		   **next = files;
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
	settings_read(s, environment, files);
}
