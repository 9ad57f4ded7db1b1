/* matrix.c: the measured pairs as values: places, JSON, and the digest of them. */
#include "pairs/matrix.h"

#include <jansson.h>

#include "base/stats.h"

const char *const pair_load_names[] = { "alone", "both ways", "disjoint pairs", "all pairs" };

void pair_matrix_init(struct pair_matrix *m, const struct pair_plan *plan, int nnodes)
{
	*m = (struct pair_matrix){ .plan = *plan, .nnodes = nnodes };
	m->us = must(calloc(pair_places(m) + 1, sizeof(*m->us)));
}

void pair_matrix_release(struct pair_matrix *m)
{
	pair_plan_release(&m->plan);
	free(m->us);
	m->us = NULL;
}

size_t pair_places(const struct pair_matrix *m)
{
	return (size_t)PAIR_LOADS * PAIR_SIZES * 2 * (size_t)m->plan.npairs;
}

double *pair_us(const struct pair_matrix *m, enum pair_load load, int size, int pair, bool back)
{
	return &m->us[(((size_t)pair * PAIR_LOADS + load) * PAIR_SIZES + (size_t)size) * 2 + back];
}

double pair_gbs(const struct pair_matrix *m, enum pair_load load, int pair, bool back)
{
	double us = *pair_us(m, load, m->nsizes - 1, pair, back);

	return us > 0 ? m->bytes[m->nsizes - 1] / us / 1e3 : NAN;
}

json_t *pair_matrix_json(const struct pair_matrix *m)
{
	json_t *rows = json_array(), *bytes = json_array();

	for (int s = 0; s < m->nsizes; s++)
		json_array_append_new(bytes, json_real(m->bytes[s]));
	for (int i = 0; i < m->plan.npairs; i++) {
		const struct pair *p = &m->plan.pairs[i];
		json_t *row = json_pack("[i,i,i]", p->a, p->b, p->far);

		for (int k = 0; k < 2 * PAIR_LOADS * m->nsizes; k++)
			json_array_append_new(
				row, json_real(*pair_us(m, (enum pair_load)(k / 2 / m->nsizes),
							k / 2 % m->nsizes, i, k % 2)));
		json_array_append_new(rows, row);
	}
	return json_pack("{s:i,s:i,s:o,s:o,s:b}", "ranks", m->plan.n, "nodes", m->nnodes, "bytes",
			 bytes, "pairs", rows, "host", m->host);
}

/* A number that a rank, a size or a time can be; -1: it is none. */
static double number(const json_t *array, int i)
{
	double x = json_number_value(json_array_get(array, (size_t)i));

	return json_is_number(json_array_get(array, (size_t)i)) && x >= 0 && x < 1e15 ? x : -1;
}

static bool parse_pair(struct pair_matrix *m, int i, const json_t *row)
{
	double a = number(row, 0), b = number(row, 1);

	if (a < 0 || b <= a || b >= m->plan.n ||
	    json_array_size(row) != 3 + 2 * PAIR_LOADS * (size_t)m->nsizes)
		return false;
	m->plan.pairs[i] = (struct pair){ (int)a, (int)b, 0, number(row, 2) > 0 };
	for (int k = 0; k < 2 * PAIR_LOADS * m->nsizes; k++) {
		double us = number(row, 3 + k);

		if (us < 0 || (us == 0 && k < 2 * m->nsizes))
			return false;
		*pair_us(m, (enum pair_load)(k / 2 / m->nsizes), k / 2 % m->nsizes, i, k % 2) = us;
	}
	return true;
}

int pair_matrix_parse(struct pair_matrix *m, const json_t *json, const char *path,
		      struct error *err)
{
	json_t *rows = json_object_get(json, "pairs"), *bytes = json_object_get(json, "bytes");
	struct pair_plan plan = { .npairs = (int)json_array_size(rows) };
	int nnodes = 0;
	bool fine =
		json_unpack((json_t *)json, "{s:i,s:i}", "ranks", &plan.n, "nodes", &nnodes) == 0;

	plan.pairs = must(calloc((size_t)plan.npairs + 1, sizeof(*plan.pairs)));
	pair_matrix_init(m, &plan, nnodes);
	m->nsizes = (int)json_array_size(bytes);
	m->host = json_is_true(json_object_get(json, "host"));
	fine = fine && plan.n > 1 && nnodes > 0 && plan.n % nnodes == 0 && plan.npairs > 0 &&
	       m->nsizes > 1 && m->nsizes <= PAIR_SIZES;
	for (int s = 0; fine && s < m->nsizes; s++) {
		m->bytes[s] = number(bytes, s);
		fine = m->bytes[s] > (s > 0 ? m->bytes[s - 1] : 0);
	}
	for (int i = 0; fine && i < plan.npairs; i++)
		fine = parse_pair(m, i, json_array_get(rows, (size_t)i));
	if (fine)
		return 0;
	pair_matrix_release(m);
	return error_set(err, OUTCOME_USAGE, -EINVAL,
			 "%.200s: measured: is not what p2p_matrix_perf --spec writes", path);
}

static double time_of(const struct pair_matrix *m, bool far, enum pair_load load, int size)
{
	double *us = must(calloc(2 * (size_t)m->plan.npairs + 1, sizeof(*us)));
	struct stats stats;
	size_t n = 0;

	for (int i = 0; i < 2 * m->plan.npairs; i++) {
		double x = *pair_us(m, load, size, i / 2, i % 2);

		if (m->plan.pairs[i / 2].far == far && x > 0)
			us[n++] = x;
	}
	(void)stats_compute(us, n, &stats);
	free(us);
	return n == 0				? 0
	       : stats.max > 1.5 * stats.median ? fmin(stats.max, 10 * stats.median)
						: stats.median;
}

static double gbs_of(const struct pair_matrix *m, bool far, enum pair_load load)
{
	double us = time_of(m, far, load, m->nsizes - 1);

	return us > 0 ? m->bytes[m->nsizes - 1] / us / 1e3 : 0;
}

void pair_digest_make(struct pair_digest *d, const struct pair_matrix *m)
{
	*d = (struct pair_digest){ .nranks = m->plan.n, .nnodes = m->nnodes, .host = m->host };
	for (int far = 0; far < 2; far++) {
		d->us[far] = time_of(m, far, PAIR_DISJOINT, 0);
		d->gbs[far] = gbs_of(m, far, PAIR_DISJOINT);
	}
	d->alone_gbs = gbs_of(m, false, PAIR_ALONE);
}
