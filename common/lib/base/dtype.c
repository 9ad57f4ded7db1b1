/* dtype.c: names, sizes and printing of element types and reduction operators. */
#include "base/dtype.h"

#include "base/element.h"

static const struct {
	const char *name;
	uint8_t size;
} types[DT_COUNT] = {
	[DT_INT8] = { "int8", 1 },     [DT_UINT8] = { "uint8", 1 },
	[DT_INT32] = { "int32", 4 },   [DT_UINT32] = { "uint32", 4 },
	[DT_INT64] = { "int64", 8 },   [DT_UINT64] = { "uint64", 8 },
	[DT_HALF] = { "half", 2 },     [DT_FLOAT] = { "float", 4 },
	[DT_DOUBLE] = { "double", 8 }, [DT_BFLOAT16] = { "bfloat16", 2 },
	[DT_F8E4M3] = { "f8e4m3", 1 }, [DT_F8E5M2] = { "f8e5m2", 1 },
};

static const char *const ops[OP_COUNT] = {
	[OP_SUM] = "sum", [OP_PROD] = "prod", [OP_MAX] = "max",
	[OP_MIN] = "min", [OP_AVG] = "avg",   [OP_MULSUM] = "mulsum",
};

const char *dtype_name(enum dtype type)
{
	return (unsigned int)type < DT_COUNT ? types[type].name : "?";
}

const char *redop_name(enum redop op)
{
	return op == OP_NONE ? "none" : (unsigned int)op < OP_COUNT ? ops[op] : "?";
}

int dtype_parse(const char *name)
{
	for (int i = 0; i < DT_COUNT; i++)
		if (!strcmp(name, types[i].name))
			return i;
	return -EINVAL;
}

size_t dtype_size(enum dtype type)
{
	return types[type].size;
}

char *dtype_format(enum dtype type, const void *bits, char *buf, size_t len)
{
	size_t size = dtype_size(type);
	uint64_t u = 0;

	memcpy(&u, bits, size);
	if (check_is_float(type))
		snprintf(buf, len, "%.*g (0x%0*lx)", type == DT_DOUBLE ? 17 : 9,
			 check_decode(type, u), (int)(2 * size), u);
	else if (type == DT_INT8)
		snprintf(buf, len, "%d", (int8_t)u);
	else if (type == DT_INT32)
		snprintf(buf, len, "%d", (int32_t)u);
	else if (type == DT_INT64)
		snprintf(buf, len, "%ld", (int64_t)u);
	else
		snprintf(buf, len, "%lu", u);
	return buf;
}
