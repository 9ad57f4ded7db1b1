/* resolve.c: the real functions. dlsym(RTLD_NEXT) does not find them: PyTorch loads libnccl where only it
 * sees it. */
#include <dlfcn.h>
#include <pthread.h>

#include "preload/library/library.h"

static const char *const names[LIBRARIES][4] = {
	[OF_NCCL] = { "libnccl.so.2", "libnccl.so" },
	[OF_CUDA] = { "libcuda.so.1" },
	[OF_CUDART] = { "libcudart.so.13", "libcudart.so.12", "libcudart.so.11.0" },
};

static void *loaded(enum library_of library)
{
	static void *handles[LIBRARIES];

	for (size_t i = 0; !handles[library] && i < 4 && names[library][i]; i++)
		handles[library] = dlopen(names[library][i], RTLD_NOW | RTLD_NOLOAD);
	return handles[library];
}

void *resolve(enum library_of library, const char *name, void **kept)
{
	void *handle;

	if (*kept)
		return *kept;
	handle = loaded(library);
	*kept = handle ? dlsym(handle, name) : NULL;
	if (!*kept) /* linked statically, or under another name */
		*kept = dlsym(RTLD_NEXT, name);
	return *kept;
}

void say(const char *fmt, ...)
{
	char line[300];
	va_list args;
	int n = snprintf(line, sizeof(line), "hangar: pid %d: ", (int)getpid());

	va_start(args, fmt);
	vsnprintf(line + n, sizeof(line) - (size_t)n - 1, fmt, args);
	va_end(args);
	strcat(line, "\n");
	if (write(STDERR_FILENO, line, strlen(line)) < 0)
		return; /* nobody listens */
}
