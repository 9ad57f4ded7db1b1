/* dtype.h: a collective's element types and operators: names, sizes and bit formats. */
#pragma once

/* The order is ncclDataType_t's (nccl.h, 2.24 and later); backends do not rely on it. */
enum dtype {
	DT_INT8,
	DT_UINT8,
	DT_INT32,
	DT_UINT32,
	DT_INT64,
	DT_UINT64,
	DT_HALF,
	DT_FLOAT,
	DT_DOUBLE,
	DT_BFLOAT16,
	DT_F8E4M3,
	DT_F8E5M2,
	DT_COUNT
};

/* OP_MULSUM is NCCL's pre-multiplied sum; its scalar is 1 on even ranks and 2 on odd ones. */
enum redop { OP_NONE = -1, OP_SUM, OP_PROD, OP_MAX, OP_MIN, OP_AVG, OP_MULSUM, OP_COUNT };

/* nccl-tests' names: "int8" ... "f8e5m2"; "sum" ... "mulsum"; "none"; out of range "?". */
const char *dtype_name(enum dtype type);
const char *redop_name(enum redop op);

/* Returns the value, or -EINVAL for an unknown name. `name` is not NULL. */
int dtype_parse(const char *name);

/* Bytes of one element: 1, 2, 4 or 8. */
size_t dtype_size(enum dtype type);

/* Prints the element at `bits` (little endian, dtype_size bytes): integers in decimal, floats with
 * %.9g or %.17g and their bits in hex. Writes at most `len` bytes; returns buf. */
char *dtype_format(enum dtype type, const void *bits, char *buf, size_t len);
