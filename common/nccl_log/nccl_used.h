/* nccl_used.h: what NCCL used for calls, from the lines that its log has for them. */
#ifndef HANGAR_NCCL_USED_H
#define HANGAR_NCCL_USED_H

#include <stddef.h>

#include "backend/backend.h"

/* Settings under which rank 0's log says how each call is carried out: TUNING has the choice, COLL
 * the communicator that it is for (NCCL 2.25 to 2.30). */
#define NCCL_USED_LEVEL	 "INFO"
#define NCCL_USED_SUBSYS "COLL,TUNING"

/* Read the log of some calls on one communicator; its choices go into `used`, over all of them:
 * algo or proto stay NULL where the calls differ, or where the name is none that the model has.
 * 0, -ENODATA when no line says anything (`used` is left alone), or -ENOMEM. */
int nccl_used_read(struct backend_used *used, const char *log, size_t len);

/* Why NCCL's log must be left alone, by the environment: switching it would start the user's own
 * log file anew, or would not reach it. One line; NULL: it may be switched. */
const char *nccl_used_refusal(void);

#endif
