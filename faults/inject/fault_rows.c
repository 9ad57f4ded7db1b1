/* fault_rows.c: the table of faults: checked, searched, listed, and what of it can run on
 * this machine. */
#include "inject/fault.h"

#include <errno.h>
#include <string.h>

#include "base/backend_kind.h"
#include "inject/fault_key.h"

const struct fault *fault_find(const char *name)
{
	for (size_t i = 0; fault_table[i]; i++)
		if (strcmp(fault_table[i]->name, name) == 0)
			return fault_table[i];
	return NULL;
}

static bool is_line(const char *text)
{
	return text && *text && !strchr(text, '\n');
}

static bool outcomes_ok(const char *text)
{
	char one[48];

	for (;;) {
		size_t len = strcspn(text, "|");

		if (len >= sizeof(one))
			return false;
		memcpy(one, text, len);
		one[len] = '\0';
		if (expect_check(one) < 0)
			return false;
		if (!text[len])
			return true;
		text += len + 1;
	}
}

static bool args_ok(const char *args)
{
	const char *const lower = "abcdefghijklmnopqrstuvwxyz";
	struct fault_spec *spec;
	struct key key;
	int n = 0;

	while (fault_key_next(&args, &key)) {
		if (++n == FAULT_MAX_ARGS || key.name_len == 0 ||
		    key.name_len >= sizeof(spec->args[0].key) ||
		    strspn(key.name, lower) != key.name_len || key.name[key.name_len] != '=')
			return false;
		if (fault_key_is(&key, "SECONDS") || fault_key_is(&key, "STATUS"))
			continue;
		if (key.value_len == 0 ||
		    strspn(key.value, "abcdefghijklmnopqrstuvwxyz|") != key.value_len)
			return false;
	}
	return true;
}

/* Only bits that have a name; and what needs a GPU cannot occur without one. */
static bool needs_ok(const struct fault *fault)
{
	unsigned left = fault->needs.machine;

	for (unsigned bit = 1; bit <= NEED_NAMESPACE; bit <<= 1)
		if (fault_need_name(bit))
			left &= ~bit;
	return left == 0 && !(fault->needs.machine & NEED_GPU && fault->mpi);
}

static const char *row_check(const struct fault *fault)
{
	bool everywhere = fault->mpi && fault->nccl;

	if (!is_line(fault->name) ||
	    strspn(fault->name, "abcdefghijklmnopqrstuvwxyz-") != strlen(fault->name) ||
	    strlen(fault->name) >= 32)
		return "a fault without a name of small letters and '-'";
	if (!is_line(fault->help))
		return "a fault without a line of help";
	if (!is_line(fault->source))
		return "a fault without a source";
	if (!fault->fire)
		return "a fault that does nothing";
	if (fault->needs.ranks < 1)
		return "a fault without a number of ranks";
	if (fault->needs.communicators < 1)
		return "a fault without a number of communicators";
	if (!needs_ok(fault))
		return "a fault whose needs do not fit its outcomes";
	if (!(fault->where & (FAULT_AT_CALL | FAULT_AT_INIT)) ||
	    fault->where & ~(unsigned)(FAULT_AT_CALL | FAULT_AT_INIT))
		return "a fault that fires nowhere";
	if (fault->args && (!*fault->args || !args_ok(fault->args)))
		return "a fault with malformed keys";
	if (fault->sticky && !fault->only_before)
		return "a sticky fault that may fire after the call";
	if (fault->sticky && fault->where != FAULT_AT_CALL)
		return "a sticky fault that fires at init";
	if (!fault->mpi && !fault->nccl)
		return "a fault that can occur nowhere";
	if ((fault->mpi && !outcomes_ok(fault->mpi)) || (fault->nccl && !outcomes_ok(fault->nccl)))
		return "a fault with malformed outcomes";
	if (everywhere ? fault->why_not != NULL : !is_line(fault->why_not))
		return "a fault whose why_not does not fit its outcomes";
	return NULL;
}

const char *fault_rows_check(const struct fault *const *table)
{
	if (!table[0])
		return "no faults";
	for (size_t i = 0; table[i]; i++) {
		const char *wrong = row_check(table[i]);

		if (wrong)
			return wrong;
		for (size_t k = 0; k < i; k++)
			if (strcmp(table[i]->name, table[k]->name) == 0)
				return "two faults of one name";
	}
	return NULL;
}

const char *fault_table_check(void)
{
	return fault_rows_check(fault_table);
}

/* ---- what can run here ---- */

const char *fault_need_name(unsigned need)
{
	switch (need) {
	case NEED_SUPERUSER:
		return "superuser";
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
	case NEED_SUPERUSER:
		return "the superuser's rights";
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
