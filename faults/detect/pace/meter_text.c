/* meter_text.c: rows as a table, a line, CSV, Prometheus text, and a trace for Perfetto. */
#include "pace/meter.h"

#include <time.h>

#include "base/error.h"
#include "base/output.h"
#include "base/rank_list.h"

#define WIDE 108 /* columns, with the ranks */
#define CELL 24

char *meter_label(const struct meter_comm *c, char *buf, size_t len)
{
	int32_t most = -1;
	bool *in;

	if (c->name[0]) {
		snprintf(buf, len, "%s", c->name);
		return buf;
	}
	for (int m = 0; m < c->n; m++) {
		if (c->ranks[m] < 0) {
			snprintf(buf, len, "%d ranks", c->n);
			return buf;
		}
		most = c->ranks[m] > most ? c->ranks[m] : most;
	}
	in = must(calloc((size_t)most + 1, sizeof(*in)));
	for (int m = 0; m < c->n; m++)
		in[c->ranks[m]] = true;
	rank_list_words(in, most + 1, buf, len);
	free(in);
	return buf;
}

/* Three digits and a unit; "-" for what is not known. */
static char *number(double value, const char *const *units, char *buf)
{
	if (!isfinite(value)) {
		strcpy(buf, "-");
		return buf;
	}
	while (value >= 999.5 && units[1]) {
		value /= 1000;
		units++;
	}
	snprintf(buf, CELL, "%.*f%s",
		 value < 0.0995	 ? 3
		 : value < 9.995 ? 2
		 : value < 99.95 ? 1
				 : 0,
		 value, units[0]);
	return buf;
}

static char *bytes_text(double bytes, char *buf)
{
	static const char *const units[] = { " B", " kB", " MB", " GB", " TB", " PB", " EB", NULL };

	return number(bytes, units, buf);
}

static char *time_text(double ns, char *buf)
{
	static const char *const units[] = { " us", " ms", " s", NULL };

	return number(ns * 1e-3, units, buf);
}

static char *count_text(uint64_t n, char *buf)
{
	static const char *const units[] = { " M", " G", " T", NULL };

	if (n >= 1000000)
		return number((double)n * 1e-6, units, buf);
	if (n >= 1000)
		snprintf(buf, CELL, "%d,%03d", (int)(n / 1000), (int)(n % 1000));
	else
		snprintf(buf, CELL, "%d", (int)n);
	return buf;
}

static char *percent_text(double share, char *buf)
{
	snprintf(buf, CELL, isfinite(share) ? "%.1f" : "-", share * 100);
	return buf;
}

static void print_row(FILE *out, const struct meter_row *r, bool wide)
{
	char label[CELL] = "", cells[9][CELL] = { "" };

	if (r->comm)
		meter_label(r->comm, label, sizeof(label));
	else
		snprintf(label, sizeof(label), "%zu more rows", r->rows);
	percent_text(r->most_waited, cells[7]);
	percent_text(r->least_waited, cells[8]);
	fprintf(out, "# %-14.14s %-13s %7s %7s %7s %7s %5s %5s %5s", label,
		r->comm ? call_kind_name((enum call_kind)r->kind) : "",
		count_text(r->calls, cells[0]), bytes_text((double)r->bytes, cells[1]),
		time_text(r->median_ns, cells[2]), time_text(r->p95_ns, cells[3]),
		number(r->busbw * 1e-9, (const char *const[]){ "", NULL }, cells[4]),
		percent_text(r->held, cells[5]), percent_text(r->waited, cells[6]));
	if (wide && r->most >= 0)
		fprintf(out, "  %5s rank %-4d %5s rank %d", cells[7], r->most, cells[8], r->least);
	fputs("\n", out);
}

void meter_print(FILE *out, const struct meter *meter, int columns)
{
	double seconds = meter_seconds(meter);
	struct meter_row whole = meter_whole(meter, seconds), *rows;
	char cell[CELL];
	bool wide = columns >= WIDE;
	size_t n;

	if (!whole.samples)
		return;
	rows = meter_rows(meter, seconds, METER_ROWS, &n);
	fprintf(out, "# meter: %d ranks, %.4g s: in calls %.1f %%%s, waiting %.1f %%\n",
		meter->nranks, seconds, whole.held * 100,
		whole.held > 1 ? " (streams overlap)" : "",
		isfinite(whole.waited) ? whole.waited * 100 : 0);
	fprintf(out, "# %-14s %-13s %7s %7s %7s %7s %5s %5s %5s%s\n", "communicator", "call",
		"calls", "bytes", "median", "p95", "busbw", "call%", "wait%",
		wide ? "    most           least" : "");
	for (size_t i = 0; i < n; i++)
		print_row(out, &rows[i], wide);
	if (whole.most != whole.least)
		fprintf(out,
			"# rank %d waited most (%.1f %%), rank %d least (%.1f %%) of the time\n",
			whole.most, whole.most_waited * 100, whole.least, whole.least_waited * 100);
	fprintf(out, "# median, p95, busbw (GB/s): while data move, of %s sampled calls\n",
		count_text(whole.samples, cell));
	free(rows);
}

char *meter_line(const struct meter *meter, double seconds, char *buf, size_t len)
{
	struct meter_row whole = meter_whole(meter, seconds);
	char cells[2][CELL];

	buf[0] = '\0';
	text_add(buf, len, "# meter: %s calls, %s in %.3g s", count_text(whole.calls, cells[0]),
		 bytes_text((double)whole.bytes, cells[1]), seconds);
	if (isfinite(whole.held))
		text_add(buf, len, ", in calls %.1f %%", whole.held * 100);
	if (isfinite(whole.waited))
		text_add(buf, len, ", waiting %.1f %%", whole.waited * 100);
	if (whole.most != whole.least)
		text_add(buf, len, " (rank %d %.1f to rank %d %.1f)", whole.least,
			 whole.least_waited * 100, whole.most, whole.most_waited * 100);
	return buf;
}

/* ---- files ---- */

static void put_csv(FILE *out, const struct meter_row *r, int member, double seconds)
{
	double held = r->held, waited = r->waited, values[5];
	const struct meter_kind *k = r->comm->kinds[r->kind];
	uint64_t calls = r->calls;
	char label[160];

	if (member >= 0) {
		meter_member(r, member, seconds, &held, &waited);
		calls = k->members[member].calls;
	}
	fprintf(out, "%zu,\"%s\",%d,%s,%d,%" PRIu64 ",%" PRIu64 ",%zu", r->number,
		meter_label(r->comm, label, sizeof(label)), r->comm->n,
		call_kind_name((enum call_kind)r->kind), member < 0 ? -1 : r->comm->ranks[member],
		calls, r->bytes, r->samples);
	memcpy(values,
	       (double[]){ r->median_ns * 1e-3, r->p95_ns * 1e-3, r->busbw * 1e-9, held * 100,
			   waited * 100 },
	       sizeof(values));
	for (int i = 0; i < 5; i++)
		fprintf(out, isfinite(values[i]) ? ",%.6g" : ",", values[i]);
	fputs("\n", out);
}

void meter_csv(FILE *out, const struct meter *meter)
{
	double seconds = meter_seconds(meter);
	size_t n;
	struct meter_row *rows = meter_rows(meter, seconds, 0, &n);

	fputs("communicator,name,nranks,call,rank,calls,bytes,samples,median_us,p95_us,busbw_gbs,"
	      "in_calls_percent,waited_percent\n",
	      out);
	for (size_t i = 0; i < n; i++) {
		put_csv(out, &rows[i], -1, seconds);
		for (int m = 0; m < rows[i].comm->n; m++)
			if (rows[i].comm->ranks[m] >= 0)
				put_csv(out, &rows[i], m, seconds);
	}
	free(rows);
}

static const struct {
	const char *name, *help;
	double scale;
	size_t at; /* of a double in struct meter_row; 0: calls, 1: bytes */
} figures[] = {
	{ "meter_calls", "calls of a rank", 1, 0 },
	{ "meter_bytes", "bytes of them", 1, 1 },
	{ "meter_median_seconds", "median time in which a call moves data, of samples", 1e-9,
	  offsetof(struct meter_row, median_ns) },
	{ "meter_p95_seconds", "95th percentile of that", 1e-9,
	  offsetof(struct meter_row, p95_ns) },
	{ "meter_busbw_bytes_per_second", "bus bandwidth while data move", 1,
	  offsetof(struct meter_row, busbw) },
	{ "meter_in_calls_ratio", "share of the time in such calls", 1,
	  offsetof(struct meter_row, held) },
	{ "meter_waited_ratio", "share of the time in which ranks waited in them", 1,
	  offsetof(struct meter_row, waited) },
};

static void put_labels(FILE *out, const struct meter_row *r, const char *name)
{
	char label[160], number[CELL];

	snprintf(number, sizeof(number), "%zu", r->number);
	fprintf(out, "hangar_%s", name);
	prometheus_label(out, '{', "number", number);
	prometheus_label(out, ',', "communicator", meter_label(r->comm, label, sizeof(label)));
	prometheus_label(out, ',', "call", call_kind_name((enum call_kind)r->kind));
}

static void put_gauge(FILE *out, const char *name, const char *help, double value)
{
	prometheus_head(out, name, help);
	fprintf(out, "hangar_%s %.17g\n", name, value);
}

void meter_prometheus(FILE *out, const struct meter *meter, bool over)
{
	double seconds = meter_seconds(meter), held, waited;
	size_t n;
	struct meter_row *rows = meter_rows(meter, seconds, 0, &n);

	put_gauge(out, "meter_update_timestamp_seconds", "when this was written",
		  (double)time(NULL));
	put_gauge(out, "meter_completed", "0: the run goes on, hangs or was killed", over);
	for (size_t f = 0; f < sizeof(figures) / sizeof(figures[0]) && n; f++) {
		prometheus_head(out, figures[f].name, figures[f].help);
		for (size_t i = 0; i < n; i++) {
			double value =
				figures[f].at > 1
					? *(const double *)((const char *)&rows[i] + figures[f].at)
				: figures[f].at ? (double)rows[i].bytes
						: (double)rows[i].calls;

			if (!isfinite(value))
				continue;
			put_labels(out, &rows[i], figures[f].name);
			fprintf(out, "} %.10g\n", value * figures[f].scale);
		}
	}
	if (n)
		prometheus_head(out, "meter_rank_waited_ratio",
				"share of the time in which a rank waited in such calls");
	for (size_t i = 0; i < n; i++)
		for (int m = 0; m < rows[i].comm->n; m++) {
			char rank[CELL];

			meter_member(&rows[i], m, seconds, &held, &waited);
			if (rows[i].comm->ranks[m] < 0 || !isfinite(waited))
				continue;
			snprintf(rank, sizeof(rank), "%d", rows[i].comm->ranks[m]);
			put_labels(out, &rows[i], "meter_rank_waited_ratio");
			prometheus_label(out, ',', "rank", rank);
			fprintf(out, "} %.10g\n", waited);
		}
	free(rows);
}

/* To be added to each rank's times, ns, for free(). Clocks of devices differ: a call that all ranks leave together has
 * the same end on all of them. A call's events follow each other. */
static double *offsets(const struct meter *meter)
{
	double *offset = must(malloc(((size_t)meter->nranks + 1) * sizeof(*offset)));
	const struct meter_event *first = meter->events;

	for (int r = 0; r < meter->nranks; r++)
		offset[r] = meter->ranks[r].device && (!first || r != first->rank) ? NAN : 0;
	for (const struct meter_event *e = first; e < meter->events + meter->nevents; e++) {
		double *one = &offset[first->rank], *other = &offset[e->rank], ahead;

		if (e->id != first->id || e->seq != first->seq || !isfinite(e->waited)) {
			first = e;
			continue;
		}
		ahead = (double)(int64_t)(first->arrived_ns - e->arrived_ns) + first->took -
			e->took;
		*other = isnan(*other) ? *one + ahead : *other;
		*one = isnan(*one) ? *other - ahead : *one;
	}
	for (int r = 0; r < meter->nranks; r++)
		offset[r] = isnan(offset[r]) ? 0 : offset[r];
	return offset;
}

static void put_slice(FILE *out, const struct meter_event *e, double from, double took,
		      const char *word, const char *colour)
{
	fprintf(out,
		",\n{\"ph\":\"X\",\"pid\":0,\"tid\":%d,\"ts\":%.3f,\"dur\":%.3f,\"name\":\"%s%s\","
		"\"cname\":\"%s\",\"args\":{\"communicator\":%u,\"call\":%" PRIu64 "}}",
		e->rank, from * 1e-3, took * 1e-3, word, call_kind_name((enum call_kind)e->kind),
		colour, e->comm, e->seq);
}

void meter_trace(FILE *out, const struct meter *meter)
{
	double *offset = offsets(meter);
	uint64_t zero = UINT64_MAX;
	char label[160];

	fputs("{\"displayTimeUnit\":\"ms\",\"traceEvents\":[\n{\"ph\":\"M\",\"pid\":0,\"name\":"
	      "\"process_name\",\"args\":{\"name\":\"sampled calls\"}}",
	      out);
	for (int r = 0; r < meter->nranks; r++)
		if (meter->ranks[r].first_ns)
			fprintf(out,
				",\n{\"ph\":\"M\",\"pid\":0,\"tid\":%d,\"name\":\"thread_name\","
				"\"args\":{\"name\":\"rank %d\"}}",
				r, r);
	for (size_t i = 0; i < meter->nevents; i++)
		zero = meter->events[i].arrived_ns < zero ? meter->events[i].arrived_ns : zero;
	for (size_t i = 0; i < meter->nevents; i++) {
		const struct meter_event *e = &meter->events[i];
		double waited = isfinite(e->waited) ? e->waited : 0;
		double from = (double)(e->arrived_ns - zero) + offset[e->rank];

		if (waited > 0)
			put_slice(out, e, from, waited, "waits in ", "grey");
		put_slice(out, e, from + waited, e->took - waited, "", "good");
	}
	fprintf(out, "\n],\"otherData\":{\"sampled calls in this file\":\"1 of %u\"",
		1u << meter->shift);
	for (size_t i = 0; i < meter->ncomms; i++)
		fprintf(out, ",\"communicator %zu\":\"%s\"", i,
			meter_label(&meter->comms[i], label, sizeof(label)));
	fputs("}}\n", out);
	free(offset);
}
