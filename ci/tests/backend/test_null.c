/* test_null.c: the null backend: it reserves memory, accepts calls, and claims no data. */
#include "rig/unit.h"

#include "backend/backend.h"
#include "backend/call.h"

UNIT_TEST(test_life, "life")
{
	const struct backend_config config = { .device = -1 };
	struct error err = { .rank = -1 };
	struct backend_facts facts;
	struct backend *be = NULL;
	struct call call = { .kind = CALL_ALL_REDUCE, .count = 1u << 30 };
	unsigned char byte;
	void *ptr = NULL, *other = NULL;

	CU_ASSERT_EQUAL_FATAL(backend_null.open(NULL, NULL, &err, &config, &be), 0);
	be->ops->facts(be, &facts);
	CU_ASSERT_STRING_EQUAL(backend_of_library(facts.library), "null");
	/* more than any host has: it is never touched */
	UNIT_ALL(be->ops->alloc(be, (size_t)1 << 40, (size_t)1 << 40, &ptr) == 0,
		 (uintptr_t)ptr % 4096 == 0, be->ops->alloc(be, 1, 1, &other) == 0);
	be->ops->release(be, ptr, (size_t)1 << 40, (size_t)1 << 40);
	be->ops->release(be, NULL, 0, 0);
	call.send = call.recv = other;
	UNIT_ALL(be->ops->poison(be, other, 1) == 0, be->ops->issue(be, &call, 1) == 0,
		 be->ops->wait(be) == 0, be->ops->fetch(be, &byte, other, 1) == -ENOTSUP,
		 err.code == -ENOTSUP);
	be->ops->release(be, other, 1, 1);
	be->ops->close(be);
	backend_null.close(NULL);
}

UNIT_TEST(test_never_by_auto, "never by auto")
{
	UNIT_ALL(backend_null.flags & BACKEND_NO_DATA, backend_find("auto") != &backend_null);
}
