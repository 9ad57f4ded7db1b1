/* observe_cpu.c: how busy the CPUs of this host are. */
#include "observe.h"

#include <stdio.h>
#include <string.h>

#include "observe_file.h"
#include "parse.h"

/* "cpu  user nice system idle iowait irq softirq steal ...", ticks. */
static void read_ticks(const char *text, struct observed_host *host)
{
	long long t[8] = { 0 }, total = 0;

	if (sscanf(text, "cpu %18lld %18lld %18lld %18lld %18lld %18lld %18lld %18lld", &t[0],
		   &t[1], &t[2], &t[3], &t[4], &t[5], &t[6], &t[7]) < 4)
		return;
	for (int i = 0; i < 8; i++) {
		if (t[i] < 0)
			return;
		total += t[i]; /* at most 8 of 18 digits each */
	}
	host->cpu_total = total;
	host->cpu_busy = total - t[3] - t[4];
}

static int count_cpus(const char *text)
{
	int n = 0;

	for (const char *at = strstr(text, "\ncpu"); at; at = strstr(at + 1, "\ncpu"))
		n++;
	return n > 0 ? n : -1;
}

void observe_cpu(const char *root, struct observed_host *host)
{
	char text[64 << 10]; /* a line per CPU */
	const char *total;
	double load;

	if (observe_text(root, text, sizeof(text), "/proc/stat") > 0) {
		read_ticks(text, host);
		host->cpus = count_cpus(text);
	}
	if (observe_text(root, text, sizeof(text), "/proc/loadavg") > 0) {
		text[strcspn(text, " ")] = '\0';
		if (parse_real(text, 0, 1e9, &load) == 0)
			host->load = load;
	}
	if (observe_text(root, text, sizeof(text), "/proc/pressure/cpu") > 0) {
		total = strstr(text, "total=");
		if (total && strncmp(text, "some ", 5) == 0)
			host->pressure_us = observe_count(total + 6);
	}
}
