/* pace_text.c: a finding in words. */
#include "pace/meter.h"

static void add_count(char *buf, size_t len, uint64_t n)
{
	char cell[METER_CELL];

	text_add(buf, len, "%s", meter_count((double)n, cell));
}

static void add_time(char *buf, size_t len, double ns)
{
	if (ns < 999500)
		text_add(buf, len, "%.0f us", ns * 1e-3);
	else
		text_add(buf, len, ns < 1e9 ? "%.1f ms" : "%.1f s",
			 ns < 1e9 ? ns * 1e-6 : ns * 1e-9);
}

static void add_shape(const struct pace_finding *f, char *buf, size_t len)
{
	if (f->shape == PACE_EVERY) {
		text_add(buf, len, ", in every ");
		add_count(buf, len, f->every);
		text_add(buf, len,
			 f->every % 10 == 1 && f->every % 100 != 11   ? "st call"
			 : f->every % 10 == 2 && f->every % 100 != 12 ? "nd call"
			 : f->every % 10 == 3 && f->every % 100 != 13 ? "rd call"
								      : "th call");
	}
	if (f->shape == PACE_RANDOM)
		text_add(buf, len, ", in few calls and without a period");
	if (f->shape == PACE_MOMENT)
		text_add(buf, len, ", at one moment");
}

char *pace_line(const struct pace_finding *f, const char *who, char *buf, size_t len)
{
	bool ratio = isfinite(f->ratio) && f->ratio < 100, z = isfinite(f->z);

	buf[0] = '\0';
	text_add(buf, len, "%s came last to %.0f %% of ", who, f->last * 100);
	add_count(buf, len, f->rows);
	text_add(buf, len, " sampled calls, ");
	add_time(buf, len, f->late_ns);
	text_add(buf, len, " late");
	if (ratio || z)
		text_add(buf, len, " (");
	if (ratio)
		text_add(buf, len, "%.1f x median%s", f->ratio, z ? ", " : "");
	if (z)
		text_add(buf, len, f->z < 100 ? "z %.1f%s" : "z over %.0f%s",
			 f->z < 100 ? f->z : 99, f->fence ? ", beyond the fence" : "");
	if (ratio || z)
		text_add(buf, len, ")");
	text_add(buf, len, ", ");
	text_add(buf, len, f->from_start ? "from its first call on" : "since call ");
	if (!f->from_start)
		add_count(buf, len, f->since);
	text_add(buf, len, "%s", f->or_before ? " or before" : "");
	add_shape(f, buf, len);
	if (f->overlaps)
		text_add(buf, len,
			 "; calls overlap, so that how much the others lose is not known");
	else
		text_add(buf, len,
			 ": its own work takes %.1f %% of the time longer (%.1f to %.1f), the "
			 "other%s waited %.1f %% of the time",
			 f->excess * 100, f->low * 100, f->high * 100, f->n > 2 ? "s" : "",
			 f->waited * 100);
	if (f->device && !f->overlaps)
		text_add(buf, len, " in calls, which compute may hide");
	if (f->n > 2 && !f->overlaps && !f->device)
		text_add(buf, len, ", as if %.1f of %d ranks were idle", f->waited * (f->n - 1),
			 f->n);
	if (f->starved > 0.3)
		text_add(buf, len, "; for %.0f %% of that it had no processor", f->starved * 100);
	return buf;
}

char *pace_pauses_line(const struct pace_pauses *p, int n, char *buf, size_t len)
{
	buf[0] = '\0';
	text_add(buf, len, "no straggler: pauses of ");
	add_time(buf, len, p->ns);
	text_add(buf, len,
		 " rotate over ranks: %zu pauses on %d of %d ranks, %.1f %% of the time, in which "
		 "the "
		 "others wait; pause all ranks at the same step",
		 p->n, p->ranks, n, p->share * 100);
	return buf;
}

char *pace_drift_line(const struct pace_drift *d, char *buf, size_t len)
{
	buf[0] = '\0';
	text_add(buf, len, "no straggler: since call ");
	add_count(buf, len, d->since);
	text_add(buf, len, " calls follow each other %.1f x as slowly as before (",
		 d->after / d->before);
	add_time(buf, len, d->before);
	text_add(buf, len, ", now ");
	add_time(buf, len, d->after);
	text_add(buf, len, "), on all ranks alike: own work %.1f x, calls %.1f x", d->own,
		 d->inside);
	if (d->starved > 0.3)
		text_add(buf, len, "; for %.0f %% of that ranks had no processor",
			 fmin(d->starved, 1) * 100);
	return buf;
}
