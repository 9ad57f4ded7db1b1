/* check_values.c: fills and verifies host memory, by check_plan.h in blocks for vectorisers. */
#include "check/check.h"

#include "check/check_plan.h"

#define BLOCK 512 /* elements; carriers, block and compared bytes fit into the L1 cache */

void check_element(const struct check_data *data, int rank, uint64_t index, void *bits)
{
	struct check_plan p;
	uint64_t element;

	check_plan(data, &p);
	element = check_element_at(&p, (uint32_t)rank, index, check_turn(&p, index));
	memcpy(bits, &element, p.width);
}

void check_reduced(const struct check_data *data, uint64_t index, void *bits)
{
	struct check_plan p;
	uint64_t element;

	check_plan(data, &p);
	element = check_reduced_at(&p, index, check_turn(&p, index));
	memcpy(bits, &element, p.width);
}

/* ---- Blocks ---- */

union carriers {
	uint32_t narrow[BLOCK];
	uint64_t wide[BLOCK]; /* elements of 8 bytes */
};

/* One rank's part of a block. Constants come by value: the compiler knows that none changes. */
struct lane {
	uint32_t low, a, b, shift, small;
	uint64_t keep, set, sign, flip[2];
	size_t n;
};

#define FOLD_LOOP(name, type, expression)                                                          \
	static void name(const struct lane *lane, type *restrict carrier)                          \
	{                                                                                          \
		const struct lane l = *lane;                                                       \
                                                                                                   \
		for (size_t i = 0; i < l.n; i++) {                                                 \
			uint32_t h = check_mix(l.low + (uint32_t)i, l.a, l.b);                     \
                                                                                                   \
			carrier[i] = expression;                                                   \
		}                                                                                  \
	}

#define LANE_BITS(type, wide) (((type)(wide) & (type)l.keep) | (type)l.set)
#define LANE_KEY(type, bits)  ((bits) ^ ((bits) & (type)l.sign ? (type)l.flip[1] : (type)l.flip[0]))
#define LARGER(a, b)	      ((a) > (b) ? (a) : (b))

FOLD_LOOP(add_small32, uint32_t, carrier[i] + ((uint32_t)check_small(h, l.small) << l.shift))
FOLD_LOOP(add_small64, uint64_t, carrier[i] + ((uint64_t)check_small(h, l.small) << l.shift))
FOLD_LOOP(add_bits32, uint32_t, carrier[i] + (LANE_BITS(uint32_t, h) << l.shift))
FOLD_LOOP(add_bits64, uint64_t, carrier[i] + (LANE_BITS(uint64_t, check_wide(h)) << l.shift))
FOLD_LOOP(mul_bits32, uint32_t, carrier[i] * LANE_BITS(uint32_t, h))
FOLD_LOOP(mul_bits64, uint64_t, carrier[i] * LANE_BITS(uint64_t, check_wide(h)))
FOLD_LOOP(max_bits32, uint32_t, LARGER(carrier[i], LANE_KEY(uint32_t, LANE_BITS(uint32_t, h))))
FOLD_LOOP(max_bits64, uint64_t,
	  LARGER(carrier[i], LANE_KEY(uint64_t, LANE_BITS(uint64_t, check_wide(h)))))

static void fold_lane(const struct check_plan *p, const struct lane *lane, union carriers *c)
{
	if (p->term == TERM_SMALL)
		p->width == 8 ? add_small64(lane, c->wide) : add_small32(lane, c->narrow);
	else if (p->fold == FOLD_MUL)
		p->width == 8 ? mul_bits64(lane, c->wide) : mul_bits32(lane, c->narrow);
	else if (p->fold == FOLD_MAX)
		p->width == 8 ? max_bits64(lane, c->wide) : max_bits32(lane, c->narrow);
	else
		p->width == 8 ? add_bits64(lane, c->wide) : add_bits32(lane, c->narrow);
}

#define STORE_LOOP(name, from, to, expression)                                                     \
	static void name(const struct check_plan *p, const void *carriers, size_t n, void *dst)    \
	{                                                                                          \
		const from *carrier = carriers;                                                    \
		to *restrict out = dst;                                                            \
		const uint64_t sign = p->sign, back0 = p->back[0], back1 = p->back[1];             \
                                                                                                   \
		(void)sign, (void)back0, (void)back1;                                              \
		for (size_t i = 0; i < n; i++)                                                     \
			out[i] = (to)(expression);                                                 \
	}

#define STORED_KEY(type) (carrier[i] ^ (carrier[i] & (type)sign ? (type)back1 : (type)back0))

STORE_LOOP(store_8, uint32_t, uint8_t, carrier[i])
STORE_LOOP(store_16, uint32_t, uint16_t, carrier[i])
STORE_LOOP(store_32, uint32_t, uint32_t, carrier[i])
STORE_LOOP(store_64, uint64_t, uint64_t, carrier[i])
STORE_LOOP(store_key8, uint32_t, uint8_t, STORED_KEY(uint32_t))
STORE_LOOP(store_key16, uint32_t, uint16_t, STORED_KEY(uint32_t))
STORE_LOOP(store_key32, uint32_t, uint32_t, STORED_KEY(uint32_t))
STORE_LOOP(store_key64, uint64_t, uint64_t, STORED_KEY(uint64_t))
STORE_LOOP(store_half, uint32_t, uint16_t, check_integer(DT_HALF, (int32_t)carrier[i]))
STORE_LOOP(store_float, uint32_t, uint32_t, check_integer(DT_FLOAT, (int32_t)carrier[i]))
STORE_LOOP(store_double, uint64_t, uint64_t, check_integer(DT_DOUBLE, (int64_t)carrier[i]))
STORE_LOOP(store_bfloat16, uint32_t, uint16_t, check_integer(DT_BFLOAT16, (int32_t)carrier[i]))
STORE_LOOP(store_f8e4m3, uint32_t, uint8_t, check_integer(DT_F8E4M3, (int32_t)carrier[i]))
STORE_LOOP(store_f8e5m2, uint32_t, uint8_t, check_integer(DT_F8E5M2, (int32_t)carrier[i]))

/* Stores a block of carriers as elements: small integers by type, bits by width. */
static void store_block(const struct check_plan *p, const union carriers *c, size_t n, void *dst)
{
	typedef void store(const struct check_plan *, const void *, size_t, void *);
	static store *const small[DT_COUNT] = {
		[DT_HALF] = store_half,	    [DT_FLOAT] = store_float,
		[DT_DOUBLE] = store_double, [DT_BFLOAT16] = store_bfloat16,
		[DT_F8E4M3] = store_f8e4m3, [DT_F8E5M2] = store_f8e5m2,
	};
	static store *const bits[][9] = {
		{ [1] = store_8, [2] = store_16, [4] = store_32, [8] = store_64 },
		{ [1] = store_key8, [2] = store_key16, [4] = store_key32, [8] = store_key64 },
	};

	(p->term == TERM_SMALL ? small[p->dtype] : bits[p->fold == FOLD_MAX][p->width])(p, c, n,
											dst);
}

static void start_block(const struct check_plan *p, size_t n, union carriers *c)
{
	for (size_t i = 0; p->width == 8 && i < n; i++)
		c->wide[i] = p->start;
	for (size_t i = 0; p->width < 8 && i < n; i++)
		c->narrow[i] = (uint32_t)p->start;
}

/* Resets carriers to neutral where `rank` does not contribute. */
static void mask_block(const struct check_plan *p, uint32_t rank, uint64_t index, size_t n,
		       union carriers *c)
{
	uint32_t turn = check_turn(p, index), phase;

	for (size_t i = 0; i < n; i++) {
		phase = rank >= turn ? rank - turn : rank + p->nranks - turn;
		turn = check_next_turn(p, turn, p->step);
		if (phase < p->active)
			continue;
		if (p->width == 8)
			c->wide[i] = p->start;
		else
			c->narrow[i] = (uint32_t)p->start;
	}
}

static void add_rank(const struct check_plan *p, uint32_t rank, uint64_t index, size_t n,
		     uint32_t shift, union carriers *c)
{
	uint32_t high = (uint32_t)(index >> 32);
	struct lane lane = {
		.low = (uint32_t)index,
		.a = check_key_a(p, rank, high),
		.b = check_key_b(p, rank, high),
		.shift = shift,
		.small = p->small,
		.keep = p->keep,
		.set = p->set,
		.sign = p->sign,
		.flip = { p->flip[0], p->flip[1] },
		.n = n,
	};

	fold_lane(p, &lane, c);
}

static void put(void *dst, size_t i, uint32_t width, uint64_t bits)
{
	if (width == 1)
		((uint8_t *)dst)[i] = (uint8_t)bits;
	else if (width == 2)
		((uint16_t *)dst)[i] = (uint16_t)bits;
	else if (width == 4)
		((uint32_t *)dst)[i] = (uint32_t)bits;
	else
		((uint64_t *)dst)[i] = bits;
}

/* Elements of one rank, all in one half of the index (see part_size). */
static void make_elements(const struct check_plan *p, uint32_t rank, uint64_t index, size_t n,
			  void *dst)
{
	uint32_t turn = check_turn(p, index);
	union carriers c;

	if (p->term == TERM_BITS || p->term == TERM_SMALL) {
		start_block(p, n, &c);
		add_rank(p, rank, index, n, 0, &c);
		if (p->active < p->nranks)
			mask_block(p, rank, index, n, &c);
		store_block(p, &c, n, dst);
		return;
	}
	for (size_t i = 0; i < n; i++) {
		put(dst, i, p->width, check_element_at(p, rank, index + i, turn));
		turn = check_next_turn(p, turn, p->step);
	}
}

static void make_reduced(const struct check_plan *p, uint64_t index, size_t n, void *dst)
{
	uint32_t turn = check_turn(p, index);
	union carriers c;

	if (p->active == p->nranks && p->op != OP_AVG && p->term != TERM_POWER) {
		start_block(p, n, &c);
		for (uint32_t rank = 0; rank < p->nranks; rank++)
			add_rank(p, rank, index, n, rank & p->scaled, &c);
		store_block(p, &c, n, dst);
		return;
	}
	for (size_t i = 0; i < n; i++) {
		put(dst, i, p->width, check_reduced_at(p, index + i, turn));
		turn = check_next_turn(p, turn, p->step);
	}
}

/* Returns the size of the next block of `count` elements from `index` on, of one upper half. */
static size_t part_size(uint64_t index, size_t count)
{
	uint64_t left = ((uint64_t)1 << 32) - (uint32_t)index;
	size_t n = count < BLOCK ? count : BLOCK;

	return n < left ? n : (size_t)left;
}

/* ---- Buffers ---- */

void check_fill(const struct check_data *data, int rank, uint64_t base, size_t count, void *dst)
{
	struct check_plan p;
	char *out = dst;
	size_t n;

	check_plan(data, &p);
	for (size_t done = 0; done < count; done += n) {
		n = part_size(base + done, count - done);
		make_elements(&p, (uint32_t)rank, base + done, n, out + done * p.width);
	}
}

/* Counts the differences in a block that differs. */
static void count_wrong(const char *got, const char *expected, size_t at, size_t n, size_t width,
			struct verify_result *result)
{
	for (size_t i = 0; i < n; i++) {
		if (!memcmp(got + i * width, expected + i * width, width))
			continue;
		if (result->wrong++ == 0 || at + i < result->first)
			result->first = at + i;
	}
}

static void verify_segment(const struct check_plan *p, const char *recv,
			   const struct segment *segment, uint64_t base,
			   struct verify_result *result)
{
	uint64_t index = base + segment->from_at;
	_Alignas(8) char expected[BLOCK * 8];
	size_t n;

	if (segment->kind == SEGMENT_KEEP)
		memset(expected, CHECK_POISON, sizeof(expected));
	for (size_t done = 0; done < segment->count; done += n) {
		const char *got = recv + (segment->at + done) * p->width;

		n = part_size(index + done, segment->count - done);
		if (segment->kind == SEGMENT_COPY)
			make_elements(p, (uint32_t)segment->from, index + done, n, expected);
		else if (segment->kind == SEGMENT_REDUCE)
			make_reduced(p, index + done, n, expected);
		if (memcmp(got, expected, n * p->width))
			count_wrong(got, expected, segment->at + done, n, p->width, result);
	}
}

void check_verify(const struct check_data *data, const void *recv, const struct segment *segments,
		  int n, uint64_t base, struct verify_result *result)
{
	struct check_plan p;

	check_plan(data, &p);
	*result = (struct verify_result){ 0, 0 };
	for (int i = 0; i < n; i++)
		verify_segment(&p, recv, &segments[i], base, result);
}
