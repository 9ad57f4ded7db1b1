/* tiers.h: how long a program that knows nothing of hangar may be in a wait: it announces
 * neither evaluation nor checkpoint, and a rank may rightly be away for minutes. Pure. */
#pragma once

#include "record/classes.h"

struct patience {
	double look; /* seconds from one look at a wait to the next */
	double suspect; /* after this a wait is worth a line, if it is 20 times the longest of its kind that ended well */
	double hang; /* after this, without a step of any rank, it is a hang; 0: tiers do not count */
};

enum tier {
	TIER_WAIT,    /* what is waited for may come yet */
	TIER_SUSPECT, /* it may, but never took so long */
	TIER_VERDICT  /* no waiting helps, or it took too long */
};

/* Returns true if waiting longer cannot help: a rank is gone, or calls were made that cannot
 * meet. */
bool tier_is_final(enum diagnosis_class class);

/* The tier of a wait of so many seconds that the diagnoser calls `class`. For the last `still`
 * of these no rank has made a step. The longest wait that ended well took `longest`. */
enum tier tier_of(const struct patience *patience, enum diagnosis_class class, double waited,
		  double still, double longest);
