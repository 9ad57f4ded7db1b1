/* start.c: what faults do when a rank's process starts, before any library is initialised. */
#include <errno.h>
#include <string.h>

#include "inject/inject.h"

static bool names_rank(const struct fault_spec *spec, int rank, int nranks)
{
	for (int i = 0; i < spec->nranks; i++)
		if (spec->ranks[i] == rank)
			return true;
	return spec->nranks == 0 && rank == nranks - 1;
}

int inject_start(const struct injector *injector, int rank, int nranks, size_t bytes,
		 struct error *err)
{
	int again = 0;

	for (int i = 0; i < injector->nspecs; i++) {
		const struct fault_spec *spec = &injector->specs[i];
		int rc = 0;

		if (spec->fault->start && names_rank(spec, rank, nranks))
			rc = spec->fault->start(spec, bytes);
		if (rc < 0)
			return error_set(err, OUTCOME_USAGE, rc, "--fault=%.200s: %s", spec->text,
					 strerror(-rc));
		again |= rc == FAULT_AGAIN;
	}
	return again;
}
