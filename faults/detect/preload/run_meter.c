/* run_meter.c: files and lines of pace/meter.h. A file that cannot be written is said once, and stops nothing. */
#include "preload/run_meter.h"

#include <sys/ioctl.h>

#include "base/clock.h"
#include "base/output.h"

#define METRICS_NS 10000000000ull

static void put_metrics(FILE *f, const struct meter *meter)
{
	meter_prometheus(f, meter, false);
}

static void put_metrics_over(FILE *f, const struct meter *meter)
{
	meter_prometheus(f, meter, true);
}

static void save(struct run_meter *m, const struct meter *meter, const char *path,
		 void (*put)(FILE *, const struct meter *))
{
	char *text = NULL;
	size_t bytes = 0;
	FILE *f = path ? must(open_memstream(&text, &bytes)) : NULL;
	int rc;

	if (!f)
		return;
	put(f, meter);
	fclose(f);
	rc = output_whole(path, must(text), bytes);
	free(text);
	if (rc < 0 && !m->failed)
		fprintf(stderr, "hangar_run: writing %s: %s\n", path, strerror(-rc));
	m->failed = m->failed || rc < 0;
}

/* The line of the time since the last one; the first only begins it. */
static void print_line(struct run_meter *m, struct monitor *monitor, uint64_t now)
{
	struct pace_watch *pace = &monitor->pace;
	char line[200];

	pace_watch_meter(pace, monitor->memories, monitor->nranks);
	meter_window(&pace->meter, &pace->window);
	if (m->line_ns) {
		printf("%s\n", meter_line(&pace->window, (double)(now - m->line_ns) * 1e-9, line,
					  sizeof(line)));
		fflush(stdout);
	}
	m->line_ns = now;
	meter_release(&pace->window);
}

void run_meter_step(struct run_meter *m, struct monitor *monitor, uint64_t now)
{
	const struct meter_settings *s = m->settings;

	if (!monitor->nranks)
		return;
	if (s->every > 0 && (!m->line_ns || (double)(now - m->line_ns) * 1e-9 >= s->every))
		print_line(m, monitor, now);
	if (s->metrics && now >= m->metrics_ns + METRICS_NS) {
		save(m, &monitor->pace.meter, s->metrics, put_metrics);
		m->metrics_ns = now;
	}
}

void run_meter_print(FILE *out, struct monitor *monitor)
{
	struct winsize size;

	pace_watch_meter(&monitor->pace, monitor->memories, monitor->nranks);
	meter_print(out, &monitor->pace.meter,
		    ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 ? size.ws_col : INT_MAX);
}

void run_meter_end(struct run_meter *m, struct monitor *monitor)
{
	const struct meter_settings *s = m->settings;
	struct meter *meter = &monitor->pace.meter;

	pace_watch_meter(&monitor->pace, monitor->memories, monitor->nranks);
	/* the root has the samples of all hosts */
	if (!m->quiet && !monitor->pace.sends)
		run_meter_print(stdout, monitor);
	if (!meter->ncomms)
		return;
	save(m, meter, s->metrics, put_metrics_over);
	save(m, meter, s->csv, meter_csv);
	save(m, meter, s->trace, meter_trace);
	if (s->trace && meter->shift)
		printf("# meter: %s has 1 of %u sampled calls, %zu in all\n", s->trace,
		       1u << meter->shift, meter->nevents);
	fflush(stdout);
}
