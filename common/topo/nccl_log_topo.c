/* nccl_log_topo.c: how GPUs of a host are joined, from NCCL's XML or from its graph lines. */
#include "nccl_log_topo.h"

#include <errno.h>
#include <expat.h>
#include <stdlib.h>
#include <string.h>

#include "nccl_log_raw.h"

#define NESTING	  32
#define FILE_SIZE (16 << 20)

struct reader {
	XML_Parser parser;
	struct nccl_topo *topo;
	struct nccl_topo_gpu *gpu; /* the one that is open */
	const char *trouble;
	int depth, cpus, numa, pcis;
	int open[NESTING];     /* number of the <pci> at each depth, -1 for other elements */
	uint64_t bus[NESTING]; /* its bus id */
};

static const char *attribute(const char **attributes, const char *name)
{
	for (; *attributes; attributes += 2)
		if (strcmp(attributes[0], name) == 0)
			return attributes[1];
	return NULL;
}

/* "0000:0f:00.0" as the number that NCCL makes of it: the digits without punctuation. */
static bool bus_parse(const char *text, uint64_t *bus)
{
	char digits[20];
	size_t n = 0;

	for (; text && *text && n < sizeof(digits) - 1; text++)
		if (*text != ':' && *text != '.')
			digits[n++] = *text;
	digits[n] = '\0';
	text = n > 0 && n <= 16 ? nccl_match(digits, "%x", bus) : NULL;
	return text && *text == '\0';
}

static void on_cpu(struct reader *reader, const char **attributes)
{
	const char *numa = attribute(attributes, "numaid");

	reader->cpus++;
	if (!numa || !nccl_match(numa, "%d", &reader->numa) || reader->numa < -1)
		reader->numa = -1;
}

static void on_gpu(struct reader *reader)
{
	struct nccl_topo *topo = reader->topo;
	struct nccl_topo_gpu gpu = { .cpu = reader->cpus, .numa = reader->numa };

	if (topo->n == NCCL_TOPO_GPUS) {
		reader->trouble = "more than 64 GPUs";
		return;
	}
	for (int d = 0; d < reader->depth; d++) {
		if (reader->open[d] < 0)
			continue;
		gpu.bus = reader->bus[d];
		if (gpu.n_switches < 8)
			gpu.switches[gpu.n_switches++] = reader->open[d];
	}
	if (gpu.n_switches == 0 || gpu.bus == 0) {
		reader->trouble = "a <gpu> without a <pci busid> around it";
		return;
	}
	gpu.n_switches--; /* the last one is the GPU itself */
	topo->gpus[topo->n] = gpu;
	reader->gpu = &topo->gpus[topo->n++];
}

static void on_nvlink(struct reader *reader, const char **attributes)
{
	const char *class = attribute(attributes, "tclass");
	struct nccl_topo_gpu *gpu = reader->gpu;
	uint64_t peer;

	if (!gpu || !class)
		return;
	/* PCI classes: 0x0680 is a bridge (NVSwitch), 0x03 a display (GPU). */
	if (strncmp(class, "0x0680", 6) == 0)
		gpu->nvswitch = true;
	else if (strncmp(class, "0x03", 4) == 0 && gpu->n_peers < 32 &&
		 bus_parse(attribute(attributes, "target"), &peer))
		gpu->peers[gpu->n_peers++] = peer;
}

static void XMLCALL on_start(void *data, const char *name, const char **attributes)
{
	struct reader *reader = data;

	if (reader->depth == NESTING)
		reader->trouble = "nested deeper than 32";
	if (reader->trouble) {
		XML_StopParser(reader->parser, XML_FALSE);
		return;
	}
	reader->open[reader->depth] = -1;
	reader->bus[reader->depth] = 0;
	if (strcmp(name, "pci") == 0) {
		reader->open[reader->depth] = reader->pcis++;
		bus_parse(attribute(attributes, "busid"), &reader->bus[reader->depth]);
	} else if (strcmp(name, "cpu") == 0) {
		on_cpu(reader, attributes);
	} else if (strcmp(name, "gpu") == 0) {
		on_gpu(reader);
	} else if (strcmp(name, "nvlink") == 0) {
		on_nvlink(reader, attributes);
	}
	reader->depth++;
}

static void XMLCALL on_end(void *data, const char *name)
{
	struct reader *reader = data;

	reader->depth--;
	if (strcmp(name, "gpu") == 0)
		reader->gpu = NULL;
}

static void XMLCALL on_entity(void *data, const char *name, int parameter, const char *value,
			      int len, const char *base, const char *system, const char *public,
			      const char *notation)
{
	struct reader *reader = data;

	(void)name, (void)parameter, (void)value, (void)len, (void)base;
	(void)system, (void)public, (void)notation;
	reader->trouble = "entities are refused";
	XML_StopParser(reader->parser, XML_FALSE);
}

int nccl_topo_read(struct nccl_topo *topo, const char *xml, size_t len, const char *name,
		   struct error *err)
{
	struct reader reader = { .parser = XML_ParserCreate(NULL), .topo = topo, .numa = -1 };
	int rc = 0;

	*topo = (struct nccl_topo){ 0 };
	if (!reader.parser)
		return error_set(err, OUTCOME_INTERNAL, -ENOMEM, "%s: no memory", name);
	if (len > FILE_SIZE) {
		reader.trouble = "larger than 16 MiB";
		goto out;
	}
	XML_SetUserData(reader.parser, &reader);
	XML_SetElementHandler(reader.parser, on_start, on_end);
	XML_SetEntityDeclHandler(reader.parser, on_entity);
	if (XML_Parse(reader.parser, xml, (int)len, 1) == XML_STATUS_ERROR && !reader.trouble)
		reader.trouble = XML_ErrorString(XML_GetErrorCode(reader.parser));
	if (!reader.trouble && topo->n == 0)
		reader.trouble = "no <gpu> in it";
out:
	if (reader.trouble)
		rc = error_set(err, OUTCOME_USAGE, -EINVAL, "%s, line %lu: no NCCL topology: %s",
			       name, (unsigned long)XML_GetCurrentLineNumber(reader.parser),
			       reader.trouble);
	XML_ParserFree(reader.parser);
	return rc;
}

int nccl_topo_read_file(struct nccl_topo *topo, const char *path, struct error *err)
{
	FILE *in = fopen(path, "re");
	char *data = NULL;
	size_t len;
	int rc;

	if (!in)
		return error_set(err, OUTCOME_USAGE, -errno, "%s: %s", path, strerror(errno));
	data = malloc(FILE_SIZE + 1);
	if (!data) {
		rc = error_set(err, OUTCOME_INTERNAL, -ENOMEM, "%s: no memory", path);
		goto out;
	}
	len = fread(data, 1, FILE_SIZE + 1, in);
	if (ferror(in))
		rc = error_set(err, OUTCOME_USAGE, -EIO, "%s: can't be read", path);
	else
		rc = nccl_topo_read(topo, data, len, path, err);
out:
	free(data);
	fclose(in);
	return rc;
}

/* ---- questions ---------------------------------------------------------------------------- */

static const char *const near_names[] = {
	[NEAR_UNKNOWN] = "?", [NEAR_LOC] = "LOC", [NEAR_NVL] = "NVL",
	[NEAR_NVB] = "NVB",   [NEAR_C2C] = "C2C", [NEAR_PIX] = "PIX",
	[NEAR_PXB] = "PXB",   [NEAR_PHB] = "PHB", [NEAR_SYS] = "SYS",
};

const char *nccl_near_name(enum nccl_near near)
{
	return near_names[near];
}

static const struct nccl_topo_gpu *gpu_of(const struct nccl_topo *topo, uint64_t bus)
{
	for (int i = 0; i < topo->n && bus; i++)
		if (topo->gpus[i].bus == bus)
			return &topo->gpus[i];
	return NULL;
}

static enum nccl_near near_in_file(const struct nccl_topo_gpu *a, const struct nccl_topo_gpu *b)
{
	int common = 0;

	if (!a || !b)
		return NEAR_UNKNOWN;
	if (a == b)
		return NEAR_LOC;
	if (a->nvswitch && b->nvswitch)
		return NEAR_NVL;
	for (int i = 0; i < a->n_peers; i++)
		if (a->peers[i] == b->bus)
			return NEAR_NVL;
	while (common < a->n_switches && common < b->n_switches &&
	       a->switches[common] == b->switches[common])
		common++;
	if (common > 0)
		return common == a->n_switches && common == b->n_switches ? NEAR_PIX : NEAR_PXB;
	return a->cpu == b->cpu ? NEAR_PHB : NEAR_SYS;
}

/* The first of the log's paths of this GPU. */
static int first_path(const struct nccl_log *log, const char *host, uint64_t gpu)
{
	int low = 0, high = log->n_paths;

	while (low < high) {
		int middle = low + (high - low) / 2, d = strcmp(log->paths[middle].host, host);

		if (d < 0 || (d == 0 && log->paths[middle].gpu < gpu))
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

enum nccl_near nccl_topo_near(const struct nccl_log *log, const struct nccl_topo *topo,
			      const struct nccl_member *a, const struct nccl_member *b, double *bw)
{
	if (bw)
		*bw = 0;
	if (topo)
		return near_in_file(gpu_of(topo, a->bus), gpu_of(topo, b->bus));
	for (int i = first_path(log, a->host, a->bus); i < log->n_paths; i++) {
		const struct nccl_path *path = &log->paths[i];

		if (path->host != a->host || path->gpu != a->bus)
			break;
		if (strcmp(path->kind, "GPU") != 0 || path->to != b->bus)
			continue;
		if (bw)
			*bw = path->bw;
		for (enum nccl_near near = NEAR_LOC; near <= NEAR_SYS; near++)
			if (strcmp(path->type, near_names[near]) == 0)
				return near;
	}
	return NEAR_UNKNOWN;
}

int nccl_topo_numa(const struct nccl_log *log, const struct nccl_topo *topo,
		   const struct nccl_member *member)
{
	const struct nccl_topo_gpu *gpu = topo ? gpu_of(topo, member->bus) : NULL;

	if (topo)
		return gpu ? gpu->numa : -1;
	for (int i = first_path(log, member->host, member->bus); i < log->n_paths; i++) {
		const struct nccl_path *path = &log->paths[i];

		if (path->host != member->host || path->gpu != member->bus)
			break;
		/* The one CPU that is reached without crossing to another node. */
		if (strcmp(path->kind, "CPU") == 0 && strcmp(path->type, "SYS") != 0 &&
		    path->to < 1024)
			return (int)path->to;
	}
	return -1;
}
