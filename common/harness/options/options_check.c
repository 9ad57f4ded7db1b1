/* options_check.c: checks of options against each other. */

#include "options/options_table.h"

#include "base/dtype.h"

/* If `is` holds, none of these options (blank-separated) may be set. `why`: with "%s" `value`. */
struct clash {
	bool is;
	const char *names, *why, *value;
};

static bool given(const struct option_set *set, const char *name)
{
	return set->given[option_find(name)] != NULL;
}

/* Returns true if the row's field differs from its default. */
static bool changed(const struct options *options, const struct option_row *row)
{
	struct options defaults;

	option_defaults(&defaults);
	return memcmp((const char *)options + row->offset, (const char *)&defaults + row->offset,
		      row->kind->size) != 0;
}

/* Refuses the first of the names that is set; `other`: with a value other than its default. */
static int refuse_one(struct option_set *set, const struct clash *clash, bool other)
{
	char names[256], *rest = names, *name;

	snprintf(names, sizeof(names), "%s", clash->names);
	while ((name = strsep(&rest, " "))) {
		int i = option_find(name);

		if (set->given[i] && (!other || changed(set->options, &option_rows[i])))
			return option_reject(set, i, clash->why, clash->value);
	}
	return 0;
}

static int refuse(struct option_set *set, const struct clash *clashes, size_t n, bool other)
{
	int rc = 0;

	for (size_t i = 0; i < n && rc == 0; i++)
		rc = clashes[i].is ? refuse_one(set, &clashes[i], other) : 0;
	return rc;
}

/* The value as typed, or the default. */
static const char *text_of(const struct option_set *set, const char *name)
{
	int i = option_find(name);

	return set->given[i] ? set->given[i] : option_rows[i].initial;
}

enum option_part option_part_of(const struct option_target *target)
{
	const char *name = target ? target->name : "";

	return strcmp(name, "p2p_matrix") == 0 ? PART_PAIRS
	       : strcmp(name, "step") == 0     ? PART_STEP
					       : PART_SWEEP;
}

const char *option_misplaced(const struct option_row *row, const struct option_target *target)
{
	enum option_part part = option_part_of(target);

	if (!target || row->part == PART_ALL || row->part & part)
		return NULL;
	return row->part == PART_PAIRS	? "goes with p2p_matrix_perf"
	       : row->part == PART_STEP ? "goes with step_perf"
	       : part == PART_PAIRS	? "has no meaning for p2p_matrix_perf"
					: "has no meaning for step_perf";
}

static void derive(const struct option_set *set)
{
	struct options *o = set->options;

	o->size_given = given(set, "minbytes") || given(set, "maxbytes");
	o->ends_given = given(set, "minbytes") && given(set, "maxbytes");
	if (o->nfaults && !given(set, "maxbytes"))
		o->max_bytes = o->min_bytes; /* the first step of a schedule, without another end */
	if (option_part_of(set->target) == PART_STEP) { /* messages of one size, eight of them */
		o->max_bytes = o->min_bytes = o->size_given ? o->min_bytes : STEP_MESSAGE;
		if (!given(set, "params"))
			o->params = 8 * o->min_bytes / dtype_size((enum dtype)o->dtype_first);
	}
	if ((o->nfaults || option_part_of(set->target) == PART_PAIRS) && given(set, "maxbytes") &&
	    !given(set, "minbytes"))
		o->min_bytes = o->max_bytes;
	for (int i = 0; i < o->nsizes; i++) {
		o->size_given = true;
		o->min_bytes = i && o->min_bytes < o->sizes[i] ? o->min_bytes : o->sizes[i];
		o->max_bytes = i && o->max_bytes > o->sizes[i] ? o->max_bytes : o->sizes[i];
	}
	if (given(set, "stepbytes"))
		o->step_factor = 0;
	if (o->graph_launches > 0)
		o->mode = MODE_GRAPH;
	if (o->like_nccl_tests) {
		/* nccl-tests' defaults unless set */
		o->iters = given(set, "iters") ? o->iters : 20;
		o->warmup = given(set, "warmup_iters") ? o->warmup : 1;
		o->average = given(set, "average") ? o->average : AVERAGE_MEAN;
	}
	/* the default of --low stays below a given --good */
	if (!given(set, "low") && o->low > o->good)
		o->low = o->good;
}

#define reject(set, name, ...) option_reject(set, option_find(name), __VA_ARGS__)

static int check_sizes(struct option_set *set)
{
	const struct options *o = set->options;
	const struct clash list = { o->nsizes > 0, "minbytes maxbytes stepbytes stepfactor",
				    "can't be combined with --sizes", NULL };

	if (refuse(set, &list, 1, false) < 0)
		return -EINVAL;
	if (given(set, "stepbytes") && given(set, "stepfactor"))
		return reject(set, "stepbytes", "can't be combined with -f %s; give one of the two",
			      text_of(set, "stepfactor"));
	if (o->max_bytes < o->min_bytes)
		return reject(set, "maxbytes", "must be at least -b, which is %s",
			      text_of(set, "minbytes"));
	if (o->align & (o->align - 1))
		return reject(set, "align", "must be a power of two");
	if (o->low > o->good)
		return reject(set, "low", "must be at most --good, which is %s",
			      text_of(set, "good"));
	return 0;
}

static int check_graph(struct option_set *set)
{
	const struct options *o = set->options;
	const char *mode = text_of(set, "mode");

	if (o->mode != MODE_GRAPH)
		return 0;
	if (given(set, "mode") && strcmp(mode, "graph") != 0)
		return reject(set, "cudagraph", "can't be combined with --mode %s", mode);
	if (given(set, "cudagraph") && o->graph_launches == 0)
		return reject(set, "cudagraph", "must be at least 1 with --mode graph");
	if (given(set, "mode") && backend_lacks(o->backend, BACKEND_DEVICE))
		return reject(set, "mode", "needs a GPU and can't be combined with --backend %s",
			      o->backend);
	return 0;
}

static int check_calls(struct option_set *set)
{
	const struct options *o = set->options;
	const char *iters = given(set, "iters") ? text_of(set, "iters") : "20";
	const struct clash clashes[] = {
		{ o->mode == MODE_GRAPH, "blocking per_iter_timing report_cputime stream_null",
		  "must be 0 with a graph (-G, --mode graph)", NULL },
		{ o->agg_iters > 1, "blocking",
		  "must be 0 with -m %s: the calls of a group can't be waited for one by one",
		  text_of(set, "agg_iters") },
		{ o->mode == MODE_ISOLATED, "agg_iters blocking",
		  "has no meaning with --mode isolated, which times and waits for single calls",
		  NULL },
		{ !o->per_iter, "per_iter_skip", "must be 0 without -I 1", NULL },
		{ o->iters && o->per_iter_skip >= o->iters, "per_iter_skip",
		  "must be less than -n, which is %s", iters },
		{ o->iters, "ci budget", "has no effect with -n %s; give one of the two", iters },
		{ !o->watch, "timeout", "must be 0 with --no-watch", NULL },
		{ o->alloc == ALLOC_CUDA && o->local_register == 2, "local_register",
		  "can't be combined with --alloc cuda: symmetric windows need memory from "
		  "ncclMemAlloc",
		  NULL },
		{ strcmp(o->topo, "none") == 0, "min-percent",
		  "can't be combined with --topo none, which makes no predictions", NULL },
	};

	if (o->check_every && o->check == 0)
		return reject(set, "check", "must be at least 1 with --check-every");
	return refuse(set, clashes, LENGTH(clashes), true);
}

/* Refuses an option that this collective or backend would ignore. */
static int check_scopes(struct option_set *set)
{
	const struct option_target *target = set->target;
	const char *backend = set->options->backend;
	int rc = 0;

	for (int i = 0; i < (int)option_row_count && rc == 0; i++) {
		const struct option_row *row = &option_rows[i];

		if (!set->given[i])
			continue;
		if (option_misplaced(row, target))
			rc = option_reject(set, i, "%s", option_misplaced(row, target));
		else if (row->scope == SCOPE_REDUCES && target && !target->reduces)
			rc = option_reject(set, i, "must be left out: %s reduces nothing",
					   target->name);
		else if (row->scope == SCOPE_ROOTED && target && !target->rooted)
			rc = option_reject(set, i, "must be left out: %s has no root",
					   target->name);
		else if (row->scope == SCOPE_GPU && backend_lacks(backend, BACKEND_DEVICE) &&
			 changed(set->options, row))
			rc = option_reject(set, i,
					   "needs a GPU and can't be combined with --backend %s",
					   backend);
	}
	return rc;
}

const char *options_need_gpu(const struct options *options)
{
	for (size_t i = 0; i < option_row_count; i++)
		if (option_rows[i].scope == SCOPE_GPU && changed(options, &option_rows[i]))
			return option_rows[i].name;
	return options->mode == MODE_GRAPH ? "mode graph" : NULL;
}

static int check_processes(struct option_set *set)
{
	const struct options *o = set->options;
	int most = (int)option_rows[option_find("ngpus")].max;

	if ((double)(o->threads ? o->threads : 1) * (o->gpus ? o->gpus : 1) > most)
		return reject(set, "ngpus", "must be at most %d with -t %d", most / o->threads,
			      o->threads);
	return 0;
}

static bool same(const char *a, const char *b)
{
	return a && b && strcmp(a, b) == 0;
}

static bool is_stdout(const char *path)
{
	return same(path, "-") || same(path, "/dev/stdout");
}

/* --out sets the paths of CSV and JSON, so --csv or --json beside it would be ambiguous. */
static int check_files(struct option_set *set)
{
	const struct options *o = set->options;
	const struct clash clashes[] = {
		{ o->out, "csv json",
		  "can't be combined with --out, which writes it into its folder", NULL },
		{ same(o->csv, o->json) || (is_stdout(o->csv) && is_stdout(o->json)), "json",
		  "must be another file than --csv", NULL },
		{ same(o->nccl_json, o->json) || same(o->nccl_json, o->csv), "output_file",
		  "must be another file than --json and --csv", NULL },
		{ o->cycles == 0, "output_file",
		  "can't be combined with -N 0: it is written when the run ends", NULL },
	};

	return refuse(set, clashes, LENGTH(clashes), false);
}

/* A run with faults is a schedule, and no sweep. */
static int check_kind(struct option_set *set)
{
	const struct options *o = set->options;
	bool rows = option_part_of(set->target) == PART_SWEEP, faults = rows && o->nfaults > 0;
	const struct clash clashes[] = {
		{ !rows && is_stdout(o->csv), "csv",
		  "must be a file: the program prints its results there", NULL },
		{ !rows && is_stdout(o->json), "json",
		  "must be a file: the program prints its results there", NULL },
		{ !rows && o->dtype_first != o->dtype_last, "datatype", "must be one type", NULL },
		{ !faults, "schedule", "goes with --fault, or --fault=none", NULL },
		{ o->split_kind != SPLIT_NONE, "schedule",
		  "can't be combined with NCCL_TESTS_SPLIT", NULL },
		{ faults,
		  "sizes stepbytes stepfactor iters warmup_iters like-nccl-tests run_cycles "
		  "agg_iters "
		  "blocking per_iter_timing good low reconcile",
		  "can't be combined with --fault, which runs a fixed schedule", NULL },
	};

	if (faults && o->mode == MODE_ISOLATED)
		return reject(set, "mode", "must be stream or graph with --fault");
	if (o->nfaults > 0 && o->record == RECORD_OFF)
		return reject(set, "record", "must not be off with --fault");
	return refuse(set, clashes, LENGTH(clashes), false);
}

static int check_device_kernels(struct option_set *set)
{
	static const char *const names[] = { "device_implementation", "device_cta_count" };

	for (int i = 0; i < 2; i++) {
		const struct option_row *row = &option_rows[option_find(names[i])];

		if (changed(set->options, row))
			return error_set(set->err, OUTCOME_UNSUPPORTED, -EINVAL,
					 "-%c %s: device-side kernels are not part of hangar; run "
					 "without -D",
					 row->letter, text_of(set, names[i]));
	}
	return 0;
}

/* Calls without data cannot be checked or broken. */
static int check_no_data(struct option_set *set)
{
	struct options *o = set->options;

	if (!backend_has(o->backend, BACKEND_NO_DATA))
		return 0;
	if ((given(set, "check") && o->check > 0) || o->check_every)
		return reject(set, "check", "must be 0 with --backend %s, which moves no data",
			      o->backend);
	if (o->nfaults > 0)
		return reject(set, "fault",
			      "can't be combined with --backend %s, which makes no calls",
			      o->backend);
	o->check = 0;
	return 0;
}

int options_check(struct option_set *set)
{
	static int (*const checks[])(struct option_set *) = {
		check_sizes,
		check_graph,
		check_calls,
		check_scopes,
		check_processes,
		check_files,
		check_kind,
		check_no_data,
		/* last: wrong input is reported first in every build */
		check_device_kernels,
	};
	int rc = 0;

	derive(set);
	for (size_t i = 0; i < LENGTH(checks) && rc == 0; i++)
		rc = checks[i](set);
	return rc;
}
