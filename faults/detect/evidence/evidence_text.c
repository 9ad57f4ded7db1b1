/* evidence_text.c: rank-N.stack.txt, ras.txt and rank-N.counters.json, written and read. */
#include "evidence/evidence.h"

#include <dirent.h>

#include "base/file.h"
#include "base/output.h"
#include "machine/reading.h"

/* Whole: hosts that share the folder may write the same, and half of it would be of no use. */
static int write_text(const char *path, const char *text)
{
	return text ? output_whole(path, text, strlen(text)) : 0;
}

void evidence_take_counters(struct evidence_rank *rank, struct reading *delta)
{
	if (!rank->counters)
		rank->counters = must(calloc(1, sizeof(*rank->counters)));
	reading_release(rank->counters);
	*rank->counters = *delta;
}

bool evidence_parse_counters(struct evidence_rank *rank, const char *text)
{
	struct reading delta = { .list = NULL };

	if (reading_parse(&delta, text) < 0) {
		reading_release(&delta);
		return false;
	}
	evidence_take_counters(rank, &delta);
	return true;
}

char *evidence_counters_text(const struct evidence_rank *rank)
{
	return rank->counters ? reading_dump(rank->counters, true) : NULL;
}

int evidence_save_texts(const struct evidence *evidence, const char *dir, struct error *err)
{
	char path[4096], *text;
	int rc;

	snprintf(path, sizeof(path), "%s/ras.txt", dir);
	rc = write_text(path, evidence->ras);
	for (int i = 0; rc == 0 && i < evidence->nranks; i++) {
		snprintf(path, sizeof(path), "%s/rank-%d.stack.txt", dir, i);
		rc = write_text(path, evidence->ranks[i].stack);
		if (rc < 0)
			break;
		snprintf(path, sizeof(path), "%s/rank-%d.counters.json", dir, i);
		text = evidence_counters_text(&evidence->ranks[i]);
		rc = write_text(path, text);
		free(text);
	}
	if (rc < 0)
		return error_set(err, OUTCOME_INTERNAL, rc, "cannot write %s: %s", path,
				 strerror(-rc));
	return 0;
}

void evidence_clean(char *text)
{
	for (; *text; text++) {
		if (*text == '\t')
			*text = ' ';
		else if (*text != '\n' && (*text < ' ' || *text > '~'))
			*text = '?';
	}
}

/* The first `limit` bytes of a regular file, cleaned; NULL when there is none. */
static char *read_text(const char *path, size_t limit)
{
	const char *why;
	FILE *f = file_open(path, INT64_MAX, &why);
	char *text;
	size_t have;

	if (!f)
		return NULL;
	text = must(malloc(limit + 1));
	have = fread(text, 1, limit, f);
	text[have] = '\0';
	for (size_t i = 0; i < have; i++)
		if (text[i] == '\0')
			text[i] = '?';
	evidence_clean(text);
	fclose(f);
	return text;
}

int evidence_file_rank(const char *name, const char *suffix)
{
	char back[48];
	int number;

	if (sscanf(name, "rank-%7d", &number) != 1 || number < 0)
		return -1;
	snprintf(back, sizeof(back), "rank-%d%s", number, suffix);
	return strcmp(name, back) == 0 ? number : -1;
}

/* Takes the file in if it is a text of a rank that there is. */
static void load_text(struct evidence *e, const char *dir, const char *name)
{
	int stack = evidence_file_rank(name, ".stack.txt");
	int counters = evidence_file_rank(name, ".counters.json");
	char path[4096], *text;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	if (stack >= 0 && stack < e->nranks) {
		free(e->ranks[stack].stack);
		e->ranks[stack].stack = read_text(path, EVIDENCE_STACK_BYTES);
	}
	if (counters >= 0 && counters < e->nranks) {
		text = read_text(path, READING_BYTES);
		if (text && !evidence_parse_counters(&e->ranks[counters], text))
			evidence_remark(e, "%s is torn or not ours: left out.", name);
		free(text);
	}
}

void evidence_load_texts(struct evidence *evidence, const char *dir)
{
	DIR *d = opendir(dir);
	struct dirent *entry;
	char path[4096];

	snprintf(path, sizeof(path), "%s/ras.txt", dir);
	free(evidence->ras);
	evidence->ras = read_text(path, EVIDENCE_RAS_BYTES);
	while (d && (entry = readdir(d)))
		load_text(evidence, dir, entry->d_name);
	if (d)
		closedir(d);
}
