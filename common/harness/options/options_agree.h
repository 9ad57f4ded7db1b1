/* options_agree.h: what all ranks of a run must have alike, as lines of settings.h. Nothing here
 * communicates: the caller brings the ranks' values together. */
#pragma once

#include "options/options.h"
#include "settings/settings.h"

/* Adds to `mine` what every rank must have alike: hangar's version, the program, the backend that
 * "auto" came to, and each option and environment variable whose row says so. Those of an irregular
 * collective alone count where it is one (`irregular`). Of what differs (settings_compare from
 * SETTING_FREE on) the first says why others do: "rank 3: -d half; ranks 0-2: -d float". */
void options_agree_fill(struct settings *mine, const struct options *options, const char *version,
			const char *program, const char *backend, bool irregular);

/* The options that all ranks must have alike, but for defaults, --fault, --schedule and --expect:
 * ", -d half, --share-gpu". */
void options_agree_text(const struct options *options, bool irregular, char *buf, size_t len);
