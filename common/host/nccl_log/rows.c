/* rows.c: reads nccl_lines.txt, and finds the row that fits a text. */
#include "nccl_log/rows.h"

#include "base/built_in.h"
#include "base/file.h"
#include "base/parse.h"

BUILT_IN(nccl_lines_built_in, "common/host/nccl_log/nccl_lines.txt");

#define TABLE_BYTES (1 << 20)
#define FORM	    "a row is \"KIND [NAME=VALUE ...]: PATTERN\""

#define NAMED(name, ...) #name,
static const char *const kind_names[] = { ROW_KINDS(NAMED) };
static const char *const field_names[] = { ROW_FIELDS(NAMED) };
#define SET_OF(name, set) ROWS_##set,
static const enum row_set sets[] = { ROW_KINDS(SET_OF) };

static int index_of(const char *const *names, int n, const char *name)
{
	int i = 0;

	while (i < n && strcmp(names[i], name) != 0)
		i++;
	return i;
}

/* ---- reading ------------------------------------------------------------------------------- */

/* A table that is being read: new rows stand at the end of `rows`. */
struct table {
	struct rows *rows;
	const char *name;
	int line;
	char why[200];
};

static bool wrong(struct table *table, const char *why, const char *what)
{
	if (!table->why[0])
		snprintf(table->why, sizeof(table->why), why, what);
	return false;
}

static const char *keep(struct rows *rows, char *text)
{
	rows->texts = must_room(rows->texts, rows->n_texts, sizeof(*rows->texts));
	return rows->texts[rows->n_texts++] = must(text);
}

/* "NAME=VALUE" of a row. */
static bool take_said(struct table *table, struct row *row, char *word)
{
	char *name = strsep(&word, "=");
	int field = index_of(field_names, N_ROW_FIELDS, name);

	if (!word || field == N_ROW_FIELDS)
		return wrong(table, word ? "no group is named '%s'" : FORM, name);
	row->said[field] = word;
	return true;
}

/* "KIND [NAME=VALUE ...]: PATTERN" */
static bool take_row(struct table *table, char *line)
{
	struct rows *rows = table->rows;
	struct row *row = must(calloc(1, sizeof(*row)));
	char *head = strsep(&line, ":"), *word = strsep(&head, " "), *where;

	rows->rows = must_room(rows->rows, rows->n, sizeof(struct row *));
	rows->rows[rows->n++] = row;
	if (!line || !*(line = text_trim(line)))
		return wrong(table, FORM "%s", "");
	row->kind = (enum row_kind)index_of(kind_names, N_ROW_KINDS, word);
	if (row->kind == N_ROW_KINDS)
		return wrong(table, "no kind of row is named '%s'", word);
	while ((word = strsep(&head, " ")))
		if (*word && !take_said(table, row, word))
			return false;
	row->set = sets[row->kind];
	row->pattern.text = line;
	if (asprintf(&where, "%s:%d", table->name, table->line) < 0)
		where = NULL;
	row->where = keep(rows, where);
	return true;
}

/* A line that begins with a blank goes on with the pattern, "= " is a sample of it. */
static bool take_line(struct table *table, int first, char *line)
{
	struct rows *rows = table->rows;
	struct row *last = rows->n > first ? rows->rows[rows->n - 1] : NULL;
	bool more = *line == ' ' || *line == '\t';
	char *joined;

	if (!*line || *line == '#')
		return true;
	if (!more && strncmp(line, "= ", 2) != 0)
		return take_row(table, line);
	if (!last)
		return wrong(table, "no row stands before this%s", "");
	if (!more) {
		last->sample = line + 2;
		return true;
	}
	if (asprintf(&joined, "%s%s", last->pattern.text, text_trim(line)) < 0)
		joined = NULL;
	last->pattern.text = keep(rows, joined);
	return true;
}

static void take_group(void *context, const char *name, int number)
{
	void **into = context;
	struct row *row = into[0];
	int field = index_of(field_names, N_ROW_FIELDS, name);

	if (field < N_ROW_FIELDS)
		row->group[field] = (uint8_t)number;
	else
		into[1] = (void *)(uintptr_t)name;
}

/* Compiles the row's pattern, and asks for its groups. */
static bool bind_row(struct row *row, char *why, size_t len)
{
	void *into[2] = { row, NULL };

	if (row->bound)
		return true;
	if (!pattern_compile(&row->pattern, why, len))
		return false;
	pattern_names(&row->pattern, take_group, into);
	if (into[1])
		snprintf(why, len, "no group is named '%s'", (const char *)into[1]);
	return row->bound = !into[1];
}

/* By set, the rows from `first` on before the others of their set. */
static void order_rows(struct rows *rows, int first)
{
	struct row **sorted = must(calloc((size_t)rows->n + 1, sizeof(struct row *)));
	int n = 0;

	for (int set = 0; set < N_ROW_SETS; set++) {
		rows->from[set] = n;
		for (int k = 0; k < rows->n; k++) {
			struct row *row = rows->rows[(first + k) % rows->n];

			if ((int)row->set == set)
				sorted[n++] = row;
		}
	}
	rows->from[N_ROW_SETS] = n;
	if (n > 0) /* whose room is that of must_room */
		memcpy(rows->rows, sorted, (size_t)n * sizeof(*sorted));
	free(sorted);
}

/* Takes a table whose text is the rows' own. False: the table says what is wrong with it, and where. */
static bool take_table(struct table *table, char *text)
{
	struct rows *rows = table->rows;
	int first = rows->n;
	bool fine = true;
	char *line;

	while (fine && (line = strsep(&text, "\n"))) {
		table->line++;
		fine = take_line(table, first, line);
	}
	for (int i = first; fine && first > 0 && i < rows->n; i++)
		if (!bind_row(rows->rows[i], table->why, sizeof(table->why))) {
			table->line = atoi(strrchr(rows->rows[i]->where, ':') + 1);
			fine = false;
		}
	order_rows(rows, first);
	memset(rows->remembered, 0, sizeof(rows->remembered));
	return fine;
}

void rows_init(struct rows *rows)
{
	struct table table = { .rows = rows, .name = "nccl_lines.txt" };

	*rows = (struct rows){ 0 };
	matcher_init(&rows->matcher);
	if (take_table(&table, (char *)(uintptr_t)keep(rows, strdup(nccl_lines_built_in))))
		return;
	fprintf(stderr, "nccl_lines.txt:%d: %s\n", table.line, table.why);
	abort(); /* a test reads it */
}

char *rows_file(const char *path, struct error *err)
{
	char *text;
	const char *why;
	FILE *in = file_open(path, TABLE_BYTES - 1, &why);

	if (!in) {
		error_set(err, OUTCOME_USAGE, -EINVAL, "%s: %s", path, why);
		return NULL;
	}
	text = must(calloc(1, TABLE_BYTES));
	text[fread(text, 1, TABLE_BYTES - 1, in)] = '\0';
	fclose(in);
	return text;
}

int rows_read(struct rows *rows, const char *path, struct error *err)
{
	struct table table = { .rows = rows, .name = path };
	char *text = rows_file(path, err);

	if (!text)
		return -EINVAL;
	if (take_table(&table, (char *)(uintptr_t)keep(rows, text)))
		return 0;
	return error_set(err, OUTCOME_USAGE, -EINVAL, "%s:%d: %s", path, table.line, table.why);
}

void rows_release(struct rows *rows)
{
	for (int i = 0; i < rows->n; i++) {
		pattern_release(&rows->rows[i]->pattern);
		free(rows->rows[i]);
	}
	for (int i = 0; i < rows->n_texts; i++)
		free(rows->texts[i]);
	free(rows->rows);
	free(rows->texts);
	matcher_release(&rows->matcher);
}

/* ---- finding ------------------------------------------------------------------------------- */

static bool fits(struct rows *rows, int i, const char *text, size_t len, struct found *found)
{
	struct row *row = rows->rows[i];
	char why[200];

	if (!row->bound && !bind_row(row, why, sizeof(why))) {
		fprintf(stderr, "%s: %s\n", row->where, why);
		abort(); /* a test binds all rows */
	}
	found->row = row;
	found->text = text;
	return pattern_find(&row->pattern, &rows->matcher, text, len, found->at);
}

struct remembered *rows_remembered(struct rows *rows, uint64_t shape)
{
	return &rows->remembered[shape % ROWS_REMEMBERED];
}

bool rows_find(struct rows *rows, enum row_set set, const char *text, size_t len, uint64_t shape,
	       struct found *found)
{
	struct remembered *place;
	bool sure = true; /* no row before it asks for certain digits */
	int i, end = rows->from[set + 1];

	/* a text may be asked for in several sets */
	shape = shape ? (shape ^ (uint64_t)(set + 1) << 32) * 0x9e3779b97f4a7c15u | 1 : 0;
	place = shape ? rows_remembered(rows, shape >> 1) : NULL;
	if (place && place->shape == shape) {
		if (place->item < 0)
			return false;
		if (fits(rows, place->item, text, len, found))
			return true;
	}
	for (i = rows->from[set]; i < end && !fits(rows, i, text, len, found); i++)
		sure &= !place ||
			!pattern_may_fit(&rows->rows[i]->pattern, &rows->matcher, text, len);
	if (place && sure)
		*place = (struct remembered){ shape, i < end ? i : -1 };
	return i < end;
}

/* ---- what was found ------------------------------------------------------------------------ */

struct span found_span(const struct found *found, enum row_field field)
{
	int group = found->row->group[field];
	const char *said = found->row->said[field];
	size_t from = found->at[2 * group];

	if (group > 0 && from != PATTERN_UNSET)
		return (struct span){ found->text + from, found->at[2 * group + 1] - from };
	return (struct span){ said, said ? strlen(said) : 0 };
}

static const char *digits_of(struct span span, char digits[32])
{
	size_t len = span.len < 31 ? span.len : 31;

	memcpy(digits, span.at, len);
	digits[len] = '\0';
	return digits;
}

int64_t found_number(const struct found *found, enum row_field field, int base, int64_t unset)
{
	struct span span = found_span(found, field);
	char digits[32];

	if (!span.at || span.len == 0)
		return unset;
	return base == 10 ? strtoll(digits_of(span, digits), NULL, 10)
			  : (int64_t)strtoull(digits_of(span, digits), NULL, base);
}

double found_real(const struct found *found, enum row_field field, double unset)
{
	struct span span = found_span(found, field);
	char digits[32];

	return span.at && span.len > 0 ? strtod(digits_of(span, digits), NULL) : unset;
}
