/* test_evidence.c: evidence saved and read again; torn, truncated, foreign, random and missing files. */
#include "unit.h"

#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "call.h"
#include "diagnose.h"
#include "dtype.h"
#include "evidence.h"
#include "recorder.h"
#include "watch.h"

#define RANKS 3

static char dir[64];
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
	strcpy(dir, "/tmp/test_evidence.XXXXXX");
	CU_ASSERT_PTR_NOT_NULL_FATAL(mkdtemp(dir));
	memset(&saved, 0, sizeof(saved));
	memset(&err, 0, sizeof(err));
	saved.nranks = RANKS;
	strcpy(saved.backend, "mpi");
	strcpy(saved.command, "./all_reduce_perf --fault=x\xff");
	saved.ranks = calloc(RANKS, sizeof(*saved.ranks));
	for (int i = 0; i < RANKS; i++) {
		memories[i] = make_memory(i, i == 2 ? 9 : 10);
		saved.ranks[i].present = true;
		saved.ranks[i].cpu_share = i == 2 ? 0.25 : -1;
		saved.ranks[i].view.outcome = -1;
		view_read(&saved.ranks[i].view, memories[i], 1, 0);
		saved.ranks[i].view.overdue = i != 2;
		saved.ranks[i].view.waited = 1.5;
		evidence_take_calls(&saved.ranks[i], memories[i]);
	}
	strcpy(saved.ranks[2].syscall, "pause");
	saved.ranks[2].state = 'S';
	saved.ranks[1].view.pid = 4711;
	CU_ASSERT_EQUAL(evidence_save(&saved, (const struct record_memory *const *)memories, dir,
				      &err),
			0);
}

static void tear_down(void)
{
	struct dirent *entry;
	char path[400];
	DIR *d = opendir(dir);

	while ((entry = readdir(d))) {
		snprintf(path, sizeof(path), "%s/%s", dir, entry->d_name);
		unlink(path);
	}
	closedir(d);
	CU_ASSERT_EQUAL(rmdir(dir), 0);
	for (int i = 0; i < RANKS; i++)
		free(memories[i]);
	evidence_release(&saved);
	evidence_release(&loaded);
}

static int remove_file(const char *name)
{
	char path[128];

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	return unlink(path);
}

static void put(const char *name, const void *data, size_t bytes)
{
	char path[128];
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	f = fopen(path, "w");
	CU_ASSERT_EQUAL(fwrite(data, 1, bytes, f), bytes);
	fclose(f);
}

static void drop(const char *name)
{
	char path[128];

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
	CU_ASSERT_STRING_EQUAL(loaded.command, "./all_reduce_perf --fault=x?");
	CU_ASSERT_STRING_EQUAL(loaded.remarks, "");
	for (int i = 0; i < RANKS; i++) {
		const struct evidence_rank *a = &saved.ranks[i], *b = &loaded.ranks[i];

		CU_ASSERT_EQUAL_FATAL(b->ncalls, i == 2 ? 9 : 10);
		CU_ASSERT_EQUAL(memcmp(a->calls, b->calls, b->ncalls * sizeof(*b->calls)), 0);
		CU_ASSERT_EQUAL(b->view.overdue, a->view.overdue);
		CU_ASSERT_EQUAL(b->view.waited, 1.5);
		CU_ASSERT_EQUAL(b->view.pid, a->view.pid);
		CU_ASSERT_EQUAL(b->view.issued, a->view.issued);
		CU_ASSERT_EQUAL(b->state, a->state);
		CU_ASSERT_STRING_EQUAL(b->syscall, a->syscall);
		CU_ASSERT_EQUAL(b->cpu_share, a->cpu_share);
		CU_ASSERT_FALSE(b->wrapped);
	}
	tear_down();
}

static void test_diagnosis_saved(void)
{
	struct diagnosis d;
	char path[128];
	struct stat st;

	set_up();
	CU_ASSERT_EQUAL_FATAL(load(), 0);
	diagnose(&loaded, &d);
	CU_ASSERT_STRING_EQUAL(d.class, "missing-call");
	CU_ASSERT_STRING_EQUAL(d.ranks, "2");
	CU_ASSERT_EQUAL(d.seq_low, 10);
	CU_ASSERT_EQUAL(diagnosis_save(&d, &loaded, dir, &err), 0);
	for (int i = 0; i < 3; i++) {
		snprintf(path, sizeof(path), "%s/%s", dir,
			 i == 0	  ? "verdict.json"
			 : i == 1 ? "report.txt"
				  : "postmortem.md");
		CU_ASSERT_EQUAL(stat(path, &st), 0);
		CU_ASSERT(st.st_size > 200);
	}
	CU_ASSERT(diagnosis_save(&d, &loaded, "/nowhere/at/all", &err) < 0);
	CU_ASSERT(err.code < 0);
	tear_down();
}

/* Each spoils rank 1's recording; the others' must still be read. */
static void spoil_magic(struct record_memory *m)
{
	m->header.magic[0] = 'X';
}
static void spoil_version(struct record_memory *m)
{
	m->header.version = RECORD_VERSION - 1;
}
static void spoil_layout(struct record_memory *m)
{
	m->header.record_bytes = 72;
}
static void spoil_rank(struct record_memory *m)
{
	m->header.rank = 2;
}

static void test_foreign(void)
{
	static const struct {
		void (*spoil)(struct record_memory *m);
		const char *remark;
	} table[] = {
		{ spoil_magic, "no flight recording" },
		{ spoil_version, "version" },
		{ spoil_layout, "layout" },
		{ spoil_rank, "another rank" },
	};

	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		set_up();
		table[i].spoil(memories[1]);
		put("rank-1.fr", memories[1], sizeof(*memories[1]));
		CU_ASSERT_EQUAL(load(), 0);
		CU_ASSERT_PTR_NOT_NULL(strstr(loaded.remarks, "rank-1.fr"));
		CU_ASSERT_PTR_NOT_NULL(strstr(loaded.remarks, table[i].remark));
		CU_ASSERT_EQUAL(loaded.ranks[1].ncalls, 0);
		CU_ASSERT_EQUAL(loaded.ranks[0].ncalls, 10);
		CU_ASSERT_EQUAL(loaded.ranks[2].ncalls, 9);
		tear_down();
	}
}

static void test_truncated_and_missing(void)
{
	set_up();
	put("rank-0.fr", memories[0], sizeof(*memories[0]) / 2);
	put("rank-1.fr", "", 0);
	CU_ASSERT_EQUAL(load(), 0);
	CU_ASSERT_PTR_NOT_NULL(
		strstr(loaded.remarks, "rank-0.fr cannot be read or has the wrong size"));
	CU_ASSERT_EQUAL(loaded.ranks[2].ncalls, 9);
	drop("rank-1.fr");
	drop("rank-1.json");
	drop("run.json");
	CU_ASSERT_EQUAL(load(), 0);
	CU_ASSERT_EQUAL(loaded.nranks, 3);
	CU_ASSERT_FALSE(loaded.ranks[1].present);
	CU_ASSERT_PTR_NOT_NULL(strstr(loaded.remarks, "rank-1.fr is missing"));
	CU_ASSERT_PTR_NOT_NULL(strstr(loaded.remarks, "run.json is missing"));
	drop("rank-0.fr");
	drop("rank-0.json");
	drop("rank-2.fr");
	drop("rank-2.json");
	CU_ASSERT_EQUAL(load(), -ENOENT);
	put("rank-0.fr", "junk", 4);
	CU_ASSERT_EQUAL(load(), -EINVAL);
	CU_ASSERT_EQUAL(evidence_load(&loaded, "/nowhere/at/all", &err), -ENOENT);
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
	free(rank.calls);
	free(m);
}

/* What the state file alone knows, and what it repeats of a recording that is missing. */
static void test_init_json(void)
{
	set_up();
	saved.ranks[1].view.oom_kills = 2;
	saved.ranks[1].netns = 4026531840;
	saved.ranks[1].view.error_code = -ENOMEM;
	saved.ranks[1].view.comm_state = RECORD_COMM_ABORTED;
	saved.ranks[1].view.init_rank = 1;
	saved.ranks[1].view.init_nranks = 3;
	saved.ranks[1].view.init_id = 0xfedcba9876543210;
	saved.ranks[1].view.aborted_after = 7;
	memories[0]->header.inits[0].state = RECORD_COMM_INIT;
	memories[0]->header.inits[0].nranks = 5;
	memories[0]->header.inits[0].id = 77;
	CU_ASSERT_EQUAL(evidence_save(&saved, (const struct record_memory *const *)memories, dir,
				      &err),
			0);
	CU_ASSERT_EQUAL(remove_file("rank-1.fr"), 0);
	CU_ASSERT_EQUAL(load(), 0);
	CU_ASSERT_EQUAL(loaded.ranks[1].view.oom_kills, 2);
	CU_ASSERT_EQUAL(loaded.ranks[1].netns, 4026531840);
	CU_ASSERT_EQUAL(loaded.ranks[1].view.error_code, -ENOMEM);
	CU_ASSERT_EQUAL(loaded.ranks[1].view.comm_state, RECORD_COMM_ABORTED);
	CU_ASSERT_EQUAL(loaded.ranks[1].view.init_rank, 1);
	CU_ASSERT_EQUAL(loaded.ranks[1].view.init_nranks, 3);
	CU_ASSERT_EQUAL(loaded.ranks[1].view.init_id, 0xfedcba9876543210);
	CU_ASSERT_EQUAL(loaded.ranks[1].view.aborted_after, 7);
	/* where there is a recording, it has the word */
	CU_ASSERT_EQUAL(loaded.ranks[0].view.comm_state, RECORD_COMM_INIT);
	CU_ASSERT_EQUAL(loaded.ranks[0].view.init_nranks, 5);
	CU_ASSERT_EQUAL(loaded.ranks[0].view.init_id, 77);
	CU_ASSERT_EQUAL(loaded.ranks[2].view.init_id, 0);
	tear_down();
}

static void test_hostile_json(void)
{
	static const char *const texts[] = {
		"",
		"[",
		"[]",
		"{}",
		"{\"version\":9}",
		"\xff\xfe",
		"{\"version\":1,\"rank\":1,\"process\":99,\"status\":1e99,\"pid\":-5,\"waited\":-1,"
		"\"syscall\":\"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa\",\"state\":"
		"7}",
	};
	const char *run = "{\"version\":1,\"nranks\":99999999999,\"backend\":5}";

	set_up();
	put("run.json", run, strlen(run));
	put("rank-1048577.fr", "x", 1); /* above the limit: not looked at */
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		put("rank-1.json", texts[i], strlen(texts[i]));
		CU_ASSERT_EQUAL(load(), 0);
		CU_ASSERT_EQUAL(loaded.nranks, RANKS);
		CU_ASSERT_EQUAL(loaded.ranks[1].view.process, PROCESS_ALIVE);
		CU_ASSERT_EQUAL(loaded.ranks[1].view.pid, 0);
		CU_ASSERT_EQUAL(loaded.ranks[1].view.waited, 0);
		CU_ASSERT(strlen(loaded.ranks[1].syscall) < sizeof(loaded.ranks[1].syscall));
	}
	tear_down();
}

static void test_random_bytes(void)
{
	struct diagnosis d;

	srand(11);
	for (int round = 0; round < 60; round++) {
		unsigned char *bytes;

		set_up();
		bytes = (unsigned char *)memories[1];
		for (int k = 0; k < 1 << (round % 12);
		     k++) /* header beyond the layout, and first records */
			bytes[24 + (size_t)rand() % (sizeof(struct record_header) + 10 * 64)] =
				(unsigned char)rand();
		memories[1]->header.rank = -1;
		put("rank-1.fr", memories[1], sizeof(*memories[1]));
		CU_ASSERT_EQUAL_FATAL(load(), 0);
		CU_ASSERT(loaded.ranks[1].ncalls <= RECORD_RING);
		diagnose(&loaded, &d);
		CU_ASSERT_EQUAL(diagnosis_save(&d, &loaded, dir, &err), 0);
		tear_down();
	}
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
	evidence_probe(&saved);
	for (int i = 0; i < RANKS; i++) {
		CU_ASSERT_EQUAL(saved.ranks[i].state, expected[i].state);
		CU_ASSERT(saved.ranks[i].cpu_share >= expected[i].least);
		CU_ASSERT(saved.ranks[i].cpu_share <= expected[i].most);
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
	{ "diagnosis and its files", test_diagnosis_saved },
	{ "magic, version, layout, rank", test_foreign },
	{ "init, aborts, memory", test_init_json },
	{ "truncated and missing files", test_truncated_and_missing },
	{ "torn records, wrapped ring, hostile numbers", test_torn_and_wrapped },
	{ "hostile JSON", test_hostile_json },
	{ "random bytes", test_random_bytes },
	{ "probing live processes", test_probe },
};

int main(void)
{
	return unit_main("evidence", cases, sizeof(cases) / sizeof(cases[0]));
}
