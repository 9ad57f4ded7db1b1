/* test_health.c: what rules make of readings; rules that are none. (What the built-in ones say of
 * each counter: test_counter_delta.c, test_causes.c and below.) */
#include "rig/unit.h"

#include "base/parse.h"
#include "machine/health.h"

#define IB "RDMA m:1|rdma 1", "RDMA m:1|link InfiniBand"

static char told[4096], path[UNIT_TEMP];

static void tell(void *ctx, const struct health_finding *f)
{
	if (f->holds)
		snprintf(told + strlen(told), sizeof(told) - strlen(told), "%s%s %s: %s: %s",
			 told[0] ? "; " : "", health_weights[f->weight], f->group, f->part,
			 f->text);
}

/* A difference over 10 s, of "PART|NAME VALUE" states. */
static void fill(struct reading *delta, const char *const *entries)
{
	char part[40], name[48], text[48];
	int64_t value;

	*delta = (struct reading){ .host = "vm", .seconds = 10 };
	for (; *entries; entries++) {
		CU_ASSERT_EQUAL_FATAL(sscanf(*entries, "%39[^|]|%47s %47[^\n]", part, name, text),
				      3);
		if (parse_int(text, 0, INT64_MAX, &value) == 0)
			reading_state(delta, part, name, value);
		else
			reading_say(delta, part, name, text);
	}
}

/* The built-in rules, whose numbers are in the file's comments. */
static const struct {
	const char *entries[8], *told;
} cases[] = {
	{ { "GPU 0|temperature_c 85" }, "" },
	{ { "GPU 0|temperature_c 86" }, "warn heat: GPU 0: 86 C" },
	{ { "GPU 3|xid_31 1", "GPU 3|xids 0", "GPU 3|xid_last 31" }, "" },
	{ { "GPU 3|xid_79 1", "GPU 3|xids 2", "GPU 3|xid_last 79" },
	  "drain xid: GPU 3: Xid 79 in the kernel's log: fallen off the bus; "
	  "warn xids: GPU 3: 2 Xid events, the last 79" },
	{ { "GPU 0|ecc_uncorrected_total 1", "GPU 0|ecc_uncorrected 0" },
	  "drain memory: GPU 0: 1 uncorrected memory error since the driver was loaded" },
	{ { "NVML|failed 1", "NVML|pci_gpus 8", "NVML|why nvmlInit fails with 18" },
	  "drain nvml: NVML: nvmlInit fails with 18; NVIDIA GPUs on PCI: 8" },
	{ { "NVML|failed 1", "NVML|driver_loaded 1", "NVML|why nvmlInit fails with 9" },
	  "drain nvml: NVML: nvmlInit fails with 9, and the driver is loaded" },
	{ { "NVML|missing 1", "NVML|failed 0", "NVML|pci_gpus 1", "NVML|why no library" },
	  "warn nvml: NVML: no library; NVIDIA GPUs on PCI: 1" },
	{ { "NVML|failed 0", "NVML|missing 0", "NVML|pci_gpus 8", "NVML|gpus 8",
	    "NVML|without_driver 0", "NVML|driver_loaded 1" },
	  "" },
	{ { "NVML|pci_gpus 8", "NVML|gpus 7", "NVML|without_driver 1" },
	  "drain driver: NVML: 1 of 8 NVIDIA GPUs on PCI without a driver; "
	  "note hidden: NVML: 7 of 8 NVIDIA GPUs on PCI are in NVML" },
	{ { "NVML|gpus 7", "NVML|gpus_elsewhere 8" },
	  "warn fewer: NVML: 7 GPUs here, 8 elsewhere" },
	{ { "GPU 5|lost 1" }, "drain gone: GPU 5: NVML lists it and can't open it" },
	{ { "NVML|unanswered 1" }, "drain gone: NVML: the driver does not answer" },
	{ { "GPU 0|links 18", "GPU 0|links_active 18" }, "" },
	{ { "GPU 0|links 18", "GPU 0|links_active 0" }, "" }, /* a card without bridges */
	{ { "GPU 0|links 18", "GPU 0|links_active 17" },
	  "drain nvlinks: GPU 0: 17 of 18 NVLinks are up" },
	/* an idle GPU's generation says nothing; two rules of a group speak once */
	{ { "GPU 0|bus 0000:18:00.0", "GPU 0|width 16", "GPU 0|max_width 16", "GPU 0|gen 1",
	    "GPU 0|max_gen 5", "GPU 0|clock_reasons 1" },
	  "" },
	{ { "GPU 0|bus 0000:18:00.0", "GPU 0|width 8", "GPU 0|max_width 16", "GPU 0|gen 4",
	    "GPU 0|max_gen 5", "GPU 0|clock_reasons 0" },
	  "warn pcie: GPU 0: PCIe x8 of x16, generation 4 of 5" },
	{ { "eth0|width 4", "eth0|max_width 8", "eth0|rdma 0" }, "" },
	{ { IB, "RDMA m:1|mtu 4096" }, "" },
	{ { IB, "RDMA m:1|mtu 2048" }, "warn mtu: RDMA m:1: MTU 2048 where 4096 is possible" },
	{ { "eth0|mtu 1500", "eth0|rdma 0", "eth0|link Ethernet", "eth0|state up" }, "" },
	{ { "RDMA m:1|rdma 1", "RDMA m:1|link Ethernet", "RDMA m:1|state up", "RDMA m:1|mtu 1024" },
	  "note mtu: RDMA m:1: RoCE's MTU is 1024" },
	{ { IB, "RDMA m:1|state down", "RDMA m:1|physical Polling" }, "" },
	{ { IB, "RDMA m:1|state down", "RDMA m:1|physical LinkUp" },
	  "drain port: RDMA m:1: the link is up and the port is not active" },
	{ { "RDMA m:1|overruns 1", "RDMA m:1|recoveries 2", "RDMA m:1|ecn_marked 7" },
	  "note network: RDMA m:1: 2 recovered link errors; "
	  "warn network: RDMA m:1: 1 buffer overrun; "
	  "note network: RDMA m:1: 7 packets marked for congestion" },
	{ { "/dev/shm|shm_mib 512", "ptrace|ptrace_refused 0" }, "" },
	{ { "/dev/shm|shm_mib 64", "ptrace|ptrace_refused 1" },
	  "warn shm: /dev/shm: 64 MiB, where NCCL and Open MPI keep memory that ranks share; "
	  "warn ptrace: ptrace: refused: a hang has its verdict, and no stacks" },
	{ { "memory|stalled_us 500000", "memory|available_kib 30", "memory|all_kib 1000" }, "" },
	{ { "memory|stalled_us 500001", "memory|available_kib 29", "memory|all_kib 1000" },
	  "warn pressure: memory: processes waited 500001 us of 10.00 s for memory; "
	  "warn pressure: memory: 29 of 1000 KiB of memory are left" },
	{ { "memory|swapped 10000", "disks|io_stalled_us 2000000" }, "" },
	{ { "memory|swapped 10001", "disks|io_stalled_us 2000001" },
	  "warn pressure: memory: 10001 pages of memory moved to swap or back in 10.00 s; "
	  "warn pressure: disks: processes waited 2000001 us of 10.00 s for disks" },
	{ { "CPU|throttled 3" }, "warn cpu: CPU: CPUs were slowed down 3 times for heat" },
};

UNIT_TEST(test_rules, "the built-in rules")
{
	struct error err = { .rank = -1 };
	struct health *health = health_open(NULL, NULL, &err);

	CU_ASSERT_PTR_NOT_NULL_FATAL(health);
	UNIT_ROWS(c, cases) {
		struct reading delta;

		fill(&delta, c->entries);
		told[0] = '\0';
		health_judge(health, &delta, tell, NULL);
		CU_ASSERT_STRING_EQUAL(told, c->told);
		if (strcmp(told, c->told) != 0)
			printf("\n    '%s'\n", told);
		reading_release(&delta);
	}
	free(health);
}

/* A user's own file: each operator, each refusal with its line. */
UNIT_TEST(test_files, "a user's own")
{
	static const struct {
		const char *text, *told; /* of a: 5, b: 7, w: up, b_ns: 1.5e9 */
	} files[] = {
		{ "g | note | a > 4, a < 6, a !< 5, a = 5 | {a}(s) {none} {w}|",
		  "note g: p: 5s ? up" },
		{ "g | note | a != 5 | x |", "" },
		{ "\n# c\ng | warn | a & 0x4, a !& 2, b > 1.3 a | x {b_ns} |",
		  "warn g: p: x 1.50 s" },
		{ "g | note | b > 1.4 a | x |", "" },
		{ "g | drain | w = up, w != down | x |\nelse g | note | a = 5 | y |\n"
		  "g | note | a = 5 | z |",
		  "drain g: p: x; note g: p: z" },
		{ "g | note | none > 0 | x |", "" },
		{ "\ng | note | a > 0 | x", "line 2: a rule is" },
		{ "g | bad | a > 0 | x |", "line 1: a weight is" },
		{ "g | note | a | x |", "line 1: a condition is" },
		{ "g | note | a ~ 5 | x |", "line 1: a condition is" },
		{ "g | note | a > b 5 | x |", "line 1: a condition is" },
		{ "g | note | none > 1, a >= 1 | x |", "line 1: a condition is" },
		{ "# nothing\n", "no rules" },
		{ "check g | means\n", "line 1: a check is" },
		{ "check g | means | needs | more\n", "line 1: a check is" },
		{ "check g | means | needs\n", "no rules" },
		{ "check g | means | needs\ng | note | a = 5 | x |", "note g: p: x" },
	};
	static const char *const entries[] = { "p|a 5", "p|b 7", "p|w up", "p|b_ns 1500000000",
					       NULL };
	struct reading delta;

	fill(&delta, entries);
	UNIT_ROWS(row, files) {
		struct error err = { .rank = -1 };
		struct health *health;
		FILE *f = fopen(path, "w");

		CU_ASSERT_PTR_NOT_NULL_FATAL(f);
		fputs(row->text, f);
		fclose(f);
		health = health_open(path, NULL, &err);
		told[0] = '\0';
		if (health)
			health_judge(health, &delta, tell, NULL);
		else
			snprintf(told, sizeof(told), "%s", err.text);
		UNIT_ALL(strstr(told, row->told) != NULL, !row->told[0] == !told[0],
			 (health == NULL) == (err.outcome == OUTCOME_USAGE));
		free(health);
	}
	reading_release(&delta);
}

UNIT_MAIN(unit_main_file(path))
