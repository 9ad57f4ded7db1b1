/* options_table.c: every option and environment variable, one row each, and access to them. */
#include "options/options_table.h"

#include "base/outcome.h"

/* clang-format off */
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
	{ "minbytes", 'b', .arg = "SIZE", .initial = "32M", BYTES(1, SIZE_MAX), FIELD(min_bytes),
	  SAME, .group = GROUP_SIZES, .part = PART_SWEEP | PART_STEP, .help = "smallest size; step_perf: bytes of a message, 1M unless given" },
	{ "maxbytes", 'e', .arg = "SIZE", .initial = "32M", BYTES(1, SIZE_MAX), FIELD(max_bytes),
	  SAME, .group = GROUP_SIZES, .part = PART_SWEEP | PART_PAIRS, .help = "largest size" },
	{ "stepfactor", 'f', .arg = "N", .initial = "2", WHOLE(2, INT_MAX), FIELD(step_factor),
	  SAME, .group = GROUP_SIZES, .part = PART_SWEEP, .help = "multiply by N from size to size" },
	{ "stepbytes", 'i', .arg = "SIZE", .initial = "1M", BYTES(1, SIZE_MAX), FIELD(step_bytes),
	  SAME, .group = GROUP_SIZES, .part = PART_SWEEP, .help = "add SIZE from size to size, in place of a factor" },
	{ "sizes", .arg = "SIZE[,SIZE...]", .kind = &kind_sizes, .min = 1, .max = (double)SIZE_MAX,
	  .allowed = "at most 64 sizes with commas between them (suffixes K, M, G, T)", SAME,
	  .group = GROUP_SIZES, .part = PART_SWEEP, .help = "these sizes, in this order, in place of -b and -e" },
	{ "align", .arg = "SIZE", .initial = "16", BYTES(1, 1 << 30), FIELD(align),
	  SAME, .group = GROUP_SIZES, .part = PART_SWEEP,
	  .help = "cut each rank's share of a size to a multiple of SIZE, a power of two" },
	{ "unalign", 'u', .arg = "N", .initial = "0", WHOLE(0, 1 << 20), FIELD(unalign),
	  SAME, .group = GROUP_SIZES, .part = PART_SWEEP, .help = "shift all buffers by N elements" },

	{ "ngpus", 'g', .arg = "N", .initial = "auto", WHOLE(1, 4096), WORD("auto", 0), FIELD(gpus),
	  FREE, .group = GROUP_PROCESSES,
	  .help = "without a launcher: start N processes, one GPU each" },
	{ "nthreads", 't', .arg = "N", .initial = "auto", WHOLE(1, 4096), WORD("auto", 0),
	  FIELD(threads), FREE, .group = GROUP_PROCESSES,
	  .help = "without a launcher: start N times the processes of -g" },
	/* the resolved backend is compared */
	{ "backend", .arg = "NAME", .initial = "auto", .kind = &kind_text, FIELD(backend),
	  FREE, .group = GROUP_PROCESSES, WORDS("auto", "nccl", "mpi"),
	  .help = "library of the calls; auto: nccl if a GPU is visible, else mpi" },
	{ "share-gpu", FLAG("1", "0"), FIELD(share_gpu), SAME, .group = GROUP_PROCESSES,
	  .scope = SCOPE_GPU,
	  .help = "several ranks on one GPU, as if each were a host of its own" },
	{ "parallel_init", 'p', SWITCH, .initial = "0", FIELD(parallel_init),
	  FREE, .group = GROUP_PROCESSES,
	  .help = "accepted without effect: ranks are processes, which always start in parallel" },

	{ "datatype", 'd', .arg = "TYPE", .initial = "float", .kind = &kind_range,
	  WORDS("int8", "uint8", "int32", "uint32", "int64", "uint64", "half", "float", "double", "bfloat16",
		"f8e4m3", "f8e5m2", "all"),
	  FIELD(dtype_first), SAME, .group = GROUP_DATA, .part = PART_SWEEP | PART_STEP, .help = "element type" },
	{ "op", 'o', .arg = "OP", .initial = "sum", .kind = &kind_range,
	  WORDS("sum", "prod", "max", "min", "avg", "mulsum", "all"), FIELD(op_first),
	  SAME, .group = GROUP_DATA, .scope = SCOPE_REDUCES, .help = "reduction operator" },
	{ "root", 'r', .arg = "RANK", .initial = "0", WHOLE(-1, INT_MAX), WORD("all", -1), FIELD(root), SAME, .group = GROUP_DATA, .scope = SCOPE_ROOTED,
	  .help = "root rank; -1 or all: each in turn" },
	{ "mode", .arg = "MODE", .initial = "stream", .kind = &kind_word, FIELD(mode),
	  SAME, .group = GROUP_DATA, .part = PART_SWEEP, WORDS("stream", "isolated", "graph"),
	  .help = "time back-to-back calls, single calls with aligned starts, or replays of a "
		  "CUDA graph" },
	{ "cudagraph", 'G', .arg = "N", .initial = "0", WHOLE(0, INT_MAX), FIELD(graph_launches),
	  SAME, .group = GROUP_DATA, .part = PART_SWEEP, .scope = SCOPE_GPU, .help = "capture the calls in a CUDA graph and time N replays of it; same as --mode graph with N replays" },
	{ "blocking", 'z', .arg = "0|1|2|3", .initial = "0", WHOLE(0, 3), FIELD(blocking),
	  SAME, .group = GROUP_DATA, .part = PART_SWEEP,
	  .help = "after each call 1: wait and make a barrier, 2: wait; 3: wait and make a barrier after each "
		  "iteration, the barrier not timed" },
	{ "seed", .arg = "N", .initial = "1", WHOLE(0, UINT32_MAX), FIELD(seed),
	  SAME, .group = GROUP_DATA, .help = "seed of random data and choices" },

	{ "recipe", .arg = "NAME", .initial = "ddp", .kind = &kind_range, WORDS("ddp", "fsdp", "tp", "moe", "pipeline", "all"),
	  FIELD(recipe_first), SAME, .group = GROUP_DATA, .part = PART_STEP,
	  .help = "calls of a step. ddp: an all-reduce of each bucket of gradients; fsdp: all-gathers and reduce-scatters "
		  "of layers; tp: all-reduces in sequence with the compute; pipeline: sends from stage to stage; moe: uneven "
		  "all-to-alls" },
	{ "params", .arg = "N", .initial = "2M", BYTES(1, (size_t)1 << 40), FIELD(params), SAME, .group = GROUP_DATA, .part = PART_STEP,
	  .help = "parameters of the model; with -b they give the number of buckets, layers or microbatches (at most 64), else that is 8" },
	{ "compute-ms", .arg = "MS", .initial = "10", REAL(0, 60000), FIELD(compute_ms), SAME, .group = GROUP_DATA, .part = PART_STEP,
	  .help = "compute of a step, milliseconds: kernels like a GEMM on GPUs, else a busy loop of so much processor time" },

	{ "iters", 'n', .arg = "N", .initial = "adaptive", WHOLE(1, INT_MAX), WORD("adaptive", 0),
	  FIELD(iters), SAME, .group = GROUP_REPEAT, .part = PART_SWEEP | PART_STEP,
	  .help = "timed iterations; adaptive: until --ci or --budget is reached; step_perf: 50 steps unless given" },
	{ "warmup_iters", 'w', .arg = "N", .initial = "steady", WHOLE(0, INT_MAX), WORD("steady", -1), FIELD(warmup), SAME, .group = GROUP_REPEAT, .part = PART_SWEEP | PART_STEP,
	  .help = "calls before timing; steady: until their times no longer fall; step_perf: 5 steps unless given" },
	{ "check", 'c', .arg = "N", .initial = "1", WHOLE(0, INT_MAX), FIELD(check),
	  SAME, .group = GROUP_REPEAT, .part = PART_SWEEP | PART_STEP,
	  .help = "extra iterations with a data check, beside the last timed one; 0: no check" },
	{ "run_cycles", 'N', .arg = "N", .initial = "1", WHOLE(0, INT_MAX), FIELD(cycles),
	  SAME, .group = GROUP_REPEAT, .part = PART_SWEEP, .help = "run the whole sweep N times; 0: without end; notes report outliers and drift of a point" },
	{ "agg_iters", 'm', .arg = "N", .initial = "1", WHOLE(1, INT_MAX), FIELD(agg_iters),
	  SAME, .group = GROUP_REPEAT, .part = PART_SWEEP, .help = "calls in one group per iteration; times are per call" },
	{ "ci", .arg = "PERCENT", .initial = "1", REAL(0.01, 100), FIELD(ci_percent),
	  SAME, .group = GROUP_REPEAT, .part = PART_SWEEP,
	  .help = "with -n adaptive: stop when the 95 % confidence interval of the median is within +- PERCENT" },
	{ "budget", .arg = "SECONDS", .initial = "0.5", REAL(0.001, 86400), FIELD(budget),
	  SAME, .group = GROUP_REPEAT, .part = PART_SWEEP,
	  .help = "with -n adaptive: stop after SECONDS of timed calls of one point" },
	{ "check-every", FLAG("1", "0"), FIELD(check_every), SAME, .group = GROUP_REPEAT, .part = PART_SWEEP,
	  .help = "check the data of every call; slow, times are not comparable" },
	{ "like-nccl-tests", FLAG("1", "0"), FIELD(like_nccl_tests), SAME, .group = GROUP_REPEAT, .part = PART_SWEEP, .scope = SCOPE_GPU,
	  .help = "nccl-tests' batch and buffers, for a comparison of figures: -n 20 -w 1 -a 1 unless set; calls "
		  "rotate through -e bytes: data for the first call, zeros for the others" },

	{ "fault", .arg = "NAME[:RANKS][@OP][,key=value...]", .kind = &kind_fault,
	  .allowed = "NAME[:RANKS][@OP][,key=value...], at most eight times; see --list-faults",
	  SAME, .group = GROUP_WATCH, .part = PART_SWEEP | PART_STEP,
	  .help = "break something on purpose in a fixed schedule of 25 steps (-b and -e: sizes of the last and "
		  "first step). RANKS (default: the last) break at their call number OP, counted from 1 (default: "
		  "the first call of step 8 that fits the fault); sendrecv makes 2 calls a step, hypercube 2 for "
		  "each doubling of ranks, all others 1. none: the same schedule without a fault" },
	{ "list-faults", .arg = "NAME", .flag = "list", TEXT, FIELD(list_faults), FREE, .group = GROUP_WATCH, .part = PART_SWEEP | PART_STEP,
	  .help = "list the faults and how they end here; with NAME (or all) its keys, moments, needs and incident" },
	{ "schedule", .arg = "NAME", TEXT, FIELD(schedule), SAME, .group = GROUP_WATCH, .part = PART_SWEEP,
	  .help = "with --fault: the calls of a step. plain: the program's collective on all ranks; mixed: also "
		  "other collectives in turn; halves, pairs: again in each half or pair of ranks; ring: only "
		  "between neighbours, on communicators of two; p2p: also sends and receives outside of groups. "
		  "Default: the fault's own, or plain" },
	{ "timeout", 'T', .arg = "SECONDS", .initial = "0", WHOLE(0, INT_MAX), FIELD(timeout),
	  FREE, .group = GROUP_WATCH,
	  .help = "deadline of every wait for other ranks; 0: deadlines by measured times" },
	{ "no-watch", FLAG("0", "1"), FIELD(watch), FREE, .group = GROUP_WATCH, .help = "set no deadlines: a hang is not detected" },
	{ "expect", .arg = "OUTCOME[:CLASS][:RANKS]", .kind = &kind_text, .check = expect_check, FIELD(expect),
	  SAME, .group = GROUP_WATCH,
	  .allowed = "ok, or OUTCOME[:CLASS][:RANKS] as in hang:missing-call:1,3, with OUTCOME one of ",
	  .words = (const char *const[]){ "ok", "internal", "usage", "hang", "error", "wrong-data", "slow", "died",
		"slow-rank", "diverged", "not-fired", "unsupported", NULL },
	  .help = "exit 0 if the run ends with this outcome, else 1" },
	{ "record", .arg = "LEVEL", .initial = "calls", .kind = &kind_word, FIELD(record),
	  SAME, .group = GROUP_WATCH, WORDS("off", "calls", "full"),
	  .help = "content of the flight recorder: nothing, calls, or calls with device times" },
	{ "slow-percent", .arg = "PERCENT", .initial = "5", REAL(0.1, 1000), FIELD(slow_percent), SAME, .group = GROUP_WATCH,
	  .help = "name a rank whose own work takes PERCENT of the time longer than the others'" },
	{ "fail-slow", FLAG("1", "0"), FIELD(fail_slow), SAME, .group = GROUP_WATCH, .help = "exit 15 if a rank was named as slow" },
	{ "silent-after", .arg = "SECONDS", .initial = "3", REAL(0.5, 3600), FIELD(silent), FREE,
	  .group = GROUP_WATCH, .help = "runs over several hosts: print a line about a host after SECONDS without a sign of life" },
	{ "partition-timeout", .arg = "SECONDS", .initial = "10", REAL(1, 86400), FIELD(partition), FREE,
	  .group = GROUP_WATCH, .help = "runs over several hosts: after SECONDS without a sign of life of a host give a verdict and end "
		  "the run" },

	{ "out", .arg = "DIR", TEXT, FIELD(out), FREE, .group = GROUP_REPORT,
	  .help = "write the run's table, CSV and JSON into the folder DIR, and the evidence of an abnormal run below it" },
	{ "csv", .arg = "FILE", TEXT, FIELD(csv), FREE, .group = GROUP_REPORT,
	  .help = "write CSV to FILE, one row per point; -: to standard output, and the table to standard error" },
	{ "json", .arg = "FILE", TEXT, FIELD(json), FREE, .group = GROUP_REPORT, .part = PART_SWEEP | PART_STEP,
	  .help = "write JSON lines to FILE, one object per point; - as for --csv" },
	{ "output_file", 'J', .arg = "FILE.json", FILE_LIKE(".json"),
	  FIELD(nccl_json), FREE, .group = GROUP_REPORT, .part = PART_SWEEP, .help = "write nccl-tests' JSON at the end of the run; a killed run leaves an empty file" },
	{ "metrics", .arg = "FILE.prom", FILE_LIKE(".prom"), FIELD(metrics),
	  FREE, .group = GROUP_REPORT, .part = PART_SWEEP, .help = "write Prometheus text for node_exporter's textfile collector to FILE.prom, and replace it "
		  "during the run" },
	{ "table", .arg = "KIND", .initial = "hangar", .kind = &kind_word, FIELD(table),
	  FREE, .group = GROUP_REPORT, .part = PART_SWEEP, WORDS("hangar", "nccl-tests"),
	  .help = "columns of the table: nccl-tests' 13 alone, or with the predicted busbw, the measured share of "
		  "it and the spread, in 140 characters" },
	{ "topo", .arg = "SOURCE", .initial = "live", TEXT, FIELD(topo),
	  SAME, .group = GROUP_REPORT,
	  .help = "topology for the predictions beside each row: live (as NCCL detects it), none, an "
		  "NCCL topology file, or a spec (topo_predict --list)" },
	{ "min-percent", .arg = "PERCENT", .initial = "0", REAL(0, 1000), FIELD(min_percent),
	  SAME, .group = GROUP_REPORT, .part = PART_SWEEP,
	  .help = "exit 13 if the median row from 1 MiB reaches less than PERCENT of the lower end of "
		  "its predicted speed, 77 without a prediction or its error bar" },
	{ "min-busbw", .arg = "GBPS", .initial = "0", REAL(0, 1e9), FIELD(min_busbw),
	  SAME, .group = GROUP_REPORT, .part = PART_SWEEP, .help = "exit 13 if the average bus bandwidth is below GBPS" },
	{ "good", .arg = "PERCENT", .initial = "80", REAL(0, 100), FIELD(good),
	  SAME, .group = GROUP_REPORT, .part = PART_SWEEP,
	  .help = "a row is good from PERCENT of its predicted speed on; the median row from 1 MiB "
		  "decides about the run, a slower row starts a search for causes" },
	{ "low", .arg = "PERCENT", .initial = "50", REAL(0, 100), FIELD(low),
	  SAME, .group = GROUP_REPORT, .part = PART_SWEEP, .help = "a row below --good is low from PERCENT of its predicted speed on, else bad; over MPI it is in its error bar or not as predicted" },
	{ "reconcile", FLAG("1", "0"), FIELD(reconcile), SAME, .group = GROUP_REPORT, .part = PART_SWEEP,
	  .help = "search for causes of slow rows even if none is below its prediction" },
	{ "vendor", FLAG("1", "0"), FIELD(vendor), FREE, .group = GROUP_REPORT, .part = PART_SWEEP,
	  .help = "end with the vendors' figures for this GPU and its links beside the measured ones" },
	{ "average", 'a', .arg = "0|1|2|3", .initial = "3", WHOLE(0, 3), FIELD(average),
	  SAME, .group = GROUP_REPORT, .part = PART_SWEEP,
	  .help = "time of a sample: 0: rank 0's, 1: the mean, 2: the fastest rank's, 3: the slowest "
		  "rank's" },
	{ "report_cputime", 'C', SWITCH, .initial = "0", FIELD(cputime), SAME, .group = GROUP_REPORT, .part = PART_SWEEP,
	  .help = "report the host's time to issue a call" },
	{ "report_timestamps", 'S', SWITCH, .initial = "0", FIELD(timestamps),
	  FREE, .group = GROUP_REPORT, .part = PART_SWEEP, .help = "end each line with the time of day" },
	{ "per_iter_timing", 'I', SWITCH, .initial = "0", FIELD(per_iter), SAME, .group = GROUP_REPORT, .part = PART_SWEEP,
	  .help = "report the times of single iterations" },
	{ "per_iter_skip", 'K', .arg = "N", .initial = "0", WHOLE(0, INT_MAX), FIELD(per_iter_skip),
	  SAME, .group = GROUP_REPORT, .part = PART_SWEEP, .help = "with -I 1: leave the first N iterations out of the statistics" },
	{ "memory", 'M', SWITCH, .initial = "0", FIELD(memory_report), FREE, .group = GROUP_REPORT, .part = PART_SWEEP,
	  .scope = SCOPE_GPU, .help = "report the device memory in use" },
	{ "spec", .arg = "FILE", TEXT, FIELD(spec), FREE, .group = GROUP_REPORT, .part = PART_PAIRS,
	  .help = "write the measured links to FILE as a topology for --topo and topo_predict" },

	{ "alloc", .arg = "KIND", .initial = "nccl", .kind = &kind_word, FIELD(alloc),
	  SAME, .group = GROUP_COMMUNICATOR, .scope = SCOPE_GPU, WORDS("nccl", "cuda"),
	  .help = "buffers from ncclMemAlloc or cudaMalloc" },
	{ "local_register", 'R', .arg = "0|1|2", .initial = "0", WHOLE(0, 2), FIELD(local_register),
	  SAME, .group = GROUP_COMMUNICATOR, .scope = SCOPE_GPU,
	  .help = "register buffers with 1: ncclCommRegister, 2: a symmetric window" },
	{ "cta_policy", 'x', .arg = "0|1|2", .initial = "unset", WHOLE(0, 2), WORD("unset", -1), FIELD(cta_policy), SAME, .group = GROUP_COMMUNICATOR, .scope = SCOPE_GPU,
	  .help = "CTA policy 0: default, 1: efficiency, 2: zero" },
	{ "nvlink-centric", .arg = "0|1", .initial = "1", BOOLEAN, FIELD(nvlink_centric),
	  SAME, .group = GROUP_COMMUNICATOR, .scope = SCOPE_GPU,
	  .help = "value of nvlinkCentricSched in ncclConfig" },
	{ "stream_null", 'y', SWITCH, .initial = "0", FIELD(stream_null),
	  SAME, .group = GROUP_COMMUNICATOR, .scope = SCOPE_GPU, .help = "use the NULL stream" },
	{ "nccl-lib", .arg = "FILE", TEXT, FIELD(nccl_lib), FREE, .group = GROUP_COMMUNICATOR, .scope = SCOPE_GPU,
	  .help = "load this libnccl.so.2; else that of LD_LIBRARY_PATH, of the build, of pip, of the system; --version says which" },
	{ "device_implementation", 'D', .arg = "N", .initial = "0", WHOLE(0, 4), FIELD(device_impl),
	  SAME, .group = GROUP_COMMUNICATOR,
	  .help = "device-side kernels; not part of hangar: exit 77 unless 0" },
	{ "device_cta_count", 'V', .arg = "N", .initial = "16", WHOLE(1, 128), FIELD(device_ctas),
	  SAME, .group = GROUP_COMMUNICATOR, .help = "CTAs of device-side kernels; not part of hangar: exit 77 unless 16" },

	{ "NCCL_TESTS_DEVICE", .env = true, .initial = "unset", WHOLE(0, 1023), WORD("unset", -1), FIELD(device_first), FREE, .group = GROUP_ENVIRONMENT,
	  .help = "first CUDA device of every node's ranks" },
	{ "NCCL_TESTS_SPLIT", .env = true, .kind = &kind_split, .allowed = SPLIT_ALLOWED, .field = "split", SAME, .group = GROUP_ENVIRONMENT, .part = PART_SWEEP,
	  .help = "'MOD 2' makes one communicator per value of rank MOD 2; also AND, OR, DIV, or &, |, %, /" },
	{ "NCCL_TESTS_SPLIT_MASK", .env = true, .kind = &kind_split_mask, .allowed = "a hexadecimal number up to ffffffff",
	  SAME, .group = GROUP_ENVIRONMENT, .part = PART_SWEEP,
	  .help = "hexadecimal number; the same as NCCL_TESTS_SPLIT with AND and this number, which it overrides" },
	{ "NCCL_TESTS_MIN_BW", .env = true, .initial = "0", REAL(0, 1e9), FIELD(min_bw),
	  FREE, .group = GROUP_ENVIRONMENT, .part = PART_SWEEP,
	  .help = "GB/s; exit 13 if the mean bus bandwidth is below 0.9 of it" },
	{ "NCCL_TESTS_ALLTOALLV_SPREAD", .env = true, .initial = "1", REAL(0, 1), FIELD(spread),
	  SAME, .group = GROUP_ENVIRONMENT, .scope = SCOPE_IRREGULAR,
	  .help = "amounts of data: 0: equal, 1: in proportion to the distance of the ranks" },
	{ "NCCL_TESTS_ALLTOALLV_MATRIX_FILE", .env = true, TEXT, FIELD(matrix_file),
	  SAME, .group = GROUP_ENVIRONMENT, .scope = SCOPE_IRREGULAR,
	  .help = "file with a square matrix of bytes, one row per sender; needs -b equal to -e" },
	{ "NCCL_TESTS_ALLTOALLV_MATRIX_SCALE", .env = true, .initial = "1", REAL(1e-9, 1e9),
	  FIELD(matrix_scale), SAME, .group = GROUP_ENVIRONMENT, .scope = SCOPE_IRREGULAR,
	  .help = "factor of the numbers in NCCL_TESTS_ALLTOALLV_MATRIX_FILE" },
	{ "NCCL_TESTS_ALLTOALLV_PRINT_SUMMARY", .env = true, .initial = "0", BOOLEAN,
	  FIELD(matrix_summary), FREE, .group = GROUP_ENVIRONMENT, .scope = SCOPE_IRREGULAR,
	  .help = "1: print bytes and bandwidth of each rank" },

	{ "help", 'h', FLAG("1", "0"), FIELD(help), FREE, .group = GROUP_HELP, .help = "print this help" },
	{ "version", FLAG("1", "0"), FIELD(version), FREE, .group = GROUP_HELP,
	  .help = "print the version" },
};
/* clang-format on */

const size_t option_row_count = sizeof(option_rows) / sizeof(option_rows[0]);
_Static_assert(sizeof(option_rows) / sizeof(option_rows[0]) <= OPTION_ROWS_MAX,
	       "option_set is too small");
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

/* Formats the option as typed, cut to one line: "-b 0", "--mode x", "--no-watch",
 * "NCCL_TESTS_DEVICE=x". */
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
