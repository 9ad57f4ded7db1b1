/* run_meter.h: what a run's calls cost, while it runs and at its end: lines, a table, files. */
#pragma once

#include "preload/run_alerts.h"
#include "preload/status.h"
#include "watch/monitor.h"

/* The options. NULL: no such file; every 0: no lines. */
struct meter_settings {
	double every; /* seconds from one line to the next */
	const char *metrics, *csv, *trace;
	const char *folder; /* HANGAR_METRICS_DIR: a file of this job and host is in it */
	const struct meter_model *model; /* NULL: no predictions */
};

/* A call that a rank of this host is in. */
struct run_meter_call {
	uint64_t since_ns;   /* 0: in none */
	double held, waited; /* ns; of these the meter was told */
	double held_told, waited_told;
};

struct run_meter {
	const struct meter_settings *settings; /* borrowed */
	bool quiet;
	uint64_t line_ns, metrics_ns; /* when they were last written; 0: never */
	struct meter_row before;      /* at the last line, after `seconds` */
	double seconds;
	struct run_meter_call *calls; /* by rank; owned */
	size_t ncalls;
	const struct status_counts *counts; /* of the same ranks; borrowed */
	struct run_alerts
		alerts; /* beside the table in the metrics; the caller sets what they are of */
	char *file;	/* in the folder; owned; NULL: nothing was written yet */
	bool failed;	/* a file could not be written, as was said */
};

/* At each tick of the monitor; after a verdict, when it has no ticks and samples would be lost; the files alone, at a
 * verdict, since all may be ended at any time; and when a run is over, while its ranks are still known. */
void run_meter_step(struct run_meter *meter, struct monitor *monitor, uint64_t now);
void run_meter_look(struct run_meter *meter, struct monitor *monitor);
void run_meter_save(struct run_meter *meter, struct monitor *monitor);
void run_meter_end(struct run_meter *meter, struct monitor *monitor);

/* A verdict was printed: the metrics have it from now on. */
void run_meter_note(struct run_meter *meter, const struct answer *verdict);

/* At each tick, behind status_count(): how long ranks are in calls that take long, and wait there. */
void run_meter_count(struct run_meter *meter, struct monitor *monitor,
		     const struct status_counts *counts, uint64_t now);
void run_meter_release(struct run_meter *meter);

/* Prints the table, as wide as standard error is. */
void run_meter_print(FILE *out, struct monitor *monitor);
