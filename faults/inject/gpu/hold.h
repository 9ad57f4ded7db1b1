/* hold.h: how long a stream is held up: what faults of the GPU share. */
#pragma once

#include "base/parse.h"
#include "inject/fault.h"

/* At most: no spin outlasts it, whoever is dead by then. */
#define HOLD_SECONDS 60.0
#define HOLD_WHY_NOT "its calls run on the host: there is no stream that anything could hold up"

/* The value of bound=, HOLD_SECONDS at most. */
static inline double hold_seconds(const struct fault_spec *spec)
{
	const char *text = fault_arg(spec, "bound");
	double seconds = HOLD_SECONDS;

	if (text && parse_real(text, 0, 86400, &seconds) < 0)
		return HOLD_SECONDS;
	return seconds < HOLD_SECONDS ? seconds : HOLD_SECONDS;
}
