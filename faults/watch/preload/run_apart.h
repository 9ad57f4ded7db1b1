/* run_apart.h: a monitor that a rank has started has no terminal: it holds none of the job's
 * descriptors, since ssh, docker and the like wait until the last copy of a pipe is closed. Its
 * lines go to a rank's standard error, one by one, and to a file. */
#pragma once

#include "preload/run_monitor.h"

struct monitor;

/* Standard output and standard error of stdio become that; descriptors 0 to 2 /dev/null. The
 * file is hangar-KEY.log in --out, else where runs are saved. `monitor` knows the ranks; both
 * arguments outlive the process's output. */
void run_apart(const struct monitor *monitor, const struct run_settings *settings);

/* Notes the launcher of ranks that have come, to whose standard error lines go once no rank is
 * left. */
void run_apart_look(void);

/* Reads /proc for the command line of the process that has started this one. Returns its words
 * (argc of them, NULL behind; allocated once, never freed), or those of this program. */
char **run_apart_command(int *argc);

/* The command line of this program: `argv` with the words of HANGAR_OPTIONS, parted by blanks,
 * behind them. Allocated once, never freed. */
char **run_apart_options(int *argc, char **argv);
