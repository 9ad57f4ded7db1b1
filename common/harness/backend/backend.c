/* backend.c: the backends of this build. */
#include "backend/backend.h"

#include "backend/mpi_half.h"
#include "base/parse.h"

const struct backend_ops *backend_at(size_t i)
{
	const struct mpi_half *mpi = mpi_half(NULL);
	const struct backend_ops *all[] = {
#ifdef HAVE_NCCL
		&backend_nccl,
#endif
		mpi ? mpi->backend : &backend_null, mpi ? &backend_null : NULL
	};

	return i < LENGTH(all) ? all[i] : NULL;
}

const struct backend_ops *backend_find(const char *name)
{
	bool any = strcmp(name, "auto") == 0;
	const struct backend_ops *ops;

	for (size_t i = 0; (ops = backend_at(i)); i++)
		if (any ? !(ops->flags & BACKEND_NO_DATA) && ops->devices() > 0
			: strcmp(name, ops->name) == 0)
			return ops;
	return NULL;
}

int backend_missing(const char *name, struct error *err)
{
	const char *why = NULL;
	bool mpi = !mpi_half(&why) && names_find("mpi auto", name) >= 0;

	return error_set(
		err, OUTCOME_UNSUPPORTED, -ENODEV,
		mpi ? "--backend %s: Open MPI (4.1 or 5) is not here: %s; without it and a GPU "
		      "--backend null measures hangar alone"
		    : "--backend %s: this build does not have it",
		name, why);
}

int backend_unmet(const char *name, int nranks, struct error *err)
{
	return error_set(err, OUTCOME_USAGE, -EINVAL,
			 "--backend %s: MPI does not find these %d ranks, which RANK, or srun "
			 "without PMIx, numbers: mpirun, or srun --mpi=pmix (srun --mpi=list must "
			 "have it)",
			 name, nranks);
}
