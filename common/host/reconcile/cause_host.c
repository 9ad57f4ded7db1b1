/* cause_host.c: causes on the host's side: CPUs that ranks may use, and other load on them. */
#include "reconcile/cause_parts.h"

#include "machine/cpu_list.h"

#define BUSY_FRACTION	0.95 /* of all CPUs */
#define OTHERS_FRACTION 0.05 /* of them, used by others than the job */
#define TICKS_MIN	100  /* of all CPUs, for a fraction to mean something */
#define OTHERS_MIN	0.25 /* CPUs: ticks are coarse */

/* CPUs that all ranks of a host may use together; -1: a rank's are not known. */
static int join_cpus(const struct observation *o, int h)
{
	struct cpu_list all = { 0 }, one;
	const char *rank;

	for (size_t at = 0; (rank = cause_next(o, h, "pid", &at));) {
		if (cpu_list_parse(&one, cause_text(o, h, rank, "cpus")) <= 0)
			return -1;
		CPU_OR_S(sizeof(all), all.sets, all.sets, one.sets);
	}
	return CPU_COUNT_S(sizeof(all), all.sets);
}

/* A rank far from its GPU, or with one CPU where NCCL's network threads need another. */
static void check_rank(const struct observation *o, int h, const char *rank,
		       struct cause_finding *f)
{
	const char *list = cause_text(o, h, rank, "cpus"), *gpu = cause_text(o, h, rank, "gpu");
	const char *beside = cause_text(o, h, gpu, "cpus");
	struct cpu_list mine, near, both;
	int cpus = cpu_list_parse(&mine, list);

	if (cpus <= 0)
		return;
	both = mine;
	if (cpu_list_parse(&near, beside) > 0)
		CPU_AND_S(sizeof(both), both.sets, mine.sets, near.sets);
	if (CPU_COUNT_S(sizeof(both), both.sets) == 0)
		cause_yes(f, "%s on %s may use CPUs %.40s, its %s is beside %.40s", rank,
			  cause_host(o, h), list, gpu, beside);
	else if (cpus == 1 && cause_on_gpus(o) && cause_network(o))
		cause_yes(f, "%s on %s has CPU %.20s alone for itself and NCCL's network threads",
			  rank, cause_host(o, h), list);
}

void cause_affinity(const struct observation *o, struct cause_finding *f)
{
	const char *rank;

	for (int h = 0; h < o->nhosts; h++) {
		int64_t cpus = cause_before(o, h, "CPU", "cpus");
		int ranks = cause_count_of(o, h, "pid"), together = join_cpus(o, h);

		if (together < 0) {
			cause_unseen(f, "the CPUs that ranks may use are not known");
			continue;
		}
		if (together < ranks && cpus >= ranks)
			cause_yes(f, "%d ranks on %s may use %d of its %ld CPUs together", ranks,
				  cause_host(o, h), together, cpus);
		for (size_t at = 0; (rank = cause_next(o, h, "pid", &at));)
			check_rank(o, h, rank, f);
	}
}

/* NaN: not seen. */
static double busy_fraction(const struct observation *o, int h)
{
	int64_t busy = cause_step(o, h, "CPU", "busy_ticks");
	int64_t total = cause_step(o, h, "CPU", "all_ticks");

	return busy < 0 || total < TICKS_MIN ? NAN : (double)busy / (double)total;
}

/* CPUs that the job's ranks used, in the mean; NaN: not seen. */
static double own_cpus(const struct observation *o, int h)
{
	double sum = 0, start = o->before[h].seconds, end = o->after[h].seconds;
	const char *rank;

	for (size_t at = 0; (rank = cause_next(o, h, "pid", &at));) {
		int64_t used = cause_step(o, h, rank, "cpu_ns");

		if (used < 0)
			return NAN;
		sum += (double)used * 1e-9;
	}
	return start > 0 && end > start ? sum / (end - start) : NAN;
}

void cause_load(const struct observation *o, struct cause_finding *f)
{
	cause_rules(o, "cpu-wait", "rank ", "", f);
	for (int h = 0; h < o->nhosts; h++) {
		const char *host = cause_host(o, h);
		int64_t cpus = cause_before(o, h, "CPU", "cpus");
		int ranks = cause_count_of(o, h, "pid");
		double busy = busy_fraction(o, h);
		double others = busy * (double)cpus - own_cpus(o, h);

		if (busy > BUSY_FRACTION &&
		    others > fmax(OTHERS_MIN, OTHERS_FRACTION * (double)cpus))
			cause_yes(f,
				  "others than this job used %.1f of the %ld CPUs of %s, which "
				  "were all busy",
				  others, cpus, host);
		if (cpus > 0 && ranks > cpus)
			cause_yes(f, "%d ranks on the %ld CPUs of %s", ranks, cpus, host);
		if (isnan(busy))
			cause_unseen(f, "/proc does not show how busy the CPUs are");
	}
}
