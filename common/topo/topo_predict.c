/* topo_predict.c: predicted bus bandwidth for any machine spec, without owning the machine. */
#include <argp.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/parse.h"
#include "topo/predict_run.h"
#include "base/output.h"

const char *argp_program_version = "topo_predict (hangar) 0.1.0";

enum {
	KEY_GPUS = 256,
	KEY_NICS,
	KEY_GBPS,
	KEY_FABRIC,
	KEY_OVER,
	KEY_ALGO,
	KEY_PROTO,
	KEY_CSV,
	KEY_EXPLAIN,
	KEY_LIST,
	KEY_VENDOR,
	KEY_NO_NVLS,
	KEY_ALL_ALGOS,
	KEY_PHYSICAL,
	KEY_FITTED,
	KEY_NCCL,
	KEY_FAILURES,
	KEY_HOURS,
	KEY_COST,
	KEY_SHARP,
	KEY_COUNT
};

static const struct argp_option rows[] = {
	{ "topo", 't', "SPEC|FILE.xml|FILE.json", 0,
	  "Machine spec (--list names them) or NCCL topology file", 0 },
	{ "nodes", 'N', "N[-M]", 0, "Number of nodes, or from N doubling up to M, and M", 0 },
	{ "collective", 'c', "NAME[,NAME]|all", 0, "Collectives (default: all_reduce)", 0 },
	{ "minbytes", 'b', "SIZE", 0, "Smallest size (default: 1K)", 0 },
	{ "maxbytes", 'e', "SIZE", 0, "Largest size (default: 8G)", 0 },
	{ "gpus", KEY_GPUS, "N", 0, "GPUs used per node", 0 },
	{ "nics", KEY_NICS, "N", 0, "NICs per node", 0 },
	{ "nic-gbps", KEY_GBPS, "GBPS", 0, "Line rate of a NIC", 0 },
	{ "fabric", KEY_FABRIC, "rail|fat-tree", 0, "Network between nodes", 0 },
	{ "sharp", KEY_SHARP, NULL, 0, "The network reduces (CollNet, NVLS over several nodes)",
	  0 },
	{ "oversubscription", KEY_OVER, "FACTOR", 0, "Of a fat tree's uplinks, from 1 (default: 1)",
	  0 },
	{ "algo", KEY_ALGO, "NAME", 0,
	  "Tree, Ring, CollNetDirect, CollNetChain, NVLS, NVLSTree, PAT or P2P", 0 },
	{ "proto", KEY_PROTO, "NAME", 0, "LL, LL128 or Simple", 0 },
	{ "all-algos", KEY_ALL_ALGOS, NULL, 0, "One row per algorithm", 0 },
	{ "no-nvls", KEY_NO_NVLS, NULL, 0, "As with NCCL_NVLS_ENABLE=0", 0 },
	{ "nccl-model", KEY_NCCL, NULL, 0,
	  "Time is NCCL's own estimate; rows without one are left out", 0 },
	{ "physical", KEY_PHYSICAL, NULL, 0, "Without fitted constants", 0 },
	{ "fitted", KEY_FITTED, "FILE", 0,
	  "Fitted constants (default: fitted.json above the specs)", 0 },
	{ "csv", KEY_CSV, NULL, 0, "CSV on standard output", 0 },
	{ "count", KEY_COUNT, NULL, 0, "Print only how many points came out, for timing", 0 },
	{ "explain", KEY_EXPLAIN, NULL, 0,
	  "The derivation of one point: the largest size, or -b's without -e", 0 },
	{ "list", KEY_LIST, NULL, 0, "Name the specs", 0 },
	{ "vendor", KEY_VENDOR, "FILE", OPTION_ARG_OPTIONAL,
	  "Vendor figures with their sources; with --topo, that machine's", 0 },
	{ "failures", KEY_FAILURES, "RATE", 0,
	  "Failures per node and year: odds and checkpoint interval", 0 },
	{ "hours", KEY_HOURS, "HOURS", 0, "Length of the job (default: 24)", 0 },
	{ "checkpoint", KEY_COST, "SECONDS", 0, "Cost of a checkpoint (default: 60)", 0 },
	{ NULL, 'h', NULL, OPTION_HIDDEN, NULL, 0 }, /* as --help */
	{ 0 },
};

static int positive(struct argp_state *state, const char *text, const char *what)
{
	char *end;
	long value = strtol(text, &end, 10);

	if (*text == '\0' || *end != '\0' || value < 1 || value > 1000000)
		argp_error(state, "%s: a number from 1 to 1000000, not '%s'", what, text);
	return (int)value;
}

static double real(struct argp_state *state, const char *text, const char *what)
{
	char *end;
	double value = strtod(text, &end);

	if (*text == '\0' || *end != '\0' || !(value > 0 && value < 1e12))
		argp_error(state, "%s: a positive number, not '%s'", what, text);
	return value;
}

static double size_of(struct argp_state *state, const char *text)
{
	size_t bytes = 0;

	if (parse_size(text, &bytes) != 0 || bytes == 0)
		argp_error(state, "sizes are like 8, 4K, 1M or 2G, not '%s'", text);
	return (double)bytes;
}

static const char *coll_name(int coll)
{
	return model_coll_name((enum model_coll)coll);
}

static void unknown(struct argp_state *state, const char *what, const char *word,
		    const char *(*name)(int), int n)
{
	char names[256] = "";
	size_t used = 0;

	for (int i = 0; i < n && used < sizeof(names); i++)
		used += (size_t)snprintf(names + used, sizeof(names) - used, "%s%s",
					 i > 0 ? ", " : "", name(i));
	argp_error(state, "unknown %s '%s'; there are: %s", what, word, names);
}

static void parse_colls(struct argp_state *state, struct predict_job *job, char *list)
{
	char *name, *rest = NULL;

	job->colls = 0;
	for (name = strtok_r(list, ",", &rest); name != NULL; name = strtok_r(NULL, ",", &rest)) {
		int coll = model_coll_parse(name);

		if (strcmp(name, "all") == 0)
			job->colls = (1u << MODEL_COLLS) - 1;
		else if (coll < 0)
			unknown(state, "collective", name, coll_name, MODEL_COLLS);
		else
			job->colls |= 1u << coll;
	}
}

static void parse_nodes(struct argp_state *state, struct predict_job *job, char *text)
{
	char *dash = strchr(text, '-');

	if (dash != NULL)
		*dash = '\0';
	job->nodes_from = job->nodes_to = positive(state, text, "--nodes");
	if (dash != NULL)
		job->nodes_to = positive(state, dash + 1, "--nodes");
	if (job->nodes_to < job->nodes_from)
		argp_error(state, "--nodes: the range is empty");
}

static error_t parse_change(int key, char *arg, struct argp_state *state)
{
	struct predict_job *job = state->input;

	switch (key) {
	case KEY_GPUS:
		job->change.gpus = positive(state, arg, "--gpus");
		return 0;
	case KEY_NICS:
		job->change.nics = positive(state, arg, "--nics");
		return 0;
	case KEY_GBPS:
		job->change.nic_gbps = real(state, arg, "--nic-gbps");
		return 0;
	case KEY_OVER:
		job->change.oversubscription = real(state, arg, "--oversubscription");
		if (job->change.oversubscription < 1)
			argp_error(state, "--oversubscription: from 1, not '%s'", arg);
		return 0;
	case KEY_SHARP:
		job->change.sharp = true;
		return 0;
	case KEY_FABRIC:
		if (strcmp(arg, "rail") != 0 && strcmp(arg, "fat-tree") != 0)
			argp_error(state, "--fabric is rail or fat-tree, not '%s'", arg);
		job->change.fabric = 1 + (strcmp(arg, "rail") == 0 ? TOPO_RAIL : TOPO_FAT_TREE);
		return 0;
	case KEY_ALGO:
		job->algo = model_algo_parse(arg);
		if (job->algo < 0)
			unknown(state, "algorithm", arg, model_algo_name, MODEL_ALGOS);
		return 0;
	case KEY_PROTO:
		job->proto = model_proto_parse(arg);
		if (job->proto < 0)
			unknown(state, "protocol", arg, model_proto_name, MODEL_PROTOS);
		return 0;
	case KEY_FAILURES:
		job->rate = real(state, arg, "--failures");
		return 0;
	case KEY_HOURS:
		job->hours = real(state, arg, "--hours");
		return 0;
	case KEY_COST:
		job->cost_s = real(state, arg, "--checkpoint");
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

/* Sizes that were not said, and options that exclude each other. */
static void check_job(struct argp_state *state, struct predict_job *job)
{
	if (job->to > 0 && job->from > job->to)
		argp_error(state, "-e (%.0f B) is below -b (%.0f B)", job->to, job->from);
	if (job->to <= 0)
		job->to = job->explain && job->from > 0 ? job->from : fmax(8ull << 30, job->from);
	if (job->from <= 0)
		job->from = fmin(1 << 10, job->to);
	if (job->explain && (job->csv || job->count || job->nccl_model))
		argp_error(state,
			   "--explain is for the eye, one point of our model: without --csv, "
			   "--count and --nccl-model");
	if (job->csv && job->count)
		argp_error(state, "--count prints no rows: without --csv");
	if (job->csv && job->rate > 0)
		argp_error(state, "--failures prints text: without --csv");
	if (job->physical && job->fitted != NULL)
		argp_error(state, "--physical takes no --fitted");
}

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
	struct predict_job *job = state->input;

	switch (key) {
	case 't':
		job->topo = arg;
		return 0;
	case 'N':
		parse_nodes(state, job, arg);
		return 0;
	case 'c':
		parse_colls(state, job, arg);
		return 0;
	case 'b':
		job->from = size_of(state, arg);
		return 0;
	case 'e':
		job->to = size_of(state, arg);
		return 0;
	case KEY_CSV:
		job->csv = true;
		return 0;
	case KEY_COUNT:
		job->count = true;
		return 0;
	case KEY_EXPLAIN:
		job->explain = true;
		return 0;
	case KEY_LIST:
		job->list = true;
		return 0;
	case KEY_VENDOR:
		job->vendor = true;
		job->vendor_file = arg;
		return 0;
	case KEY_NO_NVLS:
		job->no_nvls = true;
		return 0;
	case KEY_ALL_ALGOS:
		job->all_algos = true;
		return 0;
	case KEY_PHYSICAL:
		job->physical = true;
		return 0;
	case KEY_FITTED:
		job->fitted = arg;
		return 0;
	case KEY_NCCL:
		job->nccl_model = true;
		return 0;
	case ARGP_KEY_END:
		check_job(state, job);
		return 0;
	case 'h':
		argp_state_help(state, stdout, ARGP_HELP_STD_HELP);
		return 0;
	case ARGP_KEY_ARG:
		argp_error(state, "'%s' belongs to no option", arg);
		return 0;
	default:
		return parse_change(key, arg, state);
	}
}

int main(int argc, char **argv)
{
	static const struct argp argp = {
		rows,
		parse_option,
		NULL,
		"Predicts what a collective should take on a machine, and what its links could "
		"carry at best.\v"
		"Examples:\n  topo_predict --topo dgx-h100 --nodes 16\n"
		"  topo_predict --topo hgx-h200 --gpus 4 --no-nvls -e 64M --explain",
		NULL,
		NULL,
		NULL
	};
	struct predict_job job = { .nodes_from = 1,
				   .nodes_to = 1,
				   .algo = -1,
				   .proto = -1,
				   .hours = 24,
				   .cost_s = 60,
				   .colls = 1u << MODEL_ALL_REDUCE };
	struct error err = { .outcome = OUTCOME_OK };

	argp_err_exit_status = OUTCOME_USAGE;
	output_guard("topo_predict");
	argp_parse(&argp, argc, argv, 0, NULL, &job);
	if (predict_run(&job, &err) == 0)
		return 0;
	error_print(&err, "topo_predict");
	return err.outcome;
}
