/* fault_lint.h: a table of faults, looked over before anybody relies on it. */
#pragma once

#include "inject/fault.h"

/* NULL, or the first thing wrong with the NULL-terminated table: name, help, source, keys, needs,
 * places, outcomes, two of one name. */
const char *fault_rows_check(const struct fault *const *table);
