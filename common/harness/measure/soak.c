/* soak.c: outliers and drift of a point over the cycles of a sweep. */
#include "measure/soak.h"

#include "base/error.h"
#include "base/parse.h"
#include "base/stats.h"

#define OUTLIER_ROWS  6	  /* fewer rows give no usual value */
#define OUTLIER_SHARE .25 /* smallest distance as a share of the median */
#define OUTLIER_MADS  10. /* smallest distance in median absolute deviations */
#define DRIFT_SHARE   .02
#define DRIFT_BUT     2 /* rows of a window that may lie in the range of the other */

static double sorted(const double *values, size_t n, double *to)
{
	memcpy(to, values, n * sizeof(*to));
	return sort_median(to, n);
}

static const char *judge_outlier(struct soak_point *p, double us, char *text, size_t len)
{
	size_t n = p->rows < SOAK_WINDOW ? p->rows : SOAK_WINDOW;
	double values[SOAK_WINDOW], median, mad;
	char took[32], usual[32], times[32];

	if (n < OUTLIER_ROWS)
		return NULL;
	median = sorted(p->newest, n, values);
	for (size_t i = 0; i < n; i++)
		values[i] = fabs(values[i] - median);
	mad = sorted(values, n, (double[SOAK_WINDOW]){ 0 });
	if (!(fabs(us - median) > fmax(OUTLIER_MADS * mad, OUTLIER_SHARE * median)))
		return NULL;
	if (p->reported && p->rows < p->reported + SOAK_WINDOW) {
		p->unreported++;
		return NULL;
	}
	snprintf(times, sizeof(times), us / median < 999.5 ? "%.3g" : "%.0f", us / median);
	snprintf(text, len, "outlier: cycle %zu took %s us, %s times the usual %s us", p->rows,
		 number_text(us, took, sizeof(took)), times,
		 number_text(median, usual, sizeof(usual)));
	if (p->unreported)
		text_add(text, len, "; %zu more since cycle %zu", p->unreported, p->reported);
	p->reported = p->rows;
	p->unreported = 0;
	return text;
}

static const char *judge_drift(struct soak_point *p, char *text, size_t len)
{
	const size_t low = DRIFT_BUT, high = SOAK_WINDOW - 1 - DRIFT_BUT;
	double a[SOAK_WINDOW], b[SOAK_WINDOW], before, now, change;
	char took[32], usual[32];

	before = sorted(p->former, SOAK_WINDOW, a);
	now = sorted(p->newest, SOAK_WINDOW, b);
	change = now / before - 1;
	if (!(fabs(change) >= DRIFT_SHARE) || !(b[low] > a[high] || b[high] < a[low]))
		return NULL;
	snprintf(text, len,
		 "drift: cycles %zu to %zu took %s us, %.2g %% %s than the %s us of cycles %zu "
		 "to %zu",
		 p->rows - SOAK_WINDOW, p->rows - 1, number_text(now, took, sizeof(took)),
		 fabs(change) * 100, change > 0 ? "more" : "less",
		 number_text(before, usual, sizeof(usual)), p->former_from,
		 p->former_from + SOAK_WINDOW - 1);
	return text;
}

const char *soak_row(struct soak *soak, size_t i, double us, char *text, size_t len)
{
	struct soak_point *p;
	const char *note;

	for (; soak->npoints <= i; soak->npoints++) {
		soak->points = must_room(soak->points, (int)soak->npoints, sizeof(*soak->points));
		soak->points[soak->npoints] = (struct soak_point){ .rows = 0 };
	}
	p = &soak->points[i];
	note = judge_outlier(p, us, text, len);
	p->newest[p->rows++ % SOAK_WINDOW] = us;
	if (p->rows == SOAK_WINDOW || (p->rows % SOAK_WINDOW == 0 && judge_drift(p, text, len))) {
		note = p->rows == SOAK_WINDOW ? note : text;
		memcpy(p->former, p->newest, sizeof(p->former));
		p->former_from = p->rows - SOAK_WINDOW;
	}
	return note;
}

void soak_release(struct soak *soak)
{
	free(soak->points);
	*soak = (struct soak){ .points = NULL };
}
