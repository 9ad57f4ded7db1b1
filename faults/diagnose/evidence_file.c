/* evidence_file.c: evidence on disk: rank-N.fr, rank-N.json and run.json, written and read. */
#include "evidence.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <jansson.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "json_value.h"

#define EVIDENCE_VERSION 1
#define EVIDENCE_RANKS	 (1 << 20)
#define JSON_BYTES	 (1 << 20) /* larger files are not ours */

static int write_whole(const char *path, const void *data, size_t bytes)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	const char *at = data;
	int rc = 0;

	if (fd < 0)
		return -errno;
	while (bytes > 0 && rc == 0) {
		ssize_t n = write(fd, at, bytes);

		if (n < 0 && errno != EINTR)
			rc = -errno;
		if (n > 0) {
			at += n;
			bytes -= (size_t)n;
		}
	}
	if (close(fd) < 0 && rc == 0)
		rc = -errno;
	return rc;
}

static int write_json(const char *path, json_t *value)
{
	int rc;

	if (!value)
		return -ENOMEM;
	rc = json_dump_file(value, path, JSON_INDENT(1)) < 0 ? -EIO : 0;
	json_decref(value);
	return rc;
}

static json_t *rank_json(int number, const struct evidence_rank *r)
{
	const struct rank_view *v = &r->view;
	char id[20] = "";
	char state[2] = { isalpha((unsigned char)r->state) ? r->state : '\0', '\0' };

	if (v->init_id) /* JSON's numbers lose bits */
		snprintf(id, sizeof(id), "%016" PRIx64, v->init_id);
	return json_pack(
		"{s:i s:i s:i s:i s:i s:i s:i s:i s:b s:b s:o s:o s:I s:I s:o s:o s:s s:o s:o "
		"s:i s:I s:I s:i s:i s:i s:o s:I}",
		"version", EVIDENCE_VERSION, "rank", number, "node", v->node, "pid", v->pid,
		"process", v->process, "status", v->status, "outcome", v->outcome, "phase",
		(int)v->phase, "waiting", v->waiting != 0, "overdue", v->overdue != 0, "waited",
		json_value_real(v->waited), "what", json_value_text(v->what), "issued",
		(json_int_t)v->issued, "completed", (json_int_t)v->completed, "host",
		json_value_text(v->host), "error", json_value_text(v->error), "state", state,
		"syscall", json_value_text(r->syscall), "cpu_share", json_value_real(r->cpu_share),
		"error_code", v->error_code, "oom_kills", (json_int_t)v->oom_kills, "netns",
		(json_int_t)r->netns, "comm_state", (int)v->comm_state, "init_rank", v->init_rank,
		"init_nranks", v->init_nranks, "init_id", json_value_text(id), "aborted_after",
		(json_int_t)v->aborted_after);
}

int evidence_save(const struct evidence *evidence, const struct record_memory *const *memories,
		  const char *dir, struct error *err)
{
	char path[4096];
	int rc;

	snprintf(path, sizeof(path), "%s/run.json", dir);
	rc = write_json(path,
			json_pack("{s:i s:i s:o s:o s:o}", "version", EVIDENCE_VERSION, "nranks",
				  evidence->nranks, "backend", json_value_text(evidence->backend),
				  "command", json_value_text(evidence->command), "remarks",
				  json_value_text(evidence->remarks)));
	for (int i = 0; rc == 0 && i < evidence->nranks; i++) {
		if (!evidence->ranks[i].present)
			continue;
		snprintf(path, sizeof(path), "%s/rank-%d.json", dir, i);
		rc = write_json(path, rank_json(i, &evidence->ranks[i]));
		if (rc < 0 || !memories || !memories[i])
			continue;
		snprintf(path, sizeof(path), "%s/rank-%d.fr", dir, i);
		rc = write_whole(path, memories[i], sizeof(*memories[i]));
	}
	if (rc < 0)
		return error_set(err, OUTCOME_INTERNAL, rc, "cannot save evidence to %s: %s", path,
				 strerror(-rc));
	return 0;
}

__attribute__((format(printf, 2, 3))) static void remark(struct evidence *e, const char *fmt, ...)
{
	size_t at = strlen(e->remarks);
	va_list args;

	if (at + 160 > sizeof(e->remarks)) {
		if (at + 16 < sizeof(e->remarks) && !strstr(e->remarks, "And more."))
			strcat(e->remarks, " And more.");
		return;
	}
	if (at > 0)
		e->remarks[at++] = ' ';
	va_start(args, fmt);
	vsnprintf(e->remarks + at, sizeof(e->remarks) - at - 16, fmt, args);
	va_end(args);
}

/* Whole file into memory of the caller's if it has exactly `bytes`. */
static int read_whole(const char *path, void *to, size_t bytes)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	struct stat st;
	size_t have = 0;
	int rc = 0;

	if (fd < 0)
		return -errno;
	if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || (uint64_t)st.st_size != bytes)
		rc = -EMSGSIZE;
	while (rc == 0 && have < bytes) {
		ssize_t n = read(fd, (char *)to + have, bytes - have);

		if (n == 0)
			rc = -EMSGSIZE;
		else if (n > 0)
			have += (size_t)n;
		else if (errno != EINTR)
			rc = -errno;
	}
	close(fd);
	return rc;
}

static const char *memory_fault(const struct record_memory *memory, int number)
{
	const struct record_header *h = &memory->header;

	if (memcmp(h->magic, RECORD_MAGIC, sizeof(h->magic)) != 0)
		return "is no flight recording";
	if (h->version != RECORD_VERSION)
		return "has another format version";
	if (h->header_bytes != sizeof(*h) || h->record_bytes != sizeof(struct record) ||
	    h->ring_records != RECORD_RING)
		return "has another layout";
	if (h->rank != -1 && h->rank != number)
		return "says that it is another rank's";
	return NULL;
}

static void load_memory(struct evidence *e, int number, const char *path,
			struct record_memory *memory)
{
	struct evidence_rank *rank = &e->ranks[number];
	const char *fault;
	uint64_t expected;

	if (read_whole(path, memory, sizeof(*memory)) < 0) {
		remark(e, "rank-%d.fr cannot be read or has the wrong size.", number);
		return;
	}
	fault = memory_fault(memory, number);
	if (fault) {
		remark(e, "rank-%d.fr %s.", number, fault);
		return;
	}
	if (evidence_take_calls(rank, memory) < 0) {
		remark(e, "No memory for the records of rank %d.", number);
		return;
	}
	memory->header.wait.what[sizeof(memory->header.wait.what) - 1] = '\0';
	view_read(&rank->view, memory, 0, 0); /* deadlines are the JSON file's to tell */
	rank->present = true;
	expected = rank->view.issued < RECORD_RING ? rank->view.issued : RECORD_RING;
	if (rank->ncalls < expected)
		remark(e, "Rank %d: %zu of %zu records are unsound.", number,
		       (size_t)expected - rank->ncalls, (size_t)expected);
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

/* A number within bounds, `unknown` for anything else. */
static int64_t get_int(const json_t *from, const char *key, int64_t low, int64_t high,
		       int64_t unknown)
{
	const json_t *value = json_object_get(from, key);
	int64_t n = json_integer_value(value);

	return json_is_integer(value) && n >= low && n <= high ? n : unknown;
}

static double get_real(const json_t *from, const char *key, double unknown)
{
	const json_t *value = json_object_get(from, key);
	double x = json_number_value(value);

	return json_is_number(value) && isfinite(x) && x >= 0 ? x : unknown;
}

static void get_text(const json_t *from, const char *key, char *to, size_t len)
{
	const char *text = json_string_value(json_object_get(from, key));

	snprintf(to, len, "%s", text ? text : "");
}

static void load_init(struct rank_view *v, const json_t *j)
{
	char id[20];

	v->error_code = (int32_t)get_int(j, "error_code", -4095, 0, 0);
	v->comm_state = (uint32_t)get_int(j, "comm_state", 0, RECORD_COMM_ABORTED, 0);
	v->init_rank = (int32_t)get_int(j, "init_rank", INT32_MIN, INT32_MAX, -1);
	v->init_nranks = (int32_t)get_int(j, "init_nranks", INT32_MIN, INT32_MAX, -1);
	v->aborted_after = (uint64_t)get_int(j, "aborted_after", 0, INT64_MAX, 0);
	get_text(j, "init_id", id, sizeof(id));
	v->init_id = strtoull(id, NULL, 16);
}

static void load_rank_json(struct evidence *e, int number, const char *path)
{
	struct evidence_rank *rank = &e->ranks[number];
	struct rank_view *v = &rank->view;
	json_t *j = load_json(path);
	char state[2];

	if (!j || get_int(j, "rank", 0, EVIDENCE_RANKS, -1) != number) {
		remark(e, "rank-%d.json is not a sound state of that rank.", number);
		json_decref(j);
		return;
	}
	v->process = (int32_t)get_int(j, "process", PROCESS_ALIVE, PROCESS_KILLED, PROCESS_ALIVE);
	v->status = (int32_t)get_int(j, "status", -1, 255, -1);
	v->pid = (int32_t)get_int(j, "pid", 1, INT32_MAX, 0);
	v->overdue = json_is_true(json_object_get(j, "overdue"));
	v->waited = get_real(j, "waited", 0);
	v->oom_kills = (uint32_t)get_int(j, "oom_kills", 0, UINT32_MAX, 0);
	rank->netns = (uint64_t)get_int(j, "netns", 0, INT64_MAX, 0);
	if (!rank->present) { /* no recording: the rank's own words are here alone */
		v->node = (int32_t)get_int(j, "node", -1, EVIDENCE_RANKS, -1);
		v->outcome = (int32_t)get_int(j, "outcome", -1, 255, -1);
		v->phase = (uint32_t)get_int(j, "phase", 0, 255, 0);
		v->waiting = json_is_true(json_object_get(j, "waiting"));
		v->issued = (uint64_t)get_int(j, "issued", 0, INT64_MAX, 0);
		v->completed = (uint64_t)get_int(j, "completed", 0, INT64_MAX, 0);
		get_text(j, "what", v->what, sizeof(v->what));
		get_text(j, "host", v->host, sizeof(v->host));
		get_text(j, "error", v->error, sizeof(v->error));
		load_init(v, j);
	}
	get_text(j, "state", state, sizeof(state));
	rank->state = state[0];
	get_text(j, "syscall", rank->syscall, sizeof(rank->syscall));
	rank->cpu_share = get_real(j, "cpu_share", -1);
	rank->present = true;
	json_decref(j);
}

static void load_run(struct evidence *e, const char *dir)
{
	char path[4096];
	json_t *j;

	snprintf(path, sizeof(path), "%s/run.json", dir);
	j = load_json(path);
	if (!j) {
		remark(e, "run.json is missing or unsound.");
		return;
	}
	e->nranks = (int)get_int(j, "nranks", 0, EVIDENCE_RANKS, 0);
	get_text(j, "backend", e->backend, sizeof(e->backend));
	get_text(j, "command", e->command, sizeof(e->command));
	get_text(j, "remarks", e->remarks, sizeof(e->remarks));
	json_decref(j);
}

/* N of a name "rank-N.ENDING" that evidence_save would write, else -1. */
static int name_rank(const char *name, const char *ending)
{
	char back[32];
	int number;

	if (sscanf(name, "rank-%7d", &number) != 1 || number < 0)
		return -1;
	snprintf(back, sizeof(back), "rank-%d.%s", number, ending);
	return strcmp(name, back) == 0 && number <= EVIDENCE_RANKS ? number : -1;
}

static int highest_rank(const char *dir)
{
	DIR *d = opendir(dir);
	struct dirent *entry;
	int highest = -1;

	if (!d)
		return -errno - 1;
	while ((entry = readdir(d))) {
		int fr = name_rank(entry->d_name, "fr"), js = name_rank(entry->d_name, "json");
		int number = fr > js ? fr : js;

		if (number > highest)
			highest = number;
	}
	closedir(d);
	return highest;
}

static void load_ranks(struct evidence *e, const char *dir, struct record_memory *memory)
{
	char path[4096];
	int missing = 0;

	for (int i = 0; i < e->nranks; i++) {
		struct evidence_rank *rank = &e->ranks[i];

		rank->view = (struct rank_view){ .rank = i, .outcome = -1, .node = -1 };
		rank->cpu_share = -1;
		snprintf(path, sizeof(path), "%s/rank-%d.fr", dir, i);
		if (access(path, F_OK) == 0)
			load_memory(e, i, path, memory);
		else if (missing++ == 0)
			remark(e, "rank-%d.fr is missing.", i);
		snprintf(path, sizeof(path), "%s/rank-%d.json", dir, i);
		if (access(path, F_OK) == 0)
			load_rank_json(e, i, path);
		else
			remark(e, "rank-%d.json is missing: how that process was is not known.", i);
		rank->view.rank = i;
	}
	if (missing > 1)
		remark(e, "%d recordings are missing in all.", missing);
}

int evidence_load(struct evidence *evidence, const char *dir, struct error *err)
{
	struct record_memory *memory;
	int highest = highest_rank(dir);
	bool any = false;

	memset(evidence, 0, sizeof(*evidence));
	if (highest < -1)
		return error_set(err, OUTCOME_INTERNAL, highest + 1, "%s: %s", dir,
				 strerror(-highest - 1));
	if (highest < 0)
		return error_set(err, OUTCOME_INTERNAL, -ENOENT, "%s holds no evidence (rank-N.fr)",
				 dir);
	load_run(evidence, dir);
	if (evidence->nranks < highest + 1)
		evidence->nranks = highest + 1;
	evidence->ranks = calloc((size_t)evidence->nranks, sizeof(*evidence->ranks));
	memory = aligned_alloc(64, sizeof(*memory));
	if (!evidence->ranks || !memory) {
		free(memory);
		evidence_release(evidence);
		return error_set(err, OUTCOME_INTERNAL, -ENOMEM, "no memory for evidence");
	}
	load_ranks(evidence, dir, memory);
	free(memory);
	for (int i = 0; i < evidence->nranks; i++)
		any = any || evidence->ranks[i].present;
	if (!any) {
		error_set(err, OUTCOME_INTERNAL, -EINVAL, "%s: %s", dir, evidence->remarks);
		evidence_release(evidence);
		return -EINVAL;
	}
	return 0;
}
