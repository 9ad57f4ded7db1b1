/* test_share_model.c: ranks that share a GPU: slices and sockets by hand, and what two and four
 * ranks on one H200 took. */
#include "rig/unit.h"

#include <errno.h>
#include <math.h>

#include "topo/share_model.h"

static struct share_model make(int nranks, int per_gpu)
{
	return (struct share_model){ nranks, per_gpu, 2000, 5, false };
}

static void test_by_hand(void)
{
	static const struct {
		enum model_coll coll;
		int nranks, per_gpu;
		double bytes, slices, time_us;
	} table[] = {
		{ MODEL_ALL_REDUCE, 2, 2, 8, 2, 4000 },
		{ MODEL_ALL_REDUCE, 4, 4, 8, 12, 24000 },
		{ MODEL_ALL_GATHER, 4, 4, 8, 6, 12000 },
		{ MODEL_REDUCE_SCATTER, 2, 2, 8, 1, 2000 },
		{ MODEL_SENDRECV, 4, 4, 8, 3, 6000 },
		{ MODEL_HYPERCUBE, 4, 4, 8, 4, 8000 },
		{ MODEL_ALLTOALL, 2, 2, 8, 1, 2000 },
		/* four on two GPUs */
		{ MODEL_ALL_GATHER, 4, 2, 8, 3, 6000 },
		/* each sends 3/4 of 400 MB at 5 GB/s, a quarter of the time */
		{ MODEL_ALL_GATHER, 4, 4, 400e6, 6, 240000 },
		{ MODEL_SENDRECV, 2, 2, 100e6, 1, 40000 },
		/* down a chain: three hops in turn */
		{ MODEL_BROADCAST, 4, 4, 100e6, 0, 60000 },
		{ MODEL_BROADCAST, 2, 2, 100e6, 0, 20000 },
		/* connections of 100 MB side by side, four ranks in turn */
		{ MODEL_GATHER, 4, 4, 400e6, 0, 80000 },
		/* a GPU each */
		{ MODEL_SENDRECV, 4, 1, 100e6, 0, 20000 },
	};

	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		struct share_model m = make(table[i].nranks, table[i].per_gpu);
		struct share_prediction p;

		CU_ASSERT_EQUAL_FATAL(share_predict(&m, table[i].coll, table[i].bytes, &p), 0);
		CU_ASSERT_DOUBLE_EQUAL(p.slices, table[i].slices, 1e-9);
		CU_ASSERT_DOUBLE_EQUAL(p.time_us, table[i].time_us, 1e-6);
		CU_ASSERT_TRUE(p.busbw <= p.ceiling_busbw);
	}
}

/* The sender of a small one does not wait: no time, but a ceiling. */
static void test_unknown(void)
{
	static const enum model_coll colls[] = { MODEL_BROADCAST, MODEL_REDUCE, MODEL_GATHER,
						 MODEL_SCATTER };

	for (size_t i = 0; i < 4; i++) {
		struct share_model m = make(4, 4);
		struct share_prediction p;

		CU_ASSERT_EQUAL(share_predict(&m, colls[i], 1024, &p), 0);
		CU_ASSERT_TRUE(isnan(p.time_us) && isnan(p.busbw));
		CU_ASSERT_TRUE(p.ceiling_busbw >= 5);
	}
}

static void test_refused(void)
{
	struct share_model m = make(1, 1);
	struct share_prediction p;

	CU_ASSERT_EQUAL(share_predict(&m, MODEL_SENDRECV, 8, &p), -ERANGE);
	m = make(2, 2);
	CU_ASSERT_EQUAL(share_predict(&m, MODEL_SENDRECV, 0, &p), -ERANGE);
	CU_ASSERT_EQUAL(share_predict(&m, MODEL_SENDRECV, NAN, &p), -ERANGE);
	CU_ASSERT_EQUAL(share_predict(&m, (enum model_coll) - 1, 8, &p), -ERANGE);
	CU_ASSERT_EQUAL(share_predict(&m, MODEL_COLLS, 8, &p), -ERANGE);
}

/* Medians of one H200, 2026-11-21: us. Physical constants come within a factor of two. */
static void test_measured(void)
{
	static const struct {
		enum model_coll coll;
		int nranks;
		double bytes, time_us;
	} table[] = {
		{ MODEL_ALL_REDUCE, 2, 2048, 4613 },	 { MODEL_ALL_REDUCE, 4, 2048, 27230 },
		{ MODEL_ALL_GATHER, 2, 16384, 2360 },	 { MODEL_ALL_GATHER, 4, 16384, 13710 },
		{ MODEL_SENDRECV, 4, 32, 6990 },	 { MODEL_HYPERCUBE, 4, 256, 9300 },
		{ MODEL_ALL_REDUCE, 2, 1 << 26, 36393 }, { MODEL_ALL_REDUCE, 4, 1 << 26, 109220 },
		{ MODEL_ALLTOALL, 2, 1 << 26, 14065 },	 { MODEL_ALLTOALL, 4, 1 << 26, 48394 },
		{ MODEL_BROADCAST, 2, 1 << 26, 13695 },	 { MODEL_BROADCAST, 4, 1 << 26, 44052 },
		{ MODEL_GATHER, 2, 1 << 26, 12226 },	 { MODEL_GATHER, 4, 1 << 26, 23864 },
		{ MODEL_SENDRECV, 2, 1 << 26, 29480 },	 { MODEL_REDUCE, 4, 1 << 26, 47539 },
	};

	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		struct share_model m = make(table[i].nranks, table[i].nranks);
		struct share_prediction p;

		CU_ASSERT_EQUAL(share_predict(&m, table[i].coll, table[i].bytes, &p), 0);
		CU_ASSERT_TRUE(p.time_us > table[i].time_us / 2 &&
			       p.time_us < table[i].time_us * 2);
	}
}

static const struct unit_case cases[] = {
	{ "by hand", test_by_hand },
	{ "what is not predicted", test_unknown },
	{ "refused", test_refused },
	{ "measured on one H200", test_measured },
};

int main(void)
{
	return unit_main("share_model", cases, sizeof(cases) / sizeof(cases[0]));
}
