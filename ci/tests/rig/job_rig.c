/* job_rig.c: a job of all processes. */
#include "rig/job_rig.h"

int rig_job_open(struct job *job, const struct watch *watch, struct error *err)
{
	static struct launch launch;
	int rc;

	launch_detect(&launch);
	rc = job_init(job, watch, err, &launch);
	return rc < 0 ? rc : job_select(job, 0);
}
