/* test_check_element.c: number formats; contributions give one result in every order and precision
 * of reduction. Properties of the data are in test_check_element_data.c. */
#include "rig/unit.h"

#include "check/check.h"
#include "check/check_plan.h"

static const int rank_counts[] = { 1, 2, 3, 4, 5, 8, 16, 33, 70 };

/* xorshift: the same orders in every run */
static uint32_t random_state = 2463534242u;

static uint32_t random32(void)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 17;
	random_state ^= random_state << 5;
	return random_state;
}

UNIT_TEST(test_rounding, "rounding, by hand")
{
	const struct {
		enum dtype type;
		double value;
		uint64_t bits;
	} cases[] = {
		{ DT_HALF, 1, 0x3c00 },
		{ DT_HALF, -2, 0xc000 },
		{ DT_HALF, -0.0, 0x8000 },
		{ DT_HALF, 0.1, 0x2e66 },
		{ DT_HALF, 1 + 0x1p-11, 0x3c00 },	/* tie, down to even */
		{ DT_HALF, 1 + 0x3p-11, 0x3c02 },	/* tie, up to even */
		{ DT_HALF, 1 + 0x1.00001p-11, 0x3c01 }, /* just above the tie */
		{ DT_HALF, 65504, 0x7bff },
		{ DT_HALF, 65519.99, 0x7bff },
		{ DT_HALF, 65520, 0x7c00 },
		{ DT_HALF, 1e300, 0x7c00 },
		{ DT_HALF, -INFINITY, 0xfc00 },
		{ DT_HALF, NAN, 0x7e00 },
		{ DT_HALF, 0x1p-14, 0x0400 },
		{ DT_HALF, 1023.5 * 0x1p-24, 0x0400 }, /* rounds up out of the subnormals */
		{ DT_HALF, 0x1p-24, 0x0001 },
		{ DT_HALF, 0x1p-25, 0x0000 },
		{ DT_HALF, 0x1.8p-25, 0x0001 },
		{ DT_HALF, 5e-324, 0x0000 },
		{ DT_BFLOAT16, 1, 0x3f80 },
		{ DT_BFLOAT16, 3.14159265, 0x4049 },
		{ DT_BFLOAT16, 1 + 0x1p-8, 0x3f80 },
		{ DT_BFLOAT16, 1 + 0x3p-8, 0x3f82 },
		{ DT_BFLOAT16, 3.4e38, 0x7f80 },
		{ DT_BFLOAT16, NAN, 0x7fc0 },
		{ DT_BFLOAT16, 0x1p-133, 0x0001 },
		{ DT_F8E4M3, 1, 0x38 },
		{ DT_F8E4M3, 0.1, 0x1d },
		{ DT_F8E4M3, 17, 0x58 },
		{ DT_F8E4M3, 19, 0x5a },
		{ DT_F8E4M3, -448, 0xfe },
		{ DT_F8E4M3, 464, 0x7e },
		{ DT_F8E4M3, 465, 0x7f },
		{ DT_F8E4M3, 512, 0x7f },
		{ DT_F8E4M3, -INFINITY, 0xff },
		{ DT_F8E4M3, NAN, 0x7f },
		{ DT_F8E4M3, 0x1p-6, 0x08 },
		{ DT_F8E4M3, 0x1p-9, 0x01 },
		{ DT_F8E4M3, 0x1p-10, 0x00 },
		{ DT_F8E5M2, 1, 0x3c },
		{ DT_F8E5M2, 9, 0x48 },
		{ DT_F8E5M2, 57344, 0x7b },
		{ DT_F8E5M2, 61439, 0x7b },
		{ DT_F8E5M2, 61440, 0x7c },
		{ DT_F8E5M2, NAN, 0x7e },
		{ DT_F8E5M2, 0x1p-14, 0x04 },
		{ DT_F8E5M2, 0x1p-16, 0x01 },
		{ DT_F8E5M2, 0x1p-17, 0x00 },
		{ DT_FLOAT, 0.1, 0x3dcccccd },
		{ DT_DOUBLE, 0.1, 0x3fb999999999999a },
	};

	for (size_t i = 0; i < LENGTH(cases); i++)
		CU_ASSERT_EQUAL(check_round(cases[i].type, cases[i].value), cases[i].bits);
}

/* The number of bits `x`, by the definition of the format. */
static double decode_by_definition(uint32_t x, int exponent_bits, int mantissa_bits,
				   bool has_infinity)
{
	uint32_t mantissa = x & ((1u << mantissa_bits) - 1), top = (1u << exponent_bits) - 1;
	uint32_t exponent = x >> mantissa_bits & top;
	int bias = (1 << (exponent_bits - 1)) - 1;
	double value;

	if (exponent == top && has_infinity)
		value = mantissa ? NAN : INFINITY;
	else if (exponent == top && mantissa == (1u << mantissa_bits) - 1)
		value = NAN;
	else if (exponent == 0)
		value = ldexp(mantissa, 1 - bias - mantissa_bits);
	else
		value = ldexp((1u << mantissa_bits) + mantissa,
			      (int)exponent - bias - mantissa_bits);
	return x >> (exponent_bits + mantissa_bits) ? -value : value;
}

UNIT_TEST(test_every_pattern, "every pattern there and back")
{
	const struct {
		enum dtype type;
		int exponent_bits, mantissa_bits;
		bool has_infinity;
	} formats[] = {
		{ DT_HALF, 5, 10, true },
		{ DT_BFLOAT16, 8, 7, true },
		{ DT_F8E4M3, 4, 3, false },
		{ DT_F8E5M2, 5, 2, true },
	};
	uint32_t wrong = 0, nans;

	for (size_t i = 0; i < LENGTH(formats); i++) {
		uint32_t patterns = 2u << (formats[i].exponent_bits + formats[i].mantissa_bits);

		nans = 0;
		for (uint32_t x = 0; x < patterns; x++) {
			double value = check_decode(formats[i].type, x);
			double reference = decode_by_definition(x, formats[i].exponent_bits,
								formats[i].mantissa_bits,
								formats[i].has_infinity);

			nans += isnan(value) != 0;
			if (isnan(value))
				wrong += !isnan(reference);
			else
				wrong += value != reference ||
					 check_round(formats[i].type, value) != x;
		}
		/* both signs of every mantissa except infinity's; e4m3 has one each */
		CU_ASSERT_EQUAL(nans, formats[i].has_infinity
					      ? 2 * ((1u << formats[i].mantissa_bits) - 1)
					      : 2);
	}
	CU_ASSERT_EQUAL(wrong, 0);
}

/* Nearest by search over all finite patterns; between two equally near ones the even pattern. */
UNIT_TEST(test_nearest, "nearest, by search")
{
	const enum dtype types[] = { DT_F8E4M3, DT_F8E5M2 };
	uint32_t wrong = 0;

	for (size_t t = 0; t < LENGTH(types); t++) {
		double largest = check_decode(types[t], check_endless(types[t]) - 1);

		for (int n = 0; n < 4000; n++) {
			double value = ldexp((double)(random32() >> 20),
					     (int)(random32() % 28) - 22),
			       nearest = INFINITY;
			uint32_t best = 0;

			if (value > largest)
				continue;
			for (uint32_t x = 0; x < check_endless(types[t]); x++) {
				double distance = fabs(check_decode(types[t], x) - value);

				if (distance < nearest || (distance == nearest && !(x & 1))) {
					nearest = distance;
					best = x;
				}
			}
			wrong += check_round(types[t], value) != best ||
				 check_round(types[t], -value) != (best | 0x80);
		}
	}
	CU_ASSERT_EQUAL(wrong, 0);
}

#ifdef __FLT16_MAX__
UNIT_TEST(test_half_by_compiler, "half, by the compiler")
{
	uint32_t wrong = 0;

	for (int n = 0; n < 200000; n++) {
		double value = ldexp((double)(int32_t)random32(), (int)(random32() % 50) - 58);
		_Float16 half = (_Float16)value;
		uint16_t bits;

		memcpy(&bits, &half, sizeof(bits));
		wrong += check_round(DT_HALF, value) != bits;
	}
	CU_ASSERT_EQUAL(wrong, 0);
}
#endif

/* The cheap conversion agrees with the rounding one on its domain. */
UNIT_TEST(test_small_integers, "small integers")
{
	const struct {
		enum dtype type;
		int limit;
	} cases[] = {
		{ DT_HALF, 2048 },    { DT_FLOAT, 1 << 24 }, { DT_DOUBLE, 1 << 24 },
		{ DT_BFLOAT16, 256 }, { DT_F8E4M3, 16 },     { DT_F8E5M2, 8 },
	};
	uint32_t wrong = 0;

	for (size_t i = 0; i < LENGTH(cases); i++) {
		for (int v = -cases[i].limit; v <= cases[i].limit;
		     v += cases[i].limit > 2048 ? 4099 : 1)
			if (cases[i].limit <= 2048 || v % 2)
				wrong += check_integer(cases[i].type, v) !=
					 check_round(cases[i].type, v);
	}
	UNIT_ALL(wrong == 0, check_integer(DT_DOUBLE, -((int64_t)1 << 37)) == 0xc240000000000000);
}

static int64_t sign_extended(enum dtype type, uint64_t bits)
{
	switch (type) {
	case DT_INT8:
		return (int8_t)bits;
	case DT_INT32:
		return (int32_t)bits;
	default:
		return (int64_t)bits;
	}
}

static bool is_unsigned(enum dtype type)
{
	return type == DT_UINT8 || type == DT_UINT32 || type == DT_UINT64;
}

/* One step of a reduction in a library: in the type itself, rounded after each step. */
static uint64_t step(enum dtype type, enum redop op, uint64_t a, uint64_t b)
{
	uint64_t mask = ~(uint64_t)0 >> (64 - 8 * dtype_size(type));
	double x, y;
	bool less;

	if (check_is_float(type)) {
		x = check_decode(type, a);
		y = check_decode(type, b);
		less = x < y;
		if (op == OP_SUM || op == OP_AVG || op == OP_MULSUM)
			return check_round(type, x + y);
	} else {
		x = y = 0;
		less = is_unsigned(type) ? a < b : sign_extended(type, a) < sign_extended(type, b);
		if (op == OP_SUM || op == OP_AVG || op == OP_MULSUM)
			return (a + b) & mask;
	}
	if (op == OP_PROD)
		return check_is_float(type) ? check_round(type, x * y) : (a * b) & mask;
	return less == (op == OP_MAX) ? b : a;
}

/* A rank's element before the addition. */
static uint64_t prepared(const struct check_data *data, int rank, uint64_t bits)
{
	double scalar = data->dtype == DT_DOUBLE ? 1.0 / data->nranks : (float)(1.0 / data->nranks);
	uint64_t share;

	if (data->op == OP_MULSUM && rank % 2)
		return step(data->dtype, OP_SUM, bits, bits);
	if (data->op != OP_AVG || !data->avg_premultiplies || !check_is_float(data->dtype))
		return bits;
	share = check_round(data->dtype, scalar);
	return check_round(data->dtype,
			   check_decode(data->dtype, bits) * check_decode(data->dtype, share));
}

/* The result from the sum. */
static uint64_t finished(const struct check_data *data, uint64_t bits)
{
	if (data->op != OP_AVG)
		return bits;
	if (check_is_float(data->dtype))
		return data->avg_premultiplies
			       ? bits
			       : check_round(data->dtype,
					     check_decode(data->dtype, bits) / data->nranks);
	if (is_unsigned(data->dtype))
		return bits / (uint64_t)data->nranks;
	return (uint64_t)(sign_extended(data->dtype, bits) / data->nranks);
}

/* Reduces all ranks' elements by merging random pairs: every order and every tree can occur. */
static uint64_t reduce_somehow(const struct check_data *data, uint64_t index)
{
	uint64_t values[128] = { 0 };
	int n = data->nranks;

	for (int rank = 0; rank < n; rank++) {
		check_element(data, rank, index, &values[rank]);
		values[rank] = prepared(data, rank, values[rank]);
	}
	while (n > 1) {
		uint32_t a = random32() % (uint32_t)n, b = random32() % (uint32_t)(n - 1);

		b += b >= a;
		values[a] = step(data->dtype, data->op, values[a], values[b]);
		values[b] = values[--n]; /* the result, after the last merge */
	}
	return finished(data, values[0]);
}

static uint32_t count_order_dependent(const struct check_data *data)
{
	const uint64_t starts[] = { 0, 1000003, ((uint64_t)1 << 32) - 8 };
	uint32_t wrong = 0;

	for (size_t s = 0; s < LENGTH(starts); s++) {
		for (uint64_t index = starts[s]; index < starts[s] + 16; index++) {
			uint64_t expected = 0;

			check_reduced(data, index, &expected);
			for (int order = 0; order < 3; order++)
				wrong += reduce_somehow(data, index) != expected;
		}
	}
	return wrong;
}

UNIT_TEST(test_any_order, "one result in any order")
{
	for (int type = 0; type < DT_COUNT; type++) {
		for (int op = 0; op < OP_COUNT; op++) {
			uint32_t wrong = 0;

			for (size_t n = 0; n < LENGTH(rank_counts); n++) {
				struct check_data data = { 5, (enum dtype)type, (enum redop)op,
							   rank_counts[n], true };

				wrong += count_order_dependent(&data);
				data.avg_premultiplies = false;
				wrong += count_order_dependent(&data);
			}
			CU_ASSERT_EQUAL(wrong, 0);
		}
	}
}

/* Partial sums in double instead of the type give the same: some algorithms accumulate wider. */
UNIT_TEST(test_any_precision, "one average in any precision")
{
	uint32_t wrong = 0;

	for (int type = DT_HALF; type < DT_COUNT; type++) {
		for (size_t n = 0; n < LENGTH(rank_counts); n++) {
			struct check_data data = { 9, (enum dtype)type, OP_AVG, rank_counts[n],
						   true };

			for (uint64_t index = 0; index < 64; index++) {
				uint64_t expected = 0, bits = 0;
				double sum = 0;

				check_reduced(&data, index, &expected);
				for (int rank = 0; rank < data.nranks; rank++) {
					check_element(&data, rank, index, &bits);
					sum += check_decode(data.dtype,
							    prepared(&data, rank, bits));
				}
				wrong += check_round(data.dtype, sum) != expected;
			}
		}
	}
	CU_ASSERT_EQUAL(wrong, 0);
}

/* The largest partial sum is an exact integer in the type, with any seed. */
UNIT_TEST(test_sums_cannot_overflow, "sums cannot overflow")
{
	const struct {
		enum dtype type;
		double exact; /* 2^(significand bits) */
	} limits[] = {
		{ DT_HALF, 2048 },    { DT_FLOAT, 16777216 }, { DT_DOUBLE, 9007199254740992 },
		{ DT_BFLOAT16, 256 }, { DT_F8E4M3, 16 },      { DT_F8E5M2, 8 },
	};

	for (size_t i = 0; i < LENGTH(limits); i++) {
		for (int n = 1; n <= 70; n++) {
			struct check_data data = { 1, limits[i].type, OP_MULSUM, n, false };
			struct check_plan plan;

			check_plan(&data, &plan);
			CU_ASSERT(2.0 * plan.active * plan.small <= limits[i].exact);
		}
	}
}

/* Products of odd numbers are odd, so they never collapse to 0. */
UNIT_TEST(test_integer_products, "integer products")
{
	uint32_t even = 0;

	for (int type = DT_INT8; type <= DT_UINT64; type++) {
		struct check_data data = { 1, (enum dtype)type, OP_PROD, 8, false };

		for (uint64_t index = 0; index < 100; index++) {
			uint64_t bits = 0;

			check_reduced(&data, index, &bits);
			even += !(bits & 1);
		}
	}
	CU_ASSERT_EQUAL(even, 0);
}
