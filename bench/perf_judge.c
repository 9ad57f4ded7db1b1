/* perf_judge.c: evidence from memory and /proc to a sharper verdict and a folder to keep. */
#include "perf_judge.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "../faults/watch/verdict.h"

/* results/runs/DATE-PROGRAM-KEY below the working directory: every abnormal run keeps its own. */
static void make_folder(struct judge *j)
{
	const struct program *p = j->program;
	time_t now = time(NULL);
	char date[32];
	struct tm tm;

	localtime_r(&now, &tm);
	strftime(date, sizeof(date), "%Y%m%d-%H%M%S", &tm);
	mkdir("results", 0777);
	mkdir("results/runs", 0777);
	snprintf(j->folder, sizeof(j->folder), "results/runs/%s-%.40s-%.8s", date, p->name,
	         p->launch->key);
	if (mkdir(j->folder, 0777) < 0)
		j->folder[0] = '\0';
}

static void name_command(struct judge *j)
{
	size_t at = 0, room = sizeof(j->evidence.command);

	for (int i = 0; i < j->program->argc && at < room; i++) {
		int n = snprintf(j->evidence.command + at, room - at, "%s%s", i ? " " : "",
		                 j->program->argv[i]);

		if (n < 0)
			break;
		at += (size_t)n;
	}
}

/* Of a rank on another node its view alone came: its newest call is all that is known of its calls. */
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

/* What each rank left, by rank number. false without memory. */
static bool collect(struct judge *j, const struct rank_view *views,
                    const struct record_memory *const *memories, size_t n)
{
	struct evidence *e = &j->evidence;

	for (size_t i = 0; i < n; i++)
		if (views[i].rank >= e->nranks)
			e->nranks = views[i].rank + 1;
	e->ranks = calloc((size_t)e->nranks + 1, sizeof(*e->ranks));
	j->memories = calloc((size_t)e->nranks + 1, sizeof(*j->memories));
	if (!e->ranks || !j->memories)
		return false;
	for (size_t i = 0; i < n; i++) {
		struct evidence_rank *rank;

		if (views[i].rank < 0)
			continue;
		rank = &e->ranks[views[i].rank];
		rank->present = true;
		rank->view = views[i];
		rank->cpu_share = -1;
		j->memories[views[i].rank] = memories[i];
		if (memories[i] ? evidence_take_calls(rank, memories[i]) < 0 : !take_last(rank))
			return false;
	}
	name_command(j);
	return true;
}

static void judge_sharpen(void *ctx, const struct rank_view *views,
                          const struct record_memory *const *memories, size_t n,
                          struct verdict *verdict)
{
	struct judge *j = ctx;
	struct diagnosis *d = &j->diagnosis;

	if (!collect(j, views, memories, n))
		return;
	evidence_probe(j->evidence.ranks, (size_t)j->evidence.nranks, NULL);
	diagnose(&j->evidence, d);
	if (strcmp(d->class, "unexplained") != 0) {
		verdict->class = d->class;
		snprintf(verdict->ranks, sizeof(verdict->ranks), "%s", d->ranks);
		verdict->confidence = d->confidence;
	}
	if (d->seq_low >= 0) {
		verdict->comm = d->comm;
		verdict->seq = d->seq_low;
	}
	make_folder(j);
	if (j->folder[0])
		snprintf(verdict->evidence, sizeof(verdict->evidence), "%s", j->folder);
}

/* After the verdict line: slower, and nobody waits for it. */
static void judge_save(void *ctx)
{
	struct judge *j = ctx;
	struct error err = { .rank = -1 };

	for (size_t i = 0; i < j->diagnosis.nlines; i++)
		printf("# %s\n", j->diagnosis.lines[i]);
	fflush(stdout);
	if (j->folder[0] &&
	    (evidence_save(&j->evidence, j->folder, &err) < 0 ||
	     diagnosis_save(&j->diagnosis, &j->evidence, j->folder, &err) < 0))
		error_print(&err, j->program->name);
	evidence_release(&j->evidence);
	free(j->memories);
	j->memories = NULL;
}

struct monitor_judge judge_hooks(struct judge *judge)
{
	return (struct monitor_judge){ .ctx = judge, .sharpen = judge_sharpen, .save = judge_save };
}
