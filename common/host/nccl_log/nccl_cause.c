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
