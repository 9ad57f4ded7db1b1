/* run_meter.c: files and lines of pace/meter.h. A file that cannot be written is said once, and stops nothing. */
#include "preload/run_meter.h"

#include <sys/ioctl.h>

#include "base/clock.h"
#include "base/output.h"

#define METRICS_NS 10000000000ull

static void save(struct run_meter *m, const struct meter *meter, const char *path,
		 void (*put)(FILE *, const struct meter *))
{
	char *text = NULL;
	size_t bytes = 0;
	FILE *f = path ? must(open_memstream(&text, &bytes)) : NULL;
	int rc;

	if (!f)
		return;
	if (put == meter_prometheus) {
		prometheus_head(f, "meter_update_timestamp_seconds", "when this was written");
		fprintf(f, "hangar_meter_update_timestamp_seconds %lld\n", (long long)time(NULL));
	}
	put(f, meter);
	fclose(f);
	rc = output_whole(path, must(text), bytes);
	free(text);
	if (rc < 0 && !m->failed)
		fprintf(stderr, "hangar_run: writing %s: %s\n", path, strerror(-rc));
	m->failed = m->failed || rc < 0;
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
	m->calls = NULL;
	m->ncalls = 0;
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
	if (s->metrics && now >= m->metrics_ns + METRICS_NS) {
		save(m, &monitor->pace.meter, s->metrics, meter_prometheus);
		m->metrics_ns = now;
	}
}

void run_meter_look(struct run_meter *m, struct monitor *monitor)
{
	monitor->pace.meter.model = m->settings->model;
	if (monitor->nranks)
		pace_watch_meter(&monitor->pace, monitor->memories, monitor->nranks);
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
	if (!meter->ncomms)
		return;
	save(m, meter, s->metrics, meter_prometheus);
	save(m, meter, s->csv, meter_csv);
	save(m, meter, s->trace, meter_trace);
}

void run_meter_end(struct run_meter *m, struct monitor *monitor)
{
	const struct meter_settings *s = m->settings;
	const struct meter *meter = &monitor->pace.meter;

	run_meter_save(m, monitor);
	/* the root has the samples of all hosts */
	if (!m->quiet && !monitor->pace.sends)
		run_meter_print(stdout, monitor);
	if (s->trace && meter->shift && !m->quiet)
		printf("# meter: %s has 1 of %u sampled calls\n", s->trace, 1u << meter->shift);
	fflush(stdout);
}
