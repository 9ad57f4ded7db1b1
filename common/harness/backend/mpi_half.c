/* mpi_half.c: opens libhangar_mpi.so, once. */
#include "backend/mpi_half.h"

#include <dlfcn.h>

#include "base/file.h"

/* Beside the program, or of a test a folder above. Open MPI's own parts look for libmpi's names among the global ones. */
static void *open_library(char *reason, size_t len)
{
	static const char *const names[] = { "libhangar_mpi.so", "../libhangar_mpi.so" };
	void *library = NULL;
	char path[PATH_MAX];

	for (size_t i = 0; i < LENGTH(names) && !library; i++)
		if (file_beside(path, sizeof(path), names[i]) && access(path, R_OK) == 0) {
			library = dlopen(path, RTLD_NOW | RTLD_GLOBAL);
			if (!library)
				snprintf(reason, len, "%s", dlerror());
		}
	return library;
}

const struct mpi_half *mpi_half(const char **why)
{
	static char reason[512] = "this build has none (libhangar_mpi.so)";
	static const struct mpi_half *half;
	static bool done;
	void *library;

	if (!done) {
		done = true;
		library = open_library(reason, sizeof(reason));
		if (library)
			half = dlsym(library, "hangar_mpi");
	}
	if (why)
		*why = reason;
	return half;
}
