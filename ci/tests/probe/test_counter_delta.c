/* test_counter_delta.c: counters in verdicts and reports; their file, whatever is in it. */
#include "rig/unit.h"

#include "machine/reading.h"
#include "evidence/evidence.h"
#include "answer/counter_delta.h"
#include "probe/probe.h"
#include "rig/tree.h"

#define RANKS 8
#define LINE  "Host vm, during the run: "

static struct evidence evidence;
static struct answer diagnosis;
static char *page;

static void set_up(void)
{
	evidence = (struct evidence){ .nranks = RANKS };
	evidence.ranks = calloc(RANKS, sizeof(*evidence.ranks));
	CU_ASSERT_PTR_NOT_NULL_FATAL(evidence.ranks);
	for (int i = 0; i < RANKS; i++)
		evidence.ranks[i].present = true;
	diagnosis = (struct answer){ .nnotes = 1 };
}

static void tear_down(void)
{
	evidence_release(&evidence);
	free(page);
	page = NULL;
}

/* A difference over 10 s, of "PART NAME VALUE" entries. */
static void give(int rank, const char *const *entries)
{
	struct reading counters = { .host = "vm", .seconds = 10 };
	char part[40], name[24], *text;
	long long value;

	for (; *entries; entries++) {
		CU_ASSERT_EQUAL_FATAL(sscanf(*entries, "%39[^|]|%23s %lld", part, name, &value), 3);
		if (strcmp(name, "clock_reasons") == 0 || strncmp(name, "remap_", 6) == 0 ||
		    strcmp(name, "gone") == 0 || strstr(name, "mhz"))
			reading_state(&counters, part, name, value);
		else
			reading_count(&counters, part, name, value);
	}
	text = reading_dump(&counters, true);
	CU_ASSERT_TRUE(evidence_parse_counters(&evidence.ranks[rank], text));
	free(text);
	reading_release(&counters);
}

/* The text on the screen, or on the page. */
static const char *printed(bool of_page)
{
	free(page);
	page = UNIT_PRINTED(out, counter_delta_print(out, &evidence, of_page));
	return page;
}

UNIT_TEST(test_lines, "what speaks")
{
	static const struct {
		const char *entries[8];
		const char *line; /* NULL: nothing is said */
	} cases[] = {
		{ { "TCP|sent 900", "TCP|resent 12", "eth0|rx_dropped 1", "GPU 2|link_replays 4",
		    "GPU 2|clock_reasons 4", "GPU 2|sm_mhz 1200", "GPU 2|sm_max_mhz 1980", NULL },
		  LINE "TCP: 12 of 900 segments sent again; eth0: 1 incoming packet dropped; "
		       "GPU 2: power cap, at 1200 of 1980 MHz, 4 NVLink replays." },
		{ { "TCP|sent 100000", "TCP|resent 0", "eth0|rx_bytes 7", "RDMA m:1|tx_wait 9",
		    "GPU 0|clock_reasons 1", "GPU 0|ecc_corrected 0", NULL },
		  NULL },
		/* a loopback sends a few again; one in a hundred, or one after a timeout, is another matter */
		{ { "TCP|sent 10000", "TCP|resent 99", "TCP|timeouts 0", NULL }, NULL },
		{ { "TCP|sent 10000", "TCP|resent 100", "TCP|timeouts 0", NULL },
		  LINE "TCP: 100 of 10000 segments sent again." },
		{ { "TCP|sent 10000", "TCP|resent 1", "TCP|timeouts 1", NULL },
		  LINE "TCP: 1 timeout." },
		/* healthy links count CRC errors; beside replays they say something */
		{ { "GPU 0|link_crc 50", "GPU 0|link_replays 0", NULL }, NULL },
		{ { "GPU 0|link_crc 50", "GPU 1|link_replays 1", NULL },
		  LINE "GPU 1: 1 NVLink replay." },
		{ { "GPU 0|link_replays 2", "GPU 0|link_crc 50", NULL },
		  LINE "GPU 0: 2 NVLink replays, 50 NVLink CRC errors." },
		/* 1 % of 10 s is 0.1 s; how long goes before what holds now */
		{ { "GPU 0|power_ns 99000000", NULL }, NULL },
		{ { "GPU 0|power_ns 1500000000", "GPU 0|clock_reasons 4", NULL },
		  LINE "GPU 0: clocks held down for power for 1.50 s of 10.00 s." },
		{ { "GPU 0|thermal_ns 200000000", "GPU 0|pcie_replays 1", NULL },
		  LINE "GPU 0: clocks held down for heat for 0.20 s of 10.00 s, 1 PCIe replay." },
		{ { "GPU 3|gone 1", "GPU 4|remap_pending 1", "GPU 5|remap_failed 0", NULL },
		  LINE "GPU 3: no longer answers; GPU 4: memory rows wait to be replaced (reset "
		       "the GPU)." },
		{ { "RDMA m:1|link_downed 2", "RDMA m:1|symbol_errors 1", "eth1|carrier_lost 1",
		    NULL },
		  LINE "RDMA m:1: link lost 2 times, 1 symbol error; eth1: link lost 1 time." },
		{ { "no such part|no_such_name 5", NULL }, NULL },
	};

	UNIT_ROWS(c, cases) {
		set_up();
		give(3, c->entries);
		counter_delta_note(&evidence, &diagnosis);
		CU_ASSERT_EQUAL(diagnosis.nnotes, c->line ? 2 : 1);
		if (c->line)
			CU_ASSERT_STRING_EQUAL(diagnosis.notes[1], c->line);
		tear_down();
	}
}

/* More than a line holds, more hosts than are named, no lines left. */
UNIT_TEST(test_much, "more than fits")
{
	static const char *const one[] = { "TCP|timeouts 1", NULL };
	const char *const rows[] = {
		"enp1s0f0np0|rx_dropped 123456789", "enp1s0f1np1|rx_dropped 123456789",
		"enp2s0f0np0|rx_dropped 123456789", "enp2s0f1np1|rx_dropped 123456789",
		"enp3s0f1np1|rx_dropped 123456789", NULL
	};
	const char *line = diagnosis.notes[1];

	set_up();
	give(0, rows);
	counter_delta_note(&evidence, &diagnosis);
	UNIT_ALL(strlen(line) < sizeof(diagnosis.notes[0]) - 1,
		 strstr(line, "; enp1s0f1np1: 123456789 incoming packets dropped; "
			      "3 more.") != NULL);
	tear_down();
	set_up();
	for (int i = 0; i < RANKS; i++)
		give(i, one);
	counter_delta_note(&evidence, &diagnosis);
	UNIT_ALL(diagnosis.nnotes == 1 + 4 + 1,
		 !strcmp(diagnosis.notes[5],
			 "Counters of 4 more hosts speak, too: see postmortem.md."));
	diagnosis.nnotes = ANSWER_NOTES - 1; /* NCCL has a word to say, too */
	counter_delta_note(&evidence, &diagnosis);
	CU_ASSERT_EQUAL(diagnosis.nnotes, ANSWER_NOTES - 1);
	tear_down();
}

UNIT_TEST(test_reports, "reports")
{
	static const char *const moved[] = { "TCP|resent 12", "eth0|rx_dropped 0", "GPU 2|a|b 5",
					     NULL };
	static const char *const still[] = { "TCP|resent 0", NULL };

	set_up();
	UNIT_ALL(!strcmp(printed(false), "counters    none were read\n"),
		 !strcmp(printed(true), "\n### Counters\n\nNo counters were read.\n"));
	give(1, moved);
	give(4, still);
	UNIT_ALL(!strcmp(printed(false),
			 "counters    vm: 3 counters over 10.0 s, 1 of them 0\ncounters    vm: 1 "
			 "counter over 10.0 s, 1 of them 0\n"),
		 !strcmp(printed(true),
			 "\n### Counters\n\nHost vm: 3 counters over 10.0 s, 1 of them 0.\n\n| | | "
			 "|\n|---|---|---|\n| TCP | resent | 12 |\n| GPU 2 | a?b | 5 |\n\nHost vm: "
			 "1 counter over 10.0 s, 1 of them 0.\n"));
	tear_down();
}

#define READING(seconds, parts)                                                                    \
	"{\"version\":2,\"host\":\"vm\",\"seconds\":" seconds ",\"why\":\"\",\"parts\":{" parts    \
	"}}\n"

/* Two tasks' texts, whole, cut, or none. */
UNIT_TEST(test_take, "two tasks' texts")
{
	static const char before[] = READING("5", "\"TCP\":{\"counters\":{\"resent\":3}}")
		READING("6", "\"NVML\":{\"states\":{\"gpus\":1}},"
			     "\"GPU 0\":{\"counters\":{\"pcie_replays\":1}}");
	static const char after[] = READING("9", "\"TCP\":{\"counters\":{\"resent\":5}}")
		READING("10", "\"NVML\":{\"states\":{\"gpus\":1}}");
	struct evidence_rank *rank;
	char cut[sizeof(after)];

	set_up();
	rank = &evidence.ranks[0];
	counter_delta_take(rank, before, NULL, true);
	CU_ASSERT_PTR_NULL(rank->counters);
	counter_delta_take(rank, before, "", true);
	CU_ASSERT_PTR_NULL(rank->counters);
	counter_delta_take(rank, before, after, true);
	CU_ASSERT_PTR_NOT_NULL_FATAL(rank->counters);
	UNIT_ALL(reading_value(rank->counters, "TCP", "resent") == 2,
		 reading_value(rank->counters, "GPU 0", "gone") == 1, rank->counters->seconds == 4,
		 !strcmp(rank->counters->why, ""));
	/* the driver takes too long: the host's counters stay, and no GPU is called gone */
	snprintf(cut, sizeof(cut), "%.*s", (int)sizeof(after) - 10, after);
	counter_delta_take(rank, before, cut, true);
	CU_ASSERT_EQUAL(reading_value(rank->counters, "TCP", "resent"), 2);
	CU_ASSERT_EQUAL(reading_value(rank->counters, "GPU 0", "gone"), -1);
	CU_ASSERT_STRING_EQUAL(rank->counters->why, "NVML did not answer");
	/* no earlier reading */
	counter_delta_take(rank, NULL, after, false);
	UNIT_ALL(reading_value(rank->counters, "TCP", "resent") == -1, rank->counters->seconds == 0,
		 !strcmp(printed(false), "counters    vm: 1 counter, at the end only\n"));
	tear_down();
}

/* This host, by real children: the first started earlier, the second beside stacks. */
UNIT_TEST(test_hear, "this host")
{
	static const bool no_gpus;
	struct task before = counter_delta_task(&no_gpus);
	bool local[RANKS] = { [2] = true, [3] = true };

	set_up();
	CU_ASSERT_EQUAL_FATAL(task_begin(&before), 0);
	usleep(200000);
	probe_ranks(&evidence, local, "-", &before);
	free(before.text);
	UNIT_ALL(evidence.ranks[0].counters == NULL, evidence.ranks[3].counters == NULL);
	CU_ASSERT_PTR_NOT_NULL_FATAL(evidence.ranks[2].counters);
	CU_ASSERT_TRUE(evidence.ranks[2].counters->seconds >= 0.1);
	CU_ASSERT_TRUE(reading_value(evidence.ranks[2].counters, "TCP", "resent") >= 0);
	tear_down();
}

/* The folder: there and back; what is torn, or made up, is left out and said. */
UNIT_TEST(test_folder, "the folder")
{
	static const char *const entries[] = { "TCP|resent 12", NULL };
	static const struct tree_file none[] = { { "/empty", "", 0 }, { NULL, NULL, 0 } };
	struct error err = { .rank = -1 };
	const char *dir = tree_make(none);
	char path[PATH_MAX], *text, noise[4096];
	FILE *f;

	set_up();
	give(2, entries);
	CU_ASSERT_EQUAL(evidence_save_texts(&evidence, dir, &err), 0);
	text = evidence_counters_text(&evidence.ranks[2]);
	snprintf(path, sizeof(path), "%s/rank-2.counters.json", dir);
	for (size_t len = strlen(text); len-- > 0;) {
		tear_down();
		set_up();
		CU_ASSERT_EQUAL(truncate(path, (off_t)len), 0);
		evidence_load_texts(&evidence, dir);
		UNIT_ALL(evidence.ranks[2].counters == NULL,
			 !strcmp(evidence.remarks,
				 "rank-2.counters.json is torn or not ours: left out."));
	}
	srand(7);
	for (int round = 0; round < 50; round++) {
		size_t len = strlen(text);

		for (size_t i = 0; i < sizeof(noise); i++)
			noise[i] = i < len && rand() % 20 ? text[i] : (char)rand();
		f = fopen(path, "w");
		CU_ASSERT_PTR_NOT_NULL_FATAL(f);
		fwrite(noise, 1, sizeof(noise), f);
		fclose(f);
		evidence_load_texts(&evidence, dir);
		CU_ASSERT_PTR_NULL(evidence.ranks[2].counters);
	}
	f = fopen(path, "w");
	CU_ASSERT_PTR_NOT_NULL_FATAL(f);
	fputs(text, f);
	fclose(f);
	evidence_load_texts(&evidence, dir);
	CU_ASSERT_PTR_NOT_NULL_FATAL(evidence.ranks[2].counters);
	CU_ASSERT_EQUAL(reading_value(evidence.ranks[2].counters, "TCP", "resent"), 12);
	CU_ASSERT_PTR_NULL(evidence.ranks[1].counters);
	free(text);
	tree_remove();
	tear_down();
}
