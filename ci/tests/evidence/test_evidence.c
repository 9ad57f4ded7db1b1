/* test_evidence.c: evidence taken, saved and read again. Files that are not as they were saved are in
 * test_evidence_hostile.c. */
#include "rig/evidence_saved.h"

#include <errno.h>
#include <sys/stat.h>

static void test_round_trip(void)
{
	set_up();
	CU_ASSERT_EQUAL_FATAL(load(), 0);
	CU_ASSERT_EQUAL_FATAL(loaded.nranks, RANKS);
	CU_ASSERT_STRING_EQUAL(loaded.backend, "mpi");
	CU_ASSERT_STRING_EQUAL(loaded.command, "./all_reduce_perf -b 8?"); /* the fault stays out */
	CU_ASSERT_STRING_EQUAL(loaded.library, "Open MPI v4.1.4");
	CU_ASSERT_STRING_EQUAL(loaded.program, "all_reduce_perf");
	CU_ASSERT_STRING_EQUAL(loaded.when, "2026-11-21T03:00:00+0000");
	CU_ASSERT_EQUAL(loaded.detect_ms, 640.5);
	CU_ASSERT_EQUAL(loaded.ranks[1].times[9].start_ns, 70);
	CU_ASSERT_EQUAL(loaded.ranks[1].times[9].end_ns, 90);
	CU_ASSERT_EQUAL(loaded.ranks[1].times[8].end_ns, 0);
	CU_ASSERT_PTR_NULL(loaded.ranks[0].times);
	CU_ASSERT_STRING_EQUAL(loaded.remarks, "");
	for (int i = 0; i < RANKS; i++) {
		const struct evidence_rank *a = &saved.ranks[i], *b = &loaded.ranks[i];

		CU_ASSERT_EQUAL_FATAL(b->ncalls, i == 2 ? 9 : 10);
		CU_ASSERT_EQUAL(memcmp(a->calls, b->calls, b->ncalls * sizeof(*b->calls)), 0);
		CU_ASSERT_EQUAL(b->view.overdue, a->view.overdue);
		CU_ASSERT_EQUAL(b->view.waited, 1.5);
		CU_ASSERT_EQUAL(b->view.seen_ns, 1000 + (uint64_t)i);
		CU_ASSERT_EQUAL(b->view.pid, a->view.pid);
		CU_ASSERT_EQUAL(b->view.issued, a->view.issued);
		CU_ASSERT_EQUAL(b->state, a->state);
		CU_ASSERT_STRING_EQUAL(b->syscall, a->syscall);
		CU_ASSERT_EQUAL(b->cpu_share, a->cpu_share);
		CU_ASSERT_FALSE(b->wrapped);
	}
	tear_down();
}

static void test_blind_command(void)
{
	static const struct {
		const char *command, *blind;
	} table[] = {
		{ "./x_perf", "./x_perf" },
		{ "./x_perf -b 8 -f 2 -g 4", "./x_perf -b 8 -f 2 -g 4" },
		{ "./x_perf --fault=kill-rank:1 -g 4", "./x_perf -g 4" },
		{ "./x_perf --fault kill-rank:1 -g 4", "./x_perf -g 4" },
		{ "./x_perf --fault  kill-rank:1 -g 4", "./x_perf -g 4" },
		{ "./x_perf --fau=kill-rank:1 --fa stop-rank:2", "./x_perf" },
		{ "./x_perf --expect hang:missing-call:3 -g 4", "./x_perf -g 4" },
		{ "./x_perf --exp=hang:missing-call:3 -g 4", "./x_perf -g 4" },
		{ "./x_perf --format 3 --factors=2", "./x_perf --format 3 --factors=2" },
		{ "./x_perf  -g  2 ", "./x_perf -g 2" },
		{ "./x_perf --fault", "./x_perf" },
		{ "", "" },
	};
	char to[64];

	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		evidence_blind_command(table[i].command, to, sizeof(to));
		CU_ASSERT_STRING_EQUAL(to, table[i].blind);
	}
	evidence_blind_command("./x_perf -b 123456789 -g", to,
			       16); /* whole words, to the first with no room */
	CU_ASSERT_STRING_EQUAL(to, "./x_perf -b");
}

static void test_diagnosis_saved(void)
{
	static const char *const names[] = { "verdict.json", "report.txt", "postmortem.md",
					     "timeline.json", "timeline.csv" };
	struct diagnosis d;
	char path[UNIT_PATH];
	struct stat st;

	set_up();
	CU_ASSERT_EQUAL_FATAL(load(), 0);
	diagnose(&loaded, &d);
	CU_ASSERT_STRING_EQUAL(class_name(d.class, d.outcome), "missing-call");
	CU_ASSERT_STRING_EQUAL(d.ranks, "2");
	CU_ASSERT_EQUAL(d.seq_low, 10);
	CU_ASSERT_EQUAL(diagnosis_save(&d, &loaded, dir, &err), 0);
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		snprintf(path, sizeof(path), "%s/%s", dir, names[i]);
		CU_ASSERT_EQUAL(stat(path, &st), 0);
		CU_ASSERT(st.st_size > 200);
	}
	CU_ASSERT(diagnosis_save(&d, &loaded, "/nowhere/at/all", &err) < 0);
	CU_ASSERT(err.code < 0);
	tear_down();
}

static void test_format(void)
{
	size_t bytes;
	struct saved_header *h;

	set_up();
	h = pack_one(&bytes);
	/* 10 calls: two headers, 10 records of 64 bytes, and 10 times two words for the device */
	CU_ASSERT_EQUAL(bytes, sizeof(*h) + sizeof(struct record_header) + 800);
	CU_ASSERT_EQUAL(memcmp(h, "hangarEV\1\0\0\0", 12), 0);
	CU_ASSERT_EQUAL(h->records, 10);
	CU_ASSERT_EQUAL(h->rank, 1);
	CU_ASSERT_EQUAL(h->pid, 4711);
	CU_ASSERT_EQUAL(h->issued, 10);
	CU_ASSERT_EQUAL(h->waited, 1.5);
	free(h);
	CU_ASSERT_EQUAL(saved_bytes(&saved.ranks[1], 3),
			sizeof(*h) + sizeof(struct record_header) + 240);
	tear_down();
}

/* What crosses to another host: the newest calls alone, and the token not at all. */
static void test_tail(void)
{
	struct evidence_rank taken = { .present = false };
	size_t bytes;
	struct saved_header *h;

	set_up();
	saved.ranks[1].recorder->uplink_token = 0x5ec2e7;
	saved.ranks[1].recorder->inits[0].asked = 6;
	saved.ranks[1].recorder->inits[1].asked = 7; /* another communicator */
	saved.ranks[1].recorder->device_wait = RECORD_DEVICE_AWAITED;
	bytes = saved_bytes(&saved.ranks[1], 4);
	h = saved_alloc(bytes);
	saved_pack(&saved.ranks[1], 1, 4, h);
	CU_ASSERT_EQUAL(((struct record_header *)(h + 1))->uplink_token, 0);
	CU_ASSERT_EQUAL_FATAL(evidence_take_saved(&taken, 1, h, bytes), 0);
	CU_ASSERT_EQUAL_FATAL(taken.ncalls, 4);
	CU_ASSERT_EQUAL(taken.calls[0].ticket, 7);
	CU_ASSERT_EQUAL(taken.calls[3].ticket, 10);
	CU_ASSERT_TRUE(taken.wrapped);
	CU_ASSERT_EQUAL(taken.view.pid, 4711);
	CU_ASSERT_EQUAL(taken.view.asked, 6);
	CU_ASSERT_EQUAL(taken.view.device_wait, RECORD_DEVICE_AWAITED);
	CU_ASSERT_EQUAL(evidence_take_saved(&taken, 2, h, bytes), -EINVAL);
	CU_ASSERT_EQUAL(evidence_take_saved(&taken, 1, h, 7), -EINVAL);
	CU_ASSERT_EQUAL(taken.ncalls, 4); /* as before */
	evidence_rank_release(&taken);
	free(h);
	tear_down();
}

/* Large runs are mapped, with threads: the same comes out. */
static void test_many_ranks(void)
{
	const int many = 700;
	struct diagnosis d;
	char name[32];

	set_up();
	for (int i = RANKS; i < many; i++) {
		size_t bytes = saved_bytes(&saved.ranks[1], SIZE_MAX);
		void *image = saved_alloc(bytes);

		saved_pack(&saved.ranks[i % 2], i, SIZE_MAX, image);
		snprintf(name, sizeof(name), "rank-%d.fr", i);
		if (i != 600)
			put(name, image, bytes);
		free(image);
	}
	CU_ASSERT_EQUAL_FATAL(load(), 0);
	CU_ASSERT_EQUAL(loaded.nranks, many);
	CU_ASSERT_STRING_EQUAL(loaded.remarks,
			       "rank-600.fr is missing: nothing is known of that rank.");
	CU_ASSERT(loaded.ranks[5].mapped > 0);
	CU_ASSERT_TRUE(loaded.ranks[5].index.plain);
	CU_ASSERT_EQUAL(loaded.ranks[5].calls[9].count, 19);
	diagnose(&loaded, &d);
	CU_ASSERT_STRING_EQUAL(class_name(d.class, d.outcome), "missing-call");
	CU_ASSERT_STRING_EQUAL(d.ranks, "2");
	CU_ASSERT_EQUAL(d.seq_low, 10);
	CU_ASSERT_EQUAL(d.hang_seq, 10);
	tear_down();
}

/* Every host's clocks are its own: what they show must not matter. */
static void test_clock_skew(void)
{
	struct diagnosis d;

	set_up();
	for (int i = 0; i < RANKS; i++) {
		struct evidence_rank *r = &saved.ranks[i];

		for (size_t k = 0; k < r->ncalls; k++) {
			r->calls[k].enqueued_ns = i == 0 ? UINT64_MAX - k : i == 1 ? 0 : 7 * k;
			r->calls[k].returned_ns = i == 1 ? 1 : UINT64_MAX;
		}
		r->view.waited = i == 1 ? 1e18 : 0.001;
	}
	CU_ASSERT_EQUAL(evidence_save(&saved, dir, &err), 0);
	CU_ASSERT_EQUAL_FATAL(load(), 0);
	diagnose(&loaded, &d);
	CU_ASSERT_STRING_EQUAL(class_name(d.class, d.outcome), "missing-call");
	CU_ASSERT_STRING_EQUAL(d.ranks, "2");
	tear_down();
}

static void test_torn_and_wrapped(void)
{
	struct evidence_rank rank = { .present = true };
	struct record_memory *m = make_memory(0, RECORD_RING + 50);

	CU_ASSERT_EQUAL(evidence_take_calls(&rank, m), 0);
	CU_ASSERT_TRUE(rank.wrapped);
	CU_ASSERT_EQUAL_FATAL(rank.ncalls, RECORD_RING);
	CU_ASSERT_EQUAL(rank.calls[0].ticket, 51);
	CU_ASSERT_EQUAL(rank.calls[RECORD_RING - 1].ticket, RECORD_RING + 50);
	m->ring[100].ticket = 0;       /* being rewritten */
	m->ring[101].kind = 200;       /* no such call */
	m->ring[102].comm = 999;       /* no such communicator */
	m->ring[103].seq = 1ull << 60; /* more calls than tickets */
	m->ring[104].dtype = 77;
	m->ring[105].state = RECORD_EMPTY;
	m->ring[106].seq = 3; /* backwards */
	CU_ASSERT_EQUAL(evidence_take_calls(&rank, m), 0);
	CU_ASSERT_EQUAL(rank.ncalls, RECORD_RING - 7);
	m->header.issued_ticket = UINT64_MAX; /* no ticket fits */
	CU_ASSERT_EQUAL(evidence_take_calls(&rank, m), 0);
	CU_ASSERT_EQUAL(rank.ncalls, 0);
	evidence_rank_release(&rank);
	free(m);
}

/* What became of a rank's communicator and memory. */
static void test_init_saved(void)
{
	struct rank_view *v;

	set_up();
	v = &saved.ranks[1].view;
	v->oom_kills = 2;
	saved.ranks[1].netns = 4026531840;
	v->error_code = -ENOMEM;
	v->comm_state = RECORD_COMM_ABORTED;
	v->init_rank = 1;
	v->init_nranks = 3;
	v->init_id = 0xfedcba9876543210;
	v->aborted_after = 7;
	saved.ranks[2].view.error_code = 12; /* no errno of ours */
	saved.ranks[2].view.comm_state = 77;
	CU_ASSERT_EQUAL(evidence_save(&saved, dir, &err), 0);
	CU_ASSERT_EQUAL(load(), 0);
	v = &loaded.ranks[1].view;
	CU_ASSERT_EQUAL(v->oom_kills, 2);
	CU_ASSERT_EQUAL(loaded.ranks[1].netns, 4026531840);
	CU_ASSERT_EQUAL(v->error_code, -ENOMEM);
	CU_ASSERT_EQUAL(v->comm_state, RECORD_COMM_ABORTED);
	CU_ASSERT_EQUAL(v->init_rank, 1);
	CU_ASSERT_EQUAL(v->init_nranks, 3);
	CU_ASSERT_EQUAL(v->init_id, 0xfedcba9876543210);
	CU_ASSERT_EQUAL(v->aborted_after, 7);
	CU_ASSERT_EQUAL(loaded.ranks[2].view.error_code, 0);
	CU_ASSERT_EQUAL(loaded.ranks[2].view.comm_state, RECORD_COMM_NONE);
	tear_down();
}

UNIT_MAIN("evidence", { "saved and read again", test_round_trip },
	  { "a command without its fault", test_blind_command },
	  { "diagnosis and its files", test_diagnosis_saved }, { "saved form", test_format },
	  { "the newest calls alone", test_tail }, { "init, aborts, memory", test_init_saved },
	  { "torn records, wrapped ring, hostile numbers", test_torn_and_wrapped },
	  { "many ranks", test_many_ranks }, { "clock skew", test_clock_skew })
