/* meter_text.c: rows as a table, CSV, Prometheus text, and a trace for Perfetto. */
#include "pace/meter.h"

#include "base/output.h"
#include "base/rank_list.h"

#define WIDE 108 /* columns, with the ranks */

char *meter_label(const struct meter_comm *c, char *buf, size_t len)
{
	int32_t most = 0;
	bool *in, all = true;

	for (int m = 0; m < c->n; m++) {
		all = all && c->ranks[m] >= 0;
		most = c->ranks[m] > most ? c->ranks[m] : most;
	}
	in = must(calloc((size_t)most + 1, sizeof(*in)));
	for (int m = 0; all && m < c->n; m++)
		in[c->ranks[m]] = true;
	snprintf(buf, len, "%d ranks", c->n);
	if (all)
		rank_list_words(in, most + 1, buf, len);
	if (c->name[0])
		snprintf(buf, len, "%s", c->name);
	free(in);
	return buf;
}

/* Three digits and a unit; "-" for what is not known. */
static char *number(double value, const char *const *units, char *buf)
{
	for (; value >= 999.5 && units[1]; units++)
		value /= 1000;
	if (isfinite(value))
		snprintf(buf, METER_CELL, "%.*f%s",
			 value < 0.0995	 ? 3
			 : value < 9.995 ? 2
			 : value < 99.95 ? 1
					 : 0,
			 value, units[0]);
	else
		strcpy(buf, "-");
	return buf;
}

char *meter_bytes(double bytes, char *buf)
{
	return number(bytes,
		      (const char *const[]){ " B", " kB", " MB", " GB", " TB", " PB", " EB", NULL },
		      buf);
}

char *meter_count(double n, char *buf)
{
	if (n >= 1e6)
		return number(n * 1e-6, (const char *const[]){ " M", " G", " T", NULL }, buf);
	snprintf(buf, METER_CELL, n < 1000 ? "%.0f" : "%.0f,%03d", n < 1000 ? n : floor(n / 1000),
		 (int)fmod(n, 1000));
	return buf;
}

static char *time_text(double us, char *buf)
{
	return number(us, (const char *const[]){ " us", " ms", " s", NULL }, buf);
}

static char *percent_text(double percent, char *buf)
{
	snprintf(buf, METER_CELL, isfinite(percent) ? "%.1f" : "-", percent);
	return buf;
}

static void print_row(FILE *out, const struct meter_row *r, bool wide, bool predicted)
{
	char label[METER_CELL], cells[7][METER_CELL];

	snprintf(label, sizeof(label), "%zu more rows", r->rows);
	if (r->comm)
		meter_label(r->comm, label, sizeof(label));
	fprintf(out, "# %-14.14s %-13s %7s %7s %7s %7s %5s %5s %5s", label,
		r->comm ? call_kind_name((enum call_kind)r->kind) : "",
		meter_count(r->calls, cells[0]), meter_bytes(r->bytes, cells[1]),
		time_text(r->median_us, cells[2]), time_text(r->p95_us, cells[3]),
		number(r->busbw_gbs, (const char *const[]){ "", NULL }, cells[4]),
		percent_text(r->held_percent, cells[5]), percent_text(r->waited_percent, cells[6]));
	if (predicted)
		fprintf(out, " %5s", percent_text(100 * r->busbw_gbs / r->predicted_gbs, cells[0]));
	if (wide && r->most >= 0)
		fprintf(out, "  %5.1f rank %-4d %5.1f rank %d", r->most_percent, r->most,
			r->least_percent, r->least);
	fputs("\n", out);
}

void meter_print(FILE *out, const struct meter *meter, int columns)
{
	struct meter_row whole = meter_whole(meter), *rows;
	char cell[METER_CELL];
	bool wide = columns >= WIDE;
	size_t n;

	if (!whole.samples)
		return;
	rows = meter_rows(meter, METER_ROWS, &n);
	fprintf(out, "# meter: %d ranks, %.4g s, of it in calls %.1f %%%s, waiting %.1f %%\n",
		meter->nranks, meter->seconds, whole.held_percent,
		whole.held_percent > 100 ? " (overlaps)" : "", fmax(whole.waited_percent, 0));
	fprintf(out, "# %-14s %-13s %7s %7s %7s %7s %5s %5s %5s%s%s\n", "communicator", "call",
		"calls", "bytes", "median", "p95", "busbw", "call%", "wait%",
		meter->model ? " pred%" : "", wide ? "    most           least" : "");
	for (size_t i = 0; i < n; i++)
		print_row(out, &rows[i], wide, meter->model);
	if (whole.most != whole.least)
		fprintf(out,
			"# rank %d waited most (%.1f %%), rank %d least (%.1f %%) of the time\n",
			whole.most, whole.most_percent, whole.least, whole.least_percent);
	fputs("# call%, wait%: of the time that ranks were watched\n", out);
	fprintf(out, "# median, p95, busbw (GB/s): while data move, of %s sampled calls\n",
		meter_count(whole.samples, cell));
	if (meter->model)
		fputs("# pred%: of the busbw that the topology predicts for calls of the mean "
		      "size, one after the other\n",
		      out);
	free(rows);
}

/* The figures of a row, of each rank alone from OF_RANK on. */
static const struct {
	const char *name, *help;
	size_t at;
} figures[] = {
#define FIGURE(field, help)                                                                        \
	{                                                                                          \
#field, help, offsetof(struct meter_row, field)                                    \
	}
	FIGURE(bytes, "bytes of a rank's calls"),
	FIGURE(samples, "sampled calls"),
	FIGURE(median_us, "median time in which a call moves data, of samples"),
	FIGURE(p95_us, "95th percentile of that"),
	FIGURE(busbw_gbs, "bus bandwidth while data move"),
	FIGURE(predicted_gbs,
	       "bus bandwidth that the topology predicts for calls of the mean size"),
	FIGURE(calls, "calls of a rank"),
	FIGURE(held_percent, "share of the time in such calls"),
	FIGURE(waited_percent, "share of the time in which ranks waited in them"),
#undef FIGURE
};
#define FIGURES LENGTH(figures)
#define OF_RANK (FIGURES - 3)

static double figure(const struct meter_row *row, size_t f)
{
	return *(const double *)((const char *)row + figures[f].at);
}

static void put_csv(FILE *out, const struct meter_row *r)
{
	char label[160];

	fprintf(out, "%zu,\"%s\",%d,%s,%d", r->number, meter_label(r->comm, label, sizeof(label)),
		r->comm->n, call_kind_name((enum call_kind)r->kind), r->rank);
	for (size_t f = 0; f < FIGURES; f++)
		fprintf(out, isfinite(figure(r, f)) ? ",%.15g" : ",", figure(r, f));
	fputs("\n", out);
}

static void put_gauge(FILE *out, const char *job, const struct meter_row *r, const char *name,
		      double value)
{
	char label[160], text[METER_CELL];

	if (!isfinite(value))
		return;
	snprintf(text, sizeof(text), "%zu", r->number);
	fprintf(out, "hangar_%s", name);
	prometheus_label(out, '{', "number", text);
	if (job[0])
		prometheus_label(out, ',', "job", job);
	prometheus_label(out, ',', "communicator", meter_label(r->comm, label, sizeof(label)));
	prometheus_label(out, ',', "call", call_kind_name((enum call_kind)r->kind));
	snprintf(text, sizeof(text), "%d", r->rank);
	if (r->rank >= 0)
		prometheus_label(out, ',', "rank", text);
	fprintf(out, "} %.15g\n", value);
}

void meter_csv(FILE *out, const struct meter *meter)
{
	size_t n;
	struct meter_row *rows = meter_rows(meter, 0, &n);

	fputs("communicator,name,nranks,call,rank", out);
	for (size_t f = 0; f < FIGURES; f++)
		fprintf(out, ",%s", figures[f].name);
	fputs("\n", out);
	for (size_t i = 0; i < n; i++) {
		put_csv(out, &rows[i]);
		for (int m = 0; m < rows[i].comm->n; m++) {
			struct meter_row its = meter_member(meter, &rows[i], m);

			if (its.rank >= 0)
				put_csv(out, &its);
		}
	}
	free(rows);
}

void meter_prometheus(FILE *out, const struct meter *meter, const char *job)
{
	size_t n;
	struct meter_row *rows = meter_rows(meter, 0, &n);

	for (size_t f = 0; f < FIGURES && n; f++) {
		char name[64];
		double scale;

		snprintf(name, sizeof(name), "meter_%s", figures[f].name);
		scale = prometheus_unit(name, sizeof(name));
		prometheus_head(out, name, figures[f].help);
		for (size_t i = 0; i < n; i++) {
			put_gauge(out, job, &rows[i], name, figure(&rows[i], f) * scale);
			for (int m = 0; f >= OF_RANK && m < rows[i].comm->n; m++) {
				struct meter_row its = meter_member(meter, &rows[i], m);

				if (its.rank >= 0)
					put_gauge(out, job, &its, name, figure(&its, f) * scale);
			}
		}
	}
	free(rows);
}

static void put_slice(FILE *out, const struct pace_sample *s, double from_us, double us,
		      const char *word, const char *colour)
{
	fprintf(out,
		",\n{\"ph\":\"X\",\"pid\":0,\"tid\":%d,\"ts\":%.3f,\"dur\":%.3f,\"name\":\"%s%s\","
		"\"cname\":\"%s\",\"args\":{\"communicator\":\"%016lx\",\"call\":%lu}}",
		s->rank, from_us, us, word, call_kind_name((enum call_kind)s->kind), colour,
		s->comm, s->seq);
}

void meter_trace(FILE *out, const struct meter *meter)
{
	uint64_t zero = UINT64_MAX;

	fputs("{\"displayTimeUnit\":\"ms\",\"traceEvents\":[\n{\"ph\":\"M\",\"pid\":0,\"name\":"
	      "\"process_name\",\"args\":{\"name\":\"sampled calls\"}}",
	      out);
	for (int r = 0; r < meter->nranks; r++)
		if (meter->spans[r][0])
			fprintf(out,
				",\n{\"ph\":\"M\",\"pid\":0,\"tid\":%d,\"name\":\"thread_name\","
				"\"args\":{\"name\":\"rank %d\"}}",
				r, r);
	for (size_t i = 0; i < meter->nevents; i++)
		if (meter->events[i].sample.arrived_ns < zero)
			zero = meter->events[i].sample.arrived_ns;
	for (size_t i = 0; i < meter->nevents; i++) {
		const struct meter_event *e = &meter->events[i];
		double waited = isfinite(e->waited_ns) ? e->waited_ns * 1e-3 : 0;
		double from = (double)(e->sample.arrived_ns - zero) * 1e-3;

		if (waited > 0)
			put_slice(out, &e->sample, from, waited, "waits in ", "grey");
		put_slice(out, &e->sample, from + waited, e->took_ns * 1e-3 - waited, "", "good");
	}
	fprintf(out, "\n],\"otherData\":{\"sampled calls in this file\":\"1 of %u\"}}\n",
		1u << meter->shift);
}
