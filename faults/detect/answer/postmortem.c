/* postmortem.c: postmortem.md: the run, its command, the walk, root cause, fix, prevention. */
#include "answer/postmortem.h"

#include "settings/backend_kind.h"
#include "base/call_value.h"
#include "base/file.h"
#include "base/rank_list.h"
#include "answer/counter_delta.h"
#include "evidence/stacks_text.h"
#include "answer/timeline.h"
#include "process/watch.h"

#define RANKS_SHOWN  64 /* the culprits are always shown */
#define STACKS_SHOWN 4	/* of culprits */

static void print_point(FILE *out, int64_t comm, int64_t seq, const char *none)
{
	if (seq < 0)
		fprintf(out, "%s", none);
	else if (seq == 0)
		fprintf(out, "communicator %ld, init", comm);
	else
		fprintf(out, "communicator %ld, call %ld", comm, seq);
}

void report_place(FILE *out, const struct answer *d)
{
	if (d->seq_low <= 0 || d->seq_low == d->seq_high)
		print_point(out, d->comm, d->seq_low, "nowhere in the recorded calls");
	else
		fprintf(out, "communicator %ld, between calls %ld and %ld", d->comm, d->seq_low,
			d->seq_high);
	if (d->field[0])
		fprintf(out, ", field %s", d->field);
	if (d->theirs[0] || d->majority[0])
		fprintf(out, ": theirs %s, the others' %s", d->theirs[0] ? d->theirs : "none",
			d->majority[0] ? d->majority : "none");
}

void report_hang(FILE *out, const struct answer *d)
{
	print_point(out, d->comm, d->hang_seq, "none");
	if (d->wrong_seq > 0)
		fprintf(out, "; data are wrong from call %ld on", d->wrong_seq);
}

int report_error(const struct answer *d, const struct evidence *e, int *at)
{
	while (*at < 2 * e->nranks) {
		bool first = *at < e->nranks;
		int rank = (*at)++ % e->nranks;

		if (e->ranks[rank].present && e->ranks[rank].view.error[0] &&
		    rank_list_has(d->ranks, rank) == first)
			return rank;
	}
	return -1;
}

static const char *host_of(const struct evidence *e, int rank)
{
	return e->ranks[rank].present && e->ranks[rank].view.host[0] ? e->ranks[rank].view.host
								     : "?";
}

/* Runs of ranks in a row on one host, in order of rank: linear however many hosts there are. */
void report_hosts(const struct evidence *e, char *buf, size_t len)
{
	buf[0] = '\0';
	for (int i = 0, next; i < e->nranks; i = next) {
		const char *host = host_of(e, i);
		size_t at = strlen(buf);

		for (next = i + 1; next < e->nranks && strcmp(host_of(e, next), host) == 0;)
			next++;
		text_add(buf, len, "%s%.63s: %d", at ? "; " : "", host, i);
		if (next - i > 1)
			text_add(buf, len, "-%d", next - 1);
		if (strlen(buf) + 8 > len) {
			snprintf(buf + at, len - at, "; ...");
			return;
		}
	}
}

/* Returns true if `name` is one of a list "node1,node2". */
static bool is_listed(const char *list, const char *name)
{
	size_t n = strlen(name);

	for (; *list; list += strcspn(list, ","), list += *list == ',')
		if (strncmp(list, name, n) == 0 && strchr(",", list[n]))
			return true;
	return false;
}

void report_hosts_of(const struct evidence *e, const char *ranks, const char *lost, char *buf,
		     size_t len)
{
	snprintf(buf, len, "%s", lost);
	for (int i = 0; i < e->nranks; i++) {
		const char *host = host_of(e, i);

		if (rank_list_has(ranks, i) && *host != '?' && !is_listed(buf, host) &&
		    strlen(buf) + strlen(host) + 1 < len)
			text_add(buf, len, "%s%s", *buf ? "," : "", host);
	}
}

static void print_fact(FILE *out, const char *name, const char *value)
{
	fprintf(out, "| %s | ", name);
	page_put(out, value[0] ? value : "not known");
	fprintf(out, " |\n");
}

static void print_run(FILE *out, const struct answer *d, const struct evidence *e)
{
	char hosts[1024], number[400];

	report_hosts(e, hosts, sizeof(hosts));
	fprintf(out, "## The run\n\n| | |\n|---|---|\n");
	print_fact(out, "program", e->program);
	print_fact(out, "command line, any fault left out", e->command);
	print_fact(out, "backend", e->backend);
	print_fact(out, "library", e->library);
	snprintf(number, sizeof(number), e->uncounted ? "at least %d" : "%d", e->nranks);
	print_fact(out, "ranks", number);
	print_fact(out, "hosts and their ranks", hosts);
	print_fact(out, "verdict at", e->when);
	snprintf(number, sizeof(number),
		 "%.0f ms after the last rank went to wait, or one died or left with an error",
		 e->detect_ms);
	print_fact(out, "verdict came", e->detect_ms > 0 ? number : "");
	print_fact(out, "outcome", outcome_name(d->outcome));
}

static void print_rings(FILE *out, const struct evidence *e, const char *dir)
{
	fprintf(out, "\n### Ring topology\n\n");
	if (logs_print(out, dir) > 0)
		return;
	if (backend_lacks(e->backend, BACKEND_RAS))
		fprintf(out, "The MPI library does not tell in which order it connects ranks.\n");
	else
		fprintf(out, "Not known: no NCCL log is here. NCCL prints it with NCCL_DEBUG=INFO, "
			     "NCCL_DEBUG_SUBSYS=INIT,COLL,NET,P2P and "
			     "NCCL_DEBUG_FILE=DIR/nccl-%%h-%%p.log; put the logs into this folder "
			     "and run hang_diagnose on it.\n");
}

/* The only reader of command.txt: evidence does not say what was injected. */
static void print_reproducer(FILE *out, const struct answer *d, const char *dir)
{
	char path[4096], line[8192];
	const char *why;
	FILE *f;

	fprintf(out, "\n## Reproducer\n\n");
	snprintf(path, sizeof(path), "%s/command.txt", dir);
	f = file_open(path, INT64_MAX, &why);
	if (f && fgets(line, sizeof(line), f) && line[0] != '\n') {
		line[strcspn(line, "\n")] = '\0';
		for (char *c = line; *c; c++)
			*c = (unsigned char)*c < ' ' ? '?' : *c;
		fprintf(out, "    %s\n", line);
	} else {
		fprintf(out, "Not known: command.txt, the command as it was given, is not here.\n");
	}
	if (f)
		fclose(f);
	if (d->outcome == OUTCOME_HANG && class_of_calls(d->class) &&
	    d->confidence != CONFIDENCE_INCONCLUSIVE)
		fprintf(out, "\nThe smallest program that hangs alike: `hang_reduce --as nccl DIR` "
			     "prints it, of "
			     "this folder.\n");
}

/* The cell about what a rank that lives is in. */
static void print_doing(FILE *out, const struct rank_view *v, bool culprit)
{
	const struct rank_doing d = rank_doing(v, culprit);

	if (d.doing < DOING_INIT)
		return;
	if (d.doing == DOING_CALL)
		fprintf(out, "call %lu", d.call->seq);
	else if (d.doing == DOING_WAIT)
		page_put(out, v->what);
	else
		fprintf(out, "%s", d.doing == DOING_INIT ? "communicator init" : "no call");
	if (d.seconds >= 0)
		fprintf(out, ", %.2f s%s", d.seconds, v->overdue ? ", overdue" : "");
}

static void print_rank(FILE *out, int number, bool culprit, const struct evidence_rank *r)
{
	const struct record *last = r->ncalls ? &r->calls[r->ncalls - 1] : NULL;
	const struct rank_view view = report_view(r);
	char how[48];

	fprintf(out, "| %s%d%s | ", culprit ? "**" : "", number, culprit ? "**" : "");
	if (!r->present) {
		fprintf(out, "nothing known | | | | | |\n");
		return;
	}
	fprintf(out, "%s", view_process(&r->view, how, sizeof(how)));
	if (r->state && strchr("RSDTtZ", r->state))
		fprintf(out, " (%c)", r->state);
	fprintf(out, " | %s | ", phase_name((enum phase)r->view.phase));
	print_doing(out, &view, culprit);
	fprintf(out, " | %lu, %lu completed | ", r->view.issued, r->view.completed);
	if (last)
		fprintf(out, "%u:%lu %s count %lu%s | ", last->comm, last->seq,
			call_kind_name((enum call_kind)last->kind), last->count,
			last->state == RECORD_RETURNED ? ", returned" : ", not returned");
	else
		fprintf(out, "none | ");
	page_put(out, r->syscall[0] ? r->syscall : "-");
	if (r->cpu_share >= 0)
		fprintf(out, ", %.0f %% processor", r->cpu_share * 100);
	fprintf(out, " |\n");
}

static void print_ranks(FILE *out, const struct answer *d, const struct evidence *e)
{
	int left_out = 0;

	fprintf(out, "| rank | process | phase | is in | calls made | last call (comm:seq) | "
		     "system call |\n|---|---|---|---|---|---|---|\n");
	for (int i = 0; i < e->nranks; i++) {
		bool culprit = rank_list_has(d->ranks, i);

		if (i < RANKS_SHOWN || culprit)
			print_rank(out, i, culprit, &e->ranks[i]);
		else
			left_out++;
	}
	if (left_out > 0)
		fprintf(out, "\n%d more rank%s in the evidence.\n", left_out,
			left_out == 1 ? " is" : "s are");
}

void report_errors(FILE *out, const struct answer *d, const struct evidence *e, bool page)
{
	const char *bullet = page ? "- " : "reported    ";
	char text[sizeof(e->ranks->view.error) + 1];
	int n = 0, at = 0, rank;

	while ((rank = report_error(d, e, &at)) >= 0) {
		if (n++ >= REPORT_ERRORS)
			continue;
		fprintf(out, "%s%sank %d%s: ", bullet, page ? "R" : "r", rank,
			page ? " reported" : "");
		view_error(&e->ranks[rank].view, text, sizeof(text));
		page ? page_put(out, text) : (void)fputs(text, out);
		putc('\n', out);
	}
	if (n > REPORT_ERRORS)
		fprintf(out, "%s%d more ranks reported errors%s\n", bullet, n - REPORT_ERRORS,
			page ? "." : "");
}

static void print_walk(FILE *out, const struct answer *d, const struct evidence *e)
{
	fprintf(out, "\n## The walk\n\n");
	print_ranks(out, d, e);
	fprintf(out, "\n- Last common call: ");
	if (d->seq_low > 1)
		fprintf(out, "communicator %ld, call %ld", d->comm, d->seq_low - 1);
	else if (d->seq_low >= 0)
		fprintf(out, "none on communicator %ld", d->comm);
	else
		fprintf(out, "all that were recorded");
	fprintf(out, "\n- Divergence point: ");
	report_place(out, d);
	fprintf(out, "\n- Hang point: ");
	report_hang(out, d);
	fprintf(out, "\n");
	report_errors(out, d, e, true);
	for (size_t i = 0; i < d->nnotes; i++) {
		fprintf(out, "- ");
		page_put(out, d->notes[i]);
		fprintf(out, "\n");
	}
	if (e->remarks[0]) {
		fprintf(out, "- The evidence: ");
		page_put(out, e->remarks);
		fprintf(out, "\n");
	}
}

void report_stuck(FILE *out, const char *prefix, const struct evidence *e, const char *culprits,
		  int most)
{
	char line[300];
	int found = 0;

	for (int i = 0; i < 2 * e->nranks && found < most; i++) {
		int rank = i % e->nranks;

		if (rank_list_has(culprits, rank) == (i < e->nranks) &&
		    stacks_stuck_on(e->ranks[rank].stack, line, sizeof(line)) && ++found)
			fprintf(out, "%srank %d is stuck on %s\n", prefix, rank, line);
	}
}

void report_where(FILE *out, const char *prefix, const struct answer *d, const struct evidence *e)
{
	bool any = rank_list_count(d->ranks) == 0;
	char line[300], text[400];

	for (int i = 0; i < e->nranks; i++) {
		if ((!any && (!rank_list_has(d->ranks, i) || e->ranks[i].where[0])) ||
		    !stacks_stuck_on(e->ranks[i].stack, line, sizeof(line)))
			continue;
		snprintf(text, sizeof(text), "rank %d is stuck on %s", i, line);
		fprintf(out, "%s%s\n", prefix, describe_cut(text));
		return;
	}
	for (int i = 0; i < e->nranks; i++)
		if (e->ranks[i].stack &&
		    strstr(e->ranks[i].stack, "not taken: Operation not permitted")) {
			fprintf(out,
				"%sno stacks: ptrace is refused; a container needs "
				"--cap-add=SYS_PTRACE\n",
				prefix);
			return;
		}
}

void report_block(FILE *out, const char *text)
{
	while (*text) {
		size_t n = strcspn(text, "\n");

		fprintf(out, "    %.*s\n", (int)n, text);
		text += n + (text[n] == '\n');
	}
}

/* A rank without guilt that has stacks, one that waits if there is one; -1: none. */
static int find_waiting(const struct evidence *e, const char *culprits)
{
	int found = -1;

	for (int i = 0; i < e->nranks; i++) {
		if (!e->ranks[i].stack || rank_list_has(culprits, i))
			continue;
		if (e->ranks[i].view.waiting)
			return i;
		if (found < 0)
			found = i;
	}
	return found;
}

void report_stacks(FILE *out, const struct evidence *evidence, const char *culprits)
{
	int waiting = find_waiting(evidence, culprits), shown = 0;
	bool any = waiting >= 0;

	for (int i = 0; i < evidence->nranks; i++)
		any = any || evidence->ranks[i].stack;
	fprintf(out, "\n### Stacks\n\n");
	if (!any) {
		fprintf(out, "None were taken.\n");
		return;
	}
	report_stuck(out, "- ", evidence, culprits, RANKS_SHOWN);
	for (int i = 0; i < evidence->nranks && shown < STACKS_SHOWN; i++)
		if (evidence->ranks[i].stack && rank_list_has(culprits, i)) {
			fprintf(out, "\n#### Rank %d, culprit\n\n", i);
			report_block(out, evidence->ranks[i].stack);
			shown++;
		}
	if (waiting >= 0) {
		fprintf(out, "\n#### Rank %d, %s\n\n", waiting,
			evidence->ranks[waiting].view.waiting ? "waiting" : "not a culprit");
		report_block(out, evidence->ranks[waiting].stack);
	}
}

void postmortem_print(FILE *out, const struct answer *d, const struct evidence *e, const char *dir,
		      bool drawable)
{
	const size_t n = rank_list_count(d->ranks);
	char culprits[sizeof(d->ranks) + 8] = "no rank is named";
	struct meaning meaning;

	answer_meaning(d, &meaning);
	if (n > 0)
		snprintf(culprits, sizeof(culprits), "rank%s %s", n > 1 ? "s" : "", d->ranks);
	fprintf(out, "# Post-mortem: %s, %s, %s\n\n", outcome_name(d->outcome),
		class_name(d->class, d->outcome), culprits);
	for (size_t i = 0; i < d->nlines; i++) {
		fprintf(out, "- ");
		page_put(out, d->lines[i] + strspn(d->lines[i], " "));
		putc('\n', out);
	}
	report_where(out, "- ", d, e);
	putc('\n', out);
	print_run(out, d, e);
	print_rings(out, e, dir);
	print_reproducer(out, d, dir);
	print_walk(out, d, e);
	report_stacks(out, e, d->ranks);
	counter_delta_print(out, e, true);
	fprintf(out, "\n### Timeline\n\n%s\n",
		drawable ? "The calls of all ranks around the divergence: timeline.png "
			   "(`plots/plot` draws it of timeline.csv), and timeline.json for "
			   "chrome://tracing or Perfetto."
			 : "No call is known that could be drawn.");
	culprits[0] = (char)toupper(culprits[0]);
	fprintf(out,
		"\n## Root cause\n\n%s, confidence: %s. %s\n\n## Fix\n\n%s\n\n## "
		"Prevention\n\n%s\n",
		culprits, confidence_name(d->confidence), meaning.cause, meaning.fix,
		meaning.prevention);
}
