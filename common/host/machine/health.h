/* health.h: what in a host's readings is worth saying, by the rules of health_rules.txt. */
#pragma once

#include "base/error.h"
#include "machine/reading.h"

/* HEALTH_CAUSE speaks where a run is slow, and nowhere else. */
enum health_weight { HEALTH_CAUSE, HEALTH_NOTE, HEALTH_WARN, HEALTH_DRAIN };

/* "cause", "note", "warn", "drain" */
const char *health_weight_name(enum health_weight weight);

struct health_finding {
	const char *group, *part, *fix;
	enum health_weight weight;
	bool holds;	/* false: looked at, and in order; then `text` is "" */
	char text[200]; /* "3 NVLink replays" */
};

/* Rules. */
struct health;

/* Those of a file, or of `path` NULL the built-in ones. NULL with the error set (OUTCOME_USAGE:
 * the file, the line, what is wrong). The caller frees it with free(). */
struct health *health_open(const char *path, struct error *err);

/* Hand over each rule that could be judged, part by part, of what lies between two readings
 * (counter_delta). What a finding points to lives as long as the rules and the reading. */
typedef void health_fn(void *ctx, const struct health_finding *finding);
void health_judge(const struct health *health, const struct reading *delta, health_fn *each,
		  void *ctx);

/* "TCP: 12 of 900 segments sent again; eth0: ...", by the built-in rules, into `buf`; what does not
 * fit is counted at its end. False: nothing is worth it. */
bool health_line(const struct reading *delta, char *buf, size_t len);

/* Replace `path` by Prometheus text (hangar_health_*): findings at `n` hosts, each number in base units,
 * `outcome` as exit code. 0 or a negative errno with the error set. */
int health_metrics(const char *path, const struct health *health, const struct reading *hosts,
		   int n, int outcome, struct error *err);
