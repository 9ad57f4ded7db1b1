/* run_status.c: sockets and processes around preload/status.h. */
#include "preload/run_status.h"

#include "base/clock.h"
#include "base/error.h"
#include "preload/run_meter.h"
#include "preload/run_monitor.h"
#include "preload/run_ranks.h"
#include "evidence/stacks_text.h"
#include "probe/probe.h"
#include "net/link.h"
#include "watch/message.h"

#define STACK_SECONDS  0.7 /* for all */
#define ANSWER_SECONDS 3.0 /* time for the answer of a monitor */

void run_status_count(struct run_status *s, const struct monitor *m, uint64_t now)
{
	struct progress p;

	if (s->n != m->nranks) {
		free(s->counts);
		s->counts = must(calloc(m->nranks + 1, sizeof(*s->counts)));
		s->n = m->nranks;
		s->looked_ns = s->counted_ns = now;
	}
	if (m->nranks > 0) {
		p = progress_of(&m->ranks->view, sizeof(*m->ranks), m->nranks);
		status_count(s->counts, &p, (double)(now - s->counted_ns) * 1e-9);
		free(p.ranks);
	}
	s->counted_ns = now;
}

/* Writes the line of code that each rank of this host is stuck on to doing[]. */
static void look_at_stacks(const struct monitor *m, char (*doing)[160])
{
	struct task *tasks = must(calloc(m->nranks + 1, sizeof(*tasks)));
	struct stacks_order *orders = must(calloc(m->nranks + 1, sizeof(*orders)));

	for (size_t i = 0; i < m->nranks; i++) {
		pid_t pid = m->ranks[i].view.pid;

		for (size_t k = 0; k < i; k++) /* several ranks in a process: with its first */
			pid = m->ranks[k].view.pid == pid ? 0 : pid;
		orders[i] = (struct stacks_order){ .pid = pid,
						   .python = python_of(m->memories[i], pid),
						   .seconds = STACK_SECONDS * 0.7 };
		stacks_order(&tasks[i], &orders[i]);
	}
	tasks_run(tasks, m->nranks, m->nranks + 1, STACK_SECONDS, STACK_SECONDS);
	for (size_t i = 0; i < m->nranks; i++) {
		char *text = stacks_result(&tasks[i]);

		stacks_stuck_on(text, doing[i], sizeof(doing[i]));
		make_printable(doing[i]);
		free(text);
	}
	free(tasks);
	free(orders);
}

/* The lines, to be freed. */
static char *describe(struct run_status *s, struct monitor *m, const char *title, bool as_json)
{
	double seconds = (double)(s->counted_ns - s->looked_ns) * 1e-9, still;
	char(*doing)[160] = must(calloc(m->nranks + 1, sizeof(*doing))), *text = NULL;
	struct status_rank *ranks;
	size_t n = m->nranks, bytes;
	FILE *out = must(open_memstream(&text, &bytes));
	json_t *json;

	for (size_t i = 0; i < m->input.nhosts; i++)
		n += m->input.hosts[i].nviews;
	ranks = must(calloc(n + 1, sizeof(*ranks)));
	look_at_stacks(m, doing);
	for (n = 0; n < m->nranks; n++) {
		struct status_counts *counts = &s->counts[n];

		for (uint32_t c = 0; c < VIEW_COMMS; c++)
			counts->bytes[c] = status_bytes(m->memories[n], c) - counts->before[c];
		ranks[n] = (struct status_rank){ &m->ranks[n].view, counts, doing[n] };
	}
	for (size_t i = 0; i < m->input.nhosts; i++)
		for (size_t k = 0; k < m->input.hosts[i].nviews; k++)
			ranks[n++] = (struct status_rank){ .view = &m->input.hosts[i].views[k] };
	if (as_json) {
		json = must(status_json(title, ranks, n, seconds));
		json_dumpf(json, out, JSON_COMPACT);
		json_decref(json);
		putc('\n', out);
	} else {
		fprintf(out, "# %s\n", title);
		if (s->looked_ns)
			fprintf(out, "# %zu ranks, %.1f s since the last look\n", n, seconds);
		else
			fprintf(out, "# no rank has come yet: none has used NCCL\n");
		still = status_print(out, ranks, n, seconds);
		if (still > 0)
			fprintf(out, "# the meter is left out: no call has been over for %.1f s\n",
				still);
		else
			run_meter_print(out, m);
	}
	fclose(out);
	free(ranks);
	free(doing);
	return text;
}

void run_status_answer(struct run_status *s, struct monitor *m, int fd, const char *title)
{
	char *text = describe(s, m, title, fd >= 0 && m->asking_json);
	struct link link;

	if (fd < 0) {
		fputs(text, stdout);
		fflush(stdout);
	} else {
		link_init(&link, fd);
		link_send(&link, MESSAGE_STATUS, text, (uint32_t)strlen(text), -1);
		link_release(&link);
	}
	free(text);
	for (size_t i = 0; i < s->n; i++) {
		s->counts[i].waited = s->counts[i].awaited = 0;
		for (int c = 0; c < VIEW_COMMS; c++) {
			s->counts[i].before[c] += s->counts[i].bytes[c];
			s->counts[i].done[c] = m->ranks[i].view.comms[c].done;
		}
	}
	s->looked_ns = s->looked_ns ? s->counted_ns : 0;
}

void run_status_release(struct run_status *s)
{
	free(s->counts);
	*s = (struct run_status){ 0 };
}

const char *run_absolute(const char *path, char *buf)
{
	if (realpath(path, buf))
		return buf;
	buf[0] = '\0'; /* the folder of a run that has no verdict yet */
	if (path[0] != '/' && getcwd(buf, PATH_MAX))
		text_add(buf, PATH_MAX, "/");
	text_add(buf, PATH_MAX, "%s", path);
	return buf;
}

/* A monitor that is asked. */
struct asked {
	struct link link;
	bool over; /* it has answered, or will not */
};

/* Connects to this user's monitor of that name, and asks it. Names are anybody's: another user's process is not asked. */
static void ask(struct asked *a, const char *key, bool json)
{
	socklen_t len;
	struct sockaddr_un address = link_address(key, 0, &len);
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	link_init(&a->link, fd);
	a->over = true;
	if (fd < 0 || connect(fd, (struct sockaddr *)&address, len) < 0)
		return;
	if (link_same_user(fd))
		a->over = link_send(&a->link, MESSAGE_STATUS, "json", json ? 4 : 0, -1) < 0;
	else
		fprintf(stderr,
			"hangar_run: a process of user %u listens at @hangar-%u-%s: not asked\n",
			(unsigned int)link_peer(fd).uid, (unsigned int)geteuid(),
			make_printable(strdupa(key)));
}

/* Prints an answer of a run with this folder ("": any), its control characters but line ends escaped. Returns true if there was any. */
static bool take_answer(struct asked *a, const char *folder)
{
	struct link_message message;
	int rc = link_receive(&a->link, &message);
	char *text, *rest;

	a->over = rc != 0;
	if (rc != 1 || !memmem(message.payload, message.bytes, folder, strlen(folder)))
		return false;
	text = rest = must(strndup(message.payload, message.bytes));
	for (char *line; (line = strsep(&rest, "\n")) && (rest || *line);)
		puts(make_printable(line));
	free(text);
	return true;
}

/* Waits for the answers of all. Returns true if any was printed. */
static bool take_answers(struct asked *asked, size_t n, const char *folder)
{
	uint64_t until = clock_ns() + (uint64_t)(ANSWER_SECONDS * 1e9);
	struct pollfd *fds = must(calloc(n + 1, sizeof(*fds)));
	bool any = false;
	nfds_t open;

	do {
		open = 0;
		for (size_t i = 0; i < n; i++)
			if (!asked[i].over)
				fds[open++] = (struct pollfd){ asked[i].link.fd, POLLIN, 0 };
		if (open > 0 && poll(fds, open, clock_ms_until(until)) <= 0)
			break;
		for (size_t i = 0; i < n; i++)
			any |= !asked[i].over && take_answer(&asked[i], folder);
	} while (open > 0);
	for (size_t i = 0; i < n; i++)
		link_release(&asked[i].link);
	free(fds);
	return any;
}

/* Returns true if the name is of this run: of its first job or another ("+2"), and of these a later one (".1"). */
static bool is_name_of(const char *name, const char *run)
{
	size_t len = strlen(run);
	const char *rest = name + len;

	if (strncmp(name, run, len) != 0)
		return false;
	rest += rest[0] == '+' ? 1 + strspn(rest + 1, "0123456789") : 0;
	return !rest[0] || (rest[0] == '.' && isdigit(rest[1]) && !rest[2]);
}

int run_status_ask(const char *which, bool json)
{
	char wanted[64] = "", folder[PATH_MAX + 16] = "", path[PATH_MAX], line[256], name[32];
	char *end = NULL, *key;
	long pid = which ? strtol(which, &end, 10) : 0;
	FILE *f = fopen("/proc/net/unix", "re");
	struct asked *asked = NULL;
	size_t n = 0;
	bool any;

	if (pid > 0 && !*end)
		run_variable((pid_t)pid, RUN_KEY, wanted, sizeof(wanted));
	else if (which)
		snprintf(folder, sizeof(folder), ", --out %s)%s", run_absolute(which, path),
			 json ? "\"" : "\n");
	snprintf(name, sizeof(name), " @hangar-%u-", (unsigned int)geteuid());
	while (f && fgets(line, sizeof(line), f)) {
		unsigned int flags = 0;

		/* a listener: __SO_ACCEPTCON */
		key = strstr(line, name);
		if (!key || sscanf(line, "%*s %*s %*s %x", &flags) != 1 || !(flags & 0x10000))
			continue;
		key[strcspn(key, "\n")] = '\0';
		key += strlen(name);
		if (pid > 0 && !*end && !is_name_of(key, wanted))
			continue;
		asked = must(realloc(asked, (n + 1) * sizeof(*asked)));
		ask(&asked[n++], key, json);
	}
	if (f)
		fclose(f);
	any = take_answers(asked, n, folder);
	free(asked);
	if (!any)
		fprintf(stderr, "hangar_run: no hangar_run of this user watches %s on this host\n",
			which ? which : "anything");
	return any ? 0 : OUTCOME_INTERNAL;
}
