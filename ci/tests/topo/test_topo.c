/* test_topo.c: machine specs, what their links add up to, and what a user may change about them. */
#include "topo/topo.h"

#include "rig/unit.h"

static struct topo_system sys;

static int load(const char *name)
{
	struct error err = { .outcome = OUTCOME_OK };
	int rc = topo_load_spec(&sys, name, &err);

	if (rc != 0)
		printf("%s\n", err.text);
	return rc;
}

/* Links worked out by hand from each machine's description. */
static void test_each_spec(void)
{
	static const struct {
		const char *name;
		int gpus, nics, links;
		double gbps, pcie;
	} specs[] = {
		{ "dgx-v100", 8, 4, 6, 100, 12 },
		{ "dgx2", 16, 8, 6, 100, 12 },
		{ "dgx-a100", 8, 8, 12, 200, 24 },
		{ "dgx-h100", 8, 8, 18, 400, 48 },
		{ "hgx-h200", 8, 8, 18, 400, 48 },
		{ "dgx-b200", 8, 8, 18, 400, 48 },
		{ "gb200-nvl72", 72, 72, 18, 400, 48 },
		{ "gh200-quad", 4, 4, 18, 200, 48 },
		{ "a100-pcie-bridged", 4, 1, 0, 200, 24 },
		{ "pcie-gen4-8gpu", 8, 2, 0, 200, 24 },
		{ "geforce-4090", 8, 1, 0, 100, 24 },
		{ "tcp-10g", 1, 1, 0, 10, 12 },
		{ "tcp-25g", 1, 1, 0, 25, 12 },
		{ "tcp-100g", 1, 1, 0, 100, 24 },
	};
	struct error err = { .outcome = OUTCOME_OK };
	FILE *null = fopen("/dev/null", "w");

	CU_ASSERT_EQUAL(topo_list_specs(null, &err), sizeof(specs) / sizeof(specs[0]));
	fclose(null);
	for (size_t i = 0; i < sizeof(specs) / sizeof(specs[0]); i++) {
		CU_ASSERT_EQUAL_FATAL(load(specs[i].name), 0);
		UNIT_ALL(!strcmp(sys.name, specs[i].name), strlen(sys.source) > 0,
			 sys.ngpus == specs[i].gpus, sys.nnics == specs[i].nics);
		CU_ASSERT_DOUBLE_EQUAL(sys.nic[0].gbs * 8, specs[i].gbps, 1e-9);
		CU_ASSERT_DOUBLE_EQUAL(sys.gpu[0].pcie_gbs, specs[i].pcie, 1e-9);
		CU_ASSERT_EQUAL(topo_ring_links(&sys), specs[i].links);
	}
}

/* The cube mesh: GPU 0 has two links to 3 and 4, one to 1 and 2, none to the rest. */
static void test_pairs(void)
{
	static const int expected[8] = { 0, 1, 1, 2, 2, 0, 0, 0 };

	CU_ASSERT_EQUAL_FATAL(load("dgx-v100"), 0);
	for (int i = 1; i < 8; i++)
		CU_ASSERT_EQUAL(topo_pair_links(&sys, 0, i), expected[i]);
	CU_ASSERT_EQUAL_FATAL(load("a100-pcie-bridged"), 0);
	UNIT_ALL(topo_pair_links(&sys, 2, 3) == 12, topo_pair_links(&sys, 1, 2) == 0);
	sys.ngpus = 2;
	CU_ASSERT_EQUAL(topo_ring_links(&sys), 12);
}

/* A square of four GPUs, one link a side: one cycle, two directions; a missing side leaves none. */
static void test_mesh(void)
{
	memset(&sys, 0, sizeof(sys));
	sys.ngpus = 4;
	for (int i = 0; i < 4; i++)
		sys.gpu[i].links[(i + 1) % 4] = sys.gpu[(i + 1) % 4].links[i] = 1;
	CU_ASSERT_EQUAL(topo_ring_links(&sys), 2);
	sys.gpu[3].links[0] = sys.gpu[0].links[3] = 0;
	CU_ASSERT_EQUAL(topo_ring_links(&sys), 0);
}

static void test_unknown_names(void)
{
	struct error err = { .outcome = OUTCOME_OK };

	UNIT_ALL(topo_load_spec(&sys, "dgx-9000", &err) == -ENOENT, err.outcome == OUTCOME_USAGE,
		 strstr(err.text, "dgx-9000") != NULL, strstr(err.text, "hgx-h200") != NULL,
		 topo_gpu_model("Voodoo 2") == NULL,
		 !strcmp(topo_gpu_model("NVIDIA H200")->name, "H200"),
		 !strcmp(topo_gpu_model("NVIDIA A100-SXM4-80GB")->name, "A100"),
		 topo_gpu_model_sm(90)->sm == 90, topo_gpu_model_sm(52) == NULL);
	CU_ASSERT(topo_transport_parse("pigeon") == -1);
}

/* A spec file with one line replaced must be refused, and the text must say what is wrong. */
static void test_bad_specs(void)
{
	static const struct {
		const char *text, *says;
	} specs[] = {
		{ "{", "end of file" },
		{ "[]", "Expected object" },
		{ "{\"name\":\"x\"}", "describes" },
		{ "{\"name\":\"x\",\"describes\":\"x\",\"source\":\"x\",\"gpu\":\"Z9\",\"gpus\":8,"
		  "\"nvlink\":\"switch\",\"pcie_gen\":4}",
		  "known: P100, V100" },
		{ "{\"name\":\"x\",\"describes\":\"x\",\"source\":\"x\",\"gpu\":\"H100\",\"gpus\":-"
		  "8,"
		  "\"nvlink\":\"switch\",\"pcie_gen\":4}",
		  "out of range" },
		{ "{\"name\":\"x\",\"describes\":\"x\",\"source\":\"x\",\"gpu\":\"H100\",\"gpus\":"
		  "8,"
		  "\"nvlink\":\"string\",\"pcie_gen\":4}",
		  "switch, pairs, mesh or none" },
		{ "{\"name\":\"x\",\"describes\":\"x\",\"source\":\"x\",\"gpu\":\"H100\",\"gpus\":"
		  "8,"
		  "\"nvlink\":\"switch\",\"pcie_gen\":4,\"color\":1}",
		  "color" },
		{ "{\"name\":\"x\",\"describes\":\"x\",\"source\":\"x\",\"gpu\":\"4090\",\"gpus\":"
		  "8,"
		  "\"nvlink\":\"switch\",\"links\":4,\"pcie_gen\":4}",
		  "no NVLink" },
		{ "{\"name\":\"x\",\"describes\":\"x\",\"source\":\"x\",\"gpu\":\"H100\",\"gpus\":"
		  "2,"
		  "\"nvlink\":\"mesh\",\"mesh\":[[0,99],[99,0]],\"pcie_gen\":4}",
		  "row" },
	};
	char path[UNIT_TEMP];
	int fd = unit_file(path);

	CU_ASSERT_TRUE_FATAL(fd >= 0);
	fclose(fdopen(fd, "w"));
	for (size_t i = 0; i < sizeof(specs) / sizeof(specs[0]); i++) {
		struct error err = { .outcome = OUTCOME_OK };
		FILE *out = fopen(path, "w");

		fputs(specs[i].text, out);
		fclose(out);
		CU_ASSERT_EQUAL(topo_load_spec(&sys, path, &err), -EINVAL);
		CU_ASSERT_PTR_NOT_NULL(strstr(err.text, specs[i].says));
		if (strstr(err.text, specs[i].says) == NULL)
			printf("%zu: %s\n", i, err.text);
	}
	remove(path);
}

static void test_reshape(void)
{
	struct error err = { .outcome = OUTCOME_OK };
	struct topo_change more = { .nnodes = 16,
				    .nics = 2,
				    .nic_gbps = 200,
				    .oversubscription = 4,
				    .fabric = 1 + TOPO_FAT_TREE };
	struct topo_change many = { .gpus = 9 }, two_nodes = { .nnodes = 2 };

	CU_ASSERT_EQUAL_FATAL(load("dgx-h100"), 0);
	UNIT_ALL(topo_reshape(&sys, &more, &err) == 0, sys.nnodes == 16, sys.nnics == 2);
	CU_ASSERT_DOUBLE_EQUAL(sys.nic[1].gbs, 25, 1e-9);
	UNIT_ALL(sys.fabric == TOPO_FAT_TREE, topo_reshape(&sys, &many, &err) == -EINVAL,
		 strstr(err.text, "8 GPUs a node, not 9") != NULL);
	sys.nnics = 0;
	err.outcome = OUTCOME_OK;
	CU_ASSERT_EQUAL(topo_reshape(&sys, &two_nodes, &err), -EINVAL);
	CU_ASSERT_PTR_NOT_NULL(strstr(err.text, "no NIC"));
}

/* NCCL: width * speed / 80: generation 4 x16 is 24 GB/s, x8 half of it. */
static void test_rates(void)
{
	UNIT_ALL(fabs(topo_pcie_gbs(3, 16) - 12) <= 1e-9, fabs(topo_pcie_gbs(4, 16) - 24) <= 1e-9,
		 fabs(topo_pcie_gbs(5, 8) - 24) <= 1e-9, fabs(topo_cpu_link("amd") - 16) <= 1e-9,
		 fabs(topo_cpu_link("amd-milan") - 24) <= 1e-9,
		 fabs(topo_cpu_link("abacus") - 0) <= 1e-9);
}

UNIT_MAIN("topo", { "each spec", test_each_spec }, { "pairs", test_pairs }, { "mesh", test_mesh },
	  { "unknown names", test_unknown_names }, { "bad specs", test_bad_specs },
	  { "reshape", test_reshape }, { "PCIe and CPU rates", test_rates })
