/* options_agree.h: values that all ranks of a run must share, as lines of settings.h. No
 * communication: the caller collects the ranks' values. */
#pragma once

#include "options/options.h"
#include "settings/settings.h"

/* Adds the values that every rank must share to `mine`: hangar's version, the program, the resolved
 * backend, and each option and variable whose row is AGREE_SAME. Rows of irregular collectives
 * count only with `irregular`. The first difference (settings_compare from SETTING_FREE on)
 * explains the others: "rank 3: -d half; ranks 0-2: -d float". */
void options_agree_fill(struct settings *mine, const struct options *options, const char *version,
			const char *program, const char *backend, bool irregular);

/* Writes the shared options that are set, but for defaults, --fault, --schedule, --expect. */
void options_agree_text(const struct options *options, bool irregular, char *buf, size_t len);
