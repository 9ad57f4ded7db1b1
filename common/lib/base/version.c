/* version.c: --version. */
#include "base/version.h"

#include <dlfcn.h>

#include "base/file.h"
#include "base/nccl_library.h"

static void print_nccl(FILE *out)
{
	const char *why;
	const struct nccl_library *nccl = nccl_library_load(&why);
	char version[32];

	nccl_version_text(nccl->version, version, sizeof(version));
	if (nccl->handle)
		fprintf(out, "found: NCCL %s, %s: %s\n", version, nccl->source, nccl->path);
	else
		fprintf(out, "found: no NCCL: %s\n", why);
}

static void print_cuda(FILE *out)
{
	void *driver = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_LOCAL);
	int (*ask)(int *) = NULL;
	int version = 0;

	if (driver)
		*(void **)&ask = dlsym(driver, "cuDriverGetVersion");
	if (ask && ask(&version) == 0)
		fprintf(out, "found: a driver for CUDA %d.%d\n", version / 1000,
			version % 1000 / 10);
	else
		fprintf(out, "found: no CUDA driver\n");
}

/* MPI_Get_library_version may be called before MPI_Init. */
static void print_mpi(FILE *out)
{
	void *mpi = dlopen("libmpi.so.40", RTLD_LAZY | RTLD_LOCAL);
	int (*ask)(char *, int *) = NULL;
	char text[8192] = ""; /* Open MPI's limit is 256, MPICH's 8192 */
	int length;

	if (mpi)
		*(void **)&ask = dlsym(mpi, "MPI_Get_library_version");
	if (ask && ask(text, &length) == 0)
		fprintf(out, "found: %.*s\n", (int)strcspn(text, ",\n"), text);
	else
		fprintf(out, "found: no Open MPI (libmpi.so.40)\n");
}

void version_print(FILE *out, const char *program)
{
	char path[PATH_MAX], built[1024];

	fprintf(out, "%s (hangar) %s\n", program, HANGAR_VERSION);
	if (file_beside(path, sizeof(path), "built.txt") &&
	    file_text("", built, sizeof(built), "%s", path) > 0)
		fprintf(out, "%s\n", built);
	print_nccl(out);
	print_cuda(out);
	print_mpi(out);
}
