/* settings.c: the rank has other settings of NCCL than the others, or another libnccl. */
#include <dlfcn.h>

#include "inject/fault.h"

#define PRELOAD "LD_PRELOAD"

/* Without keys: another protocol than NCCL's for calls of so many bytes, which sends lack. */
static int set_default(size_t bytes)
{
	const char *protocol = bytes < (size_t)256 << 10 ? "Simple" : "LL";

	return setenv("NCCL_PROTO", protocol, 1) < 0 ? -1 : setenv("NCCL_BUFFSIZE", "65536", 1);
}

/* The loader puts it before the program's own library when the program is started again. */
static int preload(const char *path)
{
	const char *now = getenv(PRELOAD);
	char list[PATH_MAX];
	size_t len = strlen(path);

	if (access(path, R_OK) < 0)
		return -errno;
	if (now && strncmp(now, path, len) == 0 && (now[len] == '\0' || now[len] == ':'))
		return 0;
	if ((size_t)snprintf(list, sizeof(list), "%s%s%s", path, now ? ":" : "", now ? now : "") >=
	    sizeof(list))
		return -ENAMETOOLONG;
	return setenv(PRELOAD, list, 1) < 0 ? -errno : FAULT_AGAIN;
}

static int start(const struct fault_spec *spec, size_t bytes)
{
	int again = 0, rc = 0;

	if (spec->nargs == 0)
		rc = set_default(bytes);
	for (int i = 0; i < spec->nargs && rc >= 0; i++) {
		const char *key = spec->args[i].key, *value = spec->args[i].value;

		rc = strcmp(key, "lib") == 0 ? preload(value) : setenv(key, value, 1);
		again |= rc == FAULT_AGAIN;
	}
	return rc == -1 ? -ENOMEM : rc < 0 ? rc : again ? FAULT_AGAIN : 0;
}

/* Returns true if the library that is called is that file. */
static bool is_library(const char *path)
{
	char wanted[PATH_MAX], real[PATH_MAX];
	Dl_info info;

	return dladdr(dlsym(RTLD_DEFAULT, "ncclGetVersion"), &info) && info.dli_fname &&
	       realpath(info.dli_fname, real) && realpath(path, wanted) &&
	       strcmp(real, wanted) == 0;
}

/* The settings are in place since the process started; this checks that they still are. */
static int fire(const struct fault_act *act)
{
	const struct fault_spec *spec = act->spec;
	bool done = spec->nargs > 0 || getenv("NCCL_PROTO");

	for (int i = 0; i < spec->nargs && done; i++) {
		const char *key = spec->args[i].key, *value = spec->args[i].value;
		const char *now = getenv(key);

		done = strcmp(key, "lib") == 0 ? is_library(value) : now && strcmp(now, value) == 0;
	}
	return done ? FAULT_PASS : -ENOTSUP;
}

const struct fault fault_settings_mismatch = {
	.name = "settings-mismatch",
	.args = "NCCL_*=VALUE lib=PATH",
	.needs = { .machine = NEED_GPU },
	.where = FAULT_AT_INIT,
	.nccl = "hang|error|wrong-data|ok",
	.start = start,
	.fire = fire,
};
