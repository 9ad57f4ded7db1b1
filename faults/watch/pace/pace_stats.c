/* pace_stats.c: intervals, outliers and change points of plain arrays. */
#include "pace/pace.h"

#include "base/error.h"
#include "base/stats.h"

#define DRAWS	    4000
#define NORMAL	    3.2905 /* both tails of 99.9 % of the normal distribution */
#define DEVIATION   1.4826 /* standard deviations in a median absolute one */
#define FEW_BLOCKS  2
#define MOST_BLOCKS 16
#define SPIKE_ROWS  0.4 /* a finding in more of the rows than this is steady */
#define SPIKE_SHARE 0.7 /* of the excess that spikes make */
#define PERIODIC    0.8 /* of the distances that are alike */

static uint64_t next_random(uint64_t *state)
{
	uint64_t x = *state += 0x9e3779b97f4a7c15ull;

	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ull;
	x = (x ^ x >> 27) * 0x94d049bb133111ebull;
	return x ^ x >> 31;
}

/* Sums of blocks of `length` rows; returns how many. The last block takes what is left over. */
static size_t sum_blocks(const double *part, const double *whole, size_t n, size_t length,
			 double *parts, double *wholes)
{
	size_t blocks = n / length;

	for (size_t i = 0; i < n && blocks; i++) {
		size_t b = i / length < blocks ? i / length : blocks - 1;

		if (!isfinite(part[i]) || !isfinite(whole[i]))
			continue;
		parts[b] += part[i];
		wholes[b] += whole[i];
	}
	return blocks;
}

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static void draw(struct pace_interval *out, const double *parts, const double *wholes)
{
	double *ratios = must(malloc(DRAWS * sizeof(*ratios)));
	/* Student's t over the normal quantile, first term of Cornish and Fisher's expansion */
	double wide = 1 + (NORMAL * NORMAL + 1) / (4.0 * (double)(out->blocks - 1));
	size_t tail = (size_t)(DRAWS * (1 - PACE_LEVEL) / 2);
	uint64_t state = 32;

	for (int d = 0; d < DRAWS; d++) {
		double part = 0, whole = 0;

		for (size_t i = 0; i < out->blocks; i++) {
			size_t b = next_random(&state) % out->blocks;

			part += parts[b];
			whole += wholes[b];
		}
		ratios[d] = whole > 0 ? part / whole : 0;
	}
	qsort(ratios, DRAWS, sizeof(*ratios), compare);
	out->low = out->ratio - wide * (out->ratio - fmin(ratios[tail], out->ratio));
	out->high = out->ratio + wide * (fmax(ratios[DRAWS - 1 - tail], out->ratio) - out->ratio);
	free(ratios);
}

struct pace_interval pace_bootstrap(const double *part, const double *whole, size_t n)
{
	/* lateness that wanders between ranks for seconds: few long blocks have it inside of them */
	size_t length = (size_t)fmax(cbrt((double)n), ceil((double)n / MOST_BLOCKS));
	double *parts = must(calloc(2 * n + 2, sizeof(*parts))), *wholes = parts + n + 1;
	double sum = 0, total = 0;
	struct pace_interval out = { .low = -INFINITY, .high = INFINITY };

	out.blocks = sum_blocks(part, whole, n, length ? length : 1, parts, wholes);
	for (size_t b = 0; b < out.blocks; b++) {
		sum += parts[b];
		total += wholes[b];
	}
	out.ratio = total > 0 ? sum / total : 0;
	for (size_t b = 0; b < out.blocks; b++)
		out.against += parts[b] < -out.ratio / 2 * wholes[b];
	if (out.blocks >= FEW_BLOCKS && total > 0)
		draw(&out, parts, wholes);
	free(parts);
	return out;
}

void pace_others(const double *values, size_t n, double *other)
{
	double *sorted = must(malloc(n * sizeof(*sorted)));
	size_t middle = (n - 2) / 2;

	memcpy(sorted, values, n * sizeof(*sorted));
	qsort(sorted, n, sizeof(*sorted), compare);
	for (size_t i = 0; i < n; i++) /* without itself the figures above it move down by one */
		other[i] = sorted[values[i] <= sorted[middle] ? middle + 1 : middle];
	free(sorted);
}

void pace_tame(double *values, size_t n)
{
	double *sorted = must(malloc((n + 1) * sizeof(*sorted))), median, reach;

	memcpy(sorted, values, n * sizeof(*sorted));
	median = n ? sort_median(sorted, n) : 0;
	for (size_t i = 0; i < n; i++)
		sorted[i] = fabs(values[i] - median);
	reach = n ? DEVIATION * sort_median(sorted, n) : 0;
	for (size_t i = 0; i < n; i++)
		values[i] = fmin(fmax(values[i], median - reach), median + reach);
	free(sorted);
}

double pace_z(const double *values, size_t n, size_t i, bool *fence)
{
	double *sorted = must(malloc((n + 1) * sizeof(*sorted))), median, low, high, spread;

	*fence = false;
	memcpy(sorted, values, n * sizeof(*sorted));
	qsort(sorted, n, sizeof(*sorted), compare);
	low = n ? sorted[(n - 1) / 4] : 0;
	high = n ? sorted[n - 1 - (n - 1) / 4] : 0;
	median = n ? sort_median(sorted, n) : 0;
	for (size_t k = 0; k < n; k++)
		sorted[k] = fabs(values[k] - median);
	spread = n ? DEVIATION * sort_median(sorted, n) : 0;
	free(sorted);
	if (n < 4)
		return NAN;
	*fence = values[i] > high + 1.5 * (high - low);
	return spread > 0 ? (values[i] - median) / spread : NAN;
}

size_t pace_step(const double *part, const double *whole, size_t n)
{
	double sum = 0, total = 0, most = 0, at = 0;
	size_t step = 0;

	for (size_t i = 0; i < n; i++) {
		sum += part[i];
		total += whole[i];
	}
	for (size_t i = 0; i + 1 < n && total > 0; i++) {
		at += part[i] - sum / total * whole[i];
		if (-at > most) {
			most = -at;
			step = i + 1;
		}
	}
	return step;
}

size_t pace_change(const double *values, const double *whole, size_t n, double level)
{
	size_t change = pace_step(values, whole, n);
	double sum = 0, total = 0;

	for (size_t i = 0; i < change; i++) {
		sum += values[i];
		total += whole[i];
	}
	return total > 0 && sum / total < level / 2 ? change : 0;
}

/* Returns true if most distances between the spikes are one number of calls, up to a tenth. */
static bool is_periodic(const uint64_t *at, size_t n, uint64_t *every)
{
	uint64_t *gaps = must(calloc(n + 1, sizeof(*gaps)));
	size_t alike = 0;

	for (size_t i = 0; i + 1 < n; i++)
		gaps[i] = at[i + 1] - at[i];
	if (n >= 4) {
		sort_words(gaps, n - 1);
		*every = gaps[(n - 1) / 2];
		for (size_t i = 0; i + 1 < n; i++)
			alike += gaps[i] * 10 >= *every * 9 && gaps[i] * 10 <= *every * 11;
	}
	free(gaps);
	return n >= 4 && *every > 1 && (double)alike >= PERIODIC * (double)(n - 1);
}

/* Half of the smallest of the largest rows that make SPIKE_SHARE of the sum. */
static double spike_limit(const double *excess, size_t n)
{
	double *sorted = must(malloc((n + 1) * sizeof(*sorted))), sum = 0, high = 0, limit = 0;

	memcpy(sorted, excess, n * sizeof(*sorted));
	qsort(sorted, n, sizeof(*sorted), compare);
	for (size_t i = 0; i < n; i++)
		sum += sorted[i];
	for (size_t i = n; i > 0 && high < SPIKE_SHARE * sum; i--) {
		high += sorted[i - 1];
		limit = sorted[i - 1] / 2;
	}
	free(sorted);
	return limit;
}

enum pace_shape pace_shape(const double *excess, const uint64_t *seq, size_t n, uint64_t *every)
{
	uint64_t *at = must(malloc((n + 1) * sizeof(*at)));
	double limit = spike_limit(excess, n);
	enum pace_shape shape = PACE_STEADY;
	size_t spikes = 0;

	for (size_t i = 0; i < n; i++)
		if (excess[i] > limit)
			at[spikes++] = seq[i];
	if (spikes && (double)spikes < SPIKE_ROWS * (double)n)
		shape = at[spikes - 1] - at[0] <= (seq[n - 1] - seq[0]) / 20 ? PACE_MOMENT
			: is_periodic(at, spikes, every)		     ? PACE_EVERY
									     : PACE_RANDOM;
	*every = shape == PACE_EVERY ? *every : 0;
	free(at);
	return shape;
}
