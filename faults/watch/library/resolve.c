/* resolve.c: the real functions. dlsym(RTLD_NEXT) fails: PyTorch loads libnccl out of its sight. */
#include <dlfcn.h>

#include "library/library.h"

static const char *const names[LIBRARIES][4] = {
	[OF_NCCL] = { "libnccl.so.2", "libnccl.so" },
	[OF_CUDA] = { "libcuda.so.1" },
	[OF_CUDART] = { "libcudart.so.13", "libcudart.so.12", "libcudart.so.11.0" },
};

static void *loaded(enum library_of library)
{
	static void *handles[LIBRARIES];

	void *found = __atomic_load_n(&handles[library], __ATOMIC_RELAXED);

	for (size_t i = 0; !found && i < 4 && names[library][i]; i++)
		found = dlopen(names[library][i], RTLD_NOW | RTLD_NOLOAD);
	__atomic_store_n(&handles[library], found, __ATOMIC_RELAXED);
	return found;
}

typedef void *dlsym_fn(void *, const char *);

static dlsym_fn *real_dlsym(void)
{
	static dlsym_fn *kept;
	dlsym_fn *found = __atomic_load_n(&kept, __ATOMIC_RELAXED);

	if (!found)
		found = (dlsym_fn *)dlvsym(RTLD_NEXT, "dlsym", "GLIBC_2.34");
	if (!found) /* before glibc 2.34, by machine */
		found = (dlsym_fn *)dlvsym(RTLD_NEXT, "dlsym", "GLIBC_2.2.5");
	if (!found)
		found = (dlsym_fn *)dlvsym(RTLD_NEXT, "dlsym", "GLIBC_2.17");
	__atomic_store_n(&kept, found, __ATOMIC_RELAXED);
	return found;
}

/* The wrapper of a function of the loaded NCCL; NULL: none, or another NCCL is asked for. */
static __attribute__((noinline)) void *wrapper_of(void *handle, const char *name)
{
	void *found = handle == RTLD_NEXT ? NULL : real_dlsym()(handle, name);
	Dl_info own;

	if (!found || !loaded(OF_NCCL) || real_dlsym()(loaded(OF_NCCL), name) != found ||
	    !dladdr(say, &own))
		return NULL;
	return real_dlsym()(dlopen(own.dli_fname, RTLD_NOW | RTLD_NOLOAD), name);
}

/* Programs that load NCCL by hand (ctypes, XLA) get the wrappers as well. Other names are a tail
 * call, since the C library finds the caller by the return address. */
EXPORT void *dlsym(void *handle, const char *name)
{
	void *wrapper = strncmp(name, "nccl", 4) == 0 && getenv("HANGAR_RUN")
				? wrapper_of(handle, name)
				: NULL;

	return wrapper ? wrapper : real_dlsym()(handle, name);
}

void *resolve(enum library_of library, const char *name, void **kept)
{
	void *handle, *found = __atomic_load_n(kept, __ATOMIC_RELAXED);

	if (found)
		return found;
	handle = loaded(library);
	found = handle ? real_dlsym()(handle, name) : NULL;
	if (!found) /* linked statically, or under another name */
		found = real_dlsym()(RTLD_NEXT, name);
	__atomic_store_n(kept, found, __ATOMIC_RELAXED);
	return found;
}

void *symbol_in(void *handle, const char *name)
{
	return real_dlsym()(handle, name);
}

void *symbol(const char *name)
{
	return symbol_in(RTLD_DEFAULT, name);
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
		return; /* standard error is closed */
}
