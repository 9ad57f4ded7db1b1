/* options_table.c: every option and environment variable, one row each, and access to them. */
#include "options/options_table.h"

#include "base/outcome.h"

/* clang-format off */
#define ARG(name, default) .arg = (name), .initial = (default)
#define IN(title) .group = GROUP_##title
#define SWEEP .part = PART_SWEEP
#define SWEEP_OR_STEP .part = PART_SWEEP | PART_STEP
#define ON_GPU .scope = SCOPE_GPU
#define FIELD(f) .field = #f, .offset = offsetof(struct options, f)
#define BYTES(low, high) .kind = &kind_size, .min = (low), .max = (double)(high)
#define WHOLE(low, high) .kind = &kind_int, .min = (low), .max = (high)
#define REAL(low, high) .kind = &kind_real, .min = (low), .max = (high)
#define WORDS(...) .words = (const char *const[]){ __VA_ARGS__, NULL }, .allowed = "one of "
/* A word that stands for a number. */
#define WORD(name, number) .words = (const char *const[]){ (name), NULL }, .word_value = (number)
#define BOOLEAN .kind = &kind_bool, .words = (const char *const[]){ "0", "1", NULL }, .allowed = "0 or 1"
#define SWITCH BOOLEAN, .arg = "0|1"
#define TEXT .kind = &kind_text, .allowed = "a name that is not empty"
#define FILE_LIKE(end) .kind = &kind_text, .suffix = (end), .allowed = "a file name that ends in " end
/* An option without a value; its field is parsed from `on` if it is set, else from `off`. */
#define FLAG(on, off) BOOLEAN, .flag = (on), .initial = (off)

#define SPLIT_ALLOWED \
	"AND, OR, MOD or DIV (or &, |, %, /) and a number (decimal, 0x.. or 0b..) up to 2147483647, not 0 for " \
	"MOD and DIV"

/* Must be the same on all ranks: calls, measurement, and conditions of the outcome. */
#define SAME .agree = AGREE_SAME
/* May differ between ranks: files, display, timeouts, devices of a host. */
#define FREE .agree = AGREE_FREE

const char *const option_group_titles[GROUP_END] = {
	[GROUP_SIZES] = "Sizes:",
	[GROUP_PROCESSES] = "Processes and devices:",
	[GROUP_DATA] = "Calls:",
	[GROUP_REPEAT] = "Repetitions:",
	[GROUP_WATCH] = "Faults and watching:",
	[GROUP_REPORT] = "Report:",
	[GROUP_COMMUNICATOR] = "Communicator and memory:",
	[GROUP_ENVIRONMENT] = "Environment variables:",
	[GROUP_HELP] = "About:",
};

const struct option_row option_rows[] = {
	{ "minbytes", 'b', ARG("SIZE", "32M"), BYTES(1, SIZE_MAX), FIELD(min_bytes), SAME, IN(SIZES), SWEEP_OR_STEP },
	{ "maxbytes", 'e', ARG("SIZE", "32M"), BYTES(1, SIZE_MAX), FIELD(max_bytes), SAME, IN(SIZES),
	  .part = PART_SWEEP | PART_PAIRS },
	{ "stepfactor", 'f', ARG("N", "2"), WHOLE(2, INT_MAX), FIELD(step_factor), SAME, IN(SIZES), SWEEP },
	{ "stepbytes", 'i', ARG("SIZE", "1M"), BYTES(1, SIZE_MAX), FIELD(step_bytes), SAME, IN(SIZES), SWEEP },
	{ "sizes", .arg = "SIZE[,SIZE...]", .kind = &kind_sizes, .min = 1, .max = (double)SIZE_MAX,
	  .allowed = "at most 64 sizes with commas between them (suffixes K, M, G, T)", SAME, IN(SIZES), SWEEP },
	{ "align", ARG("SIZE", "16"), BYTES(1, 1 << 30), FIELD(align), SAME, IN(SIZES), SWEEP },
	{ "unalign", 'u', ARG("N", "0"), WHOLE(0, 1 << 20), FIELD(unalign), SAME, IN(SIZES), SWEEP },

	{ "ngpus", 'g', ARG("N", "auto"), WHOLE(1, 4096), WORD("auto", 0), FIELD(gpus), FREE, IN(PROCESSES) },
	{ "nthreads", 't', ARG("N", "auto"), WHOLE(1, 4096), WORD("auto", 0), FIELD(threads), FREE, IN(PROCESSES) },
	/* the resolved backend is compared */
	{ "backend", ARG("NAME", "auto"), .kind = &kind_text, FIELD(backend), FREE, IN(PROCESSES),
	  WORDS("auto", "nccl", "mpi", "null") },
	{ "share-gpu", FLAG("1", "0"), FIELD(share_gpu), SAME, IN(PROCESSES), ON_GPU },
	{ "parallel_init", 'p', SWITCH, .initial = "0", FIELD(parallel_init), FREE, IN(PROCESSES) },

	{ "datatype", 'd', ARG("TYPE", "float"), .kind = &kind_range,
	  WORDS("int8", "uint8", "int32", "uint32", "int64", "uint64", "half", "float", "double", "bfloat16", "f8e4m3", "f8e5m2", "all"),
	  FIELD(dtype_first), SAME, IN(DATA), SWEEP_OR_STEP },
	{ "op", 'o', ARG("OP", "sum"), .kind = &kind_range, WORDS("sum", "prod", "max", "min", "avg", "mulsum", "all"),
	  FIELD(op_first), SAME, IN(DATA), .scope = SCOPE_REDUCES },
	{ "root", 'r', ARG("RANK", "0"), WHOLE(-1, INT_MAX), WORD("all", -1), FIELD(root), SAME, IN(DATA),
	  .scope = SCOPE_ROOTED },
	{ "mode", ARG("MODE", "stream"), .kind = &kind_word, FIELD(mode), SAME, IN(DATA), SWEEP,
	  WORDS("stream", "isolated", "graph") },
	{ "cudagraph", 'G', ARG("N", "0"), WHOLE(0, INT_MAX), FIELD(graph_launches), SAME, IN(DATA), SWEEP, ON_GPU },
	{ "blocking", 'z', ARG("0|1|2|3", "0"), WHOLE(0, 3), FIELD(blocking), SAME, IN(DATA), SWEEP },
	{ "seed", ARG("N", "1"), WHOLE(0, UINT32_MAX), FIELD(seed), SAME, IN(DATA) },

	{ "recipe", ARG("NAME", "ddp"), .kind = &kind_range, WORDS("ddp", "fsdp", "tp", "moe", "pipeline", "all"),
	  FIELD(recipe_first), SAME, IN(DATA), .part = PART_STEP },
	{ "params", ARG("N", "2M"), BYTES(1, (size_t)1 << 40), FIELD(params), SAME, IN(DATA), .part = PART_STEP },
	{ "compute-ms", ARG("MS", "10"), REAL(0, 60000), FIELD(compute_ms), SAME, IN(DATA), .part = PART_STEP },

	{ "iters", 'n', ARG("N", "adaptive"), WHOLE(1, INT_MAX), WORD("adaptive", 0), FIELD(iters), SAME, IN(REPEAT),
	  SWEEP_OR_STEP },
	{ "warmup_iters", 'w', ARG("N", "steady"), WHOLE(0, INT_MAX), WORD("steady", -1), FIELD(warmup), SAME, IN(REPEAT),
	  SWEEP_OR_STEP },
	{ "check", 'c', ARG("N", "1"), WHOLE(0, INT_MAX), FIELD(check), SAME, IN(REPEAT), SWEEP_OR_STEP },
	{ "run_cycles", 'N', ARG("N", "1"), WHOLE(0, INT_MAX), FIELD(cycles), SAME, IN(REPEAT), SWEEP },
	{ "agg_iters", 'm', ARG("N", "1"), WHOLE(1, INT_MAX), FIELD(agg_iters), SAME, IN(REPEAT), SWEEP },
	{ "ci", ARG("PERCENT", "1"), REAL(0.01, 100), FIELD(ci_percent), SAME, IN(REPEAT), SWEEP },
	{ "budget", ARG("SECONDS", "0.5"), REAL(0.001, 86400), FIELD(budget), SAME, IN(REPEAT), SWEEP },
	{ "check-every", FLAG("1", "0"), FIELD(check_every), SAME, IN(REPEAT), SWEEP },
	{ "like-nccl-tests", FLAG("1", "0"), FIELD(like_nccl_tests), SAME, IN(REPEAT), SWEEP, ON_GPU },

	{ "fault", .arg = "NAME[:RANKS][@OP][,key=value...]", .kind = &kind_fault,
	  .allowed = "NAME[:RANKS][@OP][,key=value...], at most eight times; see --list-faults", SAME, IN(WATCH),
	  SWEEP_OR_STEP },
	{ "list-faults", .arg = "NAME", .flag = "list", TEXT, FIELD(list_faults), FREE, IN(WATCH), SWEEP_OR_STEP },
	{ "schedule", .arg = "NAME", TEXT, FIELD(schedule), SAME, IN(WATCH), SWEEP },
	{ "timeout", 'T', ARG("SECONDS", "0"), WHOLE(0, INT_MAX), FIELD(timeout), FREE, IN(WATCH) },
	{ "no-watch", FLAG("0", "1"), FIELD(watch), FREE, IN(WATCH) },
	{ "expect", .arg = "OUTCOME[:CLASS][:RANKS]", .kind = &kind_text, .check = expect_check, FIELD(expect), SAME,
	  IN(WATCH), .allowed = "ok, or OUTCOME[:CLASS][:RANKS] as in hang:missing-call:1,3, with OUTCOME one of ",
	  .words = (const char *const[]){ "ok", "internal", "usage", "hang", "error", "wrong-data", "slow", "died", "slow-rank", "diverged", "not-fired", "unsupported", NULL } },
	{ "record", ARG("LEVEL", "calls"), .kind = &kind_word, FIELD(record), SAME, IN(WATCH),
	  WORDS("off", "calls", "full") },
	{ "slow-percent", ARG("PERCENT", "5"), REAL(0.1, 1000), FIELD(slow_percent), SAME, IN(WATCH) },
	{ "fail-slow", FLAG("1", "0"), FIELD(fail_slow), SAME, IN(WATCH) },
	{ "silent-after", ARG("SECONDS", "3"), REAL(0.5, 3600), FIELD(silent), FREE, IN(WATCH) },
	{ "partition-timeout", ARG("SECONDS", "10"), REAL(1, 86400), FIELD(partition), FREE, IN(WATCH) },

	{ "out", .arg = "DIR", TEXT, FIELD(out), FREE, IN(REPORT) },
	{ "csv", .arg = "FILE", TEXT, FIELD(csv), FREE, IN(REPORT) },
	{ "json", .arg = "FILE", TEXT, FIELD(json), FREE, IN(REPORT), SWEEP_OR_STEP },
	{ "output_file", 'J', .arg = "FILE.json", FILE_LIKE(".json"), FIELD(nccl_json), FREE, IN(REPORT), SWEEP },
	{ "metrics", .arg = "FILE.prom", FILE_LIKE(".prom"), FIELD(metrics), FREE, IN(REPORT), SWEEP },
	{ "table", ARG("KIND", "hangar"), .kind = &kind_word, FIELD(table), FREE, IN(REPORT), SWEEP,
	  WORDS("hangar", "nccl-tests") },
	{ "topo", ARG("SOURCE", "live"), TEXT, FIELD(topo), SAME, IN(REPORT) },
	{ "calibrate", .arg = "FILE|RUN_DIR", TEXT, FIELD(calibrate), SAME, IN(REPORT), SWEEP },
	{ "min-percent", ARG("PERCENT", "0"), REAL(0, 1000), FIELD(min_percent), SAME, IN(REPORT), SWEEP },
	{ "min-busbw", ARG("GBPS", "0"), REAL(0, 1e9), FIELD(min_busbw), SAME, IN(REPORT), SWEEP },
	{ "good", ARG("PERCENT", "80"), REAL(0, 100), FIELD(good), SAME, IN(REPORT), SWEEP },
	{ "low", ARG("PERCENT", "50"), REAL(0, 100), FIELD(low), SAME, IN(REPORT), SWEEP },
	{ "reconcile", FLAG("1", "0"), FIELD(reconcile), SAME, IN(REPORT), SWEEP },
	{ "average", 'a', ARG("0|1|2|3", "3"), WHOLE(0, 3), FIELD(average), SAME, IN(REPORT), SWEEP },
	{ "report_cputime", 'C', SWITCH, .initial = "0", FIELD(cputime), SAME, IN(REPORT), SWEEP },
	{ "report_timestamps", 'S', SWITCH, .initial = "0", FIELD(timestamps), FREE, IN(REPORT), SWEEP },
	{ "per_iter_timing", 'I', SWITCH, .initial = "0", FIELD(per_iter), SAME, IN(REPORT), SWEEP },
	{ "per_iter_skip", 'K', ARG("N", "0"), WHOLE(0, INT_MAX), FIELD(per_iter_skip), SAME, IN(REPORT), SWEEP },
	{ "memory", 'M', SWITCH, .initial = "0", FIELD(memory_report), FREE, IN(REPORT), SWEEP, ON_GPU },
	{ "spec", .arg = "FILE", TEXT, FIELD(spec), FREE, IN(REPORT), .part = PART_PAIRS },

	{ "alloc", ARG("KIND", "nccl"), .kind = &kind_word, FIELD(alloc), SAME, IN(COMMUNICATOR), ON_GPU,
	  WORDS("nccl", "cuda") },
	{ "local_register", 'R', ARG("0|1|2", "0"), WHOLE(0, 2), FIELD(local_register), SAME, IN(COMMUNICATOR), ON_GPU },
	{ "cta_policy", 'x', ARG("0|1|2", "unset"), WHOLE(0, 2), WORD("unset", -1), FIELD(cta_policy), SAME, IN(COMMUNICATOR),
	  ON_GPU },
	{ "nvlink-centric", ARG("0|1", "1"), BOOLEAN, FIELD(nvlink_centric), SAME, IN(COMMUNICATOR), ON_GPU },
	{ "stream_null", 'y', SWITCH, .initial = "0", FIELD(stream_null), SAME, IN(COMMUNICATOR), ON_GPU },
	{ "nccl-lib", .arg = "FILE", TEXT, FIELD(nccl_lib), FREE, IN(COMMUNICATOR), ON_GPU },
	{ "device_implementation", 'D', ARG("N", "0"), WHOLE(0, 4), FIELD(device_impl), SAME, IN(COMMUNICATOR) },
	{ "device_cta_count", 'V', ARG("N", "16"), WHOLE(1, 128), FIELD(device_ctas), SAME, IN(COMMUNICATOR) },

	{ "NCCL_TESTS_DEVICE", .env = true, .initial = "unset", WHOLE(0, 1023), WORD("unset", -1), FIELD(device_first), FREE,
	  IN(ENVIRONMENT) },
	{ "NCCL_TESTS_SPLIT", .env = true, .kind = &kind_split, .allowed = SPLIT_ALLOWED, .field = "split", SAME,
	  IN(ENVIRONMENT), SWEEP },
	{ "NCCL_TESTS_SPLIT_MASK", .env = true, .kind = &kind_split_mask, .allowed = "a hexadecimal number up to ffffffff",
	  SAME, IN(ENVIRONMENT), SWEEP },
	{ "NCCL_TESTS_MIN_BW", .env = true, .initial = "0", REAL(0, 1e9), FIELD(min_bw), FREE, IN(ENVIRONMENT), SWEEP },
	{ "NCCL_TESTS_ALLTOALLV_SPREAD", .env = true, .initial = "1", REAL(0, 1), FIELD(spread), SAME, IN(ENVIRONMENT),
	  .scope = SCOPE_IRREGULAR },
	{ "NCCL_TESTS_ALLTOALLV_MATRIX_FILE", .env = true, TEXT, FIELD(matrix_file), SAME, IN(ENVIRONMENT),
	  .scope = SCOPE_IRREGULAR },
	{ "NCCL_TESTS_ALLTOALLV_MATRIX_SCALE", .env = true, .initial = "1", REAL(1e-9, 1e9), FIELD(matrix_scale), SAME,
	  IN(ENVIRONMENT), .scope = SCOPE_IRREGULAR },
	{ "NCCL_TESTS_ALLTOALLV_PRINT_SUMMARY", .env = true, .initial = "0", BOOLEAN, FIELD(matrix_summary), FREE,
	  IN(ENVIRONMENT), .scope = SCOPE_IRREGULAR },

	{ "help", 'h', FLAG("1", "0"), FIELD(help), FREE, IN(HELP) },
	{ "version", FLAG("1", "0"), FIELD(version), FREE, IN(HELP) } };
/* clang-format on */

const size_t option_row_count = LENGTH(option_rows);
_Static_assert(LENGTH(option_rows) <= OPTION_ROWS_MAX, "option_set is too small");
_Static_assert(offsetof(struct options, dtype_last) ==
			       offsetof(struct options, dtype_first) + sizeof(int) &&
		       offsetof(struct options, op_last) ==
			       offsetof(struct options, op_first) + sizeof(int),
	       "kinds of ranges write two ints");

int option_find(const char *name)
{
	for (size_t i = 0; i < option_row_count; i++)
		if (strcmp(option_rows[i].name, name) == 0)
			return (int)i;
	return -1;
}

void option_defaults(struct options *options)
{
	memset(options, 0, sizeof(*options));
	for (size_t i = 0; i < option_row_count; i++)
		if (option_rows[i].initial)
			option_parse(&option_rows[i], option_rows[i].initial, options);
}

int option_take(struct option_set *set, int i, const char *text)
{
	const struct option_row *row = &option_rows[i];
	char allowed[OPTION_TEXT_MAX];

	set->given[i] = text;
	if (option_parse(row, text, set->options) == 0)
		return 0;
	option_allowed(row, allowed, sizeof(allowed));
	return option_reject(set, i, "must be %s", allowed);
}

/* Formats the option as typed, cut to one line: "-b 0", "--no-watch", "NCCL_TESTS_DEVICE=x". */
static void describe(const struct option_row *row, const char *value, char *buf, size_t len)
{
	if (row->letter)
		snprintf(buf, len, "-%c", row->letter);
	else
		snprintf(buf, len, "%s%s", row->env ? "" : "--", row->name);
	if (row->arg || row->env)
		text_add(buf, len, "%c%.60s%s", row->env ? '=' : ' ', *value ? value : "''",
			 strlen(value) > 60 ? "..." : "");
}

int option_reject(struct option_set *set, int i, const char *fmt, ...)
{
	const struct option_row *row = &option_rows[i];
	const char *value = set->given[i] ? set->given[i] : row->initial ? row->initial : "";
	char option[128], text[OPTION_TEXT_MAX + 64];
	va_list args;

	describe(row, value, option, sizeof(option));
	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	return error_set(set->err, OUTCOME_USAGE, -EINVAL, "%s: %s", option, text);
}
