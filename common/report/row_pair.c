/* row_pair.c: the out-of-place and the in-place row of one point, held until both are there. */
#include "report/row_pair.h"

#include "base/error.h"

static int side_of(const struct row *row)
{
	return strcmp(row->placement, "in-place") == 0 ? PAIR_IN : PAIR_OUT;
}

static bool same_text(const char *a, const char *b)
{
	return a == b || (a && b && strcmp(a, b) == 0);
}

static bool same_point(const struct row *a, const struct row *b)
{
	return a->size == b->size && a->count == b->count && a->root == b->root &&
	       a->cycle == b->cycle && same_text(a->collective, b->collective) &&
	       same_text(a->type, b->type) && same_text(a->redop, b->redop) &&
	       same_text(a->mode, b->mode);
}

bool row_pair_empty(const struct row_pair *pair)
{
	return !pair->has[PAIR_OUT] && !pair->has[PAIR_IN];
}

bool row_pair_takes(const struct row_pair *pair, const struct row *row)
{
	if (row_pair_empty(pair))
		return true;
	return side_of(row) == PAIR_IN && !pair->has[PAIR_IN] &&
	       same_point(&pair->rows[PAIR_OUT], row);
}

static void *copy_array(const void *from, size_t n, size_t size)
{
	return from && n > 0 ? memcpy(must(malloc(n * size)), from, n * size) : NULL;
}

void row_pair_put(struct row_pair *pair, const struct row *row)
{
	size_t nranks = row->nranks > 0 ? (size_t)row->nranks : 0;
	size_t nsamples = row->samples > 0 ? (size_t)row->samples : 0;
	int side = side_of(row);

	pair->rows[side] = *row;
	pair->rows[side].sample_times_us =
		copy_array(row->sample_times_us, nsamples * nranks, sizeof(double));
	pair->rows[side].per_rank = copy_array(row->per_rank, nranks, sizeof(struct stats));
	pair->has[side] = true;
}

void row_pair_clear(struct row_pair *pair)
{
	for (int side = 0; side < PAIR_SIDES; side++) {
		if (!pair->has[side])
			continue;
		free((void *)pair->rows[side].sample_times_us);
		free((void *)pair->rows[side].per_rank);
		pair->has[side] = false;
	}
}

const struct row *row_pair_any(const struct row_pair *pair)
{
	return &pair->rows[pair->has[PAIR_OUT] ? PAIR_OUT : PAIR_IN];
}

bool row_pair_shared(const struct column *column)
{
	/* struct row states the point first, then what was measured. */
	return column->offset < offsetof(struct row, time_us);
}
