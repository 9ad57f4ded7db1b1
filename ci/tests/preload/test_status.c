/* test_status.c: how a run is, in words: who has come to which call, who waits for which. */
#include "base/call_value.h"
#include "base/dtype.h"
#include "preload/run_ranks.h"
#include "preload/status.h"
#include "rig/unit.h"

#define RANKS 4

static struct rank_view views[RANKS];
static struct status_counts counts[RANKS];
static struct status_rank ranks[RANKS];
static struct record_memory memory;
static double still;

/* Rank i has made `made` calls; the device tells of the one behind `done` by call `told`; done == made: none open. */
static void set_rank(int i, uint64_t made, uint64_t done, uint64_t told)
{
	struct rank_view *v = &views[i];

	*v = (struct rank_view){
		.rank = i, .pid = 100 + i, .waited = 2.5, .seen_ns = 9000000000ull
	};
	snprintf(v->host, sizeof(v->host), "node1");
	v->comms[1] = (struct view_comm){ .id = 77,
					  .seq = made,
					  .calls = made,
					  .done = done,
					  .rank = i,
					  .nranks = RANKS,
					  .state = RECORD_COMM_READY };
	v->last = (struct record){ .ticket = made,
				   .seq = made,
				   .count = 8,
				   .comm = 1,
				   .kind = CALL_BROADCAST,
				   .dtype = DT_FLOAT,
				   .enqueued_ns = 8000000000ull,
				   .returned_ns = 8000000000ull };
	if (done < made) {
		v->oldest = v->last;
		v->oldest.kind = CALL_ALL_REDUCE;
		v->oldest.ticket = v->oldest.seq = done + 1;
		v->open_seq = told;
	}
	counts[i] = (struct status_counts){ .done = { 0, 40 }, .bytes = { 0, 3e9 } };
	ranks[RANKS - 1 - i] =
		(struct status_rank){ v, &counts[i], i == 2 ? "step (train.py:9)" : "" };
}

/* Lines that go on are joined; none is too long. */
static void unfold(char *text)
{
	char *to = text;

	for (const char *line = text; *line; line += strcspn(line, "\n") + 1)
		CU_ASSERT_TRUE(strcspn(line, "\n") <= STATUS_WIDTH);
	for (const char *from = text; *from; from++)
		if (strncmp(from, "\n#   ", 5) == 0) {
			*to++ = ' ';
			from += 4;
		} else {
			*to++ = *from;
		}
	*to = '\0';
}

/* Returns true if this is a line of what is printed. */
static bool says(const char *line)
{
	char *text = UNIT_PRINTED(out, still = status_print(out, ranks, RANKS, 2)), wanted[300];
	bool found;

	unfold(text);

	snprintf(wanted, sizeof(wanted), "# %s\n", line);
	found = strstr(text, wanted);
	if (!found)
		printf("  not '%s' in:\n%s", line, text);
	free(text);
	return found;
}

UNIT_TEST(test_missing, "a rank that has not come")
{
	struct progress all = progress_of(views, sizeof(*views), RANKS);

	for (int i = 0; i < RANKS; i++)
		set_rank(i, i == 2 ? 52 : 54 + (uint64_t)i, i == 2 ? 52 : 50, 53);
	status_count(counts, &all, 0.5);
	free(all.ranks);
	UNIT_ALL(says("communicator 0 of ranks 0-3: all completed call 50 at least, came to call "
		      "53: ranks 0,1,3, not yet: rank 2; 6 calls/s, 1.5 GB/s"),
		 says("rank 2 (node1 pid 102): in no call; made its last, Broadcast count 8 float "
		      "sum, 1.0 s ago; waited for others 0 % of the time, others for it 25 %; in "
		      "step (train.py:9)"),
		 says("ranks 0,1,3 (node1): each 2.5 s on its GPU behind AllReduce count 8 float "
		      "sum, call 51 to 53 of communicator 0, for rank 2; waited for others 25 % of "
		      "the time, others for it 0 %"),
		 still == 0);
}

/* Ranks that wait alike have one line with the ranges of their figures; where calls stand still no rate is said. */
UNIT_TEST(test_still, "calls that stand still")
{
	for (int i = 0; i < RANKS; i++)
		set_rank(i, i == 2 ? 52 : 54, i == 2 ? 52 : 50, 53);
	views[0].waited = 7.25;
	views[1].waited = views[3].waited = 8;
	counts[3].waited = 2;
	strcpy(views[1].host, "node2");
	UNIT_ALL(says("communicator 0 of ranks 0-3: all completed call 50 at least, came to call "
		      "53: ranks 0,1,3, not yet: rank 2; no call over for 7.2 s"),
		 says("ranks 0,1,3 (several hosts): each 7.2 to 8.0 s on its GPU behind AllReduce "
		      "count 8 float sum, call 51 to 53 of communicator 0, for rank 2; waited for "
		      "others 0 to 100 % of the time, others for it 0 %"),
		 fabs(still - 7.25) < 0.01);
	views[1].waited = 1; /* a call that has just begun */
	CU_ASSERT_TRUE(says("communicator 0 of ranks 0-3: all completed call 50 at least, came to "
			    "call 53: ranks 0,1,3, not yet: rank 2; 6 calls/s, 1.5 GB/s"));
	CU_ASSERT_TRUE(still == 0);
}

UNIT_TEST(test_json, "the same as JSON")
{
	struct progress all = progress_of(views, sizeof(*views), RANKS);
	json_t *status, *comm, *rank;
	char *text;

	for (int i = 0; i < RANKS; i++)
		set_rank(i, i == 2 ? 52 : 54 + (uint64_t)i, i == 2 ? 52 : 50, 53);
	status_count(counts, &all, 0.5);
	free(all.ranks);
	status = status_json("train.py", ranks, RANKS, 2);
	CU_ASSERT_PTR_NOT_NULL_FATAL(status);
	comm = json_array_get(json_object_get(status, "communicators"), 0);
	text = json_dumps(comm, JSON_COMPACT);
	CU_ASSERT_STRING_EQUAL(text, "{\"comm\":0,\"ranks\":[0,1,2,3],\"completed\":50,\"seq\":53,"
				     "\"came\":[0,1,3],\"missing\":[2]}");
	free(text);
	rank = json_array_get(json_object_get(status, "ranks"), 3);
	UNIT_ALL(json_integer_value(json_object_get(rank, "seq")) == 51,
		 json_integer_value(json_object_get(rank, "comm")) == 0,
		 json_integer_value(json_array_get(json_object_get(rank, "waits_for"), 0)) == 2,
		 json_real_value(json_object_get(rank, "waited_percent")) == 25);
	rank = json_array_get(json_object_get(status, "ranks"), 2);
	UNIT_ALL(json_is_null(json_object_get(rank, "call")),
		 !strcmp(json_string_value(json_object_get(rank, "doing")), "step (train.py:9)"));
	json_decref(status);
}

UNIT_TEST(test_states, "states")
{
	for (int i = 0; i < RANKS; i++)
		set_rank(i, 54, 54, 0);
	views[0].process = PROCESS_STOPPED;
	views[1].waiting = 1;
	strcpy(views[1].what, "communicator init");
	views[1].comms[2] = (struct view_comm){ .id = 78, .nranks = 2, .state = RECORD_COMM_INIT };
	counts[3].bytes[1] = 1e6;
	ranks[0].counts = NULL; /* rank 3's host tells nothing of this */
	UNIT_ALL(says("communicator 0 of ranks 0-3: all completed call 54 at least; 7 calls/s, 1.5 "
		      "GB/s"),
		 says("communicator 1 of rank 1: all completed call 0 at least; 0 calls/s, 0 MB/s"),
		 says("rank 0 (node1 pid 100): stopped; waited for others 0 % of the time, others "
		      "for it 0 %"),
		 says("rank 1 (node1 pid 101): 2.5 s in communicator init; waited for others 0 % "
		      "of the time, others for it 0 %"),
		 says("rank 3 (node1 pid 103): in no call; made its last, Broadcast count 8 float "
		      "sum, 1.0 s ago"));
}

/* Waits: a call that all have come to keeps no rank, nor one where sends are counted among them; of a send the
 * partner does, unless it is in a call itself. */
UNIT_TEST(test_waits, "who waits for which")
{
	struct progress p = progress_of(views, sizeof(*views), RANKS);

	for (int i = 0; i < RANKS; i++)
		set_rank(i, 54, 50, 54);
	CU_ASSERT_EQUAL(progress_waits_for(&p, 0, 1), PROGRESS_NO);
	views[1].comms[1].seq = views[1].comms[1].calls = 53;
	CU_ASSERT_EQUAL(progress_waits_for(&p, 0, 1), PROGRESS_YES);
	CU_ASSERT_EQUAL(progress_waits_for(&p, 1, 0), PROGRESS_NO);
	views[1].comms[1].calls = 40;
	CU_ASSERT_EQUAL(progress_waits_for(&p, 0, 1), PROGRESS_UNKNOWN);
	views[0].oldest.kind = CALL_SEND;
	views[0].oldest.peer = 1;
	CU_ASSERT_EQUAL(progress_waits_for(&p, 0, 1), PROGRESS_NO);
	views[1].oldest.ticket = 0;
	CU_ASSERT_EQUAL(progress_waits_for(&p, 0, 1), PROGRESS_YES);
	CU_ASSERT_EQUAL(progress_waits_for(&p, 0, 2), PROGRESS_NO);
	views[0].oldest.comm = VIEW_COMMS;
	CU_ASSERT_EQUAL(progress_waits_for(&p, 0, 1), PROGRESS_UNKNOWN);
	free(p.ranks);
}

UNIT_TEST(test_bytes, "bytes")
{
	memory.totals[1][CALL_ALL_GATHER].bytes = 4 * 3200;
	memory.totals[1][CALL_SEND].bytes = 1;
	CU_ASSERT_EQUAL(status_bytes(&memory, 1), 4 * 3200.0 + 1);
	CU_ASSERT_EQUAL(status_bytes(&memory, 2), 0);
}

/* Where the leaders of several hosts meet, by what launchers say to their processes. */
UNIT_TEST(test_places, "where hosts meet")
{
	static const struct {
		const char *variables, *given;
		int rank, nodes, node; /* nodes 0: one host, or nothing says where */
		const char *host, *port;
	} rows[] = {
		{ "WORLD_SIZE=4 LOCAL_WORLD_SIZE=2 GROUP_RANK=1 GROUP_WORLD_SIZE=2 MASTER_ADDR=a "
		  "MASTER_PORT=29500",
		  NULL, 2, 2, 1, "a", "29501" },
		{ "WORLD_SIZE=4 LOCAL_WORLD_SIZE=4 MASTER_ADDR=a MASTER_PORT=29500", NULL, 2, 0, 0,
		  "", "" },
		{ "OMPI_COMM_WORLD_SIZE=5 OMPI_COMM_WORLD_LOCAL_SIZE=2", "::1:77", 4, 3, 2, "::1",
		  "77" },
		{ "OMPI_COMM_WORLD_SIZE=5 OMPI_COMM_WORLD_LOCAL_SIZE=2", NULL, 4, 0, 0, "", "" },
		/* mpirun's daemon on the second of four nodes, in a step of its own */
		{ "OMPI_COMM_WORLD_SIZE=8 OMPI_COMM_WORLD_LOCAL_SIZE=2 SLURM_STEP_ID=1 "
		  "SLURM_NNODES=3 SLURM_NODEID=0 MASTER_ADDR=n1 MASTER_PORT=1",
		  NULL, 2, 4, 1, "n1", "2" },
		{ "SLURM_STEP_ID=0 SLURM_NTASKS=8 SLURM_NNODES=2 SLURM_NODEID=1 MASTER_ADDR=n1 "
		  "MASTER_PORT=1",
		  "n2:5", 7, 2, 1, "n2", "5" },
		/* a batch script of two nodes runs on the first */
		{ "SLURM_NTASKS=8 SLURM_NNODES=2 SLURM_NODEID=0 MASTER_ADDR=n1 MASTER_PORT=1", NULL,
		  0, 0, 0, "", "" },
		{ "MASTER_ADDR=a MASTER_PORT=29500", "b:1", 0, 0, 0, "", "" },
	};
	struct run_place p;

	UNIT_ROWS(row, rows) {
		char text[256], *variables[8] = { strtok(strcpy(text, row->variables), " ") };
		bool found;

		for (int k = 0; variables[k]; k++)
			variables[k + 1] = strtok(NULL, " ");
		found = run_place(&p, variables, row->rank, row->given);
		CU_ASSERT_EQUAL(found, row->nodes > 0);
		if (found)
			UNIT_ALL(p.nodes == row->nodes, p.node == row->node,
				 !strcmp(p.host, row->host), !strcmp(p.port, row->port));
	}
}
