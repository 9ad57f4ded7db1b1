/* topo.c: known GPUs, CPUs and transports, and the sum of a node's links. */
#include "topo/topo.h"

/* Raw rates: vendor_specs.csv (25 or 50 GB/s a link and direction; GA102: 14.0625). Rates of a
 * kernel's stores: NCCL 2.28 src/graph/topo.h, SMxx_NVLINK_BW. Longer names come first, as a
 * product name contains them. */
static const struct topo_gpu_model gpu_models[] = {
	{ "P100", 60, 4, 20, 18.0 },
	{ "V100", 70, 6, 25, 20.0 },
	{ "A800", 80, 8, 25, 20.0 },
	{ "A100", 80, 12, 25, 20.0 },
	{ "A30", 80, 4, 25, 20.0 },
	{ "H800", 90, 8, 25, 20.6 },
	{ "GH200", 90, 18, 25, 20.6 },
	{ "H100 NVL", 90, 12, 25, 20.6 }, /* PCIe cards: three bridges to one other */
	{ "H100 PCIe", 90, 12, 25, 20.6 },
	{ "H100", 90, 18, 25, 20.6 },
	{ "H200", 90, 18, 25, 20.6 },
	{ "H20", 90, 18, 25, 20.6 },
	{ "GB200", 100, 18, 50, 40.1 },
	{ "B200", 100, 18, 50, 40.1 },
	{ "GB300", 103, 18, 50, 40.1 },
	{ "B300", 103, 18, 50, 40.1 },
	{ "T4", 75, 0, 0, 0 },
	{ "A10G", 86, 0, 0, 0 },
	{ "A10", 86, 0, 0, 0 },
	{ "A40", 86, 4, 14.0625, 12.0 },
	{ "A6000", 86, 4, 14.0625, 12.0 },
	{ "3090", 86, 4, 14.0625, 12.0 },
	{ "2080 Ti", 75, 2, 25, 20.0 },
	{ "L40S", 89, 0, 0, 0 },
	{ "L4", 89, 0, 0, 0 },
	{ "4090", 89, 0, 0, 0 },
	{ "5090", 120, 0, 0, 0 },
};

/* NCCL 2.28 src/graph/topo.h: *_QPI_BW, AMD_BW, P9_BW, ARM_BW. amd is Zen 1 and 2 (Naples, Rome);
 * Zen 3 and 4 (Milan, Genoa) and 5 (Turin) as in NCCL commit 2f1c174 (quoted in nccl#2441); 2.28
 * takes 16 for all. */
static const struct {
	const char *name;
	double gbs;
} cpu_links[] = {
	{ "intel-broadwell", 6 }, { "intel-skylake", 10 }, { "intel-sapphire", 22 },
	{ "intel-emerald", 40 },  { "amd", 16 },	   { "amd-milan", 24 },
	{ "amd-turin", 32 },	  { "power9", 32 },	   { "grace", 6 },
	{ "zhaoxin", 6 },
};

const char *const topo_transports[TOPO_TRANSPORTS] = {
	[TOPO_IB] = "ib",   [TOPO_ROCE] = "roce",	    [TOPO_EFA] = "efa",
	[TOPO_TCP] = "tcp", [TOPO_SLINGSHOT] = "slingshot",
};

enum {
	NMODELS = sizeof(gpu_models) / sizeof(gpu_models[0]),
	NCPUS = sizeof(cpu_links) / sizeof(cpu_links[0])
};

const struct topo_gpu_model *topo_gpu_model(const char *name)
{
	for (int i = 0; i < NMODELS; i++)
		if (strcasecmp(name, gpu_models[i].name) == 0)
			return &gpu_models[i];
	for (int i = 0; i < NMODELS; i++)
		if (strstr(name, gpu_models[i].name) != NULL)
			return &gpu_models[i];
	return NULL;
}

const struct topo_gpu_model *topo_gpu_model_sm(int sm)
{
	static const struct {
		int from;
		const char *name;
	} by_sm[] = { { 120, "5090" },	 { 100, "B200" }, { 90, "H100" },
		      { 89, "L40S" },	 { 86, "A6000" }, { 80, "A100" },
		      { 75, "2080 Ti" }, { 70, "V100" },  { 60, "P100" } };

	for (size_t i = 0; i < sizeof(by_sm) / sizeof(by_sm[0]); i++)
		if (sm >= by_sm[i].from)
			return topo_gpu_model(by_sm[i].name);
	return NULL;
}

void topo_gpu_names(char *text, size_t size)
{
	text[0] = '\0';
	for (int i = 0; i < NMODELS; i++)
		text_add(text, size, "%s%s", i ? ", " : "", gpu_models[i].name);
}

double topo_cpu_link(const char *cpu)
{
	for (int i = 0; i < NCPUS; i++)
		if (strcmp(cpu, cpu_links[i].name) == 0)
			return cpu_links[i].gbs;
	return 0;
}

/* NCCL counts 12 GB/s for generation 3 x16 (15.75 on the wire) and doubles per generation. */
double topo_pcie_gbs(int gen, int width)
{
	return ldexp(12, gen - 3) * width / 16;
}

int topo_pcie_gen(double gts)
{
	static const double speeds[] = { 2.5, 5, 8, 16, 32, 64 };
	int n = sizeof(speeds) / sizeof(speeds[0]);

	while (n > 0 && fabs(gts - speeds[n - 1]) >= .01)
		n--;
	return n;
}

/* Links between two GPUs of a mesh, both directions. */
static int mesh_links(const struct topo_system *sys, int a, int b)
{
	return (int)fmin(sys->gpu[a].links[b], sys->gpu[b].links[a]);
}

/* A ring and its reverse take two links of each GPU: as many pairs of them as the GPU with the
 * fewest links has room for, in a mesh that is connected. Exact for the meshes that are built. */
static int mesh_rings(const struct topo_system *sys)
{
	bool reached[TOPO_MAX_GPUS] = { true }, grown = true;
	int fewest = 1 << 20, n = 1;

	while (grown) {
		grown = false;
		for (int i = 0; i < sys->ngpus * sys->ngpus; i++) {
			int from = i / sys->ngpus, to = i % sys->ngpus;

			if (!reached[from] || reached[to] || mesh_links(sys, from, to) == 0)
				continue;
			reached[to] = grown = true;
			n++;
		}
	}
	for (int i = 0; i < sys->ngpus; i++) {
		int links = 0;

		for (int j = 0; j < sys->ngpus; j++)
			links += i == j ? 0 : mesh_links(sys, i, j);
		fewest = links < fewest ? links : fewest;
	}
	return n == sys->ngpus ? fewest / 2 * 2 : 0;
}

int topo_ring_links(const struct topo_system *sys)
{
	int min = 1 << 20;

	if (sys->ngpus < 2)
		return 0;
	if (sys->ngpus == 2)
		return topo_pair_links(sys, 0, 1);
	for (int i = 0; i < sys->ngpus; i++)
		min = (int)fmin(min, sys->gpu[i].switch_links);
	return min > 0 ? min : mesh_rings(sys);
}

int topo_pair_links(const struct topo_system *sys, int a, int b)
{
	int links = (int)fmin(sys->gpu[a].switch_links, sys->gpu[b].switch_links);

	return links > 0 ? links : sys->gpu[a].links[b];
}

/* ---- checking and changing ------------------------------------------------------------------- */
static bool sane(double gbs)
{
	return isfinite(gbs) && gbs > 0 && gbs < 1e6;
}

static bool has_nvlink(const struct topo_gpu *gpu)
{
	for (int i = 0; i < TOPO_MAX_GPUS; i++)
		if (gpu->links[i] > 0)
			return true;
	return gpu->switch_links > 0;
}

static int unknown_gpu(const struct topo_system *sys, int i, struct error *err)
{
	char known[320];

	topo_gpu_names(known, sizeof(known));
	return error_usage(err, "topology %s: no GPU like number %d is known; known from 60 on: %s",
			   sys->source, i, known);
}

int topo_check(const struct topo_system *sys, struct error *err)
{
	if (sys->ngpus < 1)
		return error_usage(err, "topology %s has no GPU", sys->name);
	if (sys->ngpus > TOPO_MAX_GPUS || sys->nnics > TOPO_MAX_NICS || sys->ncpus > TOPO_MAX_CPUS)
		return error_usage(err, "topology %s is too large", sys->name);
	for (int i = 0; i < sys->ngpus; i++) {
		if (sys->gpu[i].model == NULL)
			return unknown_gpu(sys, i, err);
		if (!sane(sys->gpu[i].pcie_gbs) || sys->gpu[i].cpu >= sys->ncpus)
			return error_usage(err, "topology %s: GPU %d has no usable PCIe link",
					   sys->name, i);
		if (sys->gpu[i].model != sys->gpu[0].model)
			return error_usage(
				err, "topology %s mixes %s and %s: GPUs of one kind are predicted",
				sys->name, sys->gpu[0].model->name, sys->gpu[i].model->name);
		if (sys->gpu[i].model->links == 0 && has_nvlink(&sys->gpu[i]))
			return error_usage(err, "topology %s: a GPU like %s has no NVLink",
					   sys->name, sys->gpu[i].model->name);
	}
	for (int i = 0; i < sys->nnics; i++)
		if (!(sys->nic[i].gbs * 8 >= TOPO_MIN_GBPS && sys->nic[i].gbs * 8 <= TOPO_MAX_GBPS))
			return error_usage(err, "topology %s: NIC %d of %g Gb/s is not %g to %g",
					   sys->name, i, sys->nic[i].gbs * 8, TOPO_MIN_GBPS,
					   TOPO_MAX_GBPS);
	if (!sane(sys->cpu_link_gbs) || !sane(sys->oversubscription))
		return error_usage(err, "topology %s: bandwidths must be positive", sys->name);
	return 0;
}

static int reshape_nics(struct topo_system *sys, const struct topo_change *change,
			struct error *err)
{
	struct topo_nic one = { .name = "nic", .pci_switch = -1 };

	if (change->nics > TOPO_MAX_NICS)
		return error_usage(err, "at most %d NICs", TOPO_MAX_NICS);
	if (change->nics > 0) {
		if (sys->nnics > 0)
			one = sys->nic[0];
		else if (change->nic_gbps <= 0)
			return error_usage(err, "%s has no NIC: say --nic-gbps too", sys->name);
		one.pcie_gbs = one.pcie_gbs > 0 ? one.pcie_gbs : sys->gpu[0].pcie_gbs;
		for (int i = 0; i < change->nics; i++)
			sys->nic[i] = one;
		sys->nnics = change->nics;
	}
	if (change->nic_gbps > 0)
		for (int i = 0; i < sys->nnics; i++)
			sys->nic[i].gbs = change->nic_gbps / 8;
	return 0;
}

int topo_reshape(struct topo_system *sys, const struct topo_change *change, struct error *err)
{
	int rc = reshape_nics(sys, change, err);

	if (rc != 0)
		return rc;
	if (change->gpus > sys->ngpus)
		return error_usage(err, "%s has %d GPUs a node, not %d", sys->name, sys->ngpus,
				   change->gpus);
	if (change->gpus > 0 && change->gpus < sys->ngpus && sys->pairs.nranks > 0)
		return error_usage(err, "%s was measured with %d ranks a node, not %d", sys->name,
				   sys->ngpus, change->gpus);
	if (change->gpus > 0)
		sys->ngpus = change->gpus;
	if (change->nnodes > 0)
		sys->nnodes = change->nnodes;
	sys->sharp |= change->sharp;
	if (change->nccl > 0)
		sys->nccl = change->nccl;
	if (change->oversubscription > 0)
		sys->oversubscription = change->oversubscription;
	if (change->leaf_nodes > 0)
		sys->leaf_nodes = change->leaf_nodes;
	sys->place = change->place;
	sys->seed = change->seed;
	if (change->fabric > 0)
		sys->fabric = (enum topo_fabric)(change->fabric - 1);
	if (change->transport > 0)
		sys->transport = (enum topo_transport)(change->transport - 1);
	if (sys->nnodes > 1 && sys->nnics == 0)
		return error_usage(err, "%s has no NIC: %d nodes need --nics and --nic-gbps",
				   sys->name, sys->nnodes);
	return topo_check(sys, err);
}
