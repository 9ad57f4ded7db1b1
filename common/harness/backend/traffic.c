/* traffic.c: the generated pattern of alltoallv, and the reader of matrix files. */
#include "backend/traffic.h"

/* Every amount is a multiple of this, as in nccl-tests. */
enum { UNIT = 16 };

/* Up to this limit a double holds every whole number, and a sum of two fits into size_t. */
#define AMOUNT_MAX 9007199254740992.0

/* The reader's position for messages, counted from 1. */
struct cursor {
	const char *path;
	FILE *file;
	size_t row, column;
	struct error *err;
};

#define reject(cursor, fmt, ...)                                                                   \
	error_set((cursor)->err, OUTCOME_USAGE, -EINVAL,                                           \
		  "NCCL_TESTS_ALLTOALLV_MATRIX_FILE=%.200s: " fmt, (cursor)->path, __VA_ARGS__)

#define BLANKS " \t\v\f\r\n"
#define WORD   63 /* characters; a longer word is not a number */

static int read_amount(struct cursor *at, const char *word, double scale, double *amount)
{
	char *end;

	*amount = strtod(word, &end);
	/* Refuses nan, inf and hexadecimal. */
	if (word[strspn(word, "0123456789.eE+-")] || *end || end == word || strlen(word) > WORD)
		return reject(at, "row %zu, column %zu: '%.40s' is not a number of bytes", at->row,
			      at->column, word);
	if (*amount < 0)
		return reject(at, "row %zu, column %zu: %.40s is negative", at->row, at->column,
			      word);
	*amount *= scale;
	if (!(*amount <= AMOUNT_MAX))
		return reject(at,
			      "row %zu, column %zu: %.40s, scaled by %g, is more than 2^53 bytes",
			      at->row, at->column, word, scale);
	*amount = UNIT * floor(*amount / UNIT);
	return 0;
}

/* Parses a line of `len` characters. Rows and columns beyond nranks are checked and dropped. */
static int read_row(struct cursor *at, struct traffic *traffic, double scale, char *line,
		    size_t len, size_t *columns)
{
	size_t n = (size_t)traffic->nranks;
	char *word, *from = line, *rest;
	double amount;
	int rc = 0;

	for (size_t i = 0; i < len; i++)
		line[i] = line[i] ? line[i] : '?'; /* a NUL would hide the rest of the line */
	for (at->column = 1; rc == 0 && (word = strtok_r(from, BLANKS, &rest)); at->column++) {
		from = NULL;
		rc = read_amount(at, word, scale, &amount);
		if (at->row <= n && at->column <= n)
			traffic->matrix[(at->row - 1) * n + at->column - 1] = amount;
	}
	if (rc < 0 || at->column == 1)
		return rc;
	if (at->row > 1 && at->column - 1 != *columns)
		return reject(at, "row %zu has %zu columns, but row 1 has %zu", at->row,
			      at->column - 1, *columns);
	*columns = at->column - 1;
	at->row++;
	return 0;
}

/* Fills the matrix; *columns is the file's number of columns; at->row ends behind the last row. */
static int read_rows(struct cursor *at, struct traffic *traffic, double scale, size_t *columns)
{
	char *line = NULL;
	size_t room = 0;
	ssize_t len;
	int rc = 0;

	while (rc == 0 && (len = getline(&line, &room, at->file)) >= 0)
		rc = read_row(at, traffic, scale, line, (size_t)len, columns);
	free(line);
	return rc == 0 && ferror(at->file) ? reject(at, "can't be read: %s", strerror(EIO)) : rc;
}

static int check_dimensions(struct cursor *at, const struct traffic *traffic, size_t rows,
			    size_t columns)
{
	if (rows == 0)
		return reject(at, "%s", "is empty; must hold a square matrix of bytes");
	if (rows != columns)
		return reject(at, "has %zu rows and %zu columns, but must be square", rows,
			      columns);
	if (rows < (size_t)traffic->nranks)
		return reject(at, "has %zu rows and columns, but there are %d ranks", rows,
			      traffic->nranks);
	return 0;
}

/* Returns the largest row or column sum: the buffer size of the busiest rank. */
static double largest_sum(const struct traffic *traffic)
{
	size_t n = (size_t)traffic->nranks, i, j;
	double most = 0;

	for (i = 0; i < n; i++) {
		double sent = 0, received = 0;

		for (j = 0; j < n; j++) {
			sent += traffic->matrix[i * n + j];
			received += traffic->matrix[j * n + i];
		}
		most = fmax(most, fmax(sent, received));
	}
	return most;
}

static int check_sizes(const struct traffic *traffic, const struct options *options,
		       struct error *err)
{
	double most = largest_sum(traffic);

	if (options->min_bytes != options->max_bytes)
		return error_set(
			err, OUTCOME_USAGE, -EINVAL,
			"-b %zu -e %zu: must be equal with NCCL_TESTS_ALLTOALLV_MATRIX_FILE, "
			"which fixes all sizes",
			options->min_bytes, options->max_bytes);
	if (most > (double)options->max_bytes)
		return error_set(
			err, OUTCOME_USAGE, -EINVAL,
			"-e %zu: must be at least %.0f, the largest row or column sum of %.200s",
			options->max_bytes, most, options->matrix_file);
	return 0;
}

/* Opens regular files only: a pipe could block for ever, and a device has no end. */
static int open_matrix(struct cursor *at)
{
	struct stat st;

	if (stat(at->path, &st) < 0)
		return reject(at, "can't be opened: %s", strerror(errno));
	if (!S_ISREG(st.st_mode))
		return reject(at, "%s", "is no regular file");
	at->file = fopen(at->path, "re");
	return at->file ? 0 : reject(at, "can't be opened: %s", strerror(errno));
}

static int read_matrix(struct traffic *traffic, const struct options *options, struct error *err)
{
	struct cursor at = { .path = options->matrix_file, .row = 1, .column = 1, .err = err };
	size_t columns = 0;
	int rc = open_matrix(&at);

	if (rc < 0)
		return rc;
	rc = read_rows(&at, traffic, options->matrix_scale, &columns);
	if (rc == 0)
		rc = check_dimensions(&at, traffic, at.row - 1, columns);
	fclose(at.file);
	return rc;
}

int traffic_init(struct traffic *traffic, const struct options *options, int nranks,
		 struct error *err)
{
	size_t n = (size_t)nranks;
	int rc;

	*traffic = (struct traffic){ .nranks = nranks, .spread = options->spread };
	if (!options->matrix_file)
		return 0;
	traffic->matrix = must(calloc(n * n, sizeof(*traffic->matrix)));
	rc = read_matrix(traffic, options, err);
	if (rc == 0)
		rc = check_sizes(traffic, options, err);
	if (rc < 0)
		traffic_release(traffic);
	return rc;
}

void traffic_release(struct traffic *traffic)
{
	free(traffic->matrix);
	traffic->matrix = NULL;
}

/* nccl-tests' pattern, in the same order of operations for the same amounts: a blend of equal
 * amounts and amounts that grow with the distance to the right. Each rank sends and receives every
 * distance once, so all totals are equal. */
static double generated_bytes(const struct traffic *traffic, int from, int to, size_t bytes)
{
	size_t n = (size_t)traffic->nranks;
	double total = (double)(bytes / (UNIT * n) * (UNIT * n));
	double distance = (double)((to - from + traffic->nranks) % traffic->nranks);
	double distances = (double)n * (double)(n - 1) / 2;

	if (n == 1)
		return total;
	return (1 - traffic->spread) * (total / (double)n) +
	       traffic->spread * (distance * total / distances);
}

size_t traffic_count(const struct traffic *traffic, int from, int to, size_t bytes, size_t elsize)
{
	double amount;

	if (traffic->matrix)
		amount = traffic->matrix[(size_t)from * (size_t)traffic->nranks + (size_t)to];
	else
		amount = generated_bytes(traffic, from, to, bytes);
	return (size_t)(amount / UNIT) * UNIT / elsize;
}
