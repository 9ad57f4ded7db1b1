/* prometheus.h: what all our Prometheus text has in common. Metrics are gauges, hangar_NAME, in base units. */
#pragma once

/* "# HELP" and "# TYPE"; `help` is a phrase without its full stop. */
void prometheus_head(FILE *f, const char *name, const char *help);
/* `name="value"` behind `before`, '{' or ',', with '?' for what the format would take for its own. */
void prometheus_label(FILE *f, char before, const char *name, const char *value);
/* Changes the end of a name to its base unit's, "time_us" to "time_seconds", in a buffer of `len`. Returns what a value is
 * to be multiplied by. */
double prometheus_unit(char *name, size_t len);
