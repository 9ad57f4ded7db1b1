/* topo.c: known GPUs, CPUs and transports, and the sum of a node's links. */
#include "topo/topo.h"

#include <ctype.h>
#include <pthread.h>

#include "base/built_in.h"
#include "base/parse.h"

BUILT_IN(
	gpus_txt,
	"common/predict/topo/gpus.txt"); /* whole numbers: a program's locale may have a decimal comma */

enum { MOST_MODELS = 64 };

static struct gpu_row {
	struct topo_gpu_model model;
	char name[24], flags[4], ids[64];
} gpu_rows[MOST_MODELS];
static int ngpu_rows;

static void read_gpus(void)
{
	const char *line = gpus_txt;

	for (; ngpu_rows < MOST_MODELS && *line != '\0';
	     line += strcspn(line, "\n"), line += *line == '\n') {
		struct gpu_row *g = &gpu_rows[ngpu_rows];
		struct topo_gpu_model *m = &g->model;

		g->ids[0] = '\0';
		if (sscanf(line, "%23[^#|]| %d %d %lf %lf %3s%63[^\n]", g->name, &m->sm, &m->links,
			   &m->link_raw, &m->link_sm, g->flags, g->ids) < 6)
			continue;
		for (size_t n = strlen(g->name); n > 0 && g->name[n - 1] == ' ';)
			g->name[--n] = '\0';
		m->name = g->name;
		m->link_raw /= 1e3;
		m->link_sm /= 1e3;
		ngpu_rows++;
	}
}

/* How many there are. */
static int models(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, read_gpus);
	return ngpu_rows;
}

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
	[TOPO_IB] = "ib",	[TOPO_ROCE] = "roce",		[TOPO_EFA] = "efa",
	[TOPO_TCP] = "tcp",	[TOPO_SLINGSHOT] = "slingshot", [TOPO_TCPX] = "tcpx",
	[TOPO_TCPXO] = "tcpxo",
};

enum { NCPUS = sizeof(cpu_links) / sizeof(cpu_links[0]) };

/* True if a product name goes on as one: SXM4-40GB, 80GB HBM3, D; no words of a sentence. */
static bool goes_on(const char *rest)
{
	if (*rest != '\0' && *rest != ' ' && *rest != '-')
		return false;
	for (; *rest != '\0'; rest++)
		if (rest[0] == ' ' && islower((unsigned char)rest[1]))
			return false;
	return true;
}

const struct topo_gpu_model *topo_gpu_model(const char *name)
{
	static const char *const makers[] = { "NVIDIA ", "Tesla ", "Quadro ", "GeForce ", "RTX " };
	size_t skip;

	do {
		for (int i = 0; i < models(); i++) {
			size_t n = strlen(gpu_rows[i].name);

			if (strncasecmp(name, gpu_rows[i].name, n) == 0 && goes_on(name + n))
				return &gpu_rows[i].model;
		}
		skip = 0;
		for (size_t i = 0; skip == 0 && i < sizeof(makers) / sizeof(makers[0]); i++)
			if (strncmp(name, makers[i], strlen(makers[i])) == 0)
				skip = strlen(makers[i]);
		name += skip;
	} while (skip > 0);
	return NULL;
}

const struct topo_gpu_model *topo_gpu_model_sm(int sm)
{
	const struct topo_gpu_model *best = NULL;

	for (int i = 0; i < models(); i++)
		if (strchr(gpu_rows[i].flags, 'c') && gpu_rows[i].model.sm <= sm &&
		    (best == NULL || gpu_rows[i].model.sm > best->sm))
			best = &gpu_rows[i].model;
	return best;
}

/* An id that is missing falls back to the compute capability. */
const struct topo_gpu_model *topo_gpu_model_pci(int device)
{
	char id[8];

	snprintf(id, sizeof(id), " %04x", (unsigned)device & 0xffff);
	for (int i = 0; i < models(); i++)
		if (strstr(gpu_rows[i].ids, id))
			return &gpu_rows[i].model;
	return NULL;
}

bool topo_gpu_has_p2p(const struct topo_gpu_model *model)
{
	for (int i = 0; i < models(); i++)
		if (strcmp(gpu_rows[i].name, model->name) == 0)
			return strchr(gpu_rows[i].flags, 'n') == NULL;
	return true;
}

void topo_gpu_names(char *text, size_t size)
{
	text[0] = '\0';
	for (int i = 0; i < models(); i++)
		text_add(text, size, "%s%s", i ? ", " : "", gpu_rows[i].name);
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

int topo_mesh_links(const struct topo_system *sys)
{
	int fewest = 1 << 20;

	for (int i = 0; i < sys->ngpus; i++)
		for (int j = 0; j < sys->ngpus; j++)
			fewest = i == j ? fewest : (int)fmin(fewest, mesh_links(sys, i, j));
	return sys->ngpus > 2 ? fewest : 0;
}

/* A ring and its reverse take two links of each GPU: as many pairs of them as the GPU with the
 * fewest links has room for, in a mesh that is connected. Exact for the meshes that are built. Where each
 * GPU is linked to each other one, rings take all links (Tillson 1980; not of four and six GPUs). */
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
	if (topo_mesh_links(sys) > 0 && n != 4 && n != 6)
		return topo_mesh_links(sys) * (n - 1);
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

bool topo_gpu_has_nvlink(const struct topo_gpu *gpu)
{
	for (int i = 0; i < TOPO_MAX_GPUS; i++)
		if (gpu->links[i] > 0)
			return true;
	return gpu->switch_links > 0;
}

static int ungpu_rows_gpu(const struct topo_system *sys, int i, struct error *err)
{
	char known[320];

	topo_gpu_names(known, sizeof(known));
	return error_usage(err,
			   "topology %s: the kind of GPU %d is not known: say it, as --gpu H100 "
			   "(from sm 60 on: %s)",
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
			return ungpu_rows_gpu(sys, i, err);
		if (!sane(sys->gpu[i].pcie_gbs) || sys->gpu[i].cpu >= sys->ncpus)
			return error_usage(err, "topology %s: GPU %d has no usable PCIe link",
					   sys->name, i);
		if (sys->gpu[i].model != sys->gpu[0].model)
			return error_usage(
				err, "topology %s mixes %s and %s: GPUs of one kind are predicted",
				sys->name, sys->gpu[0].model->name, sys->gpu[i].model->name);
		if (sys->gpu[i].model->links == 0 && topo_gpu_has_nvlink(&sys->gpu[i]))
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
			one = sys->nic[0], one.gpu = 0;
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
	if (sys->nnics > 0 && sys->nic[0].gbs <= 0 && change->nnodes > 1)
		return error_usage(err,
				   "%s does not say how fast its NICs are: say --nic-gbps, as 400",
				   sys->source);
	while (sys->nnics > 0 && sys->nic[0].gbs <= 0) /* one node needs none */
		sys->nnics--;
	return 0;
}

/* The NVLinks between any two GPUs, if they are as many everywhere, else 0. */
static int equal_links(const struct topo_system *sys)
{
	int links = sys->gpu[0].links[1];

	for (int i = 0; i < sys->ngpus * sys->ngpus; i++)
		if (i / sys->ngpus != i % sys->ngpus &&
		    sys->gpu[i / sys->ngpus].links[i % sys->ngpus] != links)
			return 0;
	return links;
}

/* All GPUs are of that kind. More equal links between all than a GPU has go through NVSwitches, and so do all links of a GPU
 * from Hopper on. In a file without GPUs those that NVIDIA sells on boards with NVSwitches have all their links there. */
static int reshape_kind(struct topo_system *sys, const char *name, struct error *err)
{
	const struct topo_gpu_model *model = topo_gpu_model(name);
	bool board = model && model->links >= 8 && !strchr(model->name, ' ') && sys->ngpus > 1;
	int links = sys->ngpus > 1 && sys->gpu[0].model == NULL ? equal_links(sys) : 0;
	char known[320];

	topo_gpu_names(known, sizeof(known));
	if (model == NULL)
		return error_usage(err, "--gpu: '%s' is not known, but %s", name, known);
	if (links > model->links)
		return error_usage(err, "%s has %d NVLinks between two GPUs, and the %s has %d",
				   sys->source, links, model->name, model->links);
	if (links > 0)
		board = (sys->ngpus - 1) * links > model->links ||
			(board && model->sm >= 90 && links == model->links);
	board &= sys->gpu[0].model == NULL && (links > 0 || !topo_gpu_has_nvlink(&sys->gpu[0]));
	for (int i = 0; i < sys->ngpus; i++) {
		struct topo_gpu *gpu = &sys->gpu[i];
		double most = topo_pcie_gbs(model->sm >= 90 ? 5 : model->sm >= 80 ? 4 : 3, 16);

		gpu->model = model;
		if (gpu->pcie_gbs <= 0 || model->sm < 90) /* an older GPU in a newer slot */
			gpu->pcie_gbs = gpu->pcie_gbs > 0 ? fmin(gpu->pcie_gbs, most) : most;
		if (!board)
			continue;
		memset(gpu->links, 0, sizeof(gpu->links));
		gpu->switch_links = links > 0 ? links : model->links;
		sys->nvls = model->sm >= 90;
	}
	if (sys->cpu_link_gbs <= 0)
		sys->cpu_link_gbs =
			topo_cpu_link(model->sm >= 90 ? "intel-sapphire" : "intel-skylake");
	for (int i = 0; i < sys->nnics; i++)
		if (sys->nic[i].pcie_gbs <= 0)
			sys->nic[i].pcie_gbs = sys->gpu[0].pcie_gbs;
	if (!topo_gpu_has_p2p(model))
		sys->p2p = TOPO_P2P_NONE;
	sys->by_sm = false;
	return 0;
}

/* NCCL takes hosts that NVLink joins for one node (its MNNVL). Hosts are spread evenly over as few domains as hold them; where that
 * leaves a rest, the smallest domain is taken for all. */
static int join_hosts(struct topo_system *sys, struct error *err)
{
	int most = sys->domain, domains, each, gpus = sys->ngpus, full = sys->full_gpus,
	    nics = sys->nnics;

	if (most < 2 || sys->nnodes == 1)
		return 0;
	if (sys->gpu[0].switch_links == 0)
		return error_usage(err, "%s: no NVSwitch joins its nodes", sys->name);
	domains = (sys->nnodes + most - 1) / most;
	each = sys->nnodes / domains;
	if ((int64_t)each * full > TOPO_MAX_GPUS || (int64_t)each * nics > TOPO_MAX_NICS)
		return error_usage(
			err, "%s: an NVLink domain of %d nodes has more than %d GPUs or %d NICs",
			sys->name, each, TOPO_MAX_GPUS, TOPO_MAX_NICS);
	sys->domain = 0;
	sys->hosts = sys->nnodes;
	sys->nranks = sys->nnodes * gpus;
	sys->nnodes = domains;
	sys->ngpus *= each;
	sys->full_gpus *= each;
	sys->nnics *= each;
	sys->leaf_nodes = sys->leaf_nodes > each ? sys->leaf_nodes / each : 1;
	for (int i = gpus; i < sys->ngpus; i++)
		sys->gpu[i] = sys->gpu[i % gpus];
	for (int i = nics; i < sys->nnics; i++) {
		sys->nic[i] = sys->nic[i % nics];
		sys->nic[i].gpu += sys->nic[i].gpu > 0 ? i / nics * gpus : 0;
	}
	return 0;
}

/* A change where it says something, else the value that there was. */
#define TAKE(field) sys->field = change->field > 0 ? change->field : sys->field

int topo_reshape(struct topo_system *sys, const struct topo_change *change, struct error *err)
{
	int rc = change->gpu != NULL ? reshape_kind(sys, change->gpu, err) : 0;

	rc = rc != 0 ? rc : reshape_nics(sys, change, err);
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
	sys->groups = change->groups;
	if ((int64_t)sys->groups * sys->ngpus > sys->full_gpus)
		return error_usage(err, "%s: %d groups of %d GPUs are more than its %d", sys->name,
				   sys->groups, sys->ngpus, sys->full_gpus);
	sys->sharp |= change->sharp;
	sys->staged |= change->staged;
	TAKE(hop_us);
	TAKE(nccl);
	TAKE(oversubscription);
	TAKE(leaf_nodes);
	TAKE(domain);
	sys->no_pxn |= change->no_pxn;
	sys->place = change->place;
	if (change->fabric > 0)
		sys->fabric = (enum topo_fabric)(change->fabric - 1);
	if (change->transport > 0)
		sys->transport = (enum topo_transport)(change->transport - 1);
	rc = join_hosts(sys, err);
	if (rc != 0)
		return rc;
	if (sys->nnodes > 1 && sys->nnics == 0)
		return error_usage(err, "%s has no NIC: %d nodes need --nics and --nic-gbps",
				   sys->name, sys->nnodes);
	return topo_check(sys, err);
}
