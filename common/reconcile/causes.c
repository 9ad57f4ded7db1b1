/* causes.c: the table of causes, running it and telling what it found. */
#include "cause_parts.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const struct cause cause_table[] = {
	{ .name = "forced-settings",
	  .what = "a setting limits NCCL",
	  .fix = "unset it, or set it for this run on purpose",
	  .gpu = true,
	  .check = cause_settings },
	{ .name = "affinity",
	  .what = "ranks are bound to the wrong CPUs, or to too few",
	  .fix = "mpirun --bind-to numa (or --bind-to none), srun --cpus-per-task with "
		 "--cpu-bind=cores",
	  .check = cause_affinity },
	{ .name = "loaded-host",
	  .what = "the host's CPUs are overloaded",
	  .fix = "end the other work on it, or start fewer ranks than it has CPUs",
	  .check = cause_load },
};

const size_t cause_count = sizeof(cause_table) / sizeof(cause_table[0]);

/* ---- what the checks share ---------------------------------------------------------------- */

void cause_yes(struct cause_finding *finding, const char *format, ...)
{
	size_t used = finding->state == CAUSE_YES ? strlen(finding->text) : 0;
	va_list args;

	if (used > 0 && used + 3 < sizeof(finding->text)) {
		memcpy(finding->text + used, "; ", 3);
		used += 2;
	}
	finding->state = CAUSE_YES;
	va_start(args, format);
	vsnprintf(finding->text + used, sizeof(finding->text) - used, format, args);
	va_end(args);
}

void cause_unseen(struct cause_finding *finding, const char *format, ...)
{
	va_list args;

	if (finding->state != CAUSE_NO)
		return;
	finding->state = CAUSE_UNSEEN;
	va_start(args, format);
	vsnprintf(finding->text, sizeof(finding->text), format, args);
	va_end(args);
}

int64_t cause_step(int64_t before, int64_t after)
{
	return before < 0 || after < before ? -1 : after - before;
}

double cause_seconds(const struct observation *o, int host)
{
	double start = o->before[host].at_s, end = o->after[host].at_s;

	return isfinite(start) && isfinite(end) && end > start ? end - start : 0;
}

const char *cause_host(const struct observation *o, int host)
{
	return o->before[host].name[0] ? o->before[host].name : "a host";
}

const char *cause_setting(const struct observation *o, const char *name)
{
	for (int h = 0; h < o->nhosts; h++)
		for (int i = 0; i < o->before[h].nsettings; i++)
			if (strcmp(o->before[h].settings[i].name, name) == 0)
				return o->before[h].settings[i].value;
	return NULL;
}

bool cause_on_gpus(const struct observation *o)
{
	return strcmp(o->run.backend, "nccl") == 0;
}

bool cause_network(const struct observation *o)
{
	return o->nhosts > 1 || o->run.nodes > 1 || o->run.shared_gpu == 1;
}

bool cause_tcp(const struct observation *o)
{
	if (o->nccl.network[0])
		return strcmp(o->nccl.network, "Socket") == 0;
	return strcmp(o->run.transport, "TCP") == 0 || o->run.shared_gpu == 1;
}

int cause_ranks_of(const struct observation *o, int node)
{
	int n = 0;

	for (int r = 0; r < o->nranks; r++)
		n += o->ranks_before[r].node == node;
	return n;
}

/* ---- running and telling ------------------------------------------------------------------ */

const struct cause *cause_find(const char *name)
{
	for (size_t i = 0; i < cause_count; i++)
		if (strcmp(cause_table[i].name, name) == 0)
			return &cause_table[i];
	return NULL;
}

void cause_check(const struct cause *cause, const struct observation *observation,
		 struct cause_finding *finding)
{
	memset(finding, 0, sizeof(*finding));
	if (!cause->gpu || cause_on_gpus(observation))
		cause->check(observation, finding);
}

/* Names of the causes from `first` on that were not seen for the same reason; marks them told. */
static void gather_unseen(struct cause_finding *findings, size_t first, char *names, size_t len)
{
	char why[sizeof(findings->text)];
	size_t used = 0;

	memcpy(why, findings[first].text, sizeof(why));
	for (size_t i = first; i < cause_count; i++) {
		if (findings[i].state != CAUSE_UNSEEN || strcmp(findings[i].text, why) != 0)
			continue;
		used += (size_t)snprintf(names + used, len - used, "%s%s", used ? ", " : "",
					 cause_table[i].name);
		if (used >= len)
			used = len - 1;
		findings[i].state = CAUSE_NO;
	}
}

static int tell_unseen(struct cause_finding *findings, int (*line)(void *ctx, const char *text),
		       void *ctx)
{
	char text[1000], names[400], why[sizeof(findings->text)];
	int rc = 0;

	for (size_t i = 0; i < cause_count && rc >= 0; i++) {
		if (findings[i].state != CAUSE_UNSEEN)
			continue;
		memcpy(why, findings[i].text, sizeof(why));
		gather_unseen(findings, i, names, sizeof(names));
		snprintf(text, sizeof(text), "not seen: %s: %s", names, why);
		rc = line(ctx, text);
	}
	return rc;
}

int causes_tell(const struct observation *observation, int (*line)(void *ctx, const char *text),
		void *ctx)
{
	struct cause_finding *findings = calloc(cause_count, sizeof(*findings));
	int found = 0, out = 0, rc = 0;
	char text[1000];

	if (!findings)
		return line(ctx, "no cause looked for: out of memory");
	for (size_t i = 0; i < cause_count && rc >= 0; i++) {
		const struct cause *cause = &cause_table[i];

		cause_check(cause, observation, &findings[i]);
		out += findings[i].state == CAUSE_NO;
		if (findings[i].state != CAUSE_YES)
			continue;
		found++;
		snprintf(text, sizeof(text), "cause: %s: %s: %s. To mend it: %s", cause->name,
			 cause->what, findings[i].text, cause->fix);
		rc = line(ctx, text);
	}
	if (found == 0 && rc >= 0) {
		snprintf(text, sizeof(text), "no cause found: %d of %zu were ruled out", out,
			 cause_count);
		rc = line(ctx, text);
	}
	if (rc >= 0)
		rc = tell_unseen(findings, line, ctx);
	free(findings);
	return rc;
}
