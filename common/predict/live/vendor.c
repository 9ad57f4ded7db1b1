/* vendor.c: the rows of vendor_specs.csv about a GPU and its links, and the share that a run reached. */
#include "live/vendor.h"

/* A row's fields: "nvlink_gpu_unidir", "H100/H200 SXM5", "450", "GB/s", ..., "yes", "partly" or "no". */
enum { CATEGORY, ITEM, VALUE, UNIT, SOURCE, VERIFIED, NOTE, COLUMNS };

/* Split a CSV line in place; fields may be quoted. Returns the number of fields. */
static int split_csv(char *line, char *field[COLUMNS])
{
	int n = 0;
	char *at = line;

	while (n < COLUMNS) {
		char *to = at;
		bool quoted = *at == '"';

		field[n++] = at;
		at += quoted;
		for (; *at != '\0' && (quoted || *at != ','); at++) {
			if (*at == '"' && at[1] != '"')
				quoted = false;
			else
				*to++ = *at == '"' ? *at++ : *at;
		}
		if (*at == '\0') {
			*to = '\0';
			return n;
		}
		*to = '\0';
		at++;
	}
	return n;
}

/* ---- a machine and a run --------------------------------------------------------------------- */
enum figure { NVLINK, MEMORY, PCIE, NIC, FIGURES };

static const struct {
	const char *category, *name, *per;
} figures[FIGURES] = {
	[NVLINK] = { "nvlink_gpu_unidir", "NVLink", "per direction" },
	[MEMORY] = { "memory_bandwidth", "memory", "of the GPU" },
	[PCIE] = { "pcie_x16_unidir", "PCIe", "per direction" },
	[NIC] = { "nic_line_rate", "NIC", "per port" },
};

/* True when `word` is in the text, between characters that belong to no word. */
static bool has_word(const char *text, const char *word)
{
	size_t n = strlen(word);

	for (const char *at = text; (at = strcasestr(at, word)) != NULL; at++)
		if ((at == text || !isalnum((unsigned char)at[-1])) &&
		    !isalnum((unsigned char)at[n]))
			return true;
	return false;
}

/* A line rate is that of any network but Slingshot and Omni-Path, which have rows of their own. */
static bool about_nic(const struct topo_system *sys, char *const *row)
{
	bool slingshot = strstr(row[ITEM], "Slingshot") != NULL;

	return sys && sys->nnics > 0 && !strstr(row[ITEM], "Omni-Path") &&
	       slingshot == (sys->transport == TOPO_SLINGSHOT) &&
	       fabs(strtod(row[VALUE], NULL) - 8 * sys->nic[0].gbs) < 1;
}

/* NCCL counts 12 GB/s for generation 3 and doubles per generation; half the width is one less. */
static bool about_pcie(const struct topo_system *sys, const char *item)
{
	int gen = 0, n = 0;

	return sys && sys->ngpus > 0 && sscanf(item, "PCIe Gen%d x16%n", &gen, &n) == 1 && n > 0 &&
	       !item[n] && gen >= 3 && gen <= 7 &&
	       fabs(topo_pcie_gbs(gen, 16) - sys->gpu[0].pcie_gbs) < 1;
}

/* FIGURES: none of a machine with such a GPU. */
static int figure_of(const char *gpu, const struct topo_system *sys, char *const *row)
{
	for (int i = 0; i < FIGURES; i++)
		if (strcmp(row[CATEGORY], figures[i].category) == 0)
			return (i == PCIE  ? about_pcie(sys, row[ITEM])
				: i == NIC ? about_nic(sys, row)
					   : has_word(row[ITEM], gpu))
				       ? i
				       : FIGURES;
	return FIGURES;
}

void vendor_run_row(struct vendor_run *run, uint64_t size, double measured, double predicted)
{
	if (measured > run->measured) {
		run->measured = measured;
		run->measured_size = size;
	}
	if (predicted > run->predicted) {
		run->predicted = predicted;
		run->predicted_size = size;
	}
}

struct search {
	const struct vendor_run *run;
	const char *gpu;
	int (*line)(void *ctx, const char *text);
	void *ctx;
	unsigned found; /* bits: figures that there was a row of */
};

/* A row's line, where it is about this GPU and machine. */
static int take(struct search *s, char *const *row)
{
	int figure = figure_of(s->gpu, s->run->sys, row);
	char *end, text[600];
	double gbs = strtod(row[VALUE], &end);

	if (figure == FIGURES || end == row[VALUE] || *end || !(gbs >= 0) || isinf(gbs))
		return 0;
	s->found |= 1u << figure;
	if (strncmp(row[UNIT], "Gb/s", 4) == 0)
		gbs /= 8;
	snprintf(text, sizeof(text), "  %-6s %8.2f GB/s %s", figures[figure].name, gbs,
		 figures[figure].per);
	if (gbs > 0 && s->run->measured > 0)
		text_add(text, sizeof(text), ", best busbw %.1f %% of it",
			 100 * s->run->measured / gbs);
	if (gbs > 0 && s->run->predicted > 0)
		text_add(text, sizeof(text), ", predicted %.1f %%", 100 * s->run->predicted / gbs);
	text_add(text, sizeof(text), " (%.80s: %sverified)", row[ITEM],
		 strcmp(row[VERIFIED], "yes") == 0	? ""
		 : strcmp(row[VERIFIED], "partly") == 0 ? "partly "
							: "NOT ");
	return s->line(s->ctx, text);
}

static int take_file(struct search *s, const char *path, struct error *err)
{
	char dir[4096], found[4096 + 32], line[2048], *f[COLUMNS];
	int number = 0, rc = 0;
	FILE *in;

	if (path == NULL) {
		if (topo_spec_dir(dir, sizeof(dir)) != 0)
			return error_set(err, OUTCOME_USAGE, -ENOENT,
					 "no folder of specs: set HANGAR_SPECS");
		snprintf(found, sizeof(found), "%s/../vendor_specs.csv", dir);
		path = found;
	}
	rc = topo_open(path, &in, err);
	if (rc != 0)
		return rc;
	while (rc == 0 && fgets(line, sizeof(line), in) != NULL) {
		line[strcspn(line, "\r\n")] = '\0';
		if (split_csv(line, f) < COLUMNS || number++ == 0)
			continue;
		rc = take(s, f);
	}
	fclose(in);
	if (rc != 0 || number > 1)
		return rc;
	return error_usage(err, "%.200s: holds no rows", path);
}

int vendor_run_lines(const struct vendor_run *run, const char *path,
		     int (*line)(void *ctx, const char *text), void *ctx, struct error *err)
{
	const struct topo_gpu_model *gpu = topo_gpu_model(run->device);
	struct search s = { run, gpu ? gpu->name : "", line, ctx, 0 };
	char text[600], rest[400] = "";
	int rc;

	if (!gpu) {
		topo_gpu_names(rest, sizeof(rest));
		snprintf(text, sizeof(text), "Vendors' figures: none for '%.64s'; known: %s",
			 run->device, rest);
		return line(ctx, text);
	}
	if (run->predicted > 0)
		snprintf(rest, sizeof(rest), ", predicted %.2f at %llu B", run->predicted,
			 (unsigned long long)run->predicted_size);
	snprintf(text, sizeof(text), "Vendors' figures for %.64s; best busbw %.2f GB/s at %llu B%s",
		 run->device, run->measured, (unsigned long long)run->measured_size, rest);
	rc = line(ctx, text);
	rc = rc == 0 ? take_file(&s, path, err) : rc;
	for (int i = 0; i < FIGURES && rc == 0; i++)
		if (!(s.found & 1u << i)) {
			snprintf(text, sizeof(text), "  %-6s no row for this machine",
				 figures[i].name);
			rc = line(ctx, text);
		}
	return rc;
}

/* ---- a run's hook ------------------------------------------------------------------------- */
static void hook_row(void *ctx, const struct row *row)
{
	struct vendor_hook *vendor = ctx;

	vendor_run_row(&vendor->best, row->size, row->busbw_gbs, row->predicted_busbw_gbs);
}

/* An unreadable file is a remark and does not harm the run. */
static int finish(void *ctx, struct report *report)
{
	struct vendor_hook *vendor = ctx;
	struct error err = { .rank = -1 };
	int rc = vendor_run_lines(&vendor->best, NULL, report_line, report, &err);

	return rc < 0 && err.code ? report_comment(report, "Vendors' figures: %.300s", err.text)
				  : rc;
}

const struct run_hook *vendor_hook_open(struct vendor_hook *vendor, const char *device,
					const struct topo_system *sys)
{
	*vendor = (struct vendor_hook){
		.best = { .device = device, .sys = sys },
		.hook = { .ctx = vendor, .row = hook_row, .finish = finish },
	};
	return &vendor->hook;
}
