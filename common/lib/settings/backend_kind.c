/* backend_kind.c: the backends by name. */
#include "settings/backend_kind.h"

static const struct {
	const char *name, *library;
	unsigned flags;
} kinds[] = {
	{ "nccl", "NCCL ", BACKEND_FLAGS_NCCL },
	{ "null", "null ", BACKEND_FLAGS_NULL },
	{ "mpi", "", BACKEND_FLAGS_MPI },
};

/* The flags of the named backend; `unknown` for another name. */
static unsigned flags_of(const char *name, unsigned unknown)
{
	for (size_t i = 0; i < LENGTH(kinds); i++)
		if (strcmp(name, kinds[i].name) == 0)
			return kinds[i].flags;
	return unknown;
}

bool backend_has(const char *name, enum backend_flag flag)
{
	return flags_of(name, 0) & flag;
}

bool backend_lacks(const char *name, enum backend_flag flag)
{
	return !(flags_of(name, ~0u) & flag);
}

const char *backend_of_library(const char *library)
{
	size_t i = 0;

	while (strncmp(library, kinds[i].library, strlen(kinds[i].library)) != 0)
		i++;
	return kinds[i].name;
}
