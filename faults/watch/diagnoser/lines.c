/* lines.c: while a job runs: ranks whose calls meet and come from other lines of code, or differ and are over. */
#include "diagnoser/diagnoser.h"

#define TELLING 16 /* calls that bear it out, before it is printed */

/* The ranks of this host, as their memories are now. */
static void take_ranks(struct evidence *e, const struct rank_view *views,
		       const struct record_memory *const *memories, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (memories[i] && views[i].rank >= e->nranks && views[i].rank < 1 << 16)
			e->nranks = views[i].rank + 1;
	e->ranks = evidence_ranks_alloc(e->nranks);
	for (size_t i = 0; i < n; i++) {
		struct evidence_rank *r = views[i].rank >= 0 && views[i].rank < e->nranks
						  ? &e->ranks[views[i].rank]
						  : NULL;

		if (!r || !memories[i])
			continue;
		r->present = true;
		r->view = views[i];
		evidence_take_calls(r, memories[i]);
	}
	evidence_number_comms(e);
}

/* Returns true if the job's ranks are all here: else most of them may be elsewhere. */
static bool is_whole(const struct evidence *e)
{
	for (int i = 0; i < e->nranks; i++)
		if (!e->ranks[i].present || e->ranks[i].recorder->nranks != e->nranks)
			return false;
	return e->nranks > 1;
}

/* Returns true if all ranks are past the call in which few differ: nothing came of it yet. */
static bool is_over(const struct evidence *e, const struct answer *d)
{
	for (int i = 0; i < e->nranks; i++) {
		const struct evidence_rank *r = &e->ranks[i];
		bool over = false;

		for (size_t k = 0; k < r->ncalls; k++)
			over |= r->calls[k].comm == d->comm &&
				(int64_t)r->calls[k].seq == d->seq_low &&
				record_done(&r->calls[k], r->view.completed);
		if (!over)
			return false;
	}
	return d->class == CLASS_MISMATCH && d->confidence >= CONFIDENCE_MAJORITY &&
	       strcmp(d->ranks, "-") != 0;
}

static void print_differed(const struct answer *d)
{
	printf("# rank%s %s made call %ld of comm %ld as %s%s%s, the others as %s\n"
	       "# the call is over all the same, and the job goes on\n",
	       strchr(d->ranks, ',') ? "s" : "", d->ranks, d->seq_low, d->comm, d->theirs,
	       d->lines_there[0][0] ? " at " : "", d->lines_there[0], d->majority);
	fflush(stdout);
}

static void print(const struct answer *d)
{
	const char *rank = strchr(d->ranks, ',') ? "ranks" : "rank";
	char line[1024];

	if (d->class == CLASS_SKIPPED)
		snprintf(line, sizeof(line), "%s %s left out call %ld of comm %ld: %s", rank,
			 d->ranks, d->seq_high, d->comm, d->majority);
	else if (d->class == CLASS_EXTRA)
		snprintf(line, sizeof(line),
			 "%s %s made call %ld of comm %ld, the others did not: %s", rank, d->ranks,
			 d->seq_high, d->comm, d->theirs);
	else /* a sentence */
		snprintf(line, sizeof(line), "%.*s", (int)strlen(d->notes[0]) - 1, d->notes[0]);
	printf("# lines: %s\n# since then calls meet that come from other lines; the job goes on\n",
	       line);
	fflush(stdout);
}

void lines_compare(struct diagnoser *self, const struct rank_view *views,
		   const struct record_memory *const *memories, size_t n)
{
	struct answer *d = must(malloc(sizeof(*d)));
	struct evidence e = { .nranks = 0 };

	self->site.describe(self->site.arg, &e);
	take_ranks(&e, views, memories, n);
	if (is_whole(&e) && find_lines(&e, d) && d->comm >= 0 && d->seq_low == d->seq_high &&
	    !record_set_has(&self->compared, (uint32_t)d->comm)) {
		bool over = is_over(&e, d);

		if (over || d->agreed >= TELLING)
			record_set_add(&self->compared, (uint32_t)d->comm);
		if (over && !self->differed.class) {
			self->differed = *d;
			self->differed.hang_seq = -1;
		}
		if (over)
			print_differed(d);
		else if (d->agreed >= TELLING)
			print(d);
	}
	evidence_release(&e);
	free(d);
}
