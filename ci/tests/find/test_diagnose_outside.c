/* test_diagnose_outside.c: all calls have ended, and ranks wait for one that does not come. */
#include "calls_played.h"

static void is_in(int rank, const char *what, double waited, uint32_t phase)
{
	struct rank_view *v = &evidence.ranks[rank].view;

	snprintf(v->what, sizeof(v->what), "%s", what);
	v->waiting = what[0] != '\0';
	v->waited = waited;
	v->phase = phase;
}

/* All have made ten calls, and are at a barrier since 0.6 to 0.9 s. */
static void at_barrier(int nranks)
{
	calls_set_up(nranks);
	strcpy(evidence.backend, "mpi");
	for (int i = 0; i < nranks; i++) {
		play(i, 10, step_count, false);
		is_in(i, "the end", 0.9 - 0.3 * i / nranks, PHASE_TIMED);
	}
}

static void does(int rank, char state, const char *syscall, double share)
{
	struct evidence_rank *r = &evidence.ranks[rank];

	r->state = state;
	strcpy(r->syscall, syscall);
	r->cpu_share = share;
}

UNIT_TEST(test_named, "each way, each rank")
{
	static const struct {
		char state;
		const char *syscall;
		double share;
		const char *class;
	} ways[] = { { 'S', "futex", 0, "host-blocked" },
		     { 'S', "read", 0, "host-blocked" },
		     { 'R', "", 0.98, "host-busy" },
		     { 'S', "clock_nanosleep", 0, "missing-call" } };

	UNIT_ROWS(row, ways)
		for (size_t s = 0; s < LENGTH(job_sizes); s++)
			for (int culprit = 0; culprit < job_sizes[s]; culprit++) {
				char name[16];

				if (job_sizes[s] == 2 && row->state == 'R')
					continue; /* the other one may be */
				at_barrier(job_sizes[s]);
				is_in(culprit, "a scheduled call", 1, PHASE_TIMED);
				does(culprit, row->state, row->syscall, row->share);
				snprintf(name, sizeof(name), "%d", culprit);
				expect(OUTCOME_HANG, row->class, name, 10, 10, -1);
				UNIT_ALL(!strcmp(confidence_name(found.confidence),
						 job_sizes[s] > 2 ? "majority" : "inconclusive"),
					 !strcmp(found.theirs, "a scheduled call"),
					 !strcmp(found.majority, "the end"),
					 said("Nobody waits for a call: those up to 10 of "
					      "communicator 0 "));
			}
}

/* Its last call has returned, which is all that is noted: calls block, or it does not wait for its GPU. */
UNIT_TEST(test_returned, "the last call has returned")
{
	for (int gpu = 0; gpu < 2; gpu++) {
		at_barrier(4);
		is_in(2, "warm-up calls", 1, PHASE_WARMUP);
		evidence.ranks[2].view.completed = 9;
		if (gpu)
			strcpy(evidence.backend, "nccl");
		evidence.ranks[2].view.device_wait =
			gpu ? RECORD_DEVICE_LEFT : RECORD_DEVICE_UNKNOWN;
		expect(OUTCOME_HANG, "missing-call", "2", 10, 10, -1);
	}
}

UNIT_TEST(test_two, "two of five")
{
	at_barrier(5);
	is_in(1, "a scheduled call", 1, PHASE_TIMED);
	is_in(4, "a scheduled call", 1.1, PHASE_TIMED);
	expect(OUTCOME_HANG, "missing-call majority", "1,4", 10, 10, -1);
}

/* On a GPU: its last call may still run. */
static void may_run(int rank)
{
	strcpy(evidence.backend, "nccl");
	evidence.ranks[rank].view.completed = 9;
}

/* Evidence that allows no conclusion: no rank is named. */
UNIT_TEST(test_none, "no rank")
{
	for (int i = 0; i <= 13; i++) {
		at_barrier(i == 9 ? 2 : 4);
		is_in(1, "a scheduled call", 1, PHASE_TIMED);
		switch (i) {
		case 0: /* all are at the barrier */
			is_in(1, "the end", 1, PHASE_TIMED);
			break;
		case 1: /* further on: the barrier let it go first */
			is_in(1, "what comes then", 0.2, PHASE_TIMED);
			break;
		case 2: /* came after some of the others: it may be further on */
			is_in(1, "a scheduled call", 0.85, PHASE_TIMED);
			break;
		case 3: /* compares data, which may take its time */
			is_in(1, "comparing data", 1, PHASE_CHECK);
			break;
		case 4: /* makes buffers */
			is_in(1, "preparing buffers", 1, PHASE_SETUP);
			break;
		case 5: /* another one is in a third place */
			is_in(2, "elsewhere", 0.95, PHASE_FINALISE);
			break;
		case 6:
			may_run(1);
			break;
		case 11: /* and is waited for */
			may_run(1);
			evidence.ranks[1].view.device_wait = RECORD_DEVICE_AWAITED;
			break;
		case 13: /* all is noted as over, and a graph runs it once more */
			strcpy(evidence.backend, "nccl");
			evidence.ranks[1].view.device_wait = RECORD_DEVICE_AWAITED;
			does(1, 'R', "", 0.98);
			break;
		case 12: /* all are inside the call */
			for (int r = 0; r < 4; r++) {
				may_run(r);
				evidence.ranks[r].calls[9].state = RECORD_ISSUING;
			}
			break;
		case 7: /* a group of sends waits at its end */
			for (int r = 0; r < 4; r++)
				evidence.ranks[r].calls[9].kind = CALL_SEND;
			evidence.ranks[1].view.completed = 9;
			break;
		case 10: /* on its way to somewhere */
			is_in(1, "", 0, PHASE_TIMED);
			break;
		case 9: /* of two, one spins: as one does that waits in MPI */
			does(1, 'R', "", 1);
			break;
		case 8: /* no rank has made a call */
			for (int r = 0; r < 4; r++) {
				evidence.ranks[r].ncalls = 0;
				evidence.ranks[r].view.issued = 0;
				evidence.ranks[r].view.completed = 0;
			}
			break;
		}
		finish();
		finds("* unexplained - *");
		if (strcmp(found.ranks, "-") != 0)
			printf("  case %d: %s %s\n", i, class_name(found.class, found.outcome),
			       found.ranks);
	}
}
