/* cause_host.c: causes on the host's side: CPUs that ranks may use, and who else uses them. */
#include "reconcile/cause_parts.h"

#include "machine/cpu_list.h"

#define WAITED_FRACTION 0.05 /* of the sweep without a CPU that a rank's main thread wanted */
#define WAITED_MIN	0.01 /* seconds */
#define BUSY_FRACTION	0.95 /* of all CPUs */
#define OTHERS_FRACTION 0.05 /* of them, used by others than the job */
#define TICKS_MIN	100  /* of all CPUs, for a fraction to mean something */
#define OTHERS_MIN	0.25 /* CPUs: ticks are coarse */

/* ---- affinity ----------------------------------------------------------------------------- */

/* CPUs that all ranks of a host may use together; -1: a rank's are not known. */
static int join_cpus(const struct observation *o, int host)
{
	struct cpu_list all = { 0 }, one;

	for (int r = 0; r < o->nranks; r++) {
		if (o->ranks_before[r].node != host)
			continue;
		if (cpu_list_parse(&one, o->ranks_before[r].cpus) <= 0)
			return -1;
		CPU_OR_S(sizeof(all), all.sets, all.sets, one.sets);
	}
	return CPU_COUNT_S(sizeof(all), all.sets);
}

/* A rank far from its GPU, or with one CPU where NCCL's network threads need another. */
static void check_rank(const struct observation *o, int host, const struct observed_rank *rank,
		       struct cause_finding *f)
{
	struct cpu_list mine, near, both;
	char gpu[sizeof(rank->bus) + 4];
	int cpus = cpu_list_parse(&mine, rank->cpus);
	const char *beside;

	if (cpus <= 0)
		return;
	snprintf(gpu, sizeof(gpu), "GPU %s", rank->bus);
	beside = cause_text(o, host, gpu, "cpus");
	both = mine;
	if (cpu_list_parse(&near, beside) > 0)
		CPU_AND_S(sizeof(both), both.sets, mine.sets, near.sets);
	if (CPU_COUNT_S(sizeof(both), both.sets) == 0)
		cause_yes(f, "rank %d on %s may use CPUs %.40s, its %s is beside %.40s", rank->rank,
			  cause_host(o, host), rank->cpus, gpu, beside);
	else if (cpus == 1 && cause_on_gpus(o) && cause_network(o))
		cause_yes(f,
			  "rank %d on %s has CPU %.20s alone for itself and NCCL's network "
			  "threads",
			  rank->rank, cause_host(o, host), rank->cpus);
}

void cause_affinity(const struct observation *o, struct cause_finding *f)
{
	for (int h = 0; h < o->nhosts; h++) {
		int64_t cpus = cause_before(o, h, "CPU", "cpus");
		int ranks = cause_ranks_of(o, h), together = join_cpus(o, h);

		if (together < 0) {
			cause_unseen(f, "the CPUs that ranks may use are not known");
			continue;
		}
		if (together < ranks && cpus >= ranks)
			cause_yes(f, "%d ranks on %s may use %d of its %" PRId64 " CPUs together",
				  ranks, cause_host(o, h), together, cpus);
		for (int r = 0; r < o->nranks; r++)
			if (o->ranks_before[r].node == h)
				check_rank(o, h, &o->ranks_before[r], f);
	}
}

/* ---- load --------------------------------------------------------------------------------- */

/* The fraction of the sweep that a host's rank waited most for a CPU; -1: not seen. */
static double worst_wait(const struct observation *o, int host, int *worst)
{
	double most = -1, seconds = cause_seconds(o, host);

	for (int r = 0; r < o->nranks && seconds > 0; r++) {
		int64_t waited = cause_grew(o->ranks_before[r].wait_ns, o->ranks_after[r].wait_ns);

		if (o->ranks_before[r].node != host || waited < 0)
			continue;
		if ((double)waited * 1e-9 / seconds > most) {
			most = (double)waited * 1e-9 / seconds;
			*worst = o->ranks_before[r].rank;
		}
	}
	return most;
}

/* NaN: not seen. */
static double busy_fraction(const struct observation *o, int host)
{
	int64_t busy = cause_step(o, host, "CPU", "busy_ticks");
	int64_t total = cause_step(o, host, "CPU", "all_ticks");

	return busy < 0 || total < TICKS_MIN ? NAN : (double)busy / (double)total;
}

/* CPUs that the job's ranks used, in the mean; NaN: not seen. */
static double own_cpus(const struct observation *o, int host)
{
	double sum = 0, seconds = cause_seconds(o, host);

	for (int r = 0; r < o->nranks; r++) {
		int64_t used = cause_grew(o->ranks_before[r].cpu_ns, o->ranks_after[r].cpu_ns);

		if (o->ranks_before[r].node != host)
			continue;
		if (used < 0)
			return NAN;
		sum += (double)used * 1e-9;
	}
	return seconds > 0 ? sum / seconds : NAN;
}

void cause_load(const struct observation *o, struct cause_finding *f)
{
	for (int h = 0; h < o->nhosts; h++) {
		int64_t cpus = cause_before(o, h, "CPU", "cpus");
		int rank = -1, ranks = cause_ranks_of(o, h);
		double waited = worst_wait(o, h, &rank), busy = busy_fraction(o, h), others;

		if (waited > fmax(WAITED_FRACTION, WAITED_MIN / cause_seconds(o, h)))
			cause_yes(f,
				  "rank %d on %s wanted a CPU and had none for %.0f %% of the "
				  "sweep",
				  rank, cause_host(o, h), 100 * waited);
		others = busy * (double)cpus - own_cpus(o, h);
		if (busy > BUSY_FRACTION &&
		    others > fmax(OTHERS_MIN, OTHERS_FRACTION * (double)cpus))
			cause_yes(f,
				  "others than this job used %.1f of the %" PRId64
				  " CPUs of %s, which were all busy",
				  others, cpus, cause_host(o, h));
		if (cpus > 0 && ranks > cpus)
			cause_yes(f, "%d ranks on the %" PRId64 " CPUs of %s", ranks, cpus,
				  cause_host(o, h));
		if (waited < 0 && isnan(busy))
			cause_unseen(f, "/proc shows neither waiting nor busy CPUs");
	}
}
