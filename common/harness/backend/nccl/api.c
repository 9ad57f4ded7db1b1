/* api.c: NCCL's functions, found at run time in the library that nccl_library.h loads. */
#include <dlfcn.h>

#include "backend/nccl/api.h"
#include "base/nccl_library.h"

enum { NCCL_OLDEST = NCCL_VERSION(2, 18, 0) };

struct nccl_api nccl_api;

#define ROW(name, needed) { "nccl" #name, offsetof(struct nccl_api, name), needed },
#define NEEDED(name)	  ROW(name, true)
#define OPTIONAL(name)	  ROW(name, false)
#define NCCL_LATER(F)                                                                              \
	F(AlltoAll)                                                                                \
	F(Gather)                                                                                  \
	F(Scatter)                                                                                 \
	F(CommWindowRegister)                                                                      \
	F(CommWindowDeregister)                                                                    \
	F(CommShrink)                                                                              \
	F(CommRevoke)                                                                              \
	F(CommGetUniqueId)                                                                         \
	F(CommGrow)
static const struct {
	const char *name;
	size_t at;
	bool needed;
} functions[] = { NCCL_NEEDED(NEEDED) NCCL_SINCE_2_19(OPTIONAL) NCCL_LATER(OPTIONAL) };

/* A preloaded wrapper is found first: the search is that of the process. */
static int resolve(struct error *err, const struct nccl_library *library)
{
	for (size_t i = 0; i < LENGTH(functions); i++) {
		void *function = dlsym(RTLD_DEFAULT, functions[i].name);

		if (!function && functions[i].needed)
			return error_set(err, OUTCOME_UNSUPPORTED, -ENOTSUP, "%s lacks %s",
					 library->path, functions[i].name);
		memcpy((char *)&nccl_api + functions[i].at, &function, sizeof(function));
	}
	return 0;
}

int nccl_api_load(int *version, struct error *err)
{
	const char *why;
	const struct nccl_library *library = nccl_library_load(&why);
	char text[32];

	if (!library->handle)
		return error_set(
			err, OUTCOME_UNSUPPORTED, -ENOTSUP,
			"no NCCL (--nccl-lib, LD_LIBRARY_PATH, pip's, the system's): %.200s", why);
	*version = library->version;
	nccl_version_text(library->version, text, sizeof(text));
	if (library->version < NCCL_OLDEST)
		return error_set(err, OUTCOME_UNSUPPORTED, -ENOTSUP,
				 "NCCL %s, %s, %s: hangar needs 2.18 or later", text,
				 library->source, library->path);
	return resolve(err, library);
}
