/* nccl_log.c: NCCL's messages found in lines, whatever stands before them. */
#include "nccl_log/nccl_log.h"

#include <search.h>

#include "nccl_log/nccl_log_raw.h"

/* From this length on NCCL may have cut a message (buffer of 1024 bytes, prefix included). */
#define MESSAGE_FULL 1000

#define LINE_BYTES   (64 << 10)
#define PIPE_BYTES   ((int64_t)4 << 30)
#define PIPE_SECONDS 20
#define PIPE_SILENT  "nothing came out of this pipe for 20 s"

#define LEAD_BYTES 1024 /* of what stands before a message are looked at */

/* ---- texts and places --------------------------------------------------------------------- */

static int text_compare(const void *a, const void *b)
{
	return strcmp(a, b);
}

/* A short hash of bytes, for the reader's caches. */
static size_t hash_of(size_t hash, const void *bytes, size_t len)
{
	const unsigned char *p = bytes;

	while (len-- > 0)
		hash = (hash ^ *p++) * 16777619u;
	return hash % NCCL_CACHE;
}

const char *nccl_log_text(struct nccl_log *log, const char *text, size_t len)
{
	const char **cached = log->raw ? &log->raw->texts_cache[hash_of(len, text, len)] : NULL;
	char *new, **found;

	if (cached && *cached && strncmp(*cached, text, len) == 0 && !(*cached)[len])
		return *cached;
	new = must(strndup(text, len));
	found = must(tsearch(new, &log->texts, text_compare));
	if (*found != new)
		free(new);
	if (cached)
		*cached = *found;
	return *found;
}

const char *found_text(struct nccl_log *log, const struct found *found, enum row_field field)
{
	struct span span = found_span(found, field);

	return nccl_log_text(log, span.at ? span.at : "", span.len);
}

int nccl_log_read_lines(struct nccl_log *log, const char *path, struct error *err)
{
	return rows_read(log->rows, path, err);
}

bool nccl_has(const char *text, const char *words)
{
	size_t left = strlen(text);

	for (size_t n; *words; words += n + (words[n] == '|')) {
		n = strcspn(words, "|");
		if (memmem(text, left, words, n))
			return true;
	}
	return false;
}

static int place_compare(const void *a, const void *b)
{
	const struct place *x = a, *y = b;

	return BY(x->host, y->host) ?: BY(x->pid, y->pid) ?: BY(x->kind, y->kind) ?: BY(x->id, y->id);
}

struct place *nccl_place(struct nccl_log *log, const char *host, int64_t pid, enum place_kind kind,
			 uint64_t id)
{
	struct place key = { .host = host, .pid = pid, .kind = kind, .id = id };
	struct place **cached =
		&log->raw->places_cache[hash_of((uintptr_t)host + (size_t)kind,
						&(uint64_t[]){ (uint64_t)pid, id }, 16)];
	struct place **found;

	if (*cached && place_compare(*cached, &key) == 0)
		return *cached;
	found = tfind(&key, &log->raw->places, place_compare);
	*cached = found ? *found : must(malloc(sizeof(key)));
	if (!found) {
		**cached = key;
		must(tsearch(*cached, &log->raw->places, place_compare));
	}
	return *cached;
}

/* ---- prefixes ----------------------------------------------------------------------------- */

/* Application text without a newline may stand right before the host: its known end counts. */
static const char *host_of(struct nccl_log *log, const char *start, const char *end, int64_t pid)
{
	size_t len = (size_t)(end - start), known;
	const char *host = nccl_log_text(log, start, len);

	if (nccl_place(log, host, pid, PLACE_PROCESS, 0)->seen)
		return host;
	for (int i = 0; i < log->n_hosts; i++) {
		known = strlen(log->hosts[i]);
		if (known < len && strncmp(end - known, log->hosts[i], known) == 0 &&
		    nccl_place(log, log->hosts[i], pid, PLACE_PROCESS, 0)->seen)
			return log->hosts[i];
	}
	return host;
}

double nccl_log_time(struct nccl_log *log, const char *text, size_t len, struct span *stamp)
{
	static const enum row_field fields[] = { FIELD_month, FIELD_day, FIELD_hour, FIELD_minute };
	static const double units[] = { 31, 24, 60, 60 };
	struct found found;
	double seconds = 0;

	if (stamp)
		*stamp = (struct span){ 0 };
	if (!memchr(text, '[', len) || !rows_find(log->rows, ROWS_time, text, len, 0, &found))
		return NAN;
	for (size_t i = 0; i < LENGTH(fields); i++)
		seconds = (seconds + (double)found_number(&found, fields[i], 10, 0)) * units[i];
	if (stamp)
		*stamp = found_span(&found, FIELD_stamp);
	return seconds + found_real(&found, FIELD_second, 0);
}

int nccl_log_prefix_rank(struct nccl_log *log, const char *line, const char *end)
{
	struct found found;
	int64_t rank;

	if (end <= line || !rows_find(log->rows, ROWS_rank, line, (size_t)(end - line), 0, &found))
		return -1;
	rank = found_number(&found, FIELD_rank, 10, -1);
	return rank > INT_MAX ? -1 : (int)rank;
}

#define HOST_BYTES 256

/* Takes a message's origin. Returns where the origin begins. Without host and process the device stands for a thread. */
static char *take_origin(struct nccl_log *log, char *start, const struct found *found,
			 struct message *message)
{
	struct span host = found_span(found, FIELD_host), file = found_span(found, FIELD_file);
	size_t cut = host.len > HOST_BYTES ? host.len - HOST_BYTES : 0;

	message->dev = (int)found_number(found, FIELD_dev, 10, -1);
	message->pid = found_number(found, FIELD_pid, 10, 0);
	message->tid = found_number(found, FIELD_tid, 10, message->dev);
	message->where = file.at ? nccl_log_text(log, file.at, file.len) : NULL;
	if (!host.at) {
		message->host = nccl_log_text(log, "?", 1);
		return start + found->at[0];
	}
	message->host = host_of(log, host.at + cut, host.at + host.len, message->pid);
	return start + (host.at - start) + host.len - strlen(message->host);
}

/* ---- lines -------------------------------------------------------------------------------- */

/* The next message of a line from *start on, which is moved to its text. Returns where its origin begins; NULL: there is none. */
static char *next_message(struct nccl_log *log, char **start, const char *end,
			  struct message *message)
{
	struct found found;
	char *from = *start, *origin = NULL;

	while (!origin) {
		size_t len, skipped;

		if (!rows_find(log->rows, ROWS_marker, from, (size_t)(end - from), 0, &found))
			return NULL;
		len = found.at[1]; /* the blank behind the marker is no part of the origin */
		skipped = len > LEAD_BYTES ? len - LEAD_BYTES : 0;
		if (rows_find(log->rows, ROWS_origin, from + skipped, len - 1 - skipped, 0, &found))
			origin = take_origin(log, from + skipped, &found, message);
		from += len;
	}
	*start = from;
	return origin;
}

static void note_host(struct nccl_log *log, const struct message *message)
{
	struct place *host = nccl_place(log, message->host, 0, PLACE_HOST, 0);
	struct place *process = place_of(log, message, PLACE_PROCESS, 0);

	log->raw->processes += !process->seen;
	process->seen = true;
	if (host->number == 0) {
		raw_add(log->hosts, log->n_hosts, message->host);
		host->number = log->n_hosts;
	}
}

/* The rank and the last time that stand before the origin. */
static void take_lead(struct nccl_log *log, const char *line, const char *origin,
		      struct message *message)
{
	const char *from = origin - line > LEAD_BYTES ? origin - LEAD_BYTES : line;
	const char *open = memrchr(from, '[', (size_t)(origin - from));

	message->hint = log->raw->rank_hint;
	if (message->hint < 0)
		message->hint = nccl_log_prefix_rank(log, line, origin);
	message->time = NAN;
	if (open)
		message->time = nccl_log_time(log, open, (size_t)(origin - open), &message->stamp);
}

/* Ray prints lines that several processes write once, and how many there were more. Returns the line's bytes without that. */
static size_t take_folded(struct nccl_log *log, char *line, size_t len, int *times)
{
	struct found found;
	int64_t said;

	*times = 1;
	if (!rows_find(log->rows, ROWS_fold, line, len, 0, &found))
		return len;
	said = found_number(&found, FIELD_times, 10, 1);
	if (said < 1 || said > 1 << 20)
		return len;
	for (len = found.at[0]; len > 0 && line[len - 1] == ' '; len--)
		;
	line[len] = '\0';
	*times = (int)said;
	log->folded += said - 1;
	return len;
}

/* Returns true if the line says a version as NCCL itself prints it, with the toolkit's. */
static bool take_version(struct nccl_log *log, const char *line, size_t len)
{
	struct span version;
	struct found found;

	if ((log->version && !memmem(line, len, "CCL version ", 12)) ||
	    !rows_find(log->rows, ROWS_version, line, len < LEAD_BYTES ? len : LEAD_BYTES, 0,
		       &found))
		return false;
	version = found_span(&found, FIELD_version);
	if (!log->version) {
		log->rccl |= found_number(&found, FIELD_rccl, 10, 0) == 1;
		log->version = nccl_log_text(log, version.at, version.len);
	}
	return memchr(version.at, '+', version.len) != NULL;
}

/* Takes the beginning of another process' prefix, which tore the text, off its end. */
static void cut_torn(const struct nccl_log *log, const char *text, char *end)
{
	char *run = end, *colon;

	while (run > text && (isdigit((unsigned char)run[-1]) || run[-1] == ':'))
		run--;
	colon = memchr(run, ':', (size_t)(end - run));
	for (int i = 0; colon && i < log->n_hosts; i++) {
		size_t len = strlen(log->hosts[i]);

		if ((size_t)(colon - text) < len || strncmp(colon - len, log->hosts[i], len) != 0)
			continue;
		for (colon -= len; colon > text && colon[-1] == ' '; colon--)
			;
		*colon = '\0';
		return;
	}
}

/* All messages of one clean line: writers that share a stream may lack a newline between them. */
static void read_line(struct nccl_log *log, char *line, size_t len)
{
	struct message message = { .dev = -1 }, next;
	char *start = line, *text = NULL, *origin, *end;
	int times;

	end = line + take_folded(log, line, len, &times);
	log->lines++;
	for (;;) {
		next = (struct message){ .times = times };
		origin = next_message(log, &start, end, &next);
		if (!origin)
			break;
		take_lead(log, line, origin, &next);
		next.may_be_cut = end - origin >= MESSAGE_FULL;
		*origin = '\0';
		if (text) {
			cut_torn(log, text, origin);
			nccl_log_message(log, &message);
		}
		note_host(log, &next);
		message = next;
		message.text = text = start;
	}
	if (text)
		nccl_log_message(log, &message);
	else
		nccl_log_foreign(log, line, (size_t)(end - line));
	if (text && !log->version)
		take_version(log, text, strlen(text));
	log->nccl_lines += text || (!log->raw->binary && take_version(log, line, strlen(line)));
}

/* Copy without colours, carriage returns and other control characters. Returns its bytes. */
static size_t clean(char *to, const char *from, size_t len)
{
	const char *begin = to;

	for (size_t i = 0; i < len; i++) {
		unsigned char c = (unsigned char)from[i];

		if (c == 0x1b && i + 1 < len && from[i + 1] == '[') {
			for (i += 2; i < len && !isalpha((unsigned char)from[i]); i++)
				;
			continue;
		}
		if (c >= ' ' && c != 0x7f)
			*to++ = (char)c;
		else if (c == '\t')
			*to++ = ' ';
	}
	*to = '\0';
	return (size_t)(to - begin);
}

void nccl_log_init(struct nccl_log *log)
{
	*log = (struct nccl_log){ .raw = must(calloc(1, sizeof(*log->raw))),
				  .rows = must(malloc(sizeof(*log->rows))) };
	log->raw->ras.host = "";
	log->raw->ras.rank = -1;
	rows_init(log->rows);
	nccl_causes_init(log);
}

static bool can_read(int fd, int seconds)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };

	return poll(&p, 1, seconds * 1000) > 0;
}

/* The next byte, -1: there is none. A pipe that says nothing for long, and one that never ends, are errors. */
static int next_byte(FILE *in, int64_t *left, const char **wrong)
{
	int c = getc_unlocked(in);

	while (c < 0 && ferror(in) && errno == EAGAIN && can_read(fileno(in), PIPE_SECONDS)) {
		clearerr(in);
		c = getc_unlocked(in);
	}
	if (c < 0 && ferror(in))
		*wrong = errno == EAGAIN ? PIPE_SILENT : "can't be read";
	else if (c >= 0 && --*left < 0)
		*wrong = "is more than 4 GiB, or has no end";
	return *wrong ? -1 : c;
}

/* A line to `line`, of one that is too long its beginning. Returns its bytes, 0: there is none. */
static size_t next_line(FILE *in, char *line, int64_t *left, const char **wrong)
{
	size_t n = 0;
	int c;

	while ((c = next_byte(in, left, wrong)) >= 0) {
		if (n < LINE_BYTES)
			line[n++] = (char)c;
		if (c == '\n')
			break;
	}
	line[n] = '\0';
	return n;
}

int nccl_log_read_stream(struct nccl_log *log, FILE *in, const char *name, int rank_hint,
			 struct error *err)
{
	char *line = must(malloc(LINE_BYTES + 1));
	struct stat st;
	int64_t left = fstat(fileno(in), &st) == 0 && S_ISREG(st.st_mode) ? INT64_MAX : PIPE_BYTES;
	const char *wrong = NULL;
	size_t n;

	log->raw->rank_hint = rank_hint;
	log->raw->binary = false;
	while (!wrong && (n = next_line(in, line, &left, &wrong)) > 0) {
		log->raw->binary |= memchr(line, '\0', n) != NULL;
		read_line(log, line, clean(line, line, n));
	}
	free(line);
	return wrong ? error_set(err, OUTCOME_USAGE, -EIO, "%s: %s", name, wrong) : 0;
}

/* Anything but a pipe is not waited for. */
static FILE *open_log(const char *path, const char **why)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	struct stat st;

	*why = fd < 0 || fstat(fd, &st) < 0			     ? strerror(errno)
	       : !S_ISREG(st.st_mode) && !S_ISFIFO(st.st_mode)	     ? "is no file or pipe"
	       : S_ISFIFO(st.st_mode) && !can_read(fd, PIPE_SECONDS) ? PIPE_SILENT
								     : NULL;
	if (!*why)
		return must(fdopen(fd, "r"));
	if (fd >= 0)
		close(fd);
	return NULL;
}

int nccl_log_read_file(struct nccl_log *log, const char *path, int rank_hint, struct error *err)
{
	bool pipe = strcmp(path, "-") == 0;
	const char *why = NULL;
	FILE *in = pipe ? stdin : open_log(path, &why);
	int rc;

	if (!in)
		return error_set(err, OUTCOME_USAGE, -EINVAL, "%s: %s", path, why);
	rc = nccl_log_read_stream(log, in, pipe ? "stdin" : path, rank_hint, err);
	if (!pipe)
		fclose(in);
	return rc;
}

static void raw_free(struct nccl_log *log)
{
	if (!log->raw)
		return;
	tdestroy(log->raw->places, free);
	nccl_torch_release(log->raw);
	free(log->raw->torn);
	free(log->raw);
	log->raw = NULL;
}

void nccl_log_finish(struct nccl_log *log)
{
	nccl_log_join(log);
	raw_free(log);
}

void nccl_comm_free(struct nccl_comm *comm)
{
	for (int r = 0; r < comm->n_rings; r++)
		free(comm->rings[r].order);
	for (int m = 0; m < comm->n_members; m++) {
		free(comm->members[m]->calls);
		free(comm->members[m]);
	}
	free(comm->rings);
	free(comm->members);
	free(comm->edges);
	free(comm->links);
}

void nccl_log_release(struct nccl_log *log)
{
	void *const lists[] = {
		log->hosts, log->comms, log->warnings, log->waits, log->nics,
		log->facts, log->ras,	log->rows,     log->paths, log->settings,
	};

	raw_free(log);
	nccl_causes_release(log);
	rows_release(log->rows);
	for (int i = 0; i < log->n_comms; i++)
		nccl_comm_free(&log->comms[i]);
	for (int i = 0; i < log->n_warnings; i++) {
		free(log->warnings[i].origins);
		free(log->warnings[i].ranks);
	}
	for (int i = 0; i < log->n_ras; i++)
		free(log->ras[i].ranks);
	for (size_t i = 0; i < LENGTH(lists); i++)
		free(lists[i]);
	tdestroy(log->texts, free);
	*log = (struct nccl_log){ 0 };
}
