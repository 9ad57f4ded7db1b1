/* backend.c: the backends of this build. */
#include "backend/backend.h"

#include "backend/mpi_half.h"
#include "base/parse.h"

/* MPI's comes last: its library is opened where no other is meant. */
const struct backend_ops *backend_at(size_t i)
{
	static const struct backend_ops *const own[] = {
#ifdef HAVE_NCCL
		&backend_nccl,
#endif
		&backend_null,
	};
	const struct mpi_half *mpi = i == LENGTH(own) ? mpi_half(NULL) : NULL;

	return i < LENGTH(own) ? own[i] : mpi ? mpi->backend : NULL;
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
