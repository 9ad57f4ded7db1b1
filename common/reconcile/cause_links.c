/* cause_links.c: causes between the GPUs of a host: NVLink, PCIe, P2P, ACS and IOMMU. */
#include "reconcile/cause_parts.h"

#include <stdio.h>
#include <string.h>

static bool hop_is(const struct observation *o, const char *hop)
{
	return strcmp(o->run.hop, hop) == 0;
}

/* Does PCIe carry the traffic? Not known, it may. */
static bool over_pcie(const struct observation *o)
{
	return !hop_is(o, "NVLink") || o->run.nodes > 1;
}

/* ---- NVLinks ------------------------------------------------------------------------------ */

/* NVLinks of the best GPU of the job: what the others should have, where no spec says it. */
static int most_links(const struct observation *o)
{
	int most = -1;

	for (int h = 0; h < o->nhosts; h++)
		for (int i = 0; i < o->before[h].ngpus; i++)
			if (o->before[h].gpus[i].links > most)
				most = o->before[h].gpus[i].links;
	return most;
}

static void check_links(const struct observation *o, int h, int i, struct cause_finding *f)
{
	const struct observed_gpu *gpu = &o->before[h].gpus[i];
	int want = o->run.links >= 0 ? o->run.links : most_links(o);

	if (gpu->links < 0)
		cause_unseen(f, "%s", cause_no_nvml(o, h));
	else if (gpu->links_active < want)
		cause_yes(f, "GPU %s on %s: %d of %d NVLinks are up", gpu->bus, cause_host(o, h),
			  gpu->links_active, want);
}

/* NCCL's own count first: it is there without NVML, and what NCCL works with. */
void cause_links(const struct observation *o, struct cause_finding *f)
{
	const struct observed_run *run = &o->run;

	if (hop_is(o, "none"))
		return;
	if (run->links >= 0 && run->links_found >= 0 && run->links_found < run->links)
		cause_yes(f, "NCCL found %d NVLinks on a GPU that should have %d", run->links_found,
			  run->links);
	if (run->links_found >= 0 && run->links >= 0 && run->links_found >= run->links)
		return;
	cause_each_gpu(o, f, check_links);
}

/* ---- PCIe --------------------------------------------------------------------------------- */

static int larger(int a, int b)
{
	return a > b ? a : b;
}

/* An idle GPU's link falls to generation 1, so that the better of the two looks counts. 0: fine,
 * 1: degraded, -1: not seen. */
static int degraded(const int before[4], const int after[4], char *text, size_t len)
{
	int width = larger(before[0], after[0]), most = larger(before[1], after[1]);
	int gen = larger(before[2], after[2]), best = larger(before[3], after[3]);

	if ((width < 0 || most < 0) && (gen < 0 || best < 0))
		return -1;
	snprintf(text, len, "PCIe x%d of x%d, generation %d of %d", width, most, gen, best);
	return (width > 0 && width < most) || (gen > 0 && gen < best);
}

static void check_pcie(const struct observation *o, int h, int i, struct cause_finding *f)
{
	const struct observed_gpu *b = &o->before[h].gpus[i], *a = &o->after[h].gpus[i];
	const int before[4] = { b->width, b->max_width, b->gen, b->max_gen };
	const int after[4] = { a->width, a->max_width, a->gen, a->max_gen };
	char text[80];
	int bad = degraded(before, after, text, sizeof(text));

	if (bad > 0)
		cause_yes(f, "GPU %s on %s: %s", b->bus, cause_host(o, h), text);
	else if (bad < 0)
		cause_unseen(
			f, "neither /sys nor NVML shows the PCIe link (virtual machines hide it)");
}

static void check_nics(const struct observation *o, int h, struct cause_finding *f)
{
	for (int i = 0; i < o->before[h].nnics && i < o->after[h].nnics; i++) {
		const struct observed_nic *b = &o->before[h].nics[i], *a = &o->after[h].nics[i];
		const int before[4] = { b->width, b->max_width, b->gen, b->max_gen };
		const int after[4] = { a->width, a->max_width, a->gen, a->max_gen };
		char text[80];

		if (b->rdma == 1 && degraded(before, after, text, sizeof(text)) > 0)
			cause_yes(f, "NIC %s on %s: %s", b->name, cause_host(o, h), text);
	}
}

void cause_pcie(const struct observation *o, struct cause_finding *f)
{
	if (!over_pcie(o))
		return;
	cause_each_gpu(o, f, check_pcie);
	for (int h = 0; h < o->nhosts && o->run.nodes > 1; h++)
		check_nics(o, h, f);
}

/* ---- P2P ---------------------------------------------------------------------------------- */

static void check_p2p(const struct observation *o, int h, int i, struct cause_finding *f)
{
	const struct observed_gpu *gpu = &o->before[h].gpus[i];

	if (o->before[h].ngpus < 2)
		return;
	if (gpu->peers < 1)
		cause_unseen(f, "%s", cause_no_nvml(o, h));
	else if (gpu->peers_refused > 0)
		cause_yes(f, "GPU %s on %s: refused to %d of %d others: %s", gpu->bus,
			  cause_host(o, h), gpu->peers_refused, gpu->peers, gpu->refusal);
}

void cause_p2p(const struct observation *o, struct cause_finding *f)
{
	cause_each_gpu(o, f, check_p2p);
}

static void check_acs(const struct observation *o, int h, int i, struct cause_finding *f)
{
	const struct observed_gpu *gpu = &o->before[h].gpus[i];

	if (gpu->bridges_acs > 0)
		cause_yes(f, "ACS of bridge %s above GPU %s on %s sends P2P traffic up to the CPU",
			  gpu->acs_bridge, gpu->bus, cause_host(o, h));
	if (gpu->iommu[0] && strcmp(gpu->iommu, "none") != 0 && strcmp(gpu->iommu, "identity") != 0)
		cause_yes(f, "the IOMMU translates what GPU %s on %s sends (%s)", gpu->bus,
			  cause_host(o, h), gpu->iommu);
	if (gpu->bridges < 0 || !gpu->iommu[0])
		cause_unseen(f, "/sys does not show the bridges and the IOMMU above the GPUs");
	else if (gpu->bridges_unread > 0)
		cause_unseen(f, "the ACS of PCIe bridges can be read by root alone");
}

void cause_acs(const struct observation *o, struct cause_finding *f)
{
	if (over_pcie(o))
		cause_each_gpu(o, f, check_acs);
}

/* ---- what NCCL made of it ----------------------------------------------------------------- */

void cause_transport(const struct observation *o, struct cause_finding *f)
{
	const struct observed_nccl *nccl = &o->nccl;

	if (o->run.shared_gpu == 1 || hop_is(o, "SHM") || o->run.ranks <= o->run.nodes)
		return;
	if (nccl->shm > 0)
		cause_yes(f, "%d connections inside hosts go through host memory: %s", nccl->shm,
			  nccl->shm_example);
	if (nccl->net > 0)
		cause_yes(f, "%d connections inside hosts go over the network: %s", nccl->net,
			  nccl->net_example);
	if (nccl->p2p + nccl->shm + nccl->net <= 0)
		cause_unseen(f, "%s", cause_no_log(o));
}

void cause_rings(const struct observation *o, struct cause_finding *f)
{
	const struct observed_nccl *nccl = &o->nccl;

	if (o->run.shared_gpu == 1)
		return;
	for (int i = 0; i < nccl->nfindings; i++)
		cause_yes(f, "%s", nccl->findings[i].text);
	if (nccl->p2p + nccl->shm + nccl->net + nccl->far <= 0)
		cause_unseen(f, "%s", cause_no_log(o));
}
