/* test_topo_xml.c: NCCL's topology files, real and hostile. */
#include "topo/topo.h"

#include "rig/unit.h"

static struct topo_system sys;
static char says[600]; /* why it was refused */

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
			 "<system><cpu vendor=\"AuthenticAMD\" familyid=\"%s\"><pci busid=\"1\">"
			 "<gpu dev=\"0\" sm=\"80\"/></pci></cpu></system>",
			 row->family);
		UNIT_ALL(parse(text) == 0, fabs(sys.cpu_link_gbs - row->gbs) <= 1e-9, sys.amd);
	}
}

/* GPU to GPU: links are found by bus id whatever the order; one to a GPU that the job lacks is left
 * out. */
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
		{ "<system version=\"1\"><cpu>", "no element found" },
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
		{ CPU("<pci busid=\"1\"><gpu dev=\"0\"/></pci>"), "known from 60 on: P100" },
		{ CPU("<pci busid=\"1\"><gpu sm=\"90\"><nvlink target=\"x\"/></gpu></pci>"),
		  "without a target" },
		{ CPU("<pci busid=\"0000:01:00.0\"><pci busid=\"0000:01:00.0\"/></pci>"),
		  "lies below itself" },
		{ CPU(GPU("0000:02:00.0", "0", "") GPU("0000:02:00.0", "1", "")), "appears twice" },
		{ CPU(GPU("0000:02:00.0", "0",
			  "<nvlink target=\"0000:02:00.0\" count=\"4\" tclass=\"0x030200\"/>")),
		  "cannot be" },
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
		{ CPU("<pci busid=\"1\"><gpu dev=\"0\" sm=\"35\"/></pci>"),
		  "known from 60 on: P100" },
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

/* Many of one thing, and deep nesting: refused, not followed. */
UNIT_TEST(test_floods, "floods and nesting")
{
	static const struct {
		const char *open, *say;
		int times;
	} floods[] = {
		{ "<a>", "nested deeper", 100000 },
		{ "<cpu/>", "more than 16 CPUs", 100 },
		{ "<cpu><net speed=\"100\"/></cpu>", "more than", 100 },
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

/* Every prefix of a good file is refused. */
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
