/* test_nccl_profiler.c: the profiler plugin, called as each NCCL version calls it. */
#include "rig/unit.h"

#include "profiler/nccl_profiler.h"

/* The descriptors of collectives in src/include/plugin/profiler/profiler_v1.h to v6.h. */
#define HEAD                                                                                       \
	void *parent;                                                                              \
	int rank;
struct descr_1 {
	uint8_t type;
	HEAD struct {
		const char *name;
		uint64_t hash, seq;
		uint8_t func;
		const void *send;
		void *recv;
		size_t count;
		int root;
		uint8_t datatype;
		uint32_t op;
		size_t traffic;
		uint8_t channels, warps, algo, proto;
		int collnet, nvls;
	} coll;
};
#define NAMED                                                                                      \
	const char *func;                                                                          \
	const void *send;                                                                          \
	void *recv;                                                                                \
	size_t count;                                                                              \
	int root;                                                                                  \
	const char *datatype;
#define CHOICE                                                                                     \
	uint8_t channels, warps;                                                                   \
	const char *algo, *proto;
struct descr_2 {
	uint8_t type;
	HEAD struct {
		const char *name;
		uint64_t hash, seq;
		NAMED
		size_t traffic;
		CHOICE
	} coll;
};
struct descr_3 {
	uint8_t type;
	HEAD struct {
		const char *name;
		uint64_t hash, seq;
		NAMED
		CHOICE
	} coll;
};
struct descr_4 {
	uint8_t type;
	HEAD struct {
		uint64_t seq;
		NAMED
		CHOICE
	} coll;
};
struct descr_5 {
	uint64_t type;
	HEAD struct {
		uint64_t seq;
		NAMED
		CHOICE
		void *group;
	} coll;
};

/* A table as NCCL declares it. */
struct plugin {
	const char *name;
	void *init; /* with the arguments of its version */
	int (*start)(void *context, void **handle, void *descr);
	int (*stop)(void *handle);
	int (*record)(void *handle, int state, void *arguments);
	int (*finalize)(void *context);
};
extern const struct plugin ncclProfiler_v1, ncclProfiler_v2, ncclProfiler_v3, ncclProfiler_v4,
	ncclProfiler_v5, ncclProfiler_v6;
static const struct plugin *const plugins[] = { NULL,
						&ncclProfiler_v1,
						&ncclProfiler_v2,
						&ncclProfiler_v3,
						&ncclProfiler_v4,
						&ncclProfiler_v5,
						&ncclProfiler_v6 };
enum { NEWEST = 6, COLL = 2, P2P = 4 };

static int mask;
static void *context;

static void init(int version)
{
	const struct plugin *p = plugins[version];
	int rc;

	context = &mask; /* without a listener: no context */
	if (version >= 5)
		rc = ((int (*)(void **, uint64_t, int *, const char *, int, int, int,
			       void *))p->init)(&context, 7, &mask, "world", 1, 2, 0, NULL);
	else if (version == 4)
		rc = ((int (*)(void **, int *, const char *, uint64_t, int, int, int,
			       void *))p->init)(&context, &mask, "world", 7, 1, 2, 0, NULL);
	else
		rc = ((int (*)(void **, int *))p->init)(&context, &mask);
	UNIT_ALL(rc == 0, context == NULL, strlen(p->name) > 0);
}

/* An event, if the mask contains its kind. */
static void event(int version, uint64_t type, const char *algo, const char *proto, int channels)
{
	static const char *const names[] = { "TREE", "RING" }, *const protos[] = { "LL", "LL128" };
	const struct plugin *p = plugins[version];
	void *handle = &mask;
	union {
		struct descr_1 v1;
		struct descr_2 v2;
		struct descr_3 v3;
		struct descr_4 v4;
		struct descr_5 v5;
	} d;

	if (!(type & (unsigned)mask))
		return;
	memset(&d, 0xee, sizeof(d));
#define SET(v, t)                                                                                  \
	do {                                                                                       \
		d.v.type = t;                                                                      \
		d.v.coll.channels = (uint8_t)channels;                                             \
		d.v.coll.algo = algo;                                                              \
		d.v.coll.proto = proto;                                                            \
	} while (0)
	if (version == 2)
		SET(v2, (uint8_t)type);
	else if (version == 3)
		SET(v3, (uint8_t)type);
	else if (version == 4)
		SET(v4, (uint8_t)type);
	else if (version >= 5)
		SET(v5, type);
	else
		d.v1.type = (uint8_t)type;
	for (uint8_t i = 0; version == 1 && i < 2; i++) {
		d.v1.coll.channels = (uint8_t)channels;
		if (strcmp(algo, names[i]) == 0)
			d.v1.coll.algo = i;
		if (strcmp(proto, protos[i]) == 0)
			d.v1.coll.proto = i;
	}
	UNIT_ALL(p->start(context, &handle, &d) == 0, handle == NULL, p->stop(handle) == 0,
		 p->record(handle, 3, NULL) == 0);
}

static bool same(const char *a, const char *b)
{
	return a && b ? strcmp(a, b) == 0 : a == b;
}

static void expect(const char *algo, const char *proto, int channels)
{
	struct nccl_choice got = { "before", "before", 77 };

	nccl_profiler_take(&got);
	UNIT_ALL(same(got.algo, algo), same(got.proto, proto), got.channels == channels);
}

/* Reasons for missing reports. First: the plugin has not been requested. */
UNIT_TEST(test_refusal, "refusals")
{
	static const struct {
		int version;
		const char *plugin, *word;
	} cases[] = { { 21900, NULL, "no profiler" },
		      { 22209, "STATIC_PLUGIN", "no profiler" },
		      { 22304, "mine", "NCCL_PROFILER_PLUGIN is set" },
		      { 22809, "none", "NCCL_PROFILER_PLUGIN is set" },
		      { 22809, NULL, "did not take" } };

	UNIT_ROWS(c, cases) {
		unsetenv("NCCL_PROFILER_PLUGIN");
		if (c->plugin)
			setenv("NCCL_PROFILER_PLUGIN", c->plugin, 1);
		CU_ASSERT_PTR_NOT_NULL(strstr(nccl_profiler_refusal(c->version), c->word));
	}
	unsetenv("NCCL_PROFILER_PLUGIN");
	init(NEWEST);
	CU_ASSERT_PTR_NULL(nccl_profiler_refusal(22809));
}

UNIT_TEST(test_versions, "every version")
{
	for (int v = 1; v <= NEWEST; v++) {
		int channels = v >= 4 ? 24 : -1;

		init(v);
		nccl_profiler_ask(true);
		event(v, COLL, "RING", "LL128", 24);
		expect("Ring", "LL128", channels);
		expect(NULL, NULL, -1); /* taken already */
		event(v, COLL, "TREE", "LL", 24);
		event(v, COLL, "TREE", "LL", 24);
		expect("Tree", "LL", channels);
		event(v, P2P, "RING", "LL", 24);
		expect("P2P", NULL, -1);
		nccl_profiler_ask(false);
		CU_ASSERT_EQUAL(plugins[v]->finalize(context), 0);
	}
}

UNIT_TEST(test_names, "names")
{
	static const char *const cases[][4] = {
		{ "NVLS_TREE", "SIMPLE", "NVLSTree", "Simple" },
		{ "COLLNET_DIRECT", "LL", "CollNetDirect", "LL" },
		{ "COLLNET_CHAIN", "LL128", "CollNetChain", "LL128" },
		{ "PAT", "Unknown", "PAT", NULL },
		{ "QUANTUM", "SIMPLE", NULL, "Simple" },
		{ "AN_ALGORITHM_WITH_A_NAME_THAT_IS_LONGER_THAN_ANY", "", NULL, NULL },
		{ NULL, NULL, NULL, NULL },
	};

	init(NEWEST);
	nccl_profiler_ask(true);
	for (size_t i = 0; i < LENGTH(cases); i++) {
		event(NEWEST, COLL, cases[i][0], cases[i][1], 8);
		expect(cases[i][2], cases[i][3], 8);
	}
	event(NEWEST, COLL, "TREE", "LL", 0); /* symmetric memory: NCCL's fields are not set */
	expect(NULL, NULL, -1);
	nccl_profiler_ask(false);
}

UNIT_TEST(test_calls_that_differ, "calls that differ")
{
	init(NEWEST);
	nccl_profiler_ask(true);
	event(NEWEST, COLL, "RING", "LL", 2);
	event(NEWEST, COLL, "TREE", "LL", 2);
	expect(NULL, "LL", 2);
	event(NEWEST, COLL, "RING", "LL", 2);
	event(NEWEST, COLL, "RING", "SIMPLE", 4);
	event(NEWEST, COLL, "RING", "LL", 2);
	expect("Ring", NULL, -1);
	nccl_profiler_ask(false);
}

/* The mask is 0 without a request; it never contains kernels and proxies. */
UNIT_TEST(test_mask, "what NCCL is asked for")
{
	mask = 0xfff;
	init(NEWEST);
	CU_ASSERT_EQUAL(mask, 0);
	event(NEWEST, COLL, "RING", "LL", 2);
	expect(NULL, NULL, -1);
	nccl_profiler_ask(true);
	CU_ASSERT_EQUAL(mask, COLL | P2P);
	mask = 0;
	init(NEWEST); /* a second communicator during a request */
	CU_ASSERT_EQUAL(mask, COLL | P2P);
	for (int bit = 0; bit < 15; bit++) {
		mask = 1 << bit;
		if (!(mask & (COLL | P2P)))
			event(NEWEST, 1u << bit, "RING", "LL", 2);
	}
	expect(NULL, NULL, -1); /* other kinds in the mask: API and group events come with those of
		     * collectives */
	nccl_profiler_ask(false);
	CU_ASSERT_EQUAL(mask, 0);
}

UNIT_TEST(test_offer, "the offer")
{
	unsetenv("NCCL_PROFILER_PLUGIN");
	UNIT_ALL(nccl_profiler_offer(), same(getenv("NCCL_PROFILER_PLUGIN"), "STATIC_PLUGIN"),
		 nccl_profiler_offer());
	setenv("NCCL_PROFILER_PLUGIN", "theirs", 1);
	UNIT_ALL(!nccl_profiler_offer(), same(getenv("NCCL_PROFILER_PLUGIN"), "theirs"));
}
