/* mpi_test_reconcile.c: ranks with made-up GPUs and rows: looked at twice, explained. */
/* ranks: 3 */
#include "rig/unit.h"

#include "rig/job_rig.h"

#include "rig/fake_backend.h"
#include "reconcile/reconcile.h"

static struct error err;
static struct job job;
static const char *product;

static void name_device(int device, char *buf, size_t len)
{
	snprintf(buf, len, "0000:%02x:00.0", device);
}

static void facts(struct backend *be, struct backend_facts *to)
{
	memset(to, 0, sizeof(*to));
	snprintf(to->device, sizeof(to->device), "%s", product);
	snprintf(to->bus_id, sizeof(to->bus_id), "0000:%02x:00.0", 0x40 + job.rank);
}

static const struct backend_ops gpus = {
	.name = "nccl", .flags = BACKEND_FLAGS_NCCL, .device_name = name_device, .facts = facts
};
static const struct collective all_reduce = { .name = "all_reduce" };

static char remarks[16384];

static int keep_remark(struct sink *sink, const char *line)
{
	strncat(remarks, line, sizeof(remarks) - strlen(remarks) - 2);
	strcat(remarks, "\n");
	return 0;
}

static const struct sink_ops sink_ops = { .comment = keep_remark };
static struct sink sink = { .ops = &sink_ops, .err = &err };
static struct report report = { .sinks = { &sink }, .n = 1 };

static struct options options;
static struct fake fake;
static struct bench bench;
static struct reconcile reconcile;
static struct predict predictions; /* NCCL's own topology: 18 links, but one GPU has 17 */

static const struct predict *set_up(bool ask)
{
	err = (struct error){ .rank = job.rank };
	options = (struct options){ .topo = "live", .good = 80, .low = 50, .reconcile = ask };
	product = "NVIDIA H200";
	fake.be.ops = &gpus;
	bench = (struct bench){ .collective = &all_reduce,
				.options = &options,
				.err = &err,
				.job = &job,
				.backend = &fake.be };
	memset(&reconcile, 0, sizeof(reconcile));
	memset(&predictions, 0, sizeof(predictions));
	predictions.hooks.ctx = &predictions;
	remarks[0] = '\0';
	strcpy(predictions.dump, "topo.xml");
	predictions.sys.ngpus = 3;
	for (int i = 0; i < 3; i++)
		predictions.sys.gpu[i].switch_links = i == 1 ? 17 : 18;
	predictions.model.hop = MODEL_HOP_NVLINK;
	return job.rank == 0 ? &predictions : NULL;
}

/* A row of that share of its prediction. */
static void feed(const struct run_hook *hooks, uint64_t size, double percent, const char *algo)
{
	struct row row = { .size = size };

	row_no_prediction(&row);
	row.of_predicted_percent = percent;
	row.predicted_algo = "Ring";
	row.predicted_proto = "Simple";
	row.predicted_channels = 24;
	row.used_algo = algo;
	row.used_proto = "Simple";
	row.used_channels = 2;
	hooks->row(hooks->ctx, &row);
}

/* All but rank 0 have no hooks. */
static const struct run_hook *look(const struct predict *f)
{
	const struct run_hook *hooks = NULL;

	CU_ASSERT_EQUAL(reconcile_before(&reconcile, &bench, f, false, &hooks), 0);
	CU_ASSERT_EQUAL(hooks != NULL, job.rank == 0);
	return hooks;
}

static int count_gpus(const struct reading *host)
{
	int n = 0;

	for (size_t at = 0; reading_next(host, "bus", &at);)
		n++;
	return n;
}

UNIT_TEST(test_slow, "slow rows")
{
	const struct run_hook *hooks = look(set_up(false));

	if (hooks) {
		feed(hooks, 1 << 20, 70, "Ring");
		feed(hooks, 64 << 20, 40.25, "Ring");
		feed(hooks, 128 << 20, 95, "Ring");
		feed(hooks, 1 << 10, 3, "Tree"); /* too small to say anything */
	}
	CU_ASSERT_EQUAL(reconcile_after(&reconcile), 0);
	if (hooks) {
		UNIT_ALL(hooks->finish(hooks->ctx, &report) == 0,
			 strstr(remarks,
				"The slowest row, of 67108864 bytes, reaches 40.2 % of its "
				"prediction (Ring/Simple)\n") != NULL,
			 strstr(remarks,
				"cause: nvlinks: NVLinks are missing: NCCL found 17 NVLinks on a "
				"GPU that should have 18") != NULL,
			 strstr(remarks, "cause: channels: NCCL used fewer channels than "
					 "predicted: 2 where 24") != NULL,
			 strstr(remarks, "cause: choice") == NULL,
			 strstr(remarks, "not seen: transport, rings: NCCL was not asked to log") !=
				 NULL);
		UNIT_ALL(reconcile.observation.nhosts == 1,
			 count_gpus(&reconcile.observation.before[0]) == 3,
			 !strcmp(reading_text(&reconcile.observation.after[0], "GPU 0000:42:00.0",
					      "bus"),
				 "0000:42:00.0"),
			 reading_value(&reconcile.observation.before[0], "rank 2", "pid") > 0,
			 reading_step(&reconcile.observation.before[0],
				      &reconcile.observation.after[0], "rank 1", "cpu_ns") >= 0,
			 reconcile.observation.after[0].seconds >
				 reconcile.observation.before[0].seconds);
	}
	reconcile_release(&reconcile);
}

/* Good rows are left alone without --reconcile. */
UNIT_TEST(test_good, "good rows")
{
	for (int ask = 0; ask < 2; ask++) {
		const struct run_hook *hooks = look(set_up(ask));

		if (hooks)
			feed(hooks, 64 << 20, 80, "Ring");
		CU_ASSERT_EQUAL(reconcile_after(&reconcile), 0);
		if (hooks) {
			CU_ASSERT_EQUAL(hooks->finish(hooks->ctx, &report), 0);
			CU_ASSERT_PTR_NULL(strstr(remarks, "The slowest row"));
			CU_ASSERT_EQUAL(strstr(remarks, "cause: nvlinks") != NULL, ask == 1);
			CU_ASSERT_EQUAL(remarks[0] != '\0', ask == 1);
		}
		reconcile_release(&reconcile);
	}
}

/* NVLinks that a product should have: modules all of theirs, cards an unknown number. */
UNIT_TEST(test_products, "products")
{
	static const struct {
		const char *product;
		int links;
	} products[] = {
		{ "NVIDIA H200", 18 },		 { "NVIDIA H100 80GB HBM3", 18 },
		{ "NVIDIA A100-SXM4-80GB", 12 }, { "Tesla V100-SXM2-16GB", 6 },
		{ "NVIDIA B200", 18 },		 { "NVIDIA GB200", 18 },
		{ "NVIDIA H100 PCIe", -1 },	 { "NVIDIA H200 NVL", -1 },
		{ "NVIDIA A100-PCIE-40GB", -1 }, { "NVIDIA GH200 480GB", -1 },
		{ "NVIDIA RTX A6000", -1 },	 { "NVIDIA H100 80GB HBM3 MIG 1g.10gb", -1 },
		{ "Something else", -1 },
	};

	UNIT_ROWS(row, products) {
		set_up(false);
		product = row->product;
		look(NULL);
		if (job.rank == 0) {
			const struct reading *run = &reconcile.observation.run;

			CU_ASSERT_EQUAL(reading_value(run, "run", "links"), row->links);
			CU_ASSERT_EQUAL(reading_value(run, "run", "links_found"), -1);
		}
		reconcile_release(&reconcile);
	}
}

UNIT_TEST(test_none, "no look")
{
	set_up(false);
	CU_ASSERT_EQUAL(reconcile_after(&reconcile), 0);
	reconcile_release(&reconcile);
}

int main(void)
{
	int rc;

	if (rig_job_open(&job, NULL, &err) < 0)
		return 1;
	rc = unit_main();
	job_release(&job);
	return rc;
}
