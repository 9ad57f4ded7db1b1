/* test_diagnose_large.c: what comparing the calls of many ranks costs. */
/* alone: it is measured */
#include <sys/resource.h>

#include "calls_played.h"

static double cpu_seconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
	return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

enum { CALLS_LARGE = 1024, SETS = 64 };

/* A call of the plan: on `comms` communicators in turn; with `pairs` every other one is a send or receive. */
static struct record plan_call(uint64_t ticket, int rank, int nranks, int comms, bool pairs)
{
	struct record r = make_call(ticket, odd_count(ticket));

	r.comm = (uint16_t)((ticket - 1) % (uint64_t)comms);
	r.seq = (ticket - 1) / (uint64_t)comms + 1;
	if (pairs && ticket % 2 == 0) {
		r.kind = ticket % 4 ? CALL_SEND : CALL_RECV;
		r.count = 1;
		r.peer = (rank + (ticket % 4 ? 1 : nranks - 1)) % nranks;
	}
	return r;
}

/* Processor time of a diagnosis. Ranks share 64 sets of 1,024 calls, 4 MiB: what is timed is the comparison, not the
 * reading of a gigabyte; with pairs each has its own. Rank 5 leaves out call 512. */
static double time_large(int nranks, int comms, bool pairs)
{
	int sets = pairs ? nranks : SETS;
	struct record *calls = calloc((size_t)CALLS_LARGE * ((size_t)sets + 1), sizeof(*calls));
	double seconds;

	memset(&evidence, 0, sizeof(evidence));
	evidence.nranks = nranks;
	evidence.ranks = calloc((size_t)nranks, sizeof(*evidence.ranks));
	for (int k = 0; k < CALLS_LARGE * (sets + 1); k++)
		calls[k] = plan_call((uint64_t)(k % CALLS_LARGE) + 1, k / CALLS_LARGE, nranks,
				     comms, pairs);
	for (int i = 0; i < nranks; i++) {
		struct evidence_rank *r = &evidence.ranks[i];

		r->present = true;
		r->view = (struct rank_view){
			.rank = i, .outcome = -1, .overdue = 1, .issued = CALLS_LARGE
		};
		r->calls = calls + (i % sets) * CALLS_LARGE;
		r->ncalls = CALLS_LARGE;
	}
	for (uint64_t k = 511; k < CALLS_LARGE - 1; k++)
		calls[sets * CALLS_LARGE + (int)k].count = odd_count(k + 2);
	if (comms == 1 && !pairs) {
		evidence.ranks[5].calls = calls + sets * CALLS_LARGE;
		evidence.ranks[5].ncalls = evidence.ranks[5].view.issued = CALLS_LARGE - 1;
	}
	calls_index();
	seconds = cpu_seconds();
	find_answer(&evidence, NULL, &found);
	seconds = cpu_seconds() - seconds;
	if (comms == 1 && !pairs)
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
	double small = time_large(1024, 1, false), large = time_large(unit_times(16384), 1, false);
	struct rusage usage;

	getrusage(RUSAGE_SELF, &usage);
	printf(" 1,024 ranks %.3f s, 16,384 ranks %.3f s, %ld MiB ", small, large,
	       usage.ru_maxrss / 1024);
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
	UNIT_ALL(large < 1, usage.ru_maxrss < 150 * 1024);
#endif
}

/* These cost more, and are printed. */
UNIT_TEST(test_mixed, "1,024 ranks x 1,024 calls of 64 communicators, and with pairs")
{
	int n = unit_times(1024);
	double comms = time_large(n, 64, false), pairs = time_large(n, 1, true);

	printf(" 64 communicators %.3f s, pairs %.3f s ", comms, pairs);
	CU_ASSERT(comms < 20 && pairs < 20);
}
