/* unit.h: a CUnit program in two lines: a table of cases, and main() returning unit_main(). */
#ifndef HANGAR_UNIT_H
#define HANGAR_UNIT_H

#include <stddef.h>

#include <CUnit/CUnit.h>

struct unit_case {
	const char *name;
	void (*run)(void);
};

/* Runs the n cases as one verbose CUnit suite. Returns 0 when all of them ran and no assertion failed, else 1: an empty
 * table is a failure. Cases are independent: each runs whatever became of the others. */
int unit_main(const char *suite, const struct unit_case *cases, size_t n);

#endif
