/* timeline_scene.c: ranks' calls on a made-up clock, and their timeline. */
#include "answer/timeline_scene.h"

struct evidence timeline_evidence;
struct answer timeline_diagnosis;
struct timeline timeline;
char timeline_dir[UNIT_TEMP];

void timeline_set_up(int nranks)
{
	memset(&timeline_evidence, 0, sizeof(timeline_evidence));
	memset(&timeline_diagnosis, 0, sizeof(timeline_diagnosis));
	CU_ASSERT_EQUAL_FATAL(unit_folder(timeline_dir), 0);
	timeline_diagnosis.outcome = OUTCOME_HANG;
	timeline_diagnosis.class = CLASS_MISSING;
	timeline_diagnosis.confidence = CONFIDENCE_PROVED;
	timeline_diagnosis.seq_low = timeline_diagnosis.seq_high = timeline_diagnosis.hang_seq = 2;
	strcpy(timeline_diagnosis.ranks, "1");
	strcpy(timeline_evidence.backend, "mpi");
	timeline_evidence.nranks = nranks;
	timeline_evidence.ranks = calloc((size_t)nranks, sizeof(*timeline_evidence.ranks));
	for (int i = 0; i < nranks; i++) {
		struct evidence_rank *r = &timeline_evidence.ranks[i];

		r->present = true;
		r->view.rank = i;
		r->view.seen_ns = START + 100 * MS;
		strcpy(r->view.host, "a");
		r->calls = calloc(200, sizeof(*r->calls));
	}
}

struct record *timeline_call(int rank, uint64_t enter, uint64_t leave)
{
	struct evidence_rank *r = &timeline_evidence.ranks[rank];
	struct record *call = &r->calls[r->ncalls++];

	*call = (struct record){ .ticket = r->ncalls,
				 .seq = r->ncalls,
				 .count = 100 + r->ncalls,
				 .enqueued_ns = START + enter * MS,
				 .returned_ns = leave ? START + leave * MS : 0,
				 .peer = -1,
				 .kind = CALL_ALL_REDUCE,
				 .dtype = DT_FLOAT,
				 .op = OP_SUM,
				 .state = leave ? RECORD_RETURNED : RECORD_ISSUING };
	r->view.issued = r->ncalls;
	r->view.completed = leave ? r->ncalls : r->ncalls - 1;
	return call;
}

const char *timeline_path(const char *name)
{
	static char path[UNIT_PATH];

	snprintf(path, sizeof(path), "%s/%s", timeline_dir, name);
	return path;
}

void timeline_build(void)
{
	timeline_init(&timeline, &timeline_diagnosis, &timeline_evidence);
}

void timeline_tear_down(void)
{
	timeline_release(&timeline);
	evidence_release(&timeline_evidence);
	unlink(timeline_path("t.csv"));
	unlink(timeline_path("t.json"));
	CU_ASSERT_EQUAL(rmdir(timeline_dir), 0);
}

void timeline_play_two(void)
{
	timeline_set_up(2);
	timeline_call(0, 10, 30);
	timeline_call(0, 40, 0);
	timeline_call(1, 20, 30);
	strcpy(timeline_evidence.ranks[1].syscall, "futex");
	timeline_evidence.ranks[0].view.waiting = 1;
	timeline_evidence.ranks[0].view.since_ns = START + 35 * MS;
	strcpy(timeline_evidence.ranks[0].view.what, "a scheduled call");
	timeline_build();
}

json_t *timeline_trace(void)
{
	json_t *top;

	CU_ASSERT_EQUAL_FATAL(timeline_save_trace(&timeline, timeline_path("t.json")), 0);
	top = json_load_file(timeline_path("t.json"), 0, NULL);
	CU_ASSERT_PTR_NOT_NULL_FATAL(top);
	return top;
}

const char *timeline_table(void)
{
	CU_ASSERT_EQUAL_FATAL(timeline_save_csv(&timeline, timeline_path("t.csv")), 0);
	return unit_text(timeline_path("t.csv"));
}
