/* monitor_end.c: from something wrong to a verdict, its evidence, and the end of the run. */
#include "watch/monitor_members.h"
#include "watch/monitor_nodes.h"

#include "base/clock.h"
#include "base/proc_stat.h"
#include "net/hangup.h"
#include "process/leftovers.h"
#include "answer/describe.h"

void monitor_send_end(struct monitor *m, int32_t code)
{
	for (size_t i = 0; i < m->npeers; i++)
		if (m->peers[i].rank >= 0 && m->peers[i].link.fd >= 0)
			link_send(&m->peers[i].link, MESSAGE_END, &code, sizeof(code), -1);
	nodes_send_end(m, code);
}

/* A rank that knows more about its own outcome (wrong data: whose) has left class and ranks. */
static void name_culprits(struct monitor *m, struct answer *verdict)
{
	for (size_t i = 0; i < m->nranks; i++) {
		const struct record_header *h = &m->memories[i]->header;

		if (h->outcome != (int32_t)verdict->outcome || !h->culprits[0])
			continue;
		snprintf(verdict->ranks, sizeof(verdict->ranks), "%.63s", h->culprits);
		return;
	}
}

static const struct record_memory *memory_of(const struct monitor *m, const struct rank_view *view)
{
	for (size_t i = 0; i < m->nranks; i++)
		if (view->pid == m->ranks[i].view.pid && view->rank == m->ranks[i].view.rank)
			return m->memories[i];
	return NULL;
}

/* Let the diagnoser see what is known, if there is one. */
static enum diagnosis_result refine(struct monitor *m, struct answer *verdict,
				    const struct rank_view *views, size_t n)
{
	const struct monitor_client *client = &m->config.client;
	const struct record_memory **memories;
	enum diagnosis_result result;

	if (!client->refine)
		return DIAGNOSIS_NOT_ASKED;
	memories = must(calloc(n + 1, sizeof(*memories)));
	for (size_t i = 0; i < n; i++)
		memories[i] = memory_of(m, &views[i]);
	result = client->refine(client->ctx, views, memories, n, verdict);
	free(memories);
	return result;
}

static bool all_answered(const struct monitor *m)
{
	for (size_t i = 0; i < m->nnodes; i++)
		if (m->nodes[i].known && m->nodes[i].link.fd >= 0 && !m->nodes[i].host.answered)
			return false;
	return true;
}

/* The other nodes keep their evidence and send what is slow; so does this one meanwhile. */
static void gather_slow(struct monitor *m, struct answer *answer)
{
	const struct monitor_client *client = &m->config.client;
	const char *folder = strcmp(answer->evidence, "-") ? answer->evidence : "";
	uint64_t until = clock_ns() + (m->leaves_ns ? 0 : decide_times.slow_evidence_ns);

	for (size_t i = 0; i < m->nnodes; i++)
		m->nodes[i].silent = !m->nodes[i].host.answered;
	nodes_ask_all(m, COLLECT_SLOW, folder);
	if (client->collect_slow)
		client->collect_slow(client->ctx, answer);
	do
		nodes_receive(m, clock_ns());
	while (!all_answered(m) && clock_ns() < until && (clock_sleep(0.002), true));
	if (client->save)
		client->save(client->ctx, answer);
}

/* Makes the answer's lines. `looked`: the client has just looked at the evidence. */
static void describe(const struct monitor *m, struct answer *answer, const struct rank_view *views,
		     size_t n, bool looked)
{
	const struct monitor_client *client = &m->config.client;

	if (looked && client->describe)
		client->describe(client->ctx, answer);
	else
		answer_describe(answer, views, n);
}

/* On each host of a hangar_run: its user may look there. Returns what was printed, for free(). */
static char *say(struct monitor *m, const struct answer *answer)
{
	char *text = NULL;
	size_t bytes = 0;
	FILE *f = must(open_memstream(&text, &bytes));

	answer_print(f, answer);
	if (answer->outcome != OUTCOME_SLOW_RANK) /* the lines about pace say it */
		answer_print_lines(f, "# ", answer);
	fclose(f);
	fputs(text, stdout);
	fflush(stdout);
	if (m->config.preloaded)
		nodes_send_all(m, MESSAGE_ANSWER, &(struct answer_head){ .what = TOLD_LINES },
			       sizeof(struct answer_head), text);
	return text;
}

/* Before lines of which a job of the same run has some, too. */
static void say_job(const struct monitor *m)
{
	if (m->config.job)
		printf("# job %s:\n", m->config.job);
}

/* The same ranks as below a verdict; late is a fact, and no accusation. */
static void say_late(struct monitor *m, const struct answer *answer, double usual_s)
{
	static const char mark[] = "culprit: ", none[] = "no culprit is named";

	say_job(m);
	for (size_t i = 0; i < answer->nlines; i++) {
		const char *line = answer->lines[i];

		if (strncmp(line, mark, strlen(mark)) == 0)
			printf("# late: %s%s\n",
			       answer->confidence == CONFIDENCE_INCONCLUSIVE ? "perhaps " : "",
			       line + strlen(mark));
		else if (strncmp(line, none, strlen(none)) == 0)
			printf("# late: no rank is known to be%s\n", line + strlen(none));
		else
			printf("# %s\n", line);
	}
	/* what lasts less than a tick is not seen */
	printf("# 99 of 100 waits of this kind last %.2f s or less; the run goes on\n",
	       fmax(usual_s, ns_seconds(decide_times.leader_tick_ns)));
	fflush(stdout);
	snprintf(m->late, sizeof(m->late), "%s", answer->ranks);
}

void monitor_say_came(struct monitor *m, double seconds)
{
	const struct monitor_client *client = &m->config.client;
	bool named = strcmp(m->late, "-") != 0;

	if (!client->late)
		return;
	say_job(m);
	printf("# %s%s came after all, after %.1f s\n",
	       !named		      ? "what ranks waited for"
	       : strchr(m->late, ',') ? "ranks "
				      : "rank ",
	       named ? m->late : "", seconds);
	fflush(stdout);
	client->came(client->ctx);
}

/* Links to lost hosts; how many of `room`. */
static size_t lost_links(const struct monitor *m, int *links, size_t room)
{
	size_t n = 0;

	if (m->root.known && m->root.lost && m->root.link.fd >= 0 && room > 0)
		links[n++] = m->root.link.fd;
	for (size_t i = 0; i < m->nnodes && n < room; i++)
		if (m->nodes[i].lost && m->nodes[i].link.fd >= 0)
			links[n++] = m->nodes[i].link.fd;
	return n;
}

/* The line of a slow rank, and of the host that has it, are evidence. */
static void note_pace(const struct pace_watch *pace, struct answer *verdict)
{
	char who[96], line[sizeof(verdict->notes[0])];

	for (size_t i = 0; i < pace->nnamed && i < ANSWER_NOTES / 2; i++) {
		const struct pace_finding *f = &pace->named[i].finding;

		snprintf(who, sizeof(who), "Rank %d (%s)", f->rank, pace_watch_host(pace, f->rank));
		answer_note(verdict, "%s.", pace_line(f, who, line, sizeof(line) - 1));
	}
}

/* A run that is well otherwise: slow ranks are printed, and make the outcome where that is asked for. */
static void judge_pace(struct monitor *m, struct answer *verdict)
{
	char ranks[sizeof(verdict->ranks)];
	enum answer_class class;

	if (verdict->outcome != OUTCOME_OK && verdict->outcome != OUTCOME_SLOW)
		return;
	class = pace_watch_end(&m->pace, m->memories, m->nranks, ranks, sizeof(ranks));
	if (class == CLASS_OUTCOME || !m->config.fail_slow)
		return;
	verdict->outcome = OUTCOME_SLOW_RANK;
	verdict->class = class;
	verdict->side = SIDE_HOST;
	verdict->confidence = CONFIDENCE_PROVED;
	/* a stream that comes late was fed late, or has a slow GPU, or waits for what is not recorded */
	for (size_t i = 0; i < m->pace.nnamed; i++)
		if (m->pace.named[i].finding.device) {
			verdict->side = SIDE_UNKNOWN;
			verdict->confidence = CONFIDENCE_MAJORITY;
		}
	snprintf(verdict->ranks, sizeof(verdict->ranks), "%s", ranks);
	note_pace(&m->pace, verdict);
}

/* A run that ended well was not looked at so far. */
static void look_at_slow(struct monitor *m, const struct answer *verdict,
			 const struct rank_view *views, size_t n)
{
	struct answer ignored = *verdict;

	ignored.outcome = OUTCOME_OK;
	refine(m, &ignored, views, n);
}

/* Prints the verdict and ends the run everywhere. `closer`: there is evidence to save. The diagnoser looks after the
 * line where watchers are lost: mpirun ends the job a second after a supervisor's death. */
static void end(struct monitor *m, struct answer *verdict, const struct rank_view *views, size_t n,
		bool closer, bool looked)
{
	const struct monitor_client *client = &m->config.client;
	int lost[HANGUP_HOSTS];
	char *lines = NULL;

	judge_pace(m, verdict);
	if (verdict->outcome == OUTCOME_SLOW_RANK) {
		look_at_slow(m, verdict, views, n);
		closer = true;
	}
	snprintf(verdict->job, sizeof(verdict->job), "%s", m->config.job ? m->config.job : "");
	if (closer && client->reserve_folder)
		client->reserve_folder(client->ctx, verdict, m->root.known ? m->input.name : NULL);
	if (verdict->outcome != OUTCOME_OK && verdict->outcome != OUTCOME_USAGE &&
	    verdict->outcome != OUTCOME_UNSUPPORTED) {
		describe(m, verdict, views, n, looked);
		lines = say(m, verdict);
	}
	m->exit_code = answer_exit_code(verdict, m->config.expect);
	/* mpirun may end this process while it saves evidence */
	run_folder_note_end(m->config.key, m->exit_code ? m->exit_code : RUN_OVER,
			    lines ? lines : "");
	if (class_is_lost(verdict->class))
		refine(m, verdict, views, n); /* evidence alone: no rank is blamed */
	if (closer)
		gather_slow(m, verdict);
	if (lines && client->printed)
		client->printed(client->ctx, verdict);
	free(lines);
	answer_print_expected(stdout, verdict, m->config.expect);
	members_look(m, clock_ns()); /* those that have come meanwhile */
	monitor_send_end(m, m->exit_code);
	/* where mpirun's own host has no ranks no process of this run can shut its connections */
	if ((verdict->hosts[0] ? m->input.nhosts > 0 : verdict->class == CLASS_INIT_MISSING) &&
	    launcher_is_remote(m->launcher_pid)) {
		printf("# if mpirun does not end by itself it waits for %s, on a host without "
		       "ranks: "
		       "Ctrl-C (kill -INT) ends it\n",
		       verdict->hosts[0] ? verdict->hosts : "a host that is lost");
		fflush(stdout);
	}
	if (verdict->hosts[0] || (closer && (m->input.job_hosts != 1 || verdict->outcome)))
		launcher_hang_up(m->launcher_pid, lost, lost_links(m, lost, HANGUP_HOSTS));
	nodes_farewell(m);
	m->ended = true;
}

/* A line for a debugger that is waited for. */
static void say_traced(const struct monitor *m, const struct rank_view *views, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		const struct rank_view *v = &views[i];
		pid_t tracer = v->traced && memory_of(m, v) ? proc_tracer(v->pid) : 0;
		char number[32] = ""; /* not known on another host, or in another namespace */
		struct proc_stat stat;

		if (!v->traced)
			continue;
		if (tracer > 0)
			snprintf(number, sizeof(number), " (pid %d)", (int)tracer);
		printf("# rank %d (%s pid %d) is looked at by %s%s: detach that; the run waits "
		       "%g s for it\n",
		       v->rank, v->host, v->pid,
		       tracer > 0 && proc_stat_read(&stat, tracer, 0) ? stat.name : "a debugger",
		       number, m->config.decide.partition_seconds);
		fflush(stdout);
		return;
	}
}

/* A line for ranks that all wait for a processor. */
static void say_starved(const struct rank_view *views, size_t n)
{
	double waited = 0;

	for (size_t i = 0; i < n; i++)
		waited = views[i].waiting ? fmax(waited, views[i].waited) : waited;
	printf("# all ranks have waited for %.0f s, and hardly got a processor in that time; the "
	       "run "
	       "goes on\n",
	       waited);
	fflush(stdout);
}

struct decision monitor_conclude(struct monitor *m, const struct decision *d)
{
	struct answer verdict = d->verdict;
	const struct answer before = d->verdict;
	bool closer = verdict.outcome == OUTCOME_HANG || verdict.outcome == OUTCOME_DIED ||
		      verdict.outcome == OUTCOME_ERROR || verdict.outcome == OUTCOME_DIVERGED;
	bool lost = class_is_lost(verdict.class);
	uint64_t began = clock_ns();
	struct decision next = *d;
	struct rank_view *views;
	size_t n = decide_views(&m->decide, &m->input, &views);

	name_culprits(m, &verdict);
	if (d->action == DECIDE_DIAGNOSE) {
		enum diagnosis_result result =
			lost ? DIAGNOSIS_NAMED : refine(m, &verdict, views, n);

		closer = closer || verdict.class != before.class ||
			 verdict.outcome != before.outcome;
		m->input.now = clock_ns();
		next = decide_answer(&m->decide, &m->input, result, &verdict);
		if (next.late && m->config.client.late) {
			describe(m, &verdict, views, n, true);
			say_late(m, &verdict, next.usual_s);
			m->config.client.late(m->config.client.ctx, &verdict);
		}
		if (next.traced)
			say_traced(m, views, n);
		if (next.starved)
			say_starved(views, n);
	}
	if (next.action == DECIDE_END) {
		/* A closer look takes its time. To 1 ms: line, files, picture and page say one figure. */
		verdict.detect_ms += (double)(clock_ns() - began) * 1e-6;
		verdict.detect_ms = round(verdict.detect_ms);
		free(views); /* what is lost may have become more */
		n = decide_views(&m->decide, &m->input, &views);
		end(m, &verdict, views, n, closer, d->action == DECIDE_DIAGNOSE && !lost);
	}
	free(views);
	return next;
}
