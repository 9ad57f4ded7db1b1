/* settings_read.h: the settings that NCCL finds in a process. */
#pragma once

#include "settings/settings.h"

/* Adds what NCCL reads: variables of `environment` ("NAME=VALUE", NULL at the end; in NCCL_* and
 * those of CUDA's that matter), then lines of `files` that set a variable that is not set yet, in their
 * order. Comments and files that cannot be read are passed over, as NCCL does. */
void settings_read(struct settings *settings, char *const *environment, const char *const *files);

/* The same of a process of this user with that environment: NCCL_CONF_FILE or ~/.nccl.conf, /etc/nccl.conf. What NCCL's
 * environment plugin (NCCL_ENV_PLUGIN) gives it instead is not known. */
void settings_read_of(struct settings *settings, char *const *environment);

/* The variable's value, inside of `environment`; NULL: it is not set. */
const char *environment_get(char *const *environment, const char *name);
