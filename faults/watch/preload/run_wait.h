/* run_wait.h: hangar_run --wait stays the parent of its command. */
#pragma once

/* Returns in a child, which becomes the command; its descriptor *fd, closed at exec, is for the monitor: a byte written there
 * says that a rank was slow, and its end that all is printed. The caller passes signals on, waits for the command, then for the
 * monitor, and ends as the command did; with OUTCOME_SLOW_RANK where that was 0 and the byte came. 0 or a negative errno:
 * there is no child, and the caller goes on alone. */
int run_wait(int *fd);
