/* model_rows.c: rows that were measured on such a machine move its predictions below 64 MiB. */
#include "model/model_parts.h"

#include <jansson.h>

#include "base/error.h"

static const double SMALLEST = 8, LEAST = .2, MOST = 5; /* bytes; measured over predicted */

struct knot {
	double at, factor; /* logarithms of the size, and of measured over predicted */
};

static double size_of(int place)
{
	return SMALLEST * exp2((double)place / MODEL_ROW_STEP);
}

static int by_size(const void *a, const void *b)
{
	const struct knot *x = a, *y = b;

	return (x->at > y->at) - (x->at < y->at);
}

/* Rows of one size become their mean. Returns how many sizes there are. */
static size_t join_sizes(struct knot *knots, size_t n)
{
	size_t sizes = 0;

	qsort(knots, n, sizeof(*knots), by_size);
	for (size_t i = 0, end; i < n; i = end) {
		double sum = 0;

		for (end = i; end < n && knots[end].at == knots[i].at; end++)
			sum += knots[end].factor;
		knots[sizes++] = (struct knot){ knots[i].at, sum / (double)(end - i) };
	}
	return sizes;
}

static double between(const struct knot *knots, size_t n, double at)
{
	const struct knot end = { log2(MODEL_ROWS_END), 0 };

	if (at <= knots[0].at)
		return knots[0].factor;
	for (size_t i = 0; i < n; i++) {
		const struct knot *next = i + 1 < n ? &knots[i + 1] : &end;

		if (at <= next->at)
			return knots[i].factor + (next->factor - knots[i].factor) *
							 (at - knots[i].at) /
							 (next->at - knots[i].at);
	}
	return 0;
}

static int plain_time(const struct model *model, const struct model_rows *rows,
		      const struct model_curve *curve, double bytes, double *us)
{
	struct predict_request request = { .collective = curve->collective,
					   .mode = curve->mode,
					   .bytes = bytes,
					   .process_gpus = rows->process_gpus,
					   .algo = rows->algo,
					   .proto = rows->proto,
					   .plain = true };
	struct prediction plain;
	int rc = model_predict(model, &request, &plain);

	*us = plain.time_us;
	return rc;
}

/* The curve through the knots. A larger size takes no less time than a smaller one, unless that is
 * predicted, and none takes more than the end of the curve. */
static void draw(const struct model *model, const struct model_rows *rows,
		 struct model_curve *curve, const struct knot *knots, size_t n)
{
	double end = 0, plain, last_plain = 0, last = 0;

	(void)plain_time(model, rows, curve, MODEL_ROWS_END, &end);
	for (int i = 0; i < MODEL_ROW_SIZES; i++) {
		curve->factor[i] = 0;
		if (plain_time(model, rows, curve, size_of(i), &plain) != 0)
			continue;
		if (last_plain > plain)
			last *= plain / last_plain;
		last = fmin(fmax(last, plain * exp(between(knots, n, log2(size_of(i))))),
			    fmax(end, plain));
		last_plain = plain;
		curve->factor[i] = log(last / plain);
	}
}

static struct model_curve *curve_of(struct model_rows *rows, enum model_coll collective,
				    enum model_mode mode)
{
	for (int i = 0; i < rows->n; i++)
		if (rows->curve[i].collective == collective && rows->curve[i].mode == mode)
			return &rows->curve[i];
	if (rows->n == MODEL_CURVES)
		return NULL;
	rows->curve[rows->n] = (struct model_curve){ .collective = collective, .mode = mode };
	return &rows->curve[rows->n++];
}

static int make_curve(const struct model *model, struct model_rows *rows, struct model_curve *curve,
		      const struct model_row *row, size_t n, struct error *err)
{
	const char *name = model_coll_names[curve->collective];
	struct knot *knots = must(calloc(n, sizeof(*knots)));
	size_t found = 0;
	int rc = 0;

	for (size_t i = 0; rc == 0 && i < n; i++) {
		double plain;

		if (row[i].collective != curve->collective || row[i].mode != curve->mode ||
		    row[i].bytes >= MODEL_ROWS_END)
			continue;
		if (plain_time(model, rows, curve, row[i].bytes, &plain) != 0)
			rc = error_set(err, OUTCOME_USAGE, -ERANGE,
				       "%s of %.0f B has no prediction here", name, row[i].bytes);
		else if (!(row[i].time_us >= LEAST * plain && row[i].time_us <= MOST * plain))
			rc = error_set(
				err, OUTCOME_USAGE, -ERANGE,
				"%s of %.0f B took %.4g us, %.2g times of what is predicted: "
				"that is another machine, or a broken one",
				name, row[i].bytes, row[i].time_us, row[i].time_us / plain);
		else
			knots[found++] =
				(struct knot){ log2(row[i].bytes), log(row[i].time_us / plain) };
	}
	found = join_sizes(knots, found);
	if (rc == 0 && found < 2)
		rc = error_set(
			err, OUTCOME_USAGE, -ERANGE,
			"%s has rows of %zu size%s below 64 MiB: two are needed, as 16K and 4M",
			name, found, found == 1 ? "" : "s");
	if (rc == 0)
		draw(model, rows, curve, knots, found);
	curve->nrows = (int)found;
	free(knots);
	return rc;
}

int model_take_rows(struct model *model, struct model_rows *rows, const struct model_row *row,
		    size_t n, struct error *err)
{
	int rc = 0;

	rows->n = 0;
	for (size_t i = 0; i < n; i++)
		if (curve_of(rows, row[i].collective, row[i].mode) == NULL)
			return error_set(err, OUTCOME_USAGE, -ERANGE,
					 "rows of more than %d collectives and modes",
					 MODEL_CURVES);
	for (int i = 0; rc == 0 && i < rows->n; i++)
		rc = make_curve(model, rows, &rows->curve[i], row, n, err);
	if (rc == 0)
		model->rows = rows;
	return rc;
}

/* A row of a file as a row of the model. `dtype` becomes the first one's. Returns 1, 0: it is of another collective, or -EINVAL. */
static int take_row(const struct model *model, const json_t *from, unsigned colls, char dtype[16],
		    struct model_row *row, struct error *err)
{
	static const char *const modes[] = { "stream", "isolated", "graph" };
	const char *name = "", *type = "", *mode = "";
	int nranks = 0, nnodes = 0,
	    nodes = model->sys->hosts > 0 ? model->sys->hosts : model->nnodes;
	int collective, at;
	json_int_t bytes = 0, wrong = 0;

	if (json_unpack((json_t *)from, "{s:s s:s s:s s:i s:i s:I s:F s:I}", "collective", &name,
			"dtype", &type, "mode", &mode, "nranks", &nranks, "nnodes", &nnodes,
			"size_bytes", &bytes, "time_us", &row->time_us, "wrong", &wrong) != 0)
		return error_usage(err, "a row lacks what a row of nccl-tests has");
	collective = model_find(model_coll_names, MODEL_COLLS, name);
	at = model_find(modes, LENGTH(modes), mode);
	if (collective < 0 || at < 0 || !(colls & 1u << collective) || bytes <= 0)
		return 0;
	if (wrong > 0)
		return error_usage(err, "%s of %lld B has wrong data", name, (long long)bytes);
	if (!dtype[0])
		snprintf(dtype, sizeof(((struct model_rows *)0)->dtype), "%s", type);
	if (strcmp(dtype, type) != 0)
		return error_usage(err, "rows are of %s, not %s", type, dtype);
	if (nranks > 0 && (nranks != model->nranks || (nnodes > 0 && nnodes != nodes)))
		return error_usage(err, "rows are of %d ranks on %d node%s, not of %d on %d",
				   nranks, nnodes, nnodes == 1 ? "" : "s", model->nranks, nodes);
	row->collective = (enum model_coll)collective;
	row->mode = (enum model_mode)at;
	row->bytes = (double)bytes;
	return 1;
}

int model_take_file(struct model *model, struct model_rows *rows, const json_t *file,
		    unsigned colls, struct error *err)
{
	const json_t *from = json_object_get(file, "rows");
	size_t all = json_array_size(from), n = 0;
	struct model_row *row = must(calloc(all + 1, sizeof(*row)));
	int rc = 0;

	rows->dtype[0] = '\0';
	for (size_t i = 0; rc >= 0 && i < all; i++) {
		rc = take_row(model, json_array_get(from, i), colls, rows->dtype, &row[n], err);
		n += rc == 1;
	}
	if (rc >= 0 && n == 0)
		rc = error_usage(err, "no row is of what is predicted, but of %s",
				 json_string_value(
					 json_object_get(json_array_get(from, 0), "collective")));
	rows->process_gpus = (int)json_integer_value(json_object_get(file, "process_gpus"));
	if (rc >= 0)
		rc = model_take_rows(model, rows, row, n, err);
	free(row);
	return rc < 0 ? rc : 0;
}

double model_rows_factor(const struct model_rows *rows, const struct predict_request *request)
{
	double place = log2(request->bytes / SMALLEST) * MODEL_ROW_STEP;
	int process_gpus = request->process_gpus > 1 ? request->process_gpus : 1;

	if (rows == NULL || request->plain || request->algo != rows->algo ||
	    request->proto != rows->proto || request->bytes >= MODEL_ROWS_END ||
	    process_gpus != (rows->process_gpus > 1 ? rows->process_gpus : 1))
		return 1;
	for (int i = 0; i < rows->n; i++) {
		const struct model_curve *c = &rows->curve[i];
		int from = place > 0 ? (int)place : 0;

		if (c->collective == request->collective && c->mode == request->mode)
			return exp(c->factor[from] +
				   (c->factor[from + 1] - c->factor[from]) * fmax(place - from, 0));
	}
	return 1;
}
