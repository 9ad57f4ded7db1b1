/* health_report.c: hosts looked at, set beside each other, and printed. */
#include "machine/health_report.h"

#include "process/task.h"

/* The driver comes last: when it is stuck, the rest is printed already. */
static void look(int fd, const void *arg)
{
	const struct health_look *look = arg;
	struct read_request request = {
		.root = look->root,
		.environment = look->environment,
		.readers = READ_TCP | READ_CPU | READ_TRAFFIC | READ_NICS | READ_CONTAINER |
			   look->readers,
	};
	struct nvml nvml;

	reading_tell(fd, &request, look->seconds);
	nvml_open(&nvml);
	request.nvml = &nvml;
	request.readers = READ_GPUS | READ_NVML | READ_XIDS | READ_NCCL;
	reading_tell(fd, &request, look->seconds);
	nvml_close(&nvml);
}

char *health_look(const struct health_look *what)
{
	struct task task = { .run = look, .arg = what, .limit = 2 * READING_BYTES };
	double limit = 2 * what->seconds + what->patience;
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

void health_compare(struct reading *hosts, int n, const char *part, const char *name)
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

void health_compare_gpus(struct reading *hosts, int n)
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

static void tell_finding(void *ctx, const struct health_finding *f)
{
	struct health_report *r = ctx;
	const char *weight = health_weights[f->weight];
	const char *ranks = reading_text(r->host, "job", "ranks");

	health_checks_add(&r->checks, f);
	if (!f->holds || f->weight == HEALTH_CAUSE)
		return;
	r->held[f->weight]++;
	r->held_here[f->weight]++;
	json_array_append_new(r->findings,
			      json_pack("{s:s s:s s:s s:s s:s}", "group", f->group, "weight",
					weight, "part", f->part, "text", f->text, "fix", f->fix));
	if (r->form != HEALTH_TEXT)
		return;
	if (r->words)
		printf("%-5s %s%s%s%s: %s: %s. Do: %s\n", r->words[f->weight], r->host->host,
		       *ranks ? " (" : "", ranks, *ranks ? ")" : "", f->part, f->text, f->fix);
	else
		printf("%s: %s: %s: %s. Do: %s\n", r->host->host, weight, f->part, f->text, f->fix);
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

static json_t *tell_host(struct health_report *r)
{
	/* NCCL's version comes from a library, not from the machine */
	bool unread = r->host->n == (size_t)(reading_find(r->host, "NCCL", NULL) != NULL);
	const char *node = reading_text(r->host, "job", "node"); /* Slurm's name of it */
	bool drain;

	memset(r->held_here, 0, sizeof(r->held_here));
	r->findings = json_array();
	if (r->form == HEALTH_TEXT && !r->words)
		describe(r->host, unread);
	health_judge(r->health, r->host, tell_finding, r);
	drain = r->held_here[HEALTH_DRAIN] + r->held_here[HEALTH_HUNG] > 0 &&
		!strchr(r->host->host, ' ');
	r->unread += unread;
	r->wrong += unread || r->held_here[HEALTH_WARN] || drain;
	r->drained += drain;
	if (drain && r->form == HEALTH_DRAIN_LIST)
		printf("%s\n", *node ? node : r->host->host);
	return json_pack("{s:s s:b s:o s:o s:o}", "host", r->host->host, "drain", drain, "findings",
			 r->findings, "checks", health_checks_host(&r->checks, r->health, r->host),
			 "reading", reading_json(r->host));
}

void health_report(struct health_report *r, const struct reading *hosts, int n)
{
	json_t *told = json_array();

	r->all = json_pack("{s:i s:o}", "version", 1, "hosts", told);
	r->checks.brief = r->words != NULL;
	for (int h = 0; h < n; h++) {
		r->host = &hosts[h];
		json_array_append_new(told, tell_host(r));
	}
	if (r->form == HEALTH_JSON)
		json_dumpf(r->all, stdout, JSON_INDENT(1));
	else if (r->form == HEALTH_TEXT)
		health_checks_print(&r->checks, r->health);
}
