/* topo_predict.c: predicted bus bandwidth for any machine spec, without owning the machine. */
#include "base/built_in.h"
#include "base/arguments.h"
#include "base/parse.h"
#include "command/predict_run.h"

/* Which of n names it is. */
static int named(struct argp_state *state, const char *what, const char *word,
		 const char *const *names, int n)
{
	char all[256] = "";

	for (int i = 0; i < n; i++)
		text_add(all, sizeof(all), "%s%s", i > 0 ? ", " : "", names[i]);
	if (model_find(names, n, word) < 0)
		argument_refuse(state, "unknown %s '%s'; there are: %s", what, word, all);
	return model_find(names, n, word);
}

static void take_word(struct argp_state *state, void *into, const struct argument *row, char *text)
{
	int *field = (int *)(void *)((char *)into + row->at);

	*field = names_find(row->value, text) + 1;
	if (*field == 0)
		argument_refuse(state, "--%s is %s, not '%s'", row->name, row->value, text);
}

static void take_size(struct argp_state *state, void *into, const struct argument *row, char *text)
{
	size_t bytes = 0;

	if (parse_size(text, &bytes) != 0 || bytes == 0)
		argument_refuse(state, "sizes are like 8, 4K, 1M or 2G, not '%s'", text);
	*(double *)(void *)((char *)into + row->at) = (double)bytes;
}

/* 22606 of "2.26.6". */
static void take_version(struct argp_state *state, void *into, const struct argument *row,
			 char *text)
{
	struct predict_job *job = into;
	int major = 0, minor = 0, patch = 0;

	if (sscanf(text, "%1d.%2d.%2d", &major, &minor, &patch) < 2 || major != 2)
		argument_refuse(state, "--nccl is a version like 2.26, not '%s'", text);
	job->change.nccl = 10000 * major + 100 * minor + patch;
}

static void take_choice(struct argp_state *state, void *into, const struct argument *row,
			char *text)
{
	bool algo = row->at == offsetof(struct predict_job, algo);

	*(int *)(void *)((char *)into + row->at) =
		algo ? named(state, "algorithm", text, model_algo_names, MODEL_ALGOS)
		     : named(state, "protocol", text, model_proto_names, MODEL_PROTOS);
}

static void take_colls(struct argp_state *state, void *into, const struct argument *row, char *list)
{
	struct predict_job *job = into;
	char *name, *rest = NULL;

	job->colls = 0;
	if (list[0] == '\0')
		argument_refuse(state, "--collective: no name");
	for (name = strtok_r(list, ",", &rest); name != NULL; name = strtok_r(NULL, ",", &rest))
		job->colls |= strcmp(name, "all") == 0 ? (1u << MODEL_COLLS) - 1
						       : 1u << named(state, "collective", name,
								     model_coll_names, MODEL_COLLS);
}

static void take_nodes(struct argp_state *state, void *into, const struct argument *row, char *text)
{
	struct predict_job *job = into;
	char *dash = strchr(text + (*text == '-'), '-'); /* a sign is no range */

	if (dash != NULL)
		*dash = '\0';
	job->nodes_from = job->nodes_to = (int)argument_number(state, row, true, text);
	if (dash != NULL)
		job->nodes_to = (int)argument_number(state, row, true, dash + 1);
	if (job->nodes_to < job->nodes_from)
		argument_refuse(state, "--nodes: the range is empty");
}

/* Sizes that were not said, and options that exclude each other. */
static void check(struct argp_state *state, void *into)
{
	struct predict_job *job = into;

	if (job->json && (job->csv || job->against || job->list))
		argument_refuse(state, "--json: without --csv, --against and --list");
	job->csv =
		job->csv || job->json; /* what it cannot go with, and the columns, are the same */
	if (job->to > 0 && job->from > job->to)
		argument_refuse(state, "-e (%.0f B) is below -b (%.0f B)", job->to, job->from);
	if (job->to <= 0)
		job->to = job->explain && job->from > 0 ? job->from : fmax(8ull << 30, job->from);
	if (job->from <= 0)
		job->from = fmin(1 << 10, job->to);
	if (job->against &&
	    (job->csv || job->explain || job->all_algos || job->nccl_model || job->rate > 0))
		argument_refuse(
			state,
			"--against prints its own table: without --csv, --explain, --all-algos, "
			"--nccl-model and --failures");
	if (job->against && (job->colls & (job->colls - 1) || job->nodes_from != job->nodes_to))
		argument_refuse(state, "--against: one collective, and one number of nodes");
	if (job->explain && (job->csv || job->nccl_model))
		argument_refuse(state,
				"--explain is for the eye, one point of our model: without --csv "
				"and --nccl-model");
	if (job->csv && job->rate > 0)
		argument_refuse(state, "--failures prints text: without --csv");
	if (job->floor > 0 && job->floor != MODEL_FLOOR_PERCENT)
		argument_refuse(state, "--floor 98: other shares of healthy runs are not known");
	if (job->floor > 0 && (job->explain || job->all_algos || job->nccl_model || job->rate > 0 ||
			       job->against || job->physical))
		argument_refuse(state, "--floor prints its own table, of the fitted constants");
	if (job->save_rows && !job->calibrate)
		argument_refuse(state, "--save-rows writes the rows of --calibrate");
	if (job->physical && job->fitted != NULL)
		argument_refuse(state, "--physical takes no --fitted");
}

#define OF(kind, field) ARGUMENT(kind, struct predict_job, field)

/* A number of something, a number, what `take` makes of a field, and of several. */
#define WHOLE(field)	  OF(WHOLE, field), .min = 1, .most = 1e6
#define REAL(field)	  OF(REAL, field), .min = 1e-9, .most = 1e6
#define FACTOR(field)	  OF(REAL, field), .min = 1, .most = 1e6
#define FIELD(field, how) OF(OWN, field), .most = 1e6, .take = how
#define OWN(how)	  .kind = ARGUMENT_OWN, .min = 1, .most = 1e6, .take = how

static const struct argument rows[] = {
	{ "topo", 't', "SPEC|FILE.xml|FILE.json", OF(TEXT, topo) },
	{ "nodes", 'N', "N[-M]", OWN(take_nodes) },
	{ "collective", 'c', "NAME[,NAME]|all", OWN(take_colls) },
	{ "minbytes", 'b', "SIZE", FIELD(from, take_size) },
	{ "maxbytes", 'e', "SIZE", FIELD(to, take_size) },
	{ "gpu", 0, "KIND", OF(TEXT, change.gpu) },
	{ "gpus", 0, "N", WHOLE(change.gpus) },
	{ "groups", 0, "N", WHOLE(change.groups) },
	{ "domain", 0, "N", WHOLE(change.domain) },
	{ "nics", 0, "N", WHOLE(change.nics) },
	{ "nic-gbps", 0, "GBPS", REAL(change.nic_gbps) },
	{ "fabric", 0, TOPO_WORDS_FABRIC, FIELD(change.fabric, take_word) },
	{ "transport", 0, TOPO_WORDS_TRANSPORT, FIELD(change.transport, take_word) },
	{ "net-hop-us", 0, "US", REAL(change.hop_us) },
	{ "no-gpudirect", 0, NULL, OF(FLAG, change.staged) },
	{ "leaf-nodes", 0, "N", WHOLE(change.leaf_nodes) },
	{ "no-pxn", 0, NULL, OF(FLAG, change.no_pxn) },
	{ "place", 0, "order|rack", FIELD(change.place, take_word) },
	{ "sharp", 0, NULL, OF(FLAG, change.sharp) },
	{ "oversubscription", 0, "FACTOR", FACTOR(change.oversubscription) },
	{ "process-gpus", 0, "N", WHOLE(process_gpus) },
	{ "nccl", 0, "VERSION", OWN(take_version) },
	{ "algo", 0, "NAME", FIELD(algo, take_choice) },
	{ "proto", 0, "NAME", FIELD(proto, take_choice) },
	{ "all-algos", 0, NULL, OF(FLAG, all_algos) },
	{ "no-nvls", 0, NULL, OF(FLAG, no_nvls) },
	{ "nccl-model", 0, NULL, OF(FLAG, nccl_model) },
	{ "physical", 0, NULL, OF(FLAG, physical) },
	{ "fitted", 0, "FILE", OF(TEXT, fitted) },
	{ "against", 0, "FILE", OF(TEXT, against) },
	{ "floor", 0, "98", REAL(floor) },
	{ "calibrate", 0, "FILE|RUN_DIR", OF(TEXT, calibrate) },
	{ "save-rows", 0, "FILE.json", OF(TEXT, save_rows) },
	{ "host-launch-us", 0, "US", REAL(launch_us) },
	{ "csv", 0, NULL, OF(FLAG, csv) },
	{ "json", 0, NULL, OF(FLAG, json) },
	{ "explain", 0, NULL, OF(FLAG, explain) },
	{ "list", 0, NULL, OF(FLAG, list) },
	{ "failures", 0, "RATE", REAL(rate) },
	{ "hours", 0, "HOURS", REAL(hours) },
};

static const struct argument_table table = {
	.program = "topo_predict",
	.rows = rows,
	.n = LENGTH(rows),
	.check = check,
};

/* Given to python3 as it is (topo_rows.c has it built in). */
extern const char against_py[];

/* Becomes python3. Returns where there is none. */
static void judge(const struct predict_job *job, int argc, char **argv, struct error *err)
{
	const char *coll = job->colls ? model_coll_names[__builtin_ctz(job->colls)] : "";
	const char *fit = job->nodes_to == 1 && job->change.gpus == 0 ? "1" : "0";
	char **args = must(calloc((size_t)argc + 9, sizeof(*args))), self[4096] = "";
	const char *first[] = { "python3", "-I",	 "-B", "-c", against_py,
				self,	   job->against, coll, fit };

	if (readlink("/proc/self/exe", self, sizeof(self) - 1) < 0)
		snprintf(self, sizeof(self), "%s", argv[0]);
	memcpy(args, first, sizeof(first));
	memcpy(args + LENGTH(first), argv + 1, (size_t)argc * sizeof(*args));
	execvp("python3", args);
	free(args);
	error_set(err, OUTCOME_UNSUPPORTED, -ENOENT,
		  "--against takes python3, which is not on PATH");
}

int main(int argc, char **argv)
{
	struct predict_job job = {
		.nodes_from = 1, .nodes_to = 1, .algo = -1, .proto = -1, .hours = 24
	};
	struct error err = { .outcome = OUTCOME_OK };

	arguments_read(&table, argc, argv, &job);
	if (job.against)
		judge(&job, argc, argv, &err);
	else if (predict_run(&job, &err) == 0)
		return 0;
	error_print(&err, "topo_predict");
	return err.outcome;
}
