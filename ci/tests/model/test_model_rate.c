/* test_model_rate.c: the terms of a bandwidth by hand, and a leaf's uplinks. */
#include "model_machine.h"

/* The least term is the prediction's; a few terms by hand. */
UNIT_TEST(test_terms, "terms by hand")
{
	static const struct {
		enum model_coll coll;
		int nodes, algo, proto, nterms;
		double bytes, least;
		const char *limit;
	} rows[] = {
		/* 370.8 * 8/14 = 211.9; 30 * 12 * .5 * 8/14 = 102.9; 141 * 8/14; 1.24 * 141 * 8/15 */
		{ MODEL_ALL_REDUCE, 1, MODEL_RING, MODEL_LL, 4, 8e9, 80.5714, "protocol LL" },
		/* 370.8; 30 * 12 * .92 = 331.2; 12 * 36.7 */
		{ MODEL_BROADCAST, 1, MODEL_RING, MODEL_LL128, 3, 8e9, 331.2, "protocol LL128" },
		/* 185.4, 196.1, 43.6, 75.8, 20.4 / 2 */
		{ MODEL_ALL_REDUCE, 16, MODEL_TREE, MODEL_LL, 5, 1024, 10.2, "protocol LL" },
		/* 370.8 * 8/14, 24 channels, no protocol */
		{ MODEL_ALL_REDUCE, 1, MODEL_RING, MODEL_SIMPLE, 2, 8e9, 211.8857,
		  "NVLink of a GPU" },
		/* two channels of 14 over the network */
		{ MODEL_SENDRECV, 2, -1, -1, 4, 8e9, 28, "channels" },
	};
	struct prediction p;

	UNIT_ROWS(row, rows) {
		machine_model("dgx-h100", 0, row->nodes, false);
		CU_ASSERT_EQUAL_FATAL(machine_point(row->coll, row->bytes, row->algo, row->proto,
						    &p),
				      0);
		CU_ASSERT_EQUAL(p.nterms, row->nterms);
		CU_ASSERT_DOUBLE_EQUAL(p.term[p.winner].gbs, row->least, 1e-4);
		CU_ASSERT_STRING_EQUAL(p.limit, row->limit);
		CU_ASSERT_DOUBLE_EQUAL(p.alg_gbs, row->least * p.correction, 1e-4);
		CU_ASSERT_DOUBLE_EQUAL(p.transfer_us, row->bytes / p.alg_gbs / 1e3, 1e-6);
	}
}

/* Nodes on leaves of 16, uplinks oversubscribed 4 times: what crosses a leaf's edge decides. */
UNIT_TEST(test_oversubscription, "oversubscription")
{
	struct error err = { .outcome = OUTCOME_OK };
	struct topo_change tree = { .fabric = 1 + TOPO_FAT_TREE, .oversubscription = 4 };
	struct prediction full, over;

	machine_model("dgx-a100", 0, 64, false);
	machine_point(MODEL_ALLTOALL, 1 << 30, -1, -1, &full);
	CU_ASSERT_EQUAL(topo_reshape(&sys, &tree, &err), 0);
	model_scale(&model, 64);
	machine_point(MODEL_ALLTOALL, 1 << 30, -1, -1, &over);
	/* of 504 GPUs beyond the node, 384 are beyond the leaf: 4 * 384 / 504 */
	CU_ASSERT_DOUBLE_EQUAL(over.transfer_us / full.transfer_us, 3.047619, 1e-6);
	CU_ASSERT_STRING_EQUAL(over.limit, "uplinks of a leaf");
	/* wires: 200 GB/s of a node / 4, 511 / 384 of the bytes that cross; * 511 / 512 / 8 GPUs */
	CU_ASSERT_DOUBLE_EQUAL(over.ceiling_busbw, 200. / 4 / 8 * 511 / 384, 1e-6);
	machine_point(MODEL_ALL_GATHER, 1 << 30, MODEL_RING, MODEL_SIMPLE, &over);
	CU_ASSERT_DOUBLE_EQUAL(over.alg_gbs, 196.0747 * 512 / 511, .001);
	model_scale(&model, 16); /* below one leaf */
	machine_point(MODEL_ALLTOALL, 1 << 30, -1, -1, &over);
	CU_ASSERT_DOUBLE_EQUAL(over.alg_gbs, 196.0747 / 8 * 128 / 120, .001);
	/* trees leave a leaf three times: what NCCL counts of channels limits, as on one leaf */
	model_scale(&model, 17);
	machine_point(MODEL_ALL_REDUCE, 1 << 30, MODEL_TREE, MODEL_SIMPLE, &over);
	UNIT_ALL(!strcmp(over.limit, "channels"), fabs(over.alg_gbs - 71.2) <= 1e-3);
}

/* Racks of 72: 16 channels go through as many NICs of 400 Gb/s, and a node of a tree sends twice; 8
 * such NICs for a DGX. */
UNIT_TEST(test_racks, "racks")
{
	struct prediction p;

	machine_model("gb200-nvl72", 0, 4, false);
	machine_point(MODEL_ALL_REDUCE, 1 << 30, MODEL_TREE, MODEL_SIMPLE, &p);
	for (int i = 0; i < p.nterms; i++)
		if (p.term[i].net)
			CU_ASSERT_DOUBLE_EQUAL(p.term[i].gbs, 16 * 50 * 4096. / 4178 / 2, 1e-6);
	/* Three racks (nccl#1801, 2.27.3, 16 GiB, NVLS off): Ring 196.9, Tree 234.8; of two trays 393.6, 485.7 GB/s. */
	static const struct {
		int trays, algo;
		double measured;
	} rows[] = { { 1, MODEL_RING, 196.9 },
		     { 1, MODEL_TREE, 234.8 },
		     { 2, MODEL_RING, 393.6 },
		     { 2, MODEL_TREE, 485.7 } };

	UNIT_ROWS(row, rows) {
		struct error err = { .outcome = OUTCOME_OK };
		struct topo_change change = { .nnodes = 3 * row->trays, .domain = row->trays };

		UNIT_ALL(topo_load(&sys, "gb200-tray", &err) == 0,
			 topo_reshape(&sys, &change, &err) == 0);
		model_init(&model, &sys, &physical, true);
		machine_point(MODEL_ALL_REDUCE, 1ull << 34, row->algo, MODEL_SIMPLE, &p);
		UNIT_ALL(fabs(p.busbw / row->measured - 1) < .04, model.nranks == 12 * row->trays);
	}
}
