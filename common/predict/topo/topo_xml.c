/* topo_xml.c: NCCL's topology file. It may come from anywhere: its values are bounded, and checked
 * before use. */
#include "topo/topo.h"

#include <expat.h>

enum { MAX_DEPTH = 32, MAX_LINKS = 1024, NVSWITCH_CLASS = 0x068000 };

/* One level of <pci>: the upper levels decide the bandwidth of the lower ones. */
struct level {
	double gbs; /* slowest link from here up to the CPU */
	int number; /* of this <pci> in the file */
	uint64_t bus;
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
	int gpu; /* the one that is open, -1 for none */
	struct link link[MAX_LINKS];
	int nlinks, rc;
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

static void start_pci(struct reader *r, const char **attrs)
{
	struct level *level = &r->level[r->levels];
	double gbs = pci_gbs(r, attrs);

	if (r->cpu < 0 || !bus_parse(attribute(attrs, "busid"), &level->bus)) {
		fail(r, "a pci outside of a cpu, or without a busid");
		return;
	}
	for (int i = 0; i < r->levels; i++)
		if (r->level[i].bus == level->bus)
			fail(r, "pci %s lies below itself", attribute(attrs, "busid"));
	level->gbs = r->levels > 0 ? fmin(gbs, level[-1].gbs) : gbs;
	level->number = r->pcis++;
	r->levels++;
}

static void start_gpu(struct reader *r, const char **attrs)
{
	struct topo_system *sys = r->sys;
	struct topo_gpu *gpu = &sys->gpu[sys->ngpus];
	struct level *level;

	if (r->levels == 0 || sys->ngpus == TOPO_MAX_GPUS || r->gpu >= 0) {
		fail(r, "a gpu outside of a pci, inside of a gpu, or more than %d", TOPO_MAX_GPUS);
		return;
	}
	level = &r->level[r->levels - 1];
	for (int i = 0; i < sys->ngpus; i++)
		if (sys->gpu[i].bus == level->bus)
			fail(r, "GPU %llx appears twice", (unsigned long long)level->bus);
	gpu->model = topo_gpu_model_sm((int)number(r, attrs, "sm", 0, 0, 300));
	gpu->bus = level->bus;
	gpu->cpu = r->cpu;
	gpu->pcie_gbs = level->gbs;
	for (int i = 0; i < r->levels - 1 && i < TOPO_MAX_ABOVE; i++)
		gpu->above[gpu->nabove++] = r->level[i].number;
	gpu->pci_switch = gpu->nabove > 0 ? gpu->above[0] : -1;
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

static void start_net(struct reader *r, const char **attrs)
{
	struct topo_system *sys = r->sys;
	const char *name = attribute(attrs, "name");
	long mbps = number(r, attrs, "speed", 10000, -1, 100000000);
	struct topo_nic *nic = &sys->nic[sys->nnics];

	if (sys->nnics == TOPO_MAX_NICS || r->cpu < 0) {
		fail(r, "a net outside of a cpu, or more than %d", TOPO_MAX_NICS);
		return;
	}
	snprintf(nic->name, sizeof(nic->name), "%s", name != NULL ? name : "net");
	nic->pci_switch = r->levels > 1 ? r->level[0].number : -1;
	nic->gbs = mbps > 0 ? mbps / 8000. : 10 / 8.; /* topo.cc: an unknown speed is 10 Gb/s */
	nic->pcie_gbs = r->levels > 0 ? r->level[r->levels - 1].gbs : 5000;
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
	if (strcmp(name, "cpu") == 0)
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

static void end(void *data, const char *name)
{
	struct reader *r = data;

	r->depth--;
	if (strcmp(name, "pci") == 0 && r->levels > 0)
		r->levels--;
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
		if (to == link->gpu || sum > 32)
			fail(r, "NVLinks from %llx to %llx cannot be",
			     (unsigned long long)r->sys->gpu[link->gpu].bus,
			     (unsigned long long)link->target);
		else
			r->sys->gpu[link->gpu].links[to] = (unsigned char)sum;
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
	sys->by_sm = true;
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
	if (sys->ngpus == 0)
		fail(r, "no GPU in it");
	if (r->rc == 0)
		join_links(r);
	rc = r->rc;
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
