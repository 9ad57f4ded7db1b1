/* evidence_file.c: evidence on disk: rank-N.fr and run.json, written and read. */
#include "evidence/evidence.h"

#include <dirent.h>
#include <fcntl.h>
#include <jansson.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "base/json_value.h"
#include "base/output.h"
#include "evidence/saved.h"

#define EVIDENCE_VERSION 1
#define EVIDENCE_RANKS	 (1 << 18)
#define JSON_BYTES	 (1 << 20) /* larger files are not ours */
#define NAMING_RANKS	 64	   /* who does not name program and library by then does not know */

#define TEXT(field)                                                                                \
	{                                                                                          \
#field, offsetof(struct evidence, field), sizeof(((struct evidence *)0)->field)    \
	}
const struct evidence_text evidence_texts[EVIDENCE_TEXTS] = {
	TEXT(run),     TEXT(program), TEXT(backend), TEXT(library),
	TEXT(command), TEXT(when),    TEXT(remarks), TEXT(options),
};

/* ---- writing ---- */

/* The run's name: that of the folder it was first saved in, which is the same on all hosts. */
static void name_run(struct evidence *evidence, const char *dir)
{
	size_t end = strlen(dir), start;

	while (end > 0 && dir[end - 1] == '/')
		end--;
	for (start = end; start > 0 && dir[start - 1] != '/';)
		start--;
	if (!evidence->run[0])
		snprintf(evidence->run, sizeof(evidence->run), "%.*s", (int)(end - start),
			 dir + start);
}

static int save_run(const struct evidence *evidence, const char *dir, const char *path)
{
	struct evidence e = *evidence;
	json_t *run = json_pack("{s:i s:i s:o}", "version", EVIDENCE_VERSION, "nranks", e.nranks,
				"detect_ms", json_value_real(e.detect_ms));
	char *text;
	int rc;

	name_run(&e, dir);
	evidence_blind_command(evidence->command, e.command, sizeof(e.command));
	for (size_t i = 0; i < EVIDENCE_TEXTS; i++)
		json_object_set_new(run, evidence_texts[i].name,
				    json_value_text((char *)&e + evidence_texts[i].at));
	text = must(json_dumps(run, JSON_INDENT(1) | JSON_REAL_PRECISION(15)));
	rc = output_whole(path, text, strlen(text));
	free(text);
	json_decref(run);
	return rc;
}

int evidence_save_rank(const struct evidence_rank *rank, int number, const char *dir)
{
	size_t bytes = saved_bytes(rank, rank->ncalls);
	void *image = saved_alloc(bytes);
	char path[4096];
	int rc;

	saved_pack(rank, number, rank->ncalls, image);
	snprintf(path, sizeof(path), "%s/rank-%d.fr", dir, number);
	rc = output_whole(path, image, bytes);
	free(image);
	return rc;
}

int evidence_save(const struct evidence *evidence, const char *dir, struct error *err)
{
	char path[4096];
	int rc;

	snprintf(path, sizeof(path), "%s/run.json", dir);
	rc = save_run(evidence, dir, path);
	for (int i = 0; rc == 0 && i < evidence->nranks; i++) {
		if (!evidence->ranks[i].present)
			continue;
		snprintf(path, sizeof(path), "%s/rank-%d.fr", dir, i);
		if (evidence->ranks[i].remote && access(path, F_OK) == 0)
			continue; /* its own host, which knows more, has written it here */
		rc = evidence_save_rank(&evidence->ranks[i], i, dir);
	}
	if (rc < 0)
		return error_set(err, OUTCOME_INTERNAL, rc, "cannot save evidence to %s: %s", path,
				 strerror(-rc));
	return 0;
}

/* ---- reading ---- */

/* Descriptor and size of a plain file, or a negative errno. */
static int open_plain(int dir, const char *name, size_t *bytes)
{
	int fd = openat(dir, name, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	struct stat st;

	if (fd < 0)
		return -errno;
	if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || st.st_size > (1 << 30)) {
		close(fd);
		return -EMSGSIZE;
	}
	*bytes = (size_t)st.st_size;
	return fd;
}

/* Writable, for unsound records to be closed up, but none of it is copied before that. */
static void *map_image(int fd, size_t bytes)
{
	void *image =
		bytes ? mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0) : MAP_FAILED;

	if (image == MAP_FAILED)
		return NULL;
#ifdef MADV_POPULATE_READ
	madvise(image, bytes, MADV_POPULATE_READ); /* saves faults, where the kernel knows it */
#endif
	return image;
}

static void load_rank(struct evidence *e, int i, int dir)
{
	struct evidence_rank *rank = &e->ranks[i];
	struct saved_loss loss = { 0 };
	size_t bytes = 0;
	const char *fault = "cannot be read";
	char name[32];
	int fd;

	snprintf(name, sizeof(name), "rank-%d.fr", i);
	fd = open_plain(dir, name, &bytes);
	if (fd == -ENOENT)
		return;
	if (fd >= 0) {
		rank->image = map_image(fd, bytes);
		rank->mapped = rank->image ? bytes : 0;
		close(fd);
		fault = rank->image  ? saved_unpack(rank, i, rank->image, bytes, &loss)
			: bytes == 0 ? "is too short to be evidence"
				     : "is larger than the memory there is";
	}
	rank->unread = fault != NULL;
	if (fault) {
		evidence_rank_release(rank);
		evidence_remark(e, "%s %s.", name, fault);
		return;
	}
	if (loss.cut)
		evidence_remark(e, "%s is cut off: its newest %zu records are missing.", name,
				loss.cut);
	else if (loss.times)
		evidence_remark(e, "%s is cut off: its device times are missing.", name);
	if (loss.unsound)
		evidence_remark(e, "Rank %d: %zu of %zu records are unsound.", i, loss.unsound,
				loss.unsound + rank->ncalls);
	else
		madvise(rank->image, rank->mapped,
			MADV_DONTNEED); /* comes back when it is looked at */
	if (!loss.cut && rank->ncalls > 0 && rank->index.last_ticket < rank->view.issued)
		evidence_remark(e, "Rank %d: its newest calls are missing.", i);
}

static json_t *load_json(const char *path)
{
	json_t *value;
	struct stat st;

	if (stat(path, &st) < 0 || !S_ISREG(st.st_mode) || st.st_size > JSON_BYTES)
		return NULL;
	value = json_load_file(path, 0, NULL);
	if (value && (!json_is_object(value) ||
		      json_integer_value(json_object_get(value, "version")) != EVIDENCE_VERSION)) {
		json_decref(value);
		value = NULL;
	}
	return value;
}

static void load_run(struct evidence *e, const char *dir)
{
	char path[4096], command[sizeof(e->command)];
	json_int_t n;
	json_t *j;
	double ms;

	snprintf(path, sizeof(path), "%s/run.json", dir);
	j = load_json(path);
	if (!j) {
		evidence_remark(e, "run.json is missing or unsound.");
		return;
	}
	n = json_integer_value(json_object_get(j, "nranks"));
	e->nranks = n >= 0 && n <= EVIDENCE_RANKS ? (int)n : 0;
	ms = json_number_value(json_object_get(j, "detect_ms"));
	e->detect_ms = isfinite(ms) && ms > 0 ? ms : 0;
	for (size_t i = 0; i < EVIDENCE_TEXTS; i++) {
		const char *text = json_string_value(json_object_get(j, evidence_texts[i].name));

		snprintf((char *)e + evidence_texts[i].at, evidence_texts[i].bytes, "%s",
			 text ? text : "");
	}
	memcpy(command, e->command, sizeof(command));
	evidence_blind_command(command, e->command, sizeof(e->command));
	json_decref(j);
}

/* Marks the ranks that have a file in `there` (EVIDENCE_RANKS + 1 marks): a rank that a file claims
 * to exist costs no look for it. Returns the highest, -1: none. */
static int find_ranks(DIR *d, bool *there)
{
	struct dirent *entry;
	int highest = -1;

	while ((entry = readdir(d))) {
		int number = evidence_file_rank(entry->d_name, ".fr");

		if (number < 0 || number > EVIDENCE_RANKS)
			continue;
		there[number] = true;
		highest = number > highest ? number : highest;
	}
	return highest;
}

static void load_ranks(struct evidence *e, int dir, const bool *there)
{
	e->ranks = evidence_ranks_alloc(e->nranks);
	for (int i = 0; i < e->nranks; i++)
		if (there[i])
			load_rank(e, i, dir);
	for (int i = 0; i < e->nranks && i < NAMING_RANKS && !(e->library[0] && e->program[0]); i++)
		if (e->ranks[i].recorder)
			evidence_identify(e, e->ranks[i].recorder);
}

int evidence_read_folder(struct evidence *evidence, const char *dir, struct error *err)
{
	DIR *d = opendir(dir);
	bool *there;
	int highest;

	memset(evidence, 0, sizeof(*evidence));
	if (!d)
		return error_set(err, OUTCOME_INTERNAL, -errno, "%s: %s", dir, strerror(errno));
	there = must(calloc(EVIDENCE_RANKS + 1, sizeof(*there)));
	highest = find_ranks(d, there);
	if (highest >= 0) {
		load_run(evidence, dir);
		evidence->uncounted = evidence->nranks == 0;
		if (evidence->nranks < highest + 1)
			evidence->nranks = highest + 1;
		load_ranks(evidence, dirfd(d), there);
		evidence_load_texts(evidence, dir);
	}
	free(there);
	closedir(d);
	return highest >= 0 ? 0
			    : error_set(err, OUTCOME_INTERNAL, -ENOENT,
					"%s holds no evidence (rank-N.fr)", dir);
}
