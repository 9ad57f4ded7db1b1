/* check_plan.h: the definition of every element's value, in C and in CUDA. */

/*
 * Element = f(seed, rank, index). Everything that does not depend on rank and index is worked out
 * once, in struct check_plan; the functions below are pure.
 *
 * Moved data (OP_NONE): hash bits; floating types lose the top exponent bit, so that NaN and
 * infinity do not occur.
 *
 * Reductions: at index i `active` ranks contribute, the others hold the neutral element. With
 * g(i) = turn + i * step (mod nranks) rank r has phase (r - g) mod nranks and contributes when
 * phase < active. So the expected value costs O(active), and every rank contributes at least once
 * in any ceil(nranks / active) neighbouring elements.
 *
 *   type, operator     active <=     contribution
 *   int sum, mulsum    32            hash bits
 *   int prod           32            odd hash bits: a product never collapses to 0
 *   max, min           8             hash bits; floats normal and not 0: no -0 beside +0
 *   int avg            2             0 to 63 (8 bits), 2^24-1 (32), 2^40-1 (64): cannot overflow
 *   float sum, mulsum  4 (8 bits),   integers, not 0, magnitude at most 1 (e5m2), 2 (e4m3),
 *                      16 (bf16), 32 8 (bf16), 32 (half), 2^18 (float), 2^31 (double)
 *   float prod         4             +-2^e, e in -1..1; that of phase 0 times 1, 1.25, 1.5 or 1.75
 *   float avg          2             -2^a and 2^(a+1), or both negated; a in 0..7
 *
 * Why every order gives one result: integers are exact modulo 2^width. Float sums: 2 * active *
 * magnitude <= 2^(significand bits), so every partial sum is an exact integer. Products have one
 * mantissa of two bits and exponents -4..4: exact and normal in every type. Averages: the products
 * with 1/n are exact and so is their sum, 2^a/n: the only rounding is that of 1/n, in whatever
 * precision a library adds them (any other pair would depend on it).
 *
 * With more ranks than that, min(limit, 8) are active: more would cost time and find nothing.
 */
#pragma once

#include "base/element.h"

enum check_term { TERM_BITS, TERM_SMALL, TERM_POWER, TERM_PAIR };
enum check_fold { FOLD_ADD, FOLD_MUL, FOLD_MAX };

/* The constants of one fill or verification. Plain data, passed to the GPU by value. A *carrier* is
 * the 64-bit number that contributions are folded into: integers modulo 2^64, sums of small
 * integers, order keys (max, min), or the counts of TERM_POWER. */
struct check_plan {
	uint64_t mask;	       /* the bits of one element */
	uint64_t sign;	       /* its top bit */
	uint64_t keep, set;    /* TERM_BITS: (hash & keep) | set */
	uint64_t flip[2];      /* FOLD_MAX: bits to order key, by the top bit of the bits ... */
	uint64_t back[2];      /* and back, by the top bit of the key */
	uint64_t start;	       /* the initial carrier of a fold */
	uint64_t neutral;      /* element of a rank that does not contribute */
	uint64_t poison;       /* an element that was never written */
	double scale;	       /* float avg multiplied early: 1/n in the type; 0: the sum over n */
	uint32_t key_a, key_b; /* from the seed */
	uint32_t nranks, active, step, turn;
	uint32_t small;	 /* TERM_SMALL: largest magnitude, a power of two */
	uint32_t scaled; /* 1: odd ranks' contributions are doubled (mulsum) */
	uint32_t width;	 /* bytes of one element */
	enum dtype dtype;
	enum redop op;
	enum check_term term;
	enum check_fold fold;
};

struct check_data;

/* Computes the plan. Host only (check_plan.c). data->nranks is at least 1. */
#ifdef __cplusplus
extern "C" void check_plan(const struct check_data *data, struct check_plan *plan);
#else
void check_plan(const struct check_data *data, struct check_plan *plan);
#endif

/* The part of the hash that depends on rank and upper half of the index only. */
CHECK_HD uint32_t check_key_a(const struct check_plan *p, uint32_t rank, uint32_t high)
{
	return p->key_a + rank * 0x9e3779b9u + high * 0x85ebca6bu;
}

CHECK_HD uint32_t check_key_b(const struct check_plan *p, uint32_t rank, uint32_t high)
{
	return p->key_b + rank * 0xc2b2ae35u + high * 0x27d4eb2fu;
}

/* lowbias32 (Chris Wellons, "Prospecting for Hash Functions", 2018) with a second key halfway. With
 * only the first key all ranks would hold one sequence, displaced. */
CHECK_HD uint32_t check_mix(uint32_t low, uint32_t a, uint32_t b)
{
	uint32_t x = low ^ a;

	x ^= x >> 16;
	x *= 0x7feb352du;
	x ^= x >> 15;
	x += b;
	x *= 0x846ca68bu;
	return x ^ x >> 16;
}

CHECK_HD uint32_t check_hash(const struct check_plan *p, uint32_t rank, uint64_t index)
{
	uint32_t high = (uint32_t)(index >> 32);

	return check_mix((uint32_t)index, check_key_a(p, rank, high), check_key_b(p, rank, high));
}

/* 64 bits from a hash; the lower half is the hash itself. */
CHECK_HD uint64_t check_wide(uint32_t h)
{
	uint32_t upper = h * 0x9e3779b1u;

	return (uint64_t)(upper ^ upper >> 15) << 32 | h;
}

/* ---- Contributions ---- */

CHECK_HD int64_t check_small(uint32_t h, uint32_t small)
{
	int32_t v = (int32_t)((h & (2 * small - 1)) - small);

	return (int64_t)v + (v >= 0);
}

CHECK_HD uint64_t check_to_key(const struct check_plan *p, uint64_t bits)
{
	return bits ^ (bits & p->sign ? p->flip[1] : p->flip[0]);
}

CHECK_HD uint64_t check_from_key(const struct check_plan *p, uint64_t key)
{
	return key ^ (key & p->sign ? p->back[1] : p->back[0]);
}

/* TERM_POWER as additive fields: exponents + 1 (bits 0-7), mantissa quarters (8-), signs (16-). */
CHECK_HD uint64_t check_power(uint32_t h, uint32_t phase)
{
	return ((h & 0xff) * 3 >> 8) | (phase == 0 ? (h >> 9 & 3) << 8 : 0) | (h >> 11 & 1) << 16;
}

/* The float product of `count` such contributions. */
CHECK_HD uint32_t check_power_bits(uint64_t fields, uint32_t count)
{
	uint32_t exponent = (uint32_t)(fields & 0xff) - count + 127;

	return (uint32_t)(fields >> 16 & 1) << 31 | exponent << 23 |
	       (uint32_t)(fields >> 8 & 3) << 21;
}

/* TERM_PAIR: phases 0 and 1 hold -2^a and 2^(a+1) in any order; a single rank holds 2^a. */
CHECK_HD int64_t check_pair(const struct check_plan *p, uint32_t phase, uint64_t index)
{
	uint32_t h = check_hash(p, 0xffffffffu, index);
	int64_t v = (int64_t)1 << (h & 7);

	if (p->nranks > 1)
		v = ((h >> 4 ^ phase) & 1) ? 2 * v : -v;
	return h >> 3 & 1 ? -v : v;
}

/* The carrier of the contribution of the rank with this hash and phase at `index`. */
CHECK_HD uint64_t check_contribution(const struct check_plan *p, uint32_t h, uint32_t phase,
				     uint64_t index)
{
	uint64_t bits;

	switch (p->term) {
	case TERM_SMALL:
		return (uint64_t)check_small(h, p->small);
	case TERM_POWER:
		return check_power(h, phase);
	case TERM_PAIR:
		return (uint64_t)check_pair(p, phase, index);
	default:
		bits = (check_wide(h) & p->keep) | p->set;
		return p->fold == FOLD_MAX ? check_to_key(p, bits) : bits;
	}
}

CHECK_HD uint64_t check_folded(const struct check_plan *p, uint64_t carrier, uint64_t next)
{
	switch (p->fold) {
	case FOLD_MUL:
		return carrier * next;
	case FOLD_MAX:
		return carrier > next ? carrier : next;
	default:
		return carrier + next;
	}
}

/* The element for a sum of small integers. */
CHECK_HD uint64_t check_integer(enum dtype type, int64_t value)
{
	if (type == DT_DOUBLE)
		return check_double_bits((double)value);
	return check_narrow(type, check_float_bits((float)(int32_t)value));
}

/* The element for a carrier of `count` contributions. */
CHECK_HD uint64_t check_carried(const struct check_plan *p, uint64_t carrier, uint32_t count)
{
	switch (p->term) {
	case TERM_SMALL:
	case TERM_PAIR:
		return check_integer(p->dtype, (int64_t)carrier);
	case TERM_POWER:
		return check_narrow(p->dtype, check_power_bits(carrier, count));
	default:
		return p->fold == FOLD_MAX ? check_from_key(p, carrier) : carrier & p->mask;
	}
}

/* The average whose sum is `carrier`. */
CHECK_HD uint64_t check_average(const struct check_plan *p, uint64_t carrier)
{
	uint64_t sum = carrier & p->mask;
	double value = (double)(int64_t)carrier;

	if (check_is_float(p->dtype))
		return check_round(p->dtype, p->scale != 0 ? p->scale * value : value / p->nranks);
	/* Only a sum with one extra contribution can be negative. */
	if ((p->dtype == DT_INT8 || p->dtype == DT_INT32 || p->dtype == DT_INT64) &&
	    (sum & p->sign))
		return (uint64_t)((int64_t)(sum | ~p->mask) / (int64_t)p->nranks) & p->mask;
	return p->width == 8 ? sum / p->nranks : (uint32_t)sum / p->nranks;
}

/* ---- Elements ---- */

/* g(index): the rank of phase 0. check_next_turn gives the next one at less cost. */
CHECK_HD uint32_t check_turn(const struct check_plan *p, uint64_t index)
{
	return (uint32_t)((p->turn + index % p->nranks * p->step) % p->nranks);
}

CHECK_HD uint32_t check_next_turn(const struct check_plan *p, uint32_t turn, uint32_t step)
{
	turn += step;
	return turn >= p->nranks ? turn - p->nranks : turn;
}

/* The element of `rank` at `index`; `turn` is check_turn's result. */
CHECK_HD uint64_t check_element_at(const struct check_plan *p, uint32_t rank, uint64_t index,
				   uint32_t turn)
{
	uint32_t phase = rank >= turn ? rank - turn : rank + p->nranks - turn;

	if (phase >= p->active)
		return p->neutral;
	return check_carried(p, check_contribution(p, check_hash(p, rank, index), phase, index), 1);
}

CHECK_HD uint64_t check_reduced_at(const struct check_plan *p, uint64_t index, uint32_t turn)
{
	uint64_t carrier = p->start, next;
	uint32_t rank = turn, phase;

	for (phase = 0; phase < p->active; phase++) {
		next = check_contribution(p, check_hash(p, rank, index), phase, index)
		       << (rank & p->scaled);
		carrier = check_folded(p, carrier, next);
		rank = check_next_turn(p, rank, 1);
	}
	return p->op == OP_AVG ? check_average(p, carrier) : check_carried(p, carrier, p->active);
}
