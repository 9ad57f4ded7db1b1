/* command.h: the shell command that starts this run again. */
#pragma once

#include "process/launch.h"

#define COMMAND_MAX 8192 /* a sufficient buffer size */

/* Joins argv to one line, quoted for a shell; words that do not fit are left out. Returns buf. */
char *command_join(char *buf, size_t len, int argc, const char *const *argv);

/* The same for the whole run, with NCCL's settings from the environment in front, except NCCL_DEBUG
 * and the like. The launcher's own line follows if `launcher`, its command line in /proc, is
 * readable; else "mpirun -np N" if a launcher started `nranks` ranks. Returns buf. */
char *command_again(char *buf, size_t len, const struct launch *launch, int nranks, int argc,
		    const char *const *argv, const char *launcher);
