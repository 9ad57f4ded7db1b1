/* folder.h: the folder that a run's evidence is saved in, and the tools that read it, as paths
 * to paste. */
#pragma once

#include "diagnoser/diagnoser.h"

/* The folder that runs are saved in, unless a run has its own; relative to where the program was
 * started. */
const char *folder_runs(void);

/* Finds out where a folder can be made: where the site says, else in TMPDIR or /tmp, which standard
 * error then says. root[] stays "" where neither can be written. */
void folder_find_root(struct diagnoser *self);

/* Makes a new folder, or the site's. On failure standard error says why, and it is "". */
bool folder_make(struct diagnoser *self);

/* Makes a folder of the name that another host's has (`told`), where this host's are; hosts may
 * share it. */
bool folder_make_told(struct diagnoser *self, const char *told);

/* The name of the run in the evidence of a side: the folder's without the side's. */
void folder_name_run(struct diagnoser *self);

/* Prints where the lost `hosts` save what they see of the run, should they live. */
void folder_say_sides(const struct diagnoser *self, const char *hosts);

/* Prints "# look further: ..." with the tools' paths as they can be pasted; the report's,
 * without `records`. A line that would pass 100 characters has the command below it, which is
 * never cut. */
void folder_say(const char *folder, bool drawable, bool records);
