/* cause_links.c: causes on GPUs and between them: NVLink, PCIe, P2P, ACS, IOMMU, processes. */
#include "reconcile/cause_parts.h"

/* Returns true when PCIe carries the traffic, or may. */
static bool over_pcie(const struct observation *o)
{
	return !cause_run_is(o, "hop", "NVLink") || cause_run(o, "nodes") > 1;
}

/* NVLinks of the best GPU of the job: the expectation for the others where no spec has it. */
static int64_t most_links(const struct observation *o)
{
	int64_t most = -1;
	const char *gpu;

	for (int h = 0; h < o->nhosts; h++)
		for (size_t at = 0; (gpu = cause_next(o, h, "links", &at));)
			if (cause_before(o, h, gpu, "links") > most)
				most = cause_before(o, h, gpu, "links");
	return most;
}

static void check_links(const struct observation *o, int h, const char *gpu,
			struct cause_finding *f)
{
	int64_t want = cause_run(o, "links"), up = cause_before(o, h, gpu, "links_active");

	want = want >= 0 ? want : most_links(o);
	if (cause_before(o, h, gpu, "links") < 0)
		cause_no_nvml(o, h, f);
	else if (up < want)
		cause_yes(f, "%s on %s: %ld of %ld NVLinks are up", gpu, cause_host(o, h), up,
			  want);
}

/* NCCL's own count comes first: it needs no NVML, and NCCL works with it. */
void cause_links(const struct observation *o, struct cause_finding *f)
{
	int links = cause_run(o, "links"), found = cause_run(o, "links_found");
	bool known = links >= 0 && found >= 0;

	if (cause_run_is(o, "hop", "none") || (known && found >= links))
		return;
	if (known)
		cause_yes(f, "NCCL found %d NVLinks on a GPU that should have %d", found, links);
	cause_each_gpu(o, f, check_links);
}

void cause_pcie(const struct observation *o, struct cause_finding *f)
{
	if (!over_pcie(o))
		return;
	cause_rules(o, "pcie", "GPU ",
		    "neither /sys nor NVML shows the PCIe link (virtual machines hide it)", f);
	if (cause_run(o, "nodes") > 1)
		cause_rules(o, "pcie", "RDMA ", "", f);
}

void cause_p2p(const struct observation *o, struct cause_finding *f)
{
	if (cause_run(o, "ranks") > cause_run(o, "nodes"))
		cause_rules(o, "p2p", "GPU ", NULL, f);
}

void cause_acs(const struct observation *o, struct cause_finding *f)
{
	if (!over_pcie(o))
		return;
	cause_rules(o, "acs", "GPU ", "/sys shows the ACS of bridges above GPUs to root alone", f);
	cause_rules(o, "iommu", "GPU ", "/sys does not show the IOMMU above the GPUs", f);
}

static int ranks_on(const struct observation *o, int h, const char *gpu)
{
	const char *rank;
	int n = 0;

	for (size_t at = 0; (rank = cause_next(o, h, "pid", &at));)
		n += strcmp(cause_text(o, h, rank, "gpu"), gpu) == 0;
	return n;
}

/* Checks one of the looks; false: not seen. In containers only the number of processes tells. */
static bool look_at(const struct observation *o, int h, const struct reading *look, const char *gpu,
		    struct cause_finding *f)
{
	int64_t all = reading_value(look, gpu, "processes");
	int64_t ours = reading_value(look, gpu, "processes_ours"), others = all - ours;
	int ranks = ranks_on(o, h, gpu);

	if (all < 0 || ours < 0 || all < ranks)
		return false;
	if (ours >= ranks && others > 0)
		cause_yes(f, "%s on %s: %ld other process%s with %.1f GiB, process %ld among them",
			  gpu, cause_host(o, h), others, others == 1 ? "" : "es",
			  (double)reading_value(look, gpu, "foreign_bytes") / (1 << 30),
			  reading_value(look, gpu, "foreign_pid"));
	else if (all > ranks)
		cause_yes(f, "%s on %s: %ld processes, of which %d are this job's", gpu,
			  cause_host(o, h), all, ranks);
	return true;
}

static void check_processes(const struct observation *o, int h, const char *gpu,
			    struct cause_finding *f)
{
	struct cause_finding found = { .state = CAUSE_NO };
	bool seen = look_at(o, h, &o->before[h], gpu, &found);

	if (found.state == CAUSE_NO)
		seen |= look_at(o, h, &o->after[h], gpu, &found);
	if (found.state == CAUSE_YES)
		cause_yes(f, "%s", found.text);
	if (seen)
		return;
	if (cause_before(o, h, gpu, "processes") >= 0)
		cause_unseen(f, "NVML does not list this job's own processes, so no others either");
	else
		cause_no_nvml(o, h, f);
}

void cause_processes(const struct observation *o, struct cause_finding *f)
{
	cause_each_gpu(o, f, check_processes);
}

void cause_transport(const struct observation *o, struct cause_finding *f)
{
	int p2p = cause_nccl(o, "p2p"), shm = cause_nccl(o, "shm"), net = cause_nccl(o, "net");

	if (cause_run(o, "shared_gpu") == 1 || cause_run_is(o, "hop", "SHM") ||
	    cause_run(o, "ranks") <= cause_run(o, "nodes"))
		return;
	if (shm > 0)
		cause_yes(f, "%d connections inside hosts go through host memory: %.90s", shm,
			  cause_nccl_text(o, "shm_example"));
	if (net > 0)
		cause_yes(f, "%d connections inside hosts go over the network: %.90s", net,
			  cause_nccl_text(o, "net_example"));
	if (p2p + shm + net <= 0)
		cause_no_log(o, f);
}

void cause_rings(const struct observation *o, struct cause_finding *f)
{
	char name[24];

	if (cause_run(o, "shared_gpu") == 1)
		return;
	for (int i = 0; i < OBSERVED_FINDINGS; i++) {
		snprintf(name, sizeof(name), "finding_%d", i);
		if (cause_nccl_text(o, name)[0])
			cause_yes(f, "%.250s", cause_nccl_text(o, name));
	}
	if (cause_nccl(o, "p2p") + cause_nccl(o, "shm") + cause_nccl(o, "net") +
		    cause_nccl(o, "far") <=
	    0)
		cause_no_log(o, f);
}
