/* run_alerts.c: the answers about a run as gauges. */
#include "preload/run_alerts.h"

#include <dirent.h>

#include "base/output.h"
#include "base/rank_list.h"
#include "evidence/words.h"

#define PREFIX "hangar-job-"

enum alert { ALERT_LATE, ALERT_HANG, ALERT_DIED, ALERT_FAILED, ALERT_SLOW, ALERT_WITHDRAWN };

static const struct {
	const char *name, *help;
} gauges[] = {
	[ALERT_LATE] = { "late_seconds", "for how long others have waited for what is late" },
	[ALERT_HANG] = { "hang_seconds", "for how long a run that hangs has made no step" },
	[ALERT_DIED] = { "died_seconds", "time since a rank died" },
	[ALERT_FAILED] = { "failed_seconds", "time since a run failed otherwise" },
	[ALERT_SLOW] = { "slow_seconds", "how much longer the own work of a slow rank has taken" },
	[ALERT_WITHDRAWN] = { "withdrawn_seconds",
			      "for how long ranks waited for what came after its verdict" },
};

static const char *host_name(void)
{
	static char name[HOST_NAME_MAX + 1];

	if (gethostname(name, sizeof(name) - 1) < 0)
		strcpy(name, "unknown");
	return name;
}

const char *run_alerts_job(const struct run_alerts *a)
{
	return a->job[0] ? a->job : a->key;
}

/* "hangar_NAME{job="J",KEY="VALUE"", for more labels. */
static void begin(FILE *out, const struct run_alerts *a, const char *name, const char *key,
		  const char *value)
{
	fprintf(out, "hangar_%s", name);
	prometheus_label(out, '{', "job", run_alerts_job(a));
	prometheus_label(out, ',', key, value);
}

/* A negative rank is none. */
static void put_series(FILE *out, const struct run_alerts *a, enum alert alert, int rank,
		       const char *host, const char *class, enum confidence confidence,
		       double seconds)
{
	char number[16];

	begin(out, a, gauges[alert].name, "class", class);
	prometheus_label(out, ',', "confidence", confidence_name(confidence));
	snprintf(number, sizeof(number), "%d", rank);
	if (rank >= 0)
		prometheus_label(out, ',', "rank", number);
	if (host[0])
		prometheus_label(out, ',', "host", host);
	fprintf(out, "} %.3f\n", seconds);
}

static void put_answer(FILE *out, const struct run_alerts *a, enum alert alert,
		       const struct answer *answer, double seconds)
{
	const struct evidence *e = a->evidence;
	const char *class = class_name(answer->class, answer->outcome);
	bool any = false;

	prometheus_head(out, gauges[alert].name, gauges[alert].help);
	for (int i = 0; i < e->nranks; i++) {
		if (!e->ranks[i].present || !rank_list_has(answer->ranks, i))
			continue;
		put_series(out, a, alert, i, e->ranks[i].view.host, class, answer->confidence,
			   seconds);
		any = true;
	}
	if (!any)
		put_series(out, a, alert, -1, answer->hosts, class, answer->confidence, seconds);
}

/* The call in which a rank waits that is no culprit; NULL: none does. */
static const struct record *find_call(const struct evidence *e, const struct answer *answer,
				      int *rank)
{
	for (int i = 0; i < e->nranks; i++) {
		const struct rank_view *v = &e->ranks[i].view;

		*rank = i;
		if (e->ranks[i].present && v->waiting && v->oldest.ticket &&
		    !rank_list_has(answer->ranks, i))
			return &v->oldest;
	}
	return NULL;
}

/* The line is the culprit's, where it is known, else that of those that wait. */
static void put_info(FILE *out, const struct run_alerts *a, const struct answer *answer)
{
	const char *line = answer->doing;
	char call[200] = "";
	int rank = 0;
	const struct record *record = find_call(a->evidence, answer, &rank);

	if (record)
		snprintf(call, sizeof(call), "call %lu, %s", record->seq,
			 call_words(a->evidence, record));
	if (!line[0] && record)
		line = call_site(a->evidence, rank, record);
	prometheus_head(out, "job_info", "the call that ranks wait in, and the culprit's line");
	begin(out, a, "job_info", "call", call);
	prometheus_label(out, ',', "line", line);
	prometheus_label(out, ',', "evidence", answer->evidence);
	fputs("} 1\n", out);
}

static void put_slow(FILE *out, const struct run_alerts *a, const struct pace_watch *pace)
{
	bool any = false;

	for (size_t i = 0; i < pace->nnamed; i++) {
		const struct pace_named *named = &pace->named[i];
		const struct pace_finding *f = &named->finding;

		if (named->ended || !named->printed)
			continue;
		if (!any)
			prometheus_head(out, gauges[ALERT_SLOW].name, gauges[ALERT_SLOW].help);
		any = true;
		put_series(out, a, ALERT_SLOW, f->rank, pace_watch_host(pace, f->rank),
			   class_name(CLASS_SLOW_RANK, OUTCOME_SLOW_RANK),
			   f->device ? CONFIDENCE_MAJORITY : CONFIDENCE_PROVED,
			   f->excess * f->seconds);
	}
}

/* Since the ranks' last step, or the death. */
static double seconds_of(const struct answer *answer, uint64_t now)
{
	double since = answer->said_ns && now > answer->said_ns
			       ? (double)(now - answer->said_ns) * 1e-9
			       : 0;

	return since + answer->detect_ms * 1e-3;
}

static void put_verdict(FILE *out, const struct run_alerts *a, uint64_t now)
{
	const struct answer *v = &a->verdict;
	enum alert alert = a->withdrawn > 0		? ALERT_WITHDRAWN
			   : v->outcome == OUTCOME_HANG ? ALERT_HANG
			   : v->outcome == OUTCOME_DIED ? ALERT_DIED
							: ALERT_FAILED;

	put_answer(out, a, alert, v, a->withdrawn > 0 ? a->withdrawn : seconds_of(v, now));
}

void run_alerts_put(FILE *out, const struct run_alerts *a, const struct pace_watch *pace,
		    uint64_t now)
{
	bool verdict = a->verdict.outcome != OUTCOME_OK && a->verdict.outcome != OUTCOME_SLOW_RANK;
	bool late = a->late->class != CLASS_OUTCOME && !a->over && (!verdict || a->withdrawn > 0);

	prometheus_head(out, "job_update_timestamp_seconds", "when this was written");
	begin(out, a, "job_update_timestamp_seconds", "host", host_name());
	fprintf(out, "} %lld\n", (long long)time(NULL));
	if (verdict)
		put_verdict(out, a, now);
	if (late)
		put_answer(out, a, ALERT_LATE, a->late, seconds_of(a->late, now));
	if (verdict || late)
		put_info(out, a, late ? a->late : &a->verdict);
	put_slow(out, a, pace);
}

const char *run_alerts_path(const struct run_alerts *a, const char *folder, char *buf, size_t len)
{
	snprintf(buf, len, "%s/" PREFIX "%s-%s.prom", folder, run_alerts_job(a), host_name());
	return buf;
}

void run_alerts_sweep(const char *folder)
{
	DIR *dir = opendir(folder);
	struct dirent *entry;
	struct stat st;

	while (dir && (entry = readdir(dir)))
		if (strncmp(entry->d_name, PREFIX, strlen(PREFIX)) == 0 &&
		    strstr(entry->d_name, ".prom") &&
		    fstatat(dirfd(dir), entry->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
		    S_ISREG(st.st_mode) && time(NULL) - st.st_mtime > ALERTS_KEPT_S)
			unlinkat(dirfd(dir), entry->d_name, 0);
	if (dir)
		closedir(dir);
}
