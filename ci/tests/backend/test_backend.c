/* test_backend.c: the tables of this build are complete, and an incomplete one is noticed. */
#include "rig/unit.h"

#include "backend/backend.h"

static void test_tables_complete(void)
{
	int n = 0;

	for (; backend_table[n]; n++) {
		const char *missing = backend_check(backend_table[n]);

		UNIT_ALL(missing == NULL, backend_find(backend_table[n]->name) == backend_table[n]);
		for (int i = 0; i < n; i++)
			CU_ASSERT_STRING_NOT_EQUAL(backend_table[i]->name, backend_table[n]->name);
	}
#ifdef HAVE_NCCL
	CU_ASSERT_EQUAL(n, 3);
	CU_ASSERT_PTR_EQUAL(backend_table[0], &backend_nccl);
#else
	CU_ASSERT_EQUAL(n, 2);
#endif
	CU_ASSERT_PTR_EQUAL(backend_table[n - 2], &backend_mpi);
	CU_ASSERT_PTR_EQUAL(backend_table[n - 1], &backend_null);
}

/* NULL each member of a table in turn: it must be missed unless it is optional. */
static size_t missed(struct backend_ops *ops, void *table, size_t from, size_t size)
{
	char *at = table;
	size_t n = 0;
	void *hook;

	for (size_t i = from; i < size; i += sizeof(hook)) {
		memcpy(&hook, at + i, sizeof(hook));
		memset(at + i, 0, sizeof(hook));
		n += backend_check(ops) != NULL;
		memcpy(at + i, &hook, sizeof(hook));
	}
	return size / sizeof(hook) - n;
}

/* Give every hook a value, so that the optional ones are there as well. */
static void fill_hooks(void *table, size_t from, size_t size)
{
	const struct backend_ops *some = &backend_mpi;

	for (size_t at = from; at < size; at += sizeof(some->wait))
		memcpy((char *)table + at, &some->wait, sizeof(some->wait));
}

static void test_each_hook_is_missed(void)
{
	static struct backend_graph graph;
	static struct backend_marks marks;
	static struct backend_tuning tuning;
	static struct backend_breakage breakage;
	struct backend_ops whole = backend_mpi;

	fill_hooks(&whole, offsetof(struct backend_ops, devices),
		   offsetof(struct backend_ops, graph));
	fill_hooks(&graph, 0, sizeof(graph));
	fill_hooks(&marks, 0, sizeof(marks));
	fill_hooks(&tuning, 0, sizeof(tuning));
	fill_hooks(&breakage, 0, sizeof(breakage));
	whole.graph = &graph;
	whole.marks = &marks;
	whole.tuning = &tuning;
	whole.breakage = &breakage;
	whole.flags = BACKEND_DEVICE | BACKEND_ASYNC | BACKEND_ABORT | BACKEND_GRAPH;
	CU_ASSERT_PTR_NULL(backend_check(&whole));
	/* memory_used, register_memory, marks, tuning and breakage; the strings are looked at below */
	UNIT_ALL(missed(&whole, &whole, offsetof(struct backend_ops, devices), sizeof(whole)) -
				 offsetof(struct backend_ops, devices) / sizeof(void *) ==
			 5,
		 missed(&whole, &graph, 0, sizeof(graph)) == 0,
		 missed(&whole, &marks, 0, sizeof(marks)) == 0,
		 missed(&whole, &breakage, 0, sizeof(breakage)) == 0);
	CU_ASSERT_EQUAL(missed(&whole, &tuning, 0, sizeof(tuning)), 1); /* kernel_cost */
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

static int one(struct backend *be)
{
	return 0;
}

static void test_flags_and_hooks(void)
{
	static const struct {
		unsigned flag;
		const char *wrong;
	} cases[] = {
		{ BACKEND_DEVICE, "device_name" },
		{ BACKEND_ASYNC, "started" },
		{ BACKEND_ABORT, "comm_abort" },
		{ BACKEND_GRAPH, "graph" },
	};
	struct backend_ops ops;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		ops = backend_mpi;
		ops.flags |= cases[i].flag;
		CU_ASSERT_STRING_EQUAL(backend_check(&ops), cases[i].wrong);
	}
	/* and a hook that no flag tells of */
	ops = backend_mpi;
	ops.started = one;
	CU_ASSERT_STRING_EQUAL(backend_check(&ops), "started");
}

static void test_small_tables(void)
{
	const struct backend_graph graph = { .begin = one };
	const struct backend_marks marks = { .between = backend_mpi.marks->between };
	const struct backend_tuning tuning = { .begin = one };
	struct backend_ops ops = backend_mpi;

	CU_ASSERT_PTR_NULL(backend_check(&ops));
	ops.flags |= BACKEND_GRAPH;
	ops.graph = &graph;
	CU_ASSERT_STRING_EQUAL(backend_check(&ops), "graph.end");
	ops = backend_mpi;
	ops.marks = &marks;
	CU_ASSERT_STRING_EQUAL(backend_check(&ops), "marks.mark");
	ops.marks = NULL;
	CU_ASSERT_PTR_NULL(backend_check(&ops));
	ops.tuning = &tuning;
	CU_ASSERT_STRING_EQUAL(backend_check(&ops), "tuning.refusal");
}

/* What a name says is what the table says, also of backends that this build lacks. */
static void test_kinds(void)
{
	for (int i = 0; backend_table[i]; i++)
		for (unsigned flag = 1; flag <= BACKEND_NO_DATA; flag <<= 1)
			CU_ASSERT_EQUAL(backend_has(backend_table[i]->name, flag),
					(backend_table[i]->flags & flag) != 0);
	UNIT_ALL(backend_has("nccl", BACKEND_DEVICE), !backend_has("auto", BACKEND_DEVICE),
		 !backend_has("", BACKEND_NO_DATA),
		 !strcmp(backend_of_library("NCCL 2.28.9"), "nccl"),
		 !strcmp(backend_of_library("Open MPI v4.1.4"), "mpi"),
		 !strcmp(backend_of_library("null 1"), "null"));
}

static void test_find(void)
{
	const struct backend_ops *found = backend_find("auto");

	UNIT_ALL(backend_find("mpi") == &backend_mpi, backend_mpi.devices() == 1,
		 backend_find("null") == &backend_null, backend_find("") == NULL,
		 backend_find("MPI") == NULL, backend_find("mpi ") == NULL);
	CU_ASSERT_PTR_NOT_NULL_FATAL(found);
	CU_ASSERT(found->devices() > 0);
#ifdef HAVE_NCCL
	CU_ASSERT_PTR_EQUAL(backend_find("nccl"), &backend_nccl);
	CU_ASSERT_PTR_EQUAL(found, backend_nccl.devices() > 0 ? &backend_nccl : &backend_mpi);
#else
	CU_ASSERT_PTR_NULL(backend_find("nccl"));
#endif
}

UNIT_MAIN("backend", { "tables are complete", test_tables_complete },
	  { "each hook is missed", test_each_hook_is_missed },
	  { "the missing hook is named", test_missing_is_named },
	  { "flags and hooks", test_flags_and_hooks }, { "small tables", test_small_tables },
	  { "kinds", test_kinds }, { "find", test_find })
