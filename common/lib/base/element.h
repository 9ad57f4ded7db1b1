/* element.h: elements of each type as bits and as numbers, in C and in CUDA. */
#pragma once

#include "base/dtype.h"

#ifdef __CUDACC__
#define CHECK_HD __host__ __device__ static __forceinline__
#else
#define CHECK_HD static inline __attribute__((always_inline, unused))
#endif

CHECK_HD uint64_t check_double_bits(double value)
{
	uint64_t bits;

	memcpy(&bits, &value, sizeof(bits));
	return bits;
}

CHECK_HD double check_bits_double(uint64_t bits)
{
	double value;

	memcpy(&value, &bits, sizeof(value));
	return value;
}

CHECK_HD uint32_t check_float_bits(float value)
{
	uint32_t bits;

	memcpy(&bits, &value, sizeof(bits));
	return bits;
}

CHECK_HD float check_bits_float(uint32_t bits)
{
	float value;

	memcpy(&value, &bits, sizeof(value));
	return value;
}

CHECK_HD int check_is_float(enum dtype type)
{
	return type >= DT_HALF;
}

/* Stored mantissa bits and exponent bias of a floating type narrower than float. */
CHECK_HD int check_mantissa_bits(enum dtype type)
{
	return type == DT_HALF ? 10 : type == DT_BFLOAT16 ? 7 : type == DT_F8E4M3 ? 3 : 2;
}

CHECK_HD int check_bias(enum dtype type)
{
	return type == DT_BFLOAT16 ? 127 : type == DT_F8E4M3 ? 7 : 15;
}

/* The first magnitude that is not finite: infinity, or the NaN of e4m3, which has no infinity. */
CHECK_HD uint32_t check_endless(enum dtype type)
{
	return type == DT_HALF	     ? 0x7c00
	       : type == DT_BFLOAT16 ? 0x7f80
	       : type == DT_F8E4M3   ? 0x7f
				     : 0x7c;
}

/* Rounds the double with magnitude bits `bits` to a narrower type than float: its bits. */
CHECK_HD uint32_t check_round_narrow(enum dtype type, uint64_t bits)
{
	int mantissa = check_mantissa_bits(type), bias = check_bias(type);
	int exponent = (int)(bits >> 52) - 1023, shift = 52 - mantissa;
	uint64_t significand = (bits & 0xfffffffffffffull) | 0x10000000000000ull, kept, rest, half;
	uint32_t result;

	if (bits > 0x7ff0000000000000ull) /* NaN becomes the quiet NaN */
		return check_endless(type) | (type == DT_F8E4M3 ? 0 : 1u << (mantissa - 1));
	if (exponent < 1 - bias) /* subnormal in the type; a subnormal double is far below */
		shift += 1 - bias - exponent;
	if (shift > 54)
		return 0;
	kept = significand >> shift;
	rest = significand & (((uint64_t)1 << shift) - 1);
	half = (uint64_t)1 << (shift - 1);
	kept += rest > half || (rest == half && (kept & 1));
	/* Addition lets a mantissa that rounds up to 2 carry into the exponent. */
	if (exponent > bias + 1)
		return check_endless(type);
	result = (uint32_t)kept;
	if (exponent >= 1 - bias)
		result += (uint32_t)(exponent + bias - 1) << mantissa;
	return result < check_endless(type) ? result : check_endless(type);
}

/* Rounds `value` to nearest even. An overflow becomes infinity, or NaN in e4m3. */
CHECK_HD uint64_t check_round(enum dtype type, double value)
{
	uint64_t bits = check_double_bits(value), sign = bits >> 63;

	if (type == DT_DOUBLE)
		return bits;
	if (type == DT_FLOAT)
		return check_float_bits((float)value);
	sign <<= type == DT_HALF || type == DT_BFLOAT16 ? 15 : 7;
	return sign | check_round_narrow(type, bits & 0x7fffffffffffffffull);
}

/* The exact value of `bits` in a floating type. */
CHECK_HD double check_decode(enum dtype type, uint64_t bits)
{
	int mantissa = check_mantissa_bits(type), bias = check_bias(type);
	uint32_t magnitude, exponent;
	uint64_t sign;

	if (type == DT_DOUBLE)
		return check_bits_double(bits);
	if (type == DT_FLOAT)
		return check_bits_float((uint32_t)bits);
	sign = type == DT_HALF || type == DT_BFLOAT16 ? bits >> 15 & 1 : bits >> 7 & 1;
	magnitude = (uint32_t)bits & (type == DT_HALF || type == DT_BFLOAT16 ? 0x7fff : 0x7f);
	exponent = magnitude >> mantissa;
	if (magnitude >= check_endless(type)) {
		int nan = type == DT_F8E4M3 || magnitude > check_endless(type);

		return check_bits_double(sign << 63 |
					 (nan ? 0x7ff8000000000000ull : 0x7ff0000000000000ull));
	}
	if (exponent == 0) { /* magnitude x 2^(1 - bias - mantissa) */
		double unit = check_bits_double((uint64_t)(1023 + 1 - bias - mantissa) << 52);

		return sign ? -(unit * magnitude) : unit * magnitude;
	}
	return check_bits_double(sign << 63 | (((uint64_t)magnitude << (52 - mantissa)) +
					       ((uint64_t)(1023 - bias) << 52)));
}

/* The value of float bits that are zero, or normal and exact in the type: no rounding, cheap. */
CHECK_HD uint64_t check_narrow(enum dtype type, uint32_t bits)
{
	uint32_t magnitude = bits & 0x7fffffff, sign = bits & 0x80000000;

	if (type == DT_FLOAT)
		return bits;
	if (type == DT_BFLOAT16)
		return bits >> 16;
	if (magnitude == 0)
		return 0;
	if (type == DT_HALF)
		return sign >> 16 | ((magnitude >> 13) - (112 << 10));
	if (type == DT_F8E4M3)
		return sign >> 24 | ((magnitude >> 20) - (120 << 3));
	if (type == DT_F8E5M2)
		return sign >> 24 | ((magnitude >> 21) - (112 << 2));
	return (uint64_t)sign << 32 | (((uint64_t)magnitude << 29) + ((uint64_t)896 << 52));
}
