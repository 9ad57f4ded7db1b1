/* run_jobs.h: the jobs of a run, where a command starts several: a script with two torchruns, say. The first monitor of the
 * host watches the first job. Each further job has a monitor of its own, a process that the first one forks; it hands over
 * the connections of that job's ranks before anything is read from them. Ranks keep their job's numbers. */
#pragma once

#include "preload/run_ranks.h"
#include "net/link.h"
#include "watch/message.h"
#include "watch/monitor.h"

/* First monitor: a job with a monitor of its own. */
struct run_other {
	struct run_job job;
	int nth; /* link_job()'s */
	struct link link;
	uint32_t passed; /* connections that were handed over */
	bool leaving; /* its end is agreed on: none is from now on; it keeps its name until it closes the link */
};

struct run_jobs {
	struct run_job own;	  /* of the ranks here; its name "": not known */
	struct run_other *others; /* owned */
	size_t n;
	bool second;		 /* this is such a monitor, */
	struct link up;		 /* connected to the first one */
	uint32_t taken, offered; /* connections that came; 1 + those at its last offer to end */
	bool agreed;		 /* the first one hands over no more */
};

/* Which monitor a process belongs to: this one, or others[i]. */
#define JOB_HERE   (-1)
#define JOB_UNSEEN (-2) /* to none so far */

/* First monitor: finds the place of a rank of that job. Where no rank is watched here, or none with a job that is known, its
 * job becomes this monitor's. So do not jobs that a rank here has started: they stay with it. */
int run_jobs_place(struct run_jobs *jobs, const struct monitor *monitor, const struct run_job *job);
/* First monitor: the number of one more job (link_job()); 0: there are too many. */
int run_jobs_next(const struct run_jobs *jobs);
/* First monitor: one more job, whose monitor is at the other end of `fd`. Returns its place. */
int run_jobs_add(struct run_jobs *jobs, const struct run_job *job, int nth, int fd);
/* First monitor: hands a duplicate of the connection over. Returns false if that monitor is gone: it is forgotten. */
bool run_jobs_pass(struct run_jobs *jobs, int which, int fd);
/* First monitor: tells the others that a signal to end has come to all of the run. */
void run_jobs_tell(struct run_jobs *jobs);

/* At each tick: takes in what comes from the others, or what the first one hands over. */
void run_jobs_look(struct run_jobs *jobs, struct monitor *monitor);
/* Second monitor, no rank of which is left: offers to end. Returns true once the first one has agreed. A first monitor: no
 * other is left. */
bool run_jobs_may_end(struct run_jobs *jobs);
size_t run_jobs_fds(const struct run_jobs *jobs, struct pollfd *fds, size_t room);
void run_jobs_release(struct run_jobs *jobs);

/* A file's path with the job's name in it, "a.csv" to "a.job-NAME.csv"; a folder's ("--out") "D" to "D/job-NAME". NULL stays. The caller
 * frees. */
char *run_jobs_file(const char *path, const char *job);
char *run_jobs_folder(const char *path, const char *job);
