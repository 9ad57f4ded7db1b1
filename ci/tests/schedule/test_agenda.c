/* test_agenda.c: the calls that all ranks plan fit together, for every scheme and collective. */
#include "rig/unit.h"

#include "bench/perf_check.h"
#include "schedule/schedule.h"

enum { RANKS_MAX = 8, COMMS = COMM_SET_MAX };

/* How often each rank of the group calls on a communicator, and sends less receives of each pair of its ranks. */
static struct {
	int calls[COMMS][RANKS_MAX], sent[COMMS][RANKS_MAX][RANKS_MAX];
} counted;

/* Counts the calls of one rank; returns 0 if its steps follow each other from 1 and each is opened once. */
static int count_calls(const struct schedule_setup *setup, int rank)
{
	struct agenda agenda;
	int step = 0, wrong = 0;

	schedule_agenda(setup, rank, &agenda);
	for (int i = 0; i < agenda.n; i++) {
		const struct planned_call *p = &agenda.calls[i];
		uint32_t comm = p->call.comm;

		wrong += p->opens ? p->step != step + 1 : p->step != step;
		wrong += comm >= COMMS || p->rank != comm_set_rank(&setup->comms, comm, rank);
		step = p->step;
		if (wrong)
			break;
		if (p->call.kind == CALL_SEND)
			counted.sent[comm][p->rank][p->call.peer]++;
		else if (p->call.kind == CALL_RECV)
			counted.sent[comm][p->call.peer][p->rank]--;
		else
			counted.calls[comm][p->rank]++;
	}
	agenda_release(&agenda);
	return wrong + (step != SCHEDULE_STEPS);
}

/* Calls that not all members of a communicator make, and sends without a receive. */
static int unmatched(void)
{
	int wrong = 0;

	for (uint32_t c = 0; c < COMMS; c++)
		for (int a = 0; a < RANKS_MAX; a++)
			for (int b = 0; b < RANKS_MAX; b++)
				wrong += counted.sent[c][a][b] != 0;
	return wrong;
}

static int uneven(const struct schedule_setup *setup, int nranks)
{
	int wrong = 0;

	for (int c = 0; c < setup->comms.n; c++)
		for (int rank = 0; rank < nranks; rank++) {
			int member = comm_set_rank(&setup->comms, (uint32_t)c, rank);

			wrong += member >= 0 && counted.calls[c][member] != counted.calls[c][0];
		}
	return wrong;
}

static void check_agendas(const struct scheme *scheme, const struct collective *own, int nranks)
{
	const struct options options = { .align = 16, .dtype_first = DT_FLOAT, .op_first = OP_SUM };
	struct traffic traffic = { .nranks = nranks };
	struct schedule_setup setup = { .options = &options,
					.collective = own,
					.collectives = collectives,
					.traffic = own->irregular ? &traffic : NULL };
	struct error err = { .rank = -1 };
	int wrong = 0;

	if (schedule_setup(&setup, scheme->name, nranks, &err) < 0 ||
	    schedule_check(&setup, &err) < 0)
		return;
	memset(&counted, 0, sizeof(counted));
	for (int rank = 0; rank < nranks; rank++)
		wrong += count_calls(&setup, rank);
	UNIT_ALL(wrong == 0, unmatched() == 0, uneven(&setup, nranks) == 0);
	if (wrong || unmatched() || uneven(&setup, nranks))
		printf(" %s, %s on %d ranks", scheme->name, own->name, nranks);
}

UNIT_TEST(test_agendas, "agendas of all ranks")
{
	for (const struct scheme *scheme = schemes; scheme->name; scheme++)
		for (int c = 0; collectives[c]; c++)
			for (int nranks = 2; nranks <= RANKS_MAX; nranks++)
				check_agendas(scheme, collectives[c], nranks);
}
