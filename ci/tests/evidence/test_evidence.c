/* test_evidence.c: evidence taken, saved and read again; the hostile: test_evidence_hostile.c. */
#include "find/find.h"
#include "rig/evidence_saved.h"

UNIT_TEST(test_round_trip, "saved and read again")
{
	saved_set_up();
	CU_ASSERT_EQUAL_FATAL(saved_load(), 0);
	CU_ASSERT_EQUAL_FATAL(loaded.nranks, RANKS);
	CU_ASSERT_STRING_EQUAL(loaded.backend, "mpi");
	CU_ASSERT_STRING_EQUAL(loaded.command, "./all_reduce_perf -b 8?"); /* the fault stays out */
	UNIT_ALL(!strcmp(loaded.library, "Open MPI v4.1.4"),
		 !strcmp(loaded.program, "all_reduce_perf"),
		 !strcmp(loaded.when, "2026-11-21T03:00:00+0000"), loaded.detect_ms == 640.5,
		 loaded.ranks[1].times[9].start_ns == 70, loaded.ranks[1].times[9].end_ns == 90,
		 loaded.ranks[1].times[8].end_ns == 0, loaded.ranks[0].times == NULL,
		 !strcmp(loaded.remarks, ""));
	for (int i = 0; i < RANKS; i++) {
		const struct evidence_rank *a = &saved.ranks[i], *b = &loaded.ranks[i];

		CU_ASSERT_EQUAL_FATAL(b->ncalls, i == 2 ? 9 : 10);
		UNIT_ALL(memcmp(a->calls, b->calls, b->ncalls * sizeof(*b->calls)) == 0,
			 b->view.overdue == a->view.overdue, b->view.waited == 1.5,
			 b->view.seen_ns == 1000 + (uint64_t)i, b->view.pid == a->view.pid,
			 b->view.issued == a->view.issued, b->state == a->state,
			 !strcmp(b->syscall, a->syscall), b->cpu_share == a->cpu_share,
			 !b->wrapped);
	}
	saved_tear_down();
}

UNIT_TEST(test_blind_command, "a command without its fault")
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

	UNIT_ROWS(row, table) {
		evidence_blind_command(row->command, to, sizeof(to));
		CU_ASSERT_STRING_EQUAL(to, row->blind);
	}
	evidence_blind_command("./x_perf -b 123456789 -g", to,
			       16); /* whole words, to the first with no room */
	CU_ASSERT_STRING_EQUAL(to, "./x_perf -b");
}

UNIT_TEST(test_diagnosis_saved, "diagnosis and its files")
{
	static const char *const names[] = { "verdict.json", "postmortem.md", "timeline.json",
					     "timeline.csv" };
	struct answer d;
	char path[UNIT_PATH];
	struct stat st;

	saved_set_up();
	CU_ASSERT_EQUAL_FATAL(saved_load(), 0);
	find_answer(&loaded, NULL, &d);
	UNIT_ALL(!strcmp(class_name(d.class, d.outcome), "missing-call"), !strcmp(d.ranks, "2"),
		 d.seq_low == 10, answer_save(&d, &loaded, saved_dir, &saved_err) == 0);
	for (size_t i = 0; i < LENGTH(names); i++) {
		snprintf(path, sizeof(path), "%s/%s", saved_dir, names[i]);
		UNIT_ALL(stat(path, &st) == 0, st.st_size > 200);
	}
	UNIT_ALL(answer_save(&d, &loaded, "/nowhere/at/all", &saved_err) < 0, saved_err.code < 0);
	saved_tear_down();
}

UNIT_TEST(test_format, "saved form")
{
	size_t bytes;
	struct saved_header *h;

	saved_set_up();
	h = saved_image(&bytes);
	/* 10 calls: two headers, 10 records of 64 bytes, and 10 times two words for the device */
	UNIT_ALL(bytes == sizeof(*h) + sizeof(struct record_header) + 800,
		 memcmp(h, "hangarEV\7\0\0\0", 12) == 0, h->records == 10, h->rank == 1,
		 h->view.pid == 4711, h->view.issued == 10, h->view.waited == 1.5);
	free(h);
	CU_ASSERT_EQUAL(saved_bytes(&saved.ranks[1], 3),
			sizeof(*h) + sizeof(struct record_header) + 240);
	saved_tear_down();
}

/* Lines of code are kept, as many as there are; text that no recorder writes becomes printable. */
UNIT_TEST(test_sites, "lines of code")
{
	struct record_memory *m = saved_memory(1, 0);
	struct evidence_rank *r;
	char text[128];

	saved_set_up();
	record_site_of(m, 0, "a.py:1 (f)");
	record_site_of(m, 0, "a.py:2\n(\377)");
	for (uint64_t i = 1; i <= 10; i++) {
		m->ring[i] = (struct record){ .ticket = i,
					      .seq = i,
					      .state = RECORD_RETURNED,
					      .op = OP_NONE,
					      .peer = -1,
					      .site = i % 4 };
		m->header.issued_ticket = i;
	}
	evidence_take_calls(&saved.ranks[1], m);
	UNIT_ALL(saved.ranks[1].nsites == 3, evidence_save(&saved, saved_dir, &saved_err) == 0,
		 saved_load() == 0);
	r = &loaded.ranks[1];
	UNIT_ALL(r->ncalls == 10, r->nsites == 3, r->sites[1].hash == m->sites[1].hash,
		 !strcmp(evidence_site(r, &r->calls[0], text, sizeof(text)), "a.py:1 (f)"),
		 !strcmp(evidence_site(r, &r->calls[1], text, sizeof(text)), "a.py:2?(?)"),
		 !strcmp(evidence_site(r, &r->calls[2], text, sizeof(text)), ""),
		 !strcmp(evidence_site(r, &r->calls[3], text, sizeof(text)), ""));
	free(m);
	saved_tear_down();
}

/* Another host gets the newest calls alone, and never the token. */
UNIT_TEST(test_tail, "the newest calls alone")
{
	struct evidence_rank taken = { .present = false };
	size_t bytes;
	struct saved_header *h;

	saved_set_up();
	saved.ranks[1].recorder->uplink_token = 0x5ec2e7;
	saved.ranks[1].view.asked = 6;
	saved.ranks[1].view.device_wait = RECORD_DEVICE_AWAITED;
	bytes = saved_bytes(&saved.ranks[1], 4);
	h = saved_alloc(bytes);
	saved_pack(&saved.ranks[1], 1, 4, h);
	CU_ASSERT_EQUAL(((struct record_header *)(h + 1))->uplink_token, 0);
	CU_ASSERT_EQUAL_FATAL(evidence_take_saved(&taken, 1, h, bytes), 0);
	CU_ASSERT_EQUAL_FATAL(taken.ncalls, 4);
	UNIT_ALL(taken.calls[0].ticket == 7, taken.calls[3].ticket == 10, taken.wrapped,
		 taken.view.pid == 4711, taken.view.asked == 6,
		 taken.view.device_wait == RECORD_DEVICE_AWAITED,
		 evidence_take_saved(&taken, 2, h, bytes) == -EINVAL,
		 evidence_take_saved(&taken, 1, h, 7) == -EINVAL);
	CU_ASSERT_EQUAL(taken.ncalls, 4); /* as before */
	evidence_rank_release(&taken);
	free(h);
	saved_tear_down();
}

/* Large runs are mapped, with threads: the same comes out. */
UNIT_TEST(test_many_ranks, "many ranks")
{
	const int many = 700;
	struct answer d;
	char name[32];

	saved_set_up();
	for (int i = RANKS; i < many; i++) {
		size_t bytes = saved_bytes(&saved.ranks[1], SIZE_MAX);
		void *image = saved_alloc(bytes);

		saved_pack(&saved.ranks[i % 2], i, SIZE_MAX, image);
		snprintf(name, sizeof(name), "rank-%d.fr", i);
		if (i != 600)
			saved_put(name, image, bytes);
		free(image);
	}
	CU_ASSERT_EQUAL_FATAL(saved_load(), 0);
	UNIT_ALL(loaded.nranks == many,
		 !strcmp(loaded.remarks, "rank-600.fr is missing: nothing is known of that rank."),
		 loaded.ranks[5].mapped > 0, loaded.ranks[5].index.plain,
		 loaded.ranks[5].calls[9].count == 19);
	find_answer(&loaded, NULL, &d);
	UNIT_ALL(!strcmp(class_name(d.class, d.outcome), "missing-call"), !strcmp(d.ranks, "2"),
		 d.seq_low == 10, d.hang_seq == 10);
	saved_tear_down();
}

/* Every host's clocks are its own: what they show must not matter. */
UNIT_TEST(test_clock_skew, "clock skew")
{
	struct answer d;

	saved_set_up();
	for (int i = 0; i < RANKS; i++) {
		struct evidence_rank *r = &saved.ranks[i];

		for (size_t k = 0; k < r->ncalls; k++) {
			r->calls[k].enqueued_ns = i == 0 ? UINT64_MAX - k : i == 1 ? 0 : 7 * k;
			r->calls[k].returned_ns = i == 1 ? 1 : UINT64_MAX;
		}
		r->view.waited = i == 1 ? 1e18 : 0.001;
	}
	CU_ASSERT_EQUAL(evidence_save(&saved, saved_dir, &saved_err), 0);
	CU_ASSERT_EQUAL_FATAL(saved_load(), 0);
	find_answer(&loaded, NULL, &d);
	UNIT_ALL(!strcmp(class_name(d.class, d.outcome), "missing-call"), !strcmp(d.ranks, "2"));
	saved_tear_down();
}

UNIT_TEST(test_torn_and_wrapped, "torn records, wrapped ring, hostile numbers")
{
	struct evidence_rank rank = { .present = true };
	struct record_memory *m = saved_memory(0, RECORD_RING + 50);

	evidence_take_calls(&rank, m);
	CU_ASSERT(rank.wrapped);
	CU_ASSERT_EQUAL_FATAL(rank.ncalls, RECORD_RING);
	UNIT_ALL(rank.calls[0].ticket == 51,
		 rank.calls[RECORD_RING - 1].ticket == RECORD_RING + 50);
	m->ring[100].ticket = 0;       /* being rewritten */
	m->ring[101].kind = 200;       /* no such call */
	m->ring[102].comm = 999;       /* no such communicator */
	m->ring[103].seq = 1ull << 60; /* more calls than tickets */
	m->ring[104].dtype = 77;
	m->ring[105].state = RECORD_EMPTY;
	m->ring[106].seq = 3; /* backwards */
	evidence_take_calls(&rank, m);
	CU_ASSERT(rank.ncalls == RECORD_RING - 7);
	m->header.issued_ticket = UINT64_MAX; /* no ticket fits */
	evidence_take_calls(&rank, m);
	CU_ASSERT(rank.ncalls == 0);
	evidence_rank_release(&rank);
	free(m);
}

/* A rank's communicator and memory. */
UNIT_TEST(test_init_saved, "init, aborts, memory")
{
	struct rank_view *v;

	saved_set_up();
	v = &saved.ranks[1].view;
	v->oom_kills = 2;
	saved.ranks[1].netns = 4026531840;
	saved.ranks[1].sockets = (struct sockets){ "10.0.0.2 10.0.0.3", "10.0.0.4", 80, 3 };
	v->error_code = -ENOMEM;
	v->comm_state = RECORD_COMM_ABORTED;
	v->init_rank = 1;
	v->init_nranks = 3;
	v->init_id = 0xfedcba9876543210;
	v->aborted_after = 7;
	saved.ranks[2].view.error_code = 12; /* no errno of ours */
	saved.ranks[2].view.comm_state = 77;
	UNIT_ALL(evidence_save(&saved, saved_dir, &saved_err) == 0, saved_load() == 0);
	v = &loaded.ranks[1].view;
	CU_ASSERT_EQUAL(memcmp(&loaded.ranks[1].sockets, &saved.ranks[1].sockets,
			       sizeof(struct sockets)),
			0);
	UNIT_ALL(v->oom_kills == 2, loaded.ranks[1].netns == 4026531840, v->error_code == -ENOMEM,
		 v->comm_state == RECORD_COMM_ABORTED, v->init_rank == 1, v->init_nranks == 3,
		 v->init_id == 0xfedcba9876543210, v->aborted_after == 7,
		 loaded.ranks[2].view.error_code == 0,
		 loaded.ranks[2].view.comm_state == RECORD_COMM_NONE);
	saved_tear_down();
}
