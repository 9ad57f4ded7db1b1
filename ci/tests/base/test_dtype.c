/* test_dtype.c: names, sizes and printing of element types and operators. */
#include "rig/unit.h"

#include "base/dtype.h"

static const struct {
	enum dtype type;
	const char *name;
	size_t size;
} types[] = {
	{ DT_INT8, "int8", 1 },		{ DT_UINT8, "uint8", 1 },   { DT_INT32, "int32", 4 },
	{ DT_UINT32, "uint32", 4 },	{ DT_INT64, "int64", 8 },   { DT_UINT64, "uint64", 8 },
	{ DT_HALF, "half", 2 },		{ DT_FLOAT, "float", 4 },   { DT_DOUBLE, "double", 8 },
	{ DT_BFLOAT16, "bfloat16", 2 }, { DT_F8E4M3, "f8e4m3", 1 }, { DT_F8E5M2, "f8e5m2", 1 },
};

static const struct {
	enum redop op;
	const char *name;
} ops[] = {
	{ OP_SUM, "sum" }, { OP_PROD, "prod" }, { OP_MAX, "max" },
	{ OP_MIN, "min" }, { OP_AVG, "avg" },	{ OP_MULSUM, "mulsum" },
};

UNIT_TEST(test_types, "types")
{
	CU_ASSERT_EQUAL(LENGTH(types), DT_COUNT);
	UNIT_ROWS(row, types) {
		CU_ASSERT_STRING_EQUAL(dtype_name(row->type), row->name);
		CU_ASSERT_EQUAL(dtype_parse(row->name), (int)row->type);
		CU_ASSERT_EQUAL(dtype_size(row->type), row->size);
	}
}

UNIT_TEST(test_operators, "operators")
{
	CU_ASSERT_EQUAL(LENGTH(ops), OP_COUNT);
	UNIT_ROWS(row, ops)
		CU_ASSERT_STRING_EQUAL(redop_name(row->op), row->name);
	CU_ASSERT_STRING_EQUAL(redop_name(OP_NONE), "none");
}

UNIT_TEST(test_unknown_names, "unknown names")
{
	const char *const names[] = { "",	 " ",	"Float", "float ", "floa",
				      "float32", "all", "none",	 "-1",	   "0" };

	for (size_t i = 0; i < LENGTH(names); i++)
		CU_ASSERT_EQUAL(dtype_parse(names[i]), -EINVAL);
}

UNIT_TEST(test_format, "format")
{
	const struct {
		enum dtype type;
		uint64_t bits;
		const char *text;
	} cases[] = {
		{ DT_INT8, 0x80, "-128" },
		{ DT_UINT8, 0x80, "128" },
		{ DT_INT32, 0xffffffff, "-1" },
		{ DT_UINT32, 0xffffffff, "4294967295" },
		{ DT_INT64, 0x8000000000000000, "-9223372036854775808" },
		{ DT_UINT64, 0xffffffffffffffff, "18446744073709551615" },
		{ DT_HALF, 0x3800, "0.5 (0x3800)" },
		{ DT_HALF, 0xfc00, "-inf (0xfc00)" },
		{ DT_FLOAT, 0x3dcccccd, "0.100000001 (0x3dcccccd)" },
		{ DT_FLOAT, 0x80000000, "-0 (0x80000000)" },
		{ DT_DOUBLE, 0x3fb999999999999a, "0.10000000000000001 (0x3fb999999999999a)" },
		{ DT_DOUBLE, 0xffefffffffffffff, "-1.7976931348623157e+308 (0xffefffffffffffff)" },
		{ DT_BFLOAT16, 0x4049, "3.140625 (0x4049)" },
		{ DT_F8E4M3, 0x7e, "448 (0x7e)" },
		{ DT_F8E4M3, 0x7f, "nan (0x7f)" },
		{ DT_F8E5M2, 0x7b, "57344 (0x7b)" },
	};
	char buf[48];

	UNIT_ROWS(c, cases)
		UNIT_ALL(dtype_format(c->type, &c->bits, buf, sizeof(buf)) == buf,
			 !strcmp(buf, c->text));
}

UNIT_TEST(test_format_short_buffer, "format into a short buffer")
{
	const uint32_t bits = 123456;
	char buf[4] = "xyz", untouched = 'u';

	dtype_format(DT_UINT32, &bits, buf, sizeof(buf));
	CU_ASSERT_STRING_EQUAL(buf, "123");
	dtype_format(DT_UINT32, &bits, buf, 1);
	CU_ASSERT_STRING_EQUAL(buf, "");
	dtype_format(DT_UINT32, &bits, &untouched, 0);
	CU_ASSERT_EQUAL(untouched, 'u');
}
