/* hearing.h: which ranks send each other a word before anything else is sent between hosts, and what their host
 * shows of somebody who does not answer. */
#pragma once

#define HEARING_MOST 63 /* words that a rank sends, and expects */

/* Each of `ranks` sends its word number i to the rank that is so far above it, and expects one of the rank that is
 * as far below. Of 64 ranks at most every one hears of every other; of more, of those at distances 1, 2, 4 ...
 * 0: there is no such word. Pure. */
int hearing_distance(int ranks, int i);

/* Returns true if a connection to a port on which this process listens was asked for and answered, and the
 * answer was not: what this host sends to somebody there does not arrive. IPv4 and IPv6. */
bool hearing_unanswered(void);
