/* decide_rig.h: runs of decide() on a virtual clock, by rows of decide.txt. Hosts, their ranks and what passes
 * between the leaders are played; no process, no socket and no time is taken. */
#pragma once

/* Plays the rows below the title of the case under way, each an assertion. */
void rows_play(void);
