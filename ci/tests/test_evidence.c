/* test_evidence.c: evidence saved and read again; torn, truncated, foreign, random and
 * missing files. */
/* alone: asserts that something happens within a fraction of a second */
#include "unit.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "call.h"
#include "clock.h"
#include "diagnose.h"
#include "dtype.h"
#include "evidence.h"
#include "recorder.h"
#include "saved.h"
#include "watch.h"

#define RANKS 3

static char dir[UNIT_TEMP];
static struct record_memory *memories[RANKS];
static struct evidence saved, loaded;
static struct error err;

static struct record_memory *make_memory(int rank, int calls)
{
	struct record_memory *m = aligned_alloc(64, sizeof(*m));
	struct recorder recorder;
	struct watch watch;

	memset(m, 0, sizeof(*m));
	memcpy(m->header.magic, RECORD_MAGIC, sizeof(m->header.magic));
	m->header.version = RECORD_VERSION;
	m->header.header_bytes = sizeof(m->header);
	m->header.record_bytes = sizeof(struct record);
	m->header.ring_records = RECORD_RING;
	m->header.rank = rank;
	m->header.outcome = -1;
	recorder_init(&recorder, m, true, 0);
	watch = recorder_watch(&recorder);
	for (int i = 0; i < calls; i++) {
		struct call call = { .kind = CALL_ALL_GATHER,
				     .count = 10 + (size_t)i,
				     .dtype = DT_HALF,
				     .op = OP_NONE,
				     .peer = -1 };

		watch.returned(watch.ctx, watch.call(watch.ctx, &call), 0);
	}
	return m;
}

static void set_up(void)
{
	CU_ASSERT_EQUAL_FATAL(unit_folder(dir), 0);
	memset(&saved, 0, sizeof(saved));
	memset(&err, 0, sizeof(err));
	saved.nranks = RANKS;
	strcpy(saved.backend, "mpi");
	strcpy(saved.command, "./all_reduce_perf --fault=x -b 8\xff");
	strcpy(saved.library, "Open MPI v4.1.4");
	strcpy(saved.program, "all_reduce_perf");
	strcpy(saved.when, "2026-11-21T03:00:00+0000");
	saved.detect_ms = 640.5;
	saved.ranks = calloc(RANKS, sizeof(*saved.ranks));
	for (int i = 0; i < RANKS; i++) {
		memories[i] = make_memory(i, i == 2 ? 9 : 10);
		saved.ranks[i].present = true;
		saved.ranks[i].cpu_share = i == 2 ? 0.25 : -1;
		saved.ranks[i].view.outcome = -1;
		if (i == 1)
			memories[i]->times[10] = (struct record_times){ 70, 90 };
		view_read(&saved.ranks[i].view, memories[i], 1, 0);
		saved.ranks[i].view.overdue = i != 2;
		saved.ranks[i].view.waited = 1.5;
		saved.ranks[i].view.seen_ns = 1000 + (uint64_t)i;
		evidence_take_calls(&saved.ranks[i], memories[i]);
	}
	strcpy(saved.ranks[2].syscall, "pause");
	saved.ranks[2].state = 'S';
	saved.ranks[1].view.pid = 4711;
	CU_ASSERT_EQUAL(evidence_save(&saved, dir, &err), 0);
}

static void tear_down(void)
{
	CU_ASSERT_EQUAL(unit_remove(dir), 0);
	for (int i = 0; i < RANKS; i++)
		free(memories[i]);
	evidence_release(&saved);
	evidence_release(&loaded);
}

static void put(const char *name, const void *data, size_t bytes)
{
	CU_ASSERT_EQUAL(unit_put(dir, name, data, bytes), 0);
}

static void drop(const char *name)
{
	char path[UNIT_PATH];

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	CU_ASSERT_EQUAL(unlink(path), 0);
}

static int load(void)
{
	evidence_release(&loaded);
	return evidence_load(&loaded, dir, &err);
}

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
	CU_ASSERT_STRING_EQUAL(d.class, "missing-call");
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

/* Rank 1's saved form, to be spoiled; the caller frees. */
static struct saved_header *pack_one(size_t *bytes)
{
	struct saved_header *image;

	*bytes = saved_bytes(&saved.ranks[1], SIZE_MAX);
	image = saved_alloc(*bytes);
	saved_pack(&saved.ranks[1], 1, SIZE_MAX, image);
	return image;
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
	saved.ranks[1].recorder->star_token = 0x5ec2e7;
	saved.ranks[1].recorder->inits[0].asked = 6;
	saved.ranks[1].recorder->inits[1].asked = 7; /* another communicator */
	bytes = saved_bytes(&saved.ranks[1], 4);
	h = saved_alloc(bytes);
	saved_pack(&saved.ranks[1], 1, 4, h);
	CU_ASSERT_EQUAL(((struct record_header *)(h + 1))->star_token, 0);
	CU_ASSERT_EQUAL_FATAL(evidence_take_saved(&taken, 1, h, bytes), 0);
	CU_ASSERT_EQUAL_FATAL(taken.ncalls, 4);
	CU_ASSERT_EQUAL(taken.calls[0].ticket, 7);
	CU_ASSERT_EQUAL(taken.calls[3].ticket, 10);
	CU_ASSERT_TRUE(taken.wrapped);
	CU_ASSERT_EQUAL(taken.view.pid, 4711);
	CU_ASSERT_EQUAL(taken.view.asked, 6);
	CU_ASSERT_EQUAL(evidence_take_saved(&taken, 2, h, bytes), -EINVAL);
	CU_ASSERT_EQUAL(evidence_take_saved(&taken, 1, h, 7), -EINVAL);
	CU_ASSERT_EQUAL(taken.ncalls, 4); /* as before */
	evidence_rank_release(&taken);
	free(h);
	tear_down();
}

/* Each spoils rank 1's file; the others' must still be read. */
static void spoil_magic(struct saved_header *h)
{
	h->magic[0] = 'X';
}
static void spoil_old(struct saved_header *h)
{
	memcpy(h->magic, RECORD_MAGIC, 8); /* the whole memory, as it was once saved */
}
static void spoil_version(struct saved_header *h)
{
	h->version = 2;
}
static void spoil_layout(struct saved_header *h)
{
	h->record_bytes = 72;
}
static void spoil_rank(struct saved_header *h)
{
	h->rank = 2;
}
static void spoil_recorder(struct saved_header *h)
{
	((struct record_header *)(h + 1))->version++;
}
static void spoil_records(struct saved_header *h)
{
	h->records = UINT32_MAX;
}

static void test_foreign(void)
{
	static const struct {
		void (*spoil)(struct saved_header *h);
		const char *remark;
	} table[] = {
		{ spoil_magic, "rank-1.fr is no saved evidence." },
		{ spoil_old, "rank-1.fr is no saved evidence." },
		{ spoil_version, "rank-1.fr has another format version." },
		{ spoil_layout, "rank-1.fr has another layout." },
		{ spoil_rank, "rank-1.fr says that it is another rank's." },
		{ spoil_recorder, "rank-1.fr holds another recorder's version or layout." },
		{ spoil_records, "rank-1.fr announces more records than any ring holds." },
	};

	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		struct saved_header *h;
		size_t bytes;

		set_up();
		h = pack_one(&bytes);
		table[i].spoil(h);
		put("rank-1.fr", h, bytes);
		free(h);
		CU_ASSERT_EQUAL(load(), 0);
		CU_ASSERT_STRING_EQUAL(loaded.remarks, table[i].remark);
		CU_ASSERT_FALSE(loaded.ranks[1].present);
		CU_ASSERT_EQUAL(loaded.ranks[1].ncalls, 0);
		CU_ASSERT_EQUAL(loaded.ranks[0].ncalls, 10);
		CU_ASSERT_EQUAL(loaded.ranks[2].ncalls, 9);
		tear_down();
	}
}

static void test_truncated_and_missing(void)
{
	struct saved_header *h;
	size_t bytes;

	set_up();
	h = pack_one(&bytes);
	put("rank-1.fr", h, bytes - 160 - 3 * 64 - 10); /* six whole records are left */
	CU_ASSERT_EQUAL(load(), 0);
	CU_ASSERT_STRING_EQUAL(loaded.remarks,
			       "rank-1.fr is cut off: its newest 4 records are missing.");
	CU_ASSERT_EQUAL(loaded.ranks[1].ncalls, 6);
	for (size_t n = 0; n < bytes; n += 97) { /* wherever it ends */
		put("rank-1.fr", h, n);
		CU_ASSERT_EQUAL(load(), 0);
		CU_ASSERT(strlen(loaded.remarks) > 0);
		CU_ASSERT(loaded.ranks[1].ncalls < 10 || n >= bytes - 160);
		CU_ASSERT_PTR_NULL(loaded.ranks[1].times);
	}
	free(h);
	put("rank-0.fr", "", 0);
	CU_ASSERT_EQUAL(load(), 0);
	CU_ASSERT_PTR_NOT_NULL(strstr(loaded.remarks, "rank-0.fr is too short to be evidence."));
	CU_ASSERT_EQUAL(loaded.ranks[2].ncalls, 9);
	drop("rank-1.fr");
	drop("run.json");
	CU_ASSERT_EQUAL(load(), 0);
	CU_ASSERT_EQUAL(loaded.nranks, 3);
	CU_ASSERT_FALSE(loaded.ranks[1].present);
	CU_ASSERT_PTR_NOT_NULL(strstr(loaded.remarks, "rank-1.fr is missing: nothing is known"));
	CU_ASSERT_PTR_NOT_NULL(strstr(loaded.remarks, "run.json is missing"));
	CU_ASSERT(loaded.uncounted);
	drop("rank-0.fr");
	drop("rank-2.fr");
	CU_ASSERT_EQUAL(load(), -ENOENT);
	put("rank-0.fr", "junk", 4);
	CU_ASSERT_EQUAL(load(), -EINVAL);
	CU_ASSERT_EQUAL(evidence_load(&loaded, "/nowhere/at/all", &err), -ENOENT);
	tear_down();
}

static void test_unsound_records(void)
{
	struct saved_header *h;
	struct record *calls;
	size_t bytes;

	set_up();
	h = pack_one(&bytes);
	calls = (struct record *)((char *)(h + 1) + sizeof(struct record_header));
	calls[2].ticket = 2;   /* before the one before it */
	calls[4].kind = 200;   /* no such call */
	calls[6].comm = 65535; /* no such communicator */
	calls[7].seq = 1;      /* backwards */
	calls[8].ticket = 11;  /* more than were made */
	put("rank-1.fr", h, bytes);
	free(h);
	CU_ASSERT_EQUAL(load(), 0);
	CU_ASSERT_STRING_EQUAL(loaded.remarks, "Rank 1: 5 of 10 records are unsound.");
	CU_ASSERT_EQUAL_FATAL(loaded.ranks[1].ncalls, 5);
	CU_ASSERT_EQUAL(loaded.ranks[1].calls[2].ticket, 4);
	CU_ASSERT_EQUAL(loaded.ranks[1].calls[4].ticket, 10);
	CU_ASSERT_EQUAL(loaded.ranks[1].times[4].start_ns, 70); /* closed up alike */
	CU_ASSERT_EQUAL(loaded.ranks[1].times[4].end_ns, 90);
	CU_ASSERT_FALSE(loaded.ranks[1].index.plain);
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
	CU_ASSERT_STRING_EQUAL(d.class, "missing-call");
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
	CU_ASSERT_STRING_EQUAL(d.class, "missing-call");
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

static void test_hostile_json(void)
{
	static const char *const texts[] = {
		"", "[", "[]", "{}", "{\"version\":9}", "\xff\xfe",
		"{\"version\":1,\"nranks\":99999999999,\"backend\":5}",
		"{\"version\":1,\"nranks\":-3,\"command\":{}}",
	};

	set_up();
	put("rank-1048577.fr", "x", 1); /* above the limit: not looked at */
	put("rank-01.fr", "x", 1);
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		put("run.json", texts[i], strlen(texts[i]));
		CU_ASSERT_EQUAL(load(), 0);
		CU_ASSERT_EQUAL(loaded.nranks, RANKS);
		CU_ASSERT_STRING_EQUAL(loaded.backend, "");
		CU_ASSERT_STRING_EQUAL(loaded.command, "");
	}
	tear_down();
}

/* Numbers out of range and texts without end in a header that is otherwise right. */
static void test_hostile_header(void)
{
	struct saved_header *h;
	size_t bytes;

	set_up();
	h = pack_one(&bytes);
	h->process = 99;
	h->status = -7;
	h->pid = -5;
	h->phase = 1u << 31;
	h->waited = -1;
	h->cpu_share = 0.0 / 0.0;
	h->state = '\33';
	memset(h->syscall, '\n', sizeof(h->syscall));
	memset(h->what, 'w', sizeof(h->what));
	memset(h->error, 0x80, sizeof(h->error));
	put("rank-1.fr", h, bytes);
	free(h);
	CU_ASSERT_EQUAL(load(), 0);
	CU_ASSERT_EQUAL(loaded.ranks[1].view.process, PROCESS_ALIVE);
	CU_ASSERT_EQUAL(loaded.ranks[1].view.status, -1);
	CU_ASSERT_EQUAL(loaded.ranks[1].view.pid, 0);
	CU_ASSERT_EQUAL(loaded.ranks[1].view.phase, 0);
	CU_ASSERT_EQUAL(loaded.ranks[1].view.waited, 0);
	CU_ASSERT_EQUAL(loaded.ranks[1].cpu_share, -1);
	CU_ASSERT_EQUAL(loaded.ranks[1].state, 0);
	CU_ASSERT_STRING_EQUAL(loaded.ranks[1].syscall, "???????????????????????");
	CU_ASSERT_EQUAL(strlen(loaded.ranks[1].view.what), 39);
	CU_ASSERT_EQUAL(loaded.ranks[1].view.error[254], '?');
	CU_ASSERT_EQUAL(loaded.ranks[1].view.error[255], '\0');
	tear_down();
}

static void test_random_bytes(void)
{
	struct diagnosis d;

	srand(11);
	for (int round = 0; round < 120; round++) {
		size_t bytes, from = round % 2 ? 12 : sizeof(struct saved_header);
		struct saved_header *h;

		set_up();
		h = pack_one(&bytes);
		for (int k = 0; k < 1 << (round % 12); k++)
			((unsigned char *)h)[from + (size_t)rand() % (bytes - from)] =
				(unsigned char)rand();
		put("rank-1.fr", h, bytes);
		free(h);
		CU_ASSERT_EQUAL_FATAL(load(), 0);
		CU_ASSERT(loaded.ranks[1].ncalls <= 10);
		diagnose(&loaded, &d);
		CU_ASSERT_EQUAL(diagnosis_save(&d, &loaded, dir, &err), 0);
		tear_down();
	}
}

/* What was begun before costs no time later; who is on another host is left alone. */
static void probe_in_two_halves(const pid_t *pids)
{
	struct evidence_probe probe = { 0 };
	double begin;

	evidence_probe_begin(&probe, pids, RANKS);
	usleep(120000);
	saved.ranks[2].remote = true;
	saved.ranks[2].state = 'x';
	begin = clock_seconds();
	evidence_probe(saved.ranks, RANKS, &probe);
	CU_ASSERT(clock_seconds() - begin < 0.05);
	CU_ASSERT(saved.ranks[0].cpu_share >= 0 && saved.ranks[0].cpu_share < 0.2);
	CU_ASSERT(saved.ranks[1].cpu_share > 0.1);
	CU_ASSERT_EQUAL(saved.ranks[2].state, 'x');
	evidence_probe_release(&probe);
}

static void test_probe(void)
{
	static const struct {
		char state;
		double least, most;
	} expected[RANKS] = { { 'S', 0, 0.2 }, { 'R', 0.1, 1.2 }, { 'T', 0, 0.2 } };
	pid_t pids[RANKS];

	set_up();
	for (int i = 0; i < RANKS; i++) {
		pids[i] = fork();
		if (pids[i] == 0) {
			if (i == 0)
				pause();
			if (i == 2)
				raise(SIGSTOP);
			for (;;)
				;
		}
		saved.ranks[i].view.pid = pids[i];
		saved.ranks[i].view.host[0] = '\0';
	}
	usleep(100000);
	evidence_probe(saved.ranks, RANKS, NULL);
	for (int i = 0; i < RANKS; i++) {
		CU_ASSERT_EQUAL(saved.ranks[i].state, expected[i].state);
		CU_ASSERT(saved.ranks[i].cpu_share >= expected[i].least);
		CU_ASSERT(saved.ranks[i].cpu_share <= expected[i].most);
	}
	probe_in_two_halves(pids);
	for (int i = 0; i < RANKS; i++) {
		kill(pids[i], SIGKILL);
		waitpid(pids[i], NULL, 0);
	}
	printf(" in '%s' ", saved.ranks[0].syscall);
	CU_ASSERT(!saved.ranks[0].syscall[0] || strcmp(saved.ranks[0].syscall, "pause") == 0);
	CU_ASSERT_STRING_EQUAL(saved.ranks[1].syscall, "");
	tear_down();
}

static const struct unit_case cases[] = {
	{ "saved and read again", test_round_trip },
	{ "a command without its fault", test_blind_command },
	{ "diagnosis and its files", test_diagnosis_saved },
	{ "saved form", test_format },
	{ "the newest calls alone", test_tail },
	{ "magic, version, layout, rank", test_foreign },
	{ "init, aborts, memory", test_init_saved },
	{ "truncated and missing files", test_truncated_and_missing },
	{ "unsound records", test_unsound_records },
	{ "torn records, wrapped ring, hostile numbers", test_torn_and_wrapped },
	{ "many ranks", test_many_ranks },
	{ "clock skew", test_clock_skew },
	{ "hostile JSON", test_hostile_json },
	{ "hostile header", test_hostile_header },
	{ "random bytes", test_random_bytes },
	{ "probing live processes", test_probe },
};

int main(void)
{
	return unit_main("evidence", cases, sizeof(cases) / sizeof(cases[0]));
}
