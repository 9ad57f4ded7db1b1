/* rings.h: NCCL's rings, as its log tells them at NCCL_DEBUG=INFO ("Channel 00/02 : 0 1 2 3":
 * the ranks in the order of the ring). */
#ifndef HANGAR_RINGS_H
#define HANGAR_RINGS_H

#include <stddef.h>

#define RINGS_MAX	64
#define RING_TEXT	512
#define RINGS_LOG_BYTES (8 << 20) /* of one log, that much is read */
#define RINGS_LOGS	1024	  /* that many logs are opened */

struct rings {
	size_t nlogs; /* logs there were */
	size_t n;
	struct ring {
		int channel, of;
		char ranks[RING_TEXT]; /* "0 1 2 3"; ends in "..." when it is cut */
	} ring[RINGS_MAX]; /* as they stand in the logs; no two alike */
};

/* Read all `nccl-*.log` in `dir`. What cannot be read is passed over; hostile text is fine. */
void rings_read(struct rings *rings, const char *dir);

#endif
