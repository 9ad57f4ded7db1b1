/* test_backend.c: the tables of this build are complete, and an incomplete one is noticed. */
#include "rig/unit.h"

#include <string.h>

#include "backend/backend.h"

static void test_tables_complete(void)
{
	int n = 0;

	for (; backend_table[n]; n++) {
		const char *missing = backend_check(backend_table[n]);

		CU_ASSERT_PTR_NULL(missing);
		CU_ASSERT_PTR_EQUAL(backend_find(backend_table[n]->name), backend_table[n]);
		for (int i = 0; i < n; i++)
			CU_ASSERT_STRING_NOT_EQUAL(backend_table[i]->name, backend_table[n]->name);
	}
#ifdef HAVE_NCCL
	CU_ASSERT_EQUAL(n, 2);
	CU_ASSERT_PTR_EQUAL(backend_table[0], &backend_nccl);
#else
	CU_ASSERT_EQUAL(n, 1);
#endif
	CU_ASSERT_PTR_EQUAL(backend_table[n - 1], &backend_mpi);
}

/* NULL the first member, the next, and so on: each must be missed by name unless it is optional. */
static void test_each_hook_is_missed(void)
{
	static const char *const optional[] = { "device_name", "comm_abort",  "enroll",
						"begun",       "kernel_cost", "memory_used" };
	const size_t size = sizeof(void *);
	struct backend_ops whole = backend_mpi, ops;
	size_t missed = 0;
	void *hook;

	CU_ASSERT_EQUAL(sizeof(whole) % size, 0);
	/* Give every hook a value, so that the optional ones are there as well. */
	memcpy(&hook, (char *)&whole + offsetof(struct backend_ops, wait), size);
	for (size_t at = offsetof(struct backend_ops, devices); at < sizeof(whole); at += size)
		memcpy((char *)&whole + at, &hook, size);
	CU_ASSERT_PTR_NULL(backend_check(&whole));
	for (size_t at = 0; at < sizeof(whole); at += size) {
		const char *name;

		ops = whole;
		memset((char *)&ops + at, 0, size);
		name = backend_check(&ops);
		missed += name != NULL;
	}
	CU_ASSERT_EQUAL(missed, sizeof(whole) / size - sizeof(optional) / sizeof(optional[0]));
}

static void test_missing_is_named(void)
{
	struct backend_ops ops = backend_mpi;

	ops.verify = NULL;
	CU_ASSERT_STRING_EQUAL(backend_check(&ops), "verify");
	ops.open = NULL;
	CU_ASSERT_STRING_EQUAL(backend_check(&ops), "open");
	ops = backend_mpi;
	ops.name = NULL;
	CU_ASSERT_STRING_EQUAL(backend_check(&ops), "name");
}

static int mark(struct backend *be, int number)
{
	(void)be;
	return number;
}

static int graph_begin(struct backend *be)
{
	(void)be;
	return 0;
}

static void graph_free(struct backend *be, void *graph)
{
	(void)be;
	(void)graph;
}

static int begin(struct backend *be)
{
	(void)be;
	return 0;
}

static void test_hooks_come_together(void)
{
	struct backend_ops ops = backend_mpi;

	CU_ASSERT_PTR_NULL(backend_check(&ops));
	ops.graph_begin = graph_begin;
	CU_ASSERT_STRING_EQUAL(backend_check(&ops), "graph_end");
	ops.graph_begin = NULL;
	ops.graph_free = graph_free;
	CU_ASSERT_STRING_EQUAL(backend_check(&ops), "graph_begin");
	ops = backend_mpi;
	ops.mark = mark;
	ops.marks = NULL;
	CU_ASSERT_STRING_EQUAL(backend_check(&ops), "marks");
	ops.mark = NULL;
	CU_ASSERT_PTR_NULL(backend_check(&ops));
	ops.used_begin = begin;
	CU_ASSERT_STRING_EQUAL(backend_check(&ops), "used_refusal");
	ops.used_begin = NULL;
	ops.estimate_begin = begin;
	CU_ASSERT_STRING_EQUAL(backend_check(&ops), "estimate_end");
}

static void test_find(void)
{
	const struct backend_ops *found = backend_find("auto");

	CU_ASSERT_PTR_EQUAL(backend_find("mpi"), &backend_mpi);
	CU_ASSERT_EQUAL(backend_mpi.devices(), 1);
	CU_ASSERT_PTR_NULL(backend_find(""));
	CU_ASSERT_PTR_NULL(backend_find("MPI"));
	CU_ASSERT_PTR_NULL(backend_find("mpi "));
	CU_ASSERT_PTR_NOT_NULL_FATAL(found);
	CU_ASSERT(found->devices() > 0);
#ifdef HAVE_NCCL
	CU_ASSERT_PTR_EQUAL(backend_find("nccl"), &backend_nccl);
	CU_ASSERT_PTR_EQUAL(found, backend_nccl.devices() > 0 ? &backend_nccl : &backend_mpi);
#else
	CU_ASSERT_PTR_NULL(backend_find("nccl"));
#endif
}

int main(void)
{
	static const struct unit_case cases[] = {
		{ "tables are complete", test_tables_complete },
		{ "each hook is missed", test_each_hook_is_missed },
		{ "the missing hook is named", test_missing_is_named },
		{ "hooks of a set come together", test_hooks_come_together },
		{ "find", test_find },
	};

	return unit_main("backend", cases, sizeof(cases) / sizeof(cases[0]));
}
