/* observe_cpu.c: how busy the CPUs of this host are. */
#include "machine/read.h"

#include <stdlib.h>
#include <string.h>

#include "machine/file.h"

#define ROOM (512 << 10) /* a line per CPU */

/* "cpu  user nice system idle iowait irq softirq steal ...", ticks. */
static void read_ticks(const char *text, struct observed_host *host)
{
	int64_t ticks, total = 0, unused = 0;

	if (strncmp(text, "cpu ", 4) != 0)
		return;
	text += 4;
	for (int i = 0; i < 8; i++) {
		text = observe_next(text, &ticks);
		if (!text || ticks > INT64_MAX / 8)
			return;
		total += ticks;
		unused += i == 3 || i == 4 ? ticks : 0;
	}
	host->cpu_total = total;
	host->cpu_busy = total - unused;
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
	char *text = malloc(ROOM);

	if (text && observe_text(root, text, ROOM, "/proc/stat") > 0) {
		read_ticks(text, host);
		host->cpus = count_cpus(text);
	}
	free(text);
}
