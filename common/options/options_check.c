/* options_check.c: what all options together must fulfil: no two that exclude each other. */

#include "options/options_table.h"

static bool given(const struct option_set *set, const char *name)
{
	return set->given[option_find(name)] != NULL;
}

#define reject(set, name, ...) option_reject(set, option_find(name), __VA_ARGS__)

/* As typed, or the default. */
static const char *text_of(const struct option_set *set, const char *name)
{
	int i = option_find(name);

	return set->given[i] ? set->given[i] : option_rows[i].initial;
}

/* A program with one size and no rows. */
static bool is_matrix(const struct option_set *set)
{
	return set->target && strcmp(set->target->name, "p2p_matrix") == 0;
}

static int check_sizes(struct option_set *set)
{
	struct options *o = set->options;

	if (given(set, "stepbytes") && given(set, "stepfactor"))
		return reject(set, "stepbytes", "can't be combined with -f %s; give one of the two",
			      text_of(set, "stepfactor"));
	if (o->nfaults && !given(set, "maxbytes"))
		o->max_bytes = o->min_bytes; /* a schedule's first step, and no other end */
	if ((o->nfaults || is_matrix(set)) && given(set, "maxbytes") && !given(set, "minbytes"))
		o->min_bytes = o->max_bytes;
	if (o->max_bytes < o->min_bytes)
		return reject(set, "maxbytes", "must be at least -b, which is %s",
			      text_of(set, "minbytes"));
	if (o->align & (o->align - 1))
		return reject(set, "align", "must be a power of two");
	if (given(set, "stepbytes"))
		o->step_factor = 0;
	return 0;
}

/* Makes the mode of -G. */
static int check_graph(struct option_set *set)
{
	struct options *o = set->options;

	if (given(set, "cudagraph") && given(set, "mode")) {
		if (o->graph_launches > 0 && o->mode != MODE_GRAPH)
			return reject(set, "cudagraph",
				      "can't be combined with --mode %s; must be 0 or go with "
				      "--mode graph",
				      mode_name(o->mode));
		if (o->graph_launches == 0 && o->mode == MODE_GRAPH)
			return reject(set, "cudagraph", "must be at least 1 with --mode graph");
	}
	if (o->graph_launches > 0)
		o->mode = MODE_GRAPH;
	if (o->mode != MODE_GRAPH)
		return 0;
	if (given(set, "mode") && backend_lacks(o->backend, BACKEND_DEVICE))
		return reject(set, "mode", "needs a GPU and can't be combined with --backend %s",
			      o->backend);
	if (o->blocking)
		return reject(set, "blocking",
			      "must be 0 with a graph (-G, --mode graph): there is nothing to "
			      "wait for while calls are captured");
	if (o->per_iter)
		return reject(set, "per_iter_timing", "must be 0 with a graph (-G, --mode graph)");
	if (o->cputime)
		return reject(set, "report_cputime", "must be 0 with a graph (-G, --mode graph)");
	if (o->stream_null)
		return reject(set, "stream_null",
			      "must be 0 with a graph (-G, --mode graph): the NULL stream "
			      "can't be captured");
	return 0;
}

/* nccl-tests' defaults where nothing else is asked for. */
static int check_like(struct option_set *set)
{
	struct options *o = set->options;

	if (!o->like_nccl_tests)
		return 0;
	o->iters = given(set, "iters") ? o->iters : 20;
	o->warmup = given(set, "warmup_iters") ? o->warmup : 1;
	o->average = given(set, "average") ? o->average : AVERAGE_MEAN;
	return 0;
}

static int check_calls(struct option_set *set)
{
	struct options *o = set->options;

	if (o->agg_iters > 1 && o->blocking)
		return reject(set, "blocking",
			      "must be 0 with -m %d: the calls of a group can't be waited for "
			      "one by one",
			      o->agg_iters);
	if (o->mode == MODE_ISOLATED && o->agg_iters > 1)
		return reject(set, "agg_iters",
			      "must be 1 with --mode isolated, which times single calls");
	if (o->mode == MODE_ISOLATED && o->blocking)
		return reject(set, "blocking",
			      "must be 0 with --mode isolated, which waits for every call");
	if (o->per_iter_skip && !o->per_iter)
		return reject(set, "per_iter_skip", "must be 0 without -I 1");
	if (o->iters && o->per_iter_skip >= o->iters)
		return reject(set, "per_iter_skip", "must be less than -n, which is %d", o->iters);
	if (o->check_every && o->check == 0)
		return reject(set, "check", "must be at least 1 with --check-every");
	if (o->iters && given(set, "ci"))
		return reject(set, "ci", "has no effect with -n %d; give one of the two", o->iters);
	if (o->iters && given(set, "budget"))
		return reject(set, "budget", "has no effect with -n %d; give one of the two",
			      o->iters);
	return 0;
}

/* True when the field of this row differs from its default. */
static bool changed(const struct options *options, const struct options *defaults,
		    const struct option_row *row)
{
	return memcmp((const char *)options + row->offset, (const char *)defaults + row->offset,
		      row->kind->size) != 0;
}

/* An option that this collective or backend would silently ignore. */
static int check_scopes(struct option_set *set)
{
	const struct option_target *target = set->target;
	struct options defaults;
	size_t i;
	int rc = 0;

	option_defaults(&defaults);
	for (i = 0; i < option_row_count && rc == 0; i++) {
		const struct option_row *row = &option_rows[i];

		if (!set->given[i])
			continue;
		if (row->scope == SCOPE_REDUCES && target && !target->reduces)
			rc = option_reject(set, (int)i, "must be left out: %s reduces nothing",
					   target->name);
		else if (row->scope == SCOPE_ROOTED && target && !target->rooted)
			rc = option_reject(set, (int)i, "must be left out: %s has no root",
					   target->name);
		else if (row->scope == SCOPE_GPU &&
			 backend_lacks(set->options->backend, BACKEND_DEVICE) &&
			 changed(set->options, &defaults, row))
			rc = option_reject(set, (int)i,
					   "needs a GPU and can't be combined with --backend %s",
					   set->options->backend);
	}
	return rc;
}

const char *options_need_gpu(const struct options *options)
{
	struct options defaults;

	option_defaults(&defaults);
	for (size_t i = 0; i < option_row_count; i++)
		if (option_rows[i].scope == SCOPE_GPU &&
		    changed(options, &defaults, &option_rows[i]))
			return option_rows[i].name;
	return options->mode == MODE_GRAPH ? "mode graph" : NULL;
}

static int check_processes(struct option_set *set)
{
	struct options *o = set->options;
	double ranks = (double)(o->threads ? o->threads : 1) * (o->gpus ? o->gpus : 1);

	if (ranks > option_rows[option_find("ngpus")].max)
		return reject(set, "ngpus", "must be at most %d with -t %d",
			      (int)option_rows[option_find("ngpus")].max / o->threads, o->threads);
	if (o->local_register == 2 && o->alloc == ALLOC_CUDA)
		return reject(set, "local_register",
			      "can't be combined with --alloc cuda: symmetric windows need "
			      "memory from ncclMemAlloc");
	if (!o->watch && o->timeout)
		return reject(set, "timeout", "must be 0 with --no-watch");
	return 0;
}

static bool same(const char *a, const char *b)
{
	return a && b && strcmp(a, b) == 0;
}

/* --out decides where CSV and JSON go; a second place for the same file would leave open which
 * one is meant. */
static int check_files(struct option_set *set)
{
	struct options *o = set->options;

	if (o->out && o->csv)
		return reject(set, "csv",
			      "can't be combined with --out, which writes the CSV into its folder");
	if (o->out && o->json)
		return reject(
			set, "json",
			"can't be combined with --out, which writes the JSON into its folder");
	if (same(o->csv, o->json))
		return reject(set, "json", "must be another file than --csv");
	if (same(o->nccl_json, o->json) || same(o->nccl_json, o->csv))
		return reject(set, "output_file", "must be another file than --json and --csv");
	if (o->trace && o->record == RECORD_OFF)
		return reject(set, "trace", "can't be combined with --record off");
	if (o->trace && o->cycles == 0)
		return reject(set, "trace",
			      "can't be combined with -N 0: it is written when the run ends");
	if (o->nccl_json && o->cycles == 0)
		return reject(set, "output_file",
			      "can't be combined with -N 0: it is written when the run ends");
	return 0;
}

/* Pairs of ranks are measured in their own way, and make no rows. */
static int check_matrix(struct option_set *set)
{
	static const char *const rows[] = {
		"minbytes",    "stepbytes",  "stepfactor",  "iters",	      "warmup_iters",
		"agg_iters",   "mode",	     "cudagraph",   "blocking",	      "min-busbw",
		"min-percent", "json",	     "output_file", "metrics",	      "reconcile",
		"check-every", "run_cycles", "fault",	    "per_iter_timing"
	};

	if (!is_matrix(set))
		return set->options->spec ? reject(set, "spec", "goes with p2p_matrix_perf") : 0;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (given(set, rows[i]))
			return reject(set, rows[i], "has no meaning for p2p_matrix_perf");
	if (set->options->split_kind != SPLIT_NONE)
		return reject(set, "NCCL_TESTS_SPLIT", "has no meaning for p2p_matrix_perf");
	return 0;
}

/* A run with faults is a schedule of its own: what belongs to sweeps must not be asked for. */
static int check_faults(struct option_set *set)
{
	static const char *const sweeps[] = {
		"stepbytes",  "stepfactor", "iters",	"warmup_iters",	   "like-nccl-tests",
		"run_cycles", "agg_iters",  "blocking", "per_iter_timing", "vendor",
		"good",	      "low",	    "reconcile"
	};
	struct options *o = set->options;

	o->size_given = given(set, "minbytes") || given(set, "maxbytes");
	o->ends_given = given(set, "minbytes") && given(set, "maxbytes");
	if (o->nfaults == 0)
		return o->schedule   ? reject(set, "schedule", "goes with --fault, or --fault=none")
		       : o->baseline ? reject(set, "baseline",
					      "goes with --fault, whose healthy twin it is")
				     : 0;
	if (o->mode == MODE_ISOLATED)
		return reject(set, "mode", "must be stream or graph with --fault");
	if (o->schedule && o->split_kind != SPLIT_NONE)
		return reject(set, "schedule", "can't be combined with NCCL_TESTS_SPLIT");
	for (size_t i = 0; i < sizeof(sweeps) / sizeof(sweeps[0]); i++)
		if (given(set, sweeps[i]))
			return reject(
				set, sweeps[i],
				"can't be combined with --fault, which runs a fixed schedule");
	if (o->record == RECORD_OFF)
		return reject(set, "record", "must not be off with --fault");
	return 0;
}

/* Calls that move nothing leave nothing to check, and break nothing. */
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

/* A default of --low stays below a --good that was given. */
static int check_verdict(struct option_set *set)
{
	struct options *o = set->options;

	if (!given(set, "low") && o->low > o->good)
		o->low = o->good;
	if (o->low > o->good)
		return reject(set, "low", "must be at most --good, which is %s",
			      text_of(set, "good"));
	if (o->min_percent > 0 && strcmp(o->topo, "none") == 0)
		return reject(set, "min-percent",
			      "can't be combined with --topo none, which makes no predictions");
	return 0;
}

static int check_device_kernels(struct option_set *set)
{
	struct options defaults, *o = set->options;
	const char *name = o->device_impl ? "device_implementation" : "device_cta_count";

	option_defaults(&defaults);
	if (o->device_impl == defaults.device_impl && o->device_ctas == defaults.device_ctas)
		return 0;
	return error_set(set->err, OUTCOME_UNSUPPORTED, -EINVAL,
			 "-%c %s: device-side kernels are not part of hangar; run without -D",
			 option_rows[option_find(name)].letter, text_of(set, name));
}

int options_check(struct option_set *set)
{
	static int (*const checks[])(struct option_set *) = {
		check_sizes,
		check_graph,
		check_like,
		check_calls,
		check_scopes,
		check_processes,
		check_files,
		check_matrix,
		check_faults,
		check_no_data,
		check_verdict,
		/* Last: wrong input is told first, whatever this build has. */
		check_device_kernels,
	};
	size_t i;
	int rc = 0;

	for (i = 0; i < sizeof(checks) / sizeof(checks[0]) && rc == 0; i++)
		rc = checks[i](set);
	return rc;
}
