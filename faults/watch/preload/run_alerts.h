/* run_alerts.h: what the alerts of a run rest on, as Prometheus text: seconds for which it is
 * late, hangs, has been dead, failed or slow, or waited until a verdict was withdrawn. */
#pragma once

#include "answer/answer.h"
#include "evidence/evidence.h"
#include "pace/pace_watch.h"

/* A watcher that lives writes its file each 10 s. ci/examples/prometheus-rules.yml takes one that
 * is older than 5 min for nothing. */
#define ALERTS_KEPT_S 600 /* then the next watcher removes it */

struct run_alerts {
	const char *job;		 /* its name, else "" */
	const char *key;		 /* of the run: names a job that has no name */
	const struct evidence *evidence; /* in which `late` and the verdict were found */
	const struct answer *late;	 /* class 0: nothing is */
	struct answer verdict;		 /* outcome OK: there is none */
	double withdrawn; /* seconds after which came what the verdict calls a hang; 0: it did not come */
	bool over;	  /* the ranks that these are about have left */
};

/* The job's label: the same in all series of a file. */
const char *run_alerts_job(const struct run_alerts *alerts);

/* When it is written, and a series for each rank that is named, with job, rank, host, class and
 * confidence; one without a rank where none is. The call and the line of code stand in one series
 * of the job. Pure but for the date and the host's name. */
void run_alerts_put(FILE *out, const struct run_alerts *alerts, const struct pace_watch *pace,
		    uint64_t now);

/* The file of this job and host in a folder: "FOLDER/hangar-job-JOB-HOST.prom". Returns buf. */
const char *run_alerts_path(const struct run_alerts *alerts, const char *folder, char *buf,
			    size_t len);
/* Removes such files of any job, and drafts of them, that no watcher has written for
 * ALERTS_KEPT_S. */
void run_alerts_sweep(const char *folder);
