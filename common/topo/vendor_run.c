/* vendor_run.c: which of the vendors' rows are about this GPU and its links, and how far it got. */
#include "topo/vendor_run.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "topo/vendor.h"

/* Capacities are told in round numbers: 141 GB are 140.4 GiB, 80 GB 79.6. */
#define CAPACITY_NEAR .04

enum figure { NVLINK, MEMORY, PCIE, NIC, FIGURES };

/* The search: what is looked for, and what to print when it is there. */
struct search {
	const struct vendor_run *run;
	const struct topo_gpu_model *gpu;
	int pcie_gen;	 /* 0: unknown */
	double nic_gbps; /* 0: none */
	char text[FIGURES][400];
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

/* GPUs of one name come on boards of several kinds: as cards, as bridged cards, else on a baseboard
 * (SXM), which product names need not say. Bits. */
static unsigned boards(const char *text)
{
	return (has_word(text, "PCIe") ? 1u : 0) | (has_word(text, "NVL") ? 2u : 0);
}

/* True when the item's capacity ("80GB") fits the device's. An item without one fits. */
static bool capacity_fits(const char *item, size_t memory)
{
	bool any = false;

	for (const char *at = item; *at; at++) {
		char *end;
		double gb;

		if (!isdigit((unsigned char)*at) || (at > item && isalnum((unsigned char)at[-1])))
			continue;
		gb = strtod(at, &end);
		if (strncmp(end, "GB", 2) != 0)
			continue;
		any = true;
		if (fabs((double)memory / 1073741824.0 - gb) <= CAPACITY_NEAR * gb)
			return true;
	}
	return !any || memory == 0;
}

static bool about_gpu(const struct search *s, const char *item)
{
	unsigned mine = boards(s->run->device), its = boards(item);

	return has_word(item, s->gpu->name) && (mine ? (mine & its) != 0 : its == 0) &&
	       capacity_fits(item, s->run->memory);
}

/* A line rate is that of any network but Slingshot and Omni-Path, which have rows of their own. */
static bool about_nic(const struct search *s, const struct vendor_row *row)
{
	bool slingshot = strstr(row->item, "Slingshot") != NULL;

	return s->nic_gbps > 0 && !strstr(row->item, "Omni-Path") &&
	       slingshot == (s->run->sys->transport == TOPO_SLINGSHOT) &&
	       fabs(strtod(row->value, NULL) - s->nic_gbps) < 1;
}

static int figure_of(const struct search *s, const struct vendor_row *row)
{
	char pcie[32];

	snprintf(pcie, sizeof(pcie), "PCIe Gen%d x16", s->pcie_gen);
	if (strcmp(row->category, "nvlink_gpu_unidir") == 0 && about_gpu(s, row->item))
		return NVLINK;
	if (strcmp(row->category, "memory_bandwidth") == 0 && about_gpu(s, row->item))
		return MEMORY;
	if (strcmp(row->category, "pcie_x16_unidir") == 0 && strcmp(row->item, pcie) == 0)
		return PCIE;
	if (strcmp(row->category, "nic_line_rate") == 0 && about_nic(s, row))
		return NIC;
	return -1;
}

/* ", best 80.3 % of it, predicted 81.8 %" */
static void put_percents(const struct vendor_run *run, double gbs, char *text, size_t len)
{
	size_t n = 0;

	text[0] = '\0';
	if (gbs <= 0)
		return;
	if (run->measured > 0)
		n = (size_t)snprintf(text, len, ", best busbw %.1f %% of it",
				     100 * run->measured / gbs);
	if (run->predicted > 0 && n < len)
		snprintf(text + n, len - n, ", predicted %.1f %%", 100 * run->predicted / gbs);
}

static int take(void *ctx, const struct vendor_row *row)
{
	static const char *const names[FIGURES] = { "NVLink", "memory", "PCIe", "NIC" };
	struct search *s = ctx;
	int figure = figure_of(s, row);
	char *end, percents[128];
	double gbs = strtod(row->value, &end);

	if (figure < 0 || s->text[figure][0])
		return 0;
	if (end == row->value || *end || !(gbs >= 0) || isinf(gbs))
		return 0; /* no number */
	if (strncmp(row->unit, "Gb/s", 4) == 0)
		gbs /= 8;
	put_percents(s->run, gbs, percents, sizeof(percents));
	snprintf(s->text[figure], sizeof(s->text[figure]), "  %-6s %8.2f GB/s %s%s (%.80s: %s)",
		 names[figure], gbs,
		 figure == NIC	    ? "per port"
		 : figure == MEMORY ? "of the GPU"
				    : "per direction",
		 percents, row->item, vendor_mark(row));
	return 0;
}

/* NCCL counts 12 GB/s for generation 3 and doubles per generation (topo_pcie_gbs); a narrower link
 * is as fast as one of a generation before. */
static int pcie_gen(const struct topo_system *sys)
{
	for (int gen = 3; sys && sys->ngpus > 0 && gen <= 7; gen++)
		if (fabs(topo_pcie_gbs(gen, 16) - sys->gpu[0].pcie_gbs) < 1)
			return gen;
	return 0;
}

bool vendor_row_about(const struct topo_system *sys, const struct vendor_row *row)
{
	struct vendor_run run = { .device = sys->gpu[0].model->name, .sys = sys };
	struct search s = { .run = &run,
			    .gpu = sys->gpu[0].model,
			    .pcie_gen = pcie_gen(sys),
			    .nic_gbps = sys->nnics > 0 ? 8 * sys->nic[0].gbs : 0 };

	return figure_of(&s, row) >= 0;
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

static void put_summary(const struct vendor_run *run, char *text, size_t len)
{
	int n = snprintf(text, len, "Vendors' figures for %.64s; best busbw %.2f GB/s at %llu B",
			 run->device, run->measured, (unsigned long long)run->measured_size);

	if (run->predicted > 0 && n > 0 && (size_t)n < len)
		snprintf(text + n, len - (size_t)n, ", predicted %.2f at %llu B", run->predicted,
			 (unsigned long long)run->predicted_size);
}

/* A figure without a row gets the reason. */
static void put_missing(struct search *s)
{
	const struct topo_system *sys = s->run->sys;
	const char *unknown = "no row for this GPU";
	const char *why[FIGURES] = { unknown, unknown, NULL, NULL };
	static const char *const names[FIGURES] = { "NVLink", "memory", "PCIe", "NIC" };

	why[PCIE] = !sys ? "no topology in this run (--topo)" : "no row for what its topology has";
	why[NIC] = !sys		 ? why[PCIE]
		   : !sys->nnics ? "none in the topology"
				 : "no row for what its topology has";
	for (int i = 0; i < FIGURES; i++)
		if (!s->text[i][0])
			snprintf(s->text[i], sizeof(s->text[i]), "  %-6s %s", names[i], why[i]);
}

int vendor_run_lines(const struct vendor_run *run, const char *path,
		     int (*line)(void *ctx, const char *text), void *ctx, struct error *err)
{
	struct search s = { .run = run, .gpu = topo_gpu_model(run->device) };
	char text[600], names[400];
	int rc;

	if (!s.gpu || !has_word(run->device, s.gpu->name)) {
		topo_gpu_names(names, sizeof(names));
		snprintf(text, sizeof(text), "Vendors' figures: none for '%.64s'; known: %s",
			 run->device, names);
		return line(ctx, text);
	}
	s.pcie_gen = pcie_gen(run->sys);
	if (run->sys && run->sys->nnics > 0)
		s.nic_gbps = 8 * run->sys->nic[0].gbs;
	rc = vendor_each(path, take, &s, err);
	if (rc != 0)
		return rc;
	put_missing(&s);
	put_summary(run, text, sizeof(text));
	rc = line(ctx, text);
	for (int i = 0; i < FIGURES && rc == 0; i++)
		rc = line(ctx, s.text[i]);
	return rc;
}
