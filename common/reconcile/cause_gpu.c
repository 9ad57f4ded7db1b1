/* cause_gpu.c: causes on the GPU itself: clocks, errors, other processes. */
#include "reconcile/cause_parts.h"

#include <stdio.h>

#include "machine/nvml.h"

/* ---- clocks ------------------------------------------------------------------------------- */

/* NVML's bits (nvml.h, "Clocks Event Reasons") */
#define APPLICATION_CLOCKS 0x02
#define IDLE		   0x01

#define HELD_SHARE 0.01 /* of the sweep, with clocks held down */
#define HELD_LEAST 1e-3 /* seconds */

/* True when the counter moved enough; -1 of a counter is "not seen". */
static bool held(int64_t step_ns, double seconds)
{
	double s = (double)step_ns * 1e-9;

	return step_ns > 0 && s > HELD_LEAST && s > HELD_SHARE * seconds;
}

/* Clocks set lower by somebody show while the GPU works. */
static bool set_low(const struct observed_gpu *gpu)
{
	return gpu->reasons > 0 && (gpu->reasons & APPLICATION_CLOCKS) && !(gpu->reasons & IDLE) &&
	       gpu->sm_mhz > 0 && gpu->sm_max_mhz > 0 && gpu->sm_mhz < 0.9 * gpu->sm_max_mhz;
}

static void check_clocks(const struct observation *o, int h, int i, struct cause_finding *f)
{
	const struct observed_gpu *before = &o->before[h].gpus[i], *after = &o->after[h].gpus[i];
	int64_t power = cause_step(before->power_ns, after->power_ns);
	int64_t heat = cause_step(before->thermal_ns, after->thermal_ns);
	double seconds = cause_seconds(o, h);
	const char *reason = nvml_held_by(after->reasons);

	if (held(power, seconds))
		cause_yes(f, "GPU %s on %s: held down for power for %.2f s of %.2f s", after->bus,
			  cause_host(o, h), (double)power * 1e-9, seconds);
	if (held(heat, seconds))
		cause_yes(f, "GPU %s on %s: held down for heat for %.2f s of %.2f s", after->bus,
			  cause_host(o, h), (double)heat * 1e-9, seconds);
	if (reason && !held(power, seconds) && !held(heat, seconds))
		cause_yes(f, "GPU %s on %s: %s, at %d of %d MHz after the sweep", after->bus,
			  cause_host(o, h), reason, after->sm_mhz, after->sm_max_mhz);
	else if (set_low(after))
		cause_yes(f, "GPU %s on %s: set to %d of %d MHz", after->bus, cause_host(o, h),
			  after->sm_mhz, after->sm_max_mhz);
	if (after->reasons < 0 && power < 0 && heat < 0)
		cause_unseen(f, "%s", cause_no_nvml(o, h));
}

void cause_clocks(const struct observation *o, struct cause_finding *f)
{
	cause_each_gpu(o, f, check_clocks);
}

/* ---- errors ------------------------------------------------------------------------------- */

static void check_errors(const struct observation *o, int h, int i, struct cause_finding *f)
{
	const struct observed_gpu *before = &o->before[h].gpus[i], *after = &o->after[h].gpus[i];
	const struct {
		int64_t step;
		const char *name;
	} counters[] = {
		{ cause_step(before->ecc_uncorrected, after->ecc_uncorrected),
		  "uncorrected memory errors" },
		{ cause_step(before->ecc_corrected, after->ecc_corrected),
		  "corrected memory errors" },
		{ cause_step(before->link_replays, after->link_replays), "NVLink replays" },
		{ cause_step(before->link_recoveries, after->link_recoveries),
		  "NVLink recoveries" },
	};
	int64_t crc = cause_step(before->link_crc, after->link_crc);
	int seen = 0, moved = 0;

	for (size_t k = 0; k < sizeof(counters) / sizeof(counters[0]); k++) {
		seen += counters[k].step >= 0;
		moved += counters[k].step > 0;
		if (counters[k].step > 0)
			cause_yes(f, "GPU %s on %s: %lld %s during the run", after->bus,
				  cause_host(o, h), (long long)counters[k].step, counters[k].name);
	}
	/* Healthy links count some in every run (H200: 5 to 114 a run, none of them replayed): they
	 * say something beside others alone. */
	if (moved > 0 && crc > 0)
		cause_yes(f, "GPU %s on %s: %lld NVLink CRC errors during the run", after->bus,
			  cause_host(o, h), (long long)crc);
	if (seen == 0)
		cause_unseen(f, "%s", cause_no_nvml(o, h));
}

void cause_errors(const struct observation *o, struct cause_finding *f)
{
	cause_each_gpu(o, f, check_errors);
}

/* ---- other processes ---------------------------------------------------------------------- */

static int ranks_on(const struct observation *o, int h, const struct observed_gpu *gpu)
{
	int n = 0;

	for (int r = 0; r < o->nranks; r++)
		n += o->ranks_before[r].node == o->before[h].node &&
		     cause_same_bus(&o->ranks_before[r], gpu);
	return n;
}

/* Containers hide or renumber processes: then their number is what is left to go by. */
static bool look_at(const struct observation *o, int h, const struct observed_gpu *gpu,
		    struct cause_finding *f, bool *found)
{
	int others = gpu->processes - gpu->processes_ours, ranks = ranks_on(o, h, gpu);

	if (gpu->processes < 0 || gpu->processes_ours < 0)
		return false;
	if (gpu->processes < ranks)
		return false;
	*found = (gpu->processes_ours >= ranks && others > 0) || gpu->processes > ranks;
	if (gpu->processes_ours >= ranks && others > 0)
		cause_yes(f,
			  "GPU %s on %s: %d other process%s with %.1f GiB, process %d among them",
			  gpu->bus, cause_host(o, h), others, others == 1 ? "" : "es",
			  (double)gpu->foreign_bytes / (1 << 30), gpu->foreign_pid);
	else if (gpu->processes > ranks)
		cause_yes(f, "GPU %s on %s: %d processes, of which %d are this job's", gpu->bus,
			  cause_host(o, h), gpu->processes, ranks);
	return true;
}

static void check_processes(const struct observation *o, int h, int i, struct cause_finding *f)
{
	const struct observed_gpu *before = &o->before[h].gpus[i], *after = &o->after[h].gpus[i];
	bool found = false, seen = look_at(o, h, before, f, &found);

	if (!found)
		seen |= look_at(o, h, after, f, &found);
	if (seen)
		return;
	if (before->processes >= 0)
		cause_unseen(f, "NVML does not list this job's own processes, so no others either");
	else
		cause_unseen(f, "%s", cause_no_nvml(o, h));
}

void cause_processes(const struct observation *o, struct cause_finding *f)
{
	cause_each_gpu(o, f, check_processes);
}
