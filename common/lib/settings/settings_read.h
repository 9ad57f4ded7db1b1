/* settings_read.h: reads the NCCL settings of a process. */
#pragma once

#include "base/parse.h"
#include "settings/settings.h"

/* Adds variables of `environment` ("NAME=VALUE", NULL at the end): NCCL_* and relevant CUDA ones.
 * Then adds lines of `files`, in order, for variables that are not set yet. Comments and unreadable
 * files are skipped, as in NCCL. */
void settings_read(struct settings *settings, char *const *environment, const char *const *files);

/* The same for a process of this user with that environment: NCCL_CONF_FILE or ~/.nccl.conf, then
 * /etc/nccl.conf. Settings from NCCL's environment plugin (NCCL_ENV_PLUGIN) are not known. */
void settings_read_of(struct settings *settings, char *const *environment);
