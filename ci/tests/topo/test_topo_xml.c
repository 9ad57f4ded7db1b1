/* test_topo_xml.c: NCCL's topology files, real and hostile. */
#include "topo/topo.h"

#include "rig/unit.h"

static struct topo_system sys;
static char says[sizeof(((struct error *)0)->text)]; /* why it was refused */

static int parse(const char *text)
{
	struct error err = { .outcome = OUTCOME_OK };
	int rc = topo_parse_xml(&sys, text, strlen(text), "topology", &err);

	if (rc == 0)
		rc = topo_check(&sys, &err);
	snprintf(says, sizeof(says), "%s", rc != 0 ? err.text : "");
	return rc;
}

#define GPU(bus, dev, inside)                                                                      \
	"<pci busid=\"" bus                                                                        \
	"\" class=\"0x030200\" link_speed=\"32.0 GT/s PCIe\" link_width=\"16\">"                   \
	"<gpu dev=\"" dev "\" sm=\"90\" rank=\"" dev "\" gdr=\"1\">" inside "</gpu></pci>"
#define SWITCH "<nvlink target=\"fffffff:ff:ff.0\" count=\"18\" tclass=\"0x068000\"/>"
#define CPU(inside)                                                                                \
	"<system version=\"1\"><cpu numaid=\"0\" arch=\"x86_64\" vendor=\"GenuineIntel\" "         \
	"modelid=\"207\">" inside "</cpu></system>"

/* Two H100 behind a switch and a slower PCIe bridge, one 400 Gb/s NIC. */
UNIT_TEST(test_nvswitch, "NVSwitch, bridge and NIC")
{
	UNIT_ALL(parse(CPU("<pci busid=\"0000:01:00.0\" link_speed=\"16.0 GT/s PCIe\" "
			   "link_width=\"8\">" GPU("0000:02:00.0", "0", SWITCH)
				   GPU("0000:03:00.0", "1",
				       SWITCH) "</pci>"
					       "<pci busid=\"0000:04:00.0\" link_speed=\"32.0 "
					       "GT/s PCIe\" link_width=\"16\"><nic>"
					       "<net name=\"mlx5_0\" speed=\"400000\" "
					       "port=\"1\" gdr=\"1\"/></nic></pci>")) == 0,
		 sys.ngpus == 2, topo_ring_links(&sys) == 18);
	CU_ASSERT_DOUBLE_EQUAL(sys.gpu[0].pcie_gbs, 12,
			       1e-9); /* generation 4 x8 above generation 5 x16 */
	UNIT_ALL(sys.gpu[1].pci_switch == 0, sys.gpu[1].bus == 0x3000, sys.gpu[1].nabove == 1,
		 sys.gpu[1].above[0] == 0, sys.numa[sys.gpu[1].cpu] == 0, sys.nnics == 1,
		 !strcmp(sys.nic[0].name, "mlx5_0"), fabs(sys.nic[0].gbs - 50) <= 1e-9,
		 fabs(sys.nic[0].pcie_gbs - 48) <= 1e-9, fabs(sys.cpu_link_gbs - 40) <= 1e-9,
		 sys.nvls);
}

/* AMD's generations, as NCCL 2.28 writes families (base + (extended << 4)) and as they are. */
UNIT_TEST(test_amd, "AMD")
{
	static const struct {
		const char *family;
		double gbs;
	} rows[] = { { "143", 16 }, { "175", 24 }, { "191", 32 },
		     { "23", 16 },  { "25", 24 },  { "26", 32 } };
	char text[600];

	UNIT_ROWS(row, rows) {
		snprintf(text, sizeof(text),
			 "<system><cpu arch=\"x86_64\" vendor=\"AuthenticAMD\" "
			 "familyid=\"%s\"><pci busid=\"1\">"
			 "<gpu dev=\"0\" sm=\"80\"/></pci></cpu></system>",
			 row->family);
		UNIT_ALL(parse(text) == 0, fabs(sys.cpu_link_gbs - row->gbs) <= 1e-9, sys.amd);
	}
}

/* GPU to GPU: links are found by bus id in any order; one to an absent GPU is left out. */
UNIT_TEST(test_direct_links, "direct links")
{
	UNIT_ALL(parse(CPU(GPU("0000:02:00.0", "0",
			       "<nvlink target=\"0000:03:00.0\" count=\"4\" tclass=\"0x030200\"/>"
			       "<nvlink target=\"0000:09:00.0\" count=\"4\" tclass=\"0x030200\"/>")
				   GPU("0000:03:00.0", "1",
				       "<nvlink target=\"0000:02:00.0\" count=\"4\" "
				       "tclass=\"0x030200\"/>"))) == 0,
		 topo_pair_links(&sys, 0, 1) == 4, topo_pair_links(&sys, 1, 0) == 4, !sys.nvls);
}

UNIT_TEST(test_hostile, "hostile files")
{
	static const struct {
		const char *text, *says;
	} cases[] = {
		{ "", "line 1" },
		{ "<system", "line 1" },
		{ "<system version=\"1\">", "no element found" },
		{ "<graphs version=\"1\"/>", "<system> was expected" },
		{ "<system/>", "no GPU" },
		{ "<!DOCTYPE a [<!ENTITY b \"bb\"><!ENTITY c \"&b;&b;\">]><system>&c;</system>",
		  "document type" },
		{ "<!DOCTYPE a SYSTEM \"file:///etc/passwd\"><system/>", "document type" },
		{ "<system>&undefined;</system>", "undefined entity" },
		{ "<system><gpu dev=\"0\" sm=\"90\"/></system>", "a gpu outside" },
		{ "<system><pci busid=\"0000:02:00.0\"/></system>", "a pci outside" },
		{ "<system><net speed=\"1\"/></system>", "a net outside" },
		{ CPU("<pci busid=\"zz\"><gpu sm=\"90\"/></pci>"), "without a busid" },
		{ CPU("<pci busid=\"12345678901234567\"/>"), "without a busid" },
		{ CPU("<pci/>"), "without a busid" },
		{ CPU("<pci busid=\"1\"><gpu dev=\"0\"/></pci>"), "from sm 60 on: P100" },
		{ CPU("<pci busid=\"1\"><gpu sm=\"90\"><nvlink target=\"x\"/></gpu></pci>"),
		  "without a target" },
		{ CPU("<pci busid=\"0000:01:00.0\"><pci busid=\"0000:01:00.0\"/></pci>"),
		  "lies below itself" },
		{ CPU(GPU("0000:02:00.0", "0", "") GPU("0000:02:00.0", "1", "")), "appears twice" },
		{ CPU(GPU("0000:02:00.0", "0",
			  "<nvlink target=\"0000:03:00.0\" count=\"33\" tclass=\"0x030200\"/>")
			      GPU("0000:03:00.0", "1", "")),
		  "cannot be" },
		{ "<system><cpu numaid=\"0\"><pci busid=\"1\"><gpu "
		  "sm=\"90\"/></pci></cpu></system>",
		  "line 1: a cpu without arch: NCCL says" },
		{ CPU("<pci busid=\"1\" class=\"0x038000\" vendor=\"0x1002\" "
		      "device=\"0x740f\"><gpu sm=\"104\"/></pci>"),
		  "an AMD GPU: its library is RCCL" },
		{ CPU("<pci busid=\"1\"><gpu sm=\"94\" gcn=\"942\"/></pci>"), "an AMD GPU" },
		{ CPU("<pci busid=\"1\" class=\"0x030200\"/>"), "say it, as --gpu H100" },
		{ CPU(GPU("0000:02:00.0", "0", "<nvlink target=\"a\" count=\"-4\"/>")),
		  "count=\"-4\"" },
		{ CPU(GPU("0000:02:00.0", "0",
			  "<nvlink target=\"a\" count=\"99999999999999999999\"/>")),
		  "count" },
		{ CPU(GPU("0000:02:00.0", "0",
			  "<nvlink target=\"a\" count=\"64\"/><nvlink target=\"a\" count=\"1\"/>")),
		  "64 NVLinks" },
		{ CPU("<pci busid=\"1\" link_width=\"-1\"/>"), "link_width" },
		{ CPU("<pci busid=\"1\" link_speed=\"1e300 GT/s\"/>"), "link_speed" },
		{ CPU("<pci busid=\"1\"><gpu dev=\"0\" sm=\"35\"/></pci>"), "from sm 60 on: P100" },
		{ CPU("<pci busid=\"1\"><gpu dev=\"0\" sm=\"90x\"/></pci>"), "sm=\"90x\"" },
		{ CPU("<pci busid=\"1\"><gpu dev=\"0\" sm=\"89\">" SWITCH "</gpu></pci>"),
		  "no NVLink" },
		{ CPU("<pci busid=\"1\"><gpu dev=\"0\" sm=\"90\"/></pci><pci busid=\"2\"><gpu "
		      "dev=\"1\" sm=\"80\"/></pci>"),
		  "mixes" },
		{ CPU("<nic><net speed=\"-99999999999\"/></nic>"), "speed" },
	};
	for (size_t i = 0; i < LENGTH(cases); i++) {
		UNIT_ALL(parse(cases[i].text) == -EINVAL, strstr(says, cases[i].says) != NULL);
		if (strstr(says, cases[i].says) == NULL)
			printf("%zu: '%s' instead of '%s'\n", i, says, cases[i].says);
	}
}

/* Unknown GPUs are read all the same: their links need no model. */
UNIT_TEST(test_shape, "shape without models")
{
	static const char text[] = CPU("<pci busid=\"0000:0a:00.0\"><pci busid=\"0000:0b:00.0\">"
				       "<pci busid=\"0000:0c:00.0\"><gpu sm=\"35\"/></pci></pci>"
				       "<pci busid=\"0000:0d:00.0\"><gpu/></pci></pci>");
	struct error err = { .outcome = OUTCOME_OK };

	CU_ASSERT_EQUAL_FATAL(topo_parse_xml(&sys, text, strlen(text), "topology", &err), 0);
	UNIT_ALL(sys.ngpus == 2, sys.gpu[0].model == NULL, sys.gpu[0].nabove == 2,
		 sys.gpu[0].above[1] == 1, sys.gpu[1].nabove == 1, sys.gpu[1].bus == 0xd000,
		 topo_check(&sys, &err) == -EINVAL);
}

#define BRIDGE(bus, speed, inside)                                                                 \
	"<pci busid=\"" bus "\" class=\"0x060400\" link_speed=\"" speed                            \
	" GT/s PCIe\" link_width=\"16\">" inside "</pci>"
#define DEVICE(bus, class, device, inside)                                                         \
	"<pci busid=\"" bus                                                                        \
	"\" class=\"" class "\" vendor=\"0x10de\" device=\"" device                                \
			    "\" link_speed=\"32.0 GT/s PCIe\" link_width=\"16\">" inside "</pci>"
#define GPU90 "<gpu dev=\"0\" sm=\"90\" rank=\"0\" gdr=\"1\"/>"
#define NIC   "<nic><net name=\"mlx5_0\" dev=\"0\" speed=\"400000\" port=\"1\" gdr=\"1\"/></nic>"

/* A slow uplink is charged to what crosses it: from a GPU to a NIC below another bridge, not below the same one. */
UNIT_TEST(test_uplink, "a bridge's slow uplink")
{
	UNIT_ALL(parse(CPU(BRIDGE("1", "5.0",
				  BRIDGE("2", "32.0", DEVICE("3", "0x030200", "0x2330", GPU90))
					  BRIDGE("4", "16.0",
						 DEVICE("5", "0x020000", "0x1021", NIC))))) == 0,
		 fabs(sys.gpu[0].pcie_gbs - 6) <= 1e-9, fabs(sys.nic[0].pcie_gbs - 24) <= 1e-9);
	UNIT_ALL(parse(CPU(BRIDGE("1", "5.0", DEVICE("3", "0x030200", "0x2330", GPU90))
				   BRIDGE("4", "8.0", DEVICE("5", "0x020000", "0x1021", NIC)))) ==
			 0,
		 fabs(sys.nic[0].pcie_gbs - 12) <= 1e-9);
}

/* The device id says which GPU it is; GeForce has no P2P over PCIe; interfaces without a device are none. */
UNIT_TEST(test_devices, "devices")
{
	UNIT_ALL(parse(CPU(DEVICE("3", "0x030200", "0x2335", GPU90))) == 0,
		 !strcmp(sys.gpu[0].model->name, "H200"), !sys.by_sm, sys.p2p == TOPO_P2P_PCIE);
	UNIT_ALL(parse(CPU(DEVICE("3", "0x030200", "0xffff", GPU90))) == 0,
		 !strcmp(sys.gpu[0].model->name, "H100"), sys.by_sm, !sys.note[0]);
	/* another GPU of the 5090's compute capability may have P2P */
	UNIT_ALL(parse(CPU(DEVICE("3", "0x030200", "0xffff", "<gpu sm=\"120\"/>"))) == 0, sys.by_sm,
		 sys.p2p == TOPO_P2P_PCIE);
	UNIT_ALL(parse(CPU(DEVICE(
			 "3", "0x030000", "0x2684",
			 "<gpu sm=\"89\"/>") "<nic><net name=\"eth0\" speed=\"10000\"/><net "
					     "name=\"cali1\" speed=\"10000\"/>"
					     "<net name=\"br-7\" speed=\"10000\"/></nic>")) == 0,
		 sys.p2p == TOPO_P2P_NONE, sys.nnics == 1, strstr(sys.note, "br-7") != NULL);
	UNIT_ALL(parse(CPU(DEVICE("3", "0x030200", "0x2330",
				  "<gpu sm=\"90\"><nvlink target=\"3\" count=\"4\" "
				  "tclass=\"0x030200\"/></gpu>"))) == 0,
		 topo_pair_links(&sys, 0, 0) == 0, strstr(sys.note, "GPU 0 to itself") != NULL);
}

/* A vendor's file has bridges with devices alone. */
UNIT_TEST(test_template, "a file without GPUs")
{
	static const char text[] = "<system version=\"1\"><cpu numaid=\"0\" arch=\"x86_64\" "
				   "vendor=\"AuthenticAMD\" familyid=\"23\" modelid=\"49\">"
				   "<pci busid=\"f:1\" class=\"0x060400\" link_speed=\"32.0 GT/s "
				   "PCIe\" link_width=\"16\">"
				   "<pci busid=\"1\" class=\"0x030200\" link_speed=\"32.0 GT/s "
				   "PCIe\" link_width=\"16\"/>"
				   "<pci busid=\"2\" class=\"0x030200\" link_speed=\"32.0 GT/s "
				   "PCIe\" link_width=\"16\"/>"
				   "<pci busid=\"3\" class=\"0x020700\" link_speed=\"32.0 GT/s "
				   "PCIe\" link_width=\"16\"/>"
				   "</pci></cpu></system>";
	static const struct {
		struct topo_change change;
		const char *says; /* NULL: it can be predicted */
		int nnics;
	} rows[] = {
		{ { 0 }, "say it, as --gpu H100", 0 },
		{ { .gpu = "H1" }, "--gpu: 'H1' is not known, but P100", 1 },
		{ { .gpu = "H100" }, NULL, 0 },
		{ { .gpu = "H100", .nnodes = 2 }, "say --nic-gbps, as 400", 1 },
		{ { .gpu = "H100", .nnodes = 2, .nic_gbps = 400 }, NULL, 1 },
		{ { .gpu = "H100 PCIe" }, NULL, 0 },
	};

	UNIT_ROWS(row, rows) {
		struct error err = { .outcome = OUTCOME_OK };
		int rc = topo_parse_xml(&sys, text, strlen(text), "vendor.xml", &err);
		int links = row->change.gpu && !strcmp(row->change.gpu, "H100") ? 18 : 0;

		UNIT_ALL(rc == 0, sys.ngpus == 2, strstr(sys.note, "2 display devices") != NULL);
		rc = topo_reshape(&sys, &row->change, &err);
		UNIT_ALL((rc == 0) == !row->says, !row->says || strstr(err.text, row->says) != NULL,
			 sys.nnics == row->nnics, rc != 0 || sys.gpu[1].switch_links == links,
			 rc != 0 || fabs(sys.gpu[1].pcie_gbs - 48) < 1e-9);
	}
}

/* The table of nvidia-smi topo -m, with and without colours, NICs and enough columns. */
UNIT_TEST(test_smi, "nvidia-smi topo -m")
{
#define ROWS(nv)                                                                                   \
	"\t\033[4mGPU0\tGPU1\tGPU2\tmlx5_0\tCPU Affinity\tNUMA Affinity\033[0m\n"                  \
	"GPU0\t X \t" nv "\t" nv "\tPIX\t0-31,64-95\t0\tN/A\n"                                     \
	"GPU1\t" nv "\t X \t" nv "\tSYS\t32-63\t1\tN/A\n"                                          \
	"GPU2\t" nv "\t" nv "\t X \tSYS\t32-63\t1\tN/A\n"                                          \
	"mlx5_0\tPIX\tSYS\tSYS\t X \n\nLegend:\n\n  X    = Self\n"
	static const struct {
		const char *text, *gpu, *says;
		int switched, direct;
	} rows[] = {
		{ ROWS("NV18"), "H100", NULL, 18, 0 },
		{ ROWS("NV12"), "A100", NULL, 12, 0 },
		{ ROWS("NV4"), "A100", NULL, 0, 4 },
		{ ROWS("SYS"), "L40S", NULL, 0, 0 },
		{ ROWS("NV18"), "A100", "18 NVLinks between two GPUs, and the A100 has 12", 0, 0 },
		{ ROWS("NV18"), NULL, "say it, as --gpu H100", 0, 0 },
		{ "        GPU0    GPU1    CPU Affinity\nGPU0     X      PHB     0-7\nGPU1    PHB  "
		  "    X      0-7\n",
		  "4090", NULL, 0, 0 },
		{ "\tGPU0\tGPU1\nGPU0\t X\n", "H100", "GPU0 does not have 2 columns", 0, 0 },
		{ "\tGPU0\tGPU1\nGPU0\t X\tNV99\nGPU1\tNV99\tX\n", "H100", "GPU0 does not have", 0,
		  0 },
		{ "\tGPU0\tGPU1\nGPU0\t X\tNV4\n", "A100", "2 GPUs, 1 rows", 0, 0 },
		{ "nvidia-smi: command not found", "A100", "no table of nvidia-smi topo -m", 0, 0 },
	};

	UNIT_ROWS(row, rows) {
		const struct topo_change change = { .gpu = row->gpu };
		struct error err = { .outcome = OUTCOME_OK };
		int rc = topo_parse_smi(&sys, row->text, "topo.txt", &err);

		rc = rc == 0 ? topo_reshape(&sys, &change, &err) : rc;
		UNIT_ALL((rc == 0) == !row->says,
			 !row->says || strstr(err.text, row->says) != NULL);
		if (rc != 0)
			continue;
		UNIT_ALL(sys.gpu[1].switch_links == row->switched,
			 sys.gpu[1].links[0] == row->direct, sys.nnics == 0,
			 sys.nvls == (row->switched == 18));
	}
	CU_ASSERT(topo_parse_smi(&sys, rows[0].text, "topo.txt",
				 &(struct error){ .outcome = OUTCOME_OK }) == 0 &&
		  sys.ncpus == 2 && sys.gpu[2].cpu == 1 && !strcmp(sys.nic[0].name, "mlx5_0"));
}

/* NCCL's file of hosts that NVLink joins: the first stands for all, whose bus ids are the same. */
UNIT_TEST(test_hosts, "hosts that NVLink joins")
{
#define HOST(hash, gpus)                                                                           \
	"<cpu host_hash=\"" hash "\" numaid=\"0\" arch=\"arm64\">" gpus                            \
	"<nic><net name=\"mlx5_0\" "                                                               \
	"speed=\"400000\" gdr=\"1\"/></nic></cpu>"
#define TWO_GPUS GPU("0000:02:00.0", "0", SWITCH) GPU("0000:03:00.0", "1", SWITCH)
	static const struct {
		const char *text;
		int domain, racks, gpus;
	} rows[] = {
		{ "<system version=\"1\">" HOST("0x1", TWO_GPUS) "</system>", 1, 4, 2 },
		{ "<system version=\"1\">" HOST("0x1", TWO_GPUS) HOST("0x2", TWO_GPUS)
			  HOST("0x1", "") HOST("0x2", "") "</system>",
		  2, 2, 4 },
		{ "<system version=\"1\">" HOST("0x9", TWO_GPUS) HOST("0x8", TWO_GPUS)
			  HOST("0x7", TWO_GPUS) HOST("0x6", TWO_GPUS) "</system>",
		  4, 1, 8 },
	};

	UNIT_ROWS(row, rows) {
		struct error err = { .outcome = OUTCOME_OK };
		struct topo_change four = { .nnodes = 4, .gpus = 2 };

		UNIT_ALL(parse(row->text) == 0, sys.domain == row->domain, sys.ngpus == 2);
		UNIT_ALL(topo_reshape(&sys, &four, &err) == 0, sys.nnodes == row->racks,
			 sys.ngpus == row->gpus);
	}
}

/* Many of one thing, and deep nesting: refused, not followed. */
UNIT_TEST(test_floods, "floods and nesting")
{
	static const struct {
		const char *open, *say;
		int times;
	} floods[] = {
		{ "<a>", "nested deeper", 100000 },
		{ "<cpu arch=\"x86_64\"/>", "more than 16 CPUs", 100 },
		{ "<cpu arch=\"x86_64\"><net speed=\"100\"/></cpu>", "more than", 100 },
	};
	char *text = malloc(1 << 20);

	CU_ASSERT_PTR_NOT_NULL_FATAL(text);
	UNIT_ROWS(row, floods) {
		size_t length = (size_t)sprintf(text, "<system>");

		for (int n = 0; n < row->times; n++)
			length += (size_t)sprintf(text + length, "%s", row->open);
		UNIT_ALL(parse(text) == -EINVAL, strstr(says, row->say) != NULL);
	}
	free(text);
}

UNIT_TEST(test_truncated, "truncated")
{
	const char *whole = CPU(GPU("0000:02:00.0", "0", SWITCH) GPU("0000:03:00.0", "1", SWITCH));
	struct error err;

	for (size_t size = 0; size < strlen(whole); size++) {
		err = (struct error){ .outcome = OUTCOME_OK };
		CU_ASSERT_EQUAL(topo_parse_xml(&sys, whole, size, "topology", &err), -EINVAL);
	}
	err = (struct error){ .outcome = OUTCOME_OK };
	CU_ASSERT_EQUAL(topo_parse_xml(&sys, whole, strlen(whole), "topology", &err), 0);
	CU_ASSERT_EQUAL(topo_read_xml(&sys, "/nowhere/topo.xml", &err), -ENOENT);
}
