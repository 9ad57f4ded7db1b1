/* check_plan.c: the constants of one point's elements, by check_plan.h's table. */
#include "check/check.h"

#include "check/check_plan.h"

/* The most contributing ranks, and the largest |v| of TERM_SMALL, by check_plan.h's table. */
static uint32_t most_active(enum dtype type, enum redop op)
{
	if (op == OP_AVG)
		return 2;
	if (op == OP_MAX || op == OP_MIN)
		return 8;
	if (!check_is_float(type))
		return 32;
	if (op == OP_PROD)
		return 4;
	return type == DT_F8E4M3 || type == DT_F8E5M2 ? 4 : type == DT_BFLOAT16 ? 16 : 32;
}

static const uint32_t small_limit[DT_COUNT] = {
	[DT_HALF] = 32,	   [DT_FLOAT] = 1u << 18, [DT_DOUBLE] = 1u << 31,
	[DT_BFLOAT16] = 8, [DT_F8E4M3] = 2,	  [DT_F8E5M2] = 1,
};

static uint64_t low_exponent_bit(const struct check_plan *p)
{
	int mantissa = p->dtype == DT_DOUBLE  ? 52
		       : p->dtype == DT_FLOAT ? 23
					      : check_mantissa_bits(p->dtype);

	return (uint64_t)1 << mantissa;
}

/* Order keys: unsigned numbers in the order of the elements, reversed for min. */
static void plan_order(struct check_plan *p)
{
	int is_signed = p->dtype == DT_INT8 || p->dtype == DT_INT32 || p->dtype == DT_INT64;
	uint64_t reverse = p->op == OP_MIN ? p->mask : 0;
	int positive;

	p->fold = FOLD_MAX;
	p->flip[0] = check_is_float(p->dtype) || is_signed ? p->sign : 0;
	p->flip[1] = check_is_float(p->dtype) ? p->mask : p->flip[0];
	p->flip[0] ^= reverse;
	p->flip[1] ^= reverse;
	positive = (p->flip[0] & p->sign) != 0; /* the top bit of a positive element's key */
	p->back[positive] = p->flip[0];
	p->back[!positive] = p->flip[1];
	if (!check_is_float(p->dtype)) {
		p->neutral = check_from_key(p, 0);
	} else {
		p->set = low_exponent_bit(p);
		/* the lowest (max) or highest (min) used value */
		p->neutral = p->keep & ~p->sign;
		p->neutral |= p->op == OP_MAX ? p->sign : 0;
	}
	p->start = check_to_key(p, p->neutral);
}

static void plan_product(struct check_plan *p)
{
	if (check_is_float(p->dtype)) {
		p->term = TERM_POWER;
		p->neutral = check_integer(p->dtype, 1);
	} else {
		p->fold = FOLD_MUL;
		p->set = 1;
		p->start = p->neutral = 1;
	}
}

static void plan_average(struct check_plan *p, const struct check_data *data)
{
	if (!check_is_float(p->dtype)) {
		p->keep = p->width == 1 ? 0x3f : p->width == 4 ? 0xffffff : 0xffffffffff;
		return;
	}
	p->term = TERM_PAIR;
	if (!data->avg_premultiplies)
		return;
	/* NCCL converts 1/n to float first, except for double. */
	p->scale = p->dtype == DT_DOUBLE ? 1.0 / p->nranks : (float)(1.0 / p->nranks);
	p->scale = check_decode(p->dtype, check_round(p->dtype, p->scale));
}

static void plan_operator(struct check_plan *p, const struct check_data *data)
{
	switch (p->op) {
	case OP_SUM:
	case OP_MULSUM:
		p->scaled = p->op == OP_MULSUM;
		p->small = small_limit[p->dtype];
		p->term = p->small ? TERM_SMALL : TERM_BITS;
		break;
	case OP_PROD:
		plan_product(p);
		break;
	case OP_MAX:
	case OP_MIN:
		plan_order(p);
		break;
	case OP_AVG:
		plan_average(p, data);
		break;
	default:
		break;
	}
}

void check_plan(const struct check_data *data, struct check_plan *p)
{
	uint32_t most;

	memset(p, 0, sizeof(*p));
	p->dtype = data->dtype;
	p->op = data->op;
	p->width = (uint32_t)dtype_size(data->dtype);
	p->mask = ~(uint64_t)0 >> (64 - 8 * p->width);
	p->sign = p->mask ^ p->mask >> 1;
	p->keep = p->mask;
	memset(&p->poison, CHECK_POISON, p->width);
	p->key_a = check_mix(data->seed, 0x68bc21ebu, 0x02e5be93u);
	p->key_b = check_mix(data->seed, 0x967a889bu, 0xb7c3d0a1u);
	p->nranks = p->active = (uint32_t)data->nranks;
	if (p->op == OP_NONE || p->op == OP_MAX || p->op == OP_MIN)
		p->keep ^= check_is_float(p->dtype) ? p->sign >> 1 : 0; /* top exponent bit */
	if (p->op == OP_NONE)
		return;
	most = most_active(p->dtype, p->op);
	if (p->nranks > most)
		p->active = most < 8 ? most : 8;
	p->step = p->active < p->nranks ? p->active : 1;
	p->turn = check_mix(data->seed, p->key_a, p->key_b) % p->nranks;
	p->step %= p->nranks;
	plan_operator(p, data);
}
