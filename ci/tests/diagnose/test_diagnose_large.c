/* test_diagnose_large.c: what comparing the calls of many ranks costs. */
/* alone: it is measured */
#include "calls_played.h"

#include "base/clock.h"

/* 16,384 ranks share 64 sets of 1,024 calls, 4 MiB: what is timed is the comparison, not the
 * reading of a gigabyte. */
static double time_large(int nranks)
{
	enum { CALLS_LARGE = 1024, SETS = 64 };
	struct record *calls = calloc(CALLS_LARGE * (SETS + 1), sizeof(*calls));
	double seconds;

	memset(&evidence, 0, sizeof(evidence));
	evidence.nranks = nranks;
	evidence.ranks = calloc((size_t)nranks, sizeof(*evidence.ranks));
	for (int k = 0; k < CALLS_LARGE * (SETS + 1); k++)
		calls[k] = make_call((uint64_t)(k % CALLS_LARGE) + 1,
				     odd_count((uint64_t)(k % CALLS_LARGE) + 1));
	for (int i = 0; i < nranks; i++) {
		struct evidence_rank *r = &evidence.ranks[i];

		r->present = true;
		r->view = (struct rank_view){
			.rank = i, .outcome = -1, .overdue = 1, .issued = CALLS_LARGE
		};
		r->calls = calls + (i % SETS) * CALLS_LARGE;
		r->ncalls = CALLS_LARGE;
	}
	for (uint64_t k = 511; k < CALLS_LARGE - 1; k++) /* rank 5 leaves out call 512 */
		calls[SETS * CALLS_LARGE + (int)k].count = odd_count(k + 2);
	evidence.ranks[5].calls = calls + SETS * CALLS_LARGE;
	evidence.ranks[5].ncalls = evidence.ranks[5].view.issued = CALLS_LARGE - 1;
	index_calls();
	seconds = clock_seconds();
	diagnose(&evidence, &found);
	seconds = clock_seconds() - seconds;
	UNIT_ALL(!strcmp(class_name(found.class, found.outcome), "skipped-call"),
		 !strcmp(found.ranks, "5"), found.seq_low == 512);
	for (int i = 0; i < nranks; i++)
		free(evidence.ranks[i].index.sig);
	free(evidence.ranks);
	free(calls);
	return seconds;
}

UNIT_TEST(test_large, "16,384 ranks x 1,024 calls")
{
	double small = time_large(1024), large = time_large(16384);

	printf(" 1,024 ranks %.3f s, 16,384 ranks %.3f s ", small, large);
	CU_ASSERT(large < 5);
}
