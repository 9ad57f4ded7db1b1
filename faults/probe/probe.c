/* witness.c: stacks of all local ranks, NCCL RAS and counters, as errands that run side by side. */
#include "probe/probe.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "probe/task.h"
#include "record/rank_list.h"
#include "probe/ras.h"
#include "probe/stacks.h"
#include "probe/counter_delta.h"

#define PER_CPU 4 /* unwinders at once: they wait for files and for threads to stop */

struct hearing {
	struct errand *errands;
	struct stacks_order *orders; /* of errands[i] */
	int *ranks;		     /* of errands[i] */
	size_t n;
};

static void add_ranks(struct hearing *h, const struct evidence *e, const bool *local,
		      const char *guilty, bool named)
{
	for (int i = 0; i < e->nranks; i++) {
		const struct evidence_rank *rank = &e->ranks[i];

		if (!local[i] || !rank->present || rank->view.pid <= 0 ||
		    rank->view.process > PROCESS_STOPPED || rank_list_has(guilty, i) != named)
			continue;
		h->orders[h->n] = (struct stacks_order){ .pid = rank->view.pid,
							 .seconds = WITNESS_EACH * 0.7 };
		stacks_order(&h->errands[h->n], &h->orders[h->n]);
		h->ranks[h->n++] = i;
	}
}

static void run_ras(int fd, const void *arg)
{
	ras_ask(fd, arg);
}

static char *ras_result(struct errand *errand)
{
	char *text = errand->text;

	if (errand->end != ERRAND_DONE &&
	    asprintf(&text, "%s\n[cut: %zu bytes after %.1f s]\n", errand->text ? errand->text : "",
		     errand->bytes, errand->seconds) < 0)
		text = NULL;
	if (text != errand->text)
		free(errand->text);
	return text;
}

/* Of this host, with its first rank. */
static void take_counters(struct evidence *e, const bool *local, struct errand *before,
			  struct errand *after)
{
	int first = 0;

	errand_end(before);
	while (first < e->nranks && !local[first])
		first++;
	if (first < e->nranks)
		tally_take(&e->ranks[first], before->text, after->text, *(const bool *)before->arg);
	free(after->text);
}

void witness_hear(struct evidence *evidence, const bool *local, const char *guilty,
		  struct errand *before)
{
	size_t room = (size_t)evidence->nranks + 2;
	struct hearing h = { .errands = calloc(room, sizeof(*h.errands)),
			     .orders = calloc(room, sizeof(*h.orders)),
			     .ranks = calloc(room, sizeof(*h.ranks)) };
	const char *address = getenv("NCCL_RAS_ADDR");
	struct ras_order ras = { address ? address : RAS_ADDRESS, WITNESS_EACH * 0.9 };
	long cpus = sysconf(_SC_NPROCESSORS_ONLN);
	size_t nras = strcmp(evidence->backend, "nccl") == 0, nfirst = nras + (before != NULL);

	if (!h.errands || !h.orders || !h.ranks)
		goto out;
	h.errands[0] = (struct errand){ .run = run_ras, .arg = &ras, .limit = RAS_BYTES };
	if (before)
		h.errands[nras] = tally_errand(before->arg);
	h.errands += nfirst; /* RAS and counters first */
	add_ranks(&h, evidence, local, guilty, true);
	add_ranks(&h, evidence, local, guilty, false);
	h.errands -= nfirst;
	errands_run(h.errands, h.n + nfirst, (size_t)(cpus > 0 ? cpus : 1) * PER_CPU, WITNESS_EACH,
		    WITNESS_SECONDS);
	if (nras) {
		free(evidence->witness);
		evidence->witness = ras_result(&h.errands[0]);
	}
	if (before)
		take_counters(evidence, local, before, &h.errands[nras]);
	for (size_t i = 0; i < h.n; i++) {
		struct evidence_rank *rank = &evidence->ranks[h.ranks[i]];

		free(rank->stack);
		rank->stack = stacks_result(&h.errands[i + nfirst]);
		if (rank->stack)
			stacks_clean(rank->stack);
	}
	if (evidence->witness)
		stacks_clean(evidence->witness);
out:
	free(h.errands);
	free(h.orders);
	free(h.ranks);
}

/* A hang is silent where the library knows of no error; where it knows of one, of which. */
static void note_async(const struct evidence *e, struct diagnosis *d)
{
	char *line = d->lines[d->nlines];
	size_t asked = 0, room = sizeof(d->lines[0]);
	int failed = -1;

	if (d->outcome != OUTCOME_HANG || d->nlines >= DIAGNOSIS_LINES)
		return;
	for (int i = e->nranks - 1; i >= 0; i--) {
		const struct rank_view *v = &e->ranks[i].view;

		if (!e->ranks[i].present)
			continue;
		/* it asks while it waits for its device, and nowhere else */
		asked += v->asked > 0 && v->device_wait != RECORD_DEVICE_LEFT;
		failed = v->asked > 1 ? i : failed;
	}
	if (asked == 0 && failed < 0)
		return;
	if (failed >= 0)
		snprintf(line, room, "ncclCommGetAsyncError says error %d on rank %d.",
			 e->ranks[failed].view.asked - 1, failed);
	else
		snprintf(line, room,
			 "ncclCommGetAsyncError says success on the %zu of %d ranks that ask it "
			 "while they wait.",
			 asked, e->nranks);
	d->nlines++;
}

void witness_note(const struct evidence *evidence, struct diagnosis *diagnosis)
{
	size_t n;
	char line[sizeof(diagnosis->lines[0])];

	tally_note(evidence, diagnosis);
	note_async(evidence, diagnosis);
	n = diagnosis->nlines < DIAGNOSIS_LINES ? diagnosis->nlines : DIAGNOSIS_LINES - 1;
	if (ras_agrees(evidence->witness, evidence, diagnosis, line, sizeof(line)) == RAS_NOT_ASKED)
		return;
	memcpy(diagnosis->lines[n], line, sizeof(line));
	diagnosis->nlines = n + 1;
}
