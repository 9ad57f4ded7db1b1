/* test_backend.c: complete tables of this build; names and flags. */
#include "rig/unit.h"

#include "rig/job_rig.h"
#include "base/nccl_library.h"

/* Hooks and small tables are pointers of one size. Counts those from `from` to `end` that are NULL. */
static size_t missing(const void *table, size_t from, size_t end)
{
	size_t n = 0;
	void *hook;

	for (size_t at = from; at < end; at += sizeof(hook)) {
		memcpy(&hook, (const char *)table + at, sizeof(hook));
		n += !hook;
	}
	return n;
}

/* Each table has the hooks of its flags, and only optional ones are missing. */
UNIT_TEST(test_tables_complete, "tables are complete")
{
	int n = 0;

	for (; backend_at((size_t)n); n++) {
		const struct backend_ops *ops = backend_at((size_t)n);
		bool device = ops->flags & BACKEND_DEVICE, async = ops->flags & BACKEND_ASYNC;
		bool abort = ops->flags & BACKEND_ABORT, graph = ops->flags & BACKEND_GRAPH;
		size_t optional = !device + !async + !abort + !ops->memory_used +
				  !ops->register_memory + !ops->kernel_cost;

		UNIT_ALL(ops->name != NULL, backend_find(ops->name) == ops,
			 !ops->device_name == !device, !ops->started == !async,
			 !ops->comm_abort == !abort, !ops->graph == !graph,
			 missing(ops, offsetof(struct backend_ops, devices),
				 offsetof(struct backend_ops, graph)) == optional,
			 !graph || missing(ops->graph, 0, sizeof(*ops->graph)) == 0,
			 !ops->marks || missing(ops->marks, 0, sizeof(*ops->marks)) == 0,
			 !ops->breakage || missing(ops->breakage, 0, sizeof(*ops->breakage)) == 0,
			 !ops->compute || missing(ops->compute, 0, sizeof(*ops->compute)) == 0);
		for (int i = 0; i < n; i++)
			CU_ASSERT_STRING_NOT_EQUAL(backend_at((size_t)i)->name, ops->name);
	}
#ifdef HAVE_NCCL
	UNIT_ALL(n == 3, backend_at(0) == &backend_nccl);
#else
	CU_ASSERT_EQUAL(n, 2);
#endif
	UNIT_ALL(backend_at((size_t)n - 1) == &backend_mpi,
		 backend_at((size_t)n - 2) == &backend_null);
}

/* Flags by name equal those of the table, also for backends that this build lacks. */
UNIT_TEST(test_kinds, "kinds")
{
	for (size_t i = 0; backend_at(i); i++)
		for (unsigned flag = 1; flag <= BACKEND_NO_DATA; flag <<= 1)
			CU_ASSERT_EQUAL(backend_has(backend_at(i)->name, flag),
					(backend_at(i)->flags & flag) != 0);
	UNIT_ALL(backend_has("nccl", BACKEND_DEVICE), !backend_has("auto", BACKEND_DEVICE),
		 !backend_has("", BACKEND_SETTINGS),
		 !strcmp(backend_of_library("NCCL 2.28.9"), "nccl"),
		 !strcmp(backend_of_library("Open MPI v4.1.4"), "mpi"));
}

UNIT_TEST(test_find, "find")
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

#ifdef HAVE_NCCL
/* The double says the version that it is told. */
UNIT_TEST(test_old_library, "a library before 2.18 is refused, by name")
{
	const struct backend_config config = { .alloc = ALLOC_NCCL };
	const char *build = getenv("BUILD");
	struct error err = { .rank = -1 };
	struct backend *opened = NULL;
	char path[PATH_MAX];

	snprintf(path, sizeof(path), "%s/tests/double/libnccl.so.2", build ? build : "build");
	setenv("DOUBLE_VERSION", "21605", 1);
	nccl_library_ask(path);
	UNIT_ALL(backend_nccl.open(NULL, NULL, &err, &config, &opened) == -ENOTSUP, !opened,
		 strstr(err.text, "NCCL 2.16.5, --nccl-lib, /") != NULL,
		 strstr(err.text, "hangar needs 2.18 or later") != NULL);
}
#endif
