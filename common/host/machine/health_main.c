/* health_main.c: health, the program: all hosts of an mpirun looked at without a benchmark. */
#include "base/arguments.h"
#include "machine/gather.h"
#include "machine/health_report.h"
#include "process/launch.h"

struct arguments {
	const char *rules, *root, *metrics;
	double seconds, patience;
	bool json, drain_list;
};

static void take_metrics(struct argp_state *state, void *into, const struct argument *row,
			 char *text)
{
	size_t n = strlen(text);

	if (n <= 5 || strcmp(text + n - 5, ".prom") != 0)
		argument_refuse(state, "--metrics %s: the collector reads files that end in .prom",
				text);
	((struct arguments *)into)->metrics = text;
}

static void check(struct argp_state *state, void *into)
{
	const struct arguments *arguments = into;

	if (arguments->json && arguments->drain_list)
		argument_refuse(state, "--json or --drain-list");
}

#define FIELD(kind, field) ARGUMENT(kind, struct arguments, field)

static const struct argument rows[] = {
	{ "drain-list", 'd', NULL, FIELD(FLAG, drain_list) },
	{ "json", 'j', NULL, FIELD(FLAG, json) },
	{ "metrics", 'm', "FILE.prom", .kind = ARGUMENT_OWN, .take = take_metrics },
	{ "patience", 'p', "S", FIELD(REAL, patience), .min = .01, .most = 600 },
	{ "root", 'R', "DIR", FIELD(TEXT, root) }, /* before /proc, /sys and /dev */
	{ "rules", 'r', "FILE", FIELD(TEXT, rules) },
	{ "seconds", 's', "S", FIELD(REAL, seconds), .min = .01, .most = 600 },
};

static const struct argument_table table = {
	.program = "health",
	.rows = rows,
	.n = LENGTH(rows),
	.check = check,
};

static int tell(const struct arguments *arguments, const struct health *health,
		struct reading *hosts, int n)
{
	struct health_report t = { .health = health,
				   .form = arguments->json	   ? HEALTH_JSON
					   : arguments->drain_list ? HEALTH_DRAIN_LIST
								   : HEALTH_TEXT };

	health_compare(hosts, n, "NVML", "driver");
	health_compare(hosts, n, "NCCL", "version");
	health_compare_gpus(hosts, n);
	health_report(&t, hosts, n);
	if (t.form == HEALTH_TEXT)
		printf("%d host%s: %d in order, %d with findings, %d of them to be drained\n", n,
		       n == 1 ? "" : "s", n - t.wrong, t.wrong, t.drained);
	json_decref(t.all);
	return t.unread == n ? OUTCOME_UNSUPPORTED : t.wrong ? OUTCOME_SLOW : OUTCOME_OK;
}

/* Returns this host's texts, for free(). */
static char *look_in_time(const struct arguments *arguments)
{
	const struct health_look look = { .root = arguments->root,
					  .seconds = arguments->seconds,
					  .patience = arguments->patience };

	return health_look(&look);
}

/* All of it at rank 0; the outcome, or a negative errno. */
static int at_hosts(struct job *job, const struct arguments *arguments, const struct health *health,
		    const char *text)
{
	struct reading *hosts = must(calloc((size_t)job->nnodes, sizeof(*hosts)));
	bool several = job->nranks > 1;
	int outcome = OUTCOME_OK, rc = 0;

	if (several)
		rc = reading_gather(job, text, hosts);
	else if (text)
		reading_parse(&hosts[0], text);
	if (rc == 0 && job->rank == 0)
		outcome = tell(arguments, health, hosts, job->nnodes);
	if (rc == 0 && job->rank == 0 && arguments->metrics &&
	    health_metrics(arguments->metrics, health, hosts, job->nnodes, outcome, job->err) < 0)
		outcome = OUTCOME_INTERNAL;
	if (rc == 0 && several)
		rc = job_bcast(job, &outcome, sizeof(outcome));
	for (int h = 0; h < job->nnodes; h++)
		reading_release(&hosts[h]);
	free(hosts);
	return rc < 0 ? rc : outcome;
}

/* One process of a host looks, before MPI begins where the launcher tells which that is. */
static int at_job(const struct arguments *arguments, const struct health *health, struct error *err)
{
	static const struct watch unwatched = { .ctx = NULL };
	struct job job = { .nranks = 1, .nnodes = 1, .err = err };
	const char *local = getenv("OMPI_COMM_WORLD_LOCAL_RANK");
	struct launch launch;
	char *text = NULL;
	int rc = 0;

	launch_detect(&launch);
	if (!launch.launched || (local && strcmp(local, "0") == 0))
		text = look_in_time(arguments);
	if (launch.launched)
		rc = job_init(&job, &unwatched, err, &launch);
	if (rc == 0 && launch.launched)
		rc = job_select(&job, 0);
	if (rc == 0 && job.local_rank == 0 && !text)
		text = look_in_time(arguments);
	if (rc == 0)
		rc = at_hosts(&job, arguments, health, text);
	if (launch.launched)
		job_release(&job);
	free(text);
	return rc;
}

int main(int argc, char **argv)
{
	struct arguments arguments = { .root = "", .seconds = 1, .patience = 30 };
	struct error err = { .rank = -1 };
	struct health *health;
	int rc = -EINVAL;

	arguments_read(&table, argc, argv, &arguments);
	health = health_open(arguments.rules, NULL, &err);
	if (health)
		rc = at_job(&arguments, health, &err);
	if (err.code)
		error_print(&err, "health");
	free(health);
	return rc < 0 ? (int)err.outcome : rc;
}
