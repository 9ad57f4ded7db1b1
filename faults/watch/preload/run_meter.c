/* run_meter.c: files and lines of pace/meter.h. A file that cannot be written is said once, and stops nothing. */
#include "preload/run_meter.h"

#include <sys/ioctl.h>

#include "base/clock.h"
#include "base/output.h"
#include "base/rank_list.h"

#define METRICS_NS 10000000000ull
#define RANKS_MOST 65536 /* with a rank above no line says who waits */

static void write_file(struct run_meter *m, const char *path, const char *text, size_t bytes)
{
	int rc = output_whole(path, text, bytes);

	if (rc < 0 && !m->failed)
		fprintf(stderr, "hangar_run: writing %s: %s\n", path, strerror(-rc));
	m->failed = m->failed || rc < 0;
}

static void save(struct run_meter *m, const struct meter *meter, const char *path,
		 void (*put)(FILE *, const struct meter *))
{
	char *text = NULL;
	size_t bytes = 0;
	FILE *f = path ? must(open_memstream(&text, &bytes)) : NULL;

	if (!f)
		return;
	put(f, meter);
	fclose(f);
	write_file(m, path, must(text), bytes);
	free(text);
}

/* --metrics, and the file of HANGAR_METRICS_DIR, whose name stays though a job begins anew under
 * another. */
static void save_metrics(struct run_meter *m, const struct monitor *monitor, uint64_t now)
{
	const struct meter_settings *s = m->settings;
	char *text = NULL;
	size_t bytes = 0;
	FILE *f = s->metrics || s->folder ? must(open_memstream(&text, &bytes)) : NULL;

	m->metrics_ns = now;
	if (!f)
		return;
	meter_prometheus(f, &monitor->pace.meter, run_alerts_job(&m->alerts));
	run_alerts_put(f, &m->alerts, &monitor->pace, now);
	fclose(f);
	if (s->metrics)
		write_file(m, s->metrics, must(text), bytes);
	if (s->folder && !m->file) {
		char path[PATH_MAX + 256];

		run_alerts_sweep(s->folder);
		m->file = must(strdup(run_alerts_path(&m->alerts, s->folder, path, sizeof(path))));
	}
	if (s->folder)
		write_file(m, m->file, must(text), bytes);
	free(text);
}

static void tell(struct meter *meter, struct run_meter_call *call, const struct rank_view *v,
		 const struct record_memory *memory, uint64_t now)
{
	const struct record_init *init = &memory->header.inits[v->oldest.comm % RECORD_COMMS];
	const struct pace_sample who = { .comm = init->id,
					 .rank = v->rank,
					 .member = init->rank,
					 .nmembers = init->nranks,
					 .kind = v->oldest.kind,
					 .arrived_ns = call->since_ns,
					 .through_ns = now };

	meter_long(meter, &who, call->held - call->held_told, call->waited - call->waited_told);
	call->held_told = call->held;
	call->waited_told = call->waited;
}

void run_meter_count(struct run_meter *m, struct monitor *monitor,
		     const struct status_counts *counts, uint64_t now)
{
	if (m->ncalls != monitor->nranks) {
		free(m->calls);
		m->ncalls = monitor->nranks;
		m->calls = must(calloc(m->ncalls + 1, sizeof(*m->calls)));
	}
	m->counts = counts;
	for (size_t i = 0; i < m->ncalls; i++) {
		const struct rank_view *v = &monitor->ranks[i].view;
		bool in_call = v->process < PROCESS_EXITED && v->waiting && v->oldest.ticket;
		struct run_meter_call *call = &m->calls[i];
		double more;

		if (!in_call || call->since_ns != v->since_ns)
			*call = (struct run_meter_call){ .since_ns = in_call ? v->since_ns : 0 };
		if (!in_call || now <= v->since_ns)
			continue;
		more = (double)(now - v->since_ns) - call->held;
		call->held += more;
		call->waited += counts[i].waits ? more : 0;
		if (call->held > METER_LONG)
			tell(&monitor->pace.meter, call, v, monitor->memories[i], now);
	}
}

void run_meter_release(struct run_meter *m)
{
	free(m->calls);
	free(m->file);
	m->calls = NULL;
	m->file = NULL;
	m->ncalls = 0;
}

/* Which rank all others have waited for since the last line, or for a second. It is not known
 * where ranks of other hosts are. */
static void print_awaited(const struct run_meter *m, const struct monitor *monitor, uint64_t now)
{
	bool *waits = must(calloc(2 * RANKS_MOST, sizeof(*waits))), *awaited = waits + RANKS_MOST;
	size_t nwaits = 0, nawaited = 0;
	char words[2][64];
	double seconds = INFINITY;

	for (size_t i = 0; i < m->ncalls && m->ncalls == monitor->nranks; i++) {
		const struct rank_view *v = &monitor->ranks[i].view;

		if (v->rank < 0 || v->rank >= RANKS_MOST)
			continue;
		if (m->counts[i].waits) {
			nwaits += waits[v->rank] = true;
			seconds = fmin(seconds, (double)(now - v->since_ns) * 1e-9);
		} else if (m->counts[i].is_awaited) {
			nawaited += awaited[v->rank] = true;
		}
	}
	if (nwaits && nawaited && nwaits + nawaited == monitor->nranks && !monitor->input.nhosts &&
	    seconds >= fmin(m->settings->every, 1))
		printf("# meter: %s wait%s for %s, %.1f s\n",
		       rank_list_words(waits, RANKS_MOST, words[0], sizeof(words[0])),
		       nwaits == 1 ? "s" : "",
		       rank_list_words(awaited, RANKS_MOST, words[1], sizeof(words[1])), seconds);
	free(waits);
}

/* The line of the time since the last one; the first only begins it. Shares add up over the time. */
static void print_line(struct run_meter *m, struct monitor *monitor, uint64_t now)
{
	const struct meter *meter = &monitor->pace.meter;
	struct meter_row whole, *old = &m->before;
	double from = m->seconds, to;
	char cells[2][METER_CELL];

	pace_watch_meter(&monitor->pace, monitor->memories, monitor->nranks);
	whole = meter_whole(meter);
	to = meter->seconds;
	if (whole.calls < old->calls) { /* another run of the same command */
		*old = (struct meter_row){ .calls = 0 };
		from = 0;
	}
	if (m->line_ns) {
		printf("# meter: %s calls, %s in %.3g s",
		       meter_count(whole.calls - old->calls, cells[0]),
		       meter_bytes(whole.bytes - old->bytes, cells[1]),
		       (double)(now - m->line_ns) * 1e-9);
		if (to > from && isfinite(whole.held_percent))
			printf(", in calls %.1f %%, waiting %.1f %%",
			       fmax(whole.held_percent * to - fmax(old->held_percent, 0) * from,
				    0) /
				       (to - from),
			       fmax(fmax(whole.waited_percent, 0) * to -
					    fmax(old->waited_percent, 0) * from,
				    0) /
				       (to - from));
		if (whole.most != whole.least)
			printf("; so far rank %d %.1f to rank %d %.1f", whole.least,
			       whole.least_percent, whole.most, whole.most_percent);
		printf("\n");
		print_awaited(m, monitor, now);
		fflush(stdout);
	}
	m->line_ns = now;
	m->before = whole;
	m->seconds = to;
}

void run_meter_step(struct run_meter *m, struct monitor *monitor, uint64_t now)
{
	const struct meter_settings *s = m->settings;

	monitor->pace.meter.model = s->model;
	if (!monitor->nranks)
		return;
	if (s->every > 0 && (!m->line_ns || (double)(now - m->line_ns) * 1e-9 >= s->every))
		print_line(m, monitor, now);
	if (m->alerts.over) {
		m->alerts.verdict = (struct answer){ .outcome = OUTCOME_OK };
		m->alerts.withdrawn = 0;
		m->alerts.over = false;
	}
	if (now >= m->metrics_ns + METRICS_NS)
		save_metrics(m, monitor, now);
}

void run_meter_note(struct run_meter *m, const struct answer *verdict)
{
	m->alerts.verdict = *verdict;
	m->alerts.withdrawn = 0;
	if (!verdict->said_ns)
		m->alerts.verdict.said_ns = clock_ns();
}

void run_meter_look(struct run_meter *m, struct monitor *monitor)
{
	uint64_t now = clock_ns();

	monitor->pace.meter.model = m->settings->model;
	if (!monitor->nranks)
		return;
	pace_watch_meter(&monitor->pace, monitor->memories, monitor->nranks);
	if (now >= m->metrics_ns + METRICS_NS)
		save_metrics(m, monitor, now);
}

void run_meter_print(FILE *out, struct monitor *monitor)
{
	struct winsize size;

	pace_watch_meter(&monitor->pace, monitor->memories, monitor->nranks);
	meter_print(out, &monitor->pace.meter,
		    ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 ? size.ws_col : INT_MAX);
}

void run_meter_save(struct run_meter *m, struct monitor *monitor)
{
	const struct meter_settings *s = m->settings;
	struct meter *meter = &monitor->pace.meter;

	run_meter_look(m, monitor);
	save_metrics(m, monitor, clock_ns());
	if (!meter->ncomms)
		return;
	save(m, meter, s->csv, meter_csv);
	save(m, meter, s->trace, meter_trace);
}

void run_meter_end(struct run_meter *m, struct monitor *monitor)
{
	const struct meter_settings *s = m->settings;
	const struct meter *meter = &monitor->pace.meter;

	m->alerts.over = true;
	run_meter_save(m, monitor);
	/* the root has the samples of all hosts */
	if (!m->quiet && !monitor->pace.sends)
		run_meter_print(stdout, monitor);
	if (s->trace && meter->shift && !m->quiet)
		printf("# meter: %s has 1 of %u sampled calls\n", s->trace, 1u << meter->shift);
	fflush(stdout);
}
