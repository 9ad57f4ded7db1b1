/* fault_machine.h: machines for tests of faults. */
#pragma once

#include "inject/fault.h"

/* A machine without a site. */
#define MACHINE(name, bits, by)                                                                    \
	{                                                                                          \
		.backend = name, .have = bits, .transport = by                                     \
	}
