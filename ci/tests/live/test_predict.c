/* test_predict.c: predictions beside rows: when there are any, what they fill in. */
#include "rig/unit.h"

#include "live/predict.h"

static struct options options;
static struct job job;
static struct backend backend;
static struct bench bench;
static struct error err;
static struct predict predictions;
static char text[400];

static void facts(struct backend *be, struct backend_facts *to)
{
	memset(to, 0, sizeof(*to));
	strcpy(to->device, "NVIDIA H200");
}

static const struct backend_ops nccl = { .name = "nccl",
					 .flags = BACKEND_FLAGS_NCCL,
					 .facts = facts };
static const struct backend_ops mpi = { .name = "mpi", .facts = facts };

static void set_up(const char *topo, int nranks, int nnodes)
{
	unsetenv("NCCL_TOPO_DUMP_FILE");
	setenv("NCCL_NVLS_ENABLE", "0", 1);
	setenv("HANGAR_SPECS", "common/predict/topo/specs", 1);
	/* physical constants: they change with knowledge alone */
	setenv("HANGAR_FITTED", "/nowhere", 1);
	options = (struct options){ .topo = topo, .good = 80, .low = 50 };
	job = (struct job){ .nranks = nranks, .nnodes = nnodes, .group_size = nranks };
	backend.ops = &nccl;
	err = (struct error){ .rank = -1 };
	bench = (struct bench){
		.options = &options, .job = &job, .backend = &backend, .err = &err
	};
	memset(&predictions, 0, sizeof(predictions));
}

static const struct predictor *opened(void)
{
	const struct predictor *f = predict_open(&predictions, &bench, text, sizeof(text));

	CU_ASSERT_PTR_NOT_NULL_FATAL(f);
	return f;
}

/* Error bars that begin at `low` and end at `high` of the prediction. */
static void barred(double low, double high)
{
	predictions.model.constants.nbars = 1;
	predictions.model.constants.bar[0] =
		(struct model_bar){ "node-hopper", 2, 9, 2, low, high, 0, 0 };
}

UNIT_TEST(test_refusal, "when there are predictions")
{
	set_up("live", 4, 1);
	CU_ASSERT_PTR_NULL(predict_refusal(&bench, false));
	CU_ASSERT_PTR_NOT_NULL(strstr(predict_refusal(&bench, true), "share a GPU"));
	options.nfaults = 1;
	CU_ASSERT_PTR_NOT_NULL(strstr(predict_refusal(&bench, false), "faults"));
	set_up("live", 4, 1);
	options.split_kind = SPLIT_NONE + 1;
	CU_ASSERT_PTR_NOT_NULL(strstr(predict_refusal(&bench, false), "groups"));
	set_up("none", 4, 1);
	CU_ASSERT_STRING_EQUAL(predict_refusal(&bench, false), "--topo none");
	set_up("live", 4, 1);
	backend.ops = &mpi;
	job.nranks = 4096;
	CU_ASSERT_PTR_NOT_NULL(strstr(predict_refusal(&bench, false), "share cores"));
	options.topo = "hosts.json"; /* measured before, elsewhere */
	CU_ASSERT_PTR_NULL(predict_refusal(&bench, false));
	job.nranks = 1;
	CU_ASSERT_PTR_NOT_NULL(strstr(predict_refusal(&bench, false), "no pair"));
}

/* The same run without predictions: --min-percent and a spec end it with the reason, what is no
 * topology at all is told as that, live and none pass. */
static void refuses(bool shared_gpu, const char *why, const char *of_spec)
{
	CU_ASSERT_EQUAL(predict_check(&bench, shared_gpu, &err), 0);
	options.topo = "none";
	CU_ASSERT_EQUAL(predict_check(&bench, shared_gpu, &err), 0);
	options.topo = "hgx-h200";
	UNIT_ALL(predict_check(&bench, shared_gpu, &err) == -ENOTSUP,
		 err.outcome == OUTCOME_UNSUPPORTED, strstr(err.text, "--topo hgx-h200") != NULL,
		 strstr(err.text, of_spec) != NULL);
	err = (struct error){ .rank = -1 };
	options.topo = "no-such-machine";
	UNIT_ALL(predict_check(&bench, shared_gpu, &err) < 0, err.outcome == OUTCOME_USAGE);
	CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "dgx-h100")); /* the known are listed */
	err = (struct error){ .rank = -1 };
	options.topo = "live";
	options.min_percent = 80;
	UNIT_ALL(predict_check(&bench, shared_gpu, &err) == -ENOTSUP,
		 err.outcome == OUTCOME_UNSUPPORTED, strstr(err.text, "--min-percent 80") != NULL,
		 strstr(err.text, why) != NULL);
}

UNIT_TEST(test_refused, "what is refused")
{
	set_up("live", 4, 1);
	CU_ASSERT_EQUAL(predict_check(&bench, false, &err), 0);
	options.min_percent = 80;
	CU_ASSERT_EQUAL(predict_check(&bench, false, &err), 0);
	set_up("hgx-h200", 4, 1);
	CU_ASSERT_EQUAL(predict_check(&bench, false, &err), 0);
	set_up("no-such-machine", 4, 1);
	UNIT_ALL(predict_check(&bench, false, &err) < 0, strstr(err.text, "dgx-h100") != NULL);
	set_up("live", 4, 1);
	refuses(true, "share a GPU", "share a GPU");
	set_up("live", 4, 1);
	backend.ops = &mpi;
	job.nranks = 4096;
	refuses(false, "share cores", "it is of GPUs");
}

static struct row make_row(const char *collective, uint64_t size, double time_us)
{
	struct row row = { .collective = collective,
			   .size = size,
			   .type = "float",
			   .redop = "sum",
			   .time_us = time_us,
			   .busbw_gbs = 300 };

	row_no_prediction(&row);
	return row;
}

UNIT_TEST(test_rows, "rows")
{
	const struct predictor *f;
	struct row row;
	double share;

	set_up("hgx-h200", 4, 1);
	predict_ask(&predictions, &options, "/tmp");
	CU_ASSERT_PTR_NULL(getenv("NCCL_TOPO_DUMP_FILE")); /* a spec needs no file of NCCL's */
	f = opened();
	UNIT_ALL(strstr(text, "1 node of 4 x H200") != NULL, strstr(text, "physical only") != NULL);
	barred(1, 1);
	row = make_row("all_reduce", 1ull << 30, 5000);
	f->row(f->ctx, &row);
	/* 18 NVLinks of 25 GB/s; 1 GiB round a ring of 4: 1.5 x 2^30 / 450e9 s */
	CU_ASSERT_DOUBLE_EQUAL(row.ceiling_busbw_gbs, 450, 1e-6);
	CU_ASSERT_TRUE(row.predicted_us > 3579 && row.predicted_us < 5200);
	CU_ASSERT_DOUBLE_EQUAL(row.of_predicted_percent, row.predicted_us / 50, 1e-6);
	CU_ASSERT_DOUBLE_EQUAL(row.of_ceiling_percent, 300 / 4.5, 1e-6);
	UNIT_ALL(!strcmp(row.predicted_algo, "Ring"), !strcmp(row.predicted_proto, "Simple"));
	CU_ASSERT_EQUAL(row.predicted_channels, 24); /* 12 rings of 30 GB/s, each twice */
	share = f->reached(f->ctx, text, sizeof(text));
	CU_ASSERT_DOUBLE_EQUAL(share, row.of_predicted_percent, 1e-9);
	/* the table has no share of an in-place row */
	row.placement = "in-place";
	row.time_us *= 4;
	f->row(f->ctx, &row);
	CU_ASSERT_DOUBLE_EQUAL(f->reached(f->ctx, text, sizeof(text)), share, 1e-9);
	/* small rows and unknown collectives do not count */
	row = make_row("all_reduce", 1024, 1);
	f->row(f->ctx, &row);
	CU_ASSERT_TRUE(isfinite(row.predicted_us));
	row = make_row("all_at_once", 1ull << 30, 1);
	f->row(f->ctx, &row);
	UNIT_ALL(isnan(row.predicted_us), row.predicted_algo == NULL, row.predicted_channels == -1);
	backend.ops = &mpi; /* which adds these one by one */
	row = make_row("all_reduce", 1024, 1);
	row.type = "half";
	f->row(f->ctx, &row);
	CU_ASSERT_TRUE(isnan(row.predicted_us));
	row.redop = "none";
	f->row(f->ctx, &row);
	CU_ASSERT_TRUE(isfinite(row.predicted_us));
	backend.ops = &nccl;
	row = make_row("alltoall", 1024, 1);
	f->row(f->ctx, &row);
	CU_ASSERT_STRING_EQUAL(row.predicted_algo, "P2P");
	CU_ASSERT_EQUAL(row.predicted_channels, -1); /* a number per peer, which NCCL's log lacks */
	CU_ASSERT_DOUBLE_EQUAL(f->reached(f->ctx, text, sizeof(text)), share, 1e-9);
}

/* A row at 60 % of its prediction, whose error bar begins at 80 %: it reached 75 % of the lower end. */
/* Rows that are twice as slow as predicted: the run's rows meet them, the judgement does not hear of them. */
UNIT_TEST(test_calibrate, "rows of one's own")
{
	static const struct collective calibrated = { .name = "all_reduce" };
	char path[] = "/tmp/rows-XXXXXX";
	int fd = mkstemp(path);
	struct row row;

	CU_ASSERT_FATAL(fd >= 0);
	set_up("hgx-h200", 4, 1);
	(void)opened();
	dprintf(fd, "collective,nranks,nnodes,size_bytes,count,dtype,redop,root,placement,mode,"
		    "time_us,busbw_gbs,wrong\n");
	for (uint64_t size = 16 << 10; size <= 4 << 20; size <<= 8) {
		row = make_row("all_reduce", size, 100);
		predict_row(&predictions, &row);
		dprintf(fd, "all_reduce,4,1,%lu,1,float,sum,-1,out-of-place,stream,%g,1,0\n", size,
			2 * row.predicted_us);
	}
	close(fd);
	set_up("hgx-h200", 4, 1);
	bench.collective = &calibrated;
	options.calibrate = path;
	(void)opened();
	CU_ASSERT_PTR_NOT_NULL(strstr(text, ", below 64 MiB rows of /tmp/rows-"));
	row = make_row("all_reduce", 4 << 20, 2 * row.predicted_us);
	predict_row(&predictions, &row);
	CU_ASSERT_DOUBLE_EQUAL(row.of_predicted_percent, 100, .01);
	predict_reached(&predictions, text, sizeof(text));
	CU_ASSERT_PTR_NOT_NULL(
		strstr(text, "reaches 50.0 % of its predicted speed without --calibrate"));
	row.type = "half"; /* these rows say nothing of it */
	predict_row(&predictions, &row);
	CU_ASSERT_DOUBLE_EQUAL(row.of_predicted_percent, 50, .01);
	job.nranks = job.group_size = 2;
	CU_ASSERT_PTR_NULL(predict_open(&predictions, &bench, text, sizeof(text)));
	CU_ASSERT_PTR_NOT_NULL(strstr(text, "rows are of 4 ranks on 1 node, not of 2 on 1"));
	unlink(path);
}

UNIT_TEST(test_lower_end, "lower end")
{
	const struct predictor *f;
	struct row row = make_row("all_reduce", 1ull << 30, 5000);

	set_up("hgx-h200", 4, 1);
	f = opened();
	CU_ASSERT_PTR_NOT_NULL(strstr(text, "; no error bars for such a machine"));
	f->row(f->ctx, &row);
	CU_ASSERT_TRUE(isnan(row.predicted_low_gbs));
	/* without a bar nothing is judged by --min-percent */
	options.min_percent = 80;
	UNIT_ALL(isnan(f->reached(f->ctx, text, sizeof(text))),
		 strstr(text, "; no row has an error bar") != NULL);
	predictions.npercents = 0;
	barred(.8, 1.1);
	row.time_us = row.predicted_us / .6;
	f->row(f->ctx, &row);
	CU_ASSERT_DOUBLE_EQUAL(row.predicted_low_gbs, .8 * row.predicted_busbw_gbs, 1e-9);
	CU_ASSERT_DOUBLE_EQUAL(row.predicted_high_gbs, 1.1 * row.predicted_busbw_gbs, 1e-9);
	CU_ASSERT_DOUBLE_EQUAL(f->reached(f->ctx, text, sizeof(text)), 75, 1e-9);
	/* log(.8) is 1.645 standard deviations, log(.8 * .8) 3.29: Gauss leaves .05 % below */
	UNIT_ALL(strstr(text, "reaches 60.0 % of its predicted speed") != NULL,
		 strstr(text, "; --min-percent 80 would fail 0.05 % of healthy machines") != NULL);
}

/* The printed share is judged. A prediction that is missed by more than a factor of 1.5 is never good, and a host,
 * whose wide bars are said, is neither low nor bad by it. */
UNIT_TEST(test_hosts, "hosts")
{
	static const struct {
		double share, of_low, of_high;
		const char *host, *gpu;
	} table[] = {
		{ 57.7, 230.8, 21.4,
		  "57.7 % of its predicted speed: in its error bar, 25 to 270 %, the slowest row "
		  "57.7 %: in its "
		  "error bar, 25 to 270 %",
		  ": low" },
		{ 80, 320, 30, ": good, the slowest row 80.0 %: good", ": good" },
		{ 24, 96, 9, ": not as predicted, the slowest row 24.0 %: not as predicted",
		  ": bad" },
		{ 150, 600, 56, ": good", ": good" },
		{ 151, 604, 56, ": in its error bar, 25 to 270 %", ": not as predicted" },
		{ 271, 1084, 100.4, ": not as predicted", ": not as predicted" },
	};

	UNIT_ROWS(row, table) {
		const struct predictor *f = &predictions.hooks;

		set_up("hgx-h200", 4, 1);
		opened();
		predictions.sys.pairs =
			(struct pair_digest){ .nranks = 4, .nnodes = 1, .host = true };
		predictions.npercents = predictions.nbarred = 1;
		predictions.percents[0] = row->share;
		predictions.of_low[0] = row->of_low;
		predictions.of_high[0] = row->of_high;
		CU_ASSERT_DOUBLE_EQUAL(f->reached(f->ctx, text, sizeof(text)), row->of_low, 1e-9);
		CU_ASSERT_PTR_NOT_NULL(strstr(text, row->host));
		predictions.sys.pairs.host = false;
		f->reached(f->ctx, text, sizeof(text));
		CU_ASSERT_PTR_NOT_NULL(strstr(text, row->gpu));
	}
}

/* Ranks that lacked a core while pairs were measured have no prediction. */
UNIT_TEST(test_crowded, "a crowded host")
{
	set_up("live", 2, 1);
	backend.ops = &mpi;
	predictions.pairs = (struct pair_digest){
		.nranks = 2, .nnodes = 1, .host = true, .us = { 1 }, .gbs = { 1 }
	};
	predictions.waited = .1;
	opened();
	predictions.waited = .5;
	CU_ASSERT_PTR_NULL(predict_open(&predictions, &bench, text, sizeof(text)));
	predictions.waited = 0;
	predictions.pairs.us[0] = 3640; /* on loaded cores */
	CU_ASSERT_PTR_NULL(predict_open(&predictions, &bench, text, sizeof(text)));
	CU_ASSERT_PTR_NOT_NULL(strstr(text, "Prediction: N/A: ranks were not let run"));
}

/* Median of an odd and an even number; the words for it. */
UNIT_TEST(test_share, "the share that was reached")
{
	static const struct {
		double times[4];
		int n;
		const char *word;
	} table[] = {
		{ { 1, 1.1, 1.2 }, 3, ": good" },
		{ { 1.5, 1.6, 1.7, 1.8 }, 4, ": low" },
		{ { 3 }, 1, ": bad" },
	};

	UNIT_ROWS(c, table) {
		const struct predictor *f;
		double predicted;

		set_up("hgx-h200", 4, 1);
		f = opened();
		CU_ASSERT_TRUE(isnan(f->reached(f->ctx, text, sizeof(text))));
		for (int k = 0; k < c->n; k++) {
			struct row row = make_row("all_gather", 1ull << 28, 1);

			f->row(f->ctx, &row);
			predicted = row.predicted_us;
			predictions.percents[k] = 100 / c->times[k];
			CU_ASSERT_DOUBLE_EQUAL(row.of_predicted_percent, 100 * predicted, 1e-6);
		}
		f->reached(f->ctx, text, sizeof(text));
		CU_ASSERT_PTR_NOT_NULL(strstr(text, c->word));
	}
}

/* --good and --low: the bounds themselves belong to the better word. */
UNIT_TEST(test_verdict, "the word for it")
{
	static const struct {
		double good, low, share;
		const char *word;
	} table[] = {
		{ 80, 50, 80, ": good" },
		{ 80, 50, 79.9, ": low" },
		{ 80, 50, 50, ": low" },
		{ 80, 50, 49.9, ": bad" },
		{ 95, 90, 94, ": low" },
		{ 95, 90, 89, ": bad" },
		{ 0, 0, 67, ": good" },
		{ 70, 70, 69, ": bad" },
		{ 0, 0, 1, ": not as predicted" },
	};

	UNIT_ROWS(row, table) {
		const struct predictor *f;

		set_up("hgx-h200", 4, 1);
		options.good = row->good;
		options.low = row->low;
		f = opened();
		predictions.npercents = 1;
		predictions.percents[0] = row->share;
		f->reached(f->ctx, text, sizeof(text));
		CU_ASSERT_PTR_NOT_NULL(strstr(text, row->word));
	}
}

/* Sizes of all kinds count, rows of which nothing is known do not. */
UNIT_TEST(test_choice, "whether NCCL chose as predicted")
{
	static const struct {
		uint64_t size;
		const char *algo, *proto, *said;
	} table[] = {
		{ 1024, NULL, NULL, NULL },
		{ 1ull << 30, "Ring", "Simple", "as predicted in 1 of 1 rows" },
		{ 1ull << 30, "Tree", "Simple", "as predicted in 1 of 2 rows" },
		{ 1ull << 30, "Ring", "LL", "as predicted in 1 of 3 rows" },
		{ 1ull << 30, "Ring", NULL, "as predicted in 1 of 3 rows" },
	};
	const struct predictor *f;

	set_up("hgx-h200", 4, 1);
	f = opened();
	UNIT_ROWS(c, table) {
		struct row row = make_row("all_reduce", c->size, 5000);

		row.used_algo = c->algo;
		row.used_proto = c->proto;
		f->row(f->ctx, &row);
		f->reached(f->ctx, text, sizeof(text));
		CU_ASSERT_TRUE(c->said ? strstr(text, c->said) != NULL
				       : !strstr(text, "as predicted"));
	}
}

UNIT_TEST(test_no_topology, "no topology")
{
	set_up("live", 4, 1);
	setenv("NCCL_TOPO_DUMP_FILE", "/nowhere/topo.xml", 1);
	predict_ask(&predictions, &options, "/tmp");
	CU_ASSERT_STRING_EQUAL(getenv("NCCL_TOPO_DUMP_FILE"), "/nowhere/topo.xml"); /* the user's */
	CU_ASSERT_PTR_NULL(predict_open(&predictions, &bench, text, sizeof(text)));
	CU_ASSERT_EQUAL(strncmp(text, "Prediction: N/A: ", 17), 0);
	set_up("live", 4, 1);
	predict_ask(&predictions, &options, "/tmp/a-folder");
	CU_ASSERT_STRING_EQUAL(getenv("NCCL_TOPO_DUMP_FILE"), "/tmp/a-folder/nccl-topo.xml");
	set_up("hgx-h200", 5, 2);
	CU_ASSERT_PTR_NULL(predict_open(&predictions, &bench, text, sizeof(text)));
	CU_ASSERT_PTR_NOT_NULL(strstr(text, "unequal"));
	set_up("hgx-h200", 9, 1); /* more ranks than the spec has GPUs */
	CU_ASSERT_PTR_NULL(predict_open(&predictions, &bench, text, sizeof(text)));
}

/* The row's mode reaches the model; measured replaces fitted, and the remark says so. */
UNIT_TEST(test_launches, "launches")
{
	const struct predictor *f;
	struct row row = make_row("all_reduce", 8, 20);

	set_up("hgx-h200", 4, 1);
	/* a backend that cannot tell */
	CU_ASSERT_EQUAL(predict_calibrate(&predictions, &bench), 0);
	f = opened();
	CU_ASSERT_PTR_NULL(strstr(text, "measured here"));
	predictions.kernel = (struct kernel_cost){ 5, 12, 0 };
	f = opened();
	CU_ASSERT(strstr(text, "measured here: a launch takes the host 5.00 us, 12.00 us") != NULL);
	row.mode = "stream";
	f->row(f->ctx, &row);
	CU_ASSERT_DOUBLE_EQUAL(row.predicted_us, 11.5, .001); /* test_model_launch.c */
	row.mode = "graph";
	f->row(f->ctx, &row);
	CU_ASSERT_DOUBLE_EQUAL(row.predicted_us, 10.2, .001);
	row.mode = "isolated";
	f->row(f->ctx, &row);
	CU_ASSERT_DOUBLE_EQUAL(row.predicted_us, 26.7, .001);
}

/* Four ranks; rank 0 sends 64 MiB to rank 1 and 16 MiB to rank 2, no other rank sends: the busiest
 * rank's 80 MiB leave it over 370.8 GB/s, its flow of 64 MiB over 8 channels of 20 GB/s, which
 * takes longer. */
UNIT_TEST(test_matrix, "a matrix")
{
	double matrix[16] = { [1] = 64 << 20, [2] = 16 << 20 };
	const struct predictor *f;
	struct row row = make_row("alltoallv", 80 << 20, 1000);

	set_up("hgx-h200", 4, 1);
	bench.traffic = (struct traffic){ .nranks = 4, .matrix = matrix };
	row.count = 20 << 18;
	f = opened();
	f->row(f->ctx, &row);
	/* 419.430, the last 512 KiB 26.214, latency 11.8 */
	CU_ASSERT_DOUBLE_EQUAL(row.predicted_us, 457.445, .001);
	CU_ASSERT_DOUBLE_EQUAL(row.predicted_busbw_gbs, (80 << 20) / 457.445e3, .001);
	/* equal shares: as alltoall */
	bench.traffic = (struct traffic){ .nranks = 4, .spread = 0 };
	f->row(f->ctx, &row);
	CU_ASSERT_DOUBLE_EQUAL(row.predicted_busbw_gbs * row.predicted_us, (60 << 20) / 1e3, 1);
}

static const char *says(double percent, double of_ceiling)
{
	const struct predictor *f = &predictions.hooks;
	double median;

	predictions.npercents = predictions.nbarred = 1;
	predictions.percents[0] = percent;
	predictions.most_of_ceiling = of_ceiling;
	median = f->reached(f->ctx, text, sizeof(text));
	CU_ASSERT_EQUAL(isnan(median), strstr(text, "not judged: ") != NULL);
	return text;
}

/* A row above its ceiling is called neither good nor bad. */
UNIT_TEST(test_not_judged, "what is not judged")
{
	set_up("hgx-h200", 4, 1);
	opened();
	UNIT_ALL(strstr(says(130, 105), "speed: good, the slowest row 130.0 %: good") != NULL,
		 strstr(says(100, 106), "not judged: a row reaches 106 % of its ceiling") != NULL,
		 strstr(says(40, 10), "speed: bad, the slowest row 40.0 %: bad") != NULL);
}
