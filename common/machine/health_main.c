/* health_main.c: health, the program: all hosts of an mpirun looked at without a benchmark. */
#include <argp.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/json_value.h"
#include "base/output.h"
#include "base/parse.h"
#include "machine/gather.h"
#include "machine/health.h"
#include "machine/read.h"
#include "process/launch.h"
#include "process/task.h"

enum {
	OPTION_DRAIN_LIST = 1,
	OPTION_JSON,
	OPTION_PATIENCE,
	OPTION_ROOT,
	OPTION_RULES,
	OPTION_SECONDS
};

struct arguments {
	const char *rules, *root;
	double seconds, patience;
	bool json, drain_list;
};

static const struct argp_option options[] = {
	{ NULL, 'h', NULL, OPTION_HIDDEN, NULL, 0 }, /* as --help */
	{ "drain-list", OPTION_DRAIN_LIST, NULL, 0,
	  "Print the hosts that should take no work, one a line, and nothing else", 0 },
	{ "json", OPTION_JSON, NULL, 0, "Print findings, and all that was read, as JSON", 0 },
	{ "patience", OPTION_PATIENCE, "S", 0,
	  "Call a driver stuck that answers nothing for so long (default: 30; one that no process "
	  "keeps loaded takes seconds for each GPU)",
	  0 },
	{ "root", OPTION_ROOT, "DIR", OPTION_HIDDEN, "Before /proc, /sys and /dev", 0 },
	{ "rules", OPTION_RULES, "FILE", 0,
	  "Thresholds (default: built in, from common/machine/health_rules.txt)", 0 },
	{ "seconds", OPTION_SECONDS, "S", 0, "Watch counters for so long (default: 1)", 0 },
	{ 0 },
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct arguments *arguments = state->input;

	switch (key) {
	case OPTION_DRAIN_LIST:
		arguments->drain_list = true;
		return 0;
	case OPTION_JSON:
		arguments->json = true;
		return 0;
	case OPTION_ROOT:
		arguments->root = arg;
		return 0;
	case OPTION_RULES:
		arguments->rules = arg;
		return 0;
	case OPTION_SECONDS:
	case OPTION_PATIENCE:
		if (parse_real(arg, 0.01, 600,
			       key == OPTION_SECONDS ? &arguments->seconds : &arguments->patience) <
		    0)
			argp_error(state, "%s: seconds are from 0.01 to 600", arg);
		return 0;
	case 'h':
		argp_state_help(state, stdout, ARGP_HELP_STD_HELP);
		return 0;
	case ARGP_KEY_ARG:
		argp_error(state, "%s: what is this?", arg);
		return 0;
	case ARGP_KEY_END:
		if (arguments->json && arguments->drain_list)
			argp_error(state, "--json or --drain-list");
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp argp = {
	.options = options,
	.parser = parse,
	.doc = "Look at this host, or under mpirun at all of its hosts, and say what is wrong with "
	       "them and what to do."
	       "\vThe exit code is 0 where nothing is wrong (notes are nothing), 13 with findings, "
	       "2 "
	       "for a usage error, 11 when MPI fails, 77 where nothing could be read. A GPU that "
	       "is "
	       "not there is no finding: how many are seen is said of each host.",
};

/* ---- looking ------------------------------------------------------------------------------ */

/* What these readers see change meanwhile. */
static void watch_host(int fd, struct read_request *request, unsigned readers, double seconds)
{
	struct reading before = { .list = NULL }, after = { .list = NULL }, delta;
	char *text = NULL;

	request->readers = readers;
	read_host(request, &before);
	clock_nap(seconds);
	read_host(request, &after);
	if (counter_delta(&before, &after, &delta) == 0) {
		text = reading_dump(&delta, false);
		reading_release(&delta);
	}
	if (text)
		dprintf(fd, "%s\n", text);
	free(text);
	reading_release(&before);
	reading_release(&after);
}

/* The driver last: when it is stuck, the rest has been told. */
static void look(int fd, const void *arg)
{
	const struct arguments *arguments = arg;
	struct read_request request = { .root = arguments->root };
	struct nvml nvml;

	watch_host(fd, &request, READ_TCP | READ_CPU | READ_TRAFFIC | READ_NICS | READ_VERBS,
		   arguments->seconds);
	nvml_open(&nvml);
	request.nvml = &nvml;
	watch_host(fd, &request, READ_GPUS | READ_NVML | READ_XIDS | READ_NCCL, arguments->seconds);
	nvml_close(&nvml);
}

/* This host's texts; the caller frees. Whoever has not answered in time is said to have not. */
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

/* Says of each host that does not have what most have that it differs: no host is the measure. */
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
		if (alike * 2 > known || !*other)
			continue;
		reading_state(&hosts[h], part, "differs", 1);
		reading_say(&hosts[h], part, "elsewhere", other);
	}
}

/* ---- telling ------------------------------------------------------------------------------ */

struct telling {
	const struct arguments *arguments;
	const struct reading *host;
	json_t *findings; /* of this host; NULL: text */
	int held[HEALTH_DRAIN + 1], wrong, drained, unread;
};

static void tell_finding(void *ctx, const struct health_finding *f)
{
	struct telling *t = ctx;

	if (!f->holds)
		return;
	t->held[f->weight]++;
	if (t->findings)
		json_array_append_new(t->findings,
				      json_pack("{s:s s:s s:s s:s s:s}", "group", f->group,
						"weight", health_weight_name(f->weight), "part",
						f->part, "text", f->text, "fix", f->fix));
	else if (!t->arguments->drain_list)
		printf("%s: %s: %s: %s. Do: %s\n", t->host->host, health_weight_name(f->weight),
		       f->part, f->text, f->fix);
}

/* NCCL's version comes from a library, not from the machine. */
static bool is_unread(const struct reading *host)
{
	return host->n == (size_t)reading_has(host, "NCCL");
}

/* "node1: 8 GPUs, driver 580.95.05, NCCL 2.28.9" */
static void describe(const struct reading *host)
{
	int64_t gpus = reading_value(host, "NVML", "gpus");
	const char *driver = reading_text(host, "NVML", "driver");
	const char *nccl = reading_text(host, "NCCL", "version");

	printf("%s: ", host->host[0] ? host->host : "a host");
	if (is_unread(host))
		printf("nothing could be read");
	else if (gpus >= 0)
		printf("%d GPU%s", (int)gpus, gpus == 1 ? "" : "s");
	else
		printf("no GPUs seen: %s", host->why[0] ? host->why : "NVML does not tell");
	printf("%s%s%s%s\n", *driver ? ", driver " : "", driver, *nccl ? ", NCCL " : "", nccl);
}

static json_t *tell_host(struct telling *t, const struct health *health)
{
	memset(t->held, 0, sizeof(t->held));
	t->findings = t->arguments->json ? json_array() : NULL;
	if (!t->arguments->json && !t->arguments->drain_list)
		describe(t->host);
	health_judge(health, t->host, tell_finding, t);
	t->unread += is_unread(t->host);
	t->wrong += is_unread(t->host) || t->held[HEALTH_WARN] + t->held[HEALTH_DRAIN] > 0;
	t->drained += t->held[HEALTH_DRAIN] > 0;
	if (t->held[HEALTH_DRAIN] && t->arguments->drain_list)
		printf("%s\n", t->host->host);
	return t->findings ? json_pack("{s:s s:b s:o s:o}", "host", t->host->host, "drain",
				       t->held[HEALTH_DRAIN] > 0, "findings", t->findings,
				       "reading", reading_json(t->host))
			   : NULL;
}

static enum outcome tell(const struct arguments *arguments, const struct health *health,
			 struct reading *hosts, int n)
{
	struct telling t = { .arguments = arguments };
	json_t *all = json_array();

	compare(hosts, n, "NVML", "driver");
	compare(hosts, n, "NCCL", "version");
	for (int h = 0; h < n; h++) {
		t.host = &hosts[h];
		json_array_append_new(all, tell_host(&t, health));
	}
	if (arguments->json)
		json_dumpf(all, stdout, JSON_INDENT(1));
	else if (!arguments->drain_list)
		printf("%d host%s: %d in order, %d with findings, %d of them to be drained", n,
		       n == 1 ? "" : "s", n - t.wrong, t.wrong, t.drained);
	if (!arguments->drain_list)
		putchar('\n');
	json_decref(all);
	return t.unread == n ? OUTCOME_UNSUPPORTED : t.wrong ? OUTCOME_SLOW : OUTCOME_OK;
}

/* ---- one host, or all of a job ------------------------------------------------------------ */

static int at_hosts(struct job *job, const struct arguments *arguments, const struct health *health,
		    char *text)
{
	struct reading *hosts = calloc((size_t)job->nnodes, sizeof(*hosts));
	int outcome = OUTCOME_OK;
	int rc = hosts ? 0 : error_set(job->err, OUTCOME_INTERNAL, -ENOMEM, "out of memory");

	if (job->nranks > 1)
		rc = job_agree(job, rc);
	if (rc == 0 && job->nranks > 1)
		rc = reading_gather(job, text, hosts);
	else if (rc == 0 && text)
		reading_parse(&hosts[0], text);
	if (rc == 0 && job->rank == 0)
		outcome = tell(arguments, health, hosts, job->nnodes);
	if (rc == 0 && job->nranks > 1)
		rc = job_bcast(job, &outcome, sizeof(outcome));
	for (int h = 0; hosts && h < job->nnodes; h++)
		reading_release(&hosts[h]);
	free(hosts);
	return rc < 0 ? (int)job->err->outcome : outcome;
}

/* One process of a host looks, before MPI begins where the launcher tells which that is. */
static int at_job(const struct arguments *arguments, const struct health *health,
		  const struct launch *launch, struct error *err)
{
	static const struct watch nobody = { .ctx = NULL };
	struct job job = { .nranks = 1, .nnodes = 1, .err = err };
	const char *local = getenv("OMPI_COMM_WORLD_LOCAL_RANK");
	bool first = !launch->launched || (local && strcmp(local, "0") == 0);
	char *text = first ? look_in_time(arguments) : NULL;
	int code, rc = 0;

	if (launch->launched) {
		rc = job_init(&job, &nobody, err, launch->announced);
		if (rc == 0)
			rc = job_select(&job, 0);
	}
	if (rc == 0 && job.local_rank == 0 && !text)
		text = look_in_time(arguments);
	code = rc < 0 ? (int)err->outcome : at_hosts(&job, arguments, health, text);
	if (launch->launched)
		job_release(&job);
	free(text);
	return code;
}

int main(int argc, char **argv)
{
	struct arguments arguments = { .root = "", .seconds = 1, .patience = 30 };
	struct error err = { .rank = -1 };
	struct health *health;
	struct launch launch;
	int code = OUTCOME_USAGE;

	argp_err_exit_status = OUTCOME_USAGE;
	output_guard("health");
	if (argp_parse(&argp, argc, argv, 0, NULL, &arguments) != 0)
		return OUTCOME_USAGE;
	launch_detect(&launch);
	health = health_open(arguments.rules, &err);
	if (health)
		code = at_job(&arguments, health, &launch, &err);
	if (err.code)
		error_print(&err, "health");
	health_free(health);
	return code;
}
