/* timeline_scene.h: ranks' calls on a made-up clock, and the timeline of them. Include it once per
 * test program. */
#pragma once

#include <jansson.h>

#include "backend/call.h"
#include "base/dtype.h"
#include "postmortem/timeline.h"
#include "rig/unit.h"
#include "process/watch.h"

#define MS    1000000ull
#define START (5000 * MS) /* of the made-up clock */

static struct evidence evidence;
static struct diagnosis diagnosis;
static struct timeline timeline;
static char dir[UNIT_TEMP];

/* Ranks of one host that were looked at 100 ms after START, none with calls. */
static inline void set_up(int nranks)
{
	memset(&evidence, 0, sizeof(evidence));
	memset(&diagnosis, 0, sizeof(diagnosis));
	CU_ASSERT_EQUAL_FATAL(unit_folder(dir), 0);
	diagnosis.outcome = OUTCOME_HANG;
	diagnosis.class = CLASS_MISSING;
	diagnosis.confidence = CONFIDENCE_PROVED;
	diagnosis.seq_low = diagnosis.seq_high = diagnosis.hang_seq = 2;
	strcpy(diagnosis.ranks, "1");
	strcpy(evidence.backend, "mpi");
	evidence.nranks = nranks;
	evidence.ranks = calloc((size_t)nranks, sizeof(*evidence.ranks));
	for (int i = 0; i < nranks; i++) {
		struct evidence_rank *r = &evidence.ranks[i];

		r->present = true;
		r->view.rank = i;
		r->view.seen_ns = START + 100 * MS;
		strcpy(r->view.host, "a");
		r->calls = calloc(200, sizeof(*r->calls));
	}
}

/* The rank's next call: entered and left so many milliseconds after START; left 0: it is in it. */
static inline struct record *add(int rank, uint64_t enter, uint64_t leave)
{
	struct evidence_rank *r = &evidence.ranks[rank];
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

static inline const char *path_of(const char *name)
{
	static char path[UNIT_PATH];

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	return path;
}

static inline void build(void)
{
	timeline_init(&timeline, &diagnosis, &evidence);
}

static inline void tear_down(void)
{
	timeline_release(&timeline);
	evidence_release(&evidence);
	unlink(path_of("t.csv"));
	unlink(path_of("t.json"));
	CU_ASSERT_EQUAL(rmdir(dir), 0);
}

/* Rank 0 makes two calls and stands in the second, rank 1 one and none after; it came 10 ms late
 * to the first. */
static inline void play_two(void)
{
	set_up(2);
	add(0, 10, 30);
	add(0, 40, 0);
	add(1, 20, 30);
	strcpy(evidence.ranks[1].syscall, "futex");
	evidence.ranks[0].view.waiting = 1;
	evidence.ranks[0].view.since_ns = START + 35 * MS;
	strcpy(evidence.ranks[0].view.what, "a scheduled call");
	build();
}

/* Saved and read again; the caller drops the reference. */
static inline json_t *save_trace(void)
{
	json_t *top;

	CU_ASSERT_EQUAL_FATAL(timeline_save_trace(&timeline, path_of("t.json")), 0);
	top = json_load_file(path_of("t.json"), 0, NULL);
	CU_ASSERT_PTR_NOT_NULL_FATAL(top);
	return top;
}

/* Saved and read again, until the next time. */
static inline const char *table(void)
{
	static char text[1 << 20];
	FILE *f;
	size_t n;

	CU_ASSERT_EQUAL_FATAL(timeline_save_csv(&timeline, path_of("t.csv")), 0);
	f = fopen(path_of("t.csv"), "r");
	CU_ASSERT_PTR_NOT_NULL_FATAL(f);
	n = fread(text, 1, sizeof(text) - 1, f);
	fclose(f);
	CU_ASSERT(n < sizeof(text) - 1);
	text[n] = '\0';
	return text;
}
