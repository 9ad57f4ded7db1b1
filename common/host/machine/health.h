/* health.h: findings in a host's readings, by the rules of health_rules.txt. */
#pragma once

#include "base/error.h"
#include "machine/reading.h"

/* HEALTH_CAUSE is evidence where a run is slow, and is left out elsewhere. */
enum health_weight {
	HEALTH_CAUSE,
	HEALTH_NOTE,
	HEALTH_WARN,
	HEALTH_DRAIN,
	HEALTH_HUNG, /* did not answer in time; to be drained, too */
	HEALTH_WEIGHTS
};

/* "cause", "note", "warn", "drain", "hung" */
extern const char *const health_weights[];

struct health_finding {
	const char *group, *part, *fix;
	enum health_weight weight;
	int check;	  /* health_check's number; -1: a cause's */
	bool holds;	  /* false: looked at, and in order; then `text` is "" */
	char text[400];	  /* "3 NVLink replays" */
	char advice[300]; /* `fix`, where that has names of values */
};

/* Rules. */
struct health;

/* The rules of a file (`path` NULL: the built-in ones) and those of the text `more` (NULL: none).
 * Returns NULL with the error set: the file, the line, the mistake. The caller frees them. */
struct health *health_open(const char *path, const char *more, struct error *err);

/* Hands over each rule that could be judged, part by part, on the difference of two readings
 * (counter_delta). A finding's pointers live as long as the rules and the reading. */
typedef void health_fn(void *ctx, const struct health_finding *finding);
void health_judge(const struct health *health, const struct reading *delta, health_fn *each,
		  void *ctx);

/* A check: a group of rules other than causes. `meaning` is what it looks at, `needs` what has to be there so that
 * it can be made; "" where the rules do not say. */
struct health_check {
	const char *group, *meaning, *needs;
};

/* The i-th check, in the order of the file; NULL: no more. */
const struct health_check *health_check(const struct health *health, size_t i);

/* Results of the checks at all hosts so far. Zeros are none. */
enum health_result { HEALTH_PASS, HEALTH_FAIL, HEALTH_SKIP, HEALTH_RESULTS };
struct health_checks {
	bool brief; /* nothing is said of hosts that did not make a check which others made */
	int ranks;  /* that took part in a check of all hosts together; 0: not said */
	struct {
		bool judged, failed;	   /* at the newest host */
		bool whole;		   /* by all hosts together: "all hosts" */
		bool known;		   /* `why` is a reason */
		int hosts[HEALTH_RESULTS]; /* so many hosts each */
		char failing[64];	   /* the first host that fails */
		char why[160];		   /* why the first host skips it that knows */
	} list[256];
};

/* A reading says why a check is not made of it by a text "unchecked" of the part of the check's name.
 * A finding, or a rule that holds nothing, at the newest host; the end of that host, which returns
 * an object {"heat": "PASS", "port": "SKIP: needs an RDMA port"}; and a line a check at the end: its result, its name, its
 * meaning, at how many hosts it was made, and what it needs where it was made at none. */
void health_checks_add(struct health_checks *checks, const struct health_finding *finding);
json_t *health_checks_host(struct health_checks *checks, const struct health *health,
			   const struct reading *host);
/* `brief` also leaves out the checks that failed, and says N/A for SKIP. */
void health_checks_print(const struct health_checks *checks, const struct health *health);

/* Writes "TCP: 12 of 900 segments sent again; eth0: ...", by the built-in rules, into `buf`; the
 * rest that does not fit is counted at its end. Returns false where there is no finding. */
bool health_line(const struct reading *delta, char *buf, size_t len);

/* Replaces `path` by Prometheus text (hangar_health_*): findings at `n` hosts, each number in base
 * units, `outcome` as exit code. Returns 0 or a negative errno with the error set. */
int health_metrics(const char *path, const struct health *health, const struct reading *hosts,
		   int n, int outcome, struct error *err);
