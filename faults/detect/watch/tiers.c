/* tiers.c: named at once, suspected, or a hang. */
#include "watch/tiers.h"

#define HEALTHY_TIMES 20 /* a wait this much longer than any that ended well is none of them */

bool tier_is_final(enum diagnosis_class class)
{
	switch (class) {
	case CLASS_KILLED:
	case CLASS_CRASHED:
	case CLASS_EXITED:
	case CLASS_STOPPED:
	case CLASS_FROZEN:
	case CLASS_TRACED:
	case CLASS_DIED:
	case CLASS_ERROR:
	case CLASS_OOM:
	case CLASS_GPU_OOM:
	case CLASS_GPU_FAULT:
	case CLASS_ABORTED:
	case CLASS_SKIPPED:
	case CLASS_EXTRA:
	case CLASS_SWAPPED:
	case CLASS_MISMATCH:
	case CLASS_INIT_MISMATCH:
	case CLASS_PAIR_SIZE:
	case CLASS_PAIR_PEER:
	case CLASS_PAIR_DEADLOCK:
	case CLASS_CYCLE:
		return true;
	default: /* a rank that has not come, or is not through, may yet */
		return false;
	}
}

enum tier tier_of(const struct patience *p, enum diagnosis_class class, double waited, double still,
		  double longest)
{
	if (tier_is_final(class) || fmin(waited, still) >= p->hang)
		return TIER_VERDICT;
	return waited >= fmax(p->suspect, HEALTHY_TIMES * longest) ? TIER_SUSPECT : TIER_WAIT;
}
