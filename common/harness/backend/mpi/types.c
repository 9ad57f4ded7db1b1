/* types.c: MPI datatypes and reduction operators for every element type. */
#include "backend/mpi/types.h"

#include "base/element.h"

/* An operator of a type that MPI lacks. Sums and products go through double, which is exact enough
 * for a single rounding: 53 bits are more than twice the 11 of half. */
#define USER_OP(name, dtype, raw, op, expression)                                                  \
	static void name##_##op(void *in, void *inout, int *len, MPI_Datatype *datatype)           \
	{                                                                                          \
		const raw *from = in;                                                              \
		raw *to = inout;                                                                   \
                                                                                                   \
		(void)datatype;                                                                    \
		for (int i = 0; i < *len; i++) {                                                   \
			double a = check_decode(dtype, from[i]), b = check_decode(dtype, to[i]);   \
                                                                                                   \
			to[i] = (raw)check_round(dtype, expression);                               \
		}                                                                                  \
	}

#define USER_TYPE(name, dtype, raw)                                                                \
	USER_OP(name, dtype, raw, sum, a + b)                                                      \
	USER_OP(name, dtype, raw, prod, (a) * (b))                                                 \
	USER_OP(name, dtype, raw, max, a > b ? a : b)                                              \
	USER_OP(name, dtype, raw, min, a < b ? a : b)

USER_TYPE(half, DT_HALF, uint16_t)
USER_TYPE(bfloat16, DT_BFLOAT16, uint16_t)
USER_TYPE(f8e4m3, DT_F8E4M3, uint8_t)
USER_TYPE(f8e5m2, DT_F8E5M2, uint8_t)

/* Open MPI 4.1 saturates sums of 8-bit integers with AVX: 100 + 100 gives 127. NCCL's sum wraps. */
static void int8_sum(void *in, void *inout, int *len, MPI_Datatype *datatype)
{
	const uint8_t *from = in;
	uint8_t *to = inout;

	for (int i = 0; i < *len; i++)
		to[i] = (uint8_t)(to[i] + from[i]);
}

#define USER_FUNCTIONS(type)                                                                       \
	{                                                                                          \
		type##_sum, type##_prod, type##_max, type##_min                                    \
	}

/* Hangar's own operators, NULL: MPI's; and whether the type is hangar's own. */
static const struct own {
	enum dtype dtype;
	bool type;
	MPI_User_function *functions[OP_MIN + 1];
} owns[] = {
	{ DT_INT8, false, { int8_sum } },
	{ DT_UINT8, false, { int8_sum } },
	{ DT_HALF, true, USER_FUNCTIONS(half) },
	{ DT_BFLOAT16, true, USER_FUNCTIONS(bfloat16) },
	{ DT_F8E4M3, true, USER_FUNCTIONS(f8e4m3) },
	{ DT_F8E5M2, true, USER_FUNCTIONS(f8e5m2) },
};

#define OWNS LENGTH(owns)

/* MPI's handles are not constant expressions, so the table is filled at run time. */
static void builtin_types(struct mpi_types *types)
{
	*types = (struct mpi_types){
		.type = {
			[DT_INT8] = MPI_INT8_T,
			[DT_UINT8] = MPI_UINT8_T,
			[DT_INT32] = MPI_INT32_T,
			[DT_UINT32] = MPI_UINT32_T,
			[DT_INT64] = MPI_INT64_T,
			[DT_UINT64] = MPI_UINT64_T,
			[DT_FLOAT] = MPI_FLOAT,
			[DT_DOUBLE] = MPI_DOUBLE,
		},
	};
	for (int dtype = 0; dtype < DT_COUNT; dtype++) {
		types->op[dtype][OP_SUM] = MPI_SUM;
		types->op[dtype][OP_PROD] = MPI_PROD;
		types->op[dtype][OP_MAX] = MPI_MAX;
		types->op[dtype][OP_MIN] = MPI_MIN;
		types->op[dtype][OP_AVG] = MPI_SUM;
		types->op[dtype][OP_MULSUM] = MPI_OP_NULL;
	}
	for (size_t i = 0; i < OWNS; i++) {
		if (owns[i].type)
			types->type[owns[i].dtype] = MPI_DATATYPE_NULL;
		for (int op = OP_SUM; op <= OP_MIN; op++)
			if (owns[i].functions[op])
				types->op[owns[i].dtype][op] = MPI_OP_NULL;
	}
}

static int own_init(struct mpi_types *types, const struct own *own)
{
	MPI_Datatype *type = &types->type[own->dtype];
	MPI_Op *ops = types->op[own->dtype];
	int rc = MPI_SUCCESS;

	if (own->type)
		rc = MPI_Type_contiguous((int)dtype_size(own->dtype), MPI_BYTE, type);
	if (own->type && rc == MPI_SUCCESS)
		rc = MPI_Type_commit(type);
	for (int op = OP_SUM; rc == MPI_SUCCESS && op <= OP_MIN; op++)
		if (own->functions[op])
			rc = MPI_Op_create(own->functions[op], 1, &ops[op]);
	ops[OP_AVG] = ops[OP_SUM];
	return rc;
}

int mpi_types_init(struct mpi_types *types)
{
	int rc = MPI_SUCCESS;

	builtin_types(types);
	for (size_t i = 0; rc == MPI_SUCCESS && i < OWNS; i++)
		rc = own_init(types, &owns[i]);
	return rc;
}

void mpi_types_release(struct mpi_types *types)
{
	for (size_t i = 0; i < OWNS; i++) {
		MPI_Datatype *type = &types->type[owns[i].dtype];
		MPI_Op *ops = types->op[owns[i].dtype];

		for (int op = OP_SUM; op <= OP_MIN; op++)
			if (owns[i].functions[op] && ops[op] != MPI_OP_NULL)
				MPI_Op_free(&ops[op]);
		ops[OP_AVG] = MPI_OP_NULL;
		if (owns[i].type && *type != MPI_DATATYPE_NULL)
			MPI_Type_free(type);
	}
}

#define AVERAGE(dtype, ctype, expression)                                                          \
	case dtype:                                                                                \
		for (size_t i = 0; i < count; i++) {                                               \
			ctype sum = ((ctype *)data)[i];                                            \
                                                                                                   \
			((ctype *)data)[i] = (expression);                                         \
		}                                                                                  \
		break

#define AVERAGE_USER(dtype, raw)                                                                   \
	AVERAGE(dtype, raw, (raw)check_round(dtype, check_decode(dtype, sum) / nranks))

void mpi_types_average(enum dtype dtype, void *data, size_t count, int nranks)
{
	uint32_t n = (uint32_t)nranks;

	switch (dtype) {
		AVERAGE(DT_INT8, int8_t, (int8_t)(sum / nranks));
		AVERAGE(DT_UINT8, uint8_t, (uint8_t)(sum / n));
		AVERAGE(DT_INT32, int32_t, sum / nranks);
		AVERAGE(DT_UINT32, uint32_t, sum / n);
		AVERAGE(DT_INT64, int64_t, sum / nranks);
		AVERAGE(DT_UINT64, uint64_t, sum / n);
		AVERAGE(DT_FLOAT, float, (float)((double)sum / nranks));
		AVERAGE(DT_DOUBLE, double, sum / nranks);
		AVERAGE_USER(DT_HALF, uint16_t);
		AVERAGE_USER(DT_BFLOAT16, uint16_t);
		AVERAGE_USER(DT_F8E4M3, uint8_t);
		AVERAGE_USER(DT_F8E5M2, uint8_t);
	case DT_COUNT:
		break;
	}
}
