/* prometheus.h: common parts of Prometheus text. Metrics are gauges named hangar_NAME, in base
 * units. */
#pragma once

/* Writes "# HELP" and "# TYPE"; `help` is a phrase without a full stop. */
void prometheus_head(FILE *f, const char *name, const char *help);
/* Writes `name="value"` after `before`, '{' or ','; characters that the format reserves become
 * '?'. */
void prometheus_label(FILE *f, char before, const char *name, const char *value);
/* Converts the unit at the end of a name to its base unit, "time_us" to "time_seconds", in a buffer
 * of `len`. Returns the factor for values. */
double prometheus_unit(char *name, size_t len);
