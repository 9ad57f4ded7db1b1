/* test_model_launch.c: what the host and the latency of a kernel make of small calls, sends by LL,
 * uneven exchanges: hand-computed, physical constants. */
#include "model/model.h"

#include "backend/nccl/kernel_cost.h"
#include "rig/unit.h"

static struct topo_system sys;
static struct model model;
static struct model_constants constants;
static struct prediction p;

static void machine(const struct kernel_cost *cost)
{
	struct error err = { .outcome = OUTCOME_OK };
	struct topo_change change = { .gpus = 4, .nnodes = 1 };

	model_physical(&constants);
	if (cost)
		CU_ASSERT_EQUAL_FATAL(model_calibrate(&constants, cost), 0);
	CU_ASSERT_EQUAL_FATAL(topo_load(&sys, "hgx-h200", &err), 0);
	CU_ASSERT_EQUAL_FATAL(topo_reshape(&sys, &change, &err), 0);
	model_init(&model, &sys, &constants, true);
}

static void point(enum model_coll coll, double bytes, enum model_mode mode)
{
	struct predict_request request = {
		.collective = coll, .mode = mode, .bytes = bytes, .algo = -1, .proto = -1
	};

	CU_ASSERT_EQUAL_FATAL(model_predict(&model, &request, &p), 0);
}

static double time_of(enum model_coll coll, double bytes, enum model_mode mode)
{
	point(coll, bytes, mode);
	return p.time_us;
}

/* all_reduce of 8 B, Ring LL: 6.6 + 6 hops of .6 = 10.2 us on the device; the host 2.3 launches of
 * 3 us = 6.9. Alone: 8 to see an empty kernel end, 6.9 - 3 and 10.2 - 2 beyond it. */
UNIT_TEST(test_modes, "back to back, alone, in a graph")
{
	machine(NULL);
	point(MODEL_ALL_REDUCE, 8, MODEL_STREAM);
	UNIT_ALL(fabs(p.launch_us - 6.9) <= 1e-9, fabs(p.time_us - 10.2) <= .001);
	CU_ASSERT_DOUBLE_EQUAL(time_of(MODEL_ALL_REDUCE, 8, MODEL_GRAPH), 10.2, .001);
	CU_ASSERT_DOUBLE_EQUAL(time_of(MODEL_ALL_REDUCE, 8, MODEL_ISOLATED), 8 + 3.9 + 8.2, .001);
}

/* A slow host: 2.3 launches of 5 us. Groups: 2.3 launches and .07 for each peer. */
UNIT_TEST(test_calibrated, "launches as measured")
{
	static const struct kernel_cost slow = { 5, 12, 0 };
	struct predict_request in_place = {
		.bytes = 1024, .in_place = true, .algo = -1, .proto = -1
	};

	machine(&slow);
	CU_ASSERT_TRUE(constants.calibrated);
	CU_ASSERT_DOUBLE_EQUAL(time_of(MODEL_ALL_REDUCE, 8, MODEL_STREAM), 11.5, 1e-9);
	CU_ASSERT_DOUBLE_EQUAL(time_of(MODEL_ALL_REDUCE, 8, MODEL_GRAPH), 10.2, .001);
	CU_ASSERT_DOUBLE_EQUAL(time_of(MODEL_ALL_REDUCE, 8, MODEL_ISOLATED), 12 + 6.5 + 8.2, .001);
	CU_ASSERT_DOUBLE_EQUAL(time_of(MODEL_SENDRECV, 8, MODEL_STREAM), 5 * 2.37, 1e-9);
	CU_ASSERT_DOUBLE_EQUAL(time_of(MODEL_ALLTOALL, 1024, MODEL_STREAM), 5 * 2.58, 1e-9);
	point(MODEL_HYPERCUBE, 1024, MODEL_STREAM); /* a copy, two groups */
	CU_ASSERT_DOUBLE_EQUAL(p.launch_us, 5 + 2 * 5 * 2.37, 1e-9);
	CU_ASSERT_DOUBLE_EQUAL(p.latency_us, 2 + 2 * 9, 1e-9);
	in_place.collective = MODEL_HYPERCUBE;
	UNIT_ALL(model_predict(&model, &in_place, &p) == 0,
		 fabs(p.launch_us - 2 * 5 * 2.37) <= 1e-9, fabs(p.latency_us - 2 * 9) <= 1e-9);
	/* a call that takes 20 us, of 11.5 by the launches: so do groups */
	machine(&(struct kernel_cost){ 5, 12, 20 });
	CU_ASSERT_DOUBLE_EQUAL(time_of(MODEL_ALL_REDUCE, 8, MODEL_STREAM), 20, 1e-9);
	CU_ASSERT_DOUBLE_EQUAL(time_of(MODEL_ALLTOALL, 1024, MODEL_STREAM), 20 * 2.58 / 2.3, 1e-9);
	CU_ASSERT_DOUBLE_EQUAL(time_of(MODEL_ALL_REDUCE, 8, MODEL_ISOLATED), 12 + 15 + 8.2, .001);
	/* where the link decides, launches change nothing */
	point(MODEL_BROADCAST, 1 << 30, MODEL_STREAM);
	CU_ASSERT_DOUBLE_EQUAL(p.transfer_us, 1073741824 / 370.8e3, .001);
}

/* One process launches on its four GPUs in turn, 6.9 us each, half of it once grouped. */
UNIT_TEST(test_process, "several GPUs a process")
{
	struct predict_request request = { .collective = MODEL_ALL_REDUCE,
					   .bytes = 8,
					   .algo = -1,
					   .proto = -1,
					   .process_gpus = 4 };

	machine(NULL);
	UNIT_ALL(model_predict(&model, &request, &p) == 0, fabs(p.time_us - 13.8) <= 1e-9);
	request.mode = MODEL_GRAPH;
	UNIT_ALL(model_predict(&model, &request, &p) == 0, fabs(p.time_us - 10.2) <= .001);
}

/* Times that no launch takes are not taken over, none of them. */
UNIT_TEST(test_refused, "times that are none")
{
	static const struct kernel_cost wrong[] = {
		{ 0, 8, 0 },	{ -1, 8, 0 }, { 3, NAN, 0 },
		{ 3, 1001, 0 }, { .1, 8, 0 }, { 3, INFINITY, 0 }
	};

	for (size_t i = 0; i < LENGTH(wrong); i++) {
		model_physical(&constants);
		UNIT_ALL(model_calibrate(&constants, &wrong[i]) == -ERANGE, !constants.calibrated);
		CU_ASSERT_DOUBLE_EQUAL(constants.kernel_host_us, 3, 0);
	}
}

/* LL up to 32 channels x 16 KiB a peer, parts of 8 KiB at least on 8 channels at most,
 * 141 GB/s / 24 channels each. */
UNIT_TEST(test_ll, "sends by LL")
{
	machine(NULL);
	point(MODEL_SENDRECV, 8192, MODEL_GRAPH);
	UNIT_ALL(p.proto == MODEL_LL, p.channels == 1);
	CU_ASSERT_DOUBLE_EQUAL(p.time_us, 8.4 + .6 + 8192 / 5875., .001);
	point(MODEL_SENDRECV, 524288, MODEL_GRAPH);
	UNIT_ALL(p.proto == MODEL_LL, p.channels == 8);
	CU_ASSERT_DOUBLE_EQUAL(p.time_us, 8.4 + .6 + 65536 / 5875., .001);
	/* one more: Simple, 8 channels of 20 GB/s, and the last chunk is the whole part */
	point(MODEL_SENDRECV, 524289, MODEL_GRAPH);
	UNIT_ALL(p.proto == MODEL_SIMPLE, fabs(p.time_us - (8.4 + 3.4 + 2 * 65536 / 20e3)) <= .001);
	/* flows of 512 KiB to three others: the flag of each word doubles what the link carries,
	 * 3 MiB / 370.8 = 8.48 us, less than the channels' 11.155 */
	point(MODEL_ALLTOALL, 2 << 20, MODEL_GRAPH);
	UNIT_ALL(p.proto == MODEL_LL, fabs(p.transfer_us - 65536 / 5875.) <= .001);
}

/* One-way data wait for no peer when calls follow each other: base 6.6, no hop under LL,
 * and the last chunk lands while the next call runs. */
UNIT_TEST(test_one_way, "one way")
{
	machine(NULL);
	CU_ASSERT_DOUBLE_EQUAL(time_of(MODEL_GATHER, 131072, MODEL_STREAM), 6.6 + 8192 / 5875.,
			       .001);
	point(MODEL_GATHER, 131072, MODEL_ISOLATED);
	CU_ASSERT_DOUBLE_EQUAL(p.latency_us, 9, 1e-9);
	point(MODEL_ALLTOALL, 131072, MODEL_STREAM);
	CU_ASSERT_DOUBLE_EQUAL(p.latency_us, 9, 1e-9);
	/* three times 4 MiB over 370.8 GB/s; 8 channels do twice 20 GB/s each, which is more */
	CU_ASSERT_DOUBLE_EQUAL(time_of(MODEL_SCATTER, 16 << 20, MODEL_STREAM),
			       6.6 + 3.4 + 3 * 4194304 / 370.8e3, .001);
	point(MODEL_SCATTER, 16 << 20, MODEL_ISOLATED);
	/* a channel of 8 to each of three has but 512 KiB: they share the link */
	CU_ASSERT_DOUBLE_EQUAL(p.fill_us, 24 * 524288 / 370.8e3, .001);
	CU_ASSERT_DOUBLE_EQUAL(time_of(MODEL_REDUCE, 8, MODEL_GRAPH), 6.6 + .6, .001);
	constants.one_way_base_us = 5;
	model.constants = constants;
	CU_ASSERT_DOUBLE_EQUAL(time_of(MODEL_REDUCE, 8, MODEL_GRAPH), 5.6, .001);
	point(MODEL_REDUCE, 8, MODEL_ISOLATED);
	CU_ASSERT_DOUBLE_EQUAL(p.latency_us, 7.2, 1e-9);
}

/* reduce of 1 GiB: 44739242 B a channel, 85 steps of 512 KiB; of 8 MiB: none. */
UNIT_TEST(test_steps, "steps")
{
	double without;

	machine(NULL);
	without = time_of(MODEL_REDUCE, 1 << 30, MODEL_STREAM);
	model.constants.step_us = .5;
	CU_ASSERT_DOUBLE_EQUAL(time_of(MODEL_REDUCE, 1 << 30, MODEL_STREAM) - without, 42.5, 1e-6);
	point(MODEL_REDUCE, 8 << 20, MODEL_STREAM);
	CU_ASSERT_DOUBLE_EQUAL(p.fill_us, 8388608 / 370.8e3 / 2, 1e-6);
	without = time_of(MODEL_ALL_REDUCE, 1 << 30, MODEL_STREAM);
	model.constants.step_us = 0;
	CU_ASSERT_DOUBLE_EQUAL(time_of(MODEL_ALL_REDUCE, 1 << 30, MODEL_STREAM), without,
			       1e-9); /* rings that loop have their bubble */
}

/* nccl-tests' pattern on four ranks: flows of 1/6, 2/6 and 3/6 of the bytes. */
UNIT_TEST(test_uneven, "uneven")
{
	struct predict_request request = { .collective = MODEL_ALLTOALLV,
					   .bytes = 1 << 30,
					   .away = 1 << 28,
					   .flow = 1 << 26,
					   .algo = -1,
					   .proto = -1 };

	machine(NULL);
	point(MODEL_ALLTOALLV, 1 << 30, MODEL_STREAM);
	UNIT_ALL(fabs(p.alg_gbs - 370.8) <= 1e-6, fabs(p.busbw - p.algbw) <= 1e-9,
		 fabs(p.ceiling_busbw - 450) <= 1e-6);
	/* 8 MiB: the largest flow, 4 MiB, on 8 channels of 20 GB/s: 26.2144 */
	point(MODEL_ALLTOALLV, 8 << 20, MODEL_STREAM);
	CU_ASSERT_DOUBLE_EQUAL(p.transfer_us, 26.2144, 1e-4);
	/* flows that meet lose .5 / sqrt(8 channels): / .82322 */
	model.constants.fan_loss = .5;
	point(MODEL_ALLTOALLV, 8 << 20, MODEL_STREAM);
	CU_ASSERT_DOUBLE_EQUAL(p.transfer_us, 31.8436, 1e-3);
	model.constants.fan_loss = 0;
	/* a matrix: the busiest rank sends a quarter away, a sixteenth to one */
	UNIT_ALL(model_predict(&model, &request, &p) == 0, fabs(p.alg_gbs - 4 * 370.8) <= 1e-6,
		 fabs(p.busbw - p.algbw / 4) <= 1e-9, fabs(p.ceiling_busbw - 450) <= 1e-6);
}
