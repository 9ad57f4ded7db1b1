/* evidence_file.c: evidence on disk: rank-N.fr and run.json, written and read; folders of one run
 * joined, as its hosts keep them without a shared file system. */
#include "evidence/evidence.h"

#include <dirent.h>
#include <jansson.h>
#include <libgen.h>

#include "base/json_value.h"
#include "base/output.h"
#include "base/rank_list.h"
#include "evidence/saved.h"

#define EVIDENCE_VERSION 1
#define EVIDENCE_RANKS	 (1 << 18)
#define JSON_BYTES	 (1 << 20) /* larger files are not ours */
#define NAMING_RANKS	 64	   /* who does not name program and library by then does not know */

/* Texts of run.json, which are fields of struct evidence. The first FACTS are the same in all folders
 * of a run that know them; where one does not, that of another holds for these and for the time. */
enum { FACTS = 5, TIME = FACTS, TEXTS = 10 };
#define TEXT(field)                                                                                \
	{                                                                                          \
#field, offsetof(struct evidence, field), sizeof(((struct evidence *)0)->field)    \
	}
static const struct {
	const char *name;
	size_t at, bytes;
} texts[TEXTS] = {
	TEXT(run),  TEXT(program), TEXT(backend), TEXT(library), TEXT(command),
	TEXT(when), TEXT(remarks), TEXT(options), TEXT(token),	 TEXT(whole),
};

struct evidence_rank *evidence_ranks_alloc(int n)
{
	struct evidence_rank *ranks = must(calloc((size_t)n + 1, sizeof(*ranks)));

	for (int i = 0; i < n; i++) {
		ranks[i].view = (struct rank_view){ .rank = i, .outcome = -1, .node = -1 };
		ranks[i].cpu_share = -1;
	}
	return ranks;
}

/* ---- writing ---- */

/* The run's name: that of the folder it was first saved in, which is the same on all hosts. */
static void name_run(struct evidence *evidence, const char *dir)
{
	char path[4096];

	snprintf(path, sizeof(path), "%s", dir);
	if (!evidence->run[0])
		snprintf(evidence->run, sizeof(evidence->run), "%s", basename(path));
}

static int save_run(const struct evidence *evidence, const char *dir, const char *path)
{
	struct evidence e = *evidence;
	json_t *run = json_pack("{s:i s:i s:o}", "version", EVIDENCE_VERSION, "nranks", e.nranks,
				"detect_ms", json_value_real(e.detect_ms));
	int rc;

	name_run(&e, dir);
	/* the number that this host's own ranks have */
	for (int i = 0; i < e.nranks && !e.token[0]; i++)
		if (!e.ranks[i].remote && e.ranks[i].recorder && e.ranks[i].recorder->run)
			snprintf(e.token, sizeof(e.token), "%016lx", e.ranks[i].recorder->run);
	evidence_blind_command(evidence->command, e.command, sizeof(e.command));
	for (size_t i = 0; i < TEXTS; i++)
		json_object_set_new(run, texts[i].name, json_value_text((char *)&e + texts[i].at));
	rc = json_value_save(must(run), path, JSON_INDENT(1));
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
	bool *saved = must(calloc((size_t)evidence->nranks + 1, sizeof(*saved)));
	char path[4096], other[4096];
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
		saved[i] = rc == 0;
	}
	for (int i = 0; rc < 0 && i < evidence->nranks; i++) {
		snprintf(other, sizeof(other), "%s/rank-%d.fr", dir, i);
		if (saved[i])
			unlink(other);
	}
	free(saved);
	return rc == 0 ? 0
		       : error_set(err, OUTCOME_INTERNAL, rc, "cannot save evidence to %s: %s",
				   path, strerror(-rc));
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
		madvise(rank->image, rank->mapped, MADV_DONTNEED); /* comes back on a look */
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
	for (size_t i = 0; i < TEXTS; i++) {
		const char *text = json_string_value(json_object_get(j, texts[i].name));

		snprintf((char *)e + texts[i].at, texts[i].bytes, "%s", text ? text : "");
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

/* Reads what lies in one folder, with remarks on its files; the caller says who is missing, and
 * whether anything is there at all. Returns 0, or a negative errno with the error set: -ENOENT. */
static int read_folder(struct evidence *evidence, const char *dir, struct error *err)
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

/* ---- folders of one run ---- */

/* Hosts name their folders by the time of each one's verdict: DATE-TIME-PROGRAM-KEY. */
static const char *without_time(const char *name)
{
	unsigned int date, time;
	int n = 0;

	return sscanf(name, "%8u-%6u-%n", &date, &time, &n) == 2 && n == 16 ? name + n : name;
}

#define DIFFERENT(err, dirs, fmt, ...)                                                             \
	error_set(err, OUTCOME_USAGE, -EINVAL, "%s and %s are of different runs: " fmt, (dirs)[0], \
		  (dirs)[1], __VA_ARGS__)

/* Two folders must agree on what both know, on the run's name alone where both know that. */
static int check_facts(const struct evidence *a, const struct evidence *b, const char *const *dirs,
		       struct error *err)
{
	if (!a->uncounted && !b->uncounted && a->nranks != b->nranks)
		return DIFFERENT(err, dirs, "nranks is %d and %d", a->nranks, b->nranks);
	for (size_t i = 0; i < FACTS; i++) {
		const char *x = (const char *)a + texts[i].at, *y = (const char *)b + texts[i].at;

		if (!x[0] || !y[0])
			continue;
		if (strcmp(x, y) != 0 && (i > 0 || strcmp(without_time(x), without_time(y)) != 0))
			return DIFFERENT(err, dirs, "%s is \"%.80s\" and \"%.80s\"", texts[i].name,
					 x, y);
		if (i == 0)
			break;
	}
	return 0;
}

/* A rank's own clock, in nanoseconds, tells two runs apart as no other field does. */
static bool same_call(const struct record *a, const struct record *b)
{
	return a->comm == b->comm && a->seq == b->seq && a->kind == b->kind &&
	       a->count == b->count && a->dtype == b->dtype && a->op == b->op &&
	       a->peer == b->peer && a->enqueued_ns == b->enqueued_ns;
}

/* Ticket of the first call that both have and that differs, 0: none. */
static uint64_t differing_call(const struct evidence_rank *a, const struct evidence_rank *b)
{
	size_t i = 0, k = 0;

	while (i < a->ncalls && k < b->ncalls) {
		const struct record *x = &a->calls[i], *y = &b->calls[k];

		if (x->ticket == y->ticket && !same_call(x, y))
			return x->ticket;
		i += x->ticket <= y->ticket;
		k += y->ticket <= x->ticket;
	}
	return 0;
}

/* Rank `i` of two folders is one process, looked at twice. */
static int check_rank(const struct evidence_rank *a, const struct evidence_rank *b, int i,
		      const char *const *dirs, struct error *err)
{
	const struct rank_view *x = &a->view, *y = &b->view;
	uint64_t call;

	if ((x->pid > 0 && y->pid > 0 && x->pid != y->pid) ||
	    (x->host[0] && y->host[0] && strcmp(x->host, y->host) != 0))
		return DIFFERENT(err, dirs, "rank %d is process %d on %s and process %d on %s", i,
				 x->pid, x->host[0] ? x->host : "?", y->pid,
				 y->host[0] ? y->host : "?");
	call = differing_call(a, b);
	if (call > 0)
		return DIFFERENT(err, dirs, "call %lu of rank %d is not the same", call, i);
	return 0;
}

/* ---- joining ---- */

static void swap_texts(char **a, char **b)
{
	char *text = *a;

	*a = *b;
	*b = text;
}

/* Joins `from` into `to`; what is left in `from` is the caller's to release. */
static void join_rank(struct evidence_rank *to, struct evidence_rank *from)
{
	struct reading *counters = to->counters ? to->counters : from->counters;
	struct reading *others = to->counters ? from->counters : NULL;
	bool unread = to->unread || from->unread;
	bool parted = to->present && from->present && !to->view.lost != !from->view.lost;

	if (from->present && (!to->present || from->ncalls > to->ncalls)) {
		struct evidence_rank longer = *from;

		*from = *to;
		*to = longer;
	}
	if (parted) /* one folder is its own host's: it lived, and was not heard of */
		to->view.lost = LOST_PARTED;
	if (!to->stack || (from->stack && strlen(from->stack) > strlen(to->stack)))
		swap_texts(&to->stack, &from->stack);
	to->counters = counters;
	from->counters = others;
	to->unread = unread;
}

/* Facts that only one of them knows: the verdict's time stands on rank 0's host. */
static void join_facts(struct evidence *to, const struct evidence *from)
{
	for (size_t i = 0; i <= TIME; i++) {
		char *x = (char *)to + texts[i].at;

		if (!x[0]) /* of one field, so of one size */
			strcpy(x, (const char *)from + texts[i].at);
	}
	if (to->detect_ms <= 0)
		to->detect_ms = from->detect_ms;
	if (from->remarks[0] && !strstr(to->remarks, from->remarks))
		evidence_remark(to, "%s", from->remarks);
	to->uncounted = to->uncounted && from->uncounted;
}

/* dirs: of `to`, which is the first of its folders, and of `from`. */
static int join(struct evidence *to, struct evidence *from, const char *const *dirs,
		struct error *err)
{
	int rc = check_facts(to, from, dirs, err);

	for (int i = 0; rc == 0 && i < to->nranks && i < from->nranks; i++)
		if (to->ranks[i].present && from->ranks[i].present)
			rc = check_rank(&to->ranks[i], &from->ranks[i], i, dirs, err);
	if (rc < 0)
		return rc;
	if (from->nranks > to->nranks) {
		struct evidence_rank *more = evidence_ranks_alloc(from->nranks);

		memcpy(more, to->ranks, (size_t)to->nranks * sizeof(*more));
		free(to->ranks);
		to->ranks = more;
		to->nranks = from->nranks;
	}
	for (int i = 0; i < from->nranks; i++)
		join_rank(&to->ranks[i], &from->ranks[i]);
	if (!to->ras)
		swap_texts(&to->ras, &from->ras);
	join_facts(to, from);
	return 0;
}

static void remark_whole(struct evidence *e, size_t nfolders)
{
	int missing = 0, first = -1, wrapped = 0;
	bool *in = must(calloc((size_t)e->nranks + 1, sizeof(*in)));
	char list[96];

	for (int i = 0; i < e->nranks; i++) {
		wrapped += e->ranks[i].wrapped;
		in[i] = !e->ranks[i].present && !e->ranks[i].unread;
		if (in[i])
			first = missing++ == 0 ? i : first;
	}
	rank_list_words(in, e->nranks, list, sizeof(list));
	free(in);
	if (missing > 0 && nfolders > 1)
		evidence_remark(e, "Of %s no folder has a file: nothing is known of %s.", list,
				missing > 1 ? "them" : "it");
	else if (missing == 1)
		evidence_remark(e, "rank-%d.fr is missing: nothing is known of that rank.", first);
	else if (missing > 1)
		evidence_remark(
			e, "rank-%d.fr and %d more are missing: nothing is known of those ranks.",
			first, missing - 1);
	if (wrapped > 0)
		evidence_remark(e, "Of %d ranks only the newest calls are left.", wrapped);
}

int evidence_load_all(struct evidence *evidence, const char *const *dirs, size_t n,
		      struct error *err)
{
	int rc = read_folder(evidence, dirs[0], err);
	bool any = false;

	for (size_t i = 1; rc == 0 && i < n; i++) {
		const char *const both[] = { dirs[0], dirs[i] };
		struct evidence more;

		rc = read_folder(&more, dirs[i], err);
		if (rc == 0)
			rc = join(evidence, &more, both, err);
		evidence_release(&more);
	}
	if (rc == 0) {
		evidence_set_aside(evidence);
		remark_whole(evidence, n);
		for (int i = 0; i < evidence->nranks; i++)
			any |= evidence->ranks[i].present;
		if (!any)
			rc = error_set(err, OUTCOME_INTERNAL, -EINVAL, "%s: %s", dirs[0],
				       evidence->remarks);
	}
	if (rc < 0)
		evidence_release(evidence);
	return rc;
}
