/* backend.c: the backends of this build, and whether their tables are complete. */
#include "backend/backend.h"

const struct backend_ops *const backend_table[] = {
#ifdef HAVE_NCCL
	&backend_nccl,
#endif
	&backend_mpi, &backend_null, NULL
};

const struct backend_ops *backend_find(const char *name)
{
	bool any = strcmp(name, "auto") == 0;

	for (size_t i = 0; backend_table[i]; i++) {
		const struct backend_ops *ops = backend_table[i];

		if (any ? !(ops->flags & BACKEND_NO_DATA) && ops->devices() > 0
			: strcmp(name, ops->name) == 0)
			return ops;
	}
	return NULL;
}

/* Members are found by their offset: hooks and strings are pointers of one size, whose null is all
 * zero bits on every system that dlsym works on. */
struct hook {
	const char *name;
	size_t offset;
	unsigned flag; /* it goes with this flag: both or none; 0: always */
};

#define REQUIRED(hook)                                                                             \
	{                                                                                          \
#hook, offsetof(struct backend_ops, hook), 0                                       \
	}
#define WITH(flag, hook)                                                                           \
	{                                                                                          \
#hook, offsetof(struct backend_ops, hook), flag                                    \
	}

static const struct hook main_hooks[] = {
	REQUIRED(name),	      REQUIRED(help),
	REQUIRED(devices),    WITH(BACKEND_DEVICE, device_name),
	REQUIRED(open),	      REQUIRED(close),
	REQUIRED(facts),      REQUIRED(supports),
	REQUIRED(comm_id),    REQUIRED(comm_open),
	REQUIRED(comm_close), WITH(BACKEND_ABORT, comm_abort),
	REQUIRED(alloc),      REQUIRED(release),
	REQUIRED(fill),	      REQUIRED(poison),
	REQUIRED(copy),	      REQUIRED(store),
	REQUIRED(fetch),      REQUIRED(verify),
	REQUIRED(issue),      REQUIRED(group_begin),
	REQUIRED(group_end),  WITH(BACKEND_ASYNC, started),
	REQUIRED(wait),	      WITH(BACKEND_GRAPH, graph),
};

#define OF(table, hook)                                                                            \
	{                                                                                          \
#table "." #hook, offsetof(struct backend_##table, hook), 0                        \
	}

static const struct hook graph_hooks[] = { OF(graph, begin), OF(graph, end), OF(graph, launch),
					   OF(graph, release) };
static const struct hook marks_hooks[] = { OF(marks, mark), OF(marks, between) };
static const struct hook tuning_hooks[] = { OF(tuning, refusal), OF(tuning, begin), OF(tuning, end),
					    OF(tuning, estimate_begin), OF(tuning, estimate_end) };

static const struct hook breakage_hooks[] = { OF(breakage, spin), OF(breakage, wait_word),
					      OF(breakage, bad_access), OF(breakage, let_go) };

static bool is_set(const void *table, const struct hook *hook)
{
	void *pointer;

	memcpy(&pointer, (const char *)table + hook->offset, sizeof(pointer));
	return pointer != NULL;
}

/* The first of n hooks that is not as the flags say; NULL: none, as in a table that is not there. */
static const char *wrong_of(const void *table, const struct hook *hooks, size_t n, unsigned flags)
{
	for (size_t i = 0; table && i < n; i++)
		if (is_set(table, &hooks[i]) != (!hooks[i].flag || flags & hooks[i].flag))
			return hooks[i].name;
	return NULL;
}

#define WRONG_OF(table, hooks, flags)                                                              \
	wrong_of(table, hooks, sizeof(hooks) / sizeof((hooks)[0]), flags)

const char *backend_check(const struct backend_ops *ops)
{
	const char *wrong = WRONG_OF(ops, main_hooks, ops->flags);

	if (!wrong)
		wrong = WRONG_OF(ops->graph, graph_hooks, 0);
	if (!wrong)
		wrong = WRONG_OF(ops->marks, marks_hooks, 0);
	if (!wrong)
		wrong = WRONG_OF(ops->tuning, tuning_hooks, 0);
	if (!wrong)
		wrong = WRONG_OF(ops->breakage, breakage_hooks, 0);
	return wrong;
}
