/* preflight_start.c: launches of all hosts, and of halves of them. */
#include "preflight_start.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>

#include "backend/backend.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/output.h"
#include "bisect.h"
#include "machine/health_report.h"
#include "options/options_launch.h"
#include "preflight_meet.h"
#include "process/launch.h"

#define NAME	       256
#define LAUNCH_SECONDS 240.0 /* of all hosts, whose parts have deadlines of their own */
#define GROUP_SECONDS  90.0
#define TERM_SECONDS   5.0

struct start {
	const struct preflight_arguments *arguments;
	char **argv, exe[PATH_MAX];
	char (*names)[NAME];  /* of hosts, or numbers of GPUs; owned */
	char (*called)[NAME]; /* as these hosts call themselves; owned */
	int n, each;	      /* ranks of each */
	bool gpus;	      /* they are GPUs of this host */
	char folder[64];      /* of files that launches read and write */
};

/* ---- hosts of a start ---- */

static void add_name(struct start *s, const char *name, size_t len)
{
	if (len == 0 || s->n == BISECT_MOST)
		return;
	s->names = must(realloc(s->names, ((size_t)s->n + 1) * NAME));
	snprintf(s->names[s->n++], NAME, "%.*s", (int)len, name);
}

/* The first word of each line, and those of a list. */
static int find_hosts(struct start *s, struct error *err)
{
	char text[64 << 10], *rest = text, *line;
	const char *path = s->arguments->hostfile;

	text[0] = '\0';
	if (!path && getenv("SLURM_JOB_NODELIST"))
		preflight_hosts(environ, text, sizeof(text));
	else if (path && file_text("", text, sizeof(text), "%s", path) <= 0)
		return error_usage(err, "--hostfile %s: %s", path,
				   errno ? strerror(errno) : "empty");
	while ((line = strsep(&rest, path ? "\n" : " "))) {
		line += strspn(line, " \t");
		if (*line != '#')
			add_name(s, line, strcspn(line, " \t\r"));
	}
	return 0;
}

static void find_gpus(struct start *s, int devices)
{
	const char *visible = getenv("CUDA_VISIBLE_DEVICES");
	char number[16];

	s->gpus = devices > 0;
	for (int i = 0; i < devices; i++) {
		snprintf(number, sizeof(number), "%d", i);
		if (visible && *visible) {
			add_name(s, visible, strcspn(visible, ","));
			visible += strcspn(visible, ",");
			visible += *visible == ',';
		} else {
			add_name(s, number, strlen(number));
		}
	}
}

/* ---- launches ---- */

/* Has mpirun start on these hosts, or ranks see these GPUs. `tag` names the launch's hostfile. */
static void choose(const struct start *s, const struct bisect_group *group, const char *tag)
{
	char path[128], list[BISECT_MOST * 16] = "";
	FILE *f;

	for (int i = 0; s->gpus && i < group->n; i++)
		text_add(list, sizeof(list), "%s%s", i ? "," : "", s->names[group->members[i]]);
	if (s->gpus) {
		setenv("CUDA_VISIBLE_DEVICES", list, 1);
		return;
	}
	snprintf(path, sizeof(path), "%s/hosts-%s", s->folder, tag);
	f = fopen(path, "we");
	for (int i = 0; f && i < group->n; i++)
		fprintf(f, "%s slots=%d\n", s->names[group->members[i]], s->each);
	if (f)
		fclose(f);
	setenv("OMPI_MCA_orte_default_hostfile", path, 1);
	setenv("PRTE_MCA_prte_default_hostfile", path, 1);
}

/* The exit code of a launch; -1: it was ended, since mpirun may wait for a host for ever. */
static int end_of(pid_t pid, double seconds)
{
	double until = clock_seconds() + seconds;
	int status = 0;

	while (pid > 0 && waitpid(pid, &status, WNOHANG) == 0) {
		if (clock_seconds() > until + TERM_SECONDS)
			kill(pid, SIGKILL);
		else if (clock_seconds() > until)
			kill(pid, SIGTERM);
		clock_sleep(0.05);
	}
	return pid > 0 && clock_seconds() < until && WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

/* A subset's calls alone, in a process of its own, without a word. */
static pid_t launch_group(const struct start *s, const struct bisect_group *group, int number)
{
	const struct preflight_arguments *a = s->arguments;
	const char *words[] = {
		s->exe, "--only-calls", "--backend", a->backend, a->size ? "--size" : NULL, a->size,
		NULL
	};
	struct error err = { .rank = -1 };
	char tag[16];
	pid_t pid = fork();
	int null;

	if (pid != 0)
		return pid;
	null = open("/dev/null", O_RDWR | O_CLOEXEC);
	dup2(null, STDOUT_FILENO);
	dup2(null, STDERR_FILENO);
	snprintf(tag, sizeof(tag), "%d", number);
	choose(s, group, tag);
	_exit(launch_self(group->n * s->each, (char **)words,
			  &(struct launch_guard){ .seconds = 0 }, &err));
}

static void try_groups(const struct start *s, struct bisect *b)
{
	double until = clock_seconds() + GROUP_SECONDS;
	pid_t pids[2 * BISECT_MOST];

	for (int i = 0; i < b->ngroups; i++)
		pids[i] = launch_group(s, &b->groups[i], i);
	for (int i = 0; i < b->ngroups; i++)
		b->groups[i].bad = end_of(pids[i], fmax(0.1, until - clock_seconds())) != 0;
}

/* ---- the result ---- */

/* "hang", "fail" or "are slow": the calls' line that names no host alone. NULL: there is none. */
static const char *unnamed_trouble(const json_t *hosts)
{
	const char *found = NULL;
	json_t *host, *finding;
	size_t i, k;

	json_array_foreach(hosts, i, host)
	{
		bool all = strchr(json_string_value(json_object_get(host, "host")), ' ') != NULL;

		json_array_foreach(json_object_get(host, "findings"), k, finding)
		{
			const char *group = json_string_value(json_object_get(finding, "group"));
			const char *weight = json_string_value(json_object_get(finding, "weight"));
			bool calls = strcmp(group, "calls") == 0 || strcmp(group, "busbw") == 0;

			if (calls && !all)
				return NULL;
			if (calls)
				found = strcmp(weight, "hung") == 0    ? "hang"
					: strcmp(weight, "drain") == 0 ? "fail"
								       : "are slow";
		}
	}
	return found;
}

static void list_names(const struct start *s, const struct bisect_group *g, char *buf, size_t len)
{
	buf[0] = '\0';
	for (int i = 0; i < g->n; i++)
		text_add(buf, len, "%s%s", i ? ", " : "", s->called[g->members[i]]);
}

/* Hosts that are named bad leave the file with the good ones. */
static void take_out(const struct start *s, const struct bisect *b)
{
	char text[64 << 10], good[64 << 10] = "", *rest = text, *line;
	const char *path = s->arguments->hostfile_out;

	if (!path || file_text("", text, sizeof(text), "%s", path) <= 0)
		return;
	while ((line = strsep(&rest, "\n"))) {
		bool bad = !*line;

		for (int i = 0; i < s->n; i++)
			bad = bad || (b->known_bad[i] && strcmp(s->called[i], line) == 0);
		if (!bad)
			text_add(good, sizeof(good), "%s\n", line);
	}
	output_whole(path, good, strlen(good));
}

static int report(const struct start *s, const struct bisect *b, const char *outcome)
{
	struct error err = { .rank = -1 };
	const struct preflight_arguments *a = s->arguments;
	struct health_report r = { .health = health_open(NULL, preflight_rules, &err),
				   .words = preflight_words,
				   .only_findings = true,
				   .form = a->json	   ? HEALTH_JSON
					   : a->drain_list ? HEALTH_DRAIN_LIST
							   : HEALTH_TEXT };
	struct reading *hosts = must(calloc((size_t)s->n + 9, sizeof(*hosts)));
	int n = 0;

	for (int i = 0; i < s->n + b->nsides; i++) {
		char side[300], other[300];
		struct reading *host = &hosts[n];

		if (i < s->n && !b->known_bad[i])
			continue;
		n++;
		reading_state(host, "calls", "bad_alone", i < s->n);
		reading_state(host, "calls", "bad_together", i >= s->n);
		reading_state(host, "calls", "rounds", b->rounds);
		reading_say(host, "calls", "outcome", outcome);
		snprintf(host->host, sizeof(host->host), "%s%.56s", s->gpus ? "GPU " : "",
			 i < s->n ? s->called[i] : "all hosts");
		if (i < s->n)
			continue;
		list_names(s, &b->sides[i - s->n][0], side, sizeof(side));
		list_names(s, &b->sides[i - s->n][1], other, sizeof(other));
		reading_say(host, "calls", "side", side);
		reading_say(host, "calls", "other", other);
	}
	health_report(&r, hosts, n);
	if (r.form == HEALTH_TEXT)
		printf("%d of %d %s named in %d round(s) of halves%s\n", r.held[HEALTH_DRAIN], s->n,
		       s->gpus ? "GPUs" : "hosts", b->rounds,
		       r.held[HEALTH_DRAIN] ? "; calls end well without them" : "");
	fflush(stdout);
	json_decref(r.all);
	while (n-- > 0)
		reading_release(&hosts[n]);
	free(hosts);
	free((void *)r.health);
	take_out(s, b);
	return r.held[HEALTH_DRAIN] ? OUTCOME_ERROR : r.held[HEALTH_WARN] ? OUTCOME_SLOW : 0;
}

/* Finds who is bad; the worse of both exit codes. */
static int find_bad(const struct start *s, const char *outcome, int code)
{
	static struct bisect bisect;
	int found;

	fprintf(stderr, "preflight: calls %s and no host is named: trying halves of %d\n", outcome,
		s->n);
	bisect_init(&bisect, s->n);
	while (bisect_next(&bisect))
		try_groups(s, &bisect);
	found = report(s, &bisect, outcome);
	return found == OUTCOME_ERROR ? found : code;
}

/* Hosts may be given by address. */
static void find_own_names(struct start *s, const json_t *findings)
{
	json_t *one;
	size_t at;

	s->called = must(calloc((size_t)s->n + 1, NAME));
	for (int i = 0; i < s->n; i++) {
		strcpy(s->called[i], s->names[i]);
		json_array_foreach(findings, at, one)
		{
			const char *host, *address;

			if (json_unpack(one, "{s:s s:{s:{s:{s:{s:s}}}}}", "host", &host, "reading",
					"parts", "job", "states", "address", &address) == 0 &&
			    strcmp(address, s->names[i]) == 0)
				snprintf(s->called[i], NAME, "%s", host);
		}
	}
}

/* argv with the folder's file for findings. */
static char **with_save(char **argv, char *path)
{
	static char option[] = "--save";
	size_t n = 0;
	char **words;

	while (argv[n])
		n++;
	words = must(calloc(n + 3, sizeof(*words)));
	memcpy(words, argv, n * sizeof(*words));
	words[n] = option;
	words[n + 1] = path;
	return words;
}

/* All of them, and halves where that is needed. */
static int start_all(struct start *s, int ranks, struct error *err)
{
	struct bisect_group all = { .n = s->n };
	char path[128], **words;
	json_t *findings;
	const char *outcome;
	int code;
	pid_t pid;

	for (int i = 0; i < s->n; i++)
		all.members[i] = i;
	if (s->n > 0)
		choose(s, &all, "all");
	snprintf(path, sizeof(path), "%s/findings.json", s->folder);
	words = with_save(s->argv, path);
	pid = fork();
	if (pid == 0) {
		code = launch_self(ranks, words, &(struct launch_guard){ .seconds = 0 }, err);
		if (err->code)
			error_print(err, "preflight");
		_exit(err->code ? (int)err->outcome : code);
	}
	code = end_of(pid, LAUNCH_SECONDS);
	free(words);
	if (code < 0) {
		printf("HUNG  all hosts: launch: mpirun did not end in %.0f s. Do: look whether "
		       "each "
		       "host starts a program: mpirun hostname\n",
		       LAUNCH_SECONDS);
		return OUTCOME_HANG;
	}
	findings = json_load_file(path, 0, NULL);
	outcome = s->n > 1 ? unnamed_trouble(findings) : NULL;
	find_own_names(s, findings);
	if (outcome)
		code = find_bad(s, outcome, code);
	json_decref(findings);
	return code;
}

static void remove_files(const struct start *s)
{
	char path[128];

	for (int i = -2; i < 2 * BISECT_MOST; i++) {
		snprintf(path, sizeof(path), "%s/hosts-%d", s->folder, i);
		if (i < 0)
			snprintf(path, sizeof(path), "%s/%s", s->folder,
				 i == -1 ? "hosts-all" : "findings.json");
		unlink(path);
	}
	rmdir(s->folder);
}

int preflight_start(const struct preflight_arguments *a, char **argv)
{
	const struct backend_ops *ops = backend_find(a->backend);
	struct options options = { .gpus = a->local };
	struct start s = { .arguments = a, .argv = argv, .folder = "/tmp/hangar-preflight-XXXXXX" };
	struct error err = { .rank = -1 };
	int devices = ops && ops->flags & BACKEND_DEVICE ? launch_count(ops->devices) : 0,
	    code = -1;
	ssize_t n = readlink("/proc/self/exe", s.exe, sizeof(s.exe) - 1);
	int ranks = find_hosts(&s, &err);

	if (ranks == 0 && !ops)
		ranks = error_usage(&err, "--backend %s: this build does not have it", a->backend);
	s.each = s.n == 0 ? 1 : a->local ? a->local : devices > 0 ? devices : 1;
	if (ranks == 0)
		ranks = s.n > 0 ? s.n * s.each : options_launch_ranks(&options, devices, &err);
	if (ranks > 0 && s.n == 0 && !a->local)
		find_gpus(&s, devices);
	if (ranks > 0 && (n <= 0 || !mkdtemp(s.folder)))
		ranks = error_set(&err, OUTCOME_INTERNAL, -errno, "%s: %s", s.folder,
				  strerror(errno));
	if (ranks > 0) {
		code = start_all(&s, ranks, &err);
		remove_files(&s);
	}
	free(s.names);
	free(s.called);
	if (err.code)
		error_print(&err, "preflight");
	return err.code ? (int)err.outcome : code;
}
