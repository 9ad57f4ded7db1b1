/* cause_gpu.c: causes on the GPU itself: clocks, errors, other processes. */
#include "reconcile/cause_parts.h"

void cause_clocks(const struct observation *o, struct cause_finding *f)
{
	cause_rules(o, "clocks", "GPU ", NULL, f);
}

void cause_errors(const struct observation *o, struct cause_finding *f)
{
	cause_rules(o, "errors", "GPU ", NULL, f);
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
