/* test_nccl_seen.c: which logs are read, what they say, and asking NCCL for them. */
#include "rig/unit.h"

#include "reconcile/nccl_seen.h"
#include "rig/tree.h"

static struct observation seen;
static const struct nccl_asked not_asked;

static void add_setting(const char *name, const char *value)
{
	reading_say(&seen.before[0], "environment", name, value);
}

/* A host, and four ranks of it. */
static void set_up(void)
{
	observation_release(&seen);
	observation_init(&seen, 1);
	strcpy(seen.before[0].host, "vm.example.org");
	for (int r = 0; r < 4; r++) {
		char part[24];

		snprintf(part, sizeof(part), "rank %d", r);
		reading_state(&seen.before[0], part, "pid", 900 + r);
	}
}

static int number(const char *name)
{
	return (int)reading_value(&seen.run, "NCCL", name);
}

static const char *text(const char *name)
{
	return reading_text(&seen.run, "NCCL", name);
}

UNIT_TEST(test_names, "names of logs")
{
	static const struct {
		const char *pattern, *name; /* NULL: too long, or none */
	} names[] = {
		{ "nccl-%h-%p.log", "nccl-vm-42.log" },
		{ "%%h", "%h" },
		{ "a%", "a%" },
		{ "a%x", "a%x" },
		{ "%p%p", "4242" },
		{ "", NULL },
		{ "a-name-that-is-too-long-to-fit", NULL },
	};
	char name[24];

	UNIT_ROWS(row, names) {
		bool fits = nccl_seen_name(row->pattern, "vm.example.org", 42, name, sizeof(name));

		CU_ASSERT_EQUAL(fits, row->name != NULL);
		if (row->name)
			CU_ASSERT_STRING_EQUAL(name, row->name);
	}
}

/* A log of four H200 in one file: 24 channels, all over P2P, no NVLS. */
UNIT_TEST(test_real_log, "a real log")
{
	set_up();
	add_setting("NCCL_DEBUG", "INFO");
	add_setting("NCCL_DEBUG_FILE", "ci/tests/data/nccl_log_h200x4.log");
	nccl_seen_read(&not_asked, &seen);
	UNIT_ALL(number("logs") == 4, !strcmp(text("why"), ""), !strcmp(text("network"), "Socket"),
		 number("coll_channels") == 24, number("nvls") == 0);
	CU_ASSERT_EQUAL(number("p2p"), 8); /* as many lines say so */
	UNIT_ALL(number("shm") == 0, number("far") == 0, !text("finding_0")[0]);
}

#define LINE(pid, dev, text) "vm:" #pid ":" #pid " [" #dev "] NCCL INFO " text "\n"
#define START(pid, rank)                                                                           \
	LINE(pid, rank,                                                                            \
	     "ncclCommInitRank comm 0x1" #rank " rank " #rank " nranks 4 cudaDev " #rank           \
	     " nvmlDev " #rank " busId 60 commId 0x77 - Init START")

/* Ranks 0 and 1 here, 2 and 3 elsewhere; the files of the latter are not here. */
UNIT_TEST(test_made_up, "two of four ranks")
{
	static const struct tree_file files[] = {
		{ "/nccl-vm-900.log",
		  START(900, 0) LINE(900, 0, "Using network IB")
			  LINE(900, 0, "Channel 00 : 0[0] -> 1[1] via SHM/direct/direct")
				  LINE(900, 0, "Connected all rings, use ring PXN 0 GDR 1"),
		  0 },
		{ "/nccl-vm-901.log",
		  START(901, 1) LINE(901, 1,
				     "Channel 00/0 : 1[1] -> 2[0] [send] via NET/IB/0/GDRDMA")
			  LINE(901, 1,
			       "Channel 01/0 : 1[1] -> 2[0] [send] via NET/IB/0(0)/GDRDMA/Shared")
				  LINE(901, 1, "Channel 02/0 : 1[1] -> 3[1] [send] via NET/IB/1")
					  LINE(901, 1,
					       "Channel 00/0 : 3[1] -> 0[0] [receive] via "
					       "NET/IB/1"),
		  0 },
		{ NULL, NULL, 0 },
	};
	struct nccl_asked asked;

	set_up();
	snprintf(asked.pattern, sizeof(asked.pattern), "%.200s/nccl-%%h-%%p.log", tree_make(files));
	nccl_seen_read(&asked, &seen);
	tree_remove();
	UNIT_ALL(number("logs") == 2, strstr(text("why"), "2 of 4 ranks") != NULL,
		 !strcmp(text("network"), "IB"), number("gdr") == 1, number("shm") == 1,
		 !strcmp(text("shm_example"), "0 -> 1 via SHM/direct/direct"), number("far") == 3,
		 number("far_gdr") == 2, number("far_pxn") == 1,
		 !strcmp(text("far_example"), "1 -> 3 via NET/IB/1"));
}

UNIT_TEST(test_no_log, "no log")
{
	static const struct {
		const char *level, *file, *why;
	} table[] = {
		{ NULL, NULL, "--reconcile" },
		{ "WARN", "x", "--reconcile" },
		{ "INFO", NULL, "went to the terminal" },
		{ "info", "/no/such/folder/%p", "0 of 4 ranks" },
		{ "TRACE", "/tmp", "0 of 4 ranks" }, /* no file */
	};

	UNIT_ROWS(row, table) {
		set_up();
		if (row->level)
			add_setting("NCCL_DEBUG", row->level);
		if (row->file)
			add_setting("NCCL_DEBUG_FILE", row->file);
		nccl_seen_read(&not_asked, &seen);
		UNIT_ALL(number("logs") == 0, number("p2p") == -1,
			 strstr(text("why"), row->why) != NULL);
	}
	observation_release(&seen);
	nccl_seen_read(&not_asked, &seen);
	CU_ASSERT_EQUAL(number("logs"), 0);
	observation_release(&seen);
}

UNIT_TEST(test_asking, "asking for one")
{
	struct nccl_asked asked = { .pattern = "stale" };
	char folder[300];

	unsetenv("NCCL_DEBUG");
	unsetenv("NCCL_DEBUG_FILE");
	unsetenv("NCCL_DEBUG_SUBSYS");
	nccl_seen_ask(&asked, "/run/x");
	CU_ASSERT_STRING_EQUAL(asked.pattern, "/run/x/nccl-%h-%p.log");
	CU_ASSERT_STRING_EQUAL(getenv("NCCL_DEBUG"), "INFO");
	CU_ASSERT_STRING_EQUAL(getenv("NCCL_DEBUG_FILE"), asked.pattern);
	CU_ASSERT_PTR_NULL(strstr(getenv("NCCL_DEBUG_SUBSYS"), "COLL"));
	nccl_seen_asked(&asked);
	UNIT_ALL(getenv("NCCL_DEBUG") == NULL, getenv("NCCL_DEBUG_FILE") == NULL,
		 getenv("NCCL_DEBUG_SUBSYS") == NULL);
	/* the user's stays the user's */
	setenv("NCCL_DEBUG", "WARN", 1);
	nccl_seen_ask(&asked, "/run/x");
	CU_ASSERT_STRING_EQUAL(asked.pattern, "");
	nccl_seen_asked(&asked);
	CU_ASSERT_STRING_EQUAL(getenv("NCCL_DEBUG"), "WARN");
	unsetenv("NCCL_DEBUG");
	memset(folder, 'x', sizeof(folder) - 1);
	folder[sizeof(folder) - 1] = '\0';
	nccl_seen_ask(&asked, folder);
	UNIT_ALL(!strcmp(asked.pattern, ""), getenv("NCCL_DEBUG") == NULL);
}
