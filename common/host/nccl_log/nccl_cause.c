/* nccl_cause.c: nccl_causes.txt, and what it makes of a log's warnings: the first failure, and what follows from it. */

#include "base/built_in.h"
#include "base/file.h"
#include "base/parse.h"
#include "nccl_log/nccl_log_raw.h"

BUILT_IN(nccl_causes_built_in, "common/host/nccl_log/nccl_causes.txt");

#define TABLE_BYTES (1 << 20)

static const char *const classes[] = { "cause", "peer", "unknown", "symptom", "follows", "trace",
				       "ring",	"slow", "host",	   "pin",     "quiet" };
#define N_CLASSES LENGTH(classes)

/* ---- the table ---------------------------------------------------------------------------- */

static bool add_row(struct nccl_log *log, char *line)
{
	struct nccl_cause row = { .class = NCCL_QUIET, .what = "", .means = "", .fix = "" };
	const char **fields[] = { &row.pattern, &row.what, &row.means, &row.fix };
	char *class = text_trim(strsep(&line, "|")), *field;
	size_t n = 0;

	for (; n < LENGTH(fields) && (field = strsep(&line, "|")); n++)
		*fields[n] = text_trim(field);
	if (n == 0 || line || !*row.pattern)
		return false;
	if (strcmp(class, "also") == 0 && n == 1 && log->n_causes > 0) {
		const char *pattern = row.pattern;

		row = log->causes[log->n_causes - 1];
		row.pattern = pattern;
	} else {
		size_t c = 0;

		while (c < N_CLASSES && strcmp(class, classes[c]) != 0)
			c++;
		if (c == N_CLASSES || c == NCCL_UNKNOWN || n < 2 || !*row.what)
			return false;
		row.class = (enum nccl_class)c;
	}
	raw_add(log->causes, log->n_causes, row);
	return true;
}

/* Takes the table `text`, which is the log's from now on. Returns the first wrong line, from 1; 0: none is. */
static int take_table(struct nccl_log *log, char *text)
{
	int number = 0;
	char *line;

	free(log->causes);
	free(log->causes_text);
	log->causes = NULL;
	log->n_causes = 0;
	log->causes_text = text;
	while ((line = strsep(&text, "\n"))) {
		number++;
		line = text_trim(line);
		if (*line && *line != '#' && !add_row(log, line))
			return number;
	}
	return 0;
}

#define ROW "CLASS | PATTERN | WHAT | MEANS | TRY"

void nccl_causes_init(struct nccl_log *log)
{
	int line = take_table(log, must(strdup(nccl_causes_built_in)));

	if (!line)
		return;
	fprintf(stderr, "nccl_causes.txt: line %d is none: " ROW "\n", line);
	abort(); /* a test reads it */
}

int nccl_log_read_causes(struct nccl_log *log, const char *path, struct error *err)
{
	char *text = must(calloc(1, TABLE_BYTES));
	const char *why;
	FILE *in = file_open(path, TABLE_BYTES - 1, &why);
	int line;

	if (!in) {
		free(text);
		return error_set(err, OUTCOME_USAGE, -EINVAL, "%s: %s", path, why);
	}
	text[fread(text, 1, TABLE_BYTES - 1, in)] = '\0';
	fclose(in);
	line = take_table(log, text);
	return line ? error_set(err, OUTCOME_USAGE, -EINVAL, "%s: line %d is none: " ROW, path,
				line)
		    : 0;
}

/* Returns true if the pieces of the pattern are in the text, one after the other. */
static bool fits(const char *pattern, const char *text)
{
	while (*pattern) {
		size_t len = strcspn(pattern, "*");

		text = len ? memmem(text, strlen(text), pattern, len) : text;
		if (!text)
			return false;
		text += len;
		pattern += len + (pattern[len] == '*');
	}
	return true;
}

const struct nccl_cause *nccl_cause_of(const struct nccl_log *log, const char *where,
				       const char *text, enum nccl_class least)
{
	char whole[1024];

	snprintf(whole, sizeof(whole), "%s %s", where, text);
	for (int i = 0; i < log->n_causes; i++)
		if (log->causes[i].class >= least &&
		    (log->causes[i].class != NCCL_HOST || least == NCCL_RING) &&
		    fits(log->causes[i].pattern, whole))
			return &log->causes[i];
	return NULL;
}

/* ---- what a message names ------------------------------------------------------------------ */

/* The word behind the first of these leads. */
static const char *word_behind(struct nccl_log *log, const char *text, const char *const *leads)
{
	for (; *leads; leads++) {
		const char *at = strstr(text, *leads);
		size_t len;

		if (!at)
			continue;
		at += strlen(*leads);
		len = strcspn(at, " ,;'\")");
		len -= len > 0 && strchr(":.", at[len - 1]);
		if (len > 0 && len < 80 && strpbrk(at, ".:<[_") && strpbrk(at, ".:<[_") < at + len)
			return nccl_log_text(log, at, len);
	}
	return "";
}

void nccl_cause_names(struct nccl_log *log, struct nccl_warning *warning)
{
	static const char *const peers[] = { "remote GID ",    "from peer ", "remote peer ",
					     "onnect to ",     "recv from ", "send to ",
					     "connecting to ", NULL };
	static const char *const devices[] = { "on dev ",   "for HCA ",	    " hca ",
					       "NET/IB : ", "open device ", NULL };

	warning->peer = word_behind(log, warning->text, peers);
	warning->device = word_behind(log, warning->text, devices);
}

/* Seconds of a time "[2025-07-21 19:05:29]" or "[E1109 16:13:20.12", without the year. NAN: none is there. */
double nccl_log_time(const char *text, const char *end)
{
	int month, day, hour, minute, digits;
	double second;

	for (const char *p = text; (p = memchr(p, '[', (size_t)(end - p))); p++)
		if (sscanf(p, "[%*4d-%2d-%2d%*1[ T]%2d:%2d:%lf", &month, &day, &hour, &minute,
			   &second) == 5 ||
		    ((digits = (int)strspn(p + 1 + (strspn(p + 1, "EWIF") == 1), "0123456789")) >=
			     3 &&
		     digits <= 4 &&
		     sscanf(p,
			    digits == 3 ? "[%*1[EWIF]%1d%2d %2d:%2d:%lf"
					: "[%*1[EWIF]%2d%2d %2d:%2d:%lf",
			    &month, &day, &hour, &minute, &second) == 5))
			return (((month * 31 + day) * 24.0 + hour) * 60 + minute) * 60 + second;
	return NAN;
}

/* ---- the verdict --------------------------------------------------------------------------- */

enum nccl_class nccl_warning_class(const struct nccl_warning *warning)
{
	if (warning->cause && warning->cause->class <= NCCL_PEER && warning->overcome)
		return NCCL_SLOW;
	if (warning->cause)
		return warning->cause->class;
	return warning->failed && !warning->trace ? NCCL_UNKNOWN : NCCL_QUIET;
}

/* Before: in time where both have one a second apart, for clocks of NCCL's have no more, else in the log. */
static bool is_before(const struct nccl_warning *a, const struct nccl_warning *b)
{
	return fabs(a->time - b->time) > 1 ? a->time < b->time : a->line < b->line;
}

const struct nccl_warning *nccl_log_failure(const struct nccl_log *log)
{
	const struct nccl_warning *first = NULL;

	for (int i = 0; i < log->n_warnings; i++) {
		const struct nccl_warning *w = &log->warnings[i];
		enum nccl_class class = nccl_warning_class(w);

		if (class > NCCL_TRACE)
			continue;
		if (!first || class < nccl_warning_class(first) ||
		    (class == nccl_warning_class(first) && is_before(w, first)))
			first = w;
	}
	return first;
}

/* A build's folders stand before the file. */
static const char *short_where(const char *where)
{
	const char *file = strrchr(where, '/');

	return file && strlen(where) > 40 ? file + 1 : where;
}

/* "rank 1 on nodea (GPU 0) in init: WHAT, device mlx5_5:1, peer 192.0.2.7<41109> (nvls.cc:254, 2025-07-21 19:05:29)". */
static void print_sentence(FILE *out, const struct nccl_warning *w)
{
	if (w->rank >= 0)
		fprintf(out, "rank %d", w->rank);
	else if (w->pid >= 0)
		fprintf(out, "process %ld", w->pid);
	else
		fprintf(out, "a line of the program");
	if (*w->host)
		fprintf(out, " on %s", w->host);
	if (w->dev >= 0)
		fprintf(out, " (GPU %d)", w->dev);
	fprintf(out, "%s: %s", w->in_init ? " in init" : "", w->cause ? w->cause->what : w->text);
	if (*w->device)
		fprintf(out, ", device %s", w->device);
	if (*w->peer)
		fprintf(out, ", peer %s", w->peer);
	if (*w->where || *w->stamp)
		fprintf(out, " (%s%s%s)", short_where(w->where), *w->where && *w->stamp ? ", " : "",
			w->stamp);
	if (w->count > 1)
		fprintf(out, ", %d times", w->count);
	if (w->n_ranks > 1)
		fprintf(out, " on %d ranks", w->n_ranks);
	fprintf(out, "\n");
}

#define SHOWN 4

/* Returns true if rows of the table call both the same. */
static bool is_alike(const struct nccl_warning *a, const struct nccl_warning *b)
{
	return a->cause && b->cause && strcmp(a->cause->what, b->cause->what) == 0;
}

/* The other ranks that failed as this one did. */
static void print_alike(FILE *out, const struct nccl_log *log, const struct nccl_warning *first)
{
	int *ranks = NULL, n = 0;

	for (int i = 0; i < log->n_warnings; i++) {
		const struct nccl_warning *w = &log->warnings[i];

		if (w != first && !is_alike(w, first))
			continue;
		for (int k = 0; k < w->n_ranks; k++)
			if (w->ranks[k] != first->rank)
				raw_add(ranks, n, w->ranks[k]);
		if (w->rank >= 0 && w->rank != first->rank)
			raw_add(ranks, n, w->rank);
	}
	nccl_print_ranks(out, "  the same on ", ranks, n);
	fputs(n > 0 ? "\n" : "", out);
	free(ranks);
}

/* Returns true if the warning is the first one of its row, and of none that `first` is of. */
static bool is_new(const struct nccl_log *log, const struct nccl_warning *w,
		   const struct nccl_warning *first)
{
	if (w == first || (first && is_alike(w, first)))
		return false;
	for (const struct nccl_warning *before = log->warnings; before < w; before++)
		if (is_alike(before, w))
			return false;
	return true;
}

/* The failures of these classes of which none is `first`'s, one for each row of the table, SHOWN of them. */
static void print_others(FILE *out, const struct nccl_log *log, const struct nccl_warning *first,
			 const char *lead, enum nccl_class from, enum nccl_class to)
{
	int n = 0;

	for (int i = 0; i < log->n_warnings; i++) {
		const struct nccl_warning *w = &log->warnings[i];
		enum nccl_class class = nccl_warning_class(w);

		if (class == NCCL_TRACE || class < from || class > to || !is_new(log, w, first) ||
		    n++ >= SHOWN)
			continue;
		fprintf(out, "  %s: ", lead);
		print_sentence(out, w);
	}
	if (n > SHOWN)
		fprintf(out, "  %s: %d more, see the warnings below\n", lead, n - SHOWN);
}

/* The first trace of the process before the warning: an error that NCCL handed up without a WARN. */
static const struct nccl_warning *trace_before(const struct nccl_log *log,
					       const struct nccl_warning *first)
{
	for (int i = 0; i < log->n_warnings; i++) {
		const struct nccl_warning *w = &log->warnings[i];

		if (nccl_warning_class(w) == NCCL_TRACE && w->line < first->line &&
		    w->host == first->host && w->pid == first->pid)
			return w;
	}
	return NULL;
}

void nccl_log_print_failure(FILE *out, const struct nccl_log *log)
{
	const struct nccl_warning *first = nccl_log_failure(log);
	const struct nccl_warning *trace;
	enum nccl_class class;

	if (!first)
		return;
	class = nccl_warning_class(first);
	fprintf(out, "failure: ");
	print_sentence(out, first);
	if (first->cause && *first->cause->means)
		fprintf(out, "  means: %s\n", first->cause->means);
	if (first->cause && *first->cause->fix)
		fprintf(out, "  try: %s\n", first->cause->fix);
	print_alike(out, log, first);
	if (class == NCCL_FOLLOWS)
		fprintf(out, "  Such a failure follows from another one%s.\n",
			log->traceback_ended && !log->traceback_after
				? ", perhaps from what the traceback tells"
				: ", of which no WARN line is here");
	if (class == NCCL_FOLLOWS && (trace = trace_before(log, first))) {
		fprintf(out, "  before: ");
		print_sentence(out, trace);
	}
	if (class <= NCCL_UNKNOWN) {
		print_others(out, log, first, "also", NCCL_CAUSE, class);
		print_others(out, log, first, "follows", class + 1, NCCL_FOLLOWS);
	} else {
		print_others(out, log, first, "also", class, NCCL_FOLLOWS);
	}
}

void nccl_log_print_slow(FILE *out, const struct nccl_log *log)
{
	for (int i = 0; i < log->n_warnings; i++) {
		const struct nccl_warning *w = &log->warnings[i];
		enum nccl_class class = nccl_warning_class(w);

		if ((class != NCCL_RING && class != NCCL_SLOW) || !is_new(log, w, NULL))
			continue;
		fprintf(out, "slower: ");
		print_sentence(out, w);
		print_alike(out, log, w);
		fprintf(out, "  means: %s\n", w->cause->means);
		if (*w->cause->fix)
			fprintf(out, "  try: %s\n", w->cause->fix);
	}
}
