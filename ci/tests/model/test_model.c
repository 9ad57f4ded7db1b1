/* test_model.c: NCCL's tuning tables against recorded ones, formulas by hand. */

#include "model_machine.h"

/* The table that NCCL 2.28.9 printed on four H200 and those of
 * common/predict/model/NCCL.md for 2 and 8: one decimal each. */
UNIT_TEST(test_nccl_tables, "NCCL's tables")
{
	static const struct {
		int gpus;
		enum model_coll coll;
		int algo, proto;
		double bw, lat;
	} rows[] = {
		{ 4, MODEL_ALL_REDUCE, MODEL_TREE, MODEL_LL, 43.6, 10.4 },
		{ 4, MODEL_ALL_REDUCE, MODEL_TREE, MODEL_LL128, 128.8, 21.5 },
		{ 4, MODEL_ALL_REDUCE, MODEL_TREE, MODEL_SIMPLE, 165.6, 32.4 },
		{ 4, MODEL_ALL_REDUCE, MODEL_RING, MODEL_LL, 94.0, 10.2 },
		{ 4, MODEL_ALL_REDUCE, MODEL_RING, MODEL_LL128, 220.8, 25.4 },
		{ 4, MODEL_ALL_REDUCE, MODEL_RING, MODEL_SIMPLE, 240.0, 28.8 },
		{ 4, MODEL_ALL_GATHER, MODEL_RING, MODEL_LL, 188.0, 8.4 },
		{ 4, MODEL_ALL_GATHER, MODEL_RING, MODEL_LL128, 441.6, 19.7 },
		{ 4, MODEL_REDUCE_SCATTER, MODEL_RING, MODEL_SIMPLE, 480.0, 18.6 },
		{ 4, MODEL_BROADCAST, MODEL_RING, MODEL_LL, 141.0, 7.2 },
		{ 4, MODEL_BROADCAST, MODEL_RING, MODEL_LL128, 331.2, 15.9 },
		{ 4, MODEL_REDUCE, MODEL_RING, MODEL_SIMPLE, 360.0, 11.8 },
		{ 4, MODEL_ALL_REDUCE, MODEL_NVLS, MODEL_SIMPLE, 160.0, 25.0 },
		{ 8, MODEL_ALL_REDUCE, MODEL_TREE, MODEL_LL, 43.6, 15.2 },
		{ 8, MODEL_ALL_REDUCE, MODEL_TREE, MODEL_SIMPLE, 165.6, 64.4 },
		{ 8, MODEL_ALL_REDUCE, MODEL_RING, MODEL_LL, 80.6, 15.0 },
		{ 8, MODEL_ALL_REDUCE, MODEL_RING, MODEL_LL128, 189.3, 40.6 },
		{ 8, MODEL_ALL_REDUCE, MODEL_RING, MODEL_SIMPLE, 205.7, 56.0 },
		{ 8, MODEL_ALL_REDUCE, MODEL_NVLS, MODEL_SIMPLE, 272.0, 25.0 },
		{ 8, MODEL_ALL_GATHER, MODEL_RING, MODEL_SIMPLE, 411.4, 32.2 },
		{ 8, MODEL_ALL_GATHER, MODEL_NVLS, MODEL_SIMPLE, 208.2, 25.0 },
		{ 2, MODEL_ALL_REDUCE, MODEL_RING, MODEL_LL, 141.0, 7.8 },
		{ 2, MODEL_ALL_REDUCE, MODEL_RING, MODEL_SIMPLE, 360.0, 15.2 },
		{ 2, MODEL_ALL_REDUCE, MODEL_TREE, MODEL_LL128, 128.8, 16.5 },
		{ 2, MODEL_ALL_REDUCE, MODEL_NVLS, MODEL_SIMPLE, 102.0, 25.0 },
	};

	UNIT_ROWS(row, rows) {
		machine_model("hgx-h200", row->gpus, 1, false);
		UNIT_ALL(fabs(model.tuning.bw[row->coll][row->algo][row->proto] - row->bw) <= .0501,
			 fabs(model.tuning.lat[row->coll][row->algo][row->proto] - row->lat) <=
				 .0501,
			 model.tuning.search.channels == 12, model.channels == 24);
	}
}

/* The choice of older versions (their tuning.cc), by hand. */
UNIT_TEST(test_versions, "of older versions")
{
	static const struct {
		const char *name;
		int gpus, nodes, version;
		double bytes;
		int algo, proto;
	} rows[] = {
		/* NVLSTree's hop over the network: 14 us until 2.27, 20.9 since */
		{ "dgx-h100", 8, 4, 22600, 2 << 20, MODEL_NVLS_TREE, MODEL_SIMPLE },
		{ "dgx-h100", 8, 4, 22800, 2 << 20, MODEL_TREE, MODEL_LL128 },
		/* a NIC beside the CPU: no LL128 there, but over C2C from 2.27 on */
		{ "gh200-quad", 4, 2, 22300, 4 << 20, MODEL_TREE, MODEL_SIMPLE },
		{ "gh200-quad", 4, 2, 22700, 4 << 20, MODEL_TREE, MODEL_LL128 },
		{ "gh200-quad", 4, 1, 22300, 4 << 20, MODEL_RING, MODEL_LL128 },
		/* Ring LL at a quarter of the links: LL128 earlier */
		{ "dgx-a100", 8, 1, 22000, 3 << 19, MODEL_RING, MODEL_LL128 },
		{ "dgx-a100", 8, 1, 22800, 3 << 19, MODEL_RING, MODEL_LL },
	};
	struct prediction p;

	UNIT_ROWS(row, rows) {
		machine_model(row->name, row->gpus, row->nodes, false);
		sys.nccl = row->version;
		model_scale(&model, row->nodes);
		UNIT_ALL(machine_point(MODEL_ALL_REDUCE, row->bytes, -1, -1, &p) == 0,
			 p.algo == row->algo, p.proto == row->proto);
	}
	/* fourteen hops of Tree Simple: of 28 us, from 2.18.3 to 2.18.6 and from 2.23 on 4, and then a base */
	static const struct {
		int version;
		double us;
	} hops[] = {
		{ 21801, 392 }, { 21803, 56 }, { 21806, 56 }, { 21903, 392 }, { 22304, 64.4 }
	};

	machine_model("dgx-a100", 8, 1, false);
	UNIT_ROWS(row, hops) {
		sys.nccl = row->version;
		model_scale(&model, 1);
		CU_ASSERT_DOUBLE_EQUAL(model.choice.lat[MODEL_ALL_REDUCE][MODEL_TREE][MODEL_SIMPLE],
				       row->us, 1e-9);
	}
	sys.nccl = 21800;
	model_scale(&model, 1);
	/* 240 / 4 x 8 / 14 */
	UNIT_ALL(fabs(model.choice.bw[MODEL_ALL_REDUCE][MODEL_RING][MODEL_LL] - 34.286) <= .001);
}

/* The choice by size: common/predict/model/NCCL.md, and 1 MiB from the recorded log. */
UNIT_TEST(test_choice, "NCCL's choice")
{
	static const struct {
		int gpus, nvls, mib, algo, proto;
	} rows[] = {
		{ 4, 0, 1, MODEL_RING, MODEL_LL },     { 4, 0, 2, MODEL_RING, MODEL_LL },
		{ 4, 0, 4, MODEL_RING, MODEL_LL128 },  { 4, 0, 16, MODEL_RING, MODEL_SIMPLE },
		{ 8, 0, 2, MODEL_RING, MODEL_LL },     { 8, 0, 4, MODEL_RING, MODEL_LL128 },
		{ 8, 0, 16, MODEL_RING, MODEL_LL128 }, { 8, 0, 64, MODEL_RING, MODEL_SIMPLE },
		{ 2, 0, 1, MODEL_RING, MODEL_LL },     { 2, 0, 2, MODEL_RING, MODEL_SIMPLE },
		{ 8, 1, 2, MODEL_NVLS, MODEL_SIMPLE }, { 8, 1, 256, MODEL_NVLS, MODEL_SIMPLE },
	};
	struct prediction p;

	UNIT_ROWS(row, rows) {
		machine_model("hgx-h200", row->gpus, 1, !row->nvls);
		UNIT_ALL(machine_point(MODEL_ALL_REDUCE, row->mib * 1048576., -1, -1, &p) == 0,
			 p.algo == row->algo, p.proto == row->proto);
	}
	/* an operator that switches cannot do */
	UNIT_ALL(model_predict(&model,
			       &(struct predict_request){ .collective = MODEL_ALL_REDUCE,
							  .bytes = 1 << 28,
							  .algo = -1,
							  .proto = -1,
							  .no_nvls = true },
			       &p) == 0,
		 p.algo == MODEL_RING);
}

/* 4 H200, 64 MiB all_reduce, Ring Simple, physical constants: link 18 * 20.6 = 370.8; algorithm
 * 370.8 * 4/6 = 247.2; transfer 67108864 / 247200 = 271.476 us. Share of a channel 67108864 / 24 /
 * 4 = 699051 B, slice half of it: fill (1 + .5) * 349525 * 24 / 370800 = 33.9345. Latency 8.4 + 6
 * * 3.4 = 28.8. */
UNIT_TEST(test_ring_simple, "Ring Simple by hand")
{
	struct prediction p;

	machine_model("hgx-h200", 4, 1, true);
	UNIT_ALL(machine_point(MODEL_ALL_REDUCE, 67108864, MODEL_RING, MODEL_SIMPLE, &p) == 0,
		 fabs(p.alg_gbs - 247.2) <= 1e-6, fabs(p.transfer_us - 271.476) <= .001,
		 fabs(p.fill_us - 33.9345) <= .001, fabs(p.latency_us - 28.8) <= 1e-6,
		 fabs(p.time_us - 334.2105) <= .002,
		 fabs(p.busbw - 67108864 / 334.2105 / 1000 * 1.5) <= .002,
		 fabs(p.ceiling_busbw - 450) <= 1e-6);
	CU_ASSERT(fabs(p.nccl_us - (28.8 + 67108864 / 240e3)) <= .001);
	/* broadcast: chunks of 512 KiB, no loops: fill 524288 * 24 / 370800 = 33.934, half of
	 * it while the call before drains */
	UNIT_ALL(machine_point(MODEL_BROADCAST, 1 << 30, MODEL_RING, MODEL_SIMPLE, &p) == 0,
		 fabs(p.fill_us - 16.9672) <= .001, fabs(p.alg_gbs - 370.8) <= 1e-6);
}

/* Algorithm bandwidths by hand. Net of 8 x 400 Gb/s InfiniBand: 392.149 GB/s. */
UNIT_TEST(test_bandwidths, "bandwidths by hand")
{
	static const struct {
		const char *spec;
		int nodes;
		enum model_coll coll;
		int algo;
		double gbs;
		const char *limit;
	} rows[] = {
		/* 370.8 * .85 / (1 + 1/8) */
		{ "dgx-h100", 1, MODEL_ALL_REDUCE, MODEL_NVLS, 280.160, "NVLink" },
		/* 721.8 * .74 / (1 + 1/8) */
		{ "dgx-b200", 1, MODEL_ALL_REDUCE, MODEL_NVLS, 474.784, "NVLink" },
		/* 72 GPUs get a tenth less than eight */
		{ "gb200-nvl72", 1, MODEL_ALL_REDUCE, MODEL_NVLS, 427.306, "NVLink" },
		/* 370.8 * .747 / (1 + 1/8) */
		{ "dgx-h100", 2, MODEL_ALL_REDUCE, MODEL_NVLS_TREE, 246.211, "NVLink" },
		/* NICs with two children: 392.149 / 2 */
		{ "dgx-h100", 16, MODEL_ALL_REDUCE, MODEL_NVLS_TREE, 196.075, "NICs" },
		/* 16 channels of 20, half up, half down; NVLink could 185.4, the network 392; from three nodes on NCCL
		 * counts 36 of each of 8 channels */
		{ "dgx-h100", 2, MODEL_ALL_REDUCE, MODEL_TREE, 160, "channels" },
		{ "dgx-h100", 4, MODEL_ALL_REDUCE, MODEL_TREE, 144, "channels" },
		/* 16 channels of 20 on Hopper, 32 of 40 on Blackwell; * 32 / 31 */
		{ "dgx-h100", 4, MODEL_ALL_GATHER, MODEL_RING, 330.323, "channels" },
		{ "dgx-b200", 4, MODEL_ALL_GATHER, MODEL_RING, 404.799, "NICs" },
		/* half of NCCL's 17.8 of each of 8 channels; NICs could 200 GB/s * 4096 / 4178 = 196.075, half of it */
		{ "dgx-a100", 4, MODEL_ALL_REDUCE, MODEL_TREE, 71.2, "channels" },
		/* 196.075 * 32 / 62 and * 32 / 31 */
		{ "dgx-a100", 4, MODEL_ALL_REDUCE, MODEL_RING, 101.200, "NICs" },
		{ "dgx-a100", 4, MODEL_ALL_GATHER, MODEL_RING, 202.399, "NICs" },
		/* 240 whatever the size */
		{ "dgx-a100", 1, MODEL_BROADCAST, MODEL_RING, 240, "NVLink" },
		/* 6 links of 20 GB/s in the cube mesh: 120 * 8 / 14 */
		{ "dgx-v100", 1, MODEL_ALL_REDUCE, MODEL_RING, 68.5714, "NVLink" },
		/* below a switch to one neighbour, through host memory to the other: 24 GB/s, between sockets of Milan; a tenth
		 * of it through host memory alone; * 8 / 14 */
		{ "pcie-gen4-8gpu", 1, MODEL_ALL_REDUCE, MODEL_RING, 13.7143, "PCIe" },
		{ "geforce-4090", 1, MODEL_ALL_REDUCE, MODEL_RING, 1.37143, "host memory" },
		/* four GPUs of which two are joined by NVLink: each crosses once a ring; * 4 / 6 */
		{ "a100-pcie-bridged", 1, MODEL_ALL_REDUCE, MODEL_RING, 16, "PCIe" },
		/* all 7 links of 45.1 in a node; * 8 / 14 */
		{ "mi300x-8", 1, MODEL_ALL_REDUCE, MODEL_RING, 180.4, "NVLink" },
		/* 1.25 GB/s * 1448 / 1538 * .9, 2 ranks: * 2 / 2 */
		{ "tcp-10g", 2, MODEL_ALL_REDUCE, MODEL_RING, 1.05917, "NICs" },
		/* of 100 Gb/s the two threads of a connection of AWS move 5.2 GB/s each */
		{ "tcp-100g", 2, MODEL_ALL_REDUCE, MODEL_RING, 10.4, "NICs" },
		/* 8 channels; Slingshot NICs could 100 * 2048 / 2142; half of it, from three nodes on */
		{ "gh200-quad", 2, MODEL_ALL_REDUCE, MODEL_TREE, 80, "channels" },
		{ "gh200-quad", 4, MODEL_ALL_REDUCE, MODEL_TREE, 23.9029, "NICs" },
	};
	struct prediction p;

	UNIT_ROWS(row, rows) {
		machine_model(row->spec, 0, row->nodes, false);
		UNIT_ALL(machine_point(row->coll, 68719476736., row->algo, MODEL_SIMPLE, &p) == 0,
			 fabs(p.alg_gbs / row->gbs - 1) <= 1e-4,
			 strstr(p.limit, row->limit) != NULL);
	}
}

/* Sends: 4 H200, 370.8 GB/s a GPU, one hop 3.4 us, base 8.4. */
UNIT_TEST(test_p2p, "sends by hand")
{
	struct prediction p;

	machine_model("hgx-h200", 4, 1, true);
	/* 64 MiB: 8 channels of 20 GB/s: 419.43 us; the last 512 KiB 26.2 */
	UNIT_ALL(machine_point(MODEL_SENDRECV, 67108864, -1, -1, &p) == 0, p.channels == 8);
	CU_ASSERT_DOUBLE_EQUAL(p.transfer_us, 419.430, .001);
	CU_ASSERT_DOUBLE_EQUAL(p.time_us, 419.430 + 26.2144 + 11.8, .001);
	/* 256 MiB takes 16 channels, 512 MiB 32: then the link limits */
	UNIT_ALL(machine_point(MODEL_SENDRECV, 268435456, -1, -1, &p) == 0, p.channels == 16,
		 fabs(p.alg_gbs - 320) <= 1e-6,
		 machine_point(MODEL_SENDRECV, 536870912, -1, -1, &p) == 0, p.channels == 32,
		 fabs(p.alg_gbs - 370.8) <= 1e-6);
	/* three quarters leave the GPU: 370.8 * 4/3 */
	UNIT_ALL(machine_point(MODEL_ALLTOALL, 1 << 30, -1, -1, &p) == 0,
		 fabs(p.alg_gbs - 494.4) <= 1e-6, fabs(p.ceiling_busbw - 450) <= 1e-6,
		 machine_point(MODEL_GATHER, 1 << 30, -1, -1, &p) == 0,
		 fabs(p.alg_gbs - 494.4) <= 1e-6);
	/* two exchanges, of 1/4 and 2/4 of 1 GiB; both on 16 channels of 20 GB/s and more: 256 MiB
	 * at 320, 512 MiB at 370.8; the last 512 KiB of each channel, 16 and 32; a copy first, 2 us */
	UNIT_ALL(machine_point(MODEL_HYPERCUBE, 1 << 30, -1, -1, &p) == 0,
		 fabs(p.transfer_us - (268435456 / 320e3 + 536870912 / 370.8e3)) <= .001,
		 fabs(p.latency_us - (2 + 2 * 11.8)) <= 1e-6,
		 fabs(p.fill_us - (26.2144 + 32 * 524288 / 370.8e3)) <= 1e-4,
		 fabs(p.nccl_us - -1) <= 0);
	/* 10 nodes of one GPU: everything but 1/10 leaves over a NIC of 50 * 4096 / 4178 */
	machine_model("dgx-h100", 1, 10, true);
	UNIT_ALL(machine_point(MODEL_ALLTOALL, 1 << 30, -1, -1, &p) == 0,
		 fabs(p.alg_gbs - 49.01867 / .9) <= .001, !strcmp(p.limit, "NICs of a node"));
}

/* Channels of a peer over NICs of 400 Gb/s: two, or one where ranks times channels exceed four times those of all sends;
 * from 2.29 on four, by 14 GB/s a channel, halved until eight peers a batch fit. Bandwidth is that, or the NIC's. */
UNIT_TEST(test_sends_by_version, "sends by version")
{
	static const struct {
		int gpus, nodes, nccl;
		double gbs;
	} rows[] = {
		{ 8, 2, 22809, 28 },	  { 8, 4, 22809, 28 },	    { 8, 10, 22809, 14 },
		{ 8, 2, 22902, 49.0187 }, { 8, 4, 22902, 49.0187 }, { 8, 10, 22902, 14 },
		{ 1, 10, 22902, 28 },	  { 8, 2, 0, 28 },
	};
	struct prediction p;

	UNIT_ROWS(row, rows) {
		machine_model("dgx-h100", row->gpus, 1, false);
		sys.nccl = row->nccl;
		model_scale(&model, row->nodes);
		machine_point(MODEL_SENDRECV, 1 << 30, -1, -1, &p);
		CU_ASSERT_DOUBLE_EQUAL(p.alg_gbs, row->gbs, .001);
	}
}

/* A network's hop: each of 2 (n-1) of a ring and 2 log2(n) of a tree, beyond NCCL's; without GPUDirect what two sockets' memory carries, of
 * EFA three quarters, for one GPU a quarter of its PCIe, and Simple alone; what the plugin announces to NCCL decides its choice. */
UNIT_TEST(test_networks, "networks")
{
	struct prediction p, slow;

	machine_model("aws-p4d", 8, 4, false);
	CU_ASSERT_EQUAL(machine_point(MODEL_ALL_REDUCE, 1024, MODEL_TREE, MODEL_LL, &p), -EINVAL);
	machine_point(MODEL_ALL_REDUCE, 1024, MODEL_TREE, MODEL_SIMPLE, &p);
	sys.hop_us = 45;
	machine_point(MODEL_ALL_REDUCE, 1024, MODEL_TREE, MODEL_SIMPLE, &slow);
	CU_ASSERT_DOUBLE_EQUAL(slow.latency_us - p.latency_us, 4 * (45 - 20 - 15), 1e-9);
	/* a message above 8 KiB waits for a round trip, hop by hop */
	machine_point(MODEL_ALL_REDUCE, 1 << 14, MODEL_TREE, MODEL_SIMPLE, &p);
	CU_ASSERT_DOUBLE_EQUAL(p.latency_us - slow.latency_us, 4 * 24, 1e-9);
	machine_point(MODEL_ALL_REDUCE, 1 << 30, MODEL_RING, MODEL_SIMPLE, &p);
	sys.staged = true;
	model_init(&model, &sys, &physical, false);
	machine_point(MODEL_ALL_REDUCE, 1 << 30, MODEL_RING, MODEL_SIMPLE, &slow);
	UNIT_ALL(fabs(slow.alg_gbs / p.alg_gbs - .75) <= 1e-9,
		 machine_point(MODEL_ALL_REDUCE, 1024, -1, MODEL_LL, &p) == -EINVAL);
	sys.transport = TOPO_IB;
	model_init(&model, &sys, &physical, false);
	machine_point(MODEL_ALL_REDUCE, 1 << 30, MODEL_RING, MODEL_SIMPLE, &p);
	CU_ASSERT_DOUBLE_EQUAL(p.term[p.winner].base, 49.0186693, 1e-6); /* 300 of 4 x 50 */
	sys.ncpus = 1;
	model_init(&model, &sys, &physical, false);
	machine_point(MODEL_ALL_REDUCE, 1 << 30, MODEL_RING, MODEL_SIMPLE, &p);
	CU_ASSERT_DOUBLE_EQUAL(p.term[p.winner].base, 49.0186693 * .75, 1e-6);
	UNIT_ALL(machine_point(MODEL_ALL_REDUCE, 1024, -1, MODEL_LL, &p) == 0,
		 machine_point(MODEL_ALL_REDUCE, 1024, -1, MODEL_LL128, &p) == -EINVAL);
	/* 2 MiB over four nodes of A100: with 75 us a hop a ring of many would be worse still */
	machine_model("aws-p4d", 8, 4, false);
	machine_point(MODEL_ALL_REDUCE, 1 << 30, -1, -1, &p);
	CU_ASSERT_EQUAL(machine_point(MODEL_ALL_REDUCE, 1 << 21, -1, -1, &slow), 0);
	CU_ASSERT_EQUAL(slow.algo, MODEL_TREE);
	machine_model("gcp-a3-high", 8, 2, false);
	machine_point(MODEL_ALL_REDUCE, 1024, -1, -1, &p);
	UNIT_ALL(p.algo == MODEL_RING, p.proto == MODEL_SIMPLE);
}

/* Host memory on a hop of a ring: on each of 4090s, on one in four of two switches, on none of an AMD host before 2.23. Eight
 * GPUs poll 14 times for LL. A proxy passes 120 messages of an alltoall on; over TCP 60 us more a hop by Simple; chunks of a tree's LL are
 * messages. */
UNIT_TEST(test_hosts, "hosts on the way")
{
	struct prediction p, simple;

	machine_model("geforce-4090", 8, 1, false);
	machine_point(MODEL_ALL_REDUCE, 8, MODEL_RING, MODEL_LL, &p);
	UNIT_ALL(model.through_host == 1, fabs(p.latency_us - (6.6 + 14 * (1 + .7))) <= 1e-9);
	machine_model("pcie-gen4-8gpu", 8, 1, false);
	CU_ASSERT_EQUAL(model.through_host, .25);
	sys.nccl = 22203;
	model_init(&model, &sys, &physical, false);
	UNIT_ALL(model.through_host == 0, model.ring == 24);
	machine_model("dgx-h100", 8, 16, false);
	machine_point(MODEL_ALLTOALL, 1024, -1, -1, &p);
	UNIT_ALL(!strcmp(p.limit, "proxy thread of a GPU"), fabs(p.transfer_us - 120) <= 1e-9);
	/* 64 KiB on 16 channels: two hops' chunks of 4 KiB at 2.5 GB/s, no correction of NCCL's */
	machine_model("dgx-h100", 8, 2, false);
	machine_point(MODEL_ALL_REDUCE, 65536, MODEL_TREE, MODEL_LL, &p);
	UNIT_ALL(fabs(p.fill_us - 2 * 4096 / 2500.) <= 1e-9, p.correction == 1);
	machine_model("tcp-25g", 1, 2, false);
	machine_point(MODEL_ALL_REDUCE, 1024, MODEL_RING, MODEL_SIMPLE, &simple);
	machine_point(MODEL_ALL_REDUCE, 1024, MODEL_RING, MODEL_LL, &p);
	CU_ASSERT_DOUBLE_EQUAL(simple.latency_us - p.latency_us, 8.4 - 6.6 + 2 * (14 - 5 + 60),
			       1e-9);
}

/* So many of its nodes, changed. */
static void reshaped(const char *spec, int nodes, const struct topo_change *change)
{
	struct error err = { .outcome = OUTCOME_OK };

	machine_model(spec, 0, nodes, true);
	CU_ASSERT_EQUAL_FATAL(topo_reshape(&sys, change, &err), 0);
	model_init(&model, &sys, &physical, true);
}

/* Nodes with 1 to 8 NICs of 100, 200 and 400 Gb/s: a ring gets what they carry, n * gbps / 8 * 4096
 * / 4178, until NVLink's 370.8 limits, however many nodes there are; from five NICs of 400 on its two channels a NIC,
 * of 20 GB/s. */
UNIT_TEST(test_nics, "NICs")
{
	static const double gbps[] = { 100, 200, 400 };
	struct prediction p;

	for (int nics = 1; nics <= 8; nics++) {
		for (int i = 0; i < 3; i++) {
			struct topo_change change = { .nics = nics, .nic_gbps = gbps[i] };
			double net = nics * gbps[i] / 8 * 4096 / 4178;

			reshaped("dgx-h100", 16, &change);
			UNIT_ALL(machine_point(MODEL_BROADCAST, 1 << 30, MODEL_RING, MODEL_SIMPLE,
					       &p) == 0,
				 fabs(p.alg_gbs - fmin(net, p.channels * 20)) <= 1e-6,
				 fabs(p.ceiling_busbw - fmin(nics * gbps[i] / 8, 450)) <= 1e-6);
		}
	}
}

/* NICs of 800 Gb/s get what PCIe 5 has: 63 GB/s * .88 of each of 8 NICs. */
UNIT_TEST(test_pcie_nics, "PCIe of NICs")
{
	static const struct {
		const char *spec;
		struct topo_change change;
		double gbs;
		const char *limit;
	} rows[] = {
		{ "dgx-b200", { .nic_gbps = 400 }, 392.149, "NICs of a node" },
		{ "dgx-b200", { .nic_gbps = 800 }, 443.52, "NICs of a node" },
	};
	struct prediction p;

	UNIT_ROWS(row, rows) {
		reshaped(row->spec, 2, &row->change);
		UNIT_ALL(machine_point(MODEL_BROADCAST, 1 << 30, MODEL_RING, MODEL_SIMPLE, &p) == 0,
			 fabs(p.alg_gbs - row->gbs) <= .001, !strcmp(p.limit, row->limit));
	}
}

/* SHARP on 4 DGX H100: NCCL's 8 heads of min(40 * .85 * 7/8 * 2, 48) = 48 GB/s, 32 ranks: 8 * 48 *
 * 32 / 62; CollNet does what NCCL counts: 8 * 45 * .85 / 2. Without SHARP neither exists. */
UNIT_TEST(test_sharp, "SHARP")
{
	struct error err = { .outcome = OUTCOME_OK };
	struct topo_change change = { .sharp = true };
	struct prediction p;

	machine_model("dgx-h100", 0, 4, false);
	CU_ASSERT_EQUAL(machine_point(MODEL_ALL_REDUCE, 1 << 30, MODEL_NVLS, -1, &p), -EINVAL);
	CU_ASSERT_EQUAL(machine_point(MODEL_ALL_REDUCE, 1 << 30, MODEL_COLLNET_DIRECT, -1, &p),
			-EINVAL);
	CU_ASSERT_EQUAL_FATAL(topo_reshape(&sys, &change, &err), 0);
	model_scale(&model, 4);
	CU_ASSERT_EQUAL(machine_point(MODEL_ALL_REDUCE, 1 << 30, MODEL_NVLS, -1, &p), 0);
	CU_ASSERT_DOUBLE_EQUAL(p.alg_gbs, 198.194, .001);
	CU_ASSERT_EQUAL(machine_point(MODEL_ALL_REDUCE, 1 << 30, MODEL_COLLNET_DIRECT, -1, &p), 0);
	CU_ASSERT_DOUBLE_EQUAL(p.alg_gbs, 153, .001);
}

/* Whatever the machine: finite, below the ceiling, slower with more bytes and nodes. */
static void check_machine(const char *spec)
{
	for (int coll = 0; coll < MODEL_COLLS; coll++) {
		double over_nodes = 0;

		for (int nodes = 1; nodes <= 2048; nodes *= 2) {
			int algo = coll < MODEL_TUNED ? MODEL_RING : MODEL_P2P;
			double before = 0;
			struct prediction p;

			model_scale(&model, nodes);
			for (double bytes = 8; bytes <= 17179869184.; bytes *= 2) {
				if (machine_point((enum model_coll)coll, bytes, -1, -1, &p) != 0) {
					CU_ASSERT_EQUAL(model.nranks, 1);
					continue;
				}
				UNIT_ALL(isfinite(p.time_us) && p.time_us > 0 && p.busbw > 0,
					 p.busbw <= p.ceiling_busbw,
					 machine_point((enum model_coll)coll, bytes, algo,
						       MODEL_SIMPLE, &p) == 0,
					 p.time_us >= before);
				if (p.time_us < before)
					printf("%s %s %d nodes %.0f: %g after %g\n", spec,
					       model_coll_names[coll], nodes, bytes, p.time_us,
					       before);
				before = p.time_us;
			}
			CU_ASSERT_TRUE(coll >= MODEL_TUNED || before >= over_nodes * (1 - 1e-9));
			over_nodes = before;
		}
	}
}

UNIT_TEST(test_properties, "properties of every spec")
{
	static const char *const specs[] = { "dgx-v100",       "dgx2",	       "dgx-a100",
					     "dgx-h100",       "hgx-h200",     "dgx-b200",
					     "gb200-nvl72",    "gh200-quad",   "a100-pcie-bridged",
					     "pcie-gen4-8gpu", "geforce-4090", "tcp-10g",
					     "tcp-25g",	       "tcp-100g" };

	for (size_t i = 0; i < LENGTH(specs); i++) {
		machine_model(specs[i], 0, 1, false);
		check_machine(specs[i]);
	}
}

UNIT_TEST(test_refused, "refused")
{
	struct predict_request small = {
		.collective = MODEL_ALL_GATHER, .bytes = 16, .elsize = 4, .algo = -1, .proto = -1
	};
	struct prediction p;

	machine_model("dgx-a100", 0, 1, false);
	CU_ASSERT_EQUAL(model_predict(&model, &small, &p), -ERANGE); /* 8 ranks, 4 elements */
	small.bytes = 32;
	CU_ASSERT_EQUAL(model_predict(&model, &small, &p), 0);
	small.bytes = 4;
	small.collective = MODEL_BROADCAST;
	CU_ASSERT_EQUAL(model_predict(&model, &small, &p), 0);
	CU_ASSERT_EQUAL(machine_point(MODEL_ALL_REDUCE, 1024, MODEL_NVLS, -1, &p), -EINVAL);
	CU_ASSERT_EQUAL(machine_point(MODEL_BROADCAST, 1024, MODEL_TREE, -1, &p), -EINVAL);
	CU_ASSERT_EQUAL(machine_point(MODEL_ALLTOALL, 1024, MODEL_RING, -1, &p), -EINVAL);
	CU_ASSERT_EQUAL(machine_point(MODEL_ALL_REDUCE, 0, -1, -1, &p), -ERANGE);
	CU_ASSERT_EQUAL(machine_point(MODEL_ALL_REDUCE, -8, -1, -1, &p), -ERANGE);
	CU_ASSERT_EQUAL(machine_point(MODEL_ALL_REDUCE, NAN, -1, -1, &p), -ERANGE);
	CU_ASSERT_EQUAL(machine_point(MODEL_COLLS, 1024, -1, -1, &p), -ERANGE);
	machine_model("tcp-10g", 0, 1, false);
	CU_ASSERT_EQUAL(machine_point(MODEL_ALL_REDUCE, 1024, -1, -1, &p), -ERANGE);
}

/* Fitted constants come from a file or not at all. */
#define BARS(rows) "{\"provenance\":\"p\",\"constants\":{\"fill\":1},\"bars\":[" rows "]}"
#define BAR(low)                                                                                   \
	"{\"class\":\"node-hopper\",\"sizes\":1,\"low\":" low                                      \
	",\"high\":2,\"points\":9,\"sources\":2}"
UNIT_TEST(test_constants, "constants")
{
	static const struct {
		const char *text;
		int rc;
	} files[] = {
		{ "{\"provenance\":\"p\",\"constants\":{\"fill\":0.25}}", 0 },
		{ "{\"provenance\":\"p\",\"constants\":{\"phil\":0.25}}", -EINVAL },
		{ "{\"provenance\":\"p\",\"constants\":{\"fill\":-1}}", -EINVAL },
		{ "{\"provenance\":\"p\",\"constants\":{\"fill\":\"1\"}}", -EINVAL },
		{ "{\"constants\":{}}", -EINVAL },
		{ BARS(BAR("0.5")), 0 },
		{ BARS(BAR("0.5") "," BAR("2")), 0 },
		{ BARS(BAR("0")), -EINVAL },
		{ BARS(BAR("3")), -EINVAL },
		{ BARS("{}"), -EINVAL },
		{ "{\"provenance\":\"p\",\"constants\":{},\"bars\":{}}", -EINVAL },
		{ "fill=1", -EINVAL },
	};
	char path[UNIT_TEMP];
	struct error err = { .outcome = OUTCOME_OK };
	struct model_constants constants;
	int fd = unit_file(path);

	CU_ASSERT_TRUE_FATAL(fd >= 0);
	fclose(fdopen(fd, "w"));
	UNIT_ROWS(row, files) {
		FILE *out = fopen(path, "w");

		fputs(row->text, out);
		fclose(out);
		UNIT_ALL(model_load_constants(&constants, path, &err) == row->rc,
			 constants.fitted == (row->rc == 0),
			 (strncmp(constants.origin, "fitted (test_model.", 19) == 0) ==
				 (row->rc == 0));
	}
	remove(path);
	UNIT_ALL(model_load_constants(&constants, path, &err) == -ENOENT,
		 model_load_constants(&constants, "", &err) == 0,
		 !strcmp(constants.origin, "physical only (asked for)"), !constants.fitted);
	CU_ASSERT_DOUBLE_EQUAL(constants.fill, 1, 0);
}

/* A bar is of a class of machine and sizes. Between nodes no lower end is above like clusters' spread. */
UNIT_TEST(test_bars, "error bars")
{
	static const struct {
		const char *spec, *name;
		int gpus, nodes, live;
		double low; /* of the bar's .95 */
	} rows[] = {
		{ "hgx-h200", "node-hopper", 8, 1, 0, .95 },
		{ "hgx-h200", "node-hopper-live", 8, 1, 1, .95 },
		{ "hgx-h200", "two-hopper", 2, 1, 0, .95 },
		{ "dgx-b200", "node-blackwell", 8, 1, 0, .95 },
		{ "dgx-a100", "node-older", 8, 1, 0, .95 },
		{ "dgx-h100", "network-hopper", 8, 2, 0, .9 },
		{ "dgx-a100", "network-other", 8, 3, 0, .84 },
		{ "gh200-quad", "network-slingshot", 4, 2, 0, .9 },
		{ "aws-p5", "network-efa", 8, 2, 0, .9 },
		{ "gcp-a3-mega", "network-tcp", 8, 2, 0, .9 },
		{ "tcp-10g", "network-tcp", 1, 2, 0, .9 },
		{ "l40s-8", "network-pcie", 8, 2, 0, .9 },
		{ "l40s-8", "node-pcie", 8, 1, 0, .95 },
		{ "geforce-4090", "node-geforce", 8, 1, 0, .95 },
		{ "geforce-4090", "node-geforce", 8, 2, 0, .9 },
		{ "mi300x-8", "own-gpu", 8, 1, 0, .95 },
		{ "gb200-nvl72", "rack", 72, 1, 0, .95 },
		{ "gb200-nvl72", "rack", 72, 2, 0, .9 },
	};
	struct prediction p;

	UNIT_ROWS(row, rows) {
		struct model_bar *bar = model.constants.bar;

		machine_model(row->spec, row->gpus, row->nodes, true);
		model.constants.nbars = 1;
		model.constants.calibrated = row->live;
		*bar = (struct model_bar){ "", 1, 9, 2, .95, 1.5, 0, 0 };
		snprintf(bar->name, sizeof(bar->name), "%s", row->name);
		for (int size = 19; size <= 27; size += 4) {
			machine_point(MODEL_ALL_GATHER, 1 << size, -1, -1, &p);
			CU_ASSERT_EQUAL(p.bar != NULL, size == 23);
			UNIT_ALL(p.bar == NULL || fabs(p.low_busbw - p.busbw * row->low) <= 1e-9,
				 p.bar == NULL ? isnan(p.high_busbw) : p.high_busbw > p.busbw);
		}
	}
}
