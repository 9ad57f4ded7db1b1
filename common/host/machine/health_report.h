/* health_report.h: a host looked at in time, and findings of several hosts as text or JSON. */
#pragma once

#include "machine/health.h"
#include "machine/read.h"

/* How a host is looked at. */
struct health_look {
	const char *root;	  /* as struct read_request has it */
	double seconds, patience; /* counters are watched for so long; so long a driver may take */
	unsigned readers;	  /* besides those of health (read.h) */
	char *const *environment; /* for READ_SETTINGS and READ_JOB */
};

/* Returns this host's texts of reading_dump, which the caller frees; NULL: none. A driver without an
 * answer in time is a finding. */
char *health_look(const struct health_look *look);

/* Marks each host with a value that most do not have ("differs", "elsewhere"), or fewer GPUs. */
void health_compare(struct reading *hosts, int n, const char *part, const char *name);
void health_compare_gpus(struct reading *hosts, int n);

enum health_form { HEALTH_TEXT, HEALTH_JSON, HEALTH_DRAIN_LIST };

struct health_report {
	const struct health *health;
	enum health_form form;
	/* a finding begins with this word, by its weight; NULL: it has "HOST: weight" */
	const char *const *words;
	/* the result */
	struct health_checks checks;
	int held[HEALTH_WEIGHTS];   /* findings of all hosts */
	int wrong, drained, unread; /* hosts: from HEALTH_WARN on, to be drained, unread */
	json_t *all;		    /* version, and an object a host; the caller decrefs it */
	/* private */
	const struct reading *host;
	json_t *findings;
	int held_here[HEALTH_WEIGHTS];
};

/* Prints all hosts in that form, and fills in the result. JSON is left in `all`. A part "job" has the
 * host's ranks in words ("ranks"). A host whose name has a blank is none to drain. */
void health_report(struct health_report *report, const struct reading *hosts, int n);
