/* test_evidence_hostile.c: evidence in torn, truncated, foreign, random and missing files. */
#include "find/find.h"
#include "rig/evidence_saved.h"

static void drop(const char *name)
{
	char path[UNIT_PATH];

	snprintf(path, sizeof(path), "%s/%s", saved_dir, name);
	CU_ASSERT_EQUAL(unlink(path), 0);
}

#define AT(field) offsetof(struct saved_header, field)

UNIT_TEST(test_foreign, "magic, version, layout, rank")
{
	static const struct {
		size_t at; /* in rank 1's file; the others' must still be read */
		const char *bytes, *remark;
	} table[] = {
		{ AT(magic), "X", "rank-1.fr is no saved evidence." },
		/* the whole memory, as it was once saved */
		{ AT(magic), RECORD_MAGIC, "rank-1.fr is no saved evidence." },
		{ AT(version), "\1",
		  "rank-1.fr has another format version: version 7 alone is read, an older file by "
		  "the hangar that wrote it." },
		{ AT(record_bytes), "\110", "rank-1.fr has another layout." },
		{ AT(rank), "\2", "rank-1.fr says that it is another rank's." },
		{ sizeof(struct saved_header) + offsetof(struct record_header, version), "\377",
		  "rank-1.fr holds another recorder's version or layout." },
		{ AT(records), "\377\377\377\377",
		  "rank-1.fr announces more records than any ring holds." },
		{ AT(sites), "\377\377\377\377",
		  "rank-1.fr announces more lines of code than there can be." },
	};

	UNIT_ROWS(row, table) {
		struct saved_header *h;
		size_t bytes;

		saved_set_up();
		h = saved_image(&bytes);
		memcpy((char *)h + row->at, row->bytes, strlen(row->bytes));
		saved_put("rank-1.fr", h, bytes);
		free(h);
		UNIT_ALL(saved_load() == 0, !strcmp(loaded.remarks, row->remark),
			 !loaded.ranks[1].present, loaded.ranks[1].ncalls == 0,
			 loaded.ranks[0].ncalls == 10, loaded.ranks[2].ncalls == 9);
		saved_tear_down();
	}
}

UNIT_TEST(test_truncated_and_missing, "truncated and missing files")
{
	struct saved_header *h;
	clock_t began;
	size_t bytes;

	saved_set_up();
	h = saved_image(&bytes);
	saved_put("rank-1.fr", h, bytes - 160 - 3 * 64 - 10); /* six whole records are left */
	UNIT_ALL(saved_load() == 0,
		 !strcmp(loaded.remarks, "rank-1.fr is cut off: its newest 4 records are missing."),
		 loaded.ranks[1].ncalls == 6);
	for (size_t n = 0; n < bytes; n += 97) { /* wherever it ends */
		saved_put("rank-1.fr", h, n);
		UNIT_ALL(saved_load() == 0, strlen(loaded.remarks) > 0,
			 loaded.ranks[1].ncalls < 10 || n >= bytes - 160,
			 loaded.ranks[1].times == NULL);
	}
	free(h);
	saved_put("rank-262143.fr", "",
		  0); /* those between have no files, and cost no look for any */
	began = clock();
	UNIT_ALL(saved_load() == 0, loaded.nranks == 262144,
		 clock() - began < 3 * CLOCKS_PER_SEC / 2);
	drop("rank-262143.fr");
	saved_put("rank-0.fr", "", 0);
	CU_ASSERT_EQUAL(saved_load(), 0);
	CU_ASSERT_PTR_NOT_NULL(strstr(loaded.remarks, "rank-0.fr is too short to be evidence."));
	CU_ASSERT_EQUAL(loaded.ranks[2].ncalls, 9);
	drop("rank-1.fr");
	drop("run.json");
	UNIT_ALL(saved_load() == 0, loaded.nranks == 3, !loaded.ranks[1].present,
		 strstr(loaded.remarks, "rank-1.fr is missing: nothing is known") != NULL,
		 strstr(loaded.remarks, "run.json is missing") != NULL, loaded.uncounted);
	drop("rank-0.fr");
	drop("rank-2.fr");
	CU_ASSERT_EQUAL(saved_load(), -ENOENT);
	saved_put("rank-0.fr", "junk", 4);
	UNIT_ALL(saved_load() == -EINVAL,
		 evidence_load_all(&loaded, (const char *const[]){ "/nowhere/at/all" }, 1,
				   &saved_err) == -ENOENT);
	saved_tear_down();
}

UNIT_TEST(test_unsound_records, "unsound records")
{
	struct saved_header *h;
	struct record *calls;
	size_t bytes;

	saved_set_up();
	h = saved_image(&bytes);
	calls = (struct record *)((char *)(h + 1) + sizeof(struct record_header));
	calls[2].ticket = 2;   /* before the one before it */
	calls[4].kind = 200;   /* no such call */
	calls[6].comm = 65535; /* no such communicator */
	calls[7].seq = 1;      /* backwards */
	calls[8].ticket = 11;  /* more than were made */
	saved_put("rank-1.fr", h, bytes);
	free(h);
	UNIT_ALL(saved_load() == 0,
		 !strcmp(loaded.remarks, "Rank 1: 5 of 10 records are unsound."));
	CU_ASSERT_EQUAL_FATAL(loaded.ranks[1].ncalls, 5);
	UNIT_ALL(loaded.ranks[1].calls[2].ticket == 4, loaded.ranks[1].calls[4].ticket == 10);
	CU_ASSERT_EQUAL(loaded.ranks[1].times[4].start_ns, 70); /* closed up alike */
	UNIT_ALL(loaded.ranks[1].times[4].end_ns == 90, !loaded.ranks[1].index.plain);
	saved_tear_down();
}

#define NOT_OURS                                                                                   \
	"", "[", "[]", "{}", "{\"version\":9}", "\xff\xfe",                                        \
		"{\"version\":1,\"nranks\":99999999999,\"backend\":5}",                            \
		"{\"version\":1,\"nranks\":-3,\"command\":{}}"

UNIT_TEST(test_hostile_json, "hostile JSON")
{
	static const char *const texts[] = { NOT_OURS };

	saved_set_up();
	saved_put("rank-1048577.fr", "x", 1); /* above the limit: not looked at */
	saved_put("rank-01.fr", "x", 1);
	for (size_t i = 0; i < LENGTH(texts); i++) {
		saved_put("run.json", texts[i], strlen(texts[i]));
		UNIT_ALL(saved_load() == 0, loaded.nranks == RANKS, !strcmp(loaded.backend, ""),
			 !strcmp(loaded.command, ""));
	}
	saved_tear_down();
}

/* Numbers out of range and texts without end in a header that is otherwise right. */
UNIT_TEST(test_hostile_header, "hostile header")
{
	struct saved_header *h;
	size_t bytes;

	saved_set_up();
	h = saved_image(&bytes);
	h->view.process = 99;
	h->view.status = -7;
	h->view.pid = -5;
	h->view.phase = 1u << 31;
	h->view.waited = -1;
	h->cpu_share = 0.0 / 0.0;
	h->state = '\33';
	memset(h->syscall, '\n', sizeof(h->syscall));
	memset(h->view.what, 'w', sizeof(h->view.what));
	memset(h->view.error, 0x80, sizeof(h->view.error));
	saved_put("rank-1.fr", h, bytes);
	free(h);
	UNIT_ALL(saved_load() == 0, loaded.ranks[1].view.process == PROCESS_ALIVE,
		 loaded.ranks[1].view.status == -1, loaded.ranks[1].view.pid == 0,
		 loaded.ranks[1].view.phase == 0, loaded.ranks[1].view.waited == 0,
		 loaded.ranks[1].cpu_share == -1, loaded.ranks[1].state == 0,
		 !strcmp(loaded.ranks[1].syscall, "???????????????????????"),
		 strlen(loaded.ranks[1].view.what) == 39, loaded.ranks[1].view.error[254] == '?');
	CU_ASSERT(loaded.ranks[1].view.error[255] == '\0');
	saved_tear_down();
}

UNIT_TEST(test_random_bytes, "random bytes")
{
	struct answer d;

	srand(11);
	for (int round = 0; round < unit_times(120); round++) {
		size_t bytes, from = round % 2 ? 12 : sizeof(struct saved_header);
		struct saved_header *h;

		saved_set_up();
		h = saved_image(&bytes);
		for (int k = 0; k < 1 << (round % 12); k++)
			((unsigned char *)h)[from + (size_t)rand() % (bytes - from)] =
				(unsigned char)rand();
		saved_put("rank-1.fr", h, bytes);
		free(h);
		CU_ASSERT_EQUAL_FATAL(saved_load(), 0);
		CU_ASSERT(loaded.ranks[1].ncalls <= 10);
		find_answer(&loaded, NULL, &d);
		CU_ASSERT(answer_save(&d, &loaded, saved_dir, &saved_err) >= 0);
		saved_tear_down();
	}
}
