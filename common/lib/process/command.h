/* command.h: the line that starts this run once more, as a shell takes it. */
#pragma once

#include "process/launch.h"

#define COMMAND_MAX 8192 /* bytes that are enough */

/* argv as one line; a word with characters that mean something to a shell stands in quotes. What
 * does not fit is left out. Returns buf. */
char *command_join(char *buf, size_t len, int argc, const char *const *argv);

/* The same with what else the run needs: the launcher's own line where it is to be had
 * (`launcher`: the file in /proc with the command line of this process' parent), else "mpirun
 * -np N" when a launcher had started `nranks` ranks; and before it NCCL's settings from the
 * environment, but for NCCL_DEBUG and the like. Returns buf. */
char *command_again(char *buf, size_t len, const struct launch *launch, int nranks, int argc,
		    const char *const *argv, const char *launcher);
