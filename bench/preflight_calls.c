/* preflight_calls.c: one small and one large call of each collective, with a data check. */
#include "preflight.h"

#include "perf_check.h"
#include "perf_report.h"
#include "postmortem/postmortem.h"
#include "postmortem/diagnoser.h"

static int report_fd = -1; /* of this process and of the rank that it starts */

const struct collective preflight = {
	.name = "preflight",
	.shape = shape_whole,
};

static void tell(struct reading *m)
{
	char *text = reading_dump(m, false);

	dprintf(report_fd, "%s\n", text);
	free(text);
	reading_release(m);
}

/* A row in place is told where its data are wrong. */
static void take_row(void *ctx, const struct row *row)
{
	struct reading m = { .host = "all" };
	char part[40];

	(void)ctx;
	if (row->placement[0] == 'i' && row->wrong <= 0)
		return;
	snprintf(part, sizeof(part), "%.20s %u KiB", row->collective, (unsigned)(row->size >> 10));
	reading_state(&m, part, "busbw_mbs", (int64_t)(row->busbw_gbs * 1e3));
	reading_state(&m, part, "time_us", (int64_t)row->time_us);
	reading_state(&m, part, "wrong", row->wrong);
	if (row->wrong > 0)
		reading_state(&m, part, "wrong_rank", row->report.rank);
	if (row->predicted_low_gbs > 0) {
		reading_state(&m, part, "predicted_mbs", (int64_t)(row->predicted_busbw_gbs * 1e3));
		reading_state(&m, part, "low_mbs", (int64_t)(row->predicted_low_gbs * 1e3));
	}
	tell(&m);
}

static int finish_rows(void *ctx, struct report *report)
{
	(void)ctx;
	(void)report;
	return 0;
}

int preflight_run(struct rank *r)
{
	static const struct run_hook hook = { .row = take_row, .finish = finish_rows };
	int n = r->job.group_size, rc = 0;

	if (r->run.report)
		r->run.reconciler = &hook;
	for (size_t i = 0; collectives[i] && rc == 0; i++) {
		if (collectives[i]->irregular || (collectives[i]->power_of_two && n & (n - 1)))
			continue;
		r->bench.collective = collectives[i];
		r->bench.last_bytes = 0;
		rc = run_sweep(&r->run);
	}
	r->bench.collective = &preflight;
	return rc;
}

/* In the process that prints the verdict. */
static void take_verdict(void *ctx, const struct verdict *verdict)
{
	const struct diagnoser *diagnoser = ctx;
	const char *class = class_name(verdict->class, verdict->outcome);
	struct reading m = { .host = "all" };
	char hosts[256], who[600];

	report_hosts_of(&diagnoser->evidence, verdict->ranks, verdict->hosts, hosts, sizeof(hosts));
	/* a host alone, by proof, is one to drain */
	if (verdict->confidence == CONFIDENCE_PROVED && *hosts && !strchr(hosts, ','))
		snprintf(m.host, sizeof(m.host), "%.63s", hosts);
	reading_state(&m, "calls", "hang", verdict->outcome == OUTCOME_HANG);
	reading_state(&m, "calls", "failed", verdict->outcome != OUTCOME_HANG);
	reading_say(&m, "calls", "class", class);
	snprintf(who, sizeof(who),
		 strcmp(verdict->ranks, "-") ? "rank %s (%s)" : "no rank is named", verdict->ranks,
		 hosts);
	reading_say(&m, "calls", "who", who);
	reading_say(&m, "calls", "evidence", verdict->evidence);
	reading_say(&m, "calls", "cause", diagnoser->diagnosis.cause);
	reading_say(&m, "calls", "advice", diagnoser->diagnosis.fix);
	tell(&m);
}

int preflight_calls(int fd, int argc, char **argv)
{
	const struct perf_hooks hooks = { .printed = take_verdict };

	report_fd = fd;
	return perf_main_hooked(&preflight, &hooks, argc, argv);
}
