/* sink_metrics.c: the run as Prometheus text for node_exporter's textfile collector. The collector
 * may read the file at any time, so it is replaced as a whole. */

#include "base/clock.h"
#include "base/output.h"
#include "report/sink.h"
#include "report/sink_shared.h"

#define SECONDS 10 /* between two writes while rows come */

struct kept {
	struct row row;
	char labels[320]; /* of its point */
};

struct sink_metrics {
	struct sink base;
	const char *path;	       /* borrowed */
	const struct run_facts *facts; /* borrowed */
	time_t started;
	double written;
	struct kept *rows; /* the newest row of each point; owned */
	size_t nrows;
};

static void put_run(FILE *f, const struct run_facts *facts, const char *name, const char *help,
		    double value)
{
	prometheus_head(f, name, help);
	fprintf(f, "hangar_%s{program=\"%s\",backend=\"%s\",nranks=\"%d\"} %.17g\n", name,
		facts->program, facts->backend, facts->nranks, value);
}

static void put_info(FILE *f, const struct run_facts *facts)
{
	prometheus_head(f, "run_info", "what ran, and on what");
	fprintf(f, "hangar_run_info{program=\"%s\",backend=\"%s\",nranks=\"%d\",nnodes=\"%d\"",
		facts->program, facts->backend, facts->nranks, facts->nnodes);
	prometheus_label(f, ',', "host", facts->ranks[0].host);
	prometheus_label(f, ',', "device", facts->ranks[0].device.device);
	prometheus_label(f, ',', "library", facts->ranks[0].device.library);
	prometheus_label(f, ',', "version", facts->hangar_version);
	fprintf(f, "} 1\n");
}

/* An unknown value is absent, not zero. */
static void put_column(FILE *f, const struct sink_metrics *m, const struct column *c)
{
	char name[64];
	double scale;

	snprintf(name, sizeof(name), "collective_%s", c->name);
	scale = prometheus_unit(name, sizeof(name));
	prometheus_head(f, name, c->help);
	for (size_t k = 0; k < m->nrows; k++) {
		const void *at = (const char *)&m->rows[k].row + c->offset;
		double value = c->type == COLUMN_DOUBLE ? *(const double *)at
							: (double)*(const int64_t *)at;

		if (isfinite(value) && value >= 0)
			fprintf(f, "hangar_%s{%s} %.10g\n", name, m->rows[k].labels, value * scale);
	}
}

/* `summary` NULL: the run is in progress. */
static int save(struct sink_metrics *m, const struct run_summary *summary)
{
	char *text = NULL;
	size_t len = 0;
	FILE *f = must(open_memstream(&text, &len));

	put_info(f, m->facts);
	put_run(f, m->facts, "run_start_timestamp_seconds", "when it began", (double)m->started);
	put_run(f, m->facts, "run_update_timestamp_seconds", "when this was written",
		(double)time(NULL));
	put_run(f, m->facts, "run_completed", "0: it goes on, hangs or was killed",
		summary != NULL);
	if (summary)
		put_run(f, m->facts, "run_exit_code", "how it ended, as hangar's README lists",
			summary->outcome);
	for (size_t i = 0; i < row_column_count && m->nrows > 0; i++)
		if (row_columns[i].type == COLUMN_DOUBLE || row_columns[i].type == COLUMN_INT64)
			put_column(f, m, &row_columns[i]);
	fclose(f);
	m->written = clock_seconds();
	return sink_file_replace(m->base.err, m->path, must(text));
}

static int metrics_begin(struct sink *sink, const struct run_facts *facts)
{
	struct sink_metrics *m = (struct sink_metrics *)sink;

	m->facts = facts;
	m->started = time(NULL);
	return save(m, NULL);
}

/* A row replaces that of an earlier cycle. */
static int metrics_row(struct sink *sink, const struct row *row)
{
	struct sink_metrics *m = (struct sink_metrics *)sink;
	struct kept kept = { .row = *row };
	size_t i = 0;

	if (row->step > 0) /* times of a broken run are no metrics of the collective */
		return 0;
	m->rows = must(realloc(m->rows, (m->nrows + 1) * sizeof(kept)));
	snprintf(kept.labels, sizeof(kept.labels),
		 "collective=\"%s\",backend=\"%s\",nranks=\"%d\",size_bytes=\"%lu\",dtype=\"%s\","
		 "redop=\"%s\",root=\"%d\",placement=\"%s\",mode=\"%s\"",
		 row->collective, row->backend, row->nranks, row->size, row->type, row->redop,
		 row->root, row->placement, row->mode);
	while (i < m->nrows && strcmp(m->rows[i].labels, kept.labels) != 0)
		i++;
	m->nrows += i == m->nrows;
	m->rows[i] = kept;
	return clock_seconds() - m->written < SECONDS ? 0 : save(m, NULL);
}

static int metrics_end(struct sink *sink, const struct run_summary *summary)
{
	return save((struct sink_metrics *)sink, summary->interrupted ? NULL : summary);
}

static void metrics_free(struct sink *sink)
{
	free(((struct sink_metrics *)sink)->rows);
	free(sink);
}

static const struct sink_ops metrics_ops = {
	.begin = metrics_begin,
	.row = metrics_row,
	.end = metrics_end,
	.free = metrics_free,
};

struct sink *sink_metrics_new(const char *path, struct error *err)
{
	struct sink_metrics *m = must(calloc(1, sizeof(*m)));

	m->base = (struct sink){ &metrics_ops, err };
	m->path = path;
	return &m->base;
}
