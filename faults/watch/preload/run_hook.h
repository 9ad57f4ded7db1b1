/* run_hook.h: --on-verdict: a command of the user's for each verdict, beside the monitor. */
#pragma once

#include "answer/answer.h"

/* Starts `sh -c command` without a wait, with the verdict in its environment: HANGAR_OUTCOME,
 * HANGAR_CLASS, HANGAR_RANKS ("1,3", "-": none), HANGAR_HOSTS (of these ranks, "node1,node2", or
 * the hosts that are lost), HANGAR_CONFIDENCE, HANGAR_EVIDENCE (folder, "-": none), and HANGAR_JOB where the run
 * has several. It is killed with its children after 30 s. A failure of it is a line on standard error. */
void run_hook_start(const char *command, const struct answer *verdict, const char *hosts);

/* Waits for the commands that still run: at most as long as they may take. */
void run_hook_finish(void);
