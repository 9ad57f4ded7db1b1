/* start.c: what faults do when a rank's process starts, before any library is initialised. */

#include "inject/inject.h"

int inject_start(const struct injector *injector, int rank, int nranks, size_t bytes,
		 struct error *err)
{
	int again = 0;

	for (int i = 0; i < injector->nspecs; i++) {
		const struct fault_spec *spec = &injector->specs[i];
		int rc = 0;

		if (spec->fault->start && fault_names(spec, rank, nranks))
			rc = spec->fault->start(spec, bytes);
		if (rc < 0)
			return error_set(err, OUTCOME_USAGE, rc, "--fault=%.200s: %s", spec->text,
					 strerror(-rc));
		again |= rc == FAULT_AGAIN;
	}
	return again;
}
