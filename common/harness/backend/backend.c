/* backend.c: the backends of this build. */
#include "backend/backend.h"

const struct backend_ops *const backend_table[] = {
#ifdef HAVE_NCCL
	&backend_nccl,
#endif
	&backend_mpi, NULL
};

const struct backend_ops *backend_find(const char *name)
{
	bool any = strcmp(name, "auto") == 0;

	for (size_t i = 0; backend_table[i]; i++) {
		const struct backend_ops *ops = backend_table[i];

		if (any ? ops->devices() > 0 : strcmp(name, ops->name) == 0)
			return ops;
	}
	return NULL;
}
