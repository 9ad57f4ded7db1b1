/* tool_evidence.c: what the scoring of verdicts needs of saved evidence: when ranks entered their last
 * call, and the same evidence with other rank numbers. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "error.h"
#include "evidence.h"
#include "record.h"

static const char usage[] =
	"usage: tool_evidence entered DIR      per rank with records: \"RANK NANOSECONDS\", the entry\n"
	"                                      into its last call, CLOCK_MONOTONIC\n"
	"       tool_evidence permute DIR OUT  the evidence with rank N as rank (nranks - 1 - N), to\n"
	"                                      the folder OUT, which is made\n"
	"Exit 0; 1 when the evidence cannot be read or written; 2 usage.\n";

static int print_entered(const struct evidence *e)
{
	for (int i = 0; i < e->nranks; i++) {
		const struct evidence_rank *r = &e->ranks[i];

		if (r->ncalls > 0)
			printf("%d %" PRIu64 "\n", i, r->calls[r->ncalls - 1].enqueued_ns);
	}
	return 0;
}

/* A recording that reads like the one that `from` was read from, as rank `rank`'s; NULL without memory. */
static struct record_memory *record_again(const struct evidence_rank *from, int rank, int nranks)
{
	struct record_memory *m = aligned_alloc(64, sizeof(*m));
	struct record_header *h = &m->header;

	if (!m)
		return NULL;
	memset(m, 0, sizeof(*m));
	memcpy(h->magic, RECORD_MAGIC, sizeof(h->magic));
	h->version = RECORD_VERSION;
	h->header_bytes = sizeof(*h);
	h->record_bytes = sizeof(struct record);
	h->ring_records = RECORD_RING;
	h->rank = rank;
	h->nranks = nranks;
	h->node = from->view.node;
	h->pid = from->view.pid;
	h->phase = from->view.phase;
	h->wait.sequence = from->view.waiting;
	memcpy(h->wait.what, from->view.what, sizeof(h->wait.what));
	h->heartbeat = from->view.heartbeat;
	h->issued_ticket = from->view.issued;
	h->completed_ticket = from->view.completed;
	h->outcome = from->view.outcome;
	memcpy(h->host, from->view.host, sizeof(h->host));
	memcpy(h->error, from->view.error, sizeof(h->error));
	for (size_t i = 0; i < from->ncalls; i++) {
		const struct record *r = &from->calls[i];

		memcpy(&m->ring[r->ticket & (RECORD_RING - 1)], r, sizeof(*r));
		h->comms[r->comm].seq = r->seq;
	}
	return m;
}

static void swap_ranks(struct evidence *e)
{
	for (int i = 0; i < e->nranks / 2; i++) {
		struct evidence_rank kept = e->ranks[i];

		e->ranks[i] = e->ranks[e->nranks - 1 - i];
		e->ranks[e->nranks - 1 - i] = kept;
	}
}

/* The rank's own number, and roots and peers, which are rank numbers as well. */
static void rename_rank(struct evidence_rank *rank, int number, int nranks)
{
	rank->view.rank = number;
	for (size_t i = 0; i < rank->ncalls; i++)
		if (rank->calls[i].peer >= 0 && rank->calls[i].peer < nranks)
			rank->calls[i].peer = nranks - 1 - rank->calls[i].peer;
}

static int permute(struct evidence *e, const char *out, struct error *err)
{
	const struct record_memory **memories = calloc((size_t)e->nranks, sizeof(*memories));
	int rc = 0;

	if (!memories)
		return error_set(err, OUTCOME_INTERNAL, -ENOMEM, "out of memory");
	swap_ranks(e);
	for (int i = 0; rc == 0 && i < e->nranks; i++) {
		rename_rank(&e->ranks[i], i, e->nranks);
		if (e->ranks[i].ncalls == 0 && e->ranks[i].view.issued > 0)
			continue; /* nothing is left to make a recording of */
		memories[i] = record_again(&e->ranks[i], i, e->nranks);
		if (!memories[i])
			rc = error_set(err, OUTCOME_INTERNAL, -ENOMEM, "out of memory");
	}
	if (rc == 0 && mkdir(out, 0777) < 0)
		rc = error_set(err, OUTCOME_INTERNAL, -errno, "%s: %s", out, strerror(errno));
	if (rc == 0)
		rc = evidence_save(e, memories, out, err);
	for (int i = 0; i < e->nranks; i++)
		free((void *)(uintptr_t)memories[i]);
	free(memories);
	return rc;
}

int main(int argc, char **argv)
{
	struct error err = { .rank = -1 };
	struct evidence evidence;
	int rc;

	if (!(argc == 3 && strcmp(argv[1], "entered") == 0) &&
	    !(argc == 4 && strcmp(argv[1], "permute") == 0)) {
		fputs(usage, stderr);
		return 2;
	}
	rc = evidence_load(&evidence, argv[2], &err);
	if (rc == 0) {
		rc = argc == 3 ? print_entered(&evidence) : permute(&evidence, argv[3], &err);
		evidence_release(&evidence);
	}
	if (err.code)
		error_print(&err, "tool_evidence");
	return rc < 0;
}
