/* cause_gpu.c: causes on the GPU itself: clocks, errors, other processes. */
#include "reconcile/cause_parts.h"

#include <inttypes.h>
#include <string.h>

#include "machine/nvml.h"

/* ---- clocks ------------------------------------------------------------------------------- */

/* NVML's bits (nvml.h, "Clocks Event Reasons") */
#define APPLICATION_CLOCKS 0x02
#define IDLE		   0x01

#define HELD_FRACTION 0.01 /* of the sweep, with clocks held down */
#define HELD_MIN      1e-3 /* seconds */

/* True when the counter moved enough; -1 of a counter is "not seen". */
static bool held(int64_t step_ns, double seconds)
{
	double s = (double)step_ns * 1e-9;

	return step_ns > 0 && s > HELD_MIN && s > HELD_FRACTION * seconds;
}

/* Clocks set lower by somebody show while the GPU works. */
static bool set_low(int64_t reasons, int64_t mhz, int64_t most)
{
	return reasons > 0 && (reasons & APPLICATION_CLOCKS) && !(reasons & IDLE) && mhz > 0 &&
	       most > 0 && (double)mhz < 0.9 * (double)most;
}

static void check_clocks(const struct observation *o, int h, const char *gpu,
			 struct cause_finding *f)
{
	int64_t power = cause_step(o, h, gpu, "power_ns");
	int64_t heat = cause_step(o, h, gpu, "thermal_ns");
	int64_t reasons = cause_after(o, h, gpu, "clock_reasons");
	int64_t mhz = cause_after(o, h, gpu, "sm_mhz"), most = cause_after(o, h, gpu, "sm_max_mhz");
	double seconds = cause_seconds(o, h);
	const char *reason = nvml_held_by(reasons);

	if (held(power, seconds))
		cause_yes(f, "%s on %s: held down for power for %.2f s of %.2f s", gpu,
			  cause_host(o, h), (double)power * 1e-9, seconds);
	if (held(heat, seconds))
		cause_yes(f, "%s on %s: held down for heat for %.2f s of %.2f s", gpu,
			  cause_host(o, h), (double)heat * 1e-9, seconds);
	if (reason && !held(power, seconds) && !held(heat, seconds))
		cause_yes(f, "%s on %s: %s, at %" PRId64 " of %" PRId64 " MHz after the sweep", gpu,
			  cause_host(o, h), reason, mhz, most);
	else if (set_low(reasons, mhz, most))
		cause_yes(f, "%s on %s: set to %" PRId64 " of %" PRId64 " MHz", gpu,
			  cause_host(o, h), mhz, most);
	if (reasons < 0 && power < 0 && heat < 0)
		cause_unseen(f, "%s", cause_no_nvml(o, h));
}

void cause_clocks(const struct observation *o, struct cause_finding *f)
{
	cause_each_gpu(o, f, check_clocks);
}

/* ---- errors ------------------------------------------------------------------------------- */

static void check_errors(const struct observation *o, int h, const char *gpu,
			 struct cause_finding *f)
{
	static const struct {
		const char *name, *what;
	} counters[] = {
		{ "ecc_uncorrected", "uncorrected memory errors" },
		{ "ecc_corrected", "corrected memory errors" },
		{ "link_replays", "NVLink replays" },
		{ "link_recoveries", "NVLink recoveries" },
	};
	int64_t crc = cause_step(o, h, gpu, "link_crc");
	int seen = 0, moved = 0;

	for (size_t k = 0; k < sizeof(counters) / sizeof(counters[0]); k++) {
		int64_t step = cause_step(o, h, gpu, counters[k].name);

		seen += step >= 0;
		moved += step > 0;
		if (step > 0)
			cause_yes(f, "%s on %s: %" PRId64 " %s during the run", gpu,
				  cause_host(o, h), step, counters[k].what);
	}
	/* Healthy links count some in every run (H200: 5 to 114 a run, none of them replayed): they
	 * say something beside others alone. */
	if (moved > 0 && crc > 0)
		cause_yes(f, "%s on %s: %" PRId64 " NVLink CRC errors during the run", gpu,
			  cause_host(o, h), crc);
	if (seen == 0)
		cause_unseen(f, "%s", cause_no_nvml(o, h));
}

void cause_errors(const struct observation *o, struct cause_finding *f)
{
	cause_each_gpu(o, f, check_errors);
}

/* ---- other processes ---------------------------------------------------------------------- */

static int ranks_on(const struct observation *o, int h, const char *gpu)
{
	const char *bus = cause_text(o, h, gpu, "bus");
	int n = 0;

	for (int r = 0; r < o->nranks; r++)
		n += o->ranks_before[r].node == h && strcmp(o->ranks_before[r].bus, bus) == 0;
	return n;
}

/* At one of the looks. False: not seen. Containers hide or renumber processes: then their number is
 * what is left to go by. */
static bool look_at(const struct observation *o, int h, const struct reading *look, const char *gpu,
		    struct cause_finding *f)
{
	int64_t all = reading_value(look, gpu, "processes");
	int64_t ours = reading_value(look, gpu, "processes_ours"), others = all - ours;
	int ranks = ranks_on(o, h, gpu);

	if (all < 0 || ours < 0 || all < ranks)
		return false;
	if (ours >= ranks && others > 0)
		cause_yes(f,
			  "%s on %s: %" PRId64 " other process%s with %.1f GiB, process %" PRId64
			  " among them",
			  gpu, cause_host(o, h), others, others == 1 ? "" : "es",
			  (double)reading_value(look, gpu, "foreign_bytes") / (1 << 30),
			  reading_value(look, gpu, "foreign_pid"));
	else if (all > ranks)
		cause_yes(f, "%s on %s: %" PRId64 " processes, of which %d are this job's", gpu,
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
		cause_unseen(f, "%s", cause_no_nvml(o, h));
}

void cause_processes(const struct observation *o, struct cause_finding *f)
{
	cause_each_gpu(o, f, check_processes);
}
