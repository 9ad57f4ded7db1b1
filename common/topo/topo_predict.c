/* topo_predict.c: predicted bus bandwidth for any machine spec, without owning the machine. */
#include <argp.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "model.h"
#include "parse.h"
#include "predict_print.h"

const char *argp_program_version = "topo_predict (hangar) 0.1.0";

struct options {
	const char *topo, *fitted, *vendor_file;
	unsigned colls; /* bits */
	int nodes_from, nodes_to;
	double from, to; /* bytes */
	int algo, proto;
	bool csv, explain, list, vendor, no_nvls, all_algos, physical, nccl_model, count;
	double rate, hours, cost_s;
	struct topo_change change;
};

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
	{ "nodes", 'N', "N[-M]", 0, "Number of nodes, or every power of two of a range", 0 },
	{ "collective", 'c', "NAME[,NAME]|all", 0, "Collectives (default: all_reduce)", 0 },
	{ "minbytes", 'b', "SIZE", 0, "Smallest size (default: 1K)", 0 },
	{ "maxbytes", 'e', "SIZE", 0, "Largest size (default: 8G)", 0 },
	{ "gpus", KEY_GPUS, "N", 0, "GPUs used per node", 0 },
	{ "nics", KEY_NICS, "N", 0, "NICs per node", 0 },
	{ "nic-gbps", KEY_GBPS, "GBPS", 0, "Line rate of a NIC", 0 },
	{ "fabric", KEY_FABRIC, "rail|fat-tree", 0, "Network between nodes", 0 },
	{ "sharp", KEY_SHARP, NULL, 0, "The network reduces (CollNet, NVLS over several nodes)",
	  0 },
	{ "oversubscription", KEY_OVER, "FACTOR", 0, "Of a fat tree's uplinks (default: 1)", 0 },
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
	{ "explain", KEY_EXPLAIN, NULL, 0, "The derivation of one point (the largest size)", 0 },
	{ "list", KEY_LIST, NULL, 0, "Name the specs", 0 },
	{ "vendor", KEY_VENDOR, "FILE", OPTION_ARG_OPTIONAL, "Vendor figures with their sources",
	  0 },
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

static void parse_colls(struct argp_state *state, struct options *options, char *list)
{
	char *name, *rest = NULL;

	options->colls = 0;
	for (name = strtok_r(list, ",", &rest); name != NULL; name = strtok_r(NULL, ",", &rest)) {
		int coll = model_coll_parse(name);

		if (strcmp(name, "all") == 0)
			options->colls = (1u << MODEL_COLLS) - 1;
		else if (coll < 0)
			argp_error(state, "unknown collective '%s'", name);
		else
			options->colls |= 1u << coll;
	}
}

static void parse_nodes(struct argp_state *state, struct options *options, char *text)
{
	char *dash = strchr(text, '-');

	if (dash != NULL)
		*dash = '\0';
	options->nodes_from = options->nodes_to = positive(state, text, "--nodes");
	if (dash != NULL)
		options->nodes_to = positive(state, dash + 1, "--nodes");
	if (options->nodes_to < options->nodes_from)
		argp_error(state, "--nodes: the range is empty");
}

static error_t parse_change(int key, char *arg, struct argp_state *state)
{
	struct options *options = state->input;

	switch (key) {
	case KEY_GPUS:
		options->change.gpus = positive(state, arg, "--gpus");
		return 0;
	case KEY_NICS:
		options->change.nics = positive(state, arg, "--nics");
		return 0;
	case KEY_GBPS:
		options->change.nic_gbps = real(state, arg, "--nic-gbps");
		return 0;
	case KEY_OVER:
		options->change.oversubscription = real(state, arg, "--oversubscription");
		return 0;
	case KEY_SHARP:
		options->change.sharp = true;
		return 0;
	case KEY_FABRIC:
		if (strcmp(arg, "rail") != 0 && strcmp(arg, "fat-tree") != 0)
			argp_error(state, "--fabric is rail or fat-tree, not '%s'", arg);
		options->change.fabric = 1 + (strcmp(arg, "rail") == 0 ? TOPO_RAIL : TOPO_FAT_TREE);
		return 0;
	case KEY_ALGO:
		options->algo = model_algo_parse(arg);
		if (options->algo < 0)
			argp_error(state, "unknown algorithm '%s'", arg);
		return 0;
	case KEY_PROTO:
		options->proto = model_proto_parse(arg);
		if (options->proto < 0)
			argp_error(state, "unknown protocol '%s'", arg);
		return 0;
	case KEY_FAILURES:
		options->rate = real(state, arg, "--failures");
		return 0;
	case KEY_HOURS:
		options->hours = real(state, arg, "--hours");
		return 0;
	case KEY_COST:
		options->cost_s = real(state, arg, "--checkpoint");
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
	struct options *options = state->input;

	switch (key) {
	case 't':
		options->topo = arg;
		return 0;
	case 'N':
		parse_nodes(state, options, arg);
		return 0;
	case 'c':
		parse_colls(state, options, arg);
		return 0;
	case 'b':
		options->from = size_of(state, arg);
		return 0;
	case 'e':
		options->to = size_of(state, arg);
		return 0;
	case KEY_CSV:
		options->csv = true;
		return 0;
	case KEY_COUNT:
		options->count = true;
		return 0;
	case KEY_EXPLAIN:
		options->explain = true;
		return 0;
	case KEY_LIST:
		options->list = true;
		return 0;
	case KEY_VENDOR:
		options->vendor = true;
		options->vendor_file = arg;
		return 0;
	case KEY_NO_NVLS:
		options->no_nvls = true;
		return 0;
	case KEY_ALL_ALGOS:
		options->all_algos = true;
		return 0;
	case KEY_PHYSICAL:
		options->physical = true;
		return 0;
	case KEY_FITTED:
		options->fitted = arg;
		return 0;
	case KEY_NCCL:
		options->nccl_model = true;
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

static void show(const struct options *options, const struct model *model,
		 const struct predict_request *request, struct prediction *p)
{
	if (options->nccl_model) {
		if (p->nccl_us < 0)
			return;
		p->time_us = p->nccl_us;
		p->algbw = request->bytes / (1000 * p->time_us);
		p->busbw = p->algbw * p->bus_factor;
	}
	if (options->csv)
		predict_csv_row(stdout, model, request, p);
	else if (options->explain)
		predict_explain(stdout, model, request, p);
	else
		predict_table_row(stdout, model, request, p);
}

/* All algorithms of one size, or the one that NCCL would take. Returns how many rows came out. */
static long show_size(const struct options *options, const struct model *model,
		      struct predict_request *request)
{
	int first = options->all_algos ? 0 : options->algo,
	    last = options->all_algos ? MODEL_ALGOS - 1 : options->algo;
	struct prediction prediction;
	long shown = 0;

	for (int algo = first; algo <= last; algo++) {
		request->algo = algo;
		if (model_predict(model, request, &prediction) != 0)
			continue;
		shown++;
		if (!options->count)
			show(options, model, request, &prediction);
	}
	return shown;
}

static long show_nodes(const struct options *options, struct model *model, int nodes)
{
	struct predict_request request = { .proto = options->proto };
	long shown = 0;

	model_scale(model, nodes);
	for (int coll = 0; coll < MODEL_COLLS; coll++) {
		if (!(options->colls & 1u << coll))
			continue;
		request.collective = (enum model_coll)coll;
		for (double bytes = options->explain ? options->to : options->from;
		     bytes <= options->to; bytes *= 2) {
			request.bytes = bytes;
			shown += show_size(options, model, &request);
		}
	}
	return shown;
}

static void show_failures(const struct options *options, int nodes)
{
	struct model_failures f =
		model_failures(options->rate, nodes, options->hours, options->cost_s);

	printf("# %d node(s), %g failures per node and year: one every %.1f h; a job of %g h meets "
	       "one with %.2f %%;\n"
	       "# with checkpoints of %g s: every %.1f min (Young), %.1f min (Daly)\n",
	       nodes, options->rate, f.mtbf_s / 3600, options->hours, 100 * f.probability,
	       options->cost_s, f.young_s / 60, f.daly_s / 60);
}

static int run(struct options *options, struct error *err)
{
	static struct topo_system sys;
	static struct model model;
	struct model_constants constants;
	long shown = 0;
	int rc;

	if (options->list)
		return topo_list_specs(stdout, err) < 0 ? err->code : 0;
	if (options->vendor)
		return predict_vendor(stdout, options->vendor_file, err);
	rc = topo_load(&sys, options->topo, err);
	if (rc != 0)
		return rc;
	options->change.nnodes = options->nodes_to;
	rc = topo_reshape(&sys, &options->change, err);
	if (rc == 0)
		rc = model_load_constants(&constants, options->physical ? "" : options->fitted,
					  err);
	if (rc == 0)
		rc = model_init(&model, &sys, &constants, 0, options->no_nvls, err);
	if (rc != 0)
		return rc;
	model_scale(&model, options->nodes_from);
	if (options->csv)
		predict_csv_header(stdout);
	else if (!options->explain && !options->count)
		predict_table_header(stdout, &model);
	for (int nodes = options->nodes_from; nodes <= options->nodes_to;
	     nodes = options->count ? nodes + 1 : nodes * 2) {
		shown += show_nodes(options, &model, nodes);
		if (options->rate > 0)
			show_failures(options, nodes);
	}
	if (options->count)
		printf("%ld points\n", shown);
	if (shown == 0 && options->rate <= 0)
		return error_set(
			err, OUTCOME_USAGE, -EINVAL,
			"nothing to predict: fewer than two ranks, or no such algorithm here");
	return 0;
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
	struct options options = { .topo = "dgx-h100",
				   .nodes_from = 1,
				   .nodes_to = 1,
				   .from = 1 << 10,
				   .to = 8ull << 30,
				   .algo = -1,
				   .proto = -1,
				   .hours = 24,
				   .cost_s = 60,
				   .colls = 1u << MODEL_ALL_REDUCE };
	struct error err = { .outcome = OUTCOME_OK };

	argp_err_exit_status = OUTCOME_USAGE;
	argp_parse(&argp, argc, argv, 0, NULL, &options);
	if (run(&options, &err) == 0 && fflush(stdout) == 0)
		return 0;
	error_print(&err, "topo_predict");
	return err.outcome;
}
