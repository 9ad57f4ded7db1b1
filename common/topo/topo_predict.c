/* topo_predict.c: predicted bus bandwidth for any machine spec, without owning the machine. */
#include <argp.h>
#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "base/parse.h"
#include "topo/predict_run.h"
#include "base/output.h"

const char *argp_program_version = "topo_predict (hangar) 0.1.0";

/* How a value gets into its field of struct predict_job. */
enum kind {
	FLAG,
	WHOLE,
	REAL,
	SIZE,
	TEXT,
	NODES,
	COLLS,
	FABRIC,
	TRANSPORT,
	PLACE,
	NODE,
	SLOW,
	ALGO,
	PROTO,
	VENDOR
};

#define AT(field) offsetof(struct predict_job, field)

static const struct row {
	const char *name;
	char letter; /* 0: none */
	const char *arg;
	const char *help;
	enum kind kind;
	size_t at;
} rows[] = {
	{ "topo", 't', "SPEC|FILE.xml|FILE.json",
	  "Machine spec (--list names them) or NCCL topology file", TEXT, AT(topo) },
	{ "nodes", 'N', "N[-M]", "Number of nodes, or from N doubling up to M, and M", NODES, 0 },
	{ "collective", 'c', "NAME[,NAME]|all", "Collectives (default: all_reduce)", COLLS, 0 },
	{ "minbytes", 'b', "SIZE", "Smallest size (default: 1K)", SIZE, AT(from) },
	{ "maxbytes", 'e', "SIZE", "Largest size (default: 8G)", SIZE, AT(to) },
	{ "gpus", 0, "N", "GPUs used per node", WHOLE, AT(change.gpus) },
	{ "nics", 0, "N", "NICs per node", WHOLE, AT(change.nics) },
	{ "nic-gbps", 0, "GBPS", "Line rate of a NIC", REAL, AT(change.nic_gbps) },
	{ "fabric", 0, "rail|fat-tree", "Network between nodes", FABRIC, 0 },
	{ "transport", 0, "ib|roce|efa|slingshot|tcp", "What the NICs speak", TRANSPORT, 0 },
	{ "leaf-nodes", 0, "N", "Nodes below one leaf switch", WHOLE, AT(change.leaf_nodes) },
	{ "radix", 0, "PORTS", "Ports of a switch, which decide the nodes below a leaf", WHOLE,
	  AT(change.radix) },
	{ "place", 0, "order|rack|random[:SEED]",
	  "Nodes in leaf order (default), dealt over the leaves in turn, or at random", PLACE, 0 },
	{ "beside", 0, "N", "N nodes of another job make the same calls", WHOLE,
	  AT(change.layout.beside) },
	{ "failed-nic", 0, "NODE", "That node (from 0) lacks a NIC", NODE,
	  AT(change.layout.failed_nic) },
	{ "slow-node", 0, "NODE:PERCENT", "That node's links carry so much", SLOW,
	  AT(change.layout.slow_node) },
	{ "half-nvlink", 0, NULL, "One NVLink of a GPU is at half width", FLAG,
	  AT(change.layout.half_nvlink) },
	{ "sharp", 0, NULL, "The network reduces (CollNet, NVLS over several nodes)", FLAG,
	  AT(change.sharp) },
	{ "oversubscription", 0, "FACTOR", "Of a fat tree's uplinks, from 1 (default: 1)", REAL,
	  AT(change.oversubscription) },
	{ "process-gpus", 0, "N",
	  "GPUs of one process, which launches on them in turn (default: 1)", WHOLE,
	  AT(process_gpus) },
	{ "algo", 0, "NAME", "Tree, Ring, CollNetDirect, CollNetChain, NVLS, NVLSTree, PAT or P2P",
	  ALGO, AT(algo) },
	{ "proto", 0, "NAME", "LL, LL128 or Simple", PROTO, AT(proto) },
	{ "all-algos", 0, NULL, "One row per algorithm", FLAG, AT(all_algos) },
	{ "no-nvls", 0, NULL, "As with NCCL_NVLS_ENABLE=0", FLAG, AT(no_nvls) },
	{ "nccl-model", 0, NULL, "Time is NCCL's own estimate; rows without one are left out", FLAG,
	  AT(nccl_model) },
	{ "physical", 0, NULL, "Without fitted constants", FLAG, AT(physical) },
	{ "fitted", 0, "FILE", "Fitted constants (default: fitted.json above the specs)", TEXT,
	  AT(fitted) },
	{ "host-launch-us", 0, "US", "What launching an empty kernel costs the host", REAL,
	  AT(host_launch_us) },
	{ "calibrate", 0, "RUN_DIR", "The same, as a run with --out RUN_DIR measured it", TEXT,
	  AT(calibrate) },
	{ "csv", 0, NULL, "CSV on standard output", FLAG, AT(csv) },
	{ "count", 0, NULL, "Print only how many points came out, for timing", FLAG, AT(count) },
	{ "explain", 0, NULL, "The derivation of one point: the largest size, or -b's without -e",
	  FLAG, AT(explain) },
	{ "list", 0, NULL, "Name the specs", FLAG, AT(list) },
	{ "vendor", 0, "FILE", "Vendor figures with their sources; with --topo, that machine's",
	  VENDOR, 0 },
	{ "failures", 0, "RATE", "Failures per node and year: odds and checkpoint interval", REAL,
	  AT(rate) },
	{ "hours", 0, "HOURS", "Length of the job (default: 24)", REAL, AT(hours) },
	{ "checkpoint", 0, "SECONDS", "Cost of a checkpoint (default: 60)", REAL, AT(cost_s) },
};

enum { ROWS = sizeof(rows) / sizeof(rows[0]), KEY = 256 };

static int whole(struct argp_state *state, const char *text, const char *what)
{
	char *end;
	long value = strtol(text, &end, 10);

	if (*text == '\0' || *end != '\0' || value < 1 || value > 1000000)
		argp_failure(state, OUTCOME_USAGE, 0, "--%s: a number from 1 to 1000000, not '%s'",
			     what, text);
	return (int)value;
}

static double real(struct argp_state *state, const char *text, const char *what)
{
	char *end;
	double value = strtod(text, &end);

	if (*text == '\0' || *end != '\0' || !(value > 0 && value < 1e12))
		argp_failure(state, OUTCOME_USAGE, 0, "--%s: a positive number, not '%s'", what,
			     text);
	return value;
}

static double size_of(struct argp_state *state, const char *text)
{
	size_t bytes = 0;

	if (parse_size(text, &bytes) != 0 || bytes == 0)
		argp_failure(state, OUTCOME_USAGE, 0, "sizes are like 8, 4K, 1M or 2G, not '%s'",
			     text);
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
	argp_failure(state, OUTCOME_USAGE, 0, "unknown %s '%s'; there are: %s", what, word, names);
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
	char *dash = strchr(text + (*text == '-'), '-'); /* a sign is no range */

	if (dash != NULL)
		*dash = '\0';
	job->nodes_from = job->nodes_to = whole(state, text, "nodes");
	if (dash != NULL)
		job->nodes_to = whole(state, dash + 1, "nodes");
	if (job->nodes_to < job->nodes_from)
		argp_failure(state, OUTCOME_USAGE, 0, "--nodes: the range is empty");
}

/* A node's number + 1. */
static int node_of(struct argp_state *state, const char *text, const char *what)
{
	int64_t node = -1;

	if (parse_int(text, 0, 999999, &node) != 0)
		argp_failure(state, OUTCOME_USAGE, 0, "--%s: a node from 0 to 999999, not '%s'",
			     what, text);
	return (int)node + 1;
}

static void parse_slow(struct argp_state *state, struct topo_layout *layout, char *text)
{
	char *colon = strchr(text, ':');
	double percent = 0;

	if (colon == NULL || parse_real(colon + 1, 1, 100, &percent) != 0)
		argp_failure(state, OUTCOME_USAGE, 0,
			     "--slow-node: a node and 1 to 100 percent, as 0:50, not '%s'", text);
	*colon = '\0';
	layout->slow_node = node_of(state, text, "slow-node");
	layout->slow = percent / 100;
}

static void parse_place(struct argp_state *state, struct topo_layout *layout, const char *text)
{
	static const char *const words[] = { "order", "rack", "random" };
	int64_t seed = 1;
	int i = 0;

	while (i < 3 && strcmp(text, words[i]) != 0)
		i++;
	if (i == 3 &&
	    (strncmp(text, "random:", 7) != 0 || parse_int(text + 7, 0, UINT32_MAX, &seed) != 0))
		argp_failure(state, OUTCOME_USAGE, 0,
			     "--place is order, rack, random or random:SEED, not '%s'", text);
	layout->place = i == 0 ? TOPO_IN_ORDER : i == 1 ? TOPO_BY_RACK : TOPO_RANDOM;
	layout->seed = (unsigned)seed;
}

/* Sizes that were not said, and options that exclude each other. */
static void check_job(struct argp_state *state, struct predict_job *job)
{
	if (job->to > 0 && job->from > job->to)
		argp_failure(state, OUTCOME_USAGE, 0, "-e (%.0f B) is below -b (%.0f B)", job->to,
			     job->from);
	if (job->to <= 0)
		job->to = job->explain && job->from > 0 ? job->from : fmax(8ull << 30, job->from);
	if (job->from <= 0)
		job->from = fmin(1 << 10, job->to);
	if (job->change.oversubscription > 0 && job->change.oversubscription < 1)
		argp_failure(state, OUTCOME_USAGE, 0, "--oversubscription: from 1, not '%g'",
			     job->change.oversubscription);
	if (fmax(job->change.layout.slow_node, job->change.layout.failed_nic) > job->nodes_from)
		argp_failure(state, OUTCOME_USAGE, 0,
			     "--failed-nic, --slow-node: with %d node%s the last is node %d",
			     job->nodes_from, job->nodes_from > 1 ? "s" : "", job->nodes_from - 1);
	if (job->change.radix > 0 && job->change.leaf_nodes > 0)
		argp_failure(state, OUTCOME_USAGE, 0, "--radix decides --leaf-nodes: say one");
	if (job->explain && (job->csv || job->count || job->nccl_model))
		argp_failure(state, OUTCOME_USAGE, 0,
			     "--explain is for the eye, one point of our model: without --csv, "
			     "--count and --nccl-model");
	if (job->csv && job->count)
		argp_failure(state, OUTCOME_USAGE, 0, "--count prints no rows: without --csv");
	if (job->csv && job->rate > 0)
		argp_failure(state, OUTCOME_USAGE, 0, "--failures prints text: without --csv");
	if (job->calibrate != NULL && job->host_launch_us > 0)
		argp_failure(state, OUTCOME_USAGE, 0, "--calibrate takes no --host-launch-us");
	if (job->physical && job->fitted != NULL)
		argp_failure(state, OUTCOME_USAGE, 0, "--physical takes no --fitted");
}

static void take(struct argp_state *state, struct predict_job *job, const struct row *row,
		 char *arg)
{
	void *field = (char *)job + row->at;

	switch (row->kind) {
	case FLAG:
		*(bool *)field = true;
		break;
	case WHOLE:
		*(int *)field = whole(state, arg, row->name);
		break;
	case REAL:
		*(double *)field = real(state, arg, row->name);
		break;
	case SIZE:
		*(double *)field = size_of(state, arg);
		break;
	case TEXT:
		*(const char **)field = arg;
		break;
	case NODES:
		parse_nodes(state, job, arg);
		break;
	case COLLS:
		parse_colls(state, job, arg);
		break;
	case FABRIC:
		job->change.fabric = 1 + topo_fabric_parse(arg);
		if (job->change.fabric == 0)
			argp_failure(state, OUTCOME_USAGE, 0,
				     "--fabric is rail or fat-tree, not '%s'", arg);
		break;
	case TRANSPORT:
		job->change.transport = 1 + topo_transport_parse(arg);
		if (job->change.transport == 0)
			argp_failure(state, OUTCOME_USAGE, 0,
				     "--transport is ib, roce, efa, slingshot or tcp, not '%s'",
				     arg);
		break;
	case PLACE:
		parse_place(state, &job->change.layout, arg);
		break;
	case NODE:
		*(int *)field = node_of(state, arg, row->name);
		break;
	case SLOW:
		parse_slow(state, &job->change.layout, arg);
		break;
	case ALGO:
		job->algo = model_algo_parse(arg);
		if (job->algo < 0)
			unknown(state, "algorithm", arg, model_algo_name, MODEL_ALGOS);
		break;
	case PROTO:
		job->proto = model_proto_parse(arg);
		if (job->proto < 0)
			unknown(state, "protocol", arg, model_proto_name, MODEL_PROTOS);
		break;
	case VENDOR:
		job->vendor = true;
		job->vendor_file = arg;
		break;
	}
}

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
	struct predict_job *job = state->input;

	switch (key) {
	case ARGP_KEY_END:
		check_job(state, job);
		return 0;
	case 'h':
		argp_state_help(state, stdout, ARGP_HELP_STD_HELP);
		return 0;
	case ARGP_KEY_ARG:
		argp_failure(state, OUTCOME_USAGE, 0, "'%s' belongs to no option", arg);
		return 0;
	}
	for (int i = 0; i < ROWS; i++) {
		if (key != (rows[i].letter ? rows[i].letter : KEY + i))
			continue;
		take(state, job, &rows[i], arg);
		return 0;
	}
	return ARGP_ERR_UNKNOWN;
}

int main(int argc, char **argv)
{
	struct argp_option options[ROWS + 2] = { 0 };
	const struct argp argp = {
		.options = options,
		.parser = parse_option,
		.doc = "Predicts what a collective should take on a machine, and what its links "
		       "could carry at best.\v"
		       "Examples:\n  topo_predict --topo dgx-h100 --nodes 16\n"
		       "  topo_predict --topo hgx-h200 --gpus 4 --no-nvls -e 64M --explain",
	};
	struct predict_job job = { .nodes_from = 1,
				   .nodes_to = 1,
				   .algo = -1,
				   .proto = -1,
				   .hours = 24,
				   .cost_s = 60,
				   .colls = 1u << MODEL_ALL_REDUCE };
	struct error err = { .outcome = OUTCOME_OK };

	for (int i = 0; i < ROWS; i++)
		options[i] =
			(struct argp_option){ .name = rows[i].name,
					      .key = rows[i].letter ? rows[i].letter : KEY + i,
					      .arg = rows[i].arg,
					      .flags = rows[i].kind == VENDOR ? OPTION_ARG_OPTIONAL
									      : 0,
					      .doc = rows[i].help };
	options[ROWS] = (struct argp_option){ .key = 'h', .flags = OPTION_HIDDEN }; /* as --help */
	argp_err_exit_status = OUTCOME_USAGE;
	output_guard("topo_predict");
	argp_parse(&argp, argc, argv, 0, NULL, &job);
	if (predict_run(&job, &err) == 0)
		return 0;
	error_print(&err, "topo_predict");
	return err.outcome;
}
