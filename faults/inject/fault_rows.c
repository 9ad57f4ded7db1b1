/* fault_rows.c: the table of faults is searched and listed; some faults cannot run on this machine. */
#include "inject/fault.h"

#include "base/parse.h"
#include "base/built_in.h"
#include "settings/backend_kind.h"

BUILT_IN(faults_built_in, "faults/inject/faults.txt");
BUILT_IN(ways_built_in, "faults/inject/ways.txt");

const char *fault_text(const struct fault *fault, enum fault_line line, char text[FAULT_LINE])
{
	built_in_line(faults_built_in, fault->name, line, text, FAULT_LINE);
	return text;
}

const struct fault *fault_find(const char *name)
{
	for (size_t i = 0; fault_table[i]; i++)
		if (strcmp(fault_table[i]->name, name) == 0)
			return fault_table[i];
	return NULL;
}

/* By the bits of fault_need, from the lowest on. */
#define NEED_ROW(bit, number, ...) { __VA_ARGS__ },
static const struct {
	const char *name, *lacking;
} needs[] = { NEEDS(NEED_ROW) };

int fault_ranks(const struct fault *fault)
{
	return fault->needs.ranks ? fault->needs.ranks : 2;
}

static const char *outcomes_on(const struct fault *fault, const struct fault_machine *machine)
{
	return backend_has(machine->backend, BACKEND_DEVICE) ? fault->nccl : fault->mpi;
}

static int row_runs(const struct fault *fault, const struct fault_machine *machine, char *why,
		    size_t len)
{
	unsigned lacking = fault->needs.machine & ~machine->have;
	char text[FAULT_LINE];

	if (!outcomes_on(fault, machine)) {
		snprintf(why, len, "cannot occur on the %s backend: %s", machine->backend,
			 fault_text(fault, FAULT_WHY_NOT, text));
		return -ENOTSUP;
	}
	if (lacking) {
		snprintf(why, len, "needs %s", needs[__builtin_ctz(lacking)].lacking);
		return -ENOTSUP;
	}
	return 0;
}

int fault_runs(const struct fault_spec *spec, const struct fault_machine *machine, char *why,
	       size_t len)
{
	int rc = row_runs(spec->fault, machine, why, len);

	if (rc == 0 && spec->when == FAULT_INFLIGHT &&
	    !backend_has(machine->backend, BACKEND_ASYNC)) {
		snprintf(why, len,
			 "when=inflight cannot occur on the %s backend: its calls are complete "
			 "when they return",
			 machine->backend);
		rc = -ENOTSUP;
	}
	if (rc == 0 && spec->slow.on_gpu && !backend_has(machine->backend, BACKEND_DEVICE)) {
		snprintf(why, len,
			 "on=gpu cannot occur on the %s backend: its ranks compute on the host",
			 machine->backend);
		rc = -ENOTSUP;
	}
	return rc;
}

/* A bit for each of some words with commas between them, by its place in `names`. */
static uint32_t bits_of(const char *names, char *words)
{
	uint32_t bits = 0;
	char *word;

	while ((word = strsep(&words, ",")))
		bits |= 1u << names_find(names, word);
	return bits;
}

/* Line `number` of the fault's in ways.txt, from 1. False: there are no more. */
static bool way_of(const struct fault *fault, int number, struct fault_way *way)
{
	char line[256], transports[64], kinds[128];

	*way = (struct fault_way){ .outcome = "" };
	if (!built_in_line(ways_built_in, fault->name, number, line, sizeof(line)) ||
	    sscanf(line, "%11s %63s %127s %zu..%zu %47s", way->outcome, transports, kinds,
		   &way->least, &way->most, way->args) < 6)
		return false;
	way->transports = bits_of("mpi p2p shm net unsure of-three", transports);
	if (strcmp(kinds, "any") != 0)
		way->kinds = bits_of("all_reduce all_gather reduce_scatter broadcast reduce "
				     "alltoall alltoallv gather scatter send recv",
				     kinds);
	return true;
}

/* Takes the way, unless the user has given another key or value. */
static bool take_way(struct fault_spec *spec, const struct fault_way *way)
{
	char pair[sizeof(spec->args[0]) + 1];
	bool given = false;
	int n = spec->nargs;

	for (int i = 0; i < n; i++) {
		if (strcmp(spec->args[i].key, "outcome") == 0)
			continue;
		given = true;
		snprintf(pair, sizeof(pair), "%s=%s", spec->args[i].key, spec->args[i].value);
		if (strcmp(pair, way->args) != 0)
			return false;
	}
	if (!given && n < FAULT_MAX_ARGS &&
	    sscanf(way->args, "%47[^=]=%199s", spec->args[n].key, spec->args[n].value) == 2)
		spec->nargs++;
	spec->way = *way;
	return true;
}

int fault_choose_way(struct fault_spec *spec, const struct fault_machine *machine,
		     const struct planned_call *planned, char *why, size_t len)
{
	const struct call *call = &planned->call;
	const char *wanted = fault_arg(spec, "outcome");
	size_t bytes = call->count * dtype_size(call->dtype);
	struct fault_way way;

	for (int i = 1; way_of(spec->fault, i, &way); i++) {
		if ((wanted && ((way.transports & WAY_UNSURE) || strcmp(way.outcome, wanted))) ||
		    (planned->nranks < 3 && way.transports & WAY_OF_THREE) ||
		    !(way.transports & machine->transport) ||
		    (way.kinds && !(way.kinds & 1u << call->kind)) || bytes < way.least ||
		    (way.most && bytes > way.most) || !take_way(spec, &way))
			continue;
		return 0;
	}
	if (!wanted)
		return 0;
	snprintf(why, len,
		 "is not known to come to outcome=%s in %s of %zu bytes and %d ranks on this "
		 "transport",
		 wanted, call_kind_name(call->kind), bytes, planned->nranks);
	return -ENOTSUP;
}

static void list_needs(FILE *out, const struct fault *fault)
{
	fprintf(out, "#   needs: %d ranks", fault_ranks(fault));
	if (fault->needs.graph)
		fprintf(out, ", --mode graph");
	if (fault->schedule)
		fprintf(out, "; --schedule %s unless another is asked for", fault->schedule);
	for (size_t i = 0; i < LENGTH(needs); i++)
		if (fault->needs.machine & 1u << i)
			fprintf(out, ", %s", needs[i].name);
	fputc('\n', out);
}

/* "hang|error|...", or what the machine lacks. */
static void short_outcome(const struct fault *fault, const struct fault_machine *machine, char *buf,
			  size_t len)
{
	const char *outcomes = outcomes_on(fault, machine), *second;
	unsigned lacking = fault->needs.machine & ~machine->have;

	if (!outcomes || lacking) {
		snprintf(buf, len, "(%s%s)", outcomes ? "needs " : "not on ",
			 outcomes ? needs[__builtin_ctz(lacking)].name : machine->backend);
		return;
	}
	second = strchr(outcomes, '|');
	second = second ? strchr(second + 1, '|') : NULL;
	snprintf(buf, len, "%.*s%s", second ? (int)(second - outcomes) : 60, outcomes,
		 second ? "|..." : "");
}

static void list_one(FILE *out, const struct fault *fault, const struct fault_machine *machine)
{
	static const char *const places[] = {
		[FAULT_AT_CALL] = "@NUMBER @first",
		[FAULT_AT_INIT] = "@init",
		[FAULT_AT_BOTH] = "@NUMBER @first @init",
	};
	const char *outcomes = outcomes_on(fault, machine);
	char why[320], text[FAULT_LINE];

	fprintf(out, "# %-17s%s\n", fault->name, fault_text(fault, FAULT_HELP, text));
	if (strcmp(fault_text(fault, FAULT_MORE, text), "-") != 0)
		fprintf(out, "#   %s\n", text);
	fprintf(out, "#   fires: %s\n", places[fault->where]);
	fprintf(out, "#   keys: %s%s%s\n", fault->args ? fault->args : "", fault->args ? " " : "",
		fault->any_when ? "when=before|inflight|after" : "when=before");
	list_needs(out, fault);
	if (row_runs(fault, machine, why, sizeof(why)) == 0)
		fprintf(out, "#   here: can run\n");
	else
		fprintf(out, "#   here: %s\n", why);
	if (outcomes)
		fprintf(out, "#   outcome: %s\n", outcomes);
	fprintf(out, "#   as in: %s\n", fault_text(fault, FAULT_SOURCE, text));
}

void fault_list(FILE *out, const struct fault_machine *machine, const struct fault *only)
{
	char outcome[80], text[FAULT_LINE];

	if (only) {
		list_one(out, only, machine);
		return;
	}
	fprintf(out,
		"# --fault=NAME[:RANKS][@OP][,key=value...]  (on the %s backend)\n"
		"# %-17s  %-19s  %s\n",
		machine->backend, "NAME", "ends here with", "what the ranks do");
	for (size_t i = 0; fault_table[i]; i++) {
		short_outcome(fault_table[i], machine, outcome, sizeof(outcome));
		fprintf(out, "# %-17s  %-19s %s\n", fault_table[i]->name, outcome,
			fault_text(fault_table[i], FAULT_HELP, text));
	}
	fprintf(out,
		"# --list-faults=NAME prints the keys of a fault, when it fires, what it needs, "
		"all outcomes,\n# and the incident that it repeats; --list-faults=all of every "
		"fault.\n");
}
