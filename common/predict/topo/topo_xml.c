/* topo_xml.c: NCCL's topology file. It may come from anywhere: its values are bounded, and checked
 * before use. */
#include "topo/topo.h"

#include <expat.h>

#include <fnmatch.h>

enum {
	MAX_DEPTH = 32,
	MAX_LINKS = 1024,
	NVSWITCH_CLASS = 0x068000,
	DISPLAY = 0x03, /* upper byte of a PCI class */
	NETWORK = 0x02,
	NVIDIA = 0x10de,
	AMD = 0x1002
};

/* One level of <pci>. */
struct level {
	double gbs; /* of the link to the level above */
	int number; /* of this <pci> in the file */
	uint64_t bus;
	long class, vendor, device;
	bool leaf; /* no other <pci>, <gpu> or <net> is in it so far */
};

/* The levels above a GPU or NIC, its own included. */
struct way {
	int n, number[MAX_DEPTH];
	double gbs[MAX_DEPTH];
};

struct link {
	int gpu, count;
	uint64_t target;
};

struct reader {
	XML_Parser parser;
	struct topo_system *sys;
	struct error *err;
	struct level level[MAX_DEPTH];
	int depth, levels, cpu, pcis;
	int gpu;  /* the one that is open, -1 for none */
	int skip; /* depth of the <cpu> of another host that is open, 0 for none */
	uint64_t host[TOPO_MAX_GPUS];
	int nhosts;
	struct link link[MAX_LINKS];
	int nlinks, rc;
	struct way gpu_way[TOPO_MAX_GPUS], nic_way[TOPO_MAX_NICS];
	/* display and network devices without a <gpu> or <net>: what counts where the file has no GPU */
	struct topo_gpu place[TOPO_MAX_GPUS];
	struct topo_nic port[TOPO_MAX_NICS];
	struct way place_way[TOPO_MAX_GPUS], port_way[TOPO_MAX_NICS];
	int nplaces, nports;
};

static void fail(struct reader *r, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

static void fail(struct reader *r, const char *fmt, ...)
{
	char text[300];
	va_list args;

	if (r->rc != 0)
		return;
	va_start(args, fmt);
	vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	r->rc = error_set(r->err, OUTCOME_USAGE, -EINVAL, "%s, line %lu: %s", r->sys->source,
			  (unsigned long)XML_GetCurrentLineNumber(r->parser), text);
	XML_StopParser(r->parser, XML_FALSE);
}

static const char *attribute(const char **attrs, const char *name)
{
	for (; attrs[0] != NULL; attrs += 2)
		if (strcmp(attrs[0], name) == 0)
			return attrs[1];
	return NULL;
}

/* An integer attribute within bounds; `fallback` when it is not there. */
static long number(struct reader *r, const char **attrs, const char *name, long fallback, long min,
		   long most)
{
	const char *text = attribute(attrs, name);
	char *end;
	long value;

	if (text == NULL)
		return fallback;
	errno = 0;
	value = strtol(text, &end, 0);
	if (*text == '\0' || *end != '\0' || errno != 0 || value < min || value > most) {
		fail(r, "%s=\"%.40s\" is not between %ld and %ld", name, text, min, most);
		return fallback;
	}
	return value;
}

/* "0000:0f:00.0" as the number that NCCL makes of it: the digits without punctuation. */
static bool bus_parse(const char *text, uint64_t *bus)
{
	int digits = 0;

	*bus = 0;
	for (; text != NULL && *text != '\0'; text++) {
		if (*text == ':' || *text == '.')
			continue;
		if (!isxdigit((unsigned char)*text) || digits++ == 16)
			return false;
		*bus = *bus << 4 | (unsigned)(isdigit((unsigned char)*text)
						      ? *text - '0'
						      : tolower((unsigned char)*text) - 'a' + 10);
	}
	return digits > 0;
}

/* NCCL: width * speed / 80 GB/s, speed in 100 Mb/s a lane; unknown speeds count as generation 3, no
 * width as 16. */
static double pci_gbs(struct reader *r, const char **attrs)
{
	const char *speed = attribute(attrs, "link_speed");
	long width = number(r, attrs, "link_width", 16, 0, 64);
	double value = speed != NULL ? strtod(speed, NULL) : 8;
	int gen = topo_pcie_gen(value);

	if (!(value >= 0 && value < 1000))
		fail(r, "link_speed=\"%.40s\" is no PCIe speed", speed);
	return topo_pcie_gbs(gen > 0 ? gen : 3, width == 0 ? 16 : (int)width);
}

/* Where NVLink joins hosts, NCCL's file has them all (ncclTopoFuseXml). The first stands for them. True: this is another. */
static bool another_host(struct reader *r, const char **attrs)
{
	const char *hash = attribute(attrs, "host_hash");
	uint64_t host = hash != NULL ? strtoull(hash, NULL, 0) : 0;
	int i = 0;

	while (i < r->nhosts && r->host[i] != host)
		i++;
	if (i == r->nhosts && r->nhosts < TOPO_MAX_GPUS)
		r->host[r->nhosts++] = host;
	return i > 0;
}

static void start_cpu(struct reader *r, const char **attrs)
{
	struct topo_system *sys = r->sys;
	const char *vendor = attribute(attrs, "vendor"), *arch = attribute(attrs, "arch");
	long model = number(r, attrs, "modelid", 0, -1, 1 << 20);
	long family = number(r, attrs, "familyid", 0, -1,
			     1 << 20); /* 2.28 writes base + (extended << 4) */

	if (sys->ncpus == TOPO_MAX_CPUS) {
		fail(r, "more than %d CPUs", TOPO_MAX_CPUS);
		return;
	}
	r->cpu = sys->ncpus++;
	sys->numa[r->cpu] = (int)number(r, attrs, "numaid", -1, -1, 1 << 20);
	sys->amd = vendor != NULL && strcmp(vendor, "AuthenticAMD") == 0;
	if (arch == NULL)
		fail(r, "a cpu without arch: NCCL says \"Attribute arch of node cpu not found\" "
			"unless the host fills it in; add arch, vendor, familyid and modelid");
	/* topo.cc:71-98 */
	sys->grace = arch != NULL && strcmp(arch, "arm64") == 0;
	if (sys->grace)
		sys->cpu_link_gbs = topo_cpu_link("grace");
	else if (arch != NULL && strcmp(arch, "ppc64") == 0)
		sys->cpu_link_gbs = topo_cpu_link("power9");
	else if (sys->amd)
		sys->cpu_link_gbs = topo_cpu_link(family == 26 || family == 0xBF   ? "amd-turin"
						  : family == 25 || family == 0xAF ? "amd-milan"
										   : "amd");
	else
		sys->cpu_link_gbs = topo_cpu_link(model >= 0xCF	  ? "intel-emerald"
						  : model >= 0x8F ? "intel-sapphire"
						  : model >= 0x55 ? "intel-skylake"
								  : "intel-broadwell");
}

/* The way from the innermost level up. Returns its slowest link, GB/s. */
static double way_up(const struct reader *r, struct way *way)
{
	double slowest = INFINITY;

	for (way->n = 0; way->n < r->levels; way->n++) {
		way->number[way->n] = r->level[way->n].number;
		way->gbs[way->n] = r->level[way->n].gbs;
		slowest = fmin(slowest, way->gbs[way->n]);
	}
	return slowest;
}

static void start_pci(struct reader *r, const char **attrs)
{
	struct level *level = &r->level[r->levels];
	const char *class = attribute(attrs, "class"), *vendor = attribute(attrs, "vendor"),
		   *device = attribute(attrs, "device");

	*level = (struct level){ .gbs = pci_gbs(r, attrs),
				 .class = class ? strtol(class, NULL, 16) >> 16 : 0,
				 .vendor = vendor ? strtol(vendor, NULL, 16) : 0,
				 .device = device ? strtol(device, NULL, 16) : 0,
				 .leaf = true };
	if (r->cpu < 0 || !bus_parse(attribute(attrs, "busid"), &level->bus)) {
		fail(r, "a pci outside of a cpu, or without a busid");
		return;
	}
	for (int i = 0; i < r->levels; i++)
		if (r->level[i].bus == level->bus)
			fail(r, "pci %s lies below itself", attribute(attrs, "busid"));
	level->number = r->pcis++;
	if (r->levels > 0)
		level[-1].leaf = false;
	r->levels++;
}

/* A GPU, or the place of one, at the innermost level. */
static struct topo_gpu gpu_here(const struct reader *r, struct way *way)
{
	const struct level *level = &r->level[r->levels - 1];
	struct topo_gpu gpu = { .bus = level->bus, .cpu = r->cpu, .pcie_gbs = way_up(r, way) };

	if (level->vendor == NVIDIA)
		gpu.model = topo_gpu_model_pci((int)level->device);
	for (int i = 0; i < r->levels - 1 && i < TOPO_MAX_ABOVE; i++)
		gpu.above[gpu.nabove++] = r->level[i].number;
	gpu.pci_switch = gpu.nabove > 0 ? gpu.above[0] : -1;
	return gpu;
}

static void start_gpu(struct reader *r, const char **attrs)
{
	struct topo_system *sys = r->sys;
	struct topo_gpu *gpu = &sys->gpu[sys->ngpus];

	if (r->levels == 0 || sys->ngpus == TOPO_MAX_GPUS || r->gpu >= 0) {
		fail(r, "a gpu outside of a pci, inside of a gpu, or more than %d", TOPO_MAX_GPUS);
		return;
	}
	if (r->level[r->levels - 1].vendor == AMD || attribute(attrs, "gcn") != NULL) {
		fail(r, "an AMD GPU: its library is RCCL, and NCCL's model says nothing of it");
		return;
	}
	*gpu = gpu_here(r, &r->gpu_way[sys->ngpus]);
	r->level[r->levels - 1].leaf = false;
	for (int i = 0; i < sys->ngpus; i++)
		if (sys->gpu[i].bus == gpu->bus)
			fail(r, "GPU %llx appears twice", (unsigned long long)gpu->bus);
	if (gpu->model == NULL) {
		gpu->model = topo_gpu_model_sm((int)number(r, attrs, "sm", 0, 0, 300));
		sys->by_sm = true;
	}
	r->gpu = sys->ngpus++;
}

static void start_nvlink(struct reader *r, const char **attrs)
{
	long count = number(r, attrs, "count", 1, 1, 64);
	long tclass = number(r, attrs, "tclass", NVSWITCH_CLASS, 0, 0xffffff);
	uint64_t target;

	if (r->gpu < 0 || !bus_parse(attribute(attrs, "target"), &target) ||
	    r->nlinks == MAX_LINKS) {
		fail(r, "an nvlink outside of a gpu, without a target, or too many");
		return;
	}
	if (tclass == NVSWITCH_CLASS) {
		r->sys->gpu[r->gpu].switch_links += (int)count;
		if (r->sys->gpu[r->gpu].switch_links > 64)
			fail(r, "more than 64 NVLinks on one GPU");
		return;
	}
	r->link[r->nlinks++] =
		(struct link){ .gpu = r->gpu, .count = (int)count, .target = target };
}

/* Tunnels, bridges and the hosts' ends of containers' interfaces have no PCI device. */
static bool is_virtual(const char *name)
{
	static const char *const patterns[] = { "tun*",	    "tap*",   "br-*",	"virbr*",
						"docker*",  "veth*",  "cali*",	"cni*",
						"flannel*", "vxlan*", "kube-*", "cilium*",
						"podman*",  "dummy*", "lo",	"wg*",
						"ovs*",	    "genev*" };

	for (size_t i = 0; i < sizeof(patterns) / sizeof(patterns[0]); i++)
		if (fnmatch(patterns[i], name, 0) == 0)
			return true;
	return false;
}

static void start_net(struct reader *r, const char **attrs)
{
	struct topo_system *sys = r->sys;
	const char *name = attribute(attrs, "name");
	long mbps = number(r, attrs, "speed", 10000, -1, 100000000);
	struct topo_nic *nic = &sys->nic[sys->nnics];
	double up = way_up(r, &r->nic_way[sys->nnics < TOPO_MAX_NICS ? sys->nnics : 0]);

	if (sys->nnics == TOPO_MAX_NICS || r->cpu < 0) {
		fail(r, "a net outside of a cpu, or more than %d", TOPO_MAX_NICS);
		return;
	}
	if (r->levels > 0)
		r->level[r->levels - 1].leaf = false;
	else if (name != NULL && is_virtual(name)) {
		snprintf(sys->note, sizeof(sys->note), "virtual interfaces are left out, as %.40s",
			 name);
		return;
	}
	snprintf(nic->name, sizeof(nic->name), "%s", name != NULL ? name : "net");
	nic->pci_switch = r->levels > 1 ? r->level[0].number : -1;
	nic->gbs = mbps > 0 ? mbps / 8000. : 10 / 8.; /* topo.cc: an unknown speed is 10 Gb/s */
	nic->pcie_gbs = r->levels > 0 ? up : 5000;
	if (number(r, attrs, "gdr", 0, 0, 1) == 0 && number(r, attrs, "port", 0, 0, 255) == 0)
		sys->transport = TOPO_TCP;
	sys->nnics++;
}

static void start(void *data, const char *name, const char **attrs)
{
	struct reader *r = data;

	if (++r->depth >= MAX_DEPTH) {
		fail(r, "nested deeper than %d", MAX_DEPTH);
		return;
	}
	if (r->depth == 1) {
		if (strcmp(name, "system") != 0)
			fail(r, "<%.40s> is no NCCL topology: <system> was expected", name);
		return;
	}
	if (r->skip > 0)
		return;
	if (strcmp(name, "cpu") == 0 && another_host(r, attrs))
		r->skip = r->depth;
	else if (strcmp(name, "cpu") == 0)
		start_cpu(r, attrs);
	else if (strcmp(name, "pci") == 0)
		start_pci(r, attrs);
	else if (strcmp(name, "gpu") == 0)
		start_gpu(r, attrs);
	else if (strcmp(name, "nvlink") == 0)
		start_nvlink(r, attrs);
	else if (strcmp(name, "net") == 0)
		start_net(r, attrs);
}

/* A <pci> that ends with nothing in it may be the place of a GPU or NIC. */
static void end_pci(struct reader *r)
{
	const struct level *level = &r->level[r->levels - 1];

	if (level->leaf && level->class == DISPLAY && level->vendor != AMD &&
	    r->nplaces < TOPO_MAX_GPUS) {
		r->place[r->nplaces] = gpu_here(r, &r->place_way[r->nplaces]);
		r->nplaces++;
	}
	if (level->leaf && level->class == NETWORK && r->nports < TOPO_MAX_NICS) {
		r->port[r->nports] =
			(struct topo_nic){ .name = "port",
					   .pci_switch = r->levels > 1 ? r->level[0].number : -1 };
		r->port[r->nports].pcie_gbs = way_up(r, &r->port_way[r->nports]);
		r->nports++;
	}
	r->levels--;
}

static void end(void *data, const char *name)
{
	struct reader *r = data;

	if (r->skip > 0) {
		r->skip = r->depth-- == r->skip ? 0 : r->skip;
		return;
	}
	r->depth--;
	if (strcmp(name, "pci") == 0 && r->levels > 0)
		end_pci(r);
	else if (strcmp(name, "gpu") == 0)
		r->gpu = -1;
	else if (strcmp(name, "cpu") == 0)
		r->cpu = -1;
}

/* No topology file declares a document type: entities are refused before any is expanded. */
static void doctype(void *data, const char *name, const char *system, const char *public,
		    int internal)
{
	fail(data, "a document type (%.40s) has no place in a topology", name);
}

static void join_links(struct reader *r)
{
	for (int i = 0; i < r->nlinks; i++) {
		const struct link *link = &r->link[i];
		int to = 0, sum;

		while (to < r->sys->ngpus && r->sys->gpu[to].bus != link->target)
			to++;
		if (to == r->sys->ngpus)
			continue; /* a GPU that the job does not use */
		sum = r->sys->gpu[link->gpu].links[to] + link->count;
		if (to == link->gpu)
			snprintf(r->sys->note, sizeof(r->sys->note),
				 "NVLinks of GPU %d to itself are left out", to);
		else if (sum > 32)
			fail(r, "NVLinks from %llx to %llx cannot be",
			     (unsigned long long)r->sys->gpu[link->gpu].bus,
			     (unsigned long long)link->target);
		else
			r->sys->gpu[link->gpu].links[to] = (unsigned char)sum;
	}
}

/* A vendor's file for NCCL_TOPO_FILE has places alone: NCCL puts in what the host has. */
static void take_places(struct reader *r)
{
	struct topo_system *sys = r->sys;

	if (sys->ngpus > 0 || r->nplaces == 0)
		return;
	memcpy(sys->gpu, r->place, sizeof(sys->gpu));
	memcpy(r->gpu_way, r->place_way, sizeof(r->gpu_way));
	sys->ngpus = r->nplaces;
	if (sys->nnics == 0) {
		memcpy(sys->nic, r->port, sizeof(sys->nic));
		memcpy(r->nic_way, r->port_way, sizeof(r->nic_way));
		sys->nnics = r->nports;
	}
	snprintf(sys->note, sizeof(sys->note),
		 "no GPU is in the file: its %d display devices are taken as their places",
		 r->nplaces);
}

/* Traffic between a NIC and the nearest GPU goes no higher than the bridge that both are below: a slow link
 * above that is charged to neither (topo.cc computes paths likewise). */
static void shorten_ways(struct reader *r)
{
	struct topo_system *sys = r->sys;

	for (int n = 0; n < sys->nnics; n++) {
		const struct way *nic = &r->nic_way[n];
		double best = 0;

		for (int g = 0; g < sys->ngpus; g++) {
			const struct way *gpu = &r->gpu_way[g];
			double slowest = INFINITY;
			int common = 0;

			while (common < nic->n && common < gpu->n &&
			       nic->number[common] == gpu->number[common])
				common++;
			for (int i = common; i < nic->n; i++)
				slowest = fmin(slowest, nic->gbs[i]);
			for (int i = common; i < gpu->n; i++)
				slowest = fmin(slowest, gpu->gbs[i]);
			if (common > 0 && isfinite(slowest))
				best = fmax(best, slowest);
		}
		if (best > 0)
			sys->nic[n].pcie_gbs = best;
	}
}

int topo_parse_xml(struct topo_system *sys, const char *text, size_t size, const char *source,
		   struct error *err)
{
	struct reader *r = must(calloc(1, sizeof(*r)));
	int rc;

	memset(sys, 0, sizeof(*sys));
	snprintf(sys->name, sizeof(sys->name), "xml");
	snprintf(sys->source, sizeof(sys->source), "%.200s", source);
	sys->nnodes = sys->leaf_nodes = 1;
	sys->oversubscription = 1;
	r->parser = must(XML_ParserCreate(NULL));
	r->sys = sys;
	r->err = err;
	r->cpu = r->gpu = -1;
	XML_SetUserData(r->parser, r);
	XML_SetElementHandler(r->parser, start, end);
	XML_SetStartDoctypeDeclHandler(r->parser, doctype);
	if (XML_Parse(r->parser, text, (int)size, 1) == XML_STATUS_ERROR && r->rc == 0)
		fail(r, "no NCCL topology: %s", XML_ErrorString(XML_GetErrorCode(r->parser)));
	take_places(r);
	if (sys->ngpus == 0)
		fail(r, "no GPU in it");
	if (r->rc == 0) {
		join_links(r);
		shorten_ways(r);
	}
	for (int i = 0; i < sys->ngpus; i++)
		if (!sys->by_sm && sys->gpu[i].model && !topo_gpu_has_p2p(sys->gpu[i].model))
			sys->p2p = TOPO_P2P_NONE;
	rc = r->rc;
	sys->domain = r->nhosts;
	sys->full_gpus = sys->ngpus;
	sys->nvls = sys->ngpus > 1 && sys->gpu[0].switch_links > 0 && sys->gpu[0].model != NULL &&
		    sys->gpu[0].model->sm >= 90;
	XML_ParserFree(r->parser);
	free(r);
	return rc;
}

int topo_read_xml(struct topo_system *sys, const char *path, struct error *err)
{
	char *text;
	size_t size;
	int rc = topo_read(path, &text, &size, err);

	if (rc != 0)
		return rc;
	rc = topo_parse_xml(sys, text, size, path, err);
	free(text);
	return rc;
}
