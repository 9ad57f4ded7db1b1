/* options_agree.h: do all ranks of a run have the same options, where they must? Nothing here
 * communicates: the caller brings the ranks' values together. */
#pragma once

#include "options/options.h"

enum { AGREE_VALUES = 100, AGREE_TEXT = 48 };

/* The values that one rank has. Plain data of one size whatever the build, so that another version
 * of hangar can be named. */
struct options_agree {
	struct {
		uint64_t hash;	       /* of the value's whole text */
		char text[AGREE_TEXT]; /* as it is shown: "-d half", "no --fault" */
	} values[AGREE_VALUES];
};

/* Fills in what every rank must have alike: hangar's version, the program, the backend that "auto"
 * came to, and each option and environment variable whose row says so. Those of an
 * irregular collective alone count where it is one (`irregular`). */
void options_agree_fill(struct options_agree *mine, const struct options *options,
			const char *version, const char *program, const char *backend,
			bool irregular);

/* The options that all ranks must have alike, but for defaults, --fault, --schedule and --expect:
 * ", -d half, --share-gpu". */
void options_agree_text(const struct options *options, bool irregular, char *buf, size_t len);

/* Equal for ranks that agree. */
uint64_t options_agree_hash(const struct options_agree *mine);

/* `all` holds what ranks 0 .. nranks-1 have. True when all have the same; else `text` names the
 * ranks and their values of the first thing that differs, those of whom there are most last:
 * "rank 3 has -d half, ranks 0-2 have -d float". Among equally many nobody is more: then in the order
 * of ranks. */
bool options_agree_same(const struct options_agree *all, int nranks, char *text, size_t len);
