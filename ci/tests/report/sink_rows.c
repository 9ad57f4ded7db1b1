/* sink_rows.c: a run of two ranks and rows of it to feed sinks with. */
#include "report/sink_rows.h"

char sink_folder[UNIT_TEMP];
static char *command[] = { (char *)"./all_reduce_perf", (char *)"--csv=a \"b\",c",
			   (char *)"\xff\xfe", NULL };
struct options sink_options;
struct rank_facts ranks[RANKS];
struct run_facts facts;
struct error sink_err;
static const double samples[] = { 10, 11, 12, 13, 14, 15 }; /* 3 samples x 2 ranks */
static const struct stats per_rank[RANKS] = {
	{ .n = 3, .median = 12, .min = 10, .max = 14, .p99 = 13.5 },
	{ .n = 3, .median = 13, .min = 11, .max = 15, .p99 = NAN }
};

void sink_set_up(void)
{
	sink_err = (struct error){ .rank = -1 };
	sink_options = (struct options){
		.min_bytes = 8,
		.max_bytes = 1 << 20,
		.step_factor = 2,
		.backend = "nccl",
		.warmup = -1,
		.agg_iters = 1,
		.check = 1,
		.seed = 42,
		.average = AVERAGE_MAX,
		.dtype_first = DT_FLOAT,
		.dtype_last = DT_FLOAT,
		.budget = INFINITY,
	};
	for (int i = 0; i < RANKS; i++) {
		ranks[i] = (struct rank_facts){ .rank = i, .node = i, .pid = 100 + i };
		snprintf(ranks[i].host, sizeof(ranks[i].host), "node\xe9%d", i);
		ranks[i].device = (struct backend_facts){ .library = "NCCL 2.28.9",
							  .runtime = "CUDA runtime 13.0",
							  .device = "NVIDIA H200",
							  .bus_id = "0000:18:00.0",
							  .library_code = 22809,
							  .device_index = i };
	}
	facts = (struct run_facts){ .program = "all_reduce_perf",
				    .argc = 3,
				    .argv = command,
				    .options = &sink_options,
				    .backend = "nccl",
				    .mpi_library = "Open MPI v4.1.4",
				    .hangar_version = "0.1",
				    .started = "2026-07-01T10:00:00+0200",
				    .nranks = RANKS,
				    .nnodes = RANKS,
				    .ranks = ranks };
}

struct row sink_row(uint64_t size, bool in_place)
{
	return (struct row){
		.schema = ROW_SCHEMA,
		.collective = "all_reduce",
		.backend = "nccl",
		.nranks = RANKS,
		.nnodes = RANKS,
		.size = size,
		.count = size / 4,
		.type = "float",
		.redop = "sum",
		.root = -1,
		.placement = in_place ? "in-place" : "out-of-place",
		.mode = "stream",
		.time_us = in_place ? 13.5 : 12.25,
		.algbw_gbs = 1.5,
		.busbw_gbs = in_place ? 3 : 2,
		.wrong = 0,
		.mean_us = 12.3,
		.min_us = 10,
		.p5_us = 10.1,
		.p95_us = 14.5,
		.p99_us = 14.875,
		.max_us = 15,
		.stddev_us = 1,
		.ci_low_us = 12,
		.ci_high_us = 13,
		.ci_percent = 0.84,
		.samples = 3,
		.calls = 20,
		.stop = "ci",
		.enqueue_us = 4.5,
		.slowest_rank = 1,
		.timestamp = "2026-07-01T10:00:01+0200",
		.sample_times_us = samples,
		.per_rank = per_rank,
	};
}

struct row sink_wrong_row(uint64_t size, bool in_place)
{
	struct row row = sink_row(size, in_place);

	row.wrong = 12;
	row.report = (struct check_report){ .wrong = 12,
					    .kind = WRONG_ZERO,
					    .rank = 1,
					    .culprit = -1,
					    .element = (uint64_t)-4,
					    .expected = "3 (0x40400000)",
					    .got = "0,\"\n" };
	return row;
}

struct run_summary sink_summary(void)
{
	return (struct run_summary){ .checked = true, .avg_busbw_gbs = 2.5 };
}

const char *sink_path(const char *name)
{
	static char path[UNIT_PATH];

	snprintf(path, sizeof(path), "%s/%s", sink_folder, name);
	return path;
}

struct sink *sink_begun(struct sink *sink)
{
	CU_ASSERT_PTR_NOT_NULL_FATAL(sink);
	CU_ASSERT_EQUAL(sink->ops->begin(sink, &facts), 0);
	return sink;
}

void sink_put(struct sink *sink, struct row row)
{
	CU_ASSERT_EQUAL(sink->ops->row(sink, &row), 0);
}

void sink_put_point(struct sink *sink, struct row out, const struct row *in)
{
	CU_ASSERT_EQUAL(sink->ops->point(sink, &out, in), 0);
}
