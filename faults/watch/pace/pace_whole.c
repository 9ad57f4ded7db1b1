/* pace_whole.c: what is slow though no rank is: pauses of one rank after the other, a job that is slower than before. */
#include "pace/pace.h"

#include "base/error.h"
#include "base/stats.h"

#define PAUSE_STEPS   4.0 /* own time of so many median steps is a pause */
#define BUSY_PAUSE_NS 3e8 /* at least, where other programs take processors: for less than this */
#define PAUSES_FEWEST 4
#define PAUSES_MOST   2.0 /* times its share that one rank may have of them; of two ranks 1.5 */

static size_t kept_rows(const struct pace_rows *c)
{
	return c->rows < c->room ? c->rows : c->room;
}

/* The rank with the largest own time in a row, and by how much it is over that of all others. */
static size_t row_longest(const struct pace_rows *c, size_t row, double *over)
{
	const float *own = &c->own[row * (size_t)c->n];
	double second = 0;
	size_t most = 0;

	for (size_t m = 1; m < (size_t)c->n; m++)
		if (own[m] > own[most])
			most = m;
	for (size_t m = 0; m < (size_t)c->n; m++)
		second = m != most ? fmax(second, own[m]) : second;
	*over = own[most] - second;
	return most;
}

bool pace_rotates(const struct pace *pace, const struct pace_rows *c, struct pace_pauses *out)
{
	size_t kept = kept_rows(c);
	double *values = must(calloc(2 * kept + 1, sizeof(*values))), all = 0, sum = 0, median,
	       limit;
	double *pauses = values + kept, most = c->n > 2 ? PAUSES_MOST : 1.5;
	int *counts = must(calloc((size_t)c->n, sizeof(*counts)));

	*out = (struct pace_pauses){ .n = 0 };
	for (size_t i = 0; i < kept; i++)
		all += values[i] = c->step[i];
	median = kept ? sort_median(values, kept) : 0;
	limit = fmax(PAUSE_STEPS * median, pace_busy(c, PACE_ALL) ? BUSY_PAUSE_NS : 0);
	for (size_t i = 0; i < kept; i++) {
		double over;
		size_t m = row_longest(c, i, &over);

		if (over < limit)
			continue;
		pauses[out->n++] = over;
		sum += over;
		out->ranks += counts[m]++ == 0;
		out->most = counts[m] > out->most ? counts[m] : out->most;
	}
	out->ns = out->n ? sort_median(pauses, out->n) : 0;
	out->share = all > 0 ? sum / all : 0;
	free(values);
	free(counts);
	return kept >= PACE_FEWEST && out->n >= PAUSES_FEWEST && out->ranks > 1 &&
	       out->most * c->n <= most * (double)out->n + c->n &&
	       out->share * 100 >= pace->percent;
}

/* The kind and amount of most rows that follow a row of the same. */
static uint64_t usual_amount(const struct pace_rows *c, size_t kept)
{
	uint64_t *amounts = must(calloc(kept + 1, sizeof(*amounts)));
	struct vote vote;
	size_t n = 0;

	for (size_t i = 0; i < kept; i++)
		if (c->amount[i])
			amounts[n++] = c->amount[i];
	vote = vote_words(amounts, n);
	free(amounts);
	return vote.most;
}

static double row_median(const struct pace_rows *c, const float *figures, size_t row, double *room)
{
	size_t n = (size_t)c->n;

	for (size_t m = 0; m < n; m++)
		room[m] = figures[row * n + m];
	return sort_median(room, n);
}

/* Some rows, a call each on the average. */
struct part {
	struct pace_interval step;
	double seconds, own, inside, starved;
};

static struct part part_of(const struct pace_rows *c, const size_t *at, const double *step,
			   const double *calls, size_t n)
{
	double *room = must(malloc((size_t)c->n * sizeof(*room))), all = 0;
	struct part part = { .step = pace_bootstrap(step, calls, n) };

	for (size_t i = 0; i < n; i++) {
		part.seconds += step[i] * 1e-9;
		all += calls[i];
		part.own += row_median(c, c->own, at[i], room);
		part.inside += row_median(c, c->inside, at[i], room) * calls[i];
		part.starved += row_median(c, c->starved, at[i], room);
	}
	free(room);
	part.own /= all;
	part.inside /= all;
	part.starved /= all;
	return part;
}

bool pace_slower(const struct pace *pace, const struct pace_rows *c, struct pace_drift *out)
{
	size_t kept = kept_rows(c), n = 0, change, *at = must(calloc(kept + 1, sizeof(*at)));
	double *step = must(calloc(2 * kept + 1, sizeof(*step))), *calls = step + kept;
	uint64_t amount = usual_amount(c, kept);
	struct part before, after;

	for (size_t i = c->rows - kept; i < c->rows && amount; i++) {
		if (c->amount[i % c->room] != amount)
			continue;
		at[n] = i % c->room;
		step[n] = c->step[at[n]];
		calls[n] = c->calls[at[n]];
		n++;
	}
	change = pace_step(step, calls, n);
	before = part_of(c, at, step, calls, change);
	after = part_of(c, at + change, step + change, calls + change, n - change);
	*out = (struct pace_drift){
		.since = n ? c->seq[at[change]] : 0,
		.before = before.step.ratio,
		.after = after.step.ratio,
		.own = after.own / before.own,
		.inside = after.inside / before.inside,
		.starved =
			(after.starved - before.starved) / (after.step.ratio - before.step.ratio),
	};
	free(step);
	free(at);
	return change >= PACE_FEWEST && n - change >= PACE_FEWEST &&
	       fmin(before.seconds, after.seconds) >= DRIFT_SECONDS &&
	       after.step.low > before.step.high * (1 + pace->percent / 100);
}
