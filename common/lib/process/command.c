/* command.c: joins words to a command line and prepends launcher and settings. */
#include "process/command.h"

#include "base/error.h"
#include "base/parse.h"

/* Appends a blank and the word, as a whole or not at all. */
static void add_word(char *buf, size_t len, const char *word)
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				    "0123456789_-+=:,./@%^";
	const char *quote = *word && !word[strspn(word, plain)] ? "" : "'";
	char *text = NULL;
	size_t n = 0;
	FILE *f = must(open_memstream(&text, &n));

	fprintf(f, "%s%s", *buf ? " " : "", quote);
	for (; *word; word++)
		if (*word == '\'')
			fputs("'\\''", f);
		else
			putc(*word, f);
	fputs(quote, f);
	fclose(f);
	if (strlen(buf) + n < len)
		strcpy(buf + strlen(buf), text);
	free(text);
}

static void add_words(char *buf, size_t len, int argc, const char *const *argv)
{
	for (int i = 0; i < argc; i++)
		add_word(buf, len, argv[i]);
}

char *command_join(char *buf, size_t len, int argc, const char *const *argv)
{
	buf[0] = '\0';
	add_words(buf, len, argc, argv);
	return buf;
}

/* Settings go through env: a shell takes no quoted assignment. NCCL's debug variables are left out:
 * they do not change the run, and their file's folder may be gone. */
static void add_settings(char *buf, size_t len)
{
	for (char **e = environ; *e; e++) {
		if (names_find("NCCL_* CUDA_DEVICE_MAX_CONNECTIONS=*", *e) < 0 ||
		    names_find("NCCL_DEBUG*", *e) >= 0)
			continue;
		if (!buf[0])
			add_word(buf, len, "env");
		add_word(buf, len, *e);
	}
}

/* Adds the words of a /proc/PID/cmdline if that is a launcher, not a daemon of another host. */
static bool add_launcher(char *buf, size_t len, const char *path)
{
	char text[8192];
	size_t n = 0;
	FILE *f = fopen(path, "re");

	if (f) {
		n = fread(text, 1, sizeof(text) - 1, f);
		fclose(f);
	}
	text[n] = '\0';
	if (n == 0 || n == sizeof(text) - 1 ||
	    names_find("mpirun mpiexec orterun prterun mpiexec.hydra", basename(text)) < 0)
		return false;
	for (const char *word = text; word < text + n; word += strlen(word) + 1)
		add_word(buf, len, word);
	return true;
}

char *command_again(char *buf, size_t len, const struct launch *launch, int nranks, int argc,
		    const char *const *argv, const char *launcher)
{
	char number[16];
	const char *const start[] = { "mpirun", "-np", number };

	buf[0] = '\0';
	add_settings(buf, len);
	if (launch->launched && !launch->own) {
		if (add_launcher(buf, len, launcher))
			return buf;
		snprintf(number, sizeof(number), "%d", nranks);
		add_words(buf, len, 3, start);
	}
	add_words(buf, len, argc, argv);
	return buf;
}
