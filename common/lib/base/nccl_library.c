/* nccl_library.c: the search for libnccl. */
#include "base/nccl_library.h"

#include <dlfcn.h>
#include <glob.h>

#define NAME "libnccl.so.2"
#ifndef NCCL_BUILT
#define NCCL_BUILT ""
#endif

static const char *asked;
static struct nccl_library found;
static char reason[PATH_MAX + 128];

void nccl_library_ask(const char *path)
{
	asked = path;
}

void nccl_version_text(int code, char *text, size_t len)
{
	int major = code < 10000 ? 1000 : 10000;

	snprintf(text, len, "%d.%d.%d", code / major, code % major / 100, code % 100);
}

static bool try_file(const char *path, const char *source, int flags)
{
	found.handle = dlopen(path, RTLD_NOW | RTLD_GLOBAL | flags);
	found.source = source;
	if (!found.handle)
		snprintf(reason, sizeof(reason), "%s", dlerror());
	return found.handle;
}

/* A file that is there and cannot be loaded ends the search: its reason is said, and no other library replaces it. */
static bool try_folder(const char *folder, size_t length, const char *source)
{
	char path[PATH_MAX];

	if (length == 0 ||
	    snprintf(path, sizeof(path), "%.*s/" NAME, (int)length, folder) >= (int)sizeof(path) ||
	    access(path, R_OK) < 0)
		return false;
	(void)try_file(path, source, 0);
	return true;
}

static bool try_list(const char *list, const char *source)
{
	for (; list && *list; list += strcspn(list, ":"), list += *list == ':')
		if (try_folder(list, strcspn(list, ":"), source))
			return true;
	return false;
}

/* pip installs below PREFIX/lib of the Python that it belongs to. */
static bool try_prefix(const char *prefix, size_t length)
{
	char pattern[PATH_MAX];
	glob_t files = { 0 };
	bool done = false;

	if (length == 0 || snprintf(pattern, sizeof(pattern),
				    "%.*s/lib/python3*/{site,dist}-packages/nvidia/nccl/lib",
				    (int)length, prefix) >= (int)sizeof(pattern))
		return false;
	if (glob(pattern, GLOB_BRACE, NULL, &files) == 0)
		for (size_t i = files.gl_pathc; i-- > 0 && !done;)
			done = try_folder(files.gl_pathv[i], strlen(files.gl_pathv[i]), "pip's");
	globfree(&files);
	return done;
}

static bool try_pip(void)
{
	static const char *const prefixes[] = { "VIRTUAL_ENV", "CONDA_PREFIX" };
	const char *home = getenv("HOME");
	char python[PATH_MAX];

	for (size_t i = 0; i < 2; i++) {
		const char *prefix = getenv(prefixes[i]);

		if (prefix && try_prefix(prefix, strlen(prefix)))
			return true;
	}
	for (const char *at = getenv("PATH"); at && *at; at += strcspn(at, ":"), at += *at == ':') {
		int length = (int)strcspn(at, ":");

		snprintf(python, sizeof(python), "%.*s/python3", length, at);
		if (access(python, X_OK) == 0) {
			snprintf(python, sizeof(python), "%.*s/..", length, at);
			if (try_prefix(python, strlen(python)))
				return true;
			break;
		}
	}
	snprintf(python, sizeof(python), "%s/.local", home ? home : "");
	return (home && try_prefix(python, strlen(python))) ||
	       try_prefix("/usr/local", strlen("/usr/local"));
}

/* An older library of the machine may lack what this one needs, so its version and file are read at once. */
static void describe(void)
{
	int (*version)(int *) = NULL;
	char real[PATH_MAX];
	Dl_info info;

	*(void **)&version = dlsym(found.handle, "ncclGetVersion");
	if (version && dladdr(*(void **)&version, &info) && info.dli_fname &&
	    realpath(info.dli_fname, real))
		strcpy(found.path, real);
	if (!version || version(&found.version) != 0) {
		snprintf(reason, sizeof(reason), "%s has no ncclGetVersion",
			 found.path[0] ? found.path : NAME);
		found.handle = NULL;
	}
}

const struct nccl_library *nccl_library_load(const char **why)
{
	static bool done;

	if (!done) {
		done = true;
		if (!try_file(NAME, "preloaded", RTLD_NOLOAD)) {
			if (asked)
				(void)try_file(asked, "--nccl-lib", 0);
			else if (!try_list(getenv("LD_LIBRARY_PATH"), "LD_LIBRARY_PATH") &&
				 !try_list(NCCL_BUILT, "the build's") && !try_pip())
				(void)try_file(NAME, "the system's", 0);
		}
		if (found.handle)
			describe();
	}
	if (why)
		*why = reason;
	return &found;
}
