/* change.c: a call made otherwise than asked for. */
#include "inject/calls/change.h"

size_t change_count(const struct fault_spec *spec, size_t count)
{
	const char *factor = fault_arg(spec, "factor"), *by = fault_arg(spec, "by");
	long long changed = (long long)count;

	if (by)
		changed += atoll(by);
	else
		changed = factor && strcmp(factor, "double") == 0 ? 2 * changed : changed / 2;
	if (changed > 2 * (long long)count)
		changed = 2 * (long long)count;
	return changed > 0 ? (size_t)changed : 1;
}

int change_emit(const struct fault_act *act, const struct call *call)
{
	int rc = chain_emit(act->chain, call);

	return rc < 0 ? rc : FAULT_SWALLOW;
}
