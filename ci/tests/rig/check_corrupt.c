/* check_corrupt.c: the bytes that a wrong result of a given kind would leave. */
#include "rig/check_corrupt.h"

#include "check/check_classify.h"

static uint64_t quiet_nan(enum dtype type)
{
	return check_round(type, NAN) & ~((uint64_t)1 << (8 * dtype_size(type) - 1));
}

/* Can this kind be told from right data at all? */
static bool can_corrupt(const struct check_data *data, enum wrong_kind kind,
			const struct segment *segment, int culprit)
{
	bool extreme = data->op == OP_MAX || data->op == OP_MIN;

	if (segment->kind == SEGMENT_KEEP)
		return kind == WRONG_KEEP;
	switch (kind) {
	case WRONG_MISSING:
	case WRONG_DOUBLED:
		return segment->kind == SEGMENT_REDUCE && data->nranks > 1 && culprit >= 0 &&
		       culprit < data->nranks && !(extreme && kind == WRONG_DOUBLED);
	case WRONG_NAN:
		return check_is_float(data->dtype);
	case WRONG_NONE:
	case WRONG_KEEP:
		return false;
	default:
		return true;
	}
}

static uint64_t dirty_bits(const struct check_plan *p, enum wrong_kind kind,
			   const struct segment *segment, uint64_t index, int culprit,
			   uint64_t good)
{
	switch (kind) {
	case WRONG_ZERO:
		return 0;
	case WRONG_STALE:
		return p->poison;
	case WRONG_SHIFTED: /* one element too late */
		return index ? check_expected_at(p, segment, index - 1) : good;
	case WRONG_MISSING:
		return check_reduced_with(p, index, (uint32_t)culprit, 0);
	case WRONG_DOUBLED:
		return check_reduced_with(p, index, (uint32_t)culprit, 2);
	case WRONG_NAN:
		return quiet_nan(p->dtype);
	case WRONG_FLIPPED:
		return culprit < 0 ? good ^ p->sign
				   : check_reduced_flipped(p, index, (uint32_t)culprit,
							   8 * p->width - 2);
	case WRONG_OTHER:
		return good ^ 1;
	default:
		return ~good; /* guard, send, keep: any other bytes */
	}
}

int check_corrupt(const struct check_data *data, enum wrong_kind kind,
		  const struct segment *segment, uint64_t base, int culprit, const void *good,
		  size_t at, size_t count, void *dst)
{
	uint64_t index = base + segment->from_at + (at - segment->at), element;
	struct check_plan p;
	bool changed = false;

	if (!can_corrupt(data, kind, segment, culprit))
		return -EINVAL;
	check_plan(data, &p);
	for (size_t i = 0; i < count; i++) {
		element = 0;
		memcpy(&element, (const char *)good + i * p.width, p.width);
		element = dirty_bits(&p, kind, segment, index + i, culprit, element);
		changed |= memcmp((const char *)good + i * p.width, &element, p.width) != 0;
		memcpy((char *)dst + i * p.width, &element, p.width);
	}
	return changed ? 0 : -EINVAL;
}
