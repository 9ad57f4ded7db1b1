/* test_topo.c: machine specs, what their links add up to, and what a user may change about them. */
#include "topo/topo.h"

#include <jansson.h>

#include "base/parse.h"
#include "rig/unit.h"

static struct topo_system sys;

static int load(const char *name)
{
	struct error err = { .outcome = OUTCOME_OK };
	int rc = topo_load(&sys, name, &err);

	if (rc != 0)
		printf("%s\n", err.text);
	return rc;
}

/* Links worked out by hand from each machine's description. */
UNIT_TEST(test_each_spec, "each spec")
{
	static const struct {
		const char *name;
		int gpus, nics, links;
		double gbps, pcie;
	} specs[] = {
		{ "dgx-v100", 8, 4, 6, 100, 12 },	 { "dgx2", 16, 8, 6, 100, 12 },
		{ "dgx-a100", 8, 8, 12, 200, 24 },	 { "dgx-h100", 8, 8, 18, 400, 48 },
		{ "hgx-h200", 8, 8, 18, 400, 48 },	 { "dgx-b200", 8, 8, 18, 400, 48 },
		{ "gb200-nvl72", 72, 72, 18, 400, 48 },	 { "gb200-tray", 4, 4, 18, 400, 48 },
		{ "gh200-quad", 4, 4, 18, 200, 48 },	 { "a100-pcie-bridged", 4, 1, 0, 200, 24 },
		{ "pcie-gen4-8gpu", 8, 2, 0, 200, 24 },	 { "geforce-4090", 8, 1, 0, 100, 24 },
		{ "tcp-10g", 1, 1, 0, 10, 12 },		 { "tcp-25g", 1, 1, 0, 25, 12 },
		{ "tcp-100g", 1, 1, 0, 100, 24 },	 { "aws-p4d", 8, 4, 12, 100, 24 },
		{ "aws-p5", 8, 32, 18, 100, 48 },	 { "gcp-a3-high", 8, 4, 18, 200, 48 },
		{ "gcp-a3-mega", 8, 8, 18, 200, 48 },	 { "mi300x-8", 8, 8, 7, 400, 48 },
		{ "dgx-spark", 1, 2, 0, 200, 12 },	 { "l40s-8", 8, 2, 0, 200, 24 },
		{ "rtx-pro-6000-8", 8, 4, 0, 400, 48 },	 { "gb300-tray", 4, 4, 18, 800, 96 },
		{ "azure-nd-gb200", 4, 4, 18, 400, 48 }, { "aws-p6e-gb200", 4, 4, 18, 400, 48 },
		{ "dgx-b300", 8, 8, 18, 800, 96 },	 { "gcp-a4", 8, 8, 18, 400, 48 },
		{ "aws-p6-b200", 8, 8, 18, 400, 48 },
	};
	struct error err = { .outcome = OUTCOME_OK };
	FILE *null = fopen("/dev/null", "w");

	CU_ASSERT_EQUAL(topo_list_specs(null, &err), LENGTH(specs));
	fclose(null);
	UNIT_ROWS(row, specs) {
		CU_ASSERT_EQUAL_FATAL(load(row->name), 0);
		UNIT_ALL(!strcmp(sys.name, row->name), strlen(sys.source) > 0,
			 sys.ngpus == row->gpus, sys.nnics == row->nics);
		CU_ASSERT_DOUBLE_EQUAL(sys.nic[0].gbs * 8, row->gbps, 1e-9);
		CU_ASSERT_DOUBLE_EQUAL(sys.gpu[0].pcie_gbs, row->pcie, 1e-9);
		CU_ASSERT_EQUAL(topo_ring_links(&sys), row->links);
	}
}

/* The cube mesh: GPU 0 has two links to 3 and 4, one to 1 and 2, none to the rest. */
UNIT_TEST(test_pairs, "pairs")
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
UNIT_TEST(test_mesh, "mesh")
{
	memset(&sys, 0, sizeof(sys));
	sys.ngpus = 4;
	for (int i = 0; i < 4; i++)
		sys.gpu[i].links[(i + 1) % 4] = sys.gpu[(i + 1) % 4].links[i] = 1;
	CU_ASSERT_EQUAL(topo_ring_links(&sys), 2);
	sys.gpu[3].links[0] = sys.gpu[0].links[3] = 0;
	CU_ASSERT_EQUAL(topo_ring_links(&sys), 0);
}

UNIT_TEST(test_unknown_names, "unknown names")
{
	struct error err = { .outcome = OUTCOME_OK };

	UNIT_ALL(topo_load(&sys, "dgx-9000", &err) == -ENOENT, err.outcome == OUTCOME_USAGE,
		 strstr(err.text, "dgx-9000") != NULL, strstr(err.text, "hgx-h200") != NULL,
		 topo_gpu_model("Voodoo 2") == NULL, topo_gpu_model("NVIDIA H100 NVL")->links == 12,
		 !strcmp(topo_gpu_model("NVIDIA H200")->name, "H200"),
		 !strcmp(topo_gpu_model("NVIDIA A100-SXM4-80GB")->name, "A100"),
		 topo_gpu_model("my T4 or A100") == NULL, topo_gpu_model("A100 or T4") == NULL,
		 topo_gpu_model("AMD MI300X like A100") == NULL, topo_gpu_model("A1000") == NULL,
		 !strcmp(topo_gpu_model("NVIDIA GeForce RTX 4090 D")->name, "4090"),
		 !strcmp(topo_gpu_model("NVIDIA H100 80GB HBM3 MIG 1g.10gb")->name, "H100"),
		 !strcmp(topo_gpu_model("Tesla V100-SXM2-16GB")->name, "V100"),
		 !strcmp(topo_gpu_model("NVIDIA RTX A6000")->name, "A6000"),
		 !strcmp(topo_gpu_model("NVIDIA RTX PRO 6000 Blackwell Server Edition")->name,
			 "RTX PRO 6000"),
		 !strcmp(topo_gpu_model("h200")->name, "H200"), topo_gpu_model_sm(90)->sm == 90,
		 topo_gpu_model_sm(52) == NULL);
	UNIT_ALL(names_find("a|bc", "b") == -1, names_find("a|bc", "bc") == 1,
		 names_find("a|bc", "") == -1);
}

static const struct {
	const char *change, *says;
} bad_specs[] = {
	{ "{\"describes\":null}", "describes" },
	{ "{\"gpu\":\"Z9\"}", "gpu 'Z9' is not P100, V100" },
	{ "{\"gpus\":-8}", "gpus must be 1 to 128 for H100, not -8" },
	{ "{\"gpus\":4294967300}", "gpus must be 1 to 128 for H100, not 4.29497e+09" },
	{ "{\"nics\":4294967297}", "nics must be 0 to 256" },
	{ "{\"nvlink\":\"string\"}", "'string' is not switch|pairs|mesh|none" },
	{ "{\"color\":1}", "color" },
	{ "{\"gpu\":\"4090\",\"links\":4}", "links must be 0 to 0 for 4090, not 4" },
	{ "{\"links\":19}", "links must be 0 to 18 for H100, not 19" },
	{ "{\"gpu\":\"T4\"}", "nvlink is none, as T4 has no link" },
	{ "{\"pcie_width\":3}", "pcie_width is 1, 2, 4, 8 or 16, not 3" },
	{ "{\"pcie_width\":32}", "pcie_width must be 1 to 16" },
	{ "{\"gpus_per_switch\":16}", "gpus_per_switch must be 0 to 4 for H100, not 16" },
	{ "{\"nvlink\":\"mesh\",\"mesh\":[[0,4,0,0],[4,0,0,0],[0,0,0,0],[0,0,0,0]]}",
	  "has no ring through all GPUs" },
	{ "{\"gpu\":{\"name\":\"X\"}}", "gpu: Object item not found: sm" },
	{ "{\"gpu\":7}", "gpu is a name, or an object" },
	{ "{\"gpu\":{\"name\":\"X\",\"sm\":90,\"links\":4}}", "gpu needs a name" },
	{ "{\"gpu\":{\"name\":\"X\",\"sm\":90,\"links\":4,\"link_gbs\":50,\"color\":1}}", "color" },
	{ "{\"net_hop_us\":-1.5}", "net_hop_us must be 0 to 1e+06" },
	{ "{\"nics\":2,\"nic_gbps\":100,\"nic_gpus\":[0,4]}",
	  "nic_gpus names a GPU, from 0, for each NIC" },
	{ "{\"gpu\":\"H100 NVL\",\"links\":18}", "0 to 12 for H100 NVL, not 18" },
	{ "{\"nvlink\":\"mesh\"}", "mesh row 0 is none of 4" },
	{ "{\"nvlink\":\"mesh\",\"mesh\":[[0,1],[1,0]]}", "mesh row 0 is none of 4" },
	{ "{\"gpus\":2,\"nvlink\":\"mesh\",\"mesh\":[[0,1],[1,0],[1,1]]}", "mesh row 0" },
	{ "{\"gpus\":2,\"nvlink\":\"mesh\",\"mesh\":[[0,99],[99,0]]}", "mesh row 0" },
	{ "{\"gpus\":2,\"nvlink\":\"mesh\",\"mesh\":[[0,\"1\"],[1,0]]}", "mesh row 0" },
	{ "{\"gpus\":2,\"nvlink\":\"mesh\",\"mesh\":[[0,4],[2,0]]}", "the same both ways" },
	{ "{\"gpus\":3,\"nvlink\":\"mesh\",\"mesh\":[[0,9,10],[9,0,0],[10,0,0]]}",
	  "at most 18 in all" },
	{ "{\"fabric\":\"rails\"}", "fabric 'rails' is not rail|fat-tree" },
	{ "{\"p2p\":\"shm\"}", "p2p 'shm' is not pcie|none" },
	{ "{\"cpu\":\"abacus\"}", "cpu 'abacus'" },
	{ "{\"transport\":\"pigeon\"}", "transport 'pigeon'" },
	{ "{\"leaf_nodes\":0}", "leaf_nodes must be 1 to 1e+06 for H100, not 0" },
	{ "{\"domain\":-1}", "domain must be 0 to 128" },
	{ "{\"oversubscription\":0.5}", "oversubscription must be 1 to 1000" },
	{ "{\"nics\":1}", "nic_gbps must be 0.001 to 1e+06 for H100, not 0" },
	{ "{\"nics\":1,\"nic_gbps\":1e-300}", "for H100, not 1e-300" },
	{ "{\"name\":\"a\\nb\"}", "name 'a?b' is not" },
	{ "{\"name\":\"a,b\"}", "name 'a,b' is not" },
	{ "{\"name\":\"a\\u001b[2J\"}", "name 'a?[2J' is not" },
	{ "{\"name\":\"\"}", "name '' is not 1 to 63" },
	{ "{\"source\":\"a\\nb\"}", "is not one line" },
	{ "{\"gpus\":1,\"pcie_gen\":9}", "pcie_gen must be 1 to 8" },
};

/* Four H100 behind a switch with what is said replaced (null: left out); the error names both. */
UNIT_TEST(test_bad_specs, "bad specs")
{
	static const char base[] = "{\"name\":\"x\",\"describes\":\"x\",\"source\":\"x\","
				   "\"gpu\":\"H100\",\"gpus\":4,\"nvlink\":\"switch\","
				   "\"pcie_gen\":5}";
	char path[UNIT_TEMP];
	int fd = unit_file(path);

	CU_ASSERT_TRUE_FATAL(fd >= 0);
	close(fd);
	for (size_t i = 0; i < LENGTH(bad_specs); i++) {
		struct error err = { .outcome = OUTCOME_OK };
		json_t *json = json_loads(base, 0, NULL),
		       *change = json_loads(bad_specs[i].change, 0, NULL), *value;
		const char *key;

		CU_ASSERT_EQUAL_FATAL(json_object_update(json, change), 0);
		json_object_foreach(change, key, value) if (json_is_null(value))
			json_object_del(json, key);
		UNIT_ALL(json_dump_file(json, path, 0) == 0, topo_load(&sys, path, &err) == -EINVAL,
			 err.outcome == OUTCOME_USAGE, strncmp(err.text, path, strlen(path)) == 0,
			 strstr(err.text, bad_specs[i].says) != NULL);
		if (strstr(err.text, bad_specs[i].says) == NULL)
			printf("%zu: %s\n", i, err.text);
		json_decref(json);
		json_decref(change);
	}
	remove(path);
}

UNIT_TEST(test_reshape, "reshape")
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

/* Trays by what NVLink joins: racks, and GPUs and NICs of the smallest; a second reshape changes nothing. */
UNIT_TEST(test_domains, "NVLink domains")
{
	static const struct {
		const char *spec;
		int nodes, domain, gpus, racks, joined, nics, ranks;
		const char *says;
	} rows[] = {
		{ "gb200-tray", 1, 0, 0, 1, 4, 4, 0, NULL },
		{ "gb200-tray", 18, 0, 0, 1, 72, 72, 72, NULL },
		{ "gb200-tray", 19, 0, 0, 2, 36, 36, 76, NULL },
		{ "gb200-tray", 36, 12, 2, 3, 24, 48, 72, NULL },
		{ "gb200-tray", 36, 1, 0, 36, 4, 4, 0, NULL },
		{ "gb200-tray", 64, 64, 0, 0, 0, 0, 0,
		  "domain of 64 nodes has more than 128 GPUs" },
		{ "pcie-gen4-8gpu", 2, 2, 0, 0, 0, 0, 0, "no NVSwitch joins its nodes" },
		{ "dgx-h100", 4, 4, 0, 1, 32, 32, 32, NULL },
	};

	UNIT_ROWS(row, rows) {
		struct error err = { .outcome = OUTCOME_OK };
		struct topo_change change = { .nnodes = row->nodes,
					      .domain = row->domain,
					      .gpus = row->gpus },
				   same = { 0 };
		int rc = load(row->spec);

		rc = rc == 0 ? topo_reshape(&sys, &change, &err) : rc;
		UNIT_ALL((rc == 0) == !row->says,
			 !row->says || strstr(err.text, row->says) != NULL);
		if (rc != 0)
			continue;
		for (int twice = 0; twice < 2; twice++) {
			UNIT_ALL(sys.nnodes == row->racks, sys.ngpus == row->joined,
				 sys.nnics == row->nics, sys.nranks == row->ranks,
				 sys.gpu[sys.ngpus - 1].switch_links == 18);
			CU_ASSERT_EQUAL(topo_reshape(&sys, &same, &err), 0);
		}
	}
}

/* NCCL: width * speed / 80: generation 4 x16 is 24 GB/s, x8 half of it. */
UNIT_TEST(test_rates, "PCIe and CPU rates")
{
	UNIT_ALL(fabs(topo_pcie_gbs(3, 16) - 12) <= 1e-9, fabs(topo_pcie_gbs(4, 16) - 24) <= 1e-9,
		 fabs(topo_pcie_gbs(5, 8) - 24) <= 1e-9, fabs(topo_cpu_link("amd") - 16) <= 1e-9,
		 fabs(topo_cpu_link("amd-milan") - 24) <= 1e-9,
		 fabs(topo_cpu_link("abacus") - 0) <= 1e-9);
}
