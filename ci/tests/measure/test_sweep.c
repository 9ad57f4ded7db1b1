/* test_sweep.c: the points of a sweep, their order, and refusals. */
#include "measure/sweep.h"

#include "rig/unit.h"

static const struct collective all_reduce = { .name = "all_reduce", .reduces = true };
static const struct collective broadcast = { .name = "broadcast", .rooted = true };
static const struct collective reduce = { .name = "reduce", .reduces = true, .rooted = true };
static const struct collective hypercube = { .name = "hypercube", .power_of_two = true };

/* One type, one operator, root 0, 8 to 64 by factor 2. */
static struct options plain(void)
{
	return (struct options){
		.min_bytes = 8,
		.max_bytes = 64,
		.step_bytes = 1 << 20,
		.step_factor = 2,
		.dtype_first = DT_FLOAT,
		.dtype_last = DT_FLOAT,
		.op_first = OP_SUM,
		.op_last = OP_SUM,
	};
}

struct size_case {
	size_t min, max, step;
	int factor;
	size_t want[8]; /* 0 at the end */
};

static const struct size_case size_cases[] = {
	{ 8, 64, 0, 2, { 8, 16, 32, 64 } },
	{ 8, 63, 0, 2, { 8, 16, 32 } },
	{ 8, 8, 0, 2, { 8 } },
	{ 1, 100, 0, 10, { 1, 10, 100 } },
	{ 3, 1000, 0, 7, { 3, 21, 147 } },
	{ 8, 24, 8, 0, { 8, 16, 24 } },
	{ 8, 31, 8, 0, { 8, 16, 24 } },
	{ 5, 5, 8, 0, { 5 } },
	{ 5, 100, 0, 0, { 5 } },
	{ SIZE_MAX, SIZE_MAX, 0, 2, { SIZE_MAX } },
	{ SIZE_MAX / 2, SIZE_MAX, 0, 2, { SIZE_MAX / 2, SIZE_MAX - 1 } },
	{ SIZE_MAX / 2 + 1, SIZE_MAX, 0, 2, { SIZE_MAX / 2 + 1 } },
	{ SIZE_MAX / 3, SIZE_MAX, 0, 3, { SIZE_MAX / 3, SIZE_MAX } },
	{ SIZE_MAX - 1, SIZE_MAX, 1, 0, { SIZE_MAX - 1, SIZE_MAX } },
	{ SIZE_MAX - 1, SIZE_MAX, SIZE_MAX, 0, { SIZE_MAX - 1 } },
	{ SIZE_MAX - 5, SIZE_MAX, 4, 0, { SIZE_MAX - 5, SIZE_MAX - 1 } },
	{ 1, SIZE_MAX, 0, 2147483647, { 1, 2147483647, 4611686014132420609u } },
};

UNIT_TEST(test_sizes, "sizes")
{
	size_t i, j;

	for (i = 0; i < LENGTH(size_cases); i++) {
		const struct size_case *c = &size_cases[i];
		struct options options = plain();
		struct sweep sweep;
		struct point point;

		options.min_bytes = c->min;
		options.max_bytes = c->max;
		options.step_bytes = c->step;
		options.step_factor = c->factor;
		sweep_init(&sweep, &options, &all_reduce, NULL, 2);
		for (j = 0; c->want[j]; j++)
			UNIT_ALL(sweep_next(&sweep, &point), point.bytes == c->want[j]);
		UNIT_ALL(!sweep_next(&sweep, &point), !sweep_next(&sweep, &point));
	}
	/* --sizes: in their order, again for each type */
	for (int types = 1; types <= 2; types++) {
		struct options options = plain();
		struct sweep sweep;
		struct point point;

		options.nsizes = 3;
		memcpy(options.sizes, (size_t[]){ 1 << 20, 8, 4096 }, 3 * sizeof(size_t));
		options.dtype_last = DT_FLOAT + types - 1;
		sweep_init(&sweep, &options, &all_reduce, NULL, 2);
		for (i = 0; i < 3 * (size_t)types; i++)
			UNIT_ALL(sweep_next(&sweep, &point), point.bytes == options.sizes[i % 3]);
		CU_ASSERT_FALSE(sweep_next(&sweep, &point));
	}
}

/* Writes all points as "type/op/root/bytes ...". */
static void walk(struct sweep *sweep, char *buf, size_t len)
{
	struct point point;
	size_t n = 0;

	buf[0] = '\0';
	while (n < len && sweep_next(sweep, &point))
		n += (size_t)snprintf(buf + n, len - n, "%s%s/%s/%d/%zu", n ? " " : "",
				      dtype_name(point.dtype), redop_name(point.op), point.root,
				      point.bytes);
}

static void check_order(const struct options *options, const struct collective *c, int nranks,
			const char *want)
{
	struct sweep sweep;
	char text[1024];

	sweep_init(&sweep, options, c, NULL, nranks);
	walk(&sweep, text, sizeof(text));
	CU_ASSERT_STRING_EQUAL(text, want);
}

UNIT_TEST(test_order, "order of types, operators, roots and sizes")
{
	struct options options = plain();

	options.max_bytes = 16;
	check_order(&options, &hypercube, 2, "float/none/-1/8 float/none/-1/16");

	options.root = -1;
	check_order(&options, &broadcast, 3,
		    "float/none/0/8 float/none/0/16 float/none/1/8 float/none/1/16 "
		    "float/none/2/8 float/none/2/16");

	options.max_bytes = 8;
	options.dtype_first = DT_HALF;
	options.op_last = OP_PROD;
	check_order(&options, &reduce, 2,
		    "half/sum/0/8 half/sum/1/8 half/prod/0/8 half/prod/1/8 "
		    "float/sum/0/8 float/sum/1/8 float/prod/0/8 float/prod/1/8");

	options.root = 1;
	options.dtype_last = DT_HALF;
	check_order(&options, &reduce, 2, "half/sum/1/8 half/prod/1/8");
}

UNIT_TEST(test_all, "all types and operators")
{
	struct options options = plain();
	struct sweep sweep;
	struct point point;
	int n = 0;

	options.dtype_first = DT_INT8;
	options.dtype_last = DT_F8E5M2;
	options.op_last = OP_MULSUM;
	sweep_init(&sweep, &options, &all_reduce, NULL, 4);
	while (sweep_next(&sweep, &point))
		n++;
	CU_ASSERT_EQUAL(n, 12 * 6 * 4);
}

/* A backend that supports floats with sum and max, and int8 with sum. */
static bool some(struct backend *be, enum dtype dtype, enum redop op, char *why, size_t len)
{
	if ((dtype == DT_FLOAT && (op == OP_SUM || op == OP_MAX || op == OP_NONE)) ||
	    (dtype == DT_INT8 && op == OP_SUM))
		return true;
	snprintf(why, len, "no %s of %s here", redop_name(op), dtype_name(dtype));
	return false;
}

static const struct backend_ops some_ops = { .name = "some", .supports = some };

UNIT_TEST(test_passes_over, "what the backend does not have")
{
	struct backend backend = { .ops = &some_ops };
	struct options options = plain();
	struct error err = { .rank = -1 };
	struct sweep sweep;
	char text[1024];

	options.max_bytes = 8;
	options.root = -1;
	options.dtype_first = DT_INT8;
	options.dtype_last = DT_F8E5M2;
	options.op_last = OP_MULSUM;
	sweep_init(&sweep, &options, &reduce, &backend, 2);
	CU_ASSERT_EQUAL(sweep_check(&sweep, &err), 0);
	walk(&sweep, text, sizeof(text));
	CU_ASSERT_STRING_EQUAL(text, "int8/sum/0/8 int8/sum/1/8 float/sum/0/8 float/sum/1/8 "
				     "float/max/0/8 float/max/1/8");
	/* The first combination is not supported. */
	options.op_first = OP_PROD;
	sweep_init(&sweep, &options, &all_reduce, &backend, 2);
	walk(&sweep, text, sizeof(text));
	CU_ASSERT_STRING_EQUAL(text, "float/max/-1/8");
}

struct check_case {
	const struct collective *collective;
	int nranks, root, dtype, op; /* op -1: all operators */
	enum outcome outcome;
	const char *want;
};

static const struct check_case check_cases[] = {
	{ &all_reduce, 4, 0, DT_FLOAT, OP_SUM, OUTCOME_OK, "" },
	{ &all_reduce, 4, 9, DT_FLOAT, OP_SUM, OUTCOME_OK, "" },
	{ &all_reduce, 4, 0, DT_FLOAT, OP_PROD, OUTCOME_UNSUPPORTED,
	  "-d float -o prod: no prod of float here" },
	{ &all_reduce, 4, 0, DT_HALF, -1, OUTCOME_UNSUPPORTED,
	  "-d half -o all: no mulsum of half here" },
	{ &broadcast, 4, 3, DT_FLOAT, OP_SUM, OUTCOME_OK, "" },
	{ &broadcast, 4, -1, DT_FLOAT, OP_SUM, OUTCOME_OK, "" },
	{ &broadcast, 4, 4, DT_FLOAT, OP_SUM, OUTCOME_USAGE,
	  "-r 4: must be a rank below 4, or all" },
	{ &broadcast, 4, 0, DT_INT8, OP_SUM, OUTCOME_UNSUPPORTED, "-d int8: no none of int8 here" },
	{ &hypercube, 2, 0, DT_FLOAT, OP_SUM, OUTCOME_OK, "" },
	{ &hypercube, 64, 0, DT_FLOAT, OP_SUM, OUTCOME_OK, "" },
	{ &hypercube, 1, 0, DT_FLOAT, OP_SUM, OUTCOME_UNSUPPORTED, "power of two of ranks, not 1" },
	{ &hypercube, 3, 0, DT_FLOAT, OP_SUM, OUTCOME_UNSUPPORTED, "power of two of ranks, not 3" },
	{ &hypercube, 6, 0, DT_FLOAT, OP_SUM, OUTCOME_UNSUPPORTED, "power of two of ranks, not 6" },
};

UNIT_TEST(test_check, "what is refused")
{
	struct backend backend = { .ops = &some_ops };
	size_t i;

	for (i = 0; i < LENGTH(check_cases); i++) {
		const struct check_case *c = &check_cases[i];
		struct options options = plain();
		struct error err = { .rank = -1 };
		struct sweep sweep;
		int rc;

		options.root = c->root;
		options.dtype_first = options.dtype_last = c->dtype;
		options.op_first = c->op < 0 ? OP_SUM : c->op;
		options.op_last = c->op < 0 ? OP_MULSUM : c->op;
		sweep_init(&sweep, &options, c->collective, &backend, c->nranks);
		rc = sweep_check(&sweep, &err);
		UNIT_ALL((rc < 0) == (c->outcome != OUTCOME_OK), err.outcome == c->outcome,
			 strstr(err.text, c->want) != NULL);
	}
}
