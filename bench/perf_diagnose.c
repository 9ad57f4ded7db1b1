/* perf_diagnose.c: evidence from memory, /proc and other hosts to a sharper verdict and a folder
 * to keep. */
#include "perf_diagnose.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "process/command.h"
#include "evidence/evidence_text.h"
#include "postmortem/report_stacks.h"
#include "evidence/saved.h"
#include "probe/counter_delta.h"
#include "probe/probe.h"
#include "record/verdict.h"
#include "perf_folder.h"

#define LINES_SHOWN 4
#define HEARD_MAX   (1 << 18) /* ranks */
#define TEXT_MAX    (64 << 10)
#define TAIL_CALLS  256 /* newest calls that another host tells of a rank; of large runs: */
#define TAIL_SHORT  64
#define TAIL_RANKS  1024

static void name_command(struct judge *j)
{
	char command[COMMAND_MAX];

	command_join(command, sizeof(command), j->program->argc,
		     (const char *const *)j->program->argv);
	evidence_blind_command(command, j->evidence.command, sizeof(j->evidence.command));
}

static void name_time(struct evidence *e)
{
	time_t now = time(NULL);
	struct tm tm;

	localtime_r(&now, &tm);
	strftime(e->when, sizeof(e->when), "%Y-%m-%dT%H:%M:%S%z", &tm);
}

/* The command with its fault, for the report's reproducer alone: evidence_load does not read it. */
static void save_command(const struct judge *j)
{
	char path[sizeof(j->folder) + 16], command[COMMAND_MAX], parent[32];
	const struct program *p = j->program;
	FILE *f;

	snprintf(parent, sizeof(parent), "/proc/%d/cmdline", (int)getppid());
	command_again(command, sizeof(command), p->launch, j->evidence.nranks, p->argc,
		      (const char *const *)p->argv, parent);
	snprintf(path, sizeof(path), "%s/command.txt", j->folder);
	f = fopen(path, "we");
	if (!f)
		return; /* the report says that it is unknown */
	fprintf(f, "%s\n", command);
	fclose(f);
}

/* Of a rank on another node its view alone came: its newest call is all that is known of
 * its calls. */
static bool take_last(struct evidence_rank *rank)
{
	if (rank->view.last.ticket == 0 || rank->view.last.ticket != rank->view.issued)
		return true;
	rank->calls = malloc(sizeof(*rank->calls));
	if (!rank->calls)
		return false;
	memcpy(rank->calls, &rank->view.last, sizeof(*rank->calls));
	rank->ncalls = 1;
	rank->wrapped = rank->view.issued > 1;
	return true;
}

/* A rank on another host, as its own judge described it; the view came with the same answer. */
static bool take_heard(struct judge *j, struct evidence_rank *rank, const struct rank_view *view)
{
	const struct heard *heard = view->rank < j->nheard ? &j->heard[view->rank] : NULL;
	int rc = heard && heard->words[WORD_TAIL].data
			 ? evidence_take_saved(rank, view->rank, heard->words[WORD_TAIL].data,
					       heard->words[WORD_TAIL].bytes)
			 : -EINVAL;

	rank->remote = true;
	rank->view = *view;
	if (rc == -EINVAL)
		return take_last(rank);
	return rc == 0;
}

static bool take_rank(struct judge *j, const struct rank_view *view,
		      const struct record_memory *memory)
{
	struct evidence_rank *rank = &j->evidence.ranks[view->rank];

	rank->present = true;
	rank->view = *view;
	rank->cpu_share = -1;
	if (!memory)
		return take_heard(j, rank, view);
	evidence_identify(&j->evidence, &memory->header);
	return evidence_take_calls(rank, memory) == 0;
}

/* What each rank left, by rank number. false without memory. */
static bool collect(struct judge *j, const struct rank_view *views,
		    const struct record_memory *const *memories, size_t n)
{
	struct evidence *e = &j->evidence;

	evidence_release(e);
	for (size_t i = 0; i < n; i++) {
		int nranks = memories[i] ? memories[i]->header.nranks : 0;

		nranks = nranks > views[i].rank && nranks <= HEARD_MAX ? nranks : views[i].rank + 1;
		e->nranks = nranks > e->nranks ? nranks : e->nranks;
	}
	e->ranks = calloc((size_t)e->nranks + 1, sizeof(*e->ranks));
	if (!e->ranks)
		return false;
	for (int i = 0; i < e->nranks; i++) {
		e->ranks[i].view = (struct rank_view){ .rank = i, .outcome = -1, .node = -1 };
		e->ranks[i].cpu_share = -1;
	}
	for (size_t i = 0; i < n; i++)
		if (views[i].rank >= 0 && views[i].rank < HEARD_MAX &&
		    !take_rank(j, &views[i], memories[i]))
			return false;
	name_command(j);
	return true;
}

static void judge_begin(void *ctx, const struct rank_view *views, size_t n)
{
	struct judge *j = ctx;
	int *pids = malloc((n + 1) * sizeof(*pids));

	for (size_t i = 0; pids && i < n; i++)
		pids[i] = views[i].pid;
	if (pids)
		evidence_probe_begin(&j->probe, pids, n);
	free(pids);
}

static void look(struct judge *j)
{
	evidence_probe(j->evidence.ranks, (size_t)j->evidence.nranks, &j->probe);
	evidence_probe_release(&j->probe);
}

static void judge_testify(void *ctx, const struct rank_view *views,
			  const struct record_memory *const *memories, size_t n,
			  const struct monitor_pen *pen)
{
	struct judge *j = ctx;
	size_t newest = TAIL_CALLS;

	if (!collect(j, views, memories, n))
		return;
	look(j);
	if (j->evidence.nranks > TAIL_RANKS)
		newest = TAIL_SHORT;
	for (int i = 0; i < j->evidence.nranks; i++) {
		const struct evidence_rank *rank = &j->evidence.ranks[i];
		size_t bytes = saved_bytes(rank, newest);
		void *image = rank->present ? saved_alloc(bytes) : NULL;

		if (!image)
			continue;
		saved_pack(rank, i, newest, image);
		pen->write(pen->to, i, WORD_TAIL, image, bytes);
		free(image);
	}
}

static struct heard *heard_of(struct judge *j, int rank)
{
	struct heard *more;

	if (rank < 0 || rank >= HEARD_MAX)
		return NULL;
	if (rank < j->nheard)
		return &j->heard[rank];
	more = realloc(j->heard, ((size_t)rank + 1) * sizeof(*more));
	if (!more)
		return NULL;
	memset(&more[j->nheard], 0, (size_t)(rank + 1 - j->nheard) * sizeof(*more));
	j->heard = more;
	j->nheard = rank + 1;
	return &j->heard[rank];
}

static void judge_hear(void *ctx, int32_t rank, enum monitor_word word, const void *data,
		       size_t bytes)
{
	struct heard *heard = heard_of(ctx, rank);
	char *copy;

	if (word != WORD_TAIL && bytes > TEXT_MAX)
		bytes = TEXT_MAX;
	copy = heard ? malloc(bytes + 1) : NULL;
	if (!copy)
		return;
	memcpy(copy, data, bytes);
	copy[bytes] = '\0';
	free(heard->words[word].data);
	heard->words[word].data = copy;
	heard->words[word].bytes = bytes;
}

static void judge_sharpen(void *ctx, const struct rank_view *views,
			  const struct record_memory *const *memories, size_t n,
			  struct verdict *verdict)
{
	struct judge *j = ctx;
	struct diagnosis *d = &j->diagnosis;
	bool ended = verdict->outcome == OUTCOME_OK || verdict->outcome == OUTCOME_WRONG_DATA;

	if (!collect(j, views, memories, n))
		return;
	if (!ended) /* else there are no processes to look at */
		look(j);
	name_time(&j->evidence);
	diagnose(&j->evidence, d);
	if (ended && strcmp(d->class, outcome_name(verdict->outcome)) == 0)
		return; /* the calls say no more than the ranks did */
	if (verdict->outcome == OUTCOME_OK)
		verdict->outcome = d->outcome;
	/* a process without a rank is not in the evidence */
	if (d->outcome != OUTCOME_OK && strcmp(d->class, VERDICT_UNEXPLAINED) != 0) {
		verdict->class = d->class;
		snprintf(verdict->ranks, sizeof(verdict->ranks), "%s", d->ranks);
		verdict->confidence = d->confidence;
	}
	if (d->seq_low >= 0) {
		verdict->comm = d->comm;
		verdict->seq = d->seq_low;
	}
}

static void judge_place(void *ctx, struct verdict *verdict)
{
	struct judge *j = ctx;

	j->evidence.detect_ms = verdict->detect_ms;
	if (folder_make(j->folder, sizeof(j->folder), j->program))
		snprintf(verdict->evidence, sizeof(verdict->evidence), "%s", j->folder);
}

/* Stacks and NCCL's own word of this host's ranks, which still are as they were; and what the host
 * has counted. */
static void run_probe(struct judge *j, const char *guilty)
{
	bool *local = calloc((size_t)j->evidence.nranks + 1, sizeof(*local));

	if (!local)
		return;
	for (int i = 0; i < j->evidence.nranks; i++)
		local[i] = j->evidence.ranks[i].present && !j->evidence.ranks[i].remote;
	probe_ranks(&j->evidence, local, guilty, j->counters.arg ? &j->counters : NULL);
	free(local);
}

static void judge_keep(void *ctx, const struct rank_view *views,
		       const struct record_memory *const *memories, size_t n, const char *folder,
		       const struct monitor_pen *pen)
{
	struct judge *j = ctx;
	struct error err = { .rank = -1 };
	bool kept;

	if (!j->evidence.ranks && !collect(j, views, memories, n))
		return;
	kept = folder_take(j->folder, sizeof(j->folder), folder, j->program) &&
	       evidence_save(&j->evidence, j->folder, &err) == 0;
	run_probe(j, "-");
	for (int i = 0; i < j->evidence.nranks; i++) {
		const char *stack = j->evidence.ranks[i].stack;
		char *counters = counter_delta_text(&j->evidence.ranks[i]);

		if (stack)
			pen->write(pen->to, i, WORD_STACK, stack, strnlen(stack, TEXT_MAX));
		if (counters)
			pen->write(pen->to, i, WORD_COUNTERS, counters, strlen(counters));
		free(counters);
	}
	if (kept)
		evidence_save_texts(&j->evidence, j->folder, &err);
	if (err.code)
		error_print(&err, j->program->name);
}

/* Stacks of ranks on other hosts, and those hosts' counters, which came after the verdict. */
static void take_texts(struct judge *j)
{
	for (int i = 0; i < j->evidence.nranks && i < j->nheard; i++) {
		struct evidence_rank *rank = &j->evidence.ranks[i];
		struct heard *heard = &j->heard[i];
		const char *counters = heard->words[WORD_COUNTERS].data;

		if (rank->remote && counters && !counter_delta_take_text(rank, counters))
			evidence_remark(&j->evidence, "Counters sent with rank %d are unsound.", i);
		if (!rank->remote || !heard->words[WORD_STACK].data)
			continue;
		free(rank->stack);
		rank->stack = heard->words[WORD_STACK].data;
		heard->words[WORD_STACK].data = NULL;
	}
}

/* After the verdict line: nobody waits for it. What is there already is kept first: this process
 * may be ended at any time. */
static void judge_slow(void *ctx)
{
	struct judge *j = ctx;
	struct error err = { .rank = -1 };

	j->diagnosis.said_ns = clock_ns(); /* the line has just been printed */
	for (size_t i = 0; i < j->diagnosis.nlines; i++)
		printf("# %s\n", j->diagnosis.lines[i]);
	fflush(stdout);
	if (!j->evidence.ranks)
		return;
	if (j->folder[0]) {
		save_command(j);
		if (evidence_save(&j->evidence, j->folder, &err) < 0) {
			j->folder[0] = '\0';
			error_print(&err, j->program->name);
		}
	}
	run_probe(j, j->diagnosis.ranks);
}

/* Which lines of code ranks are stuck on, and what else the probe found. */
static void note_probe(struct judge *j)
{
	struct diagnosis *d = &j->diagnosis;
	size_t before = d->nlines;
	int more;

	probe_note(&j->evidence, d);
	more = report_stuck(stdout, "# ", &j->evidence, d->ranks, LINES_SHOWN);
	if (more > 0)
		printf("# and %d more rank%s%s\n", more, more == 1 ? "" : "s",
		       j->folder[0] ? ": report.txt" : "");
	for (size_t i = before; i < d->nlines; i++)
		printf("# %s\n", d->lines[i]);
	fflush(stdout);
}

/* What the probe found, here and on other hosts. */
static void judge_save(void *ctx)
{
	struct judge *j = ctx;
	struct diagnosis *d = &j->diagnosis;
	struct error err = { .rank = -1 };
	int drawable;

	if (!j->evidence.ranks)
		return;
	take_texts(j);
	note_probe(j);
	if (!j->folder[0])
		return;
	if (evidence_save_texts(&j->evidence, j->folder, &err) < 0 ||
	    (drawable = diagnosis_save(d, &j->evidence, j->folder, &err)) < 0) {
		error_print(&err, j->program->name);
		return;
	}
	printf("# look further: hang_diagnose %s%s%s\n", j->folder, drawable ? "; plots/plot " : "",
	       drawable ? j->folder : "");
	fflush(stdout);
}

void judge_start(struct judge *j)
{
	j->gpus = strcmp(j->program->options->backend, "mpi") != 0;
	j->counters = counter_delta_task(&j->gpus);
	task_begin(&j->counters); /* without it there is one reading only */
}

void judge_release(struct judge *j)
{
	task_end(&j->counters);
	free(j->counters.text);
	evidence_release(&j->evidence);
	evidence_probe_release(&j->probe);
	for (int i = 0; i < j->nheard; i++)
		for (int word = 0; word < MONITOR_WORDS; word++)
			free(j->heard[i].words[word].data);
	free(j->heard);
	j->heard = NULL;
	j->nheard = 0;
}

struct monitor_judge judge_hooks(struct judge *judge)
{
	return (struct monitor_judge){ .ctx = judge,
				       .begin = judge_begin,
				       .testify = judge_testify,
				       .hear = judge_hear,
				       .sharpen = judge_sharpen,
				       .place = judge_place,
				       .keep = judge_keep,
				       .slow = judge_slow,
				       .save = judge_save };
}
