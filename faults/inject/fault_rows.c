/* fault_rows.c: the table of faults: searched, listed, and what of it can run on this machine. */
#include "inject/fault.h"

#include "options/backend_kind.h"
#include "inject/fault_key.h"

const struct fault *fault_find(const char *name)
{
	for (size_t i = 0; fault_table[i]; i++)
		if (strcmp(fault_table[i]->name, name) == 0)
			return fault_table[i];
	return NULL;
}

/* By the bits of fault_need, from the lowest on. */
static const struct {
	const char *name, *lacking;
} needs[] = {
	{ "cgroup", "a memory cgroup that may be made and limited here" },
	{ "GPU", "a GPU" },
	{ "NET", "ranks that talk over sockets" },
	{ "namespace", "a network namespace of its own (CAP_SYS_ADMIN)" },
};

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

	if (!outcomes_on(fault, machine)) {
		snprintf(why, len, "cannot occur on the %s backend: %s", machine->backend,
			 fault->why_not);
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
	return rc;
}

/* What of the way's keys the user has given otherwise rules it out. */
static bool way_agrees(const struct fault_spec *spec, const struct fault_way *way)
{
	for (int i = 0; i < spec->nargs; i++) {
		const char *name = spec->args[i].key, *value = spec->args[i].value;
		struct key key;

		if (strcmp(name, "outcome") != 0 &&
		    (!fault_key_find(way->args, name, strlen(name), &key) ||
		     strlen(value) != key.value_len ||
		     memcmp(value, key.value, key.value_len) != 0))
			return false;
	}
	return true;
}

static void take_way(struct fault_spec *spec, const struct fault_way *way)
{
	const char *args = way->args;
	struct key key;

	spec->way = way;
	while (fault_key_next(&args, &key) && spec->nargs < FAULT_MAX_ARGS) {
		char name[sizeof(spec->args[0].key)];

		snprintf(name, sizeof(name), "%.*s", (int)key.name_len, key.name);
		if (fault_arg(spec, name))
			continue;
		memcpy(spec->args[spec->nargs].key, name, sizeof(name));
		snprintf(spec->args[spec->nargs].value, sizeof(spec->args[0].value), "%.*s",
			 (int)key.value_len, key.value);
		spec->nargs++;
	}
}

int fault_choose_way(struct fault_spec *spec, const struct fault_machine *machine,
		     const struct call *call, char *why, size_t len)
{
	const char *wanted = fault_arg(spec, "outcome");
	size_t bytes = call->count * dtype_size(call->dtype);

	for (const struct fault_way *way = spec->fault->ways; way && way->outcome; way++) {
		if ((wanted && strcmp(way->outcome, wanted) != 0) ||
		    !(way->transports & machine->transport) ||
		    (way->kinds && !(way->kinds & 1u << call->kind)) || bytes < way->least ||
		    (way->most && bytes > way->most) || !way_agrees(spec, way))
			continue;
		take_way(spec, way);
		return 0;
	}
	if (!wanted)
		return 0;
	snprintf(why, len,
		 "is not known to come to outcome=%s in %s of %zu bytes on this transport", wanted,
		 call_kind_name(call->kind), bytes);
	return -ENOTSUP;
}

static void list_needs(FILE *out, const struct fault *fault)
{
	fprintf(out, "#   needs: %d ranks", fault_ranks(fault));
	if (fault->needs.graph)
		fprintf(out, ", --mode graph");
	if (fault->schedule)
		fprintf(out, "; --schedule %s unless another is asked for", fault->schedule);
	for (size_t i = 0; i < sizeof(needs) / sizeof(needs[0]); i++)
		if (fault->needs.machine & 1u << i)
			fprintf(out, ", %s", needs[i].name);
	fputc('\n', out);
}

static void list_row(FILE *out, const struct fault *fault, const struct fault_machine *machine)
{
	static const char *const places[] = {
		[FAULT_AT_CALL] = "@NUMBER @first",
		[FAULT_AT_INIT] = "@init",
		[FAULT_AT_BOTH] = "@NUMBER @first @init",
	};
	const char *outcomes = outcomes_on(fault, machine);
	char why[320];

	fprintf(out, "# %-17s %s\n", fault->name, fault->help);
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
	fprintf(out, "#   as in: %s\n", fault->source);
}

void fault_list(FILE *out, const struct fault_machine *machine)
{
	fprintf(out, "# --fault=NAME[:RANKS][@OP][,key=value...]  (on the %s backend)\n",
		machine->backend);
	for (size_t i = 0; fault_table[i]; i++)
		list_row(out, fault_table[i], machine);
}
