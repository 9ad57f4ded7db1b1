/* topo_spec.c: machine specs: small JSON files, found by name. */
#include "topo/topo.h"

#include <dirent.h>
#include <errno.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct spec {
	const char *name, *describes, *source, *gpu, *nvlink, *cpu, *p2p, *transport, *fabric;
	int gpus, links, pcie_gen, pcie_width, gpus_per_switch, cpus, nics, leaf_nodes, nvls, sharp;
	double nic_gbps, oversubscription, c2c_gbs;
	json_t *mesh;
};

static bool is_dir(const char *path)
{
	return access(path, R_OK | X_OK) == 0;
}

int topo_spec_dir(char *path, size_t size)
{
	char exe[3072];
	const char *set = getenv("HANGAR_SPECS");
	static const char *const beside[] = { "specs", "../specs", "../common/topo/specs",
					      "../../common/topo/specs", "../share/hangar/specs" };
	ssize_t length = readlink("/proc/self/exe", exe, sizeof(exe) - 1);
	char *slash;

	if (set != NULL && set[0] != '\0')
		return snprintf(path, size, "%s", set) < (int)size ? 0 : -ENAMETOOLONG;
	if (length <= 0)
		return -ENOENT;
	exe[length] = '\0';
	slash = strrchr(exe, '/');
	*slash = '\0';
	for (size_t i = 0; i < sizeof(beside) / sizeof(beside[0]); i++) {
		if (snprintf(path, size, "%s/%s", exe, beside[i]) < (int)size && is_dir(path))
			return 0;
	}
	return -ENOENT;
}

static int compare_names(const void *a, const void *b)
{
	return strcmp(a, b);
}

/* Names of all specs, sorted, without ".json". Returns how many, or -errno. */
static int spec_names(char names[][TOPO_NAME], int room)
{
	char path[4096];
	struct dirent *entry;
	DIR *dir;
	int n = 0;

	if (topo_spec_dir(path, sizeof(path)) != 0)
		return -ENOENT;
	dir = opendir(path);
	if (dir == NULL)
		return -errno;
	while (n < room && (entry = readdir(dir)) != NULL) {
		size_t length = strlen(entry->d_name);

		if (length < 6 || length - 5 >= TOPO_NAME ||
		    strcmp(entry->d_name + length - 5, ".json") != 0)
			continue;
		memcpy(names[n], entry->d_name, length - 5);
		names[n++][length - 5] = '\0';
	}
	closedir(dir);
	qsort(names, (size_t)n, TOPO_NAME, compare_names);
	return n;
}

static int no_such_spec(const char *name, struct error *err)
{
	char names[64][TOPO_NAME], text[400] = "";
	int n = spec_names(names, 64);
	size_t used = 0;

	for (int i = 0; i < n && used < sizeof(text); i++)
		used += (size_t)snprintf(text + used, sizeof(text) - used, "%s%s", i ? " " : "",
					 names[i]);
	return error_set(err, OUTCOME_USAGE, -ENOENT, "no machine spec '%.60s'; there are: %s",
			 name, n > 0 ? text : "none (set HANGAR_SPECS)");
}

static int unpack(json_t *json, struct spec *spec, const char *path, struct error *err)
{
	json_error_t where;

	if (json_unpack_ex(json, &where, JSON_STRICT,
			   "{s:s, s:s, s:s, s:s, s:i, s:s, s?i, s?o, s:i, s?i, s?i, s?i, s?s, s?s, "
			   "s?i, s?F, s?s, s?s,"
			   " s?F, s?i, s?b, s?b, s?F}",
			   "name", &spec->name, "describes", &spec->describes, "source",
			   &spec->source, "gpu", &spec->gpu, "gpus", &spec->gpus, "nvlink",
			   &spec->nvlink, "links", &spec->links, "mesh", &spec->mesh, "pcie_gen",
			   &spec->pcie_gen, "pcie_width", &spec->pcie_width, "gpus_per_switch",
			   &spec->gpus_per_switch, "cpus", &spec->cpus, "cpu", &spec->cpu, "p2p",
			   &spec->p2p, "nics", &spec->nics, "nic_gbps", &spec->nic_gbps,
			   "transport", &spec->transport, "fabric", &spec->fabric,
			   "oversubscription", &spec->oversubscription, "leaf_nodes",
			   &spec->leaf_nodes, "nvls", &spec->nvls, "sharp", &spec->sharp, "c2c_gbs",
			   &spec->c2c_gbs) != 0)
		return error_set(err, OUTCOME_USAGE, -EINVAL, "%.200s: %s", path, where.text);
	return 0;
}

static int check_spec(const struct spec *spec, const char *path, struct error *err)
{
	char known[320];

	if (topo_gpu_model(spec->gpu) == NULL) {
		topo_gpu_names(known, sizeof(known));
		return error_set(err, OUTCOME_USAGE, -EINVAL, "unknown GPU '%.40s'; known: %s",
				 spec->gpu, known);
	}
	if (spec->gpus < 1 || spec->gpus > TOPO_MAX_GPUS || spec->nics < 0 ||
	    spec->nics > TOPO_MAX_NICS || spec->cpus < 1 || spec->cpus > TOPO_MAX_CPUS ||
	    spec->pcie_gen < 1 || spec->pcie_gen > 8 || spec->pcie_width < 1 ||
	    spec->pcie_width > 32 || spec->links < 0 || spec->links > 64)
		return error_set(err, OUTCOME_USAGE, -EINVAL, "%.200s: a count is out of range",
				 path);
	if (topo_cpu_link(spec->cpu) <= 0 || topo_transport_parse(spec->transport) < 0)
		return error_set(err, OUTCOME_USAGE, -EINVAL, "%.200s: unknown cpu or transport",
				 path);
	if (spec->nics > 0 && spec->nic_gbps <= 0)
		return error_set(err, OUTCOME_USAGE, -EINVAL, "%.200s: nics need nic_gbps", path);
	return 0;
}

/* nvlink: "switch", "pairs" (0-1, 2-3...), "mesh" (matrix of links) or "none". */
static int set_nvlink(struct topo_system *sys, const struct spec *spec, const char *path,
		      struct error *err)
{
	int links = spec->links > 0 ? spec->links : sys->gpu[0].model->links;

	for (int i = 0; i < sys->ngpus; i++) {
		if (strcmp(spec->nvlink, "switch") == 0)
			sys->gpu[i].switch_links = links;
		else if (strcmp(spec->nvlink, "pairs") == 0 && (i ^ 1) < sys->ngpus)
			sys->gpu[i].links[i ^ 1] = (unsigned char)links;
		else if (strcmp(spec->nvlink, "mesh") == 0)
			for (int j = 0; j < sys->ngpus; j++) {
				json_int_t n = json_integer_value(
					json_array_get(json_array_get(spec->mesh, (size_t)i),
						       (size_t)j));

				if (n < 0 || n > 32 || (i == j && n != 0))
					return error_set(err, OUTCOME_USAGE, -EINVAL,
							 "%.200s: mesh row %d is no row of links",
							 path, i);
				sys->gpu[i].links[j] = (unsigned char)n;
			}
		else if (strcmp(spec->nvlink, "none") != 0 && strcmp(spec->nvlink, "pairs") != 0)
			return error_set(err, OUTCOME_USAGE, -EINVAL,
					 "%.200s: nvlink is switch, pairs, mesh or none", path);
	}
	return 0;
}

static int build(struct topo_system *sys, const struct spec *spec, const char *path,
		 struct error *err)
{
	int per_cpu = (spec->gpus + spec->cpus - 1) / spec->cpus;

	memset(sys, 0, sizeof(*sys));
	snprintf(sys->name, sizeof(sys->name), "%s", spec->name);
	snprintf(sys->source, sizeof(sys->source), "%s", spec->source);
	sys->nnodes = 1;
	sys->ngpus = sys->full_gpus = spec->gpus;
	sys->nnics = spec->nics;
	sys->ncpus = spec->cpus;
	sys->cpu_link_gbs = topo_cpu_link(spec->cpu);
	sys->amd = strncmp(spec->cpu, "amd", 3) == 0;
	sys->nvls = spec->nvls;
	sys->sharp = spec->sharp;
	sys->p2p = strcmp(spec->p2p, "none") == 0 ? TOPO_P2P_NONE : TOPO_P2P_PCIE;
	sys->transport = (enum topo_transport)topo_transport_parse(spec->transport);
	sys->fabric = strcmp(spec->fabric, "rail") == 0 ? TOPO_RAIL : TOPO_FAT_TREE;
	sys->oversubscription = spec->oversubscription;
	sys->leaf_nodes = spec->leaf_nodes;
	for (int i = 0; i < spec->gpus; i++) {
		sys->gpu[i].model = topo_gpu_model(spec->gpu);
		sys->gpu[i].cpu = i / per_cpu;
		sys->gpu[i].pci_switch = spec->gpus_per_switch > 0 ? i / spec->gpus_per_switch : -1;
		sys->gpu[i].pcie_gbs = topo_pcie_gbs(spec->pcie_gen, spec->pcie_width);
		sys->gpu[i].c2c_gbs = spec->c2c_gbs;
	}
	for (int i = 0; i < spec->nics; i++) {
		sys->nic[i] = (struct topo_nic){ .gbs = spec->nic_gbps / 8,
						 .cpu = i * spec->cpus / spec->nics,
						 .pci_switch = -1,
						 .pcie_gbs = sys->gpu[0].pcie_gbs };
		snprintf(sys->nic[i].name, sizeof(sys->nic[i].name), "nic%d", i);
	}
	return set_nvlink(sys, spec, path, err);
}

static int load_path(struct topo_system *sys, const char *path, struct error *err)
{
	struct spec spec = { .pcie_width = 16,
			     .cpus = 1,
			     .cpu = "intel-sapphire",
			     .p2p = "pcie",
			     .transport = "ib",
			     .fabric = "rail",
			     .oversubscription = 1,
			     .leaf_nodes = 16 };
	json_error_t where;
	json_t *json = json_load_file(path, JSON_REJECT_DUPLICATES, &where);
	int rc;

	if (json == NULL)
		return error_set(err, OUTCOME_USAGE, -EINVAL, "%.200s:%d: %s", path, where.line,
				 where.text);
	rc = unpack(json, &spec, path, err);
	if (rc == 0)
		rc = check_spec(&spec, path, err);
	if (rc == 0)
		rc = build(sys, &spec, path, err);
	if (rc == 0)
		rc = topo_check(sys, err);
	json_decref(json);
	return rc;
}

int topo_load_spec(struct topo_system *sys, const char *name, struct error *err)
{
	char dir[4096], path[4096 + TOPO_NAME + 8];

	if (strchr(name, '/') != NULL ||
	    (strlen(name) > 5 && strcmp(name + strlen(name) - 5, ".json") == 0))
		return load_path(sys, name, err);
	if (strlen(name) >= TOPO_NAME || topo_spec_dir(dir, sizeof(dir)) != 0)
		return no_such_spec(name, err);
	snprintf(path, sizeof(path), "%s/%s.json", dir, name);
	if (access(path, R_OK) != 0)
		return no_such_spec(name, err);
	return load_path(sys, path, err);
}

int topo_load(struct topo_system *sys, const char *what, struct error *err)
{
	size_t length = strlen(what);
	int rc;

	if (length <= 4 || strcmp(what + length - 4, ".xml") != 0)
		return topo_load_spec(sys, what, err);
	rc = topo_read_xml(sys, what, err);
	return rc != 0 ? rc : topo_check(sys, err);
}

int topo_list_specs(FILE *out, struct error *err)
{
	char names[64][TOPO_NAME];
	int n = spec_names(names, 64);

	if (n < 0)
		return error_set(err, OUTCOME_USAGE, n, "no folder of specs: set HANGAR_SPECS");
	for (int i = 0; i < n; i++) {
		struct topo_system sys;
		int rc = topo_load_spec(&sys, names[i], err);

		if (rc != 0)
			return rc;
		fprintf(out, "%-20s %3d x %-6s %2d NICs of %3.0f Gb/s, %s\n", names[i], sys.ngpus,
			sys.gpu[0].model->name, sys.nnics, sys.nnics ? sys.nic[0].gbs * 8 : 0,
			topo_transport_name(sys.transport));
	}
	return n;
}
