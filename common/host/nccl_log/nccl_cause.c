/* nccl_cause.c: nccl_causes.txt, and what it makes of a log's warnings: the first failure, and what follows from it. */

#include "base/built_in.h"
#include "base/parse.h"
#include "nccl_log/nccl_log_raw.h"

BUILT_IN(nccl_causes_built_in, "common/host/nccl_log/nccl_causes.txt");

static const char *const classes[] = { "cause", "peer",	    "unknown", "symptom", "follows",
				       "trace", "fallback", "ring",    "slow",	  "host",
				       "pin",	"no-p2p",   "claim",   "quiet" };
#define N_CLASSES LENGTH(classes)

/* ---- the table ---------------------------------------------------------------------------- */

/* The next field: they are parted by "|" between blanks, or behind one at the end. NULL: there is none. */
static char *next_field(char **line)
{
	char *field = *line, *bar = field;

	while (bar && (bar = strchr(bar, '|')) &&
	       ((bar > field && bar[-1] != ' ') || (bar[1] && bar[1] != ' ')))
		bar++;
	*line = bar ? bar + 1 : NULL;
	if (bar)
		*bar = '\0';
	return field ? text_trim(field) : NULL;
}

/* A row, but for "also", which is one more pattern of the row above. */
static bool fill_row(struct nccl_cause *row, const char *class, size_t n)
{
	size_t c = 0;

	while (c < N_CLASSES && strcmp(class, classes[c]) != 0)
		c++;
	row->class = (enum nccl_class)c;
	return c < N_CLASSES && c != NCCL_UNKNOWN && n > 1 && *row->what;
}

static bool add_row(struct nccl_log *log, char *line)
{
	struct nccl_cause row = { .what = "", .means = "", .fix = "" };
	const char **fields[] = { &row.pattern.text, &row.what, &row.means, &row.fix };
	char *class = next_field(&line), *field;
	size_t n = 0;

	for (; n < LENGTH(fields) && (field = next_field(&line)); n++)
		*fields[n] = field;
	if (n == 0 || line || !*row.pattern.text)
		return false;
	if (strcmp(class, "also") == 0 && n == 1 && log->n_causes > 0) {
		const char *pattern = row.pattern.text;

		row = log->causes[log->n_causes - 1];
		row.pattern = (struct pattern){ .text = pattern };
	} else if (!fill_row(&row, class, n)) {
		return false;
	}
	raw_add(log->causes, log->n_causes, row);
	return true;
}

#define ROW "a row is CLASS | PATTERN | WHAT | MEANS | TRY"

/* Takes the table `text`, which is the log's from now on; compiles its patterns if asked to. Returns the first wrong line,
 * from 1, and why; 0: none is. */
static int take_table(struct nccl_log *log, char *text, bool compile, char *why, size_t len)
{
	int number = 0, n;
	char *line;

	nccl_causes_release(log);
	log->causes_text = text;
	while ((line = strsep(&text, "\n"))) {
		number++;
		n = log->n_causes;
		line = text_trim(line);
		if (!*line || *line == '#')
			continue;
		if (!add_row(log, line)) {
			snprintf(why, len, ROW);
			return number;
		}
		if (compile && !pattern_compile(&log->causes[n].pattern, why, len))
			return number;
	}
	return 0;
}

void nccl_causes_init(struct nccl_log *log)
{
	char why[200];
	int line = take_table(log, must(strdup(nccl_causes_built_in)), false, why, sizeof(why));

	if (!line)
		return;
	fprintf(stderr, "nccl_causes.txt:%d: %s\n", line, why);
	abort(); /* a test reads it */
}

void nccl_causes_release(struct nccl_log *log)
{
	for (int i = 0; i < log->n_causes; i++)
		pattern_release(&log->causes[i].pattern);
	free(log->causes);
	free(log->causes_text);
	log->causes = NULL;
	log->causes_text = NULL;
	log->n_causes = 0;
}

int nccl_log_read_causes(struct nccl_log *log, const char *path, struct error *err)
{
	char *text = rows_file(path, err), why[200];
	int line;

	if (!text)
		return -EINVAL;
	line = take_table(log, text, true, why, sizeof(why));
	return line ? error_set(err, OUTCOME_USAGE, -EINVAL, "%s:%d: %s", path, line, why) : 0;
}

/* ---- finding ------------------------------------------------------------------------------- */

#define TEXT_BYTES 4096 /* of a text are looked at */

static bool is_asked(const struct nccl_cause *cause, enum nccl_class least)
{
	return cause->class >= least && (cause->class != NCCL_HOST || least == NCCL_FALLBACK);
}

/* The row of the table, -1: none. *sure: texts of the same shape have the same one. */
static int find_row(const struct nccl_log *log, struct span text, enum nccl_class least, bool *sure)
{
	struct matcher *matcher = &log->rows->matcher;
	size_t at[PATTERN_SPANS];

	for (int i = 0; i < log->n_causes; i++) {
		struct pattern *pattern = &log->causes[i].pattern;

		if (!is_asked(&log->causes[i], least))
			continue;
		if (pattern_find(pattern, matcher, text.at, text.len, at))
			return i;
		if (sure && *sure)
			*sure = !pattern_may_fit(pattern, matcher, text.at, text.len);
	}
	return -1;
}

const struct nccl_cause *nccl_cause_of(const struct nccl_log *log, const char *where,
				       const char *text, enum nccl_class least, uint64_t shape)
{
	char whole[TEXT_BYTES];
	size_t at[PATTERN_SPANS];
	struct span span = { whole, 0 };
	struct remembered *place;
	bool sure = true;
	int i;

	snprintf(whole, sizeof(whole), "%s%s%s", where, *where ? " " : "", text);
	span.len = strlen(whole);
	if (!shape) {
		i = find_row(log, span, least, NULL);
		return i < 0 ? NULL : &log->causes[i];
	}
	shape = (shape ^ (least + 1)) * 0x9e3779b97f4a7c15u; /* not the shape of a line's form */
	place = rows_remembered(log->rows, shape);
	if (place->shape == shape &&
	    (place->item < 0 || pattern_find(&log->causes[place->item].pattern, &log->rows->matcher,
					     span.at, span.len, at)))
		return place->item < 0 ? NULL : &log->causes[place->item];
	i = find_row(log, span, least, &sure);
	if (sure)
		*place = (struct remembered){ shape, i };
	return i < 0 ? NULL : &log->causes[i];
}

/* Words of the row, with what the pattern's groups hold in the places of "$1" to "$9". */
static const char *filled(struct nccl_log *log, const struct nccl_warning *warning,
			  const char *what)
{
	size_t at[PATTERN_SPANS], n = 0;
	char words[400];

	if (!strchr(what, '$') ||
	    !pattern_find(&log->causes[warning->cause - log->causes].pattern, &log->rows->matcher,
			  warning->text, strlen(warning->text), at))
		return what;
	for (; *what && n < sizeof(words) - 1; what++) {
		int group = *what == '$' && isdigit((unsigned char)what[1]) ? *++what - '0' : 0;

		if (!group)
			words[n++] = *what;
		else if (at[2 * group] != PATTERN_UNSET)
			n += (size_t)snprintf(words + n, sizeof(words) - n, "%.*s",
					      (int)(at[2 * group + 1] - at[2 * group]),
					      warning->text + at[2 * group]);
		n = n < sizeof(words) ? n : sizeof(words) - 1;
	}
	return nccl_log_text(log, words, n);
}

void nccl_cause_names(struct nccl_log *log, struct nccl_warning *warning)
{
	struct found found;
	size_t len = strlen(warning->text);
	warning->what = warning->cause ? filled(log, warning, warning->cause->what) : "";
	warning->fix = warning->cause ? filled(log, warning, warning->cause->fix) : "";
	warning->peer = warning->device = "";
	if (rows_find(log->rows, ROWS_peer, warning->text, len, 0, &found))
		warning->peer = found_text(log, &found, FIELD_text);
	if (rows_find(log->rows, ROWS_device, warning->text, len, 0, &found))
		warning->device = found_text(log, &found, FIELD_text);
}
