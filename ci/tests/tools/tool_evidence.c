/* tool_evidence.c: what the scoring of verdicts needs of saved evidence: when ranks entered their
 * last call, and the same evidence with other rank numbers. */

#include "base/error.h"
#include "evidence/evidence.h"
#include "record/record.h"

static const char usage[] =
	"usage: tool_evidence entered DIR      per rank with records: \"RANK NANOSECONDS\", the "
	"entry\n"
	"                                      into its last call, CLOCK_MONOTONIC\n"
	"       tool_evidence permute DIR OUT  the evidence with rank N as rank (nranks - 1 - N), "
	"to\n"
	"                                      the folder OUT, which is made\n"
	"Exit 0; 1 when the evidence cannot be read or written; 2 usage.\n";

static int print_entered(const struct evidence *e)
{
	for (int i = 0; i < e->nranks; i++) {
		const struct evidence_rank *r = &e->ranks[i];

		if (r->ncalls > 0)
			printf("%d %lu\n", i, r->calls[r->ncalls - 1].enqueued_ns);
	}
	return 0;
}

static void swap_ranks(struct evidence *e)
{
	for (int i = 0; i < e->nranks / 2; i++) {
		struct evidence_rank kept = e->ranks[i];

		e->ranks[i] = e->ranks[e->nranks - 1 - i];
		e->ranks[e->nranks - 1 - i] = kept;
	}
}

static void reverse(uint32_t *amounts, uint32_t n)
{
	for (uint32_t i = 0; i < n / 2; i++) {
		uint32_t kept = amounts[i];

		amounts[i] = amounts[n - 1 - i];
		amounts[n - 1 - i] = kept;
	}
}

/* Ranks in what is noted beside the calls: amounts by rank, whose data are wrong. */
static void rename_notes(struct record_header *recorder, int nranks)
{
	for (int i = 0; i < RECORD_COUNTS; i++)
		if (recorder->counts[i].n <= RECORD_PEERS) {
			reverse(recorder->counts[i].send, recorder->counts[i].n);
			reverse(recorder->counts[i].recv, recorder->counts[i].n);
		}
	for (int i = 0; i < RECORD_WRONGS; i++) {
		struct record_wrong *wrong = &recorder->wrong[i];

		wrong->from = wrong->from < 0 ? wrong->from : nranks - 1 - wrong->from;
		wrong->culprit = wrong->culprit < 0 ? wrong->culprit : nranks - 1 - wrong->culprit;
	}
}

/* The rank's own number, and roots and peers, which are rank numbers as well. */
static void rename_rank(struct evidence_rank *rank, int number, int nranks)
{
	rank->view.rank = number;
	if (rank->recorder) {
		rank->recorder->rank = number;
		rename_notes(rank->recorder, nranks);
	}
	for (size_t i = 0; i < rank->ncalls; i++)
		if (rank->calls[i].peer >= 0 && rank->calls[i].peer < nranks)
			rank->calls[i].peer = nranks - 1 - rank->calls[i].peer;
}

static int permute(struct evidence *e, const char *out, struct error *err)
{
	swap_ranks(e);
	for (int i = 0; i < e->nranks; i++)
		rename_rank(&e->ranks[i], i, e->nranks);
	if (mkdir(out, 0777) < 0)
		return error_set(err, OUTCOME_INTERNAL, -errno, "%s: %s", out, strerror(errno));
	return evidence_save(e, out, err);
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
	rc = evidence_load_all(&evidence, (const char *const *)&argv[2], 1, &err);
	if (rc == 0) {
		rc = argc == 3 ? print_entered(&evidence) : permute(&evidence, argv[3], &err);
		evidence_release(&evidence);
	}
	if (err.code)
		error_print(&err, "tool_evidence");
	return rc < 0;
}
