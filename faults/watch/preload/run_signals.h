/* run_signals.h: whether a signal that ends jobs comes to the command's process group. */
#pragma once

/* Starts a process in this one's group and session, which stays as long as the command (`command_fd`: its pidfd) and the
 * reader. Returns a descriptor to read from, for run_signals_came(); -1: there is none. */
int run_signals_start(int command_fd);

/* Returns true if a signal has come since the last call, SIGKILL included; closes *fd, and makes it -1, when no more can. */
bool run_signals_came(int *fd);
