/* topo_smi.c: what `nvidia-smi topo -m` prints, as a node. It says how GPUs and NICs are joined, not what they are: the kind of
 * GPU and the speed of NICs are the user's, PCIe and CPUs are those that such GPUs come with. */
#include "topo/topo.h"

enum { COLUMNS = TOPO_MAX_GPUS + TOPO_MAX_NICS, CELL = 64 };

struct table {
	struct topo_system *sys;
	int gpu_of[COLUMNS]; /* column to GPU, -1: a NIC */
	int ncolumns;
};

/* The next word of a line, without terminal colours. Returns false at its end. */
static bool word(const char **at, char out[CELL])
{
	size_t n = 0;

	for (; **at != '\0' && **at != '\n'; (*at)++) {
		if (**at == '\033')
			*at += strcspn(*at, "m\n");
		else if (!isspace((unsigned char)**at) && n < CELL - 1)
			out[n++] = **at;
		else if (isspace((unsigned char)**at) && n > 0)
			break;
		if (**at == '\0' || **at == '\n')
			break;
	}
	out[n] = '\0';
	return n > 0;
}

/* "GPU3" is 3, else -1. */
static int gpu_number(const char *name)
{
	return strncmp(name, "GPU", 3) == 0 && isdigit((unsigned char)name[3]) ? atoi(name + 3)
									       : -1;
}

static bool is_nic(const char *name)
{
	return strncmp(name, "NIC", 3) == 0 || strncmp(name, "mlx", 3) == 0 ||
	       strncmp(name, "bnxt", 4) == 0 || strncmp(name, "irdma", 5) == 0 ||
	       strncmp(name, "rdma", 4) == 0 || strncmp(name, "efa", 3) == 0;
}

/* The heading: its columns until "CPU Affinity". */
static void take_heading(struct table *t, const char *line)
{
	char name[CELL];

	while (word(&line, name) && t->ncolumns < COLUMNS) {
		int gpu = gpu_number(name);

		if (gpu >= 0 && t->sys->ngpus < TOPO_MAX_GPUS) {
			t->gpu_of[t->ncolumns++] = t->sys->ngpus;
			t->sys->gpu[t->sys->ngpus++] = (struct topo_gpu){ .pci_switch = -1 };
		} else if (is_nic(name) && t->sys->nnics < TOPO_MAX_NICS) {
			struct topo_nic *nic = &t->sys->nic[t->sys->nnics++];

			t->gpu_of[t->ncolumns++] = -1;
			*nic = (struct topo_nic){ .pci_switch = -1 };
			snprintf(nic->name, sizeof(nic->name), "%.60s", name);
		} else {
			return;
		}
	}
}

/* The CPU of a NUMA node, new if need be. */
static int cpu_of(struct topo_system *sys, int numa)
{
	int cpu = 0;

	while (cpu < sys->ncpus && sys->numa[cpu] != numa)
		cpu++;
	if (cpu == sys->ncpus && sys->ncpus < TOPO_MAX_CPUS)
		sys->numa[sys->ncpus++] = numa;
	return cpu < sys->ncpus ? cpu : 0;
}

/* A GPU's row: how it reaches each column, then its cores and NUMA node. */
static bool take_row(struct table *t, int gpu, const char *line)
{
	char cell[CELL];

	for (int i = 0; i < t->ncolumns; i++) {
		int other = t->gpu_of[i], links = 0;

		if (!word(&line, cell))
			return false;
		if (sscanf(cell, "NV%d", &links) == 1 && (links < 1 || links > 32))
			return false;
		if (other >= 0 && other != gpu)
			t->sys->gpu[gpu].links[other] = (unsigned char)links;
	}
	t->sys->gpu[gpu].cpu =
		word(&line, cell) && word(&line, cell) && isdigit((unsigned char)*cell)
			? cpu_of(t->sys, atoi(cell))
			: 0;
	return true;
}

int topo_parse_smi(struct topo_system *sys, const char *text, const char *source, struct error *err)
{
	struct table t = { .sys = sys };
	int rows = 0;

	memset(sys, 0, sizeof(*sys));
	snprintf(sys->name, sizeof(sys->name), "nvidia-smi");
	snprintf(sys->source, sizeof(sys->source), "%.200s", source);
	sys->nnodes = sys->leaf_nodes = 1;
	sys->oversubscription = 1;
	for (const char *line = text, *end; line != NULL; line = end != NULL ? end + 1 : NULL) {
		const char *rest = line;
		char name[CELL];
		int gpu;

		end = strchr(line, '\n');
		if (!word(&rest, name))
			continue;
		gpu = gpu_number(name);
		if (t.ncolumns == 0 && gpu == 0)
			take_heading(&t, line);
		else if (gpu >= 0 && rows < sys->ngpus && !take_row(&t, rows++, rest))
			return error_usage(err, "%s: the row of %s does not have %d columns",
					   source, name, t.ncolumns);
	}
	if (sys->ngpus == 0 || rows != sys->ngpus)
		return error_usage(err, "%s: no table of nvidia-smi topo -m: %d GPUs, %d rows",
				   source, sys->ngpus, rows);
	sys->ncpus = sys->ncpus > 0 ? sys->ncpus : 1;
	sys->full_gpus = sys->ngpus;
	snprintf(sys->note, sizeof(sys->note),
		 "nvidia-smi says no PCIe speed and no CPU: what such GPUs come with is assumed");
	return 0;
}
