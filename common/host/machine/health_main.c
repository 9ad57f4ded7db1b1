/* health_main.c: health, the program: all hosts of an mpirun looked at without a benchmark. */
#include "base/arguments.h"
#include "machine/health.h"
#include "machine/gather.h"
#include "machine/read.h"
#include "process/launch.h"
#include "process/task.h"

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
	{ "drain-list", 'd', NULL, "The hosts that should take no work, one a line, alone",
	  FIELD(FLAG, drain_list) },
	{ "json", 'j', NULL, "Findings, and all that was read, as JSON", FIELD(FLAG, json) },
	{ "metrics", 'm', "FILE.prom",
	  "Also Prometheus text for node_exporter's textfile collector; the file is replaced",
	  .kind = ARGUMENT_OWN, .take = take_metrics },
	{ "patience", 'p', "S", "Give a driver so long to answer (default: 30)",
	  FIELD(REAL, patience), .min = .01, .most = 600 },
	{ "root", 'R', "DIR", NULL, FIELD(TEXT, root) }, /* before /proc, /sys and /dev */
	{ "rules", 'r', "FILE",
	  "Thresholds (built in: those of common/host/machine/health_rules.txt)",
	  FIELD(TEXT, rules) },
	{ "seconds", 's', "S", "Watch counters for so long (default: 1)", FIELD(REAL, seconds),
	  .min = .01, .most = 600 },
};

static const struct argument_table table = {
	.program = "health",
	.doc = "Look at this host, or under mpirun at all of its hosts: what is wrong, what to do, "
	       "and which checks passed, failed, or could not be made (PASS, FAIL, SKIP).\vThe "
	       "exit code is 0 where nothing is wrong (notes are nothing), 13 with findings, 2 for "
	       "a usage error, 11 when MPI fails, 77 where nothing could be read.",
	.rows = rows,
	.n = sizeof(rows) / sizeof(rows[0]),
	.check = check,
};

/* ---- looking ------------------------------------------------------------------------------ */

/* The driver comes last: when it is stuck, the rest is printed already. */
static void look(int fd, const void *arg)
{
	const struct arguments *arguments = arg;
	struct read_request request = {
		.root = arguments->root,
		.readers = READ_TCP | READ_CPU | READ_TRAFFIC | READ_NICS | READ_CONTAINER,
	};
	struct nvml nvml;

	reading_tell(fd, &request, arguments->seconds);
	nvml_open(&nvml);
	request.nvml = &nvml;
	request.readers = READ_GPUS | READ_NVML | READ_XIDS | READ_NCCL;
	reading_tell(fd, &request, arguments->seconds);
	nvml_close(&nvml);
}

/* Returns this host's texts, which the caller frees. A driver without an answer in time is a
 * finding. */
static char *look_in_time(const struct arguments *arguments)
{
	struct task task = { .run = look, .arg = arguments, .limit = 2 * READING_BYTES };
	double limit = 2 * arguments->seconds + arguments->patience;
	struct reading silent = { .list = NULL };
	char *text = NULL, *end, *said;

	tasks_run(&task, 1, 1, limit, limit);
	if (task.end == TASK_DONE || !task.text)
		return task.text;
	end = strrchr(task.text, '\n');
	task.text[end ? end + 1 - task.text : 0] = '\0';
	gethostname(silent.host, sizeof(silent.host) - 1);
	reading_state(&silent, "NVML", "unanswered", 1);
	said = reading_dump(&silent, false);
	reading_release(&silent);
	if (!said || asprintf(&text, "%s%s\n", task.text, said) < 0)
		text = NULL;
	free(task.text);
	free(said);
	return text;
}

/* ---- hosts beside each other -------------------------------------------------------------- */

/* Marks each host that differs from most hosts. No single host is the measure. */
static void compare(struct reading *hosts, int n, const char *part, const char *name)
{
	for (int h = 0; h < n; h++) {
		const char *mine = reading_text(&hosts[h], part, name), *other = "";
		int known = 0, alike = 0;

		for (int k = 0; *mine && k < n; k++) {
			const char *theirs = reading_text(&hosts[k], part, name);

			known += *theirs != '\0';
			alike += strcmp(mine, theirs) == 0;
			other = *theirs && strcmp(mine, theirs) != 0 ? theirs : other;
		}
		if (known > 1)
			reading_state(&hosts[h], part, "differs", alike * 2 <= known && *other);
		if (alike * 2 > known || !*other)
			continue;
		reading_say(&hosts[h], part, "elsewhere", other);
	}
}

/* Marks each host with fewer GPUs than half of the hosts have. */
static void count_gpus(struct reading *hosts, int n)
{
	for (int h = 0; h < n; h++) {
		int64_t mine = reading_value(&hosts[h], "NVML", "gpus"), most = 0;
		int more = 0;

		for (int k = 0; k < n; k++) {
			int64_t theirs = reading_value(&hosts[k], "NVML", "gpus");

			more += theirs > (mine > 0 ? mine : 0);
			most = theirs > most && k != h ? theirs : most;
		}
		if (most == 0 || hosts[h].n == 0)
			continue;
		reading_state(&hosts[h], "NVML", "gpus", mine > 0 ? mine : 0);
		reading_state(&hosts[h], "NVML", "gpus_elsewhere", more * 2 >= n ? most : 0);
	}
}

/* ---- telling ------------------------------------------------------------------------------ */

struct telling {
	const struct arguments *arguments;
	const struct reading *host;
	const struct health *health;
	struct health_checks checks;
	json_t *findings; /* of this host */
	int held[HEALTH_DRAIN + 1], wrong, drained, unread;
};

static void tell_finding(void *ctx, const struct health_finding *f)
{
	struct telling *t = ctx;
	const char *weight = health_weights[f->weight];

	health_checks_add(&t->checks, f);
	if (!f->holds || f->weight == HEALTH_CAUSE)
		return;
	t->held[f->weight]++;
	if (t->arguments->json)
		json_array_append_new(t->findings,
				      json_pack("{s:s s:s s:s s:s s:s}", "group", f->group,
						"weight", weight, "part", f->part, "text", f->text,
						"fix", f->fix));
	else if (!t->arguments->drain_list)
		printf("%s: %s: %s: %s. Do: %s\n", t->host->host, weight, f->part, f->text, f->fix);
}

/* "node1: 8 GPUs, driver 580.95.05, NCCL 2.28.9" */
static void describe(const struct reading *host, bool unread)
{
	const char *driver = reading_text(host, "NVML", "driver");
	const char *nccl = reading_text(host, "NCCL", "version");
	int64_t gpus = reading_value(host, "NVML", "gpus");

	printf("%s: ", host->host[0] ? host->host : "a host");
	if (unread || gpus < 0)
		printf("%s%s", unread ? "nothing could be read" : "no GPUs seen: ", host->why);
	else
		printf("%d GPUs", (int)gpus);
	printf("%s%s%s%s\n", *driver ? ", driver " : "", driver, *nccl ? ", NCCL " : "", nccl);
}

static json_t *tell_host(struct telling *t)
{
	/* NCCL's version comes from a library, not from the machine */
	bool unread = t->host->n == (size_t)(reading_find(t->host, "NCCL", NULL) != NULL);

	memset(t->held, 0, sizeof(t->held));
	t->findings = json_array();
	if (!t->arguments->json && !t->arguments->drain_list)
		describe(t->host, unread);
	health_judge(t->health, t->host, tell_finding, t);
	t->unread += unread;
	t->wrong += unread || t->held[HEALTH_WARN] + t->held[HEALTH_DRAIN] > 0;
	t->drained += t->held[HEALTH_DRAIN] > 0;
	if (t->held[HEALTH_DRAIN] && t->arguments->drain_list)
		printf("%s\n", t->host->host);
	return json_pack("{s:s s:b s:o s:o s:o}", "host", t->host->host, "drain",
			 t->held[HEALTH_DRAIN] > 0, "findings", t->findings, "checks",
			 health_checks_host(&t->checks, t->health, t->host), "reading",
			 reading_json(t->host));
}

static int tell(const struct arguments *arguments, const struct health *health,
		struct reading *hosts, int n)
{
	struct telling t = { .arguments = arguments, .health = health };
	json_t *all = json_array();

	compare(hosts, n, "NVML", "driver");
	compare(hosts, n, "NCCL", "version");
	count_gpus(hosts, n);
	for (int h = 0; h < n; h++) {
		t.host = &hosts[h];
		json_array_append_new(all, tell_host(&t));
	}
	if (arguments->json)
		json_dumpf(all, stdout, JSON_INDENT(1));
	else if (!arguments->drain_list)
		health_checks_print(&t.checks, health);
	if (!arguments->json && !arguments->drain_list)
		printf("%d host%s: %d in order, %d with findings, %d of them to be drained\n", n,
		       n == 1 ? "" : "s", n - t.wrong, t.wrong, t.drained);
	json_decref(all);
	return t.unread == n ? OUTCOME_UNSUPPORTED : t.wrong ? OUTCOME_SLOW : OUTCOME_OK;
}

/* ---- one host, or all of a job ------------------------------------------------------------ */

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
		rc = job_init(&job, &unwatched, err, launch.announced);
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
	health = health_open(arguments.rules, &err);
	if (health)
		rc = at_job(&arguments, health, &err);
	if (err.code)
		error_print(&err, "health");
	free(health);
	return rc < 0 ? (int)err.outcome : rc;
}
