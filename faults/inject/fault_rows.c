/* fault_rows.c: the table of faults: searched, listed, and what of it can run on this machine. */
#include "inject/fault.h"

#include <errno.h>
#include <string.h>

#include "options/backend_kind.h"
#include "inject/fault_key.h"

const struct fault *fault_find(const char *name)
{
	for (size_t i = 0; fault_table[i]; i++)
		if (strcmp(fault_table[i]->name, name) == 0)
			return fault_table[i];
	return NULL;
}

const char *fault_need_name(unsigned need)
{
	switch (need) {
	case NEED_CGROUP:
		return "cgroup";
	case NEED_GPU:
		return "GPU";
	case NEED_NET:
		return "NET";
	case NEED_NAMESPACE:
		return "namespace";
	}
	return NULL;
}

static const char *need_lacking(unsigned need)
{
	switch (need) {
	case NEED_CGROUP:
		return "a memory cgroup that may be made and limited here";
	case NEED_GPU:
		return "a GPU";
	case NEED_NET:
		return "ranks that talk over sockets";
	}
	return "a network namespace of its own (CAP_SYS_ADMIN)";
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
	if (fault->needs.communicators > machine->communicators) {
		snprintf(why, len, "needs %d communicators, the schedule has %d",
			 fault->needs.communicators, machine->communicators);
		return -ENOTSUP;
	}
	if (lacking) {
		snprintf(why, len, "needs %s", need_lacking(lacking & -lacking));
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

static void list_needs(FILE *out, const struct fault *fault)
{
	fprintf(out, "#   needs: %d rank%s", fault->needs.ranks,
		fault->needs.ranks == 1 ? "" : "s");
	if (fault->needs.communicators > 1)
		fprintf(out, ", %d communicators", fault->needs.communicators);
	for (unsigned bit = 1; bit <= NEED_NAMESPACE; bit <<= 1)
		if (fault->needs.machine & bit)
			fprintf(out, ", %s", fault_need_name(bit));
	fputc('\n', out);
}

static void list_row(FILE *out, const struct fault *fault, const struct fault_machine *machine)
{
	static const char *const places[] = {
		[FAULT_AT_CALL] = "@NUMBER @first",
		[FAULT_AT_INIT] = "@init",
		[FAULT_AT_CALL | FAULT_AT_INIT] = "@NUMBER @first @init",
	};
	const char *outcomes = outcomes_on(fault, machine);
	char why[320];

	fprintf(out, "# %-17s %s\n", fault->name, fault->help);
	fprintf(out, "#   fires: %s\n", places[fault->where]);
	fprintf(out, "#   keys: %s%s%s\n", fault->args ? fault->args : "", fault->args ? " " : "",
		fault->only_before ? "when=before" : "when=before|inflight|after");
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
