/* wrong.h: a wrong element that the check of a call found, as a value: what the flight recorder keeps
 * of it. */
#pragma once

#include "base/dtype.h"

struct wrong_data {
	uint64_t offset;	/* of the call's buffers in their pool, as its record has it */
	uint64_t index;		/* of the element in the send buffers that it comes from */
	uint64_t count;		/* wrong elements of that stretch, this one the first */
	uint64_t expected, got; /* bits of the element */
	int32_t from;		/* rank that it comes from; -1: from all, a reduction */
	int32_t culprit;	/* of a reduction, whose contribution alone accounts for it; -1 */
	enum dtype dtype;
	bool sent; /* it stands in the rank's own send buffer; else it was received */
};
