/* backend.c: the backends of this build, and whether their tables are complete. */
#include "backend/backend.h"

#include <string.h>

const struct backend_ops *const backend_table[] = {
#ifdef HAVE_NCCL
	&backend_nccl,
#endif
	&backend_mpi, NULL
};

const struct backend_ops *backend_find(const char *name)
{
	bool any = strcmp(name, "auto") == 0;

	for (size_t i = 0; backend_table[i]; i++) {
		const struct backend_ops *ops = backend_table[i];

		if (any ? ops->devices() > 0 : strcmp(name, ops->name) == 0)
			return ops;
	}
	return NULL;
}

struct hook {
	const char *name;
	size_t offset;
};

#define HOOK(name)                                                                                 \
	{                                                                                          \
#name, offsetof(struct backend_ops, name)                                          \
	}

static const struct hook required[] = {
	HOOK(name),	   HOOK(help),	     HOOK(devices),  HOOK(open),
	HOOK(close),	   HOOK(facts),	     HOOK(supports), HOOK(avg_premultiplies),
	HOOK(comm_open),   HOOK(comm_close), HOOK(alloc),    HOOK(release),
	HOOK(comm_id),	   HOOK(fill),	     HOOK(poison),   HOOK(copy),
	HOOK(store),	   HOOK(fetch),	     HOOK(verify),   HOOK(issue),
	HOOK(group_begin), HOOK(group_end),  HOOK(wait),
};

static const struct hook graph[] = {
	HOOK(graph_begin),
	HOOK(graph_end),
	HOOK(graph_launch),
	HOOK(graph_free),
};

static const struct hook marking[] = { HOOK(mark), HOOK(marks) };

static const struct hook telling[] = { HOOK(used_refusal), HOOK(used_begin), HOOK(used_end) };

static const struct hook estimating[] = { HOOK(estimate_begin), HOOK(estimate_end) };

/* Data and function pointers have one size and one null on every system that dlsym works on. */
static bool hook_set(const struct backend_ops *ops, const struct hook *hook)
{
	void *pointer;

	memcpy(&pointer, (const char *)ops + hook->offset, sizeof(pointer));
	return pointer != NULL;
}

/* The first of n hooks that is missing, NULL when there is none or, if that is allowed, when all
 * are. */
static const char *missing_of(const struct backend_ops *ops, const struct hook *hooks, size_t n,
			      bool may_lack_all)
{
	const char *missing = NULL;
	size_t set = 0;

	for (size_t i = 0; i < n; i++) {
		if (hook_set(ops, &hooks[i]))
			set++;
		else if (!missing)
			missing = hooks[i].name;
	}
	return may_lack_all && set == 0 ? NULL : missing;
}

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

const char *backend_check(const struct backend_ops *ops)
{
	const char *missing = missing_of(ops, required, COUNT(required), false);

	if (!missing)
		missing = missing_of(ops, graph, COUNT(graph), true);
	if (!missing)
		missing = missing_of(ops, marking, COUNT(marking), true);
	if (!missing)
		missing = missing_of(ops, telling, COUNT(telling), true);
	if (!missing)
		missing = missing_of(ops, estimating, COUNT(estimating), true);
	return missing;
}
