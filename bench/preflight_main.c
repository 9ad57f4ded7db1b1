/* preflight_main.c: preflight, the program: hosts, their network, one call of each kind, in this
 * order and each with a deadline, before a job. */
#include <netdb.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "backend/backend.h"
#include "base/arguments.h"
#include "base/built_in.h"
#include "base/clock.h"
#include "base/output.h"
#include "base/parse.h"
#include "base/version.h"
#include "net/hangup.h"
#include "preflight.h"
#include "options/options_launch.h"
#include "preflight/preflight_judge.h"
#include "preflight/preflight_local.h"
#include "preflight/preflight_meet.h"
#include "process/leftovers.h"

#define MEET_SECONDS  15.0  /* hosts of a launch start within this time */
#define CALLS_SECONDS 120.0 /* all calls, with the set-up of MPI and NCCL */

struct preflight_arguments {
	const char *backend, *hosts, *metrics, *size, *save;
	bool json, drain_list, no_calls, only_calls;
	int local; /* ranks of a bare start, 0: not given */
	double patience, min_mbit;
};

BUILT_IN(preflight_rules, "bench/preflight_rules.txt");

/* The word before a finding's line, by its weight. */
static const char *const words[HEALTH_WEIGHTS] = {
	[HEALTH_NOTE] = "NOTE",
	[HEALTH_WARN] = "SLOW",
	[HEALTH_DRAIN] = "ERROR",
	[HEALTH_HUNG] = "HUNG",
};

#define OF(kind, field) ARGUMENT(kind, struct preflight_arguments, field)
static const struct argument rows[] = {
	{ "backend", 0, "NAME", OF(TEXT, backend) },
	{ "drain-list", 'd', NULL, OF(FLAG, drain_list) },
	{ "hosts", 0, "HOST,...", OF(TEXT, hosts) },
	{ "json", 'j', NULL, OF(FLAG, json) },
	{ "local", 'g', "N", OF(WHOLE, local), .min = 1, .most = LOCAL_MOST },
	{ "metrics", 'm', "FILE.prom", OF(TEXT, metrics) },
	{ "min-mbit", 0, "MBIT", OF(REAL, min_mbit), .min = 0, .most = 1e9 },
	{ "no-calls", 0, NULL, OF(FLAG, no_calls) },
	{ "only-calls", 0, NULL, OF(FLAG, only_calls) },
	{ "patience", 'p', "S", OF(REAL, patience), .min = .01, .most = 600 },
	{ "save", 0, "FILE", OF(TEXT, save) },
	{ "size", 's', "SIZE", OF(TEXT, size) },
};

static void check(struct argp_state *state, void *into)
{
	const struct preflight_arguments *a = into;
	size_t bytes;

	if (a->json && a->drain_list)
		argument_refuse(state, "--json or --drain-list");
	if (a->no_calls && a->only_calls)
		argument_refuse(state, "--no-calls or --only-calls");
	if (a->hosts && a->only_calls)
		argument_refuse(state, "--hosts or --only-calls");
	if (a->size && (parse_size(a->size, &bytes) < 0 || bytes < 4096))
		argument_refuse(state, "--size %s: a size from 4K on", a->size);
}

static const struct argument_table table = {
	.program = "preflight",
	.rows = rows,
	.n = sizeof(rows) / sizeof(rows[0]),
	.check = check,
};

/* ---- ranks ---- */

/* The words of a *_perf program for the calls. */
static int make_calls(int fd, const struct preflight_arguments *a)
{
	bool gpus = perf_count_gpus(a->backend) > 0;
	char sizes[64];
	const char *argv[] = {
		"preflight",	   "--backend", a->backend,	  "--sizes", sizes, "-n",
		gpus ? "20" : "2", "-w",	gpus ? "5" : "1", "-c",	     "1",   NULL
	};
	int argc = (int)(sizeof(argv) / sizeof(argv[0])) - 1;

	snprintf(sizes, sizeof(sizes), "4K,%s", a->size ? a->size : gpus ? "64M" : "256K");
	return preflight_calls(fd, argc, (char **)argv);
}

/* A rank: waits for word, makes the calls, and leaves when the others' results are known, since a
 * launcher may end all when one ends. */
static int be_rank(const struct preflight_arguments *a, const struct launch *launch)
{
	struct reading m = { .host = "all" };
	int fd = local_join(launch, 60), code;
	char word = 's', last = 0, *text;

	if (read(fd, &word, 1) != 1 || word != 'g')
		return 0;
	code = make_calls(fd, a);
	if (code != OUTCOME_OK) {
		reading_state(&m, "calls", "exit_code", code);
		text = reading_dump(&m, false);
		dprintf(fd, "%s\n", text);
		free(text);
		reading_release(&m);
	}
	shutdown(fd, SHUT_WR);
	while (read(fd, &word, 1) > 0)
		last = word;
	return last;
}

/* ---- the report ---- */

struct flight {
	const struct preflight_arguments *arguments;
	struct preflight_meeting meeting;
	struct preflight_peer mine;
	struct health *health;
	double began;
	bool unmade;	       /* calls are requested, and ranks do not find each other by MPI */
	struct reading *hosts; /* owned, with room */
	int n;
};

/* Facts of this host, and of its place in the launch. */
static char *make_hello(struct flight *f)
{
	const struct preflight_arguments *a = f->arguments;
	const struct launch *launch = &f->meeting.launch;
	const struct health_look look = { .root = "",
					  .seconds = 0.3,
					  .patience = a->patience,
					  .readers = READ_LIMITS | READ_SETTINGS,
					  .environment = environ };
	int nhosts = preflight_count_hosts(launch), local = preflight_count_local(launch, nhosts);
	char *text = a->only_calls ? NULL : health_look(&look), *said, name[16];
	struct reading m = { .seconds = 0 };

	if (text)
		reading_parse(&m, text);
	free(text);
	if (!m.host[0])
		gethostname(m.host, sizeof(m.host) - 1);
	snprintf(name, sizeof(name), local > 1 ? "ranks %d-%d" : "rank %d", launch->rank,
		 launch->rank + local - 1);
	if (launch->launched)
		reading_say(&m, "job", "ranks", name);
	reading_say(&m, "job", "key", launch->key);
	if (getenv("SLURMD_NODENAME"))
		reading_say(&m, "job", "node", getenv("SLURMD_NODENAME"));
	reading_say(&m, "launch", "hosts", preflight_members(environ));
	reading_state(&m, "job", "first_rank", launch->rank);
	reading_state(&m, "job", "local_ranks", local);
	reading_say(&m, "job", "address", f->mine.address);
	reading_state(&m, "job", "mtu", f->mine.mtu);
	reading_state(&m, "job", "mbps", f->mine.mbps);
	snprintf(name, sizeof(name), "%d", f->mine.mtu);
	reading_say(&m, "MTU", "mtu_text", name);
	reading_say(&m, "hangar", "hangar_version", HANGAR_VERSION);
	reading_state(&m, "name", "hosts", nhosts);
	reading_state(&m, "interface", "hosts", nhosts);
	reading_state(&m, "open files", "ranks", launch->announced);
	reading_state(&m, "job", "meeting_ports", f->mine.nmeeting);
	reading_state(&m, "job", "verbs", verbs_ready());
	if (launch->rank == 0) {
		reading_state(&m, "rendezvous", "taken", *f->mine.taken != 0);
		reading_state(&m, "rendezvous", "given",
			      preflight_meeting_ports(environ, (int[PREFLIGHT_MEETING]){ 0 },
						      &(int){ 0 }));
		reading_say(&m, "rendezvous", "taken_ports", f->mine.taken);
	}
	for (int i = 0; i < f->mine.nports + f->mine.nmeeting; i++) {
		snprintf(name, sizeof(name), "port%d", i);
		reading_state(&m, "job", name, f->mine.ports[i]);
	}
	said = reading_dump(&m, false);
	snprintf(f->mine.host, sizeof(f->mine.host), "%s", m.host);
	reading_release(&m);
	return said;
}

static struct reading *host_named(struct flight *f, const char *name)
{
	for (int h = 0; h < f->n; h++)
		if (strcmp(f->hosts[h].host, name) == 0)
			return &f->hosts[h];
	f->hosts = must(realloc(f->hosts, ((size_t)f->n + 4) * sizeof(*f->hosts)));
	f->hosts[f->n] = (struct reading){ .seconds = 0 };
	snprintf(f->hosts[f->n].host, sizeof(f->hosts[0].host), "%s", name);
	return &f->hosts[f->n++];
}

/* The ranks tell of a setting what the hosts beside each other showed. */
static bool is_known(const struct flight *f, const struct reading *m)
{
	const char *part = m->n ? m->list[0].part : "";

	for (int h = 0; reading_value(m, part, "differ") > 0 && h < f->n; h++)
		if (reading_value(&f->hosts[h], part, "differ") > 0)
			return true;
	return false;
}

/* Rows and a verdict of the calls, a line each. A host that no line names gets them for all. */
static void take_calls(struct flight *f, const struct local *local, bool ended)
{
	struct reading *all = host_named(f, "all hosts");

	reading_state(all, "calls", "exit_code", 0);
	reading_state(all, "calls", "limit", (int64_t)CALLS_SECONDS);
	reading_state(all, "calls", "unfinished", !ended);
	for (int i = 0; i < local->n; i++) {
		char *rest = local->texts[i], *line;

		while ((line = strsep(&rest, "\n"))) {
			struct reading m = { .seconds = 0 }, *to;

			if (reading_parse(&m, line) < 0 || is_known(f, &m)) {
				reading_release(&m);
				continue;
			}
			to = host_named(f, strcmp(m.host, "all") == 0 ? "all hosts" : m.host);
			reading_append(to, &m, NULL);
			reading_release(&m);
		}
	}
}

/* A verdict says more than the exit codes that come of it. */
static void forget_codes(struct flight *f)
{
	bool said = false;

	for (int h = 0; h < f->n; h++)
		said = said || reading_value(&f->hosts[h], "calls", "hang") >= 0;
	for (int h = 0; h < f->n && said; h++)
		if (reading_value(&f->hosts[h], "calls", "exit_code") > 0)
			reading_state(&f->hosts[h], "calls", "exit_code", 0);
}

/* "PASS  all hosts: all_reduce on 4 ranks: data right, 6 us (4 KiB), 4.1 GB/s busbw (65536 KiB, predicted 4.4)". Rows
 * of a collective stand together; a row that has a line of its own has none here. */
static void print_rates(struct flight *f)
{
	const struct reading *all = host_named(f, "all hosts");
	int ranks = (int)reading_value(all, "ranks", "ranks");
	char name[40] = "";
	const char *part;
	size_t at = 0;

	while ((part = reading_next(all, "busbw_mbs", &at))) {
		int64_t predicted = reading_value(all, part, "predicted_mbs"),
			rate = reading_value(all, part, "busbw_mbs"),
			low = reading_value(all, part, "low_mbs");
		size_t n = strcspn(part, " ");

		if (reading_value(all, part, "wrong") > 0 || (low > 0 && 2 * rate < low))
			continue;
		if (strncmp(name, part, n) != 0 || name[n])
			printf("%s%-5s all hosts: %.*s on %d rank%s %.1f us", *name ? "\n" : "",
			       ranks > 1 ? "PASS" : "N/A", (int)n, part, ranks,
			       ranks > 1 ? "s: data right," : ":",
			       (double)reading_value(all, part, "time_ns") * 1e-3);
		else if (ranks == 1)
			printf(", %.1f us", (double)reading_value(all, part, "time_ns") * 1e-3);
		else
			printf(", %.4g GB/s busbw", (double)rate * 1e-3);
		printf(" (%s", part + n + 1);
		if (predicted > 0 && strncmp(name, part, n) == 0)
			printf(", predicted %.4g", (double)predicted * 1e-3);
		printf(")");
		snprintf(name, sizeof(name), "%.*s", (int)n, part);
	}
	if (*name)
		printf("\n");
	if (reading_value(all, "pairs", "measured") > 0)
		printf("%-5s all hosts: %d of %d pairs of ranks measured, the slowest %.4g GB/s\n",
		       reading_value(all, "pairs", "slow") > 0 ? "SLOW" : "PASS",
		       (int)reading_value(all, "pairs", "measured"),
		       (int)reading_value(all, "pairs", "of"),
		       (double)reading_value(all, "pairs", "least_mbs") * 1e-3);
}

static int save(const struct flight *f, const struct health_report *report, int code)
{
	const struct preflight_arguments *a = f->arguments;
	struct error err = { .rank = -1 };

	if (a->save && json_dump_file(report->all, a->save, JSON_COMPACT) < 0)
		error_set(&err, OUTCOME_INTERNAL, -EIO, "--save %s: cannot be written", a->save);
	if (a->metrics)
		health_metrics(a->metrics, f->health, f->hosts, f->n, code, &err);
	if (err.code)
		error_print(&err, "preflight");
	return err.code ? OUTCOME_INTERNAL : code;
}

static int report(struct flight *f)
{
	const struct preflight_arguments *a = f->arguments;
	struct health_report r = { .health = f->health,
				   .words = words,
				   .form = a->json	   ? HEALTH_JSON
					   : a->drain_list ? HEALTH_DRAIN_LIST
							   : HEALTH_TEXT };
	int ranks = (int)reading_value(host_named(f, "all hosts"), "ranks", "ranks"), code;

	r.checks.ranks = ranks;
	health_report(&r, f->hosts, f->n);
	code = r.held[HEALTH_DRAIN]  ? OUTCOME_ERROR
	       : r.held[HEALTH_HUNG] ? OUTCOME_HANG
	       : r.held[HEALTH_WARN] ? OUTCOME_SLOW
				     : OUTCOME_OK;
	if (r.form == HEALTH_TEXT) {
		print_rates(f);
		ranks = ranks > 0 ? ranks : f->meeting.launch.announced;
		printf("%d host%s", f->meeting.nhosts, f->meeting.nhosts == 1 ? "" : "s");
		if (ranks > 0)
			printf(", %d rank%s", ranks, ranks == 1 ? "" : "s");
		printf(" in %.1f s: %d ERROR, %d HUNG, %d SLOW; %d to be drained\n",
		       clock_seconds() - f->began, r.held[HEALTH_DRAIN], r.held[HEALTH_HUNG],
		       r.held[HEALTH_WARN], r.drained);
	}
	code = save(f, &r, code);
	json_decref(r.all);
	fflush(stdout);
	return code;
}

/* ---- one process of a host ---- */

/* Leader: the network between hosts, and these beside each other. Returns true if calls may work. */
static bool look_at_network(struct flight *f)
{
	struct preflight_meeting *m = &f->meeting;
	struct reading *pairs = NULL, *absent;
	int npairs = f->arguments->only_calls ? 0 : preflight_rounds(m, &pairs);
	bool go = m->nhosts == m->expected;
	char who[480];

	for (int h = 0; h < m->nhosts; h++) {
		struct reading *host = host_named(f, m->guests[h].peer.host);

		reading_release(host);
		*host = m->guests[h].reading;
		m->guests[h].reading = (struct reading){ .seconds = 0 };
		go = go && reading_value(host, "pre-flight", "hung") <= 0;
	}
	preflight_compare(f->hosts, f->n);
	for (int i = 0; i < npairs; i++)
		if (pairs[i].n && f->arguments->min_mbit > 0)
			reading_state(&pairs[i], pairs[i].list[0].part, "floor_mbit",
				      (int64_t)f->arguments->min_mbit);
	f->n = preflight_blame(f->health, f->hosts, f->n, pairs, npairs);
	for (int i = 0; i < npairs; i++) {
		const char *part = pairs[i].n ? pairs[i].list[0].part : NULL;

		if (part && (reading_value(&pairs[i], part, "ports_open") < 1 ||
			     reading_value(&pairs[i], part, "full_lost") > 0))
			go = false;
		reading_release(&pairs[i]);
	}
	free(pairs);
	if (m->nhosts < m->expected) {
		bool one = m->missing[0] && !strchr(m->missing, ' ');

		absent = host_named(f, one ? m->missing : "hosts that are missing");
		reading_state(absent, "meeting", "absent", m->expected - m->nhosts);
		reading_state(absent, "meeting", "expected", m->expected);
		snprintf(who, sizeof(who), "%s%s%s", m->missing,
			 *m->missing && *m->missing_ranks ? ", " : "", m->missing_ranks);
		reading_say(absent, "meeting", "missing", *who ? who : "not known");
	} else if (m->launch.launched) {
		reading_state(host_named(f, "all hosts"), "meeting", "absent", 0);
	}
	return go;
}

/* The leader's part; the code of the worst line. */
static int lead(struct flight *f, struct local *local)
{
	const struct preflight_arguments *a = f->arguments;
	int ranks = preflight_count_local(&f->meeting.launch, f->meeting.expected);
	bool go = look_at_network(f) && !a->no_calls;

	if (f->unmade)
		reading_state(host_named(f, "all hosts"), "calls", "unmade",
			      f->meeting.launch.announced);
	fprintf(stderr, "preflight: hosts and network in %.1f s%s\n", clock_seconds() - f->began,
		a->no_calls ? ""
		: go	    ? "; now calls"
			    : "; no calls, which would hang");
	preflight_tell(&f->meeting, go);
	if (!a->no_calls) {
		local_give(local, ranks, go ? 'g' : 's');
		if (go)
			take_calls(f, local, local_take(local, CALLS_SECONDS));
		forget_codes(f);
	}
	/* hosts, or ranks with calls, have been set beside each other: a setting that differs has a line of its own */
	if (f->meeting.nhosts > 1 || (go && !a->no_calls))
		reading_state(host_named(f, "all hosts"), "settings", "differ", 0);
	return report(f);
}

/* This host alone: rank 0's is not reached. Returns the code of that line. */
static int report_apart(struct flight *f)
{
	struct reading *host = host_named(f, f->mine.host);

	reading_state(host, "meeting", "apart", 1);
	reading_say(host, "meeting", "tried", f->meeting.tried);
	f->meeting.nhosts = 1;
	return report(f);
}

/* A script that waits for the saved lines sees that the launcher came so far. */
static void sign_begun(const struct preflight_arguments *a)
{
	char path[PATH_MAX];
	int fd;

	if (!a->save || snprintf(path, sizeof(path), "%s.begun", a->save) >= (int)sizeof(path))
		return;
	fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC | O_NONBLOCK, 0666);
	if (fd >= 0)
		close(fd);
}

/* Another host's part. Returns the leader's exit code. */
static int follow(struct flight *f, struct local *local)
{
	struct preflight_meeting *m = &f->meeting;
	int go = preflight_serve(m, &f->mine);

	if (!f->arguments->no_calls) {
		local_give(local, preflight_count_local(&m->launch, m->expected),
			   go > 0 ? 'g' : 's');
		if (go > 0)
			(void)local_take(local, CALLS_SECONDS);
	}
	return preflight_await(m);
}

static int be_host(struct flight *f)
{
	const struct launch *launch = &f->meeting.launch;
	struct sockaddr_storage address;
	char name[32], *hello;
	bool loopback, chosen;
	pid_t answers = -1, rank = -1;
	struct local local;
	int code = 0, rc;

	if (launch->rank == 0 && launch->launched)
		sign_begun(f->arguments);
	if (local_open(&local, launch) < 0)
		fprintf(stderr, "preflight: ranks of this host cannot meet: %s\n", strerror(errno));
	if (!f->arguments->no_calls)
		rank = fork();
	if (rank == 0) {
		close(local.listener);
		exit(be_rank(f->arguments, launch));
	}
	chosen = choose_interface(getenv("NCCL_SOCKET_IFNAME"), &address, name, sizeof(name),
				  &loopback) &&
		 !loopback;
	if (chosen || choose_interface(NULL, &address, name, sizeof(name), &loopback))
		getnameinfo((struct sockaddr *)&address, sizeof(address), f->mine.address,
			    sizeof(f->mine.address), NULL, 0, NI_NUMERICHOST);
	if (f->mine.address[0] && !f->arguments->only_calls)
		answers = preflight_listen(&f->mine, launch->rank == 0);
	hello = make_hello(f);
	rc = preflight_meet(&f->meeting, &f->mine, hello, MEET_SECONDS);
	free(hello);
	if (launch->rank == 0) {
		code = lead(f, &local);
		/* the parent of a bare start ends with it, and not with what the calls' supervisors noted */
		run_folder_note_end(launch->key, code ? code : RUN_OVER, "");
	} else if (rc < 0)
		code = report_apart(f);
	else
		code = follow(f, &local);
	if (launch->rank == 0)
		preflight_dismiss(&f->meeting, code);
	local_close(&local, code);
	if (answers > 0 && kill(answers, SIGKILL) == 0)
		waitpid(answers, NULL, 0); /* a job that starts now has these ports */
	for (int i = 0; rank > 0 && i < 150 && waitpid(rank, NULL, WNOHANG) == 0; i++) {
		if (i == 100) /* its results are known, and a launcher would wait for it */
			kill(rank, SIGKILL);
		clock_sleep(0.02);
	}
	if (launch->rank == 0 && f->meeting.nhosts < f->meeting.expected)
		launcher_hang_up(getppid(), NULL, 0); /* it waits for the missing ones */
	preflight_part(&f->meeting);
	return code;
}

/* Starts the ranks of this host; ci/halves those of several. */
static int start(const struct preflight_arguments *a, char **argv, struct error *err)
{
	bool known = strcmp(a->backend, "auto") == 0;
	struct options options = { .gpus = a->local };
	int devices = perf_count_gpus(a->backend), ranks, code;

	for (size_t i = 0; backend_at(i); i++)
		known = known || strcmp(backend_at(i)->name, a->backend) == 0;
	ranks = known ? options_launch_ranks(&options, devices, err)
		      : backend_missing(a->backend, err);
	code = ranks > 0 ? perf_start(a->backend, devices, ranks, argv,
				      &(struct launch_guard){ .seconds = 0 }, err)
			 : ranks;
	if (err->code)
		error_print(err, "preflight");
	return err->code ? (int)err->outcome : code;
}

/* MPI finds no ranks that RANK or Slurm without PMIx numbers. */
static bool meet_by_mpi(const struct preflight_arguments *a)
{
	return strcmp(a->backend, "auto") == 0 ? perf_count_gpus(a->backend) == 0
					       : backend_has(a->backend, BACKEND_MPI);
}

int main(int argc, char **argv)
{
	struct preflight_arguments a = { .backend = "auto", .patience = 10 };
	struct flight f = { .arguments = &a, .began = clock_seconds() };
	struct error err = { .rank = -1 };
	int code, local_rank;

	arguments_read(&table, argc, argv, &a);
	if (a.hosts && preflight_place(a.hosts) < 0) {
		error_usage(&err, "--hosts %.300s: none of these is this host", a.hosts);
		error_print(&err, "preflight");
		return OUTCOME_USAGE;
	}
	a.no_calls = a.no_calls || a.hosts;
	launch_detect(&f.meeting.launch);
	launch_begin(&f.meeting.launch);
	local_rank = environment_number(environ,
					"OMPI_COMM_WORLD_LOCAL_RANK SLURM_LOCALID LOCAL_RANK", 0);
	if (!f.meeting.launch.launched && !a.no_calls)
		return start(&a, argv, &err);
	f.unmade = f.meeting.launch.numbered && !a.no_calls && meet_by_mpi(&a);
	a.no_calls = a.no_calls || f.unmade;
	if (local_rank > 0)
		return a.no_calls ? OUTCOME_OK : be_rank(&a, &f.meeting.launch);
	f.health = health_open(NULL, preflight_rules, &err);
	if (!f.health) {
		error_print(&err, "preflight");
		return (int)err.outcome;
	}
	code = be_host(&f);
	free(f.health);
	return code;
}
