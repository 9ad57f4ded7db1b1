/* run_meter.h: what a run's calls cost, while it runs and at its end: lines, a table, files. */
#pragma once

#include "watch/monitor.h"

/* The options. NULL: no such file; every 0: no lines. */
struct meter_settings {
	double every; /* seconds from one line to the next */
	const char *metrics, *csv, *trace;
	const struct meter_model *model; /* NULL: no predictions */
};

struct run_meter {
	const struct meter_settings *settings; /* borrowed */
	bool quiet;
	uint64_t line_ns, metrics_ns; /* when they were last written; 0: never */
	struct meter_row before;      /* at the last line, after `seconds` */
	double seconds;
	bool failed; /* a file could not be written, as was said */
};

/* At each tick of the monitor; after a verdict, when it has no ticks and samples would be lost; the files alone, at a
 * verdict, since all may be ended at any time; and when a run is over, while its ranks are still known. */
void run_meter_step(struct run_meter *meter, struct monitor *monitor, uint64_t now);
void run_meter_look(struct run_meter *meter, struct monitor *monitor);
void run_meter_save(struct run_meter *meter, struct monitor *monitor);
void run_meter_end(struct run_meter *meter, struct monitor *monitor);

/* Prints the table, as wide as standard error is. */
void run_meter_print(FILE *out, struct monitor *monitor);
