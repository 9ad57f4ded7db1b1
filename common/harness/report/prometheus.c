/* prometheus.c: names, units and labels of Prometheus text. */
#include "report/prometheus.h"

static const struct {
	const char *end, *to;
	double scale;
} units[] = {
	{ "_us", "_seconds", 1e-6 },
	{ "_ns", "_seconds", 1e-9 },
	{ "_gbs", "_bytes_per_second", 1e9 },
	{ "_mbps", "_bits_per_second", 1e6 },
	{ "_percent", "_ratio", .01 },
	{ "_kib", "_bytes", 1024 },
	{ "_khz", "_hertz", 1e3 },
	{ "_mhz", "_hertz", 1e6 },
	{ "_mw", "_watts", 1e-3 },
	{ "_c", "_celsius", 1 },
	{ "_total", "_ever", 1 },
};

void prometheus_head(FILE *f, const char *name, const char *help)
{
	fprintf(f, "# HELP hangar_%s %s.\n# TYPE hangar_%s gauge\n", name, help, name);
}

void prometheus_label(FILE *f, char before, const char *name, const char *value)
{
	fprintf(f, "%c%s=\"", before, name);
	for (const char *c = value; *c; c++)
		putc(*c < ' ' || *c > '~' || *c == '"' || *c == '\\' ? '?' : *c, f);
	putc('"', f);
}

double prometheus_unit(char *name, size_t len)
{
	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
		size_t n = strlen(name), end = strlen(units[i].end);

		if (n <= end || strcmp(name + n - end, units[i].end) != 0)
			continue;
		snprintf(name + n - end, len - (n - end), "%s", units[i].to);
		return units[i].scale;
	}
	return 1;
}
