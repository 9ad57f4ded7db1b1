/* topo_predict.c: predicted bus bandwidth for any machine spec, without owning the machine. */
#include <argp.h>

#include "base/parse.h"
#include "topo/predict_run.h"
#include "base/output.h"

const char *argp_program_version = "topo_predict (hangar) 0.1.0";

/* How a value gets into its field of struct predict_job. */
enum kind { FLAG, WHOLE, NODE, NODES, REAL, SIZE, TEXT, COLLS, WORD, ALGO, PROTO, VENDOR, VERSION };

#define AT(field)	   offsetof(struct predict_job, field)
#define refuse(state, ...) argp_failure(state, OUTCOME_USAGE, 0, __VA_ARGS__)

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
	{ "fabric", 0, TOPO_WORDS_FABRIC, "Network between nodes", WORD, AT(change.fabric) },
	{ "transport", 0, TOPO_WORDS_TRANSPORT, "What the NICs speak", WORD, AT(change.transport) },
	{ "leaf-nodes", 0, "N", "Nodes below one leaf switch", WHOLE, AT(change.leaf_nodes) },
	{ "radix", 0, "PORTS", "Ports of a switch, which decide the nodes below a leaf", WHOLE,
	  AT(change.radix) },
	{ "place", 0, "order|rack|random",
	  "Nodes in leaf order (default), dealt over the leaves in turn, or at random", WORD,
	  AT(change.layout.place) },
	{ "seed", 0, "N", "Of places at random", WHOLE, AT(change.layout.seed) },
	{ "beside", 0, "N", "N nodes of another job make the same calls", WHOLE,
	  AT(change.layout.beside) },
	{ "failed-nic", 0, "NODE", "That node (from 0) lacks a NIC", NODE,
	  AT(change.layout.failed_nic) },
	{ "slow-node", 0, "NODE", "That node's links carry --slow-percent", NODE,
	  AT(change.layout.slow_node) },
	{ "slow-percent", 0, "PERCENT", "At most 100 (default: 50)", REAL, AT(slow_percent) },
	{ "half-nvlink", 0, NULL, "One NVLink of a GPU is at half width", FLAG,
	  AT(change.layout.half_nvlink) },
	{ "no-p2p", 0, NULL, "As with NCCL_P2P_DISABLE=1: GPUs meet in host memory", FLAG,
	  AT(change.layout.no_p2p) },
	{ "no-gdr", 0, NULL, "Without GPUDirect RDMA: NICs reach host memory alone", FLAG,
	  AT(change.layout.no_gdr) },
	{ "far-nic", 0, NULL, "A GPU's NIC hangs on the other socket", FLAG,
	  AT(change.layout.far_nic) },
	{ "sharp", 0, NULL, "The network reduces (CollNet, NVLS over several nodes)", FLAG,
	  AT(change.sharp) },
	{ "oversubscription", 0, "FACTOR", "Of a fat tree's uplinks, from 1 (default: 1)", REAL,
	  AT(change.oversubscription) },
	{ "process-gpus", 0, "N",
	  "GPUs of one process, which launches on them in turn (default: 1)", WHOLE,
	  AT(process_gpus) },
	{ "nccl", 0, "VERSION", "What it would choose (default: 2.28; before 2.18 as 2.18)",
	  VERSION, AT(change.nccl) },
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

static double number(struct argp_state *state, const char *text, const struct row *row)
{
	bool whole = row->kind != REAL;
	double value = 0, min = whole ? row->kind != NODE : 1e-9, most = 1e6;

	if (parse_real(text, min, most, &value) != 0 || (whole && value != floor(value)))
		refuse(state, "--%s: a %snumber from %g to %g, not '%s'", row->name,
		       whole ? "whole " : "", min, most, text);
	return value;
}

static double size_of(struct argp_state *state, const char *text)
{
	size_t bytes = 0;

	if (parse_size(text, &bytes) != 0 || bytes == 0)
		refuse(state, "sizes are like 8, 4K, 1M or 2G, not '%s'", text);
	return (double)bytes;
}

/* 226 of "2.26.6". */
static int version(struct argp_state *state, const char *text)
{
	int major = 0, minor = 0;

	if (sscanf(text, "%1d.%2d", &major, &minor) != 2 || major != 2)
		refuse(state, "--nccl is a version like 2.26, not '%s'", text);
	return 100 * major + minor;
}

/* Which of n names it is. */
static int named(struct argp_state *state, const char *what, const char *word,
		 const char *const *names, int n)
{
	char all[256] = "";

	for (int i = 0; i < n; i++)
		text_add(all, sizeof(all), "%s%s", i > 0 ? ", " : "", names[i]);
	if (model_find(names, n, word) < 0)
		refuse(state, "unknown %s '%s'; there are: %s", what, word, all);
	return model_find(names, n, word);
}

static void parse_colls(struct argp_state *state, struct predict_job *job, char *list)
{
	char *name, *rest = NULL;

	job->colls = 0;
	for (name = strtok_r(list, ",", &rest); name != NULL; name = strtok_r(NULL, ",", &rest))
		job->colls |= strcmp(name, "all") == 0 ? (1u << MODEL_COLLS) - 1
						       : 1u << named(state, "collective", name,
								     model_coll_names, MODEL_COLLS);
}

static void parse_nodes(struct argp_state *state, struct predict_job *job, const struct row *row,
			char *text)
{
	char *dash = strchr(text + (*text == '-'), '-'); /* a sign is no range */

	if (dash != NULL)
		*dash = '\0';
	job->nodes_from = job->nodes_to = (int)number(state, text, row);
	if (dash != NULL)
		job->nodes_to = (int)number(state, dash + 1, row);
	if (job->nodes_to < job->nodes_from)
		refuse(state, "--nodes: the range is empty");
}

/* Sizes that were not said, and options that exclude each other. */
static void check_job(struct argp_state *state, struct predict_job *job)
{
	if (job->to > 0 && job->from > job->to)
		refuse(state, "-e (%.0f B) is below -b (%.0f B)", job->to, job->from);
	if (job->to <= 0)
		job->to = job->explain && job->from > 0 ? job->from : fmax(8ull << 30, job->from);
	if (job->from <= 0)
		job->from = fmin(1 << 10, job->to);
	if (fmax(job->change.layout.slow_node, job->change.layout.failed_nic) > job->nodes_from)
		refuse(state, "--failed-nic, --slow-node: with %d node%s the last is node %d",
		       job->nodes_from, job->nodes_from > 1 ? "s" : "", job->nodes_from - 1);
	if (job->change.oversubscription > 0 && job->change.oversubscription < 1)
		refuse(state, "--oversubscription: from 1, not '%g'", job->change.oversubscription);
	if (job->slow_percent > 100)
		refuse(state, "--slow-percent: at most 100, not '%g'", job->slow_percent);
	job->change.layout.slow = job->slow_percent / 100;
	if (job->change.radix > 0 && job->change.leaf_nodes > 0)
		refuse(state, "--radix decides --leaf-nodes: say one");
	if (job->explain && (job->csv || job->count || job->nccl_model))
		refuse(state, "--explain is for the eye, one point of our model: without --csv, "
			      "--count and --nccl-model");
	if (job->csv && job->count)
		refuse(state, "--count prints no rows: without --csv");
	if (job->csv && job->rate > 0)
		refuse(state, "--failures prints text: without --csv");
	if (job->calibrate != NULL && job->host_launch_us > 0)
		refuse(state, "--calibrate takes no --host-launch-us");
	if (job->physical && job->fitted != NULL)
		refuse(state, "--physical takes no --fitted");
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
		*(int *)field = (int)number(state, arg, row);
		break;
	case REAL:
		*(double *)field = number(state, arg, row);
		break;
	case SIZE:
		*(double *)field = size_of(state, arg);
		break;
	case TEXT:
		*(const char **)field = arg;
		break;
	case NODES:
		parse_nodes(state, job, row, arg);
		break;
	case COLLS:
		parse_colls(state, job, arg);
		break;
	case NODE:
		*(int *)field = 1 + (int)number(state, arg, row);
		break;
	case WORD:
		*(int *)field = topo_word(row->arg, arg);
		if (*(int *)field == 0)
			refuse(state, "--%s is %s, not '%s'", row->name, row->arg, arg);
		break;
	case ALGO:
		job->algo = named(state, "algorithm", arg, model_algo_names, MODEL_ALGOS);
		break;
	case PROTO:
		job->proto = named(state, "protocol", arg, model_proto_names, MODEL_PROTOS);
		break;
	case VERSION:
		*(int *)field = version(state, arg);
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
		refuse(state, "'%s' belongs to no option", arg);
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
				   .slow_percent = 50,
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
