/* nccl_log.c: NCCL's messages found in lines, whatever stands before them. */
#include "nccl_log/nccl_log.h"

#include <ctype.h>
#include <errno.h>
#include <search.h>
#include <stdlib.h>
#include <string.h>

#include "nccl_log/nccl_log_raw.h"
#include "base/parse.h"

/* NCCL's own lines have at most 1024 bytes; a launcher's prefix and the application's text before
 * them come on top. */
#define LINE_MAX_BYTES 65536
/* From this length on NCCL may have cut a message (buffer of 1024 bytes, prefix included). */
#define MESSAGE_FULL 1000

/* ---- texts and arrays --------------------------------------------------------------------- */

static int text_compare(const void *a, const void *b)
{
	return strcmp(a, b);
}

const char *nccl_log_text(struct nccl_log *log, const char *text, size_t len)
{
	char *new = malloc(len + 1), **found;

	if (!new)
		goto no_memory;
	memcpy(new, text, len);
	new[len] = '\0';
	found = tsearch(new, &log->texts, text_compare);
	if (!found)
		goto no_memory;
	if (*found != new)
		free(new);
	return *found;
no_memory:
	free(new);
	if (log->raw)
		log->raw->no_memory = true;
	return NULL;
}

void *nccl_array_room(void *array, int n, size_t size)
{
	if (n & (n - 1) || (n > 0 && n < 8))
		return array;
	return realloc(array, (n < 8 ? 8 : 2 * (size_t)n) * size);
}

void *raw_room(struct nccl_log *log, void *array, int n, size_t size)
{
	void *room = n < 1 << 29 ? nccl_array_room(array, n, size) : NULL;

	if (!room)
		log->raw->no_memory = true;
	return room ? room : array;
}

/* ---- places ------------------------------------------------------------------------------- */

static int place_compare(const void *a, const void *b)
{
	const struct place *x = a, *y = b;

	if (x->host != y->host)
		return x->host < y->host ? -1 : 1;
	if (x->pid != y->pid)
		return x->pid < y->pid ? -1 : 1;
	if (x->kind != y->kind)
		return x->kind < y->kind ? -1 : 1;
	return x->id == y->id ? 0 : x->id < y->id ? -1 : 1;
}

struct place *nccl_place_find(struct nccl_log *log, const char *host, int64_t pid,
			      enum place_kind kind, uint64_t id)
{
	struct place key = { .host = host, .pid = pid, .kind = kind, .id = id };
	struct place **found = tfind(&key, &log->raw->places, place_compare);

	return found ? *found : NULL;
}

struct place *nccl_place(struct nccl_log *log, const char *host, int64_t pid, enum place_kind kind,
			 uint64_t id)
{
	struct place *place = nccl_place_find(log, host, pid, kind, id);

	if (place)
		return place;
	place = malloc(sizeof(*place));
	if (place) {
		*place = (struct place){ .host = host,
					 .pid = pid,
					 .kind = kind,
					 .id = id,
					 .member = -1,
					 .first = -1,
					 .tuner = -1 };
		if (tsearch(place, &log->raw->places, place_compare))
			return place;
		free(place);
	}
	log->raw->no_memory = true;
	return NULL;
}

/* ---- prefixes ----------------------------------------------------------------------------- */

/* The number that ends before `end`, and where it begins; NULL when there is none. */
static char *number_before(char *start, char *end, int64_t *value)
{
	char *p = end, digits[24];
	size_t n;

	while (p > start && isdigit((unsigned char)p[-1]))
		p--;
	n = (size_t)(end - p);
	if (n == 0 || n >= sizeof(digits) - 4)
		return NULL;
	memcpy(digits, p, n);
	digits[n] = '\0';
	*value = strtoll(digits, NULL, 10);
	return p;
}

static bool host_letter(char c)
{
	return isalnum((unsigned char)c) || c == '-' || c == '_' || c == '.';
}

/* Application text without a newline may stand right before the host: the host is then the end of
 * the word that is known as this process's. */
static const char *host_of(struct nccl_log *log, char *start, char *end, int64_t pid)
{
	size_t len = (size_t)(end - start), known;
	const char *host = nccl_log_text(log, start, len);

	if (!host || nccl_place_find(log, host, pid, PLACE_PROCESS, 0))
		return host;
	for (int i = 0; i < log->n_hosts; i++) {
		known = strlen(log->hosts[i]);
		if (known < len && strncmp(end - known, log->hosts[i], known) == 0 &&
		    nccl_place_find(log, log->hosts[i], pid, PLACE_PROCESS, 0))
			return log->hosts[i];
	}
	return host;
}

/* "host:pid:tid [dev]" that ends at `end` (after the bracket, or after the tid). Returns where it
 * begins, or NULL. */
static char *origin_before(struct nccl_log *log, char *start, char *end, struct message *message)
{
	char *p = end, *host_end;
	int64_t dev = -1;

	if (p > start && p[-1] == ']') {
		p = number_before(start, p - 1, &dev);
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
	while (p > start && host_letter(p[-1]) && host_end - p < 256)
		p--;
	if (p == host_end)
		return NULL;
	message->dev = (int)dev;
	message->host = host_of(log, p, host_end, message->pid);
	return message->host ? host_end - strlen(message->host) : NULL;
}

/* The rank in a launcher's prefix: "[1,3]<stdout>:" (mpirun --tag-output), "3: " (srun -l),
 * "rank3 | " and the like, "[rank3]:"; -1 for none. */
static int prefix_rank(const char *line, const char *end)
{
	int job, rank = -1;
	const char *p;

	if (nccl_match(line, " [%d,%d]", &job, &rank) && rank >= 0)
		return rank;
	p = nccl_match(line, " %d:", &rank);
	if (p && p <= end && (*p == ' ' || p == end))
		return rank;
	for (p = line; p + 4 < end; p++)
		if (strncasecmp(p, "rank", 4) == 0 &&
		    nccl_match(p + 4 + (p[4] == ' ' || p[4] == '_' || p[4] == '-'), "%d", &rank))
			return rank >= 0 ? rank : -1;
	return -1;
}

/* ---- lines -------------------------------------------------------------------------------- */

/* Finds the next message's marker, and whether it is a warning. */
static char *next_marker(char *line, bool *warning, size_t *len)
{
	char *info = strstr(line, " NCCL INFO "), *warn = strstr(line, " NCCL WARN ");

	*warning = warn && (!info || warn < info);
	*len = strlen(" NCCL INFO ");
	return *warning ? warn : info;
}

/* The message whose marker is at `marker`: its origin. Returns where its prefix begins, or NULL. */
static char *message_origin(struct nccl_log *log, char *start, char *marker, bool warning,
			    struct message *message)
{
	char *where = marker;

	if (!warning)
		return origin_before(log, start, marker, message);
	while (where > start && where[-1] != ' ')
		where--;
	if (where == start || !memchr(where, ':', (size_t)(marker - where)))
		return NULL;
	message->where = nccl_log_text(log, where, (size_t)(marker - where));
	return message->where ? origin_before(log, start, where - 1, message) : NULL;
}

static bool note_host(struct nccl_log *log, const struct message *message)
{
	if (nccl_place_find(log, message->host, message->pid, PLACE_PROCESS, 0))
		return true;
	if (!nccl_place(log, message->host, message->pid, PLACE_PROCESS, 0))
		return false;
	for (int i = 0; i < log->n_hosts; i++)
		if (log->hosts[i] == message->host)
			return true;
	return raw_add(log, log->hosts, log->n_hosts, message->host);
}

/* All messages of one clean line: writers that share a stream may lack a newline between them. */
static void read_line(struct nccl_log *log, char *line)
{
	struct message message = { .dev = -1 }, next;
	char *start = line, *text = NULL, *marker, *origin;
	size_t len;
	bool warning;
	int hint = log->raw->rank_hint;

	log->lines++;
	log->raw->file_line++;
	while ((marker = next_marker(start, &warning, &len)) != NULL) {
		next = (struct message){ .dev = -1 };
		origin = message_origin(log, start, marker, warning, &next);
		start = marker + len;
		if (!origin)
			continue;
		next.hint = hint >= 0 ? hint : prefix_rank(line, origin);
		next.may_be_cut = strlen(origin) >= MESSAGE_FULL;
		*origin = '\0';
		if (text)
			nccl_log_message(log, &message);
		if (!note_host(log, &next))
			return;
		message = next;
		message.text = text = start;
	}
	if (text)
		nccl_log_message(log, &message);
	else if (!log->version && (text = strstr(line, "NCCL version ")) != NULL)
		log->version = nccl_log_text(log, text + 13, strcspn(text + 13, " \t"));
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

int nccl_log_init(struct nccl_log *log, struct error *err)
{
	*log = (struct nccl_log){ 0 };
	log->raw = calloc(1, sizeof(*log->raw));
	if (log->raw)
		log->raw->line = malloc(LINE_MAX_BYTES + 1);
	log->keep = NCCL_LOG_CALLS;
	if (log->raw && log->raw->line)
		return 0;
	nccl_log_release(log);
	return error_set(err, OUTCOME_INTERNAL, -ENOMEM, "no memory for an NCCL log");
}

/* One line as it stands, of any length. */
static void take_line(struct nccl_log *log, const char *data, size_t len)
{
	if (len > LINE_MAX_BYTES) {
		log->cut++;
		len = LINE_MAX_BYTES;
	}
	clean(log->raw->line, data, len);
	read_line(log, log->raw->line);
	if (log->lines >= log->raw->compact_at)
		nccl_log_compact(log);
}

/* Lines from here on are of `name`. */
static void begin_file(struct nccl_log *log, const char *name, int rank_hint)
{
	char known[1024];

	clean(known, name, strnlen(name, sizeof(known) - 1));
	log->raw->file = nccl_log_text(log, known, strlen(known));
	log->raw->file_line = 0;
	log->raw->rank_hint = rank_hint;
}

int nccl_log_read_stream(struct nccl_log *log, FILE *in, const char *name, int rank_hint,
			 struct error *err)
{
	char *line;
	size_t n = 0;
	int c = 0;

	if (!log->raw)
		return error_set(err, OUTCOME_INTERNAL, -EINVAL, "an NCCL log that is finished");
	line = malloc(LINE_MAX_BYTES + 1);
	begin_file(log, name, rank_hint);
	while (line && c != EOF && !log->raw->no_memory) {
		c = getc_unlocked(in);
		if (c != EOF && c != '\n') {
			if (n <= LINE_MAX_BYTES) /* one byte more says that it is cut */
				line[n++] = (char)c;
			continue;
		}
		if (c == '\n' || n > 0)
			take_line(log, line, n);
		n = 0;
	}
	free(line);
	if (!line || log->raw->no_memory)
		return error_set(err, OUTCOME_INTERNAL, -ENOMEM, "no memory for an NCCL log");
	if (ferror(in))
		return error_set(err, OUTCOME_USAGE, -EIO, "%s: can't be read", name);
	return 0;
}

int nccl_log_read(struct nccl_log *log, const char *data, size_t len, int rank_hint,
		  struct error *err)
{
	FILE *in = fmemopen((void *)(uintptr_t)data, len, "r");
	int rc;

	if (!in)
		return error_set(err, OUTCOME_INTERNAL, -errno, "an NCCL log in memory");
	rc = nccl_log_read_stream(log, in, "memory", rank_hint, err);
	fclose(in);
	return rc;
}

int nccl_log_read_file(struct nccl_log *log, const char *path, int rank_hint, struct error *err)
{
	bool pipe = strcmp(path, "-") == 0;
	FILE *in = pipe ? stdin : fopen(path, "re");
	int rc;

	if (!in)
		return error_set(err, OUTCOME_USAGE, -errno, "%s: %s", path, strerror(errno));
	rc = nccl_log_read_stream(log, in, pipe ? "stdin" : path, rank_hint, err);
	if (!pipe)
		fclose(in);
	return rc;
}

int nccl_log_finish(struct nccl_log *log, struct error *err)
{
	int rc = log->raw ? nccl_log_join(log) : -EINVAL;

	if (rc < 0)
		return error_set(err, OUTCOME_INTERNAL, rc, "NCCL log: %s", strerror(-rc));
	nccl_log_raw_free(log);
	return 0;
}

void nccl_log_release(struct nccl_log *log)
{
	nccl_log_raw_free(log);
	for (int i = 0; i < log->n_comms; i++) {
		struct nccl_comm *comm = &log->comms[i];

		for (int r = 0; r < comm->n_rings; r++)
			free(comm->rings[r].order);
		free(comm->rings);
		free(comm->members);
		free(comm->trees);
		free(comm->links);
		free(comm->tunings);
		free(comm->graphs);
	}
	for (int i = 0; i < log->n_warnings; i++)
		free(log->warnings[i].ranks);
	free(log->hosts);
	for (int i = 0; i < log->n_members; i++)
		free(log->members[i].calls);
	free(log->members);
	free(log->comms);
	free(log->warnings);
	free(log->paths);
	free(log->settings);
	tdestroy(log->texts, free);
	*log = (struct nccl_log){ 0 };
}
