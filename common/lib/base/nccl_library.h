/* nccl_library.h: finds and loads the libnccl of this process, so that one build runs with any of them. */
#pragma once

struct nccl_library {
	void *handle;	     /* dlopen's; NULL: none was found */
	char path[PATH_MAX]; /* the file, links resolved; "" if it has none */
	const char *source;  /* "preloaded", "--nccl-lib", "pip's" and the like */
	int version;	     /* ncclGetVersion's: 22809 */
};

/* The library that the calls below use: a path, or NULL for none in particular. The text is borrowed. */
void nccl_library_ask(const char *path);

/* Loads libnccl.so.2 for the whole process (RTLD_GLOBAL), unless it is loaded: from the path that was asked for, from
 * the folders of LD_LIBRARY_PATH, from the folder of the build (NCCL_BUILT), from pip's nvidia-nccl of the active
 * Python, by the system's search. Returns the same as before in later calls, and never NULL. On failure handle is
 * NULL and `why`, if given, has the reason in one line. */
const struct nccl_library *nccl_library_load(const char **why);

/* Writes "2.28.9" for 22809, and "2.7.8" for 2708, the form before NCCL 2.9. */
void nccl_version_text(int code, char *text, size_t len);
