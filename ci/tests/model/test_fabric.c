/* test_fabric.c: the busiest link of each algorithm's edges, by hand. */
#include "model/model_parts.h"

#include "rig/unit.h"

static struct topo_system sys;
static struct model model;
static const struct fabric_busiest *const busiest = model.busiest;

/* Eight NICs a node, one a GPU. */
static void load(int nodes, int ppn, enum model_hop hop)
{
	model.sys = &sys;
	model.nnodes = nodes;
	model.ppn = ppn;
	model.hop = hop;
	model.nics = 8;
	model.net = 8;
	model.nic = ppn == 1 ? 8 : 1;
	model_fabric(&model);
}

static void network(int leaf_nodes, double over, enum topo_place place)
{
	sys = (struct topo_system){ .nnics = 8,
				    .leaf_nodes = leaf_nodes,
				    .oversubscription = over,
				    .fabric = TOPO_FAT_TREE,
				    .place = place };
}

UNIT_TEST(test_loads, "loads by hand")
{
	static const struct {
		int nodes, below, traffic;
		enum topo_place place;
		double over, nic, leaf, width;
	} rows[] = {
		{ 17, 16, FABRIC_RING, TOPO_IN_ORDER, 4, 1, 1, 4 },
		/* 16 below 0, above 8, in the second tree below 15: three edges of a half */
		{ 17, 16, FABRIC_TREE, TOPO_IN_ORDER, 4, 2, 1.5, 4 },
		{ 2, 1, FABRIC_TREE, TOPO_IN_ORDER, 1, 1, 1, 1 },
		/* 0 < 2 < 1, and 1 < 2, 1 < 0 shifted: node 2 has a child and two parents */
		{ 3, 4, FABRIC_TREE, TOPO_IN_ORDER, 1, 1.5, 0, 1 },
		{ 4, 4, FABRIC_TREE, TOPO_IN_ORDER, 1, 2, 0, 1 },
		{ 64, 16, FABRIC_ALL, TOPO_IN_ORDER, 4, 1, 16 * 48 / 63., 4 },
		/* 4, 2 and 1 of 7 parts go 1, 2 and 4 nodes on: 1, 2 and 4 nodes leave a leaf */
		{ 8, 4, FABRIC_PAT, TOPO_IN_ORDER, 2, 1, 12 / 7., 2 },
		{ 8, 4, FABRIC_ROOT, TOPO_IN_ORDER, 2, 1, 4 / 7., 2 },
		{ 8, 4, FABRIC_SWITCH, TOPO_IN_ORDER, 2, 1, 1, 2 },
		{ 8, 8, FABRIC_SWITCH, TOPO_IN_ORDER, 2, 1, 0, 1 },
		{ 8, 4, FABRIC_EXCHANGE + 1, TOPO_IN_ORDER, 2, 1, 0, 1 },
		{ 8, 4, FABRIC_EXCHANGE + 2, TOPO_IN_ORDER, 2, 1, 4, 2 },
		{ 8, 4, FABRIC_RING, TOPO_BY_RACK, 2, 1, 4, 2 },
		{ 8, 4, FABRIC_EXCHANGE + 2, TOPO_BY_RACK, 2, 1, 0, 1 },
	};

	for (size_t i = 0; i < LENGTH(rows); i++) {
		const struct fabric_busiest *b = &busiest[rows[i].traffic];

		network(rows[i].below, rows[i].over, rows[i].place);
		load(rows[i].nodes, 1, MODEL_HOP_NONE);
		UNIT_ALL(fabs(b->tier[0].load - rows[i].nic) <= 1e-9,
			 fabs(b->tier[0].width - 1) <= 0,
			 fabs(b->tier[1].load - rows[i].leaf) <= 1e-9,
			 fabs(b->tier[1].width - rows[i].width) <= 1e-9);
		if (fabs(b->tier[1].load - rows[i].leaf) > 1e-9)
			printf("%zu: leaf %g of %g\n", i, b->tier[1].load, b->tier[1].width);
	}
}

/* Whatever the number of nodes: two trees in which each node sends its data at most twice, and
 * nodes in leaf order cross a leaf's border on few edges. */
UNIT_TEST(test_trees, "trees")
{
	for (int n = 2; n <= 600; n++) {
		network(16, 4, TOPO_IN_ORDER);
		load(n, 8, MODEL_HOP_NVLINK);
		UNIT_ALL(busiest[FABRIC_TREE].tier[0].load <= 2,
			 busiest[FABRIC_TREE].tier[1].load <= 8);
	}
}

UNIT_TEST(test_sharers, "sharers")
{
	struct fabric_link up = { .traffic = FABRIC_TREE, .tier = 1, .at = 1 };
	char text[200];

	network(16, 4, TOPO_IN_ORDER);
	load(17, 8, MODEL_HOP_NVLINK);
	model_sharers(&model, &up, text, sizeof(text));
	CU_ASSERT_STRING_EQUAL(text, " 16>8 16>15 16>0");
	up.traffic = FABRIC_ALL;
	load(33, 8, MODEL_HOP_NVLINK);
	model_sharers(&model, &up, text, sizeof(text));
	CU_ASSERT_STRING_EQUAL(text, " 16>* 17>* 18>* 19>* 20>* 21>* and 10 more");
}

/* Width of the busiest NICs; rails that flows must change. */
UNIT_TEST(test_rails, "rails")
{
	network(4, 1, TOPO_IN_ORDER);
	load(4, 8, MODEL_HOP_NVLINK);
	UNIT_ALL(fabs(busiest[FABRIC_NEXT].tier[0].width - .125) <= 0,
		 fabs(busiest[FABRIC_RING].tier[0].width - 1) <= 0);
	sys.fabric = TOPO_RAIL;
	load(4, 8, MODEL_HOP_NVLINK);
	CU_ASSERT_DOUBLE_EQUAL(busiest[FABRIC_ALL].tier[1].load, 0, 0);
	/* 7 of 8 flows of each of 4 nodes; the next node's first GPU; 7 of 8 of a root's, by the links of one rail */
	for (int pxn = 0; pxn < 2; pxn++) {
		sys.no_pxn = pxn == 1;
		load(4, 8, pxn == 0 ? MODEL_HOP_PCIE : MODEL_HOP_NVLINK);
		CU_ASSERT_DOUBLE_EQUAL(busiest[FABRIC_ALL].tier[1].load, 3.5, 1e-9);
		CU_ASSERT_DOUBLE_EQUAL(busiest[FABRIC_NEXT].tier[1].load, 4, 1e-9);
		CU_ASSERT_DOUBLE_EQUAL(busiest[FABRIC_ROOT].tier[1].load, .875, 1e-9);
		CU_ASSERT_DOUBLE_EQUAL(busiest[FABRIC_NEXT].tier[1].width, .5, 1e-9);
		CU_ASSERT_DOUBLE_EQUAL(busiest[FABRIC_RING].tier[1].load, 0, 0);
	}
	sys.fabric = TOPO_FAT_TREE;
	load(4, 8, MODEL_HOP_NVLINK);
	CU_ASSERT_DOUBLE_EQUAL(busiest[FABRIC_NEXT].tier[1].load, 0, 0);
}
