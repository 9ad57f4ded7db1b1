/* test_buffers.c: pools, places of slots, and the amount of refills. */
#include "rig/unit.h"

#include "measure/buffers.h"
#include "rig/fake_backend.h"

#define MIB ((size_t)1 << 20)

static struct fake fake;
static struct buffers buffers;

static const struct check_data floats = {
	.seed = 42, .dtype = DT_FLOAT, .op = OP_SUM, .nranks = 4
};

static void set_up(size_t largest)
{
	fake = (struct fake){ .be = { .ops = &fake_ops } };
	CU_ASSERT_EQUAL_FATAL(buffers_init(&buffers, &fake.be, largest, BUFFERS_POOL, SIZE_MAX), 0);
}

static void tear_down(void)
{
	buffers_release(&buffers);
}

UNIT_TEST(test_sizes, "sizes")
{
	static const struct {
		size_t largest, pool;
	} cases[] = {
		{ 0, 256 * MIB },	  { 8, 256 * MIB },
		{ 256 * MIB, 256 * MIB }, { 256 * MIB + 1, 256 * MIB + 512 },
		{ 300 * MIB, 300 * MIB },
	};

	UNIT_ROWS(c, cases) {
		set_up(c->largest);
		UNIT_ALL(buffers.bytes == c->pool, fake.bytes[0] == c->pool + 8192,
			 fake.bytes[1] == c->pool + 8192,
			 buffers.send == (char *)fake.ptrs[0] + 4096,
			 buffers.recv == (char *)fake.ptrs[1] + 4096);
		tear_down();
		CU_ASSERT_EQUAL(fake.released, 2);
		tear_down();
		CU_ASSERT_EQUAL(fake.released, 2);
	}
}

/* Bytes that this many calls write: 17 extra slots for the checked one's guards; two guards. */
UNIT_TEST(test_used, "what is used of them")
{
	static const struct {
		size_t largest, calls, used;
	} cases[] = {
		{ 8, 64, (64 + 17) * 512 },
		{ 1024, 80, (80 + 17) * 1024 },
		{ 1025, 80, (80 + 17) * 1536 },
		{ 1 * MIB, 80, 97 * MIB },
		{ 2 * MIB, 80, 194 * MIB },
		{ 4 * MIB, 80, 256 * MIB },
		{ 256 * MIB, 1, 256 * MIB },
		{ 300 * MIB, 1, 300 * MIB },
		{ 0, 0, 17 * 512 },
		{ 8, SIZE_MAX, 256 * MIB },
		{ 8, SIZE_MAX - 8, 256 * MIB },
	};

	UNIT_ROWS(c, cases) {
		fake = (struct fake){ .be = { .ops = &fake_ops } };
		CU_ASSERT_EQUAL_FATAL(buffers_init(&buffers, &fake.be, c->largest, BUFFERS_POOL,
						   c->calls),
				      0);
		UNIT_ALL(fake.used[0] == c->used + 8192, fake.used[1] == c->used + 8192);
		CU_ASSERT(fake.bytes[0] >= 256 * MIB + 8192); /* the schedule stays */
		tear_down();
	}
}

UNIT_TEST(test_no_memory, "no memory")
{
	static const size_t huge[] = { SIZE_MAX, SIZE_MAX - 511, SIZE_MAX - 8192, SIZE_MAX / 2,
				       (size_t)1 << 50 };

	for (int nth = 1; nth <= 2; nth++) {
		fake = (struct fake){ .be = { .ops = &fake_ops }, .fail_alloc = nth };
		CU_ASSERT_EQUAL(buffers_init(&buffers, &fake.be, 8, BUFFERS_POOL, 1), -ENOMEM);
		buffers_release(&buffers);
		CU_ASSERT_EQUAL(fake.released, nth - 1);
	}
	/* rounding up must not overflow to a small pool */
	for (size_t i = 0; i < LENGTH(huge); i++) {
		fake = (struct fake){ .be = { .ops = &fake_ops } };
		CU_ASSERT(buffers_init(&buffers, &fake.be, huge[i], BUFFERS_POOL, 1) == -ENOMEM);
		buffers_release(&buffers);
	}
}

UNIT_TEST(test_slots, "slots")
{
	static const struct {
		size_t bytes, stride;
	} cases[] = {
		{ 0, 512 },
		{ 1, 512 },
		{ 8, 512 },
		{ 512, 512 },
		{ 513, 1024 },
		{ 4096, 4096 },
		{ MIB, MIB },
		{ MIB + 4, MIB + 512 },
		{ 128 * MIB, 128 * MIB },
		{ 256 * MIB, 256 * MIB },
		{ 200 * MIB, 200 * MIB },
	};

	set_up(8);
	UNIT_ROWS(c, cases) {
		size_t bytes = c->bytes, slots = buffers_slots(&buffers, bytes);

		CU_ASSERT_EQUAL(slots, 256 * MIB / c->stride);
		CU_ASSERT_EQUAL(buffers_offset(&buffers, bytes, 0), 0);
		CU_ASSERT_EQUAL(buffers_offset(&buffers, bytes, slots), 0);
		if (slots > 1)
			UNIT_ALL(buffers_offset(&buffers, bytes, 1) == c->stride,
				 buffers_offset(&buffers, bytes, slots + 1) == c->stride);
		CU_ASSERT(buffers_offset(&buffers, bytes, slots - 1) + bytes <= buffers.bytes);
		CU_ASSERT_EQUAL(buffers_offset(&buffers, bytes, slots - 1) % 512, 0);
	}
	tear_down();
}

/* Above the pool's size there is one slot and no rotation. */
UNIT_TEST(test_no_rotation, "no rotation above the pool")
{
	CU_ASSERT_EQUAL(buffers_slots(&buffers, 1024 * MIB), 1);
	CU_ASSERT_EQUAL(buffers_offset(&buffers, 1024 * MIB, 0), 0);
	CU_ASSERT_EQUAL(buffers_offset(&buffers, 1024 * MIB, 7), 0);
	CU_ASSERT_EQUAL(buffers_slots(&buffers, 256 * MIB + 1), 1);
}

static bool holds(const struct check_data *data, int rank, size_t bytes)
{
	size_t size = dtype_size(data->dtype);
	unsigned char element[8];

	for (size_t i = 0; i < bytes / size; i++) {
		check_element(data, rank, i, element);
		if (memcmp(buffers.send + i * size, element, size) != 0)
			return false;
	}
	return true;
}

UNIT_TEST(test_fill, "fill")
{
	struct check_data other = floats;

	set_up(8);
	UNIT_ALL(buffers_fill(&buffers, &floats, 3, 1000) == 0, fake.fills == 1,
		 fake.fill_at == buffers.send, fake.fill_count == (1000 + 4096) / 4);
	CU_ASSERT_EQUAL(fake.poisons, 1); /* the receive side was touched as far */
	UNIT_ALL(fake.poison_at == buffers.recv, fake.poison_bytes == 1000 + 4096,
		 holds(&floats, 3, 1000 + 4096), buffers_fill(&buffers, &floats, 3, 1000) == 0,
		 buffers_fill(&buffers, &floats, 3, 8) == 0, fake.fills == 1);
	/* only the missing part */
	UNIT_ALL(buffers_fill(&buffers, &floats, 3, 2002) == 0, fake.fills == 2,
		 fake.fill_base == 1274, fake.fill_count == (2002 + 4096) / 4 - 1274,
		 fake.poison_at == buffers.recv + 5096, holds(&floats, 3, 2000 + 4096));
	/* other data: all of it; the receive side has been touched */
	other.dtype = DT_DOUBLE;
	UNIT_ALL(buffers_fill(&buffers, &other, 3, 100) == 0, fake.fill_base == 0,
		 fake.fill_count == (100 + 4096) / 8, fake.poisons == 2,
		 holds(&other, 3, 100 + 4096 - 4), buffers_fill(&buffers, &other, 3, 5000) == 0,
		 fake.fill_base == (100 + 4096) / 8, holds(&other, 3, 5000));
	/* the pool was overwritten */
	buffers_dirty(&buffers);
	UNIT_ALL(buffers_fill(&buffers, &other, 3, 100) == 0, fake.fill_base == 0);
	tear_down();
}

/* Each parameter of an element. */
UNIT_TEST(test_fill_again, "other data")
{
	struct check_data data[5] = { floats, floats, floats, floats, floats };

	data[0].seed++;
	data[1].op = OP_MAX;
	data[2].nranks = 2;
	data[3].avg_premultiplies = true;
	data[4].dtype = DT_INT32;
	for (int i = 0; i < 5; i++) {
		set_up(8);
		UNIT_ALL(buffers_fill(&buffers, &floats, 0, 64) == 0,
			 buffers_fill(&buffers, &data[i], 0, 64) == 0, fake.fills == 2,
			 fake.fill_base == 0, holds(&data[i], 0, 64));
		tear_down();
	}
}

/* Up to the end of the trailing guard and not a byte further. */
UNIT_TEST(test_fill_all, "fill to the end")
{
	const struct check_data bytes = { .seed = 1, .dtype = DT_INT8, .op = OP_NONE, .nranks = 1 };

	fake = (struct fake){ .be = { .ops = &fake_ops } };
	buffers = (struct buffers){ .backend = &fake.be, .bytes = 8192 };
	CU_ASSERT_EQUAL_FATAL(fake_alloc(&fake.be, 8192 + 8192, 8192, &buffers.send_base), 0);
	CU_ASSERT_EQUAL_FATAL(fake_alloc(&fake.be, 8192 + 8192, 8192, &buffers.recv_base), 0);
	buffers.send = (char *)buffers.send_base + 4096;
	buffers.recv = (char *)buffers.recv_base + 4096;
	UNIT_ALL(buffers_fill(&buffers, &bytes, 0, 8192) == 0, fake.fill_count == 8192 + 4096,
		 buffers_fill(&buffers, &bytes, 0, 20000) == 0, fake.fills == 1,
		 fake.poison_bytes == 8192 + 4096);
	tear_down();
}

/* A failed fill does not count as filled. */
UNIT_TEST(test_fill_failed, "a fill that failed")
{
	struct check_data other = floats;

	set_up(8);
	CU_ASSERT_EQUAL(buffers_fill(&buffers, &floats, 0, 64), 0);
	other.seed++;
	fake.fail_fill = 1;
	CU_ASSERT_EQUAL(buffers_fill(&buffers, &other, 0, 64), -EIO);
	fake.fail_fill = 0;
	UNIT_ALL(buffers_fill(&buffers, &floats, 0, 64) == 0, fake.fills == 2,
		 holds(&floats, 0, 64));
	tear_down();
}

static int registered, register_rc;

static int fake_register(struct backend *be, void *ptr, size_t bytes)
{
	UNIT_ALL(ptr == fake.ptrs[registered], bytes == fake.bytes[registered]);
	registered++;
	return register_rc;
}

UNIT_TEST(test_register, "register")
{
	struct backend_ops ops = fake_ops;

	set_up(8);
	CU_ASSERT_EQUAL(buffers_register(&buffers), 0);
	ops.register_memory = fake_register;
	fake.be.ops = &ops;
	UNIT_ALL(buffers_register(&buffers) == 0, registered == 2);
	registered = 0;
	register_rc = -EIO;
	UNIT_ALL(buffers_register(&buffers) == -EIO, registered == 1);
	tear_down();
}
