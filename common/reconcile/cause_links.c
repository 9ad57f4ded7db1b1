/* cause_links.c: causes between the GPUs of a host: NVLink, PCIe, P2P, ACS and IOMMU. */
#include "reconcile/cause_parts.h"

static bool hop_is(const struct observation *o, const char *hop)
{
	return strcmp(o->run.hop, hop) == 0;
}

/* True when PCIe carries the traffic. Where that is not known, it may. */
static bool over_pcie(const struct observation *o)
{
	return !hop_is(o, "NVLink") || o->run.nodes > 1;
}

/* ---- NVLinks ------------------------------------------------------------------------------ */

/* NVLinks of the best GPU of the job: what the others should have, where no spec says it. */
static int64_t most_links(const struct observation *o)
{
	int64_t most = -1;

	for (int h = 0; h < o->nhosts; h++) {
		const char *gpu;

		for (size_t at = 0; (gpu = reading_next(&o->before[h], "links", &at));)
			if (cause_before(o, h, gpu, "links") > most)
				most = cause_before(o, h, gpu, "links");
	}
	return most;
}

static void check_links(const struct observation *o, int h, const char *gpu,
			struct cause_finding *f)
{
	int64_t want = o->run.links >= 0 ? o->run.links : most_links(o);
	int64_t up = cause_before(o, h, gpu, "links_active");

	if (cause_before(o, h, gpu, "links") < 0)
		cause_unseen(f, "%s", cause_no_nvml(o, h));
	else if (up < want)
		cause_yes(f, "%s on %s: %" PRId64 " of %" PRId64 " NVLinks are up", gpu,
			  cause_host(o, h), up, want);
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

void cause_pcie(const struct observation *o, struct cause_finding *f)
{
	if (!over_pcie(o))
		return;
	cause_rules(o, "pcie", "GPU ",
		    "neither /sys nor NVML shows the PCIe link (virtual machines hide it)", f);
	if (o->run.nodes > 1)
		cause_rules(o, "pcie", "RDMA ", "", f);
}

/* ---- P2P ---------------------------------------------------------------------------------- */

static int gpus_of(const struct observation *o, int h)
{
	int n = 0;

	for (size_t at = 0; reading_next(&o->before[h], "bus", &at);)
		n++;
	return n;
}

static void check_p2p(const struct observation *o, int h, const char *gpu, struct cause_finding *f)
{
	int64_t peers = cause_before(o, h, gpu, "peers");
	int64_t refused = cause_before(o, h, gpu, "peers_refused");

	if (gpus_of(o, h) < 2)
		return;
	if (peers < 1)
		cause_unseen(f, "%s", cause_no_nvml(o, h));
	else if (refused > 0)
		cause_yes(f, "%s on %s: refused to %" PRId64 " of %" PRId64 " others: %.60s", gpu,
			  cause_host(o, h), refused, peers, cause_text(o, h, gpu, "refusal"));
}

void cause_p2p(const struct observation *o, struct cause_finding *f)
{
	cause_each_gpu(o, f, check_p2p);
}

static void check_acs(const struct observation *o, int h, const char *gpu, struct cause_finding *f)
{
	const char *iommu = cause_text(o, h, gpu, "iommu");

	if (cause_before(o, h, gpu, "bridges_acs") > 0)
		cause_yes(f, "ACS of bridge %.31s above %s on %s sends P2P traffic up to the CPU",
			  cause_text(o, h, gpu, "acs_bridge"), gpu, cause_host(o, h));
	if (iommu[0] && strcmp(iommu, "none") != 0 && strcmp(iommu, "identity") != 0)
		cause_yes(f, "the IOMMU translates what %s on %s sends (%.15s)", gpu,
			  cause_host(o, h), iommu);
	if (cause_before(o, h, gpu, "bridges") < 0 || !iommu[0])
		cause_unseen(f, "/sys does not show the bridges and the IOMMU above the GPUs");
	else if (cause_before(o, h, gpu, "bridges_unread") > 0)
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
