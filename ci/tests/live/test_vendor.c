/* test_vendor.c: vendors' figures: the file, hostile ones, and which rows are about a GPU. */
#include "rig/unit.h"

#include "live/vendor.h"

static const char *const file = "common/predict/topo/vendor_specs.csv";
static char lines[2048];
static int nlines, stop_at;

static int keep(void *ctx, const char *text)
{
	size_t n = strlen(lines);

	snprintf(lines + n, sizeof(lines) - n, "%s\n", text);
	return ++nlines == stop_at ? -EPIPE : 0;
}

static int compare(const struct vendor_run *run, const char *path)
{
	struct error err = { .rank = -1 };

	lines[0] = '\0';
	nlines = 0;
	return vendor_run_lines(run, path, keep, NULL, &err);
}

#define HAS(text)   CU_ASSERT_PTR_NOT_NULL(strstr(lines, text))
#define LACKS(text) CU_ASSERT_PTR_NULL(strstr(lines, text))

/* Product names as CUDA gives them; items that stand for boards with such a GPU. */
UNIT_TEST(test_gpus, "rows of a GPU")
{
	static const struct {
		const char *device, *nvlink, *memory;
	} cases[] = {
		{ "NVIDIA H200", "450.00 GB/s per direction (H100/H200 SXM5: verified)",
		  "4800.00 GB/s of the GPU (H200 SXM: verified)" },
		{ "NVIDIA H200 NVL", "(H200 NVL (4-way bridge): NOT verified)", "H200 SXM" },
		{ "NVIDIA H100 80GB HBM3", "H100/H200 SXM5", "3350.00 GB/s" },
		{ "NVIDIA A100-SXM4-40GB", "(A100 SXM4: verified)", "1555.00 GB/s" },
		{ "NVIDIA GH200 480GB", "(GH200 (NVLink ports): verified)", "4000.00 GB/s" },
		{ "NVIDIA GB200", "B200/GB200/B300 SXM", "(GB200: verified)" },
		{ "NVIDIA A10G", "NVLink no row for this machine", "(A10G: verified)" },
		{ "NVIDIA A10", "RTX 4090 / L4 / L40S / A10 / T4", "(A10: NOT verified)" },
		{ "Tesla P100-SXM2-16GB", "(P100 SXM2: verified)", "732.00 GB/s" },
	};

	UNIT_ROWS(c, cases) {
		struct vendor_run run = { .device = c->device };

		UNIT_ALL(compare(&run, file) == 0, nlines >= 5);
		HAS(c->device);
		HAS(c->nvlink);
		HAS(c->memory);
		if (!strstr(lines, c->nvlink) || !strstr(lines, c->memory))
			printf("\n%s", lines);
	}
	LACKS("A10G");
	LACKS("A100");
}

UNIT_TEST(test_unknown, "unknown GPUs")
{
	static const char *const devices[] = {
		"AMD EPYC", "NVIDIA A1000", "", "NVIDIA RTX 2000", "NVIDIA H2000", "xH200", "%s%n"
	};

	for (size_t i = 0; i < LENGTH(devices); i++) {
		struct vendor_run run = { .device = devices[i] };

		UNIT_ALL(compare(&run, file) == 0, nlines == 1);
		HAS(devices[i]);
		HAS("known: P100, V100");
		HAS("5090");
	}
}

/* Four H200: 360 of 450 GB/s are 80 %. */
UNIT_TEST(test_shares, "shares of what was reached")
{
	static struct topo_system sys = { .ngpus = 1, .nnics = 1, .transport = TOPO_IB };
	struct vendor_run run = { .device = "NVIDIA H200", .sys = &sys };

	vendor_run_row(&run, 1024, 1.5, NAN);
	CU_ASSERT_EQUAL(run.predicted, 0);
	vendor_run_row(&run, 1 << 30, 360, 369);
	vendor_run_row(&run, 1 << 20, 100, 120);
	sys.gpu[0].pcie_gbs = topo_pcie_gbs(5, 16);
	sys.nic[0].gbs = 50;
	CU_ASSERT_EQUAL(compare(&run, file), 0);
	HAS("best busbw 360.00 GB/s at 1073741824 B, predicted 369.00 at 1073741824 B");
	HAS("NVLink   450.00 GB/s per direction, best busbw 80.0 % of it, predicted 82.0 %");
	HAS("PCIe      63.00 GB/s per direction, best busbw 571.4 % of it");
	HAS("NIC       50.00 GB/s per port, best busbw 720.0 % of it, predicted 738.0 % "
	    "(NDR / 400GbE: verified)");
	sys.nic[0].gbs = 25;
	sys.transport = TOPO_SLINGSHOT;
	sys.gpu[0].pcie_gbs = topo_pcie_gbs(3, 16);
	CU_ASSERT_EQUAL(compare(&run, file), 0);
	HAS("(HPE Slingshot-11 (Cassini): verified)");
	HAS("PCIe Gen3 x16: NOT verified");
	sys.nic[0].gbs = 1.25; /* 10 Gb/s */
	sys.gpu[0].pcie_gbs = 1;
	CU_ASSERT_EQUAL(compare(&run, file), 0);
	HAS("PCIe   no row for this machine");
	HAS("NIC    no row for this machine");
	run.sys = NULL;
	run.predicted = 0;
	CU_ASSERT_EQUAL(compare(&run, file), 0);
	HAS("PCIe   no row for this machine");
	LACKS("predicted");
}

UNIT_TEST(test_line_fails, "lines that cannot be put out")
{
	struct vendor_run run = { .device = "NVIDIA H200" };

	for (stop_at = 1; stop_at <= 5; stop_at++)
		UNIT_ALL(compare(&run, file) == -EPIPE, nlines == stop_at);
	stop_at = 0;
}

static int read_text(const char *text, size_t len)
{
	char path[UNIT_TEMP];
	struct vendor_run run = { .device = "NVIDIA H200" };
	int out = unit_file(path), rc;

	CU_ASSERT_TRUE_FATAL(out >= 0);
	CU_ASSERT_EQUAL(write(out, text, len), (ssize_t)len);
	close(out);
	rc = compare(&run, path);
	unlink(path);
	return rc;
}

#define HEAD "category,item,value,unit,source,verified,note\n"
#define LINK "nvlink_gpu_unidir,"

UNIT_TEST(test_hostile_files, "hostile files")
{
	static char wide[8192];
	static const struct {
		const char *text;
		int rc;
		const char *item;
	} cases[] = {
		{ "", -EINVAL, NULL },
		{ HEAD, -EINVAL, NULL },
		{ HEAD "a,b,c\n\n,,,\n", -EINVAL, NULL },
		{ HEAD LINK "H200,1,GB/s,s,yes,\r\n", 0,
		  "1.00 GB/s per direction (H200: verified)" },
		{ HEAD LINK "\"H200, with \"\"quotes\"\"\",1,GB/s,s,partly,n\n", 0,
		  "(H200, with \"quotes\": partly verified)" },
		{ HEAD "a,\"never closed,1,GB/s,s,yes,n\n" LINK "a H200,1,u,s,no,n", 0,
		  "(a H200: NOT verified)" },
		{ HEAD LINK "H200,1,u,s,yes,n,too,many\n", 0, "(H200: verified)" },
	};

	UNIT_ROWS(c, cases) {
		CU_ASSERT_EQUAL(read_text(c->text, strlen(c->text)), c->rc);
		if (c->item)
			HAS(c->item);
	}
	memset(wide, ',', sizeof(wide)); /* lines longer than the reader's */
	CU_ASSERT_EQUAL(read_text(wide, sizeof(wide)), 0);
	memset(wide, '"', sizeof(wide));
	CU_ASSERT_EQUAL(read_text(wide, sizeof(wide)), -EINVAL);
	memset(wide, 0, sizeof(wide));
	CU_ASSERT_EQUAL(read_text(wide, sizeof(wide)), -EINVAL);
}

UNIT_TEST(test_file, "the file")
{
	struct vendor_run run = { .device = "NVIDIA H200" };

	setenv("HANGAR_SPECS", "common/predict/topo/specs", 1);
	UNIT_ALL(compare(&run, NULL) == 0, nlines >= 5, compare(&run, "/nowhere.csv") == -ENOENT,
		 nlines == 1);
}
