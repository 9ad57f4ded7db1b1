/* topo_measured.c: machines of measured pairs: hosts whose ranks are processes, and GPUs whose links were measured. */
#include "topo/topo.h"

#include <jansson.h>

/* A rank of a host stands where a GPU stands elsewhere. */
static const struct topo_gpu_model core = { .name = "host rank" };

bool topo_is_host(const struct topo_system *sys)
{
	return sys->pairs.nranks > 1 && sys->pairs.host;
}

int topo_from_pairs(struct topo_system *sys, const char *name, const char *source,
		    const struct pair_digest *pairs, struct error *err)
{
	int ppn = pairs->nranks / pairs->nnodes;

	memset(sys, 0, sizeof(*sys));
	snprintf(sys->name, sizeof(sys->name), "%s", name);
	snprintf(sys->source, sizeof(sys->source), "%s", source);
	sys->pairs = *pairs;
	if (!topo_is_host(sys) || ppn > TOPO_MAX_GPUS)
		return error_usage(
			err,
			"%.200s: measured: not between processes of a host, or more than %d of one",
			source, TOPO_MAX_GPUS);
	sys->nnodes = pairs->nnodes;
	sys->ngpus = sys->full_gpus = ppn;
	sys->ncpus = sys->nnics = sys->leaf_nodes = 1;
	sys->cpu_link_gbs = sys->oversubscription = 1;
	sys->nic[0] = (struct topo_nic){ .name = "as measured", .gbs = 1, .pcie_gbs = 1 };
	sys->transport = TOPO_TCP;
	for (int i = 0; i < ppn; i++)
		sys->gpu[i] = (struct topo_gpu){ .model = &core, .pci_switch = -1, .pcie_gbs = 1 };
	return 0;
}

int topo_from_json(struct topo_system *sys, const json_t *json, const char *path, struct error *err)
{
	const char *xml = json_string_value(json_object_get(json, "nccl_topology"));
	struct pair_matrix matrix;
	struct pair_digest pairs;
	struct topo_change change;
	int rc = pair_matrix_parse(&matrix, json_object_get(json, "measured"), path, err);

	if (rc < 0)
		return rc;
	pair_digest_make(&pairs, &matrix);
	pair_matrix_release(&matrix);
	if (!xml)
		return topo_from_pairs(sys, "measured", path, &pairs, err);
	rc = topo_parse_xml(sys, xml, strlen(xml), path, err);
	change =
		(struct topo_change){ .nnodes = pairs.nnodes, .gpus = pairs.nranks / pairs.nnodes };
	if (rc == 0)
		rc = topo_reshape(sys, &change, err);
	sys->pairs = pairs;
	return rc;
}
