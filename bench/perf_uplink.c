/* perf_uplink.c: rank 0's monitor listens, and the ranks pass its address on. */
#include "perf_report.h"

#include <sys/random.h>

#include "net/uplink.h"

static void open_uplink(struct rank *r)
{
	int port = recorder_uplink_port(&r->recorder);

	if (port > 0)
		uplink_addresses(port, r->uplink.address, sizeof(r->uplink.address));
	if (getrandom(&r->uplink.token, sizeof(r->uplink.token), 0) != sizeof(r->uplink.token))
		r->uplink.address[0] = '\0';
}

static void use_uplink(struct rank *r)
{
	if (r->uplink.address[0])
		recorder_uplink(&r->recorder, r->uplink.address, r->uplink.token);
}

void uplink_meet(struct rank *r)
{
	const struct launch *launch = r->program->launch;
	char name[128], text[JOB_TEXT] = "";
	int end = 0;

	if (launch->local < 1 || launch->local >= r->job.nranks)
		return;
	snprintf(name, sizeof(name), "hangar-%.100s", getenv("PMIX_NAMESPACE") ?: "");
	if (r->job.rank == 0) {
		open_uplink(r);
		snprintf(text, sizeof(text), "%lx %s", r->uplink.token, r->uplink.address);
		job_publish(&r->job, name, text);
	} else if (launch->local_rank == 0 && job_lookup(&r->job, name, text) &&
		   sscanf(text, "%lx %n", &r->uplink.token, &end) == 1) {
		snprintf(r->uplink.address, sizeof(r->uplink.address), "%.199s", text + end);
	}
	use_uplink(r);
}

int uplink_spread(struct rank *r)
{
	int rc;

	if (r->job.nnodes < 2)
		return 0;
	if (r->job.rank == 0 && !r->uplink.address[0])
		open_uplink(r);
	rc = job_bcast(&r->job, &r->uplink, sizeof(r->uplink));
	if (rc == 0)
		use_uplink(r);
	return rc;
}
