/* nccl_log.c: NCCL's messages found in lines, whatever stands before them. */
#include "nccl_log/nccl_log.h"

#include <search.h>

#include "nccl_log/nccl_log_raw.h"

/* From this length on NCCL may have cut a message (buffer of 1024 bytes, prefix included). */
#define MESSAGE_FULL 1000

#define LINE_BYTES   (1 << 20) /* the rings of 100,000 ranks fit */
#define PIPE_BYTES   ((int64_t)4 << 30)
#define PIPE_SECONDS 20
#define PIPE_SILENT  "nothing came out of this pipe for 20 s"

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

/* The number that ends before `end`, and where it begins; NULL when there is none. */
static char *number_before(char *start, char *end, int64_t *value)
{
	char *p = end;

	while (p > start && isdigit((unsigned char)p[-1]))
		p--;
	if (p == end || end - p >= 20)
		return NULL;
	*value = strtoll(p, NULL, 10);
	return p;
}

/* Application text without a newline may stand right before the host: its known end counts. */
static const char *host_of(struct nccl_log *log, char *start, char *end, int64_t pid)
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

/* An origin without host and process: the device alone, or nothing. Devices stand for threads. Returns where it begins. */
static char *origin_of_device(struct nccl_log *log, char *begin, int64_t dev,
			      struct message *message)
{
	message->host = nccl_log_text(log, "?", 1);
	message->dev = (int)dev;
	message->tid = dev;
	return begin;
}

/* "host:pid:tid [dev]" that ends at `end`, after bracket or tid; or "[dev]" alone (NCCL 2.30). Its beginning, or NULL. */
static char *origin_before(struct nccl_log *log, char *start, char *end, struct message *message)
{
	char *p = end, *host_end;
	int64_t dev = -1;

	if (p > start && p[-1] == ']') {
		p = number_before(start, p - 1, &dev);
		if (p && p > start && p[-1] == '[' && dev <= 1 << 20 &&
		    (p == start + 1 || p[-2] == ':' ||
		     (p > start + 2 && p[-2] == ' ' && !isdigit((unsigned char)p[-3]))))
			return origin_of_device(log, p - 1, dev, message);
		if (!p || p - start < 2 || p[-1] != '[' || p[-2] != ' ' || dev > 1 << 20)
			return NULL;
		p -= 2;
	}
	p = number_before(start, p, &message->tid);
	if (!p || p == start || p[-1] != ':')
		return NULL;
	p = number_before(start, p - 1, &message->pid);
	if (!p || p == start || p[-1] != ':')
		return NULL;
	host_end = --p;
	while (p > start && (isalnum((unsigned char)p[-1]) || strchr("-_.<>", p[-1])) &&
	       host_end - p < 256)
		p--;
	message->dev = (int)dev;
	if (p == host_end) { /* a name that was taken out */
		message->host = nccl_log_text(log, "?", 1);
		return p == start || p[-1] == ' ' ? p : NULL;
	}
	message->host = host_of(log, p, host_end, message->pid);
	return host_end - strlen(message->host);
}

/* "[1,3]<stdout>:" (mpirun --tag-output), "3: " (srun -l), "rank3 | " and the like, "[rank3]:". */
int nccl_log_prefix_rank(const char *line, const char *end)
{
	int rank = -1, n = 0;
	const char *p;

	if (sscanf(line, " [%*d,%d]%n", &rank, &n) == 1 && n && rank >= 0)
		return rank;
	if (sscanf(line, " [%d] %n", &rank, &n) == 1 && n && line + n == end && rank >= 0)
		return rank;
	n = 0;
	if (sscanf(line, " %d:%n", &rank, &n) == 1 && n && line + n <= end &&
	    (line[n] == ' ' || line + n == end))
		return rank;
	for (p = line; p + 4 < end; p++) {
		n = p[4] == ' ' || p[4] == '_' || p[4] == '-';
		if (strncasecmp(p, "rank", 4) == 0 && sscanf(p + 4 + n, "%d", &rank) == 1)
			return rank >= 0 ? rank : -1;
	}
	return -1;
}

/* ---- lines -------------------------------------------------------------------------------- */

/* Finds the next message's marker, " NCCL INFO ", " NCCL WARN " or " NCCL CALL ", and whether it is a warning. */
static char *next_marker(char *line, bool *warning)
{
	while ((line = strstr(line, " NCCL ")) && strncmp(line + 6, "INFO ", 5) != 0 &&
	       strncmp(line + 6, "WARN ", 5) != 0 && strncmp(line + 6, "CALL ", 5) != 0)
		line++;
	*warning = line && line[6] == 'W';
	return line;
}

/* The word that ends at `end`: where it begins. */
static char *word_before(char *start, char *end)
{
	while (end > start && end[-1] != ' ')
		end--;
	return end;
}

/* The message whose marker is at `marker`: its origin. A warning has its place in the source before the marker, since 2.30
 * with the function in brackets. Returns where its prefix begins, or NULL. */
static char *message_origin(struct nccl_log *log, char *start, char *marker, bool warning,
			    struct message *message)
{
	char *end = marker, *where, *origin;

	if (!warning)
		return origin_before(log, start, marker, message);
	where = word_before(start, end);
	if (*where == '(' && end[-1] == ')' && where > start) {
		end = where - 1;
		where = word_before(start, end);
	}
	if (!memchr(where, ':', (size_t)(end - where)))
		return NULL;
	message->where = nccl_log_text(log, where, (size_t)(end - where));
	origin = where > start ? origin_before(log, start, where - 1, message) : NULL;
	if (!origin && isdigit((unsigned char)end[-1]) &&
	    memmem(where, (size_t)(end - where), ".c", 2))
		origin = origin_of_device(log, where, -1, message);
	return origin;
}

static void note_host(struct nccl_log *log, const struct message *message)
{
	struct place *host = nccl_place(log, message->host, 0, PLACE_HOST, 0);

	place_of(log, message, PLACE_PROCESS, 0)->seen = true;
	if (host->number == 0) {
		raw_add(log->hosts, log->n_hosts, message->host);
		host->number = log->n_hosts;
	}
}

/* The time in front of the origin as it stands there, without its brackets; "": none. */
static void take_stamp(struct nccl_log *log, struct message *message, const char *line,
		       const char *origin)
{
	const char *open = memrchr(line, '[', (size_t)(origin - line)), *close;

	message->stamp = "";
	close = open ? memchr(open, ']', (size_t)(origin - open)) : NULL;
	if (close && isfinite(nccl_log_time(open, origin)))
		message->stamp = nccl_log_text(log, open + 1, (size_t)(close - open) - 1);
}

/* Ray prints lines that several processes write once, and how many there were more. */
static int take_folded(struct nccl_log *log, char *line)
{
	char *at = strstr(line, "[repeated ");
	int times = 1;

	if (!at || sscanf(at, "[repeated %dx across cluster]", &times) < 1 || times < 1 ||
	    times > 1 << 20)
		return 1;
	while (at > line && at[-1] == ' ')
		at--;
	*at = '\0';
	log->folded += times - 1;
	return times;
}

static void take_version(struct nccl_log *log, const char *line)
{
	const char *at = strstr(line, "CCL version ");

	if (!at || at == line || !isdigit((unsigned char)at[12]))
		return;
	log->rccl |= at[-1] == 'R' || strstr(at, "+hip");
	log->version = nccl_log_text(log, at + 12, strcspn(at + 12, " \t"));
}

/* All messages of one clean line: writers that share a stream may lack a newline between them. */
static void read_line(struct nccl_log *log, char *line)
{
	struct message message = { .dev = -1 }, next;
	char *start = line, *text = NULL, *marker, *origin;
	bool warning;
	int hint = log->raw->rank_hint, times = take_folded(log, line);

	log->lines++;
	while ((marker = next_marker(start, &warning)) != NULL) {
		next = (struct message){ .dev = -1, .times = times };
		origin = message_origin(log, start, marker, warning, &next);
		start = marker + strlen(" NCCL INFO ");
		if (!origin)
			continue;
		next.hint = hint >= 0 ? hint : nccl_log_prefix_rank(line, origin);
		take_stamp(log, &next, text ? text : line, origin);
		next.may_be_cut = strlen(origin) >= MESSAGE_FULL;
		*origin = '\0';
		if (text)
			nccl_log_message(log, &message);
		note_host(log, &next);
		message = next;
		message.text = text = start;
	}
	log->nccl_lines += text != NULL;
	if (text)
		nccl_log_message(log, &message);
	else
		nccl_log_foreign(log, line);
	/* a program that prints versions has "%s" where its log has digits */
	if (!log->version)
		take_version(log, text ? text : line);
}

/* Copy without colours, carriage returns and other control characters. */
static void clean(char *to, const char *from, size_t len)
{
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
}

void nccl_log_init(struct nccl_log *log)
{
	*log = (struct nccl_log){ .raw = must(calloc(1, sizeof(*log->raw))) };
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
		clean(line, line, n);
		read_line(log, line);
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
		log->hosts, log->comms,	 log->warnings,	   log->waits, log->nics,
		log->facts, log->causes, log->causes_text, log->paths, log->settings
	};

	raw_free(log);
	for (int i = 0; i < log->n_comms; i++)
		nccl_comm_free(&log->comms[i]);
	for (int i = 0; i < log->n_warnings; i++)
		free(log->warnings[i].ranks);
	for (size_t i = 0; i < LENGTH(lists); i++)
		free(lists[i]);
	tdestroy(log->texts, free);
	*log = (struct nccl_log){ 0 };
}
