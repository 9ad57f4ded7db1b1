/* run_monitor.c: the monitor's process. */
#include "preload/run_monitor.h"

#include <sys/syscall.h>

#include "base/clock.h"
#include "diagnoser/diagnoser.h"
#include "answer/postmortem.h"
#include "preload/fault_spec.h"
#include "preload/run_apart.h"
#include "preload/run_hook.h"
#include "preload/run_jobs.h"
#include "preload/run_signals.h"
#include "preload/run_status.h"
#include "process/command.h"
#include "preload/aftermath.h"
#include "watch/monitor.h"

#define LOOK_SECONDS   1.0	    /* from one look at a wait to the next */
#define LATE_SECONDS   10.0	    /* a wait that is worth a line while none like it is known */
#define SILENT_SECONDS 3.0	    /* a host is silent for so long before a line */
#define HOSTS_NS       200000000ull /* other hosts answer in this time how they are */
#define LINGER_SECONDS 1.0	    /* after the command's end: others of the run may still come */
#define SETTLE_NS      500000000ull /* others that were started with a rank have come, too */
#define UNSEEN_NS      10000000000ull /* without NCCL for so long: a line */
#define MAX_FDS	       1024

struct runner {
	const struct run_settings *settings;
	struct diagnoser diagnoser;
	struct monitor monitor;
	struct supervisor_hooks hooks;
	struct run_status status;
	uint64_t requested_ns; /* when the status of other hosts was requested, 0: it was not */
	uint64_t began_ns;
	bool unseen;	   /* that no NCCL was seen was printed */
	int faulty;	   /* the rank that the fault is for; -1: none, or it has come */
	int command_fd;	   /* pidfd of the command; -1: there is none */
	bool ended;	   /* the command has */
	int signals_fd;	   /* run_signals_start's */
	uint64_t ended_ns; /* when no process was left, 0: some is */
	bool reported;	   /* a verdict: nothing more before all have gone, or go on */
	struct aftermath after;
	uint64_t settings_ns; /* when settings that came since are compared, 0: none did */
	bool differ;	      /* they do, as was printed */
	struct run_meter meter;
	struct run_jobs jobs;
	const char *
		out; /* --out, which --status DIR is asked for; a second job's evidence is below it */
};

void run_key(char *key, size_t len, const char *launcher)
{
	if (launcher)
		snprintf(key, len, "%s", launcher);
	else
		snprintf(key, len, "%08x%08x",
			 (unsigned)(clock_ns() >> 10) ^ (unsigned)getpid() << 12,
			 (unsigned)getpid());
}

/* ---- what only this run's start knows ---- */

static void describe(void *arg, struct evidence *evidence)
{
	const struct run_settings *settings = arg;
	char command[COMMAND_MAX];

	command_join(command, sizeof(command), settings->argc, (const char *const *)settings->argv);
	evidence_blind_command(command, evidence->command, sizeof(evidence->command));
}

static void again(void *arg, char *command, size_t len, int nranks)
{
	const struct run_settings *settings = arg;
	int n = snprintf(command, len, "hangar_run ");

	command_join(command + n, len - (size_t)n, settings->argc,
		     (const char *const *)settings->argv);
}

/* The diagnoser's part of the client knows the evidence, this one the metrics and the user's command. */
static void on_printed(void *ctx, const struct answer *verdict)
{
	const struct diagnoser *self = ctx;
	struct runner *r = (struct runner *)((char *)ctx - offsetof(struct runner, diagnoser));
	char hosts[1024];

	run_meter_note(&r->meter, verdict);
	if (!r->settings->on_verdict)
		return;
	report_hosts_of(&self->evidence, verdict->ranks, verdict->hosts, hosts, sizeof(hosts));
	run_hook_start(r->settings->on_verdict, verdict, hosts);
}

/* ---- the loop ---- */

/* The command has ended, as have all ranks that came; for a second job the latter will do. */
static bool is_over(struct runner *r, uint64_t now)
{
	const struct monitor *m = &r->monitor;
	bool ended = r->jobs.second || r->ended;

	for (size_t i = 0; i < m->nranks; i++)
		if (m->ranks[i].view.process < PROCESS_EXITED &&
		    kill(m->ranks[i].view.pid, 0) == 0) {
			r->ended_ns = 0;
			return false;
		}
	/* other hosts' leaders decide with this one when the run is over for all */
	if (!ended || (m->input.nhosts && !m->ended)) {
		r->ended_ns = 0;
		return false;
	}
	if (r->ended_ns == 0)
		r->ended_ns = now;
	return (double)(now - r->ended_ns) * 1e-9 > LINGER_SECONDS && run_jobs_may_end(&r->jobs);
}

static void act(struct runner *r)
{
	int signal = r->settings->on_hang == ON_HANG_KILL    ? SIGKILL
		     : r->settings->on_hang == ON_HANG_ABORT ? SIGABRT
							     : 0;

	if (signal)
		monitor_signal(&r->monitor, signal);
}

/* Settings in which ranks differ are named at once: no waiting makes them alike. */
static void compare_settings(struct runner *r, uint64_t now)
{
	const struct monitor *m = &r->monitor;
	char line[1000];

	for (size_t i = 0; i < m->nranks; i++)
		if (run_note_rank(&m->memories[i]->header, r->settings->meeting_point))
			r->settings_ns = now + SETTLE_NS;
	if (!r->settings_ns || now < r->settings_ns)
		return;
	r->settings_ns = 0;
	if (r->differ || r->settings->quiet ||
	    !run_settings_differ(m->memories, m->nranks, line, sizeof(line)))
		return;
	printf("# settings differ between ranks: %s\n", line);
	fflush(stdout);
	r->differ = true;
}

static volatile sig_atomic_t signalled;

static void note_signal(int number)
{
	(void)number;
	signalled = 1;
}

/* A signal that ends a whole job (systemd's, Slurm's) is for its ranks: the monitor ends after the last of them. */
static void stay(int number)
{
	(void)number;
}

static void print_status(struct runner *r, uint64_t now)
{
	struct monitor *m = &r->monitor;
	char title[PATH_MAX + 160], path[PATH_MAX];

	run_status_count(&r->status, m, now);
	run_meter_count(&r->meter, m, r->status.counts, now);
	if (m->asking_fd < 0 && !signalled)
		return;
	if (!r->requested_ns) {
		r->requested_ns = now;
		monitor_ask_hosts(m);
	}
	if (m->input.nhosts && now < r->requested_ns + HOSTS_NS)
		return;
	r->requested_ns = 0;
	snprintf(title, sizeof(title), "%.80s%s%s (hangar_run pid %d, --out %s)",
		 basename(r->settings->argv[0]), m->config.job ? ", job " : "",
		 m->config.job ? m->config.job : "", (int)getpid(),
		 r->out ? run_absolute(r->out, path) : "none");
	if (m->asking_fd >= 0)
		run_status_answer(&r->status, m, m->asking_fd, title);
	m->asking_fd = -1;
	if (signalled)
		run_status_answer(&r->status, m, -1, title);
	signalled = 0;
}

/* A wait that was called a hang has ended well. */
static void watch_again(struct runner *r, double seconds)
{
	char line[160];

	snprintf(line, sizeof(line),
		 "the run goes on: what ranks waited for came after all, after %.1f s; the verdict "
		 "is withdrawn",
		 seconds);
	printf("# %s\n", line);
	fflush(stdout);
	diagnoser_withdraw(&r->diagnoser, line);
	r->meter.alerts.withdrawn = seconds;
	run_meter_save(&r->meter, &r->monitor);
	monitor_again(&r->monitor);
	r->reported = false;
}

static void look_after(struct runner *r, uint64_t now)
{
	struct monitor *m = &r->monitor;
	double seconds;

	monitor_look(m);
	seconds = aftermath_look(&r->after, m->ranks, m->nranks, now);
	if (seconds > 0 && r->settings->on_hang == ON_HANG_REPORT)
		watch_again(r, seconds);
	print_status(r, now);
	run_meter_look(&r->meter, m);
}

/* The ranks have left, however they ended: what their calls cost is said first. */
static void forget(struct runner *r)
{
	if (r->monitor.config.job && r->monitor.nranks && !r->settings->quiet) {
		printf("# job %s:\n", r->monitor.config.job);
		fflush(stdout);
	}
	run_meter_end(&r->meter, &r->monitor);
	diagnoser_forget(&r->diagnoser);
	monitor_forget(&r->monitor);
}

static void step(struct runner *r)
{
	static const struct supervised unchanged = { .running = true };
	int exit_code = 0;
	bool over;

	if (r->reported) {
		bool left = false; /* a rank that was there at the verdict still is */

		for (size_t i = 0; i < r->monitor.nranks && !left; i++)
			left = kill(r->monitor.ranks[i].view.pid, 0) == 0;
		look_after(r, clock_ns());
		if (left && r->reported)
			return;
	}
	if (r->reported)
		forget(r);
	r->reported = false;
	over = r->hooks.step(r->hooks.ctx, &unchanged, &exit_code);
	for (size_t i = 0; i < r->monitor.nranks; i++)
		if (r->monitor.ranks[i].view.rank == r->faulty)
			r->faulty = -1;
	compare_settings(r, clock_ns());
	print_status(r, clock_ns());
	run_meter_step(&r->meter, &r->monitor, clock_ns());
	if (!over)
		return;
	if (exit_code == OUTCOME_SLOW_RANK && r->settings->wait_fd >= 0 &&
	    write(r->settings->wait_fd, "s", 1) < 0)
		return;
	r->reported = exit_code != 0;
	if (r->reported) {
		run_meter_save(&r->meter, &r->monitor);
		act(r);
	} else {
		forget(r);
	}
	if (exit_code == OUTCOME_HANG)
		aftermath_begin(&r->after, r->monitor.ranks, r->monitor.nranks, clock_ns());
	else
		aftermath_release(&r->after);
}

/* Says once, while the command runs, that nothing is watched so far. */
static void look_for_ranks(struct runner *r, uint64_t now)
{
	if (r->unseen || r->settings->quiet || r->settings->apart || r->status.looked_ns ||
	    r->ended_ns || now < r->began_ns + UNSEEN_NS)
		return;
	fprintf(stderr, "hangar_run: no NCCL was seen for 10 s: nothing is watched so far\n");
	r->unseen = true;
}

/* It may have ended, or be told to. */
static void look_at_command(struct runner *r)
{
	struct pollfd p = { .fd = r->command_fd, .events = POLLIN };

	if (r->settings->apart)
		r->ended = r->status.looked_ns || clock_ns() > r->began_ns + UNSEEN_NS;
	else
		r->monitor.orphaned = r->ended = poll(&p, 1, 0) == 1;
	if (run_signals_came(&r->signals_fd)) {
		monitor_tell(&r->monitor, -1);
		run_jobs_tell(&r->jobs);
	}
}

static void watch_command(struct runner *r)
{
	struct pollfd fds[MAX_FDS];

	while (!is_over(r, clock_ns())) {
		size_t n = r->reported ? 0 : r->hooks.fds(r->hooks.ctx, fds, MAX_FDS);

		n += run_jobs_fds(&r->jobs, fds + n, MAX_FDS - n);
		poll(fds, n, r->reported ? 100 : r->hooks.interval_ms(r->hooks.ctx));
		look_at_command(r);
		if (r->settings->apart)
			run_apart_look();
		run_jobs_look(&r->jobs, &r->monitor);
		step(r);
		look_for_ranks(r, clock_ns());
	}
}

/* At the end: what was not seen, and a fault that did not strike. A rank that came says that by itself. */
static void print_unseen(const struct runner *r)
{
	bool seen = r->status.looked_ns != 0;

	if (r->jobs.second)
		return;
	if (r->settings->fault && !seen)
		fprintf(stderr, "hangar_run: the fault that was asked for did not strike: nothing "
				"was watched, as no rank here is known to have used NCCL\n");
	else if (!seen && !r->settings->quiet && !r->settings->apart)
		fprintf(stderr, "hangar_run: no NCCL was seen: nothing was watched\n");
	else if (r->faulty >= 0 && !r->monitor.input.nhosts && !r->monitor.config.job)
		fprintf(stderr,
			"hangar_run: the fault that was asked for did not strike: no rank %d "
			"came\n",
			r->faulty);
}

static bool elsewhere(void *arg, int fd);

static int open_monitor(struct runner *r)
{
	struct monitor_config config = {
		.key = r->settings->key,
		.decide = { .deadlines = true,
			    .silent_seconds = SILENT_SECONDS,
			    .partition_seconds = r->settings->timeout,
			    .patience = { .look = fmin(LOOK_SECONDS, r->settings->timeout),
					  .late = LATE_SECONDS,
					  .hang = r->settings->timeout } },
		.slow_seconds = r->settings->slow_seconds,
		.client = diagnoser_client(&r->diagnoser),
		.slow_percent = r->settings->quiet && !r->settings->fail_slow
					? 0
					: r->settings->slow_percent,
		.fail_slow = r->settings->fail_slow,
		.meters = true,
		.preloaded = true,
		.elsewhere = r->jobs.second ? NULL : elsewhere,
		.elsewhere_arg = r,
		.job = r->jobs.second ? r->jobs.own.name : NULL,
		.traces = r->settings->meter.trace,
	};
	struct error err = { .rank = -1 };
	int rc;

	if (r->settings->quiet)
		config.client.late = NULL;
	config.client.printed = on_printed;
	rc = monitor_open(&r->monitor, &config, NULL, -1, &err);

	if (rc < 0 && rc != -EADDRINUSE)
		error_print(&err, "hangar_run");
	r->hooks = monitor_hooks(&r->monitor);
	return rc;
}

static _Noreturn void watch(struct runner *r)
{
	diagnoser_start(&r->diagnoser);
	r->meter.alerts = (struct run_alerts){ .job = r->jobs.own.name,
					       .key = r->settings->key,
					       .evidence = &r->diagnoser.evidence,
					       .late = &r->diagnoser.late,
					       .verdict.outcome = OUTCOME_OK };
	r->began_ns = clock_ns();
	watch_command(r);
	if (r->monitor.nranks) /* a signal ended all, which is no verdict */
		forget(r);
	print_unseen(r);
	monitor_close(&r->monitor);
	run_jobs_release(&r->jobs);
	run_hook_finish();
	aftermath_release(&r->after);
	run_status_release(&r->status);
	run_meter_release(&r->meter);
	diagnoser_release(&r->diagnoser);
	_exit(0);
}

/* Results go to standard error: standard output is the command's. */
static _Noreturn void run(struct runner *r, int ready_fd)
{
	int32_t rc;

	setsid();
	signal(SIGPIPE, SIG_IGN);
	sigaction(SIGUSR1, &(struct sigaction){ .sa_handler = note_signal }, NULL);
	sigaction(SIGTERM, &(struct sigaction){ .sa_handler = stay }, NULL);
	sigaction(SIGINT, &(struct sigaction){ .sa_handler = stay }, NULL);
	dup2(STDERR_FILENO, STDOUT_FILENO);
	rc = open_monitor(r);
	if (write(ready_fd, &rc, sizeof(rc)) != sizeof(rc))
		_exit(1);
	close(ready_fd);
	if (r->settings->apart && rc == 0)
		run_apart(&r->monitor, r->settings);
	if (rc < 0)
		_exit(0);
	watch(r);
}

/* The monitor is no child of the command, which must not find a child that it did not make. */
static void start_apart(struct runner *r, int ready_fd)
{
	pid_t pid = fork();

	if (pid == 0) {
		r->signals_fd = run_signals_start(r->command_fd);
		if (fork() == 0)
			run(r, ready_fd);
		_exit(0);
	}
	if (pid > 0)
		waitpid(pid, NULL, 0);
}

static struct runner runner_of(const struct run_settings *settings)
{
	return (struct runner){
		.settings = settings,
		.out = settings->out,
		.meter = { .settings = &settings->meter,
			   .quiet = settings->quiet || settings->apart },
		.diagnoser.site = { .arg = (void *)settings,
				    .name = basename(settings->argv[0]),
				    .key = settings->key,
				    .out = settings->out && settings->out[0] ? settings->out : NULL,
				    .gpus = true,
				    .preloaded = true,
				    .describe = describe,
				    .again = again },
	};
}

/* The monitor of a further job: a copy of the first one, which holds nothing of it but what the command was started with. */
static _Noreturn void watch_second(struct runner *first, const struct run_job *job, int nth, int up)
{
	const struct meter_settings *meter = &first->settings->meter;
	struct run_settings settings = *first->settings;
	struct runner r;

	link_job(settings.key, sizeof(settings.key), first->settings->key, nth);
	settings.out = run_jobs_folder(settings.out, job->name);
	settings.meter.csv = run_jobs_file(meter->csv, job->name);
	settings.meter.metrics = run_jobs_file(meter->metrics, job->name);
	settings.meter.trace = run_jobs_file(meter->trace, job->name);
	r = runner_of(&settings);
	r.out = first->out;
	r.jobs = (struct run_jobs){ .own = *job, .second = true };
	link_init(&r.jobs.up, up);
	r.command_fd = first->command_fd;
	r.faulty = r.signals_fd = -1;
	if (first->signals_fd >= 0)
		close(first->signals_fd);
	monitor_close(&first->monitor); /* of this copy */
	run_jobs_release(&first->jobs);
	if (open_monitor(&r) < 0)
		_exit(0);
	if (settings.apart)
		run_apart(&r.monitor, &settings);
	printf("# job %s, of process %d: its ranks have numbers of their own\n", job->name,
	       (int)job->pid);
	fflush(stdout);
	watch(&r);
}

/* Returns the place of the job, whose monitor is forked, or JOB_HERE: there can be none. */
static int start_second(struct runner *r, const struct run_job *job)
{
	int ends[2], nth = run_jobs_next(&r->jobs);
	pid_t pid;

	if (!nth || socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) < 0)
		return JOB_HERE;
	fflush(NULL);
	pid = fork();
	if (pid == 0) {
		close(ends[0]);
		if (fork() == 0)
			watch_second(r, job, nth, ends[1]);
		_exit(0);
	}
	close(ends[1]);
	if (pid < 0) {
		close(ends[0]);
		return JOB_HERE;
	}
	waitpid(pid, NULL, 0);
	r->monitor.config.job = r->jobs.own.name;
	return run_jobs_add(&r->jobs, job, nth, ends[0]);
}

static bool elsewhere(void *arg, int fd)
{
	struct runner *r = arg;
	struct run_job job;
	int which;

	run_job_of(&job, link_peer(fd).pid);
	do {
		which = run_jobs_place(&r->jobs, &r->monitor, &job);
		which = which == JOB_UNSEEN ? start_second(r, &job) : which;
	} while (which >= 0 && !run_jobs_pass(&r->jobs, which, fd));
	return which >= 0;
}

int run_monitor_start(const struct run_settings *settings)
{
	struct runner r = runner_of(settings);
	struct fault_spec spec;
	int32_t rc = -EIO;
	int ready[2];

	r.faulty = settings->fault && !fault_spec_parse(&spec, settings->fault) ? spec.rank : -1;
	r.command_fd = settings->apart ? -1 : (int)syscall(SYS_pidfd_open, getpid(), 0);
	if ((r.command_fd < 0 && !settings->apart) || pipe2(ready, O_CLOEXEC) < 0) {
		rc = -errno;
		fprintf(stderr, "hangar_run: no monitor: %s\n", strerror(errno));
		return rc;
	}
	if (r.command_fd >= 0)
		fcntl(r.command_fd, F_SETFD, FD_CLOEXEC);
	start_apart(&r, ready[1]);
	close(ready[1]);
	if (read(ready[0], &rc, sizeof(rc)) != sizeof(rc))
		rc = -EIO;
	close(ready[0]);
	if (r.command_fd >= 0)
		close(r.command_fd);
	return rc == -EADDRINUSE ? 0 : rc;
}
