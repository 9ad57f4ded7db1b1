/* fault_lint.c: is a table of faults sound? */
#include "fault_lint.h"

#include "inject/fault_key.h"

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
		    key.name_len >= sizeof(spec->args[0].key) || key.name[key.name_len] != '=')
			return false;
		if (strspn(key.name, lower) != key.name_len && strncmp(key.name, "NCCL_*=", 7) != 0)
			return false;
		if (fault_key_has_kind(&key))
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
	return fault->needs.machine < NEED_NAMESPACE << 1 &&
	       !(fault->needs.machine & NEED_GPU && fault->mpi);
}

static const char *row_check(const struct fault *fault)
{
	bool everywhere = fault->mpi && fault->nccl;

	if (!is_line(fault->name) ||
	    strspn(fault->name, "abcdefghijklmnopqrstuvwxyz0123456789-") != strlen(fault->name) ||
	    strlen(fault->name) >= 32)
		return "a fault without a name of small letters and '-'";
	if (!is_line(fault->help))
		return "a fault without a line of help";
	if (!is_line(fault->source))
		return "a fault without a source";
	if (!fault->fire == !fault->launch)
		return "a fault that does nothing";
	if (fault->schedule && !scheme_find(fault->schedule))
		return "a fault whose schedule does not exist";
	if (!needs_ok(fault))
		return "a fault whose needs do not fit its outcomes";
	if (fault->where > FAULT_AT_BOTH)
		return "a fault that fires nowhere";
	if (fault->args && (!*fault->args || !args_ok(fault->args)))
		return "a fault with malformed keys";
	if (fault->sticky && fault->any_when)
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
