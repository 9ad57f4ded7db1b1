/* topo_spec.c: machine specs: small JSON files, found by name. */
#include "topo/topo.h"

#include <dirent.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <jansson.h>
#include <sys/stat.h>

#include "base/file.h"
#include "base/parse.h"

/* Counts are as wide as JSON's, so that none wraps before it is checked. */
struct spec {
	const char *name, *describes, *source, *gpu, *nvlink, *cpu, *p2p, *transport, *fabric;
	json_t *gpu_figures, *nic_gpus; /* "gpu" as a name or as figures */
	struct topo_own_gpu own;
	const struct topo_gpu_model *model; /* of the table, or `own` */
	json_int_t gpus, links, pcie_gen, pcie_width, gpus_per_switch, cpus, nics, leaf_nodes,
		domain, socket_threads;
	int nvls, sharp, direct;
	double nic_gbps, hop_us, oversubscription;
	json_t *mesh;
};

int topo_open(const char *path, FILE **in, struct error *err)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	int rc = fd < 0 ? -errno : -EINVAL;
	struct stat st;
	const char *why = fd < 0 || fstat(fd, &st) < 0 ? strerror(errno)
			  : !S_ISREG(st.st_mode)       ? "is not a regular file"
			  : st.st_size > TOPO_MAX_FILE ? "is larger than 16 MiB"
						       : NULL;

	if (why == NULL) {
		*in = must(fdopen(fd, "r"));
		return 0;
	}
	if (fd >= 0)
		close(fd);
	return error_set(err, OUTCOME_USAGE, rc, "%.200s: %s", path, why);
}

int topo_read(const char *path, char **text, size_t *size, struct error *err)
{
	FILE *in;
	int rc = topo_open(path, &in, err);

	if (rc != 0)
		return rc;
	*text = must(calloc(1, TOPO_MAX_FILE + 1));
	*size = fread(*text, 1, TOPO_MAX_FILE, in);
	if (ferror(in)) {
		free(*text);
		rc = error_set(err, OUTCOME_USAGE, -EIO, "%.200s: cannot be read", path);
	}
	fclose(in);
	return rc;
}

int topo_open_json(const char *path, json_t **json, struct error *err)
{
	json_error_t where;
	FILE *in;
	int rc = topo_open(path, &in, err);

	if (rc != 0)
		return rc;
	*json = json_loadf(in, JSON_REJECT_DUPLICATES, &where);
	fclose(in);
	return *json ? 0 : error_usage(err, "%.200s:%d: %s", path, where.line, where.text);
}

int topo_spec_dir(char *path, size_t size)
{
	const char *set = getenv("HANGAR_SPECS");
	static const char *const beside[] = { "specs", "../specs", "../common/predict/topo/specs",
					      "../../common/predict/topo/specs",
					      "../share/hangar/specs" };

	if (set != NULL && set[0] != '\0')
		return snprintf(path, size, "%s", set) < (int)size ? 0 : -ENAMETOOLONG;
	for (size_t i = 0; i < sizeof(beside) / sizeof(beside[0]); i++)
		if (file_beside(path, size, beside[i]) && access(path, R_OK | X_OK) == 0)
			return 0;
	return -ENOENT;
}

static int is_spec(const struct dirent *entry)
{
	return fnmatch("?*.json", entry->d_name, 0) == 0 && strlen(entry->d_name) - 5 < TOPO_NAME;
}

/* Names of all specs, sorted, without ".json". Returns how many, or -errno. */
static int spec_names(char names[][TOPO_NAME], int room)
{
	char path[4096];
	struct dirent **found;
	int n = topo_spec_dir(path, sizeof(path)) == 0 ? scandir(path, &found, is_spec, alphasort)
						       : -1;

	for (int i = 0; i < n; i++) {
		if (i < room)
			*(char *)mempcpy(names[i], found[i]->d_name, strlen(found[i]->d_name) - 5) =
				'\0';
		free(found[i]);
	}
	if (n >= 0)
		free(found);
	return n < 0 ? -ENOENT : n < room ? n : room;
}

static int no_such_spec(const char *name, struct error *err)
{
	char names[64][TOPO_NAME], text[400] = "";
	int n = spec_names(names, 64);

	for (int i = 0; i < n; i++)
		text_add(text, sizeof(text), "%s%s", i ? " " : "", names[i]);
	return error_set(err, OUTCOME_USAGE, -ENOENT, "no machine spec '%.60s'; there are: %s",
			 name, n > 0 ? text : "none (set HANGAR_SPECS)");
}

/* A GPU by its figures: what a table's row has, multiprocessors, and a launch. */
static int unpack_gpu(json_t *json, struct topo_own_gpu *own, const char *path, struct error *err)
{
	const char *name;
	json_error_t where;
	struct topo_gpu_model *m = &own->model;

	if (json_unpack_ex(json, &where, JSON_STRICT, "{s:s, s:i, s?i, s?F, s?F, s?i, s?F}", "name",
			   &name, "sm", &m->sm, "links", &m->links, "link_gbs", &m->link_raw,
			   "link_kernel_gbs", &m->link_sm, "sms", &own->sms, "launch_us",
			   &own->launch_us) != 0)
		return error_usage(err, "%.200s: gpu: %s", path, where.text);
	if (m->link_sm <= 0) /* what NVLinks lose */
		m->link_sm = .8 * m->link_raw;
	snprintf(own->name, sizeof(own->name), "%s", name);
	if (strlen(name) >= TOPO_NAME || name[0] == '\0' || !is_printable(name) ||
	    !(m->sm >= 60 && m->sm < 1000) || !(m->links >= 0 && m->links <= 64) ||
	    (m->links > 0 &&
	     !(m->link_raw > 0 && m->link_raw < 1e4 && m->link_sm <= m->link_raw)) ||
	    !(own->sms >= 0 && own->sms < 10000) ||
	    !(own->launch_us >= 0 && own->launch_us <= 1000))
		return error_usage(err,
				   "%.200s: gpu needs a name, sm from 60, links to 64 of link_gbs, "
				   "link_kernel_gbs at most link_gbs, launch_us to 1000",
				   path);
	return 0;
}

static int unpack(json_t *json, struct spec *spec, const char *path, struct error *err)
{
	json_error_t where;

	if (json_unpack_ex(json, &where, JSON_STRICT,
			   "{s:s, s:s, s:s, s:o, s:I, s:s, s?I, s?o, s:I, s?I, s?I, s?I, s?s, s?s, "
			   "s?I, s?F, s?s, s?s, s?F, s?I, s?b, s?b, s?b, s?F, s?o, s?I, s?I}",
			   "name", &spec->name, "describes", &spec->describes, "source",
			   &spec->source, "gpu", &spec->gpu_figures, "gpus", &spec->gpus, "nvlink",
			   &spec->nvlink, "links", &spec->links, "mesh", &spec->mesh, "pcie_gen",
			   &spec->pcie_gen, "pcie_width", &spec->pcie_width, "gpus_per_switch",
			   &spec->gpus_per_switch, "cpus", &spec->cpus, "cpu", &spec->cpu, "p2p",
			   &spec->p2p, "nics", &spec->nics, "nic_gbps", &spec->nic_gbps,
			   "transport", &spec->transport, "fabric", &spec->fabric,
			   "oversubscription", &spec->oversubscription, "leaf_nodes",
			   &spec->leaf_nodes, "nvls", &spec->nvls, "sharp", &spec->sharp, "direct",
			   &spec->direct, "net_hop_us", &spec->hop_us, "nic_gpus", &spec->nic_gpus,
			   "domain", &spec->domain, "socket_threads", &spec->socket_threads) != 0)
		return error_usage(err, "%.200s: %s", path, where.text);
	spec->gpu = json_string_value(spec->gpu_figures);
	if (spec->gpu != NULL) {
		spec->model = topo_gpu_model(spec->gpu);
		return 0;
	}
	if (!json_is_object(spec->gpu_figures))
		return error_usage(err, "%.200s: gpu is a name, or an object of its figures", path);
	spec->gpu = spec->own.name;
	spec->model = &spec->own.model;
	return unpack_gpu(spec->gpu_figures, &spec->own, path, err);
}

#define NVLINKS "switch|pairs|mesh|none"

/* Names stand in tables, CSV and on a terminal. */
static int check_words(const struct spec *spec, const char *path, struct error *err)
{
	char known[400];
	const struct {
		bool good;
		const char *what, *value, *right;
	} words[] = {
		{ spec->name[0] != '\0' && strlen(spec->name) < TOPO_NAME &&
			  is_printable(spec->name) && strpbrk(spec->name, ",\"\\") == NULL,
		  "name", spec->name,
		  "1 to 63 printable characters without comma, quote, backslash" },
		{ is_printable(spec->source), "source", spec->source, "one line" },
		{ spec->model != NULL, "gpu", spec->gpu, known },
		{ topo_cpu_link(spec->cpu) > 0, "cpu", spec->cpu, "one that is known" },
		{ names_find(TOPO_WORDS_TRANSPORT, spec->transport) >= 0, "transport",
		  spec->transport, TOPO_WORDS_TRANSPORT },
		{ names_find(TOPO_WORDS_FABRIC, spec->fabric) >= 0, "fabric", spec->fabric,
		  TOPO_WORDS_FABRIC },
		{ names_find(TOPO_WORDS_P2P, spec->p2p) >= 0, "p2p", spec->p2p, TOPO_WORDS_P2P },
		{ names_find(NVLINKS, spec->nvlink) >= 0, "nvlink", spec->nvlink, NVLINKS },
	};

	topo_gpu_names(known, sizeof(known));
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (!words[i].good)
			return error_usage(err, "%.200s: %s '%.40s' is not %s", path, words[i].what,
					   words[i].value, words[i].right);
	return 0;
}

static int check_spec(const struct spec *spec, const char *path, struct error *err)
{
	const struct topo_gpu_model *gpu = spec->model;
	const struct {
		const char *name;
		double value, min, most;
	} numbers[] = {
		{ "gpus", (double)spec->gpus, 1, TOPO_MAX_GPUS },
		{ "links", (double)spec->links, 0, gpu != NULL ? gpu->links : 0 },
		{ "pcie_gen", (double)spec->pcie_gen, 1, 8 },
		{ "pcie_width", (double)spec->pcie_width, 1, 16 },
		{ "net_hop_us", spec->hop_us, 0, 1e6 },
		{ "gpus_per_switch", (double)spec->gpus_per_switch, 0,
		  fmin(TOPO_MAX_GPUS, (double)spec->gpus) },
		{ "cpus", (double)spec->cpus, 1, TOPO_MAX_CPUS },
		{ "nics", (double)spec->nics, 0, TOPO_MAX_NICS },
		{ "leaf_nodes", (double)spec->leaf_nodes, 1, 1e6 },
		{ "domain", (double)spec->domain, 0, TOPO_MAX_GPUS },
		{ "socket_threads", (double)spec->socket_threads, 0, 16 },
		{ "nic_gbps", spec->nic_gbps, spec->nics > 0 ? TOPO_MIN_GBPS : 0, TOPO_MAX_GBPS },
		{ "oversubscription", spec->oversubscription, 1, 1000 },
	};
	int rc = check_words(spec, path, err);

	for (size_t i = 0; rc == 0 && i < sizeof(numbers) / sizeof(numbers[0]); i++)
		if (!(numbers[i].value >= numbers[i].min && numbers[i].value <= numbers[i].most))
			rc = error_usage(err, "%.200s: %s must be %g to %g for %s, not %g", path,
					 numbers[i].name, numbers[i].min, numbers[i].most,
					 spec->gpu, numbers[i].value);
	if (rc == 0 && (spec->pcie_width & (spec->pcie_width - 1)) != 0)
		rc = error_usage(err, "%.200s: pcie_width is 1, 2, 4, 8 or 16, not %lld", path,
				 (long long)spec->pcie_width);
	if (rc == 0 && gpu->links == 0 && strcmp(spec->nvlink, "none") != 0)
		rc = error_usage(err, "%.200s: nvlink is none, as %s has no link", path, spec->gpu);
	return rc;
}

/* As many rows of as many links as there are GPUs, the same both ways, no GPU with more than it
 * has. */
static int set_mesh(struct topo_system *sys, const json_t *mesh, const char *path,
		    struct error *err)
{
	size_t n = (size_t)sys->ngpus;
	int most = sys->gpu[0].model->links;

	for (size_t i = 0; i < n; i++) {
		const json_t *row = json_array_get(mesh, i);
		json_int_t sum = 0;
		bool good = json_array_size(mesh) == n && json_array_size(row) == n;

		for (size_t j = 0; good && j < n; j++) {
			json_int_t links = json_integer_value(json_array_get(row, j));

			good = json_equal(json_array_get(row, j),
					  json_array_get(json_array_get(mesh, j), i)) &&
			       json_is_integer(json_array_get(row, j)) && links >= 0 &&
			       (sum += links) <= most && (i != j || links == 0);
			sys->gpu[i].links[j] = (unsigned char)links;
		}
		if (!good)
			return error_usage(err,
					   "%.200s: mesh row %zu is none of %zu counts of links, "
					   "the same both ways, 0 to itself, at most %d in all",
					   path, i, n, most);
	}
	if (topo_ring_links(sys) == 0)
		return error_usage(err, "%.200s: the mesh has no ring through all GPUs", path);
	return 0;
}

/* nvlink: "switch", "pairs" (0-1, 2-3...), "mesh" (matrix of links) or "none". */
static int set_nvlink(struct topo_system *sys, const struct spec *spec, const char *path,
		      struct error *err)
{
	int links = spec->links > 0 ? (int)spec->links : sys->gpu[0].model->links;

	for (int i = 0; i < sys->ngpus; i++)
		if (spec->nvlink[0] == 's')
			sys->gpu[i].switch_links = links;
		else if (spec->nvlink[0] == 'p' && (i ^ 1) < sys->ngpus)
			sys->gpu[i].links[i ^ 1] = (unsigned char)links;
	return spec->nvlink[0] == 'm' ? set_mesh(sys, spec->mesh, path, err) : 0;
}

static int set_nic_gpus(struct topo_system *sys, const json_t *gpus)
{
	for (int i = 0; i < sys->nnics; i++) {
		const json_t *gpu = json_array_get(gpus, (size_t)i);
		json_int_t at = json_integer_value(gpu);

		if (!json_is_integer(gpu) || at < 0 || at >= sys->ngpus)
			return -EINVAL;
		sys->nic[i].gpu = (int)at + 1;
	}
	return (int)json_array_size(gpus) == sys->nnics ? 0 : -EINVAL;
}

static int build(struct topo_system *sys, const struct spec *spec, const char *path,
		 struct error *err)
{
	int per_cpu = (int)((spec->gpus + spec->cpus - 1) / spec->cpus);

	memset(sys, 0, sizeof(*sys));
	snprintf(sys->name, sizeof(sys->name), "%s", spec->name);
	snprintf(sys->source, sizeof(sys->source), "%s", spec->source);
	sys->own = spec->own;
	sys->own.model.name = sys->own.name;
	sys->hop_us = spec->hop_us;
	sys->socket_threads = (int)spec->socket_threads;
	sys->staged = !spec->direct;
	sys->nnodes = 1;
	sys->ngpus = sys->full_gpus = (int)spec->gpus;
	sys->nnics = (int)spec->nics;
	sys->ncpus = (int)spec->cpus;
	sys->cpu_link_gbs = topo_cpu_link(spec->cpu);
	sys->amd = strncmp(spec->cpu, "amd", 3) == 0;
	sys->grace = strcmp(spec->cpu, "grace") == 0;
	sys->nvls = spec->nvls;
	sys->sharp = spec->sharp;
	sys->p2p = (enum topo_p2p)names_find(TOPO_WORDS_P2P, spec->p2p);
	sys->transport = (enum topo_transport)names_find(TOPO_WORDS_TRANSPORT, spec->transport);
	sys->fabric = (enum topo_fabric)names_find(TOPO_WORDS_FABRIC, spec->fabric);
	sys->oversubscription = spec->oversubscription;
	sys->leaf_nodes = (int)spec->leaf_nodes;
	sys->domain = (int)spec->domain;
	for (int i = 0; i < sys->ngpus; i++) {
		sys->gpu[i].model = spec->model == &spec->own.model ? &sys->own.model : spec->model;
		sys->gpu[i].cpu = i / per_cpu;
		sys->gpu[i].pci_switch =
			spec->gpus_per_switch > 0 ? i / (int)spec->gpus_per_switch : -1;
		sys->gpu[i].pcie_gbs = topo_pcie_gbs((int)spec->pcie_gen, (int)spec->pcie_width);
	}
	for (int i = 0; i < sys->nnics; i++) {
		sys->nic[i] = (struct topo_nic){ .gbs = spec->nic_gbps / 8,
						 .pci_switch = -1,
						 .pcie_gbs = sys->gpu[0].pcie_gbs };
		snprintf(sys->nic[i].name, sizeof(sys->nic[i].name), "nic%d", i);
	}
	if (spec->nic_gpus != NULL && set_nic_gpus(sys, spec->nic_gpus) != 0)
		return error_usage(err, "%.200s: nic_gpus names a GPU, from 0, for each NIC", path);
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
			     .leaf_nodes = 16,
			     .direct = 1 };
	json_t *json;
	int rc = topo_open_json(path, &json, err);

	if (rc != 0)
		return rc;
	if (json_object_get(json, "measured")) {
		rc = topo_from_json(sys, json, path, err);
		json_decref(json);
		return rc;
	}
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

static int load_smi(struct topo_system *sys, const char *path, struct error *err)
{
	char *text;
	size_t size;
	int rc = topo_read(path, &text, &size, err);

	if (rc != 0)
		return rc;
	rc = topo_parse_smi(sys, text, path, err);
	free(text);
	return rc;
}

int topo_load(struct topo_system *sys, const char *what, struct error *err)
{
	char dir[4096], path[4096 + TOPO_NAME + 8];

	if (fnmatch("?*.xml", what, 0) == 0)
		return topo_read_xml(sys, what, err);
	if (fnmatch("?*.txt", what, 0) == 0)
		return load_smi(sys, what, err);
	if (strchr(what, '/') != NULL || fnmatch("?*.json", what, 0) == 0)
		return load_path(sys, what, err);
	if (strlen(what) >= TOPO_NAME || topo_spec_dir(dir, sizeof(dir)) != 0)
		return no_such_spec(what, err);
	snprintf(path, sizeof(path), "%s/%s.json", dir, what);
	return access(path, R_OK) == 0 ? load_path(sys, path, err) : no_such_spec(what, err);
}

int topo_list_specs(FILE *out, struct error *err)
{
	char names[64][TOPO_NAME];
	int n = spec_names(names, 64);

	if (n < 0)
		return error_set(err, OUTCOME_USAGE, n, "no folder of specs: set HANGAR_SPECS");
	for (int i = 0; i < 2 * n; i++) { /* all are read before the first is printed */
		struct topo_system sys;
		int rc = topo_load(&sys, names[i % n], err);

		if (rc != 0)
			return rc;
		if (i < n)
			continue;
		fprintf(out, "%-20s %3d x %-6s %2d NICs of %3.0f Gb/s, %s\n", names[i % n],
			sys.ngpus, sys.gpu[0].model->name, sys.nnics,
			sys.nnics ? sys.nic[0].gbs * 8 : 0, topo_transports[sys.transport]);
	}
	return n;
}
