/* test_collective.c: counts, factors and oracles of every collective, against hand calculation.
 * Their calls are in test_collective_calls.c. */
#include "collective_place.h"

#include "bench/perf_main.h"
#include "measure/irregular.h"
#include "rig/unit.h"

/* 4 ranks, rank 1, 1030 bytes: 257 elements of 4; a share is 64, whole 16 byte units. */
static const struct expected {
	const char *name;
	const char *flags; /* r: reduces, R: rooted, i: in place, p: power of two, v: irregular */
	struct shape shape;
	double alg_bytes, factor;
} table[] = {
	{ "all_reduce", "ri", { 257, 257, 257, 1028, 0, 0 }, 1028, 1.5 },
	{ "all_gather", "i", { 64, 256, 64, 1024, 64, 0 }, 1024, 0.75 },
	{ "reduce_scatter", "ri", { 256, 64, 64, 1024, 0, 64 }, 1024, 0.75 },
	{ "broadcast", "Ri", { 257, 257, 257, 1028, 0, 0 }, 1028, 1 },
	{ "reduce", "rRi", { 257, 257, 257, 1028, 0, 0 }, 1028, 1 },
	{ "alltoall", "", { 256, 256, 64, 1024, 0, 0 }, 1024, 0.75 },
	{ "alltoallv", "v", { 256, 256, 64, 1024, 0, 0 }, 1024, 0.75 },
	{ "gather", "Ri", { 64, 256, 64, 1024, 64, 0 }, 1024, 0.75 },
	{ "scatter", "Ri", { 256, 64, 64, 1024, 0, 64 }, 1024, 0.75 },
	{ "sendrecv", "", { 257, 257, 257, 1028, 0, 0 }, 1028, 1 },
	{ "hypercube", "ip", { 64, 256, 64, 1024, 64, 0 }, 768, 1 },
};

static const struct expected *expected_of(const char *name)
{
	UNIT_ROWS(row, table) {
		if (strcmp(row->name, name) == 0)
			return row;
	}
	printf("\n  %s has no row in the table of ci/tests/backend/test_collective.c\n", name);
	CU_FAIL("a collective without a row");
	return NULL;
}

static void check_row(const struct collective *c, const struct expected *want)
{
	struct geometry geometry = rank_place(c, 1, 4, 2, 1030);
	struct shape shape;

	c->shape(&geometry, &shape);
	UNIT_ALL(c->reduces == !!strchr(want->flags, 'r'), c->rooted == !!strchr(want->flags, 'R'),
		 c->in_place == !!strchr(want->flags, 'i'),
		 c->power_of_two == !!strchr(want->flags, 'p'),
		 c->irregular == !!strchr(want->flags, 'v'),
		 memcmp(&shape, &want->shape, sizeof(shape)) == 0);
	CU_ASSERT_DOUBLE_EQUAL(c->alg_bytes ? c->alg_bytes(&geometry, &shape) : (double)shape.bytes,
			       want->alg_bytes, 1e-9);
	CU_ASSERT_DOUBLE_EQUAL(c->bus_factor ? c->bus_factor(&geometry) : 1, want->factor, 1e-12);
}

UNIT_TEST(test_table, "shapes, flags and factors by hand")
{
	size_t n = 0;

	for (; collectives[n]; n++) {
		const struct expected *want = expected_of(collectives[n]->name);

		if (want)
			check_row(collectives[n], want);
		CU_ASSERT(n == 0 || strcmp(collectives[n - 1]->name, collectives[n]->name) < 0);
	}
	CU_ASSERT(LENGTH(table) <= n);
}

UNIT_TEST(test_share_count, "slice_count")
{
	static const struct {
		size_t bytes, elsize, align;
		int nranks;
		size_t count;
	} cases[] = {
		{ 1024, 4, 16, 4, 64 },	  { 1023, 4, 16, 4, 60 }, { 63, 4, 16, 4, 0 },
		{ 64, 4, 16, 4, 4 },	  { 64, 1, 16, 4, 16 },	  { 64, 8, 16, 4, 2 },
		{ 1030, 4, 1, 4, 64 },	  { 1040, 4, 1, 4, 65 },  { 1040, 4, 0, 4, 65 },
		{ 1040, 4, 4, 4, 65 },	  { 1040, 8, 8, 3, 43 },  { 0, 4, 16, 4, 0 },
		{ 4096, 2, 256, 3, 640 }, { 100, 4, 16, 1, 24 },
	};

	UNIT_ROWS(c, cases) {
		struct geometry geometry = {
			.nranks = c->nranks,
			.elsize = c->elsize,
			.bytes = c->bytes,
			.align = c->align,
		};

		CU_ASSERT_EQUAL(slice_count(&geometry), c->count);
	}
}

UNIT_TEST(test_one_rank_moves_nothing, "one rank has no bus traffic")
{
	struct geometry geometry = { .nranks = 1 };

	CU_ASSERT_DOUBLE_EQUAL(bus_factor_slices(&geometry), 0, 0);
	CU_ASSERT_DOUBLE_EQUAL(all_reduce.bus_factor(&geometry), 0, 0);
}

/* Segments tile the receive buffer, in order, and there are no more than ranks. */
static void check_tiling(const struct collective *c, const struct geometry *geometry)
{
	struct segment segments[MAX_RANKS];
	struct shape shape;
	size_t at = 0;
	int n;

	c->shape(geometry, &shape);
	n = c->segments(geometry, &shape, segments);
	CU_ASSERT(n >= 1 && n <= geometry->nranks);
	for (int i = 0; i < n; i++) {
		UNIT_ALL(segments[i].at == at, segments[i].count > 0);
		at += segments[i].count;
	}
	CU_ASSERT_EQUAL(at, shape.recv);
}

UNIT_TEST(test_segments_tile, "segments tile the receive buffer")
{
	for (int i = 0; collectives[i]; i++)
		for (int n = 1; n <= MAX_RANKS; n++)
			for (int rank = 0; rank < n; rank++) {
				const struct collective *c = collectives[i];
				struct geometry geometry = rank_place(c, rank, n, n / 2, 4096);

				check_tiling(c, &geometry);
			}
}

UNIT_TEST(test_segments_by_hand, "segments by hand")
{
	struct geometry geometry = rank_place(&gather, 1, 4, 2, 1024);
	struct segment s[MAX_RANKS];
	struct shape shape;

	gather.shape(&geometry, &shape);
	CU_ASSERT_EQUAL(gather.segments(&geometry, &shape, s), 1);
	CU_ASSERT(s[0].kind == SEGMENT_KEEP && s[0].at == 0 && s[0].count == 256);

	geometry = rank_place(&gather, 2, 4, 2, 1024);
	gather.shape(&geometry, &shape);
	UNIT_ALL(gather.segments(&geometry, &shape, s) == 4,
		 s[3].kind == SEGMENT_COPY && s[3].at == 192 && s[3].from == 3 &&
			 s[3].from_at == 0);

	geometry = rank_place(&reduce, 0, 4, 2, 1024);
	reduce.shape(&geometry, &shape);
	UNIT_ALL(reduce.segments(&geometry, &shape, s) == 1, s[0].kind == SEGMENT_KEEP);
}

/* Spread 1 on 4 ranks: shares to distances 1, 2, 3 are 1, 2, 3 sixths, in 16 byte units. */
UNIT_TEST(test_alltoallv, "alltoallv by hand")
{
	struct traffic far = { .nranks = 4, .spread = 1 };
	double cells[4] = { 64, 32, 160, 0 };
	struct traffic matrix = { .nranks = 2, .matrix = cells };
	struct geometry geometry = { .rank = 1,
				     .nranks = 4,
				     .elsize = 4,
				     .bytes = 1024,
				     .align = 16,
				     .root = -1,
				     .traffic = &far };
	struct segment s[MAX_RANKS];
	struct shape shape;

	alltoallv.shape(&geometry, &shape);
	CU_ASSERT_EQUAL(shape.send, (160 + 336 + 512) / 4); /* 1024 x 1/6, 2/6, 3/6 */
	UNIT_ALL(shape.recv == shape.send, shape.count == 64, shape.bytes == 1008);
	CU_ASSERT_DOUBLE_EQUAL(alltoallv.bus_factor(&geometry), 1, 0);
	/* Rank 1 gets from 0 (distance 1), 2 (distance 3) and 3 (distance 2). */
	CU_ASSERT_EQUAL(alltoallv.segments(&geometry, &shape, s), 3);
	CU_ASSERT(s[0].from == 0 && s[0].at == 0 && s[0].count == 40 && s[0].from_at == 0);
	CU_ASSERT(s[1].from == 2 && s[1].at == 40 && s[1].count == 128 && s[1].from_at == 84);
	CU_ASSERT(s[2].from == 3 && s[2].at == 168 && s[2].count == 84 && s[2].from_at == 40);

	/* 0 sends 64 to itself and 32 to 1, 1 sends 160 to 0: the busiest is rank 0, which
	 * receives 224, 160 from afar. */
	geometry.nranks = 2;
	geometry.traffic = &matrix;
	alltoallv.shape(&geometry, &shape);
	UNIT_ALL(shape.send == 40, shape.recv == 8, shape.bytes == 224, shape.count == 28);
	CU_ASSERT_DOUBLE_EQUAL(alltoallv.bus_factor(&geometry), 160.0 / 224, 1e-12);
	memset(cells, 0, sizeof(cells));
	alltoallv.shape(&geometry, &shape);
	UNIT_ALL(shape.count == 0, fabs(alltoallv.bus_factor(&geometry) - 0) <= 0,
		 alltoallv.segments(&geometry, &shape, s) == 0);
}
